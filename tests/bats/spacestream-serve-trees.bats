# spacestream serve: trees, tar out and tar in. Most tests have a manager and a guest that say what a test wants
# (fixtures/frames.py), behind a real cache and signer; the last have the whole path.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
load helper
load path
load front

export BATS_VERBOSE_RUN=1

setup() {
	WORLD=$BATS_TEST_TMPDIR
	AT=$WORLD/http
}

teardown() {
	world_end
	stop_all
}

TREE=/v1/sandboxes/s-42/tree

@test "a tree comes out as it is made, in chunks, and its end shows that it is whole" {
	control 'open l; out one; hold' 'open l; fill 3000000; end; status {"exit":0,"entries":3,"bytes":9}' 'open l; end; status {"exit":0}'
	get_exec "$TREE?path=/srv" -N >"$WORLD/part" 3>&- &
	local pid=$!
	eventually has "$WORLD/part" one
	kill "$pid"
	wait "$pid" || :
	run -0 get "$TREE?path=/srv" -o "$WORLD/whole" -w '%{http_code} %{content_type} %header{transfer-encoding}'
	assert_output '200 application/x-tar chunked'
	assert_equal "$(wc -c <"$WORLD/whole") $(tr -d x <"$WORLD/whole" | wc -c)" '3000000 0'
	run -0 get "$TREE?path=%2Fsrv/a+b%26%ff" -w '%{http_code} %{size_download}'
	assert_output '200 0'
	run -0 jq -c . "$WORLD/log"
	assert_output '{"op":"tree.get","args":{"path":"/srv"}}
{"op":"tree.get","args":{"path":"/srv"}}
{"op":"tree.get","args":{"path_data":"L3Nydi9hIGIm/w=="}}'
}

@test "a tree goes in by length and in chunks, and the answer tells what it was" {
	control 'open l; input 1000000; end; status {"exit":0,"entries":3,"bytes":9}' 'open l; input 1000000; status {"exit":0,"entries":1,"bytes":2}' \
		'open l; input 1; status {"exit":0}'
	head -c 500000 /dev/urandom | base64 -w0 | head -c 600000 >"$WORLD/tar"
	run -0 get "$TREE?path=/srv" -T "$WORLD/tar" -w ' %{http_code} %{content_type}'
	assert_output '{"status":"ok","result":{"entries":3,"bytes":9}}
 200 application/json'
	# Both over one connection.
	printf '%s\n' silent "unix-socket = \"$AT\"" "header = \"Authorization: Bearer $(<"$WORLD/token")\"" 'header = "Transfer-Encoding: chunked"' \
		'upload-file = "-"' "url = \"http://x$TREE?path=/srv\"" 'write-out = "%{http_code} %{num_connects}\n"' >"$WORLD/curl"
	{
		cat "$WORLD/curl"
		echo next
		sed '/Transfer-Encoding/d; s,"-","/dev/null",' "$WORLD/curl"
	} >"$WORLD/two"
	run -0 timeout 120 curl -K "$WORLD/two" <"$WORLD/tar"
	assert_output '{"status":"ok","result":{"entries":1,"bytes":2}}
200 1
{"status":"ok","result":{"entries":0,"bytes":0}}
200 0'
	run -0 jq -sr 'map(.input // .op) | [.[0], .[2], .[4], .[5]] | join(" ")' "$WORLD/log"
	assert_output 'tree.put tree.put tree.put '
	assert_equal "$(jq -r 'select(.input).input' "$WORLD/log" | head -n 2 | sort -u)" "$(cat "$WORLD/tar")"
}

# answered STATUS JSON ARG...: this request is answered so.
answered() {
	run -0 get "${@:3}" -w '%{http_code}'
	assert_equal "$output" "$2"$'\n'"$1"
}

@test "what comes before the first byte is the answer, with its status" {
	local deny='{"status":"refused","decision":"deny","reason":"replayed","hop":"sbx-manager"}'
	local op='"status":"error","error":"op","errno":"ENOENT","message":"no such thing"'
	control "answer $deny" "$STALE" "answer {$op}" "open l; status {${op#*,}}" \
		"answer $deny" 'answer {"status":"error","error":"overloaded","message":"m"}' "open l; status {${op#*,}}" 'open l; input 4; cut' \
		'answer {"status":"ok","result":{"state":"cut","reason":"retired","message":"gone"}}' \
		'open l; status {"error":"too-large","message":"more than [guest] max_tree_mib"}' 'open l; raw \x09\0\0\0\0\0\0\0'
	echo tar >"$WORLD/tar"
	answered 403 "$deny" "$TREE?path=/"
	answered 409 "${STALE#* }" "$TREE?path=/"
	answered 422 "{$op}" "$TREE?path=/"
	answered 422 "{$op}" "$TREE?path=/"
	answered 403 "$deny" "$TREE?path=/" -T "$WORLD/tar"
	answered 503 '{"status":"error","error":"overloaded","message":"m"}' "$TREE?path=/" -T "$WORLD/tar"
	answered 422 "{$op}" "$TREE?path=/" -T "$WORLD/tar"
	answered 502 '{"status":"error","error":"transport","sent":true,"message":"the stream was cut: retired: gone"}' \
		"$TREE?path=/" -T "$WORLD/tar"
	answered 413 '{"status":"error","error":"too-large","message":"more than [guest] max_tree_mib"}' "$TREE?path=/" -T "$WORLD/tar"
	answered 502 '{"status":"error","error":"transport","sent":true,"message":"what came from the guest is no stream"}' "$TREE?path=/"
	run -0 get /metrics
	assert_line 'space_http_operations_total{outcome="op"} 3'
	assert_line 'space_http_operations_total{outcome="deny"} 2'
}

