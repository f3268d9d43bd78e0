#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2153,SC2154
# route: asked records in, routed records out; who the caller is, and what he may.

load helper
load spacerouted

setup() {
	space_setup
	spacerouted grant -p "$ME" -s 's-*' --ops 'file.*,exec.run' >/dev/null
	publish s-42 7 >/dev/null
	start cache spacerouted serve
}

teardown() {
	stop_all
}

@test "an asked record becomes exactly a routed one" {
	run -0 spacerouted route < <(asked file.read s-42 r1 '{"path":"/etc/hostname"}')
	assert_json --arg me "$ME" 'del(.authorized_until) == {"id":"r1","op":"file.read","sandbox":"s-42",
		"args":{"path":"/etc/hostname"},"caller":$me,"route":{"execution":7,"worker":"worker-a","substrate":"host",
		"activation":"act-7","attempt":1},"endpoint":"unix:/run/7","access":["file.*","exec.run"],"attempted":1}'
	assert_json '.authorized_until | test("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")'
}

@test "a record without an id stays without one" {
	run -0 spacerouted route <<<'{"op":"file.read","sandbox":"s-42","args":{}}'
	assert_json '(has("id") | not) and .attempted == 1'
}

@test "who has no grant is denied, be the sandbox there or not" {
	run -11 spacerouted route < <(
		asked ping s-42 r1
		asked ping s-43 r1
		asked file.read t-1 r1
	)
	for line in "${lines[@]}"; do
		assert_equal "$line" '{"id":"r1","status":"refused","decision":"deny","reason":"unauthorized","hop":"node-api"}'
	done
	assert_equal "${#lines[@]}" 3
}

@test "a sandbox without a route is refresh-route absent to whoever may know" {
	run -10 spacerouted route < <(asked file.read s-43)
	assert_output '{"id":"r1","status":"refused","decision":"refresh-route","reason":"absent","hop":"node-api"}'
	spacerouted retire -s s-42 --execution 7
	run -10 spacerouted route < <(asked file.read s-42)
	assert_output '{"id":"r1","status":"refused","decision":"refresh-route","reason":"absent","hop":"node-api"}'
}

@test "without a cache every record is unavailable, and each is answered" {
	stop cache
	run -1 spacerouted route --window 4 < <(for i in 1 2 3 4 5 6; do asked file.read s-42 "r$i"; done)
	assert_equal "$(jq -c '[.id, .status, .error]' <<<"$output" | uniq | xargs)" \
		'[r1,error,unavailable] [r2,error,unavailable] [r3,error,unavailable] [r4,error,unavailable] [r5,error,unavailable] [r6,error,unavailable]'
	assert_json --arg p "$RUN/cache.sock" '.message == "route cache \($p): No such file or directory"'
}

@test "a cache that comes back is asked again, and one that goes fails only what it was asked" {
	mkfifo "$BATS_TEST_TMPDIR/in"
	spacerouted route <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	exec 9>"$BATS_TEST_TMPDIR/in"
	asked file.read s-42 r1 >&9
	eventually grep -q r1 "$BATS_TEST_TMPDIR/out"
	stop cache
	asked file.read s-42 r2 >&9
	eventually grep -q r2 "$BATS_TEST_TMPDIR/out"
	start cache spacerouted serve 9>&-
	asked file.read s-42 r3 >&9
	exec 9>&-
	wait "$pid" || status=$?
	assert_equal "$status" 1
	assert_equal "$(jq -r '.error // .attempted' "$BATS_TEST_TMPDIR/out" | xargs)" '1 unavailable 1'
}

@test "records in flight are answered in the order they came" {
	seq 500 | awk '{printf "{\"id\":\"r%d\",\"op\":\"file.read\",\"sandbox\":\"s-%d\",\"args\":{}}\n", $1, $1 % 3 + 41}' \
		>"$BATS_TEST_TMPDIR/in"
	run -10 spacerouted route --window 64 <"$BATS_TEST_TMPDIR/in"
	assert_equal "${#lines[@]}" 500
	assert_equal "$(jq -r .id <<<"$output" | xargs)" "$(seq -f r%g 500 | xargs)"
	assert_equal "$(jq -s '[.[] | select(.attempted == 1)] | length' <<<"$output")" 167
}

# several: asked records of all kinds, each with the answer that it gets from the cache of these tests.
several() {
	local i
	for ((i = 0; i < 90; i++)); do
		case $((i % 9)) in
		0) asked file.read s-43 "r$i" ;;
		1) asked ping s-42 "r$i" ;;
		2) asked file.fly s-42 "r$i" ;;
		3) asked file.write s-42 "r$i" '{"path":"/x","text":"a \"b\"\n\\"}' ;;
		4) printf '{"sandbox":"s-42","args":{},"op":"exec.run"}\n' ;;
		*) asked file.read s-42 "r$i" '{"path":"/etc/hostname"}' ;;
		esac
	done
}

