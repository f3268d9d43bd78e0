#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2154,SC2317
# spacestream serve: the path over HTTP. What `spacerouted call` answers, it answers; what HTTP adds, is exactly so.
load helper
load spacerouted
load sides

setup() {
	sides_setup
	AT=$W/http
}

teardown() {
	stop_all
}

# The owner of a token may what our own uid may.
then_world() {
	rm -f "$W/token" "$W/other"
	local name
	for name in token other; do
		spacerouted grant -p "token:$name" -s 's-*' --ops 'ping,guest.info,file.*,exec.*,tree.*,lease.*' --ports 8080/http \
			--token-file "$W/$name" >/dev/null
	done
}

# front [OPTION...]: the server, in front of a world that has the sandboxes of $W/in.
front() {
	start front env LD_PRELOAD="$ROOT/build/preload/sever.so" SP_SEVER="$W/severed" spacestream serve --listen "unix:$AT" "$@"
}

# up [OPTION...]: with one sandbox, s-same-1.
up() {
	asked ping s-same-1 >"$W/in"
	world
	front "$@"
}

# web ARG...: curl, as the owner of the token; web_as FILE of another.
web() { web_as token "$@"; }
web_as() {
	timeout 120 curl -sS --unix-socket "$AT" -H "Authorization: Bearer $(<"$W/$1")" -H "Content-Type:${TYPE- application/json}" "${@:2}"
}
LINES_TYPE=' application/x-ndjson'
lines() { TYPE=$LINES_TYPE web --data-binary "@$1" "http://x/v1/ops${2:-}"; }

# raw: the bytes of standard input, and what comes back until the other side ends; raw_open: ours does not end.
raw() { timeout 120 socat -t 120 - "UNIX-CONNECT:$AT"; }
raw_open() { timeout 120 socat -t 0.1 - "UNIX-CONNECT:$AT"; }

# head_of LENGTH [FIELD...]: of a request that has a token.
head_of() {
	printf 'POST /v1/ops HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n' "$(<"$W/token")"
	[ -z "$1" ] || printf 'Content-Length: %s\r\n' "$1"
	printf '%s\r\n' "${@:2}" ''
}

# stream: the head of a request of lines in chunks; chunk TEXT: one of them.
stream() { head_of '' 'Transfer-Encoding: chunked' | sed 's,application/json,application/x-ndjson,'; }
chunk() { printf '%x\r\n%s\r\n' "${#1}" "$1"; }

# cut_after ANSWER: the last output is an answer of lines that has this one, and no end.
cut_after() {
	assert_line --index 0 $'HTTP/1.1 200 OK\r'
	assert_line "$1"
	refute_line $'0\r'
}

PING='{"op":"ping","sandbox":"s-same-1","args":{}}'
PONG='{"status":"ok","result":{"op":"ping","args":{}}}'

# some_cases: ways for a request to end, each in its own sandbox.
some_cases() {
	jq -nc '
		def refused(d; r): {status: "refused", decision: d, reason: r, hop: "sbx-manager"};
		def error(k; sent): {status: "error", error: k, sent: sent, message: "m"};
		def ok: {status: "ok", result: {x: [1, {y: "é"}]}};
		[("file.read", "file.write", "exec.signal") as $op |
			(("same", "stale", "gone", "attempt", "elsewhere", "refused", "severed", "none") as $state |
				[ok], [refused("refresh-route"; "execution"), ok] | [$op, $state] + .),
			((true, false) as $sent | ["same", error("transport"; $sent), ok], ["same", error("timeout"; $sent), error("timeout"; $sent)] | [$op] + .),
			(("overloaded", "unavailable", "too-large", "internal", "bad-record") as $kind |
				[$op, "stale", {status: "error", error: $kind, message: "m"}]),
			[$op, "stale", {status: "error", error: "op", errno: "ENOENT", message: "m"}],
			[$op, "stale", refused("deny"; "retired")], [$op, "same", refused("deny"; "replayed")]
		] | to_entries[] | "k\(.key)" as $key | .value as [$op, $state] |
		{id: $key, op: $op, sandbox: "s-\($state)-\(.key)",
			args: {key: $key, turns: [.value[2:][] | {say: ["{\"id\":\"$ID\"," + tojson[1:]]}]}}'
	asked ping x-1 r1
	asked terminal.open s-same-1 r2
	asked tree.get s-same-1 r4 '{"path":"/"}'
	asked port.connect s-same-1 r9 '{"port":8080,"protocol":"http"}'
	printf '%s\n' "$PING" 'no record' '[]' '{}' '{"op":"file.fly","sandbox":"s-same-1","args":{}}' \
		'{"op":"ping","op":"ping","sandbox":"s-same-1","args":{}}' '{"op":"ping","sandbox":"../x","args":{}}' \
		'{"op":"ping","sandbox":"s-same-1","args":{},"cap":"x"}' '{"op":"ping","sandbox":"s-same-1","args":{"n":1.5}}'
}