@test "what comes after the first byte is an end that is missing" {
	control 'open l; out half; cut' "$DENY" 'open l; out half; raw \x09\0\0\0\0\0\0\0; hold' 'open l; out half; status {"error":"op","errno":"EIO","message":"m"}'
	local n
	for n in 1 2; do
		run get "$TREE?path=/"
		[[ $status = 18 || $status = 52 || $status = 56 ]] || fail "$status: $output"
	done
	# Nothing follows it, no other answer either.
	run -0 raw_open < <(printf 'GET %s?path=/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n' "$TREE" "$(<"$WORLD/token")"; exec tail -f /dev/null)
	[ -z "$output" ] || assert_equal "$(grep -c ^HTTP <<<"$output") ${lines[-1]}" $'1 half\r'
}

@test "leave to send a body is given when the stream is open, and not before; a refusal comes without it" {
	control 'open l; input 1000; status {"exit":0}' "$DENY"
	head -c 1000 /dev/zero >"$WORLD/tar"
	# curl would send the body without leave, but only after 300 s.
	run -0 get "$TREE?path=/" -i -T "$WORLD/tar" -H 'Expect: 100-continue' --expect100-timeout 300
	assert_line --index 0 $'HTTP/1.1 100 Continue\r'
	assert_line $'HTTP/1.1 200 OK\r'
	run -0 get "$TREE?path=/" -i -T "$WORLD/tar" -H 'Expect: 100-continue' --expect100-timeout 300
	assert_line --index 0 $'HTTP/1.1 403 Forbidden\r'
	assert_line $'Connection: close\r'
}

@test "what is not asked as it must be is told, and nothing is sent of it" {
	control
	bad() { answered "$1" "{\"status\":\"error\",\"error\":\"bad-record\",\"message\":\"$2\"}" "${@:3}"; }
	bad 400 'query: path= is missing' "$TREE"
	bad 400 'query: path= twice' "$TREE?path=/&path=/"
	bad 400 'query: not NAME=VALUE, or a name that is none here' "$TREE?x=/"
	bad 400 'query: path= is not encoded as forms are' "$TREE?path=%2"
	bad 400 'query: path= is longer than 4095 bytes' "$TREE?path=$(head -c 5000 /dev/zero | tr '\0' x)"
	bad 400 'a tree is for HTTP/1.1' "$TREE?path=/" -0
	bad 404 'there is nothing here' '/v1/sandboxes/-/tree?path=/'
	bad 405 'GET or PUT here' "$TREE?path=/" -d x
	bad 417 'Expect: not 100-continue' "$TREE?path=/" -X PUT -H 'Expect: tea'
	run -0 timeout 60 curl -sS --unix-socket "$AT" -w '%{http_code}' "http://x$TREE?path=/"
	assert_line --index 1 401
	assert_equal "$(cat "$WORLD/log")" ''
}

# put_head LENGTH [FIELD...]: of a tree that goes in.
put_head() {
	printf 'PUT %s?path=/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n' "$TREE" "$(<"$WORLD/token")"
	[ -z "$1" ] || printf 'Content-Length: %s\r\n' "$1"
	printf '%s\r\n' "${@:2}" ''
}

@test "a body that stalls, is none, or is lost leaves nothing behind" {
	FRONT='--idle-timeout 1' control 'open l; input 100' 'open l; input 100' 'open l; input 100' 'open l; input 100'
	run -0 raw_open < <(put_head 4; printf ab; exec tail -f /dev/null)
	assert_line --index 0 $'HTTP/1.1 408 Request Timeout\r'
	run -0 raw_open < <(put_head '' 'Transfer-Encoding: chunked'; printf '2\r\nab\r\nx\r\n'; exec tail -f /dev/null)
	assert_line --index 0 $'HTTP/1.1 400 Bad Request\r'
	run -0 raw < <(put_head 4; printf ab)
	assert_output ''
	run -0 raw < <(put_head '' 'Transfer-Encoding: chunked'; printf '2\r\nab\r\n')
	assert_output ''
	# None was the end of the input: the guest saw that the stream ended.
	await is 4 grep -c closed "$WORLD/log.closed"
	eventually counted space_http_connections 1
	run -0 jq -sr 'map(select(has("input")).input) | unique | join(" ")' "$WORLD/log"
	assert_output ' ab'
}