@test "a record spelled unusually is routed as its usual spelling is, to the byte" {
	cd "$BATS_TEST_TMPDIR" || return
	several >usual
	spacerouted route --window 16 <usual >expected || assert_equal $? 3
	run spacerouted route --window 16 < <(sed 's/^{/{ /' usual)
	assert_equal "$status" 3
	run -0 diff expected - <<<"$output"
	run -0 grep -c '"attempted":1' expected
	assert_output 60
}

@test "with --jobs records stay in order, and are routed as by one thread" {
	local jobs
	cd "$BATS_TEST_TMPDIR" || return
	several >all
	spacerouted route <all >one || assert_equal $? 3
	for jobs in '2' '5 --window 3' '0'; do
		# shellcheck disable=SC2086
		run spacerouted route --jobs $jobs <all
		assert_equal "$status" 3
		run -0 diff one - <<<"$output"
	done
	run -2 spacerouted route --jobs 65 <all
	stop cache
	run -3 spacerouted route --jobs 3 <all
	assert_equal "$(jq -r .error <<<"$output" | sort | uniq -c | xargs)" '10 bad-record 80 unavailable'
}

@test "a bearer token is its owner's name, and nobody else's" {
	token=$BATS_TEST_TMPDIR/ci
	spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$token"
	run -0 spacerouted route --token-file "$token" < <(asked ping s-42)
	assert_json '.caller == "token:ci" and .access == ["ping"]'
	run -11 spacerouted route --token-file "$token" < <(asked file.read s-42)
	# The right name with another secret.
	printf 'space-token:ci:%s\n' "$(head -c 32 /dev/zero | basenc --base64url | tr -d =)" >"$token.forged"
	chmod 600 "$token.forged"
	run -11 spacerouted route --token-file "$token.forged" < <(asked ping s-42)
	assert_json '.reason == "unauthorized"'
	chmod 640 "$token"
	run -3 --separate-stderr spacerouted route --token-file "$token" < <(asked ping s-42)
	assert_output ''
	run -3 spacerouted route --token-file "$SPACE_CONFIG" < <(asked ping s-42)
	run -1 spacerouted route --token-file /no/such/file < <(asked ping s-42)
}

@test "a token that was rotated away is denied at once by a filter that runs on" {
	token=$BATS_TEST_TMPDIR/ci
	spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$token"
	mkfifo "$BATS_TEST_TMPDIR/in"
	spacerouted route --token-file "$token" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	exec 9>"$BATS_TEST_TMPDIR/in"
	asked ping s-42 r1 >&9
	eventually grep -q r1 "$BATS_TEST_TMPDIR/out"
	spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$token.new" --rotate
	run -0 spacerouted cache get --caller token:ci -s s-42 --token-file "$token.new"
	asked ping s-42 r2 >&9
	exec 9>&-
	wait "$pid" || status=$?
	assert_equal "$status" 11
	assert_equal "$(jq -r '.reason // .attempted' "$BATS_TEST_TMPDIR/out" | xargs)" '1 unauthorized'
}

# peer_route [WRAPPER...]: a filter with --peer whose standard input is the connection to $SOCK; one connection.
peer_route() {
	OPEN=$(mktemp -d /tmp/space-peer-XXXXXX)
	chmod 755 "$OPEN"
	SOCK=$OPEN/sock
	"$@" socat "UNIX-LISTEN:$SOCK,mode=666" 'EXEC:spacerouted route --peer,nofork' 3>&- &
	eventually listens "$SOCK"
}

# ask_peer [WRAPPER...]: one record from a client, the answer back.
ask_peer() {
	asked ping s-42 | "$@" socat -t 60 - "UNIX-CONNECT:$SOCK"
	rm -rf "$OPEN"
}

@test "--peer takes the uid of the peer of standard input" {
	peer_route
	run -0 ask_peer
	assert_json '.reason == "unauthorized"'
	spacerouted grant -p "$ME" -s s-42 --ops ping
	cache renew s-42
	peer_route
	run -0 ask_peer
	assert_json --arg me "$ME" '.caller == $me and .attempted == 1'
}