# as_call: what `spacerouted call` says to $W/in, in $W/call.
as_call() {
	world
	LD_PRELOAD=$ROOT/build/preload/sever.so SP_SEVER=$W/severed spacerouted call --token-file "$W/token" <"$W/in" >"$W/call" || :
	world
}

@test "lines are answered as by spacerouted call, in order, one at a time and many at once" {
	{
		some_cases
		echo
		asked file.write s-same-1 big "{\"text\":\"$(head -c 200000 /dev/zero | tr '\0' x)\"}"
		asked file.write s-same-1 big "{\"text\":\"$(head -c 300000 /dev/zero | tr '\0' x)\"}"
		asked file.read s-same-1 long '{"say":["{\"id\":\"$ID\",\"status\":\"ok\",\"result\":{\"text\":\"$SIZE:262090\"}}"]}'
		printf %s "$PING"
	} >"$W/in"
	as_call
	front
	lines "$W/in" >"$W/one"
	run -0 diff "$W/call" "$W/one"
	stop front
	world
	front
	lines "$W/in" '?window=64' >"$W/many"
	run -0 diff "$W/call" "$W/many"
	assert_equal "$(wc -l <"$W/many")" "$(grep -c '' "$W/in")"
	assert_equal "$(jq -r '.error // .decision // .status' "$W/many" | sort -u | xargs)" \
		'bad-record deny internal ok op overloaded refresh-route timeout too-large transport unavailable'
}

@test "a record by itself has the same answer, and the status that goes with it" {
	local n=0 line
	some_cases >"$W/in"
	as_call
	front
	while IFS= read -r line; do
		((++n))
		printf '%s' "$line" >"$W/body.$n"
		[ "$n" -eq 1 ] || echo next
		printf '%s\n' 'silent' "unix-socket = \"$AT\"" "header = \"Authorization: Bearer $(<"$W/token")\"" \
			'header = "Content-Type: application/json"' "data-binary = \"@$W/body.$n\"" 'url = "http://x/v1/ops"' \
			'write-out = "%{http_code} %{content_type} %{num_connects}\n"'
	done <"$W/in" >"$W/curl"
	timeout 120 curl -K "$W/curl" >"$W/out"
	grep '^{' "$W/out" | jq -c 'if .line then .line = 1 else . end' >"$W/answers"
	jq -c 'if .line then .line = 1 else . end' "$W/call" >"$W/expected"
	run -0 diff "$W/expected" "$W/answers"
	jq -r '{ok: 200, "refresh-route": 409, deny: 403, "bad-record": 400, transport: 502, timeout: 504, op: 422,
		overloaded: 503, "too-large": 413, unavailable: 503, internal: 500}[.error // .decision // .status]' "$W/call" >"$W/expected"
	run -0 diff "$W/expected" <(grep -v '^{' "$W/out" | cut -d ' ' -f 1)
	assert_equal "$(sort -u "$W/expected" | xargs)" '200 400 403 409 413 422 500 502 503 504'
	# All over one connection: an answer that is an error ends none.
	assert_equal "$(grep -v '^{' "$W/out" | cut -d ' ' -f 2,3 | sort | uniq -c | xargs)" \
		"$(($(wc -l <"$W/in") - 1)) application/json 0 1 application/json 1"
}