@test "whoever goes away, or does not take what he asked for, holds neither the guest nor memory" {
	local pid
	FRONT='--idle-timeout 1' control 'open l; hold' 'open l; fill 100000000'
	get_exec "$TREE?path=/" >"$WORLD/out" 3>&- &
	pid=$!
	eventually has "$WORLD/log" tree.get
	kill "$pid"
	wait "$pid" || :
	await is 1 grep -c closed "$WORLD/log.closed"
	# The server's memory while the other end stands still.
	socat -u - "UNIX-CONNECT:$AT" < <(printf 'GET %s?path=/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n' "$TREE" "$(<"$WORLD/token")"
		exec tail -f /dev/null) 3>&- &
	pid=$!
	await is 2 grep -c closed "$WORLD/log.closed"
	assert [ "$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$(<"$WORLD/front.pid")/status")" -lt 60000 ]
	kill "$pid" 2>/dev/null || :
	wait "$pid" || :
}

@test "trees count among what a caller has in flight" {
	FRONT='--inflight 1' control 'open l; hold'
	get_exec "$TREE?path=/" >"$WORLD/out" 3>&- &
	local pid=$!
	eventually has "$WORLD/log" tree.get
	run -0 get "$TREE?path=/" -w '%{http_code}'
	assert_line --index 1 429
	kill "$pid"
	wait "$pid" || :
}

@test "on the whole path a tree comes out and goes in again as it was; without the right to it is 403" {
	world_make
	world_vmm one
	world_activate s-42 7 a one >/dev/null
	front
	mkdir -p "$WORLD/guest-one/srv/from/sub"
	head -c 3000000 /dev/urandom >"$WORLD/guest-one/srv/from/sub/file"
	ln -s sub/file "$WORLD/guest-one/srv/from/link"
	mkdir "$WORLD/guest-one/srv/to"
	get "$TREE?path=/srv/from" >"$WORLD/tar"
	run -0 get "$TREE?path=/srv/to" -T "$WORLD/tar" -w '%{http_code}'
	assert_line --index 1 200
	assert_equal "$(jq .result.entries <<<"${lines[0]}")" "$(tar -tf "$WORLD/tar" --warning=no-unknown-keyword | wc -l)"
	diff -r --no-dereference "$WORLD"/guest-one/srv/{from,to}
	run -0 get "$TREE?path=/none" -w '%{http_code}'
	assert_json --slurp '.[0].errno == "ENOENT" and .[1] == 422'
	spacerouted grant --principal token:none --token-file "$WORLD/none" --sandbox '*' --ops ping >/dev/null
	TOKEN=$WORLD/none run -0 get "$TREE?path=/" -w '%{http_code}'
	assert_line --index 1 403
}

@test "a fence cuts a tree in the middle: the end of the answer is missing, and a tree that goes in is told" {
	local pid
	world_make
	world_vmm one
	world_activate s-42 7 a one >/dev/null
	front
	head -c 100000000 /dev/zero >"$WORLD/guest-one/large"
	mkfifo "$WORLD/out" "$WORLD/in"
	get_exec "$TREE?path=/large" -o "$WORLD/out" 3>&- &
	pid=$!
	exec 7<"$WORLD/out"
	head -c 100000 <&7 >/dev/null
	get_exec "$TREE?path=/" -T . -H 'Transfer-Encoding: chunked' -w '%{http_code}' <"$WORLD/in" >"$WORLD/put" 3>&- &
	local put=$!
	exec 8>"$WORLD/in"
	tar -cf - -C "$WORLD/guest-one" large | head -c 100000 >&8
	eventually is 2 eval 'spacestream list -c "$WORLD/a.ini" -o json | jq -s "map(select(.role == \"sbx-manager\")) | length"'
	sandbox resume s-42 --prepare --from-config "$WORLD/a.ini" >/dev/null
	exec 8>&-
	cat <&7 >/dev/null
	exec 7<&-
	local code=0
	wait "$pid" || code=$?
	[[ $code = 18 || $code = 56 ]] || fail "$code"
	exits_with 0 "$put"
	run -0 cat "$WORLD/put"
	assert_line --index 0 --partial '"error":"transport","sent":true,"message":"the stream was cut'
	assert_line --index 1 502
}