@test "--peer of another uid is that uid, and one that has no place here is refused" {
	[ "$(id -u)" -eq 0 ] || skip_or_fail 'root (to be another uid)'
	spacerouted grant -p uid:4711 -s s-42 --ops ping
	spacerouted grant -p uid:65534 -s s-42 --ops ping
	peer_route
	run -0 ask_peer setpriv --reuid 4711 --regid 4711 --clear-groups
	assert_json '.caller == "uid:4711" and .access == ["ping"]'
	# In a user namespace that maps root alone, 4711 is shown as the overflow uid, whatever that may do.
	peer_route unshare --user --map-root-user
	run -0 ask_peer setpriv --reuid 4711 --regid 4711 --clear-groups
	assert_output '{"id":"r1","status":"refused","decision":"deny","reason":"unauthorized","hop":"node-api"}'
}

@test "--peer without a socket is 2, and so are --peer and a token together" {
	run -2 --separate-stderr spacerouted route --peer </dev/null
	assert_equal "$stderr" 'spacerouted: route: --peer: standard input is no Unix socket; it goes with a socket unit'
	run -2 spacerouted route --peer --token-file /x </dev/null
}

@test "port.connect is routed to a granted port with its protocol only" {
	spacerouted grant -p "$ME" -s s-42 --ports 8080/http
	run -11 spacerouted route --window 4 < <(
		asked port.connect s-42 r1 '{"port":8080,"protocol":"http"}'
		asked port.connect s-42 r2 '{"port":8080,"protocol":"tcp"}'
		asked port.connect s-42 r3 '{"port":8081,"protocol":"http"}'
	)
	assert_equal "$(jq -r '.reason // .attempted' <<<"$output" | xargs)" '1 unauthorized unauthorized'
	run -3 spacerouted route < <(
		for args in '{}' '{"port":0,"protocol":"tcp"}' '{"port":65536,"protocol":"tcp"}' '{"port":"80","protocol":"tcp"}' \
			'{"port":80,"protocol":"udp"}' '{"port":80}'; do
			asked port.connect s-42 r1 "$args"
		done
	)
	assert_equal "$(jq -r .error <<<"$output" | uniq -c | xargs)" '6 bad-record'
}

@test "whatever is not exactly asked is a bad record, however well it is forged" {
	routed=$(spacerouted route < <(asked file.read s-42))
	minted=$(jq -c '. + {cap: "v4.public.AAAA"}' <<<"$routed")
	done='{"id":"r1","status":"ok","result":{}}'
	repairable=$(jq -c --argjson r "$routed" '. + {request: $r}' <<<'{"id":"r1","status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}')
	{
		printf '%s\n' "$routed" "$minted" "$done" "$repairable"
		for field in '"caller":"uid:0"' '"access":["exec.run"]' '"attempted":2' '"endpoint":"unix:/evil"' '"request":{}' \
			'"authorized_until":"2099-01-01T00:00:00Z"' '"x":1' '"credential":"AA"'; do
			printf '{"op":"file.read","sandbox":"s-42","args":{},%s}\n' "$field"
		done
		printf '%s\n' '{"op":"file.fly","sandbox":"s-42","args":{}}' '{"op":"guest.rekey","sandbox":"s-42","args":{}}' \
			'{"op":"file.read","sandbox":"../s","args":{}}' '{"op":"file.read","sandbox":"s-42"}' \
			'{"op":"file.read","sandbox":"s-42","args":[]}' '{"id":"","op":"file.read","sandbox":"s-42","args":{}}' \
			'{"id":7,"op":"file.read","sandbox":"s-42","args":{}}' '{"sandbox":"s-42","args":{}}'
		printf '{"id":"%0129d","op":"file.read","sandbox":"s-42","args":{}}\n' 0
	} >"$BATS_TEST_TMPDIR/in"
	count=$(wc -l <"$BATS_TEST_TMPDIR/in")
	run -3 spacerouted route --window 8 <"$BATS_TEST_TMPDIR/in"
	assert_equal "${#lines[@]}" "$count"
	assert_equal "$(jq -c '[.status, .error]' <<<"$output" | uniq)" '["error","bad-record"]'
	assert_equal "$(jq .line <<<"$output" | xargs)" "$(seq "$count" | xargs)"
}

@test "an asked record is at most 192 KiB" {
	long() { printf '{"op":"file.write","sandbox":"s-42","args":{"text":"%s"}}\n' "$(head -c "$1" /dev/zero | tr '\0' x)"; }
	frame=$(($(long 0 | wc -c) - 1))
	long $((192 * 1024 - frame)) >"$BATS_TEST_TMPDIR/in"
	run -0 spacerouted route <"$BATS_TEST_TMPDIR/in"
	assert_json '.attempted == 1'
	long $((192 * 1024 - frame + 1)) >"$BATS_TEST_TMPDIR/in"
	run -3 spacerouted route <"$BATS_TEST_TMPDIR/in"
	assert_json '.error == "bad-record" and .message == "request: longer than 192 KiB"'
}