@test "without a token it is 401, with one that the registry does not know 403, with either nothing is sent" {
	up
	local denied='{"status":"refused","decision":"deny","reason":"unauthorized","hop":"node-api"}' token
	for token in '' 'Authorization: Basic eA==' 'Authorization: Bearer' 'Authorization: Bearer x' "Authorization: $(<"$W/token")" \
		"Authorization: Bearer $(<"$W/token")x" 'Sec-WebSocket-Protocol: v4.public.x' "Cookie: token=$(<"$W/token")"; do
		run -0 timeout 60 curl -sS -i --unix-socket "$AT" -H "$token" -H 'Content-Type: application/json' -d "$PING" http://x/v1/ops
		assert_line --index 0 $'HTTP/1.1 401 Unauthorized\r'
		assert_line $'WWW-Authenticate: Bearer\r'
		assert_line $'Connection: close\r'
		assert_equal "${lines[-1]}" "$denied"
		refute_output --partial Set-Cookie
	done
	# The form alone, and a name that there is, prove nothing.
	echo "space-token:token:$(head -c 32 /dev/zero | base64 | tr '+/' -_ | tr -d =)" >"$W/forged"
	run -0 web_as forged -w '%{http_code}' -d "$PING" http://x/v1/ops
	assert_output "$denied"$'\n403'
	printf '%s\n' "$PING" x >"$W/two"
	TYPE=' application/jsonl' run -0 web_as forged --data-binary "@$W/two" http://x/v1/ops
	assert_line --index 0 "$denied"
	assert_line --index 1 --partial '"error":"bad-record","line":2'
	assert_equal "$(wc -l <"$W/a.log")" 0
	run -0 web -d "$PING" http://x/v1/ops
	assert_output "$PONG"
	assert_equal "$(wc -l <"$W/a.log")" 1
	# A token in two fields is none.
	run -0 web -H 'Authorization: Bearer x' -w '%{http_code}' -o "$W/out" -d "$PING" http://x/v1/ops
	assert_output 400
}

# says STATUS WORDS ARG...: this request is answered so.
says() {
	run -0 web -w '\n%{http_code}' "${@:3}"
	assert_equal "${lines[-1]} ${lines[0]}" "$1 {\"status\":\"error\",\"error\":\"bad-record\",\"message\":\"$2\"}"
}

@test "what is not asked as it must be has a status of its own" {
	up
	says 404 'there is nothing here' http://x/v1
	says 404 'there is nothing here' http://x/v1/ops/
	says 404 'there is nothing here' --path-as-is http://x/v1/../v1/ops -d "$PING"
	says 405 'POST here' http://x/v1/ops
	says 405 'GET or HEAD here' -d "$PING" http://x/healthz
	TYPE=' text/plain' says 415 'the body is neither application/json nor application/x-ndjson' -d "$PING" http://x/v1/ops
	TYPE='' says 415 'the body is neither application/json nor application/x-ndjson' -d "$PING" http://x/v1/ops
	TYPE=$LINES_TYPE says 400 'lines are for HTTP/1.1' -0 -d "$PING" http://x/v1/ops
	says 417 'Expect: not 100-continue' -H 'Expect: tea' -d "$PING" http://x/v1/ops
	for query in window=0 window=65 window= x 'window=1&window=1'; do
		TYPE=$LINES_TYPE says 400 'the query is not window= and a number from 1 to 64, for lines' -d "$PING" "http://x/v1/ops?$query"
	done
	says 400 'the query is not window= and a number from 1 to 64, for lines' -d "$PING" 'http://x/v1/ops?window=1'
	assert_equal "$(wc -l <"$W/a.log")" 0
	run -0 web -i http://x/v1/ops
	assert_line $'Allow: POST\r'
	TYPE=' Application/JSON ; charset=utf-8' run -0 web -d "$PING" http://x/v1/ops
	assert_output "$PONG"
	run -0 web -0 -d "$PING" http://x/v1/ops
	assert_output "$PONG"
}

@test "a head or a body that two readers could read as two is refused, and ends its connection" {
	up
	local fields chunk
	for fields in $'Content-Length: 3\r\nTransfer-Encoding: chunked' $'Content-Length: 44\r\nContent-Length: 44' \
		'Transfer-Encoding: gzip, chunked' $'X: a\r\n b' $'X : a' $'Host: y' "X: $(head -c 17000 /dev/zero | tr '\0' x)"; do
		run -0 raw < <(head_of '' "$fields"; printf '%s' "$PING"; head_of 44; printf '%s' "$PING")
		assert_line --index 0 $'HTTP/1.1 400 Bad Request\r'
		assert_line $'Connection: close\r'
		refute_output --partial "$PONG"
		assert_equal "$(grep -c ^HTTP <<<"$output")" 1
	done
	for chunk in 'zz\r\n' '2c\rX%s\r\n0\r\n\r\n' '2c\r\n%sXX0\r\n\r\n' '2c\r\n%s\rX0\r\n\r\n' '2c\r\n%s\r\n0\r\n\rX'; do
		# shellcheck disable=SC2059
		run -0 raw < <(head_of '' 'Transfer-Encoding: chunked'; printf "$chunk" "$PING"; head_of 44; printf '%s' "$PING")
		assert_line --index 0 $'HTTP/1.1 400 Bad Request\r'
		assert_equal "$(grep -c ^HTTP <<<"$output")" 1
	done
	assert_equal "$(wc -l <"$W/a.log")" 0
	# Requests that come together are answered one after the other.
	run -0 raw < <(head_of 44; printf '%s' "$PING"; head_of '' 'Transfer-Encoding: chunked'; printf '4\r\n%s\r\n28;x=y\r\n%s\r\n0\r\nT: u\r\n\r\n' \
		"${PING:0:4}" "${PING:4}"; printf 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'; head_of 2 'Connection: close'; printf '{}')
	assert_equal "$(grep ^HTTP <<<"$output" | cut -d ' ' -f 2 | xargs)" '200 200 200 400'
	assert_equal "$(grep -c "^$PONG" <<<"$output")" 2
}

@test "a record over its bound is 413, announced or not, and its connection ends" {
	up
	asked file.write s-same-1 big "{\"text\":\"$(head -c 200000 /dev/zero | tr '\0' x)\"}" >"$W/big"
	says 413 'request: longer than 192 KiB' --data-binary "@$W/big" http://x/v1/ops
	says 413 'request: longer than 192 KiB' -H 'Transfer-Encoding: chunked' --data-binary "@$W/big" http://x/v1/ops
	asked file.write s-same-1 big "{\"text\":\"$(head -c 190000 /dev/zero | tr '\0' x)\"}" >"$W/big"
	run -0 web -w '\n%{http_code}' -H 'Transfer-Encoding: chunked' --data-binary "@$W/big" http://x/v1/ops
	assert_equal "${lines[-1]}" 200
	# Longer than any body would be: nothing is waited for.
	run -0 raw_open < <(head_of 99999999999; exec tail -f /dev/null)
	assert_line --index 0 $'HTTP/1.1 413 Content Too Large\r'
}

@test "lines are answered as they come, while the request is still being sent" {
	up
	mkfifo "$W/fifo"
	TYPE=$LINES_TYPE web -N -X POST -T . http://x/v1/ops <"$W/fifo" >"$W/out" 3>&- &
	local pid=$! n
	exec 7>"$W/fifo"
	for n in 1 2 3; do
		asked ping s-same-1 "r$n" >&7
		eventually has "$W/out" "\"r$n\""
	done
	assert_equal "$(jq -r .id "$W/out" | xargs)" 'r1 r2 r3'
	exec 7>&-
	exits_with 0 "$pid"
	assert_equal "$(wc -l <"$W/out")" 3
}

# counted NAME NUMBER: does /metrics say so?
counted() { [ "$(web http://x/metrics | grep "^$1 ")" = "$1 $2" ]; }

@test "what one caller has in flight is bounded; another, and one who only takes his name, are not his concern" {
	up --inflight 2
	local n
	asked ping s-same-1 held '{"hold":true}' >"$W/hold"
	for n in 1 2; do
		web --data-binary "@$W/hold" http://x/v1/ops >"$W/held.$n" 3>&- &
	done
	eventually counted space_http_operations_in_flight 2
	run -0 web -i -d '{"id":"r3","op":"ping","sandbox":"s-same-1","args":{}}' http://x/v1/ops
	assert_line --index 0 $'HTTP/1.1 429 Too Many Requests\r'
	assert_line $'Retry-After: 1\r'
	assert_equal "${lines[-1]}" \
		'{"id":"r3","status":"error","error":"overloaded","message":"too many requests of this caller are in flight"}'
	# Nothing was sent of it.
	assert_equal "$(wc -l <"$W/a.log")" 2
	run -0 lines <(printf '%s\n' "$PING" "$PING")
	assert_equal "$(jq -r .error <<<"$output" | xargs)" 'overloaded overloaded'
	run -0 web_as other -d "$PING" http://x/v1/ops
	assert_output "$PONG"
	kill -USR1 "$(cat "$W/a.pid")"
	eventually counted space_http_operations_in_flight 0
	await has "$W/held.1" held
	await has "$W/held.2" held
	run -0 web -d "$PING" http://x/v1/ops
	assert_output "$PONG"
	run -0 web http://x/metrics
	assert_line 'space_http_operations_total{outcome="ok"} 4'
	assert_line 'space_http_operations_total{outcome="overloaded"} 3'
	assert_line 'space_http_requests_total{status="429"} 1'
}

@test "whoever goes away leaves nothing in flight, and nothing of his limit" {
	up --inflight 1
	asked ping s-same-1 held '{"hang":true}' >"$W/hang"
	socat -t 0.1 - "UNIX-CONNECT:$AT" < <(stream; chunk "$(<"$W/hang")"$'\n'; exec tail -f /dev/null) >"$W/out" 3>&- &
	local pid=$!
	eventually counted space_http_operations_in_flight 1
	kill "$pid"
	wait "$pid" || :
	eventually counted space_http_operations_in_flight 0
	run -0 web -d "$PING" http://x/v1/ops
	assert_output "$PONG"
}

@test "a head, a record and a line that do not come to their end are not waited for, nor one who asks nothing" {
	up --timeout 1 --idle-timeout 2
	local none='{"status":"error","error":"timeout","sent":false,"message":"no whole request came within --timeout"}'
	run -0 raw_open < <(printf 'POST /v1/ops HTTP/1.1\r\nHo'; exec tail -f /dev/null)
	assert_line --index 0 $'HTTP/1.1 408 Request Timeout\r'
	assert_equal "${lines[-1]}" "$none"
	run -0 raw_open < <(head_of 44; printf '{"op":'; exec tail -f /dev/null)
	assert_line --index 0 $'HTTP/1.1 408 Request Timeout\r'
	# Bytes that come one by one make no time.
	run -0 raw_open < <(head_of 4000; while printf x; do sleep 0.1; done 2>/dev/null)
	assert_line --index 0 $'HTTP/1.1 408 Request Timeout\r'
	# What was answered stays; that there was more is told by the end that is missing.
	run -0 raw_open < <(stream; chunk "$PING"$'\n{"op":'; exec tail -f /dev/null)
	cut_after "$PONG"
	run -0 raw_open < <(stream; chunk "$PING"$'\n'; exec tail -f /dev/null)
	cut_after "$PONG"
	run -0 raw_open < <(exec tail -f /dev/null)
	assert_output ''
	# Somebody else's slowness is nobody's.
	run -0 web -d "$PING" http://x/v1/ops
	assert_output "$PONG"
}

@test "strangers who say nothing, or do not come to an end, make room; whoever has something in flight stays" {
	local n=0 said held
	up --timeout 3600 --idle-timeout 86400
	asked ping s-same-1 held '{"hold":true}' >"$W/hold"
	web --data-binary "@$W/hold" http://x/v1/ops >"$W/held" 3>&- &
	held=$!
	eventually counted space_http_operations_in_flight 1
	for said in '' 'GET /healthz' "POST /v1/ops HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\
Authorization: Bearer space-token:token:$(printf 'A%.0s' {1..43})\r\n\r\n"; do
		start "silent-$((n++))" "$ROOT/tests/fixtures/silent.py" "$AT" 1200 "$said"
		run -0 web -d "$PING" http://x/v1/ops
		assert_output "$PONG"
	done
	run -0 web http://x/metrics
	n=$(sed -n 's/^space_http_connections //p' <<<"$output")
	[ "$n" -gt 900 ] && [ "$n" -le 961 ] || fail "$n are open"
	# The last were not refused.
	n=$(sed -n 's/^space_http_requests_total{status="200"} //p' <<<"$output")
	[ "$n" -gt 900 ] || fail "$n had a head"
	kill -USR1 "$(cat "$W/a.pid")"
	exits_with 0 "$held"
	assert_equal "$(jq -r .status "$W/held")" ok
}

@test "whoever does not take his answers is cut, and holds no more than a bound meanwhile" {
	up --idle-timeout 1
	local n
	for ((n = 0; n < 60; n++)); do
		asked file.read s-same-1 r '{"say":["{\"id\":\"$ID\",\"status\":\"ok\",\"result\":{\"text\":\"$SIZE:200000\"}}"]}'
	done >"$W/many"
	{
		head_of "$(wc -c <"$W/many")" | sed 's,application/json,application/x-ndjson,'
		cat "$W/many"
	} >"$W/request"
	# One who reads nothing, and does not go.
	socat -u - "UNIX-CONNECT:$AT" < <(cat "$W/request"; exec tail -f /dev/null) 3>&- &
	local pid=$!
	eventually test -s "$W/a.log"
	eventually counted space_http_connections 1
	n=$(wc -l <"$W/a.log")
	[ "$n" -gt 0 ] && [ "$n" -lt 40 ] || fail "$n of 60 were asked for"
	kill "$pid" 2>/dev/null || :
	wait "$pid" || :
	# The same, read to its end, is whole.
	lines "$W/many" >"$W/out"
	assert_equal "$(wc -l <"$W/out")" 60
}

@test "500 requests of 100 clients at once are all answered" {
	up --inflight 1000
	local n
	for ((n = 0; n < 500; n++)); do
		printf '%s\n' "url = \"http://x/v1/ops\"" "output = \"$W/many.$n\""
	done >"$W/urls"
	web -Z --parallel-max 100 -d "$PING" -K "$W/urls"
	assert_equal "$(cat "$W"/many.* | sort | uniq -c | xargs -0 | xargs)" "$(echo "500 $PONG" | xargs)"
	assert_equal "$(wc -l <"$W/a.log")" 500
}

@test "SIGTERM ends what is in flight first, and takes nothing more" {
	up
	asked ping s-same-1 held '{"hold":true}' >"$W/hold"
	web --data-binary "@$W/hold" http://x/v1/ops >"$W/held" 3>&- &
	local one=$! many front
	mkfifo "$W/fifo"
	raw_open <"$W/fifo" >"$W/lines" 3>&- &
	many=$!
	exec 7>"$W/fifo"
	{
		stream | sed 's,/v1/ops,&?window=2,'
		chunk "$(<"$W/hold")"$'\n'
	} >&7
	eventually counted space_http_operations_in_flight 2
	front=$(cat "$W/front.pid")
	kill "$front"
	eventually test ! -e "$AT"
	chunk "$PING"$'\n' >&7
	kill -USR1 "$(cat "$W/a.pid")"
	exits_with 0 "$one"
	assert_equal "$(jq -r .status "$W/held")" ok
	# A request of lines that had not ended is seen to be cut.
	exits_with 0 "$many"
	exec 7>&-
	run -0 cat "$W/lines"
	cut_after "$(cat "$W/held")"
	await_end "$front"
	rm "$W/front.pid"
	assert_equal "$(wc -l <"$W/a.log")" 2
}

@test "another configuration counts at once and from SIGHUP on, one that is none changes nothing" {
	configure '[manager]' 'timeout_ms = 600000'
	up
	asked ping s-same-1 r '{"hang":true}' >"$W/hang"
	sed 's/^timeout_ms = .*/timeout_ms = 10/' "$SPACE_CONFIG" >"$W/new"
	mv "$W/new" "$SPACE_CONFIG"
	kill -HUP "$(cat "$W/front.pid")"
	run -0 web -w '%{http_code}' --data-binary "@$W/hang" http://x/v1/ops
	assert_line --index 0 --partial '"error":"timeout"'
	assert_line --index 1 504
	echo none >>"$SPACE_CONFIG"
	eventually has "$W/front.err" 'reload failed, the values before stay in use'
	run -0 web -w '%{http_code}' --data-binary "@$W/hang" http://x/v1/ops
	assert_line --index 1 504
}

@test "healthz says that it is there, and both are there without a token and for GET and HEAD alone" {
	up
	run -0 timeout 60 curl -sS --unix-socket "$AT" http://x/healthz
	assert_output '{"status":"ok"}'
	run -0 timeout 60 curl -sSI --unix-socket "$AT" http://x/healthz
	assert_line --index 0 $'HTTP/1.1 200 OK\r'
	assert_line $'Content-Length: 16\r'
	web -d '{}' http://x/v1/ops >"$W/out"
	web http://x/none >"$W/out"
	run -0 timeout 60 curl -sS --unix-socket "$AT" http://x/metrics
	assert_line 'space_http_connections 1'
	assert_line 'space_http_requests_total{status="200"} 2'
	assert_line 'space_http_requests_total{status="400"} 1'
	assert_line 'space_http_requests_total{status="404"} 1'
	assert_line 'space_http_operations_total{outcome="bad-record"} 1'
	# Every line is a comment or a sample.
	run -1 grep -vE '^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[a-z0-9-]+"\})? [0-9]+)$' <<<"$output"
	run -0 timeout 60 curl -sS -o /dev/null -D - --unix-socket "$AT" http://x/metrics
	assert_line $'Content-Type: text/plain; version=0.0.4; charset=utf-8\r'
}

# certificate NAME: NAME.pem and NAME.key, for 127.0.0.1.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
		-addext subjectAltName=IP:127.0.0.1 -keyout "$W/$1.key" -out "$W/$1.pem" 2>/dev/null
	chmod 0600 "$W/$1.key"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# over PORT CERTIFICATE ARG...: curl over TLS.
over() {
	timeout 120 curl -sS --cacert "$W/$2.pem" -H "Authorization: Bearer $(<"$W/token")" -H "Content-Type:${TYPE- application/json}" \
		"${@:3}" "https://127.0.0.1:$1/v1/ops"
}

@test "with a certificate it speaks TLS, beyond loopback too, and takes another when its files change" {
	local port n
	port=$(free_port)
	certificate one
	certificate two
	cp "$W/one.pem" "$W/tls.pem"
	cp -p "$W/one.key" "$W/tls.key"
	asked ping s-same-1 >"$W/in"
	world
	start front spacestream serve --listen "tcp:0.0.0.0:$port" --tls-cert "$W/tls.pem" --tls-key "$W/tls.key"
	run -0 over "$port" one -d "$PING"
	assert_output "$PONG"
	for ((n = 0; n < 3000; n++)); do echo "$PING"; done >"$W/many"
	TYPE=$LINES_TYPE over "$port" one --data-binary "@$W/many" | sort -u >"$W/out"
	assert_equal "$(cat "$W/out")" "$PONG"
	run ! timeout 60 curl -sS "http://127.0.0.1:$port/healthz"
	cp "$W/two.pem" "$W/tls.pem"
	cp -p "$W/two.key" "$W/tls.key"
	await over "$port" two -d "$PING"
	run -60 over "$port" one -d "$PING"
	# What is no certificate changes nothing.
	echo x >"$W/tls.pem"
	kill -HUP "$STARTED"
	eventually has "$W/front.err" 'the certificate before stays in use'
	run -0 over "$port" two -d "$PING"
	assert_output "$PONG"
}

@test "strangers who do not even shake hands make room, too" {
	local port
	port=$(free_port)
	certificate one
	asked ping s-same-1 >"$W/in"
	world
	start front spacestream serve --listen "tcp:127.0.0.1:$port" --tls-cert "$W/one.pem" --tls-key "$W/one.key" \
		--timeout 3600 --idle-timeout 86400
	start silent "$ROOT/tests/fixtures/silent.py" "127.0.0.1:$port" 1200
	run -0 over "$port" one -d "$PING"
	assert_output "$PONG"
}

@test "plain TCP is for loopback alone; node-api --http starts the same" {
	local port
	port=$(free_port)
	asked ping s-same-1 >"$W/in"
	world
	run -2 --separate-stderr timeout 60 spacestream serve --listen "tcp:0.0.0.0:$port"
	assert_equal "$stderr" 'spacestream: serve: --listen: plain TCP is for loopback alone; beyond it give --tls-cert and --tls-key, or let a TLS front speak to a server there'
	run -2 --separate-stderr timeout 60 spacestream serve --listen "$W/x"
	assert_equal "$stderr" "spacestream: serve: --listen: \`$W/x\` is neither unix:PATH nor tcp:HOST:PORT"
	certificate one
	run -2 timeout 60 spacestream serve --listen "unix:$W/x" --tls-cert "$W/one.pem" --tls-key "$W/one.key"
	run -2 timeout 60 spacestream serve --listen "unix:$W/x" --tls-cert "$W/one.pem"
	run -1 timeout 60 spacestream serve --listen "unix:$W/x" --key "$W/none"
	[ ! -e "$W/x" ]
	start front node-api --http --listen "tcp:127.0.0.1:$port"
	run -0 timeout 60 curl -sS -H "Authorization: Bearer $(<"$W/token")" -H 'Content-Type: application/json' -d "$PING" \
		"http://127.0.0.1:$port/v1/ops"
	assert_output "$PONG"
	stop front
	# By default a socket beside the others, ours alone.
	start front node-api --http
	assert_equal "$(stat -c %a "$RUN/http.sock")" 600
	AT=$RUN/http.sock
	run -0 web -d "$PING" http://x/v1/ops
	assert_output "$PONG"
}

@test "a signer that is asked, and a cache that is not there, are seen by the caller as by the filters" {
	asked ping s-same-1 >"$W/in"
	world
	start signer spacecap agent -k "$W/key" --listen "$W/signer"
	mv "$W/key" "$W/key.aside"
	front --agent "$W/signer"
	run -0 web -d "$PING" http://x/v1/ops
	assert_output "$PONG"
	stop signer
	run -0 web -w '%{http_code}' -d "$PING" http://x/v1/ops
	assert_line --index 1 503
	stop cache
	run -0 web -w '%{http_code}' -d '{"id":"r","op":"ping","sandbox":"s-same-1","args":{}}' http://x/v1/ops
	assert_line --index 1 503
	assert_equal "$(jq -r '[.id, .error] | join(" ")' <<<"${lines[0]}")" 'r unavailable'
}

@test "a socket of the service manager is served, by the same rule about TCP" {
	command -v systemd-socket-activate >/dev/null || skip_or_fail systemd
	local port pid
	asked ping s-same-1 >"$W/in"
	world
	systemd-socket-activate -l "$AT" "$(command -v spacestream)" serve -c "$SPACE_CONFIG" 2>"$W/err" 3>&- &
	pid=$!
	eventually listens "$AT"
	run -0 web -d "$PING" http://x/v1/ops
	assert_output "$PONG"
	[ ! -e "$RUN/http.sock" ]
	kill "$pid"
	exits_with 0 "$pid"
	# It is not unlinked by who has not made it.
	[ -S "$AT" ]
	port=$(free_port)
	systemd-socket-activate -l "0.0.0.0:$port" "$(command -v spacestream)" serve -c "$SPACE_CONFIG" 2>"$W/err" 3>&- &
	pid=$!
	eventually has "$W/err" Listening
	run ! timeout 60 curl -sS "http://127.0.0.1:$port/healthz"
	exits_with 2 "$pid"
}
