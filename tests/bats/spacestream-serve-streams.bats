# spacestream serve: sessions and watches as WebSockets and events. Most tests have a manager and a guest that say what
# a test wants (fixtures/frames.py), behind a real cache and signer; the last have the whole path. npm's ws is the client
# (fixtures/ws.cjs), and curl.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2154
load helper
load path

export BATS_VERBOSE_RUN=1

setup_file() { npm_peers; }

setup() {
	WORLD=$BATS_TEST_TMPDIR
	AT=$WORLD/http
	[ -e "$PEERS/installed" ] || skip_or_fail 'npm package ws (no registry reached)'
}

teardown() {
	world_end
	stop_all
}

# front [OPTION...]: the entry, which a token's owner may use for what streams need.
front() {
	local name
	for name in token other; do
		[ -e "$WORLD/$name" ] || spacerouted grant --principal "token:$name" --token-file "$WORLD/$name" --sandbox '*' \
			--ops 'exec.*,terminal.*,file.*,lease.*' >/dev/null
	done
	start front spacestream serve --listen "unix:$AT" "$@"
}

# control SCRIPT...: a control plane, and a manager that takes these scripts, a connection each.
control() {
	mkdir -p "$WORLD"/control/run
	WORLD_LEVEL=$(world_level)
	world_keys
	world_config control
	export SPACE_CONFIG=$WORLD/control.ini
	cat >"$WORLD/publish" <<-'END'
		#!/bin/sh
		exec spacerouted publish --sandbox s-42 --execution "$1" --worker worker-a --substrate host \
			--activation "act-$1" --attempt 1 --endpoint "unix:${0%/*}/m.sock" >/dev/null
	END
	chmod +x "$WORLD/publish"
	"$WORLD/publish" 7
	start manager python3 "$ROOT/tests/fixtures/frames.py" "$WORLD/m.sock" "$WORLD/log" "$@"
	start cache spacerouted serve
	# shellcheck disable=SC2086
	front ${FRONT:-}
}

DENY='answer {"status":"refused","decision":"deny","reason":"replayed","hop":"sbx-manager"}'
STALE='answer {"status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}'
OKAY='status {"exit":0}'
SESSION=/v1/sandboxes/s-42/sessions/e-1/attach

# ws OPTIONS STEP...: a client of the session, by default the token's owner; ws_at PATH OPTIONS STEP... of something else.
ws() { ws_at "$SESSION" "$@"; }
ws_at() {
	timeout 120 node "$ROOT/tests/fixtures/ws.cjs" "$AT" "$1" "$(jq -nc --arg t "$(<"$WORLD/token")" "{token: \$t} + $2")" "${@:3}"
}

# get PATH ARG...: curl, as the owner of the token.
get() { timeout 120 curl -sS --unix-socket "$AT" -H "Authorization: Bearer $(<"$WORLD/token")" "${@:2}" "http://x$1"; }

# asked: what the manager was asked, an operation each; counted NAME NUMBER: does /metrics say so?
asked() { jq -r 'select(.op).op' "$WORLD/log" | xargs; }
counted() { [ "$(get /metrics | grep "^$1 ")" = "$1 $2" ]; }

OPEN='{"event":"open","new":{"execution":7,"attempt":1},"from":0}'

@test "a session's frames are messages, both ways; its status is the last, and then it is closed" {
	control 'open l 0; input 6; out one; err two; input 4; end; status {"exit":3}' 'open l 0; mirror' 'open l; status {"signal":"SIGTERM"}' \
		'open l 0; status {"error":"op","errno":"EBUSY","message":"taken"}'
	run -0 ws "{out: \"$WORLD/out\", err: \"$WORLD/err\"}" size 30 100 in 'a\u00e9\n' in bcd until onetwo size 40 120 end rest
	assert_output "$OPEN"$'\nstatus {"exit":3}\nclosed 1000'
	assert_equal "$(cat "$WORLD/out" "$WORLD/err")" onetwo
	run -0 jq -c 'del(.op)' "$WORLD/log"
	assert_output '{"args":{"session":"e-1"}}
{"resize":{"rows":30,"cols":100}}
{"input":"aé\nbcd"}
{"resize":{"rows":40,"cols":120}}
{"input":""}'
	run -0 ws '{}' in ping until ping ping raw 00000000000000026869 until hi end rest
	assert_output "$OPEN"$'\nstatus {"exit":0}\nclosed 1000'
	run -0 ws '{}' rest
	assert_output '{"event":"open","new":{"execution":7,"attempt":1}}
status {"signal":"SIGTERM"}
closed 1000'
	run -0 ws '{}' rest
	assert_line 'status {"error":"op","errno":"EBUSY","message":"taken"}'
	assert_line 'closed 1000'
	# A place of the client's own.
	run -0 get "$SESSION?from=x" -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
		-H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
	assert_output '{"status":"error","error":"bad-record","message":"query: from= is no position"}'
}

@test "megabytes go through both ways, and no byte is changed" {
	control 'open l 0; mirror'
	cat >"$WORLD/echo.cjs" <<-'END'
		const WebSocket = require('ws'), crypto = require('crypto');
		const [path, target, token] = process.argv.slice(2), sent = crypto.randomBytes(5000000);
		const socket = new WebSocket(`ws+unix:${path}:${target}`, [], { headers: { Authorization: 'Bearer ' + token } });
		const back = [];
		socket.on('open', () => {
			for (let at = 0; at < sent.length; at += 65536) {
				const part = sent.subarray(at, at + 65536), header = Buffer.alloc(8);
				header.writeUInt32BE(part.length, 4);
				// In fragments, too.
				socket.send(header, { fin: false, binary: true });
				socket.send(part, { fin: true });
			}
			socket.send(Buffer.from([5, 0, 0, 0, 0, 0, 0, 0]));
		});
		socket.on('message', (data, binary) => { if (binary && data[0] === 1) back.push(data.subarray(8)); });
		socket.on('close', (code) => console.log(code, Buffer.concat(back).equals(sent)));
	END
	run -0 timeout 120 node "$WORLD/echo.cjs" "$AT" "$SESSION" "$(<"$WORLD/token")"
	assert_output '1000 true'
}

@test "the WebSocket outlives replacements: which execution was cut and which is new, output at the byte, each cut its own attempt" {
	# What is typed while there is none waits, and the terminal has its size again.
	control "open l 100; out one; sh $WORLD/publish 8; cut" 'answer {"status":"ok","result":{"state":"cut","reason":"retired","message":"gone"}}' \
		"open l 103; input 4; out two; sh $WORLD/publish 9; cut" "$DENY" "open l 106; input 0; out three; $OKAY"
	run -0 ws '{}' size 30 100 until one event cut in abcd event replaced event replaced rest
	assert_output '{"event":"open","new":{"execution":7,"attempt":1},"from":100}
{"event":"cut","old":{"execution":7,"attempt":1},"message":"retired: gone"}
{"event":"replaced","old":{"execution":7,"attempt":1},"new":{"execution":8,"attempt":1},"from":103}
{"event":"cut","old":{"execution":8,"attempt":1},"message":""}
{"event":"replaced","old":{"execution":8,"attempt":1},"new":{"execution":9,"attempt":1},"from":106}
status {"exit":0}
closed 1000'
	run -0 jq -c 'select(.op != "lease.status") | del(.op)' "$WORLD/log"
	assert_output '{"args":{"session":"e-1"}}
{"args":{"session":"e-1","from":103}}
{"resize":{"rows":30,"cols":100}}
{"input":"abcd"}
{"args":{"session":"e-1","from":106}}
{"input":""}'
	counted space_http_streams_cut_total 2
	counted space_http_streams_replaced_total 2
}

@test "output that is not kept any more is a gap that is said" {
	control "open l 0; out one; sh $WORLD/publish 8; cut" "$DENY" \
		'answer {"status":"error","error":"op","errno":"ERANGE","message":"of the output bytes 9 to 12 are kept"}' \
		"open l 9; out kept; $OKAY" "open l 7; out one; sh $WORLD/publish 9; cut" "$DENY" \
		'answer {"status":"error","error":"op","errno":"ERANGE","message":"of the output bytes 0 to 4 are kept"}' \
		"open l 0; out all; $OKAY"
	run -0 ws '{}' event gap until kept rest
	assert_line --index 2 '{"event":"gap","missing":6}'
	assert_line --index 3 --partial '{"event":"replaced",'
	# A snapshot older than what came before.
	run -0 ws '{}' event gap until all rest
	assert_line --index 2 '{"event":"gap"}'
	assert_line --index 3 --partial '{"event":"replaced",'
}

# cut_and ANSWER...: a stream that is cut, and what is said to the one that would follow.
cut_and() {
	local answer all=()
	for answer; do
		all+=("open l 0; sh $WORLD/publish \$((\$(cat $WORLD/n) + 1)); sh echo \$((\$(cat $WORLD/n) + 1)) >$WORLD/n; cut" "$DENY" "$answer")
	done
	control "${all[@]}"
}

@test "where it may not be opened again, a code and a reason say why" {
	echo 7 >"$WORLD/n"
	cut_and "$DENY" 'answer {"status":"error","error":"op","errno":"ENOENT","message":"no such session"}' \
		'answer {"status":"error","error":"overloaded","message":"as many as there may be"}'
	run -0 ws '{}' event cut rest
	assert_line --index 2 'closed 4403 refused by sbx-manager: deny: replayed'
	run -0 ws '{}' event cut rest
	assert_line --index 2 'closed 4422 op ENOENT: no such session'
	run -0 ws '{}' event cut rest
	assert_line --index 2 'closed 4503 overloaded: as many as there may be'
}

@test "an old route behind a cut is repaired once; without a newer one it is closed in time, and by an operator at once" {
	FRONT='--reattach-timeout 1'
	control "open l 0; sh $WORLD/publish 8; cut" "$DENY" "sh $WORLD/publish 9; $STALE" "$STALE" \
		'open l 0; cut' "$DENY" \
		'open l 0; cut' 'answer {"status":"ok","result":{"state":"cancelled","message":"by an operator"}}' \
		'open l 0; raw \x09\0\0\0\0\0\0\0'
	run -0 ws '{}' event cut rest
	assert_line --index 2 'closed 4409 refused by sbx-manager: refresh-route: execution (behind: caller)'
	run -0 ws '{}' event cut rest
	assert_line --index 2 'closed 4410 cut, and there is no newer route'
	run -0 ws '{}' rest
	assert_output '{"event":"open","new":{"execution":9,"attempt":1},"from":0}
closed 4410 by an operator'
	run -0 ws '{}' rest
	assert_line 'closed 4502 what came from the guest is no stream'
}

@test "before it is open it is an answer like any other, and no WebSocket" {
	control "$DENY" "sh $WORLD/publish 8; $STALE" "$STALE" 'answer {"status":"error","error":"op","errno":"ENOENT","message":"no such session"}' \
		'answer {"status":"error","error":"unavailable","message":"m"}'
	run -0 ws '{}' rest
	assert_output '403 {"status":"refused","decision":"deny","reason":"replayed","hop":"sbx-manager"}'
	run -0 ws '{}' rest
	assert_output --partial '409 {"status":"refused","decision":"refresh-route",'
	run -0 ws '{}' rest
	assert_output '422 {"status":"error","error":"op","errno":"ENOENT","message":"no such session"}'
	run -0 ws '{}' rest
	assert_output '503 {"status":"error","error":"unavailable","message":"m"}'
	run -0 ws_at /v1/sandboxes/none/sessions/e-1/attach '{}' rest
	assert_output '409 {"status":"refused","decision":"refresh-route","reason":"absent","hop":"node-api"}'
	run -0 ws '{token: null}' rest
	assert_output '401 {"status":"refused","decision":"deny","reason":"unauthorized","hop":"node-api"}'
	run -0 ws '{token: "space-token:other:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}' rest
	assert_output '403 {"status":"refused","decision":"deny","reason":"unauthorized","hop":"node-api"}'
	run -0 ws_at /v1/sandboxes/s-42/sessions/-x/attach '{}' rest
	assert_output '404 {"status":"error","error":"bad-record","message":"there is nothing here"}'
	run -0 ws_at "$SESSION?to=1" '{}' rest
	assert_output '400 {"status":"error","error":"bad-record","message":"query: not NAME=VALUE, or a name that is none here"}'
	run -0 get "$SESSION" -i
	assert_line --index 0 $'HTTP/1.1 426 Upgrade Required\r'
	assert_line $'Sec-WebSocket-Version: 13\r'
	assert_line $'Upgrade: websocket\r'
	run -0 get "$SESSION" -i -X POST
	assert_line $'Allow: GET\r'
	assert_equal "$(asked)" 'exec.attach exec.attach exec.attach exec.attach exec.attach'
	counted space_http_streams 0
}

@test "a page of another site may not ask, and one of ours brings its token as a subprotocol" {
	local token
	FRONT='--origin https://app.example,https://b.example:8443'
	control "open l 0; $OKAY" "open l 0; $OKAY" "open l 0; $OKAY" "open l 0; $OKAY"
	token=$(printf %s "$(<"$WORLD/token")" | base64 -w 0 | tr '+/' '-_' | tr -d =)
	run -0 ws '{headers: {Origin: "https://evil.example"}}' rest
	assert_output '403 {"status":"error","error":"bad-record","message":"Origin: pages from there may not ask here (--origin lets them)"}'
	# A name that its owner can turn to us.
	run -0 ws '{headers: {Origin: "http://evil.example", Host: "evil.example"}}' rest
	assert_output --partial '403 '
	run -0 ws '{headers: {Origin: "null"}}' rest
	assert_output --partial '403 '
	run -0 get '/v1/sandboxes/s-42/watch?path=/' -H 'Origin: https://evil.example'
	assert_output --partial '"Origin: '
	assert_equal "$(asked)" ''
	run -0 ws '{headers: {Origin: "https://b.example:8443"}}' rest
	assert_line 'closed 1000'
	run -0 ws '{headers: {Origin: "http://127.0.0.1:80", Host: "127.0.0.1:80"}}' rest
	assert_line 'closed 1000'
	run -0 ws "{token: null, protocols: [\"space.v1\", \"bearer.$token\"], headers: {Origin: \"https://app.example\"}}" rest
	assert_line --index 0 'protocol space.v1'
	assert_line 'closed 1000'
	run -0 ws '{protocols: ["space.v1"]}' rest
	assert_line --index 0 'protocol space.v1'
	run -0 ws "{protocols: [\"space.v1\", \"bearer.$token\"]}" rest
	assert_output --partial '400 {"status":"error","error":"bad-record","message":"a token in Authorization, and another in Sec-WebSocket-Protocol"}'
	run -0 ws '{protocols: ["chat"]}' rest
	assert_output --partial 'Sec-WebSocket-Protocol: space.v1 is not offered'
	run -0 ws '{token: null, protocols: ["space.v1", "bearer.eA"]}' rest
	assert_output --partial '401 '
	run -2 --separate-stderr spacestream serve --listen "unix:$WORLD/x" --origin app.example
	assert_equal "${stderr%%$'\n'*}" 'spacestream: serve: --origin: not SCHEME://HOST[:PORT], with commas between'
}

@test "what is no frame of a client's is not passed on, and the close says what it was" {
	local n
	control 'open l 0; input 3' 'open l 0; hold' 'open l 0; hold' 'open l 0; hold' 'open l 0; hold' 'open l 0; hold' 'open l 0; hold'
	run -0 ws '{}' raw 00000000000000036162 rest
	assert_line 'closed 1007 a message that is not whole frames'
	run -0 ws '{}' text hey rest
	assert_line 'closed 1003 messages of text are not taken here'
	run -0 ws '{}' raw 010000000000000161 rest
	assert_line --partial 'closed 1007 frame: '
	run -0 ws '{}' raw 0000000000010001 rest
	assert_line --partial 'closed 1007 frame: '
	run -0 ws '{}' size 0 80 rest
	assert_line 'closed 1007 resize: not from 1 to 65535'
	run -0 ws '{}' end in a rest
	assert_line 'closed 1007 frame: after the last one'
	run -0 ws '{}' large 65545 rest
	assert_line 'closed 1009'
	await counted space_http_streams 0
}

@test "who closes is answered, and leaves nothing behind; so does who goes" {
	control 'open l 0; out a; hold' 'open l 0; out a; hold' 'open l 0; out a; hold' 'open l 0; out a; cut' "$DENY"
	run -0 ws '{}' until a close 1000
	assert_line 'closed 1000'
	run -0 ws '{}' until a close 4001
	assert_line 'closed 4001'
	eventually is 2 grep -c closed "$WORLD/log.closed"
	run -0 ws '{}' until a
	eventually is 3 grep -c closed "$WORLD/log.closed"
	# Also while there is nothing to be attached to, and input waits.
	run -0 ws '{}' event cut in abc close 1000
	assert_line 'closed 1000'
	await counted space_http_streams 0
	await counted space_http_connections 1
}

@test "one caller's streams are bounded; another's are not his concern" {
	FRONT='--streams 1'
	control 'open l 0; hold' 'open l 0; hold' 'open l 0; hold'
	mkfifo "$WORLD/go"
	ws '{}' event open note "$WORLD/open" from "$WORLD/go" >"$WORLD/first" 3>&- &
	local pid=$!
	eventually test -e "$WORLD/open"
	run -0 ws '{}' rest
	assert_output '429 {"status":"error","error":"overloaded","message":"too many streams of this caller are open (--streams)"}'
	run -0 get '/v1/sandboxes/s-42/watch?path=/' -i
	assert_line $'Retry-After: 1\r'
	run -0 ws "{token: \"$(<"$WORLD/other")\"}" event open close 1000
	assert_line 'closed 1000'
	: >"$WORLD/go"
	exits_with 0 "$pid"
	await counted space_http_streams 0
	run -0 ws '{}' event open close 1000
	assert_line 'closed 1000'
}

@test "who gives no sign is cut; who answers pings stays, however silent" {
	FRONT='--idle-timeout 2'
	control 'open l 0; out a; hold' 'open l 0; out a; hold'
	cat >"$WORLD/mute.cjs" <<-'END'
		const WebSocket = require('ws');
		const [path, target, token] = process.argv.slice(2);
		const options = { headers: { Authorization: 'Bearer ' + token } }, url = `ws+unix:${path}:${target}`;
		const mute = new WebSocket(url, [], { ...options, autoPong: false });
		const quiet = new WebSocket(url, [], options);
		let pings = 0;
		mute.on('close', (code) => { console.log('mute', code); });
		quiet.on('ping', () => { if (++pings === 4) { console.log('quiet', mute.readyState === WebSocket.CLOSED); process.exit(0); } });
	END
	run -0 timeout 120 node "$WORLD/mute.cjs" "$AT" "$SESSION" "$(<"$WORLD/token")"
	assert_output $'mute 1006\nquiet true'
}

# flows: does the server read more than what these questions are?
flows() {
	local before n
	before=$(awk '/^rchar/ { print $2 }' "/proc/$(cat "$WORLD/front.pid")/io")
	for n in 1 2 3 4 5; do get /healthz >/dev/null; done
	[ $(($(awk '/^rchar/ { print $2 }' "/proc/$(cat "$WORLD/front.pid")/io") - before)) -gt 20000 ]
}

@test "a slow reader holds the session back, and no more than a bound here; one who reads nothing is cut" {
	FRONT='--idle-timeout 4'
	control "open l 0; fill 3000000; sh touch $WORLD/taken; end; $OKAY" 'open l 0; fill 3000000; hold'
	mkfifo "$WORLD/go"
	ws "{out: \"$WORLD/out\"}" deaf note "$WORLD/deaf" from "$WORLD/go" hear rest >"$WORLD/slow" 3>&- &
	local pid=$!
	eventually test -e "$WORLD/deaf"
	# It flows until all between us is full.
	eventually eval '! flows'
	[ ! -e "$WORLD/taken" ]
	: >"$WORLD/go"
	exits_with 0 "$pid"
	assert_equal "$(tail -n 1 "$WORLD/slow")" 'closed 1000'
	assert_equal "$(stat -c %s "$WORLD/out")" 3000000
	ws '{}' deaf from "$WORLD/go" hear rest >"$WORLD/deaf.out" 3>&- &
	pid=$!
	eventually is 2 grep -c closed "$WORLD/log.closed"
	await counted space_http_streams 0
	: >"$WORLD/go"
	exits_with 0 "$pid"
	assert_equal "$(tail -n 1 "$WORLD/deaf.out")" 'closed 1006'
}

@test "input that a session does not read waits with the client" {
	control 'open l 0; sh cat '"$WORLD"'/go; input 1000000; out got; hold' 
	mkfifo "$WORLD/go"
	cat >"$WORLD/push.cjs" <<-'END'
		const WebSocket = require('ws'), fs = require('fs');
		const [path, target, token, fifo] = process.argv.slice(2);
		const socket = new WebSocket(`ws+unix:${path}:${target}`, [], { headers: { Authorization: 'Bearer ' + token } });
		const frame = Buffer.alloc(50008, 'x');
		frame.fill(0, 0, 8);
		frame.writeUInt32BE(50000, 4);
		socket.on('open', () => {
			for (let i = 0; i < 20; i++) socket.send(frame);
			// What the kernel and the server hold goes; the rest stays.
			let last = -1;
			const look = setInterval(() => {
				if (socket.bufferedAmount !== last) { last = socket.bufferedAmount; return; }
				clearInterval(look);
				console.log('waits', last > 300000);
				fs.writeFileSync(fifo, 'x');
			}, 300);
		});
		socket.on('message', (data, binary) => { if (binary && data.subarray(8).toString() === 'got') { console.log('got'); process.exit(0); } });
	END
	run -0 timeout 120 node "$WORLD/push.cjs" "$AT" "$SESSION" "$(<"$WORLD/token")" "$WORLD/go"
	assert_output $'waits true\ngot'
}

@test "SIGTERM closes streams, and says so" {
	control 'open l 0; hold'
	ws '{}' event open note "$WORLD/open" rest >"$WORLD/out" 3>&- &
	local pid=$! server
	server=$(cat "$WORLD/front.pid")
	eventually test -e "$WORLD/open"
	kill "$server"
	exits_with 0 "$pid"
	assert_equal "$(tail -n 1 "$WORLD/out")" 'closed 1001 this server stops'
	await_end "$server"
	rm "$WORLD/front.pid"
}

@test "a watch is events, by a WebSocket or Server-Sent, and what a replacement may have hidden is a resync" {
	local line
	control "open l; out {\"n\":1}\n{\"half; sh $WORLD/publish 8; cut" "$DENY" "open l; out {\"n\":2}\n; $OKAY" \
		"open l; out {\"n\":1}\n{\"half; sh $WORLD/publish 9; cut" "$DENY" "open l; out {\"n\":2}\n; $OKAY" \
		"$DENY" "open l; out {\"n\":1}\n; sh $WORLD/publish 10; cut" "$DENY" "$DENY" 'open l; hold'
	run -0 get '/v1/sandboxes/s-42/watch?path=/a%20b&recursive=true' -i
	assert_line --index 0 $'HTTP/1.1 200 OK\r'
	assert_line $'Content-Type: text/event-stream\r'
	assert_equal "$(sed -n 's/^data: //p' <<<"$output" | jq -c 'del(.lease, .epoch)')" '{"event":"open","new":{"execution":7,"attempt":1}}
{"n":1}
{"event":"cut","old":{"execution":7,"attempt":1},"message":""}
{"event":"resync","path":"/a b"}
{"event":"replaced","old":{"execution":7,"attempt":1},"new":{"execution":8,"attempt":1}}
{"n":2}
{"event":"end","status":{"exit":0}}'
	assert_equal "$(jq -c 'select(.op == "file.watch").args' "$WORLD/log" | sort -u)" '{"path":"/a b","recursive":true}'
	run -0 ws_at '/v1/sandboxes/s-42/watch?path=%ff' '{}' rest
	assert_output '{"event":"open","new":{"execution":8,"attempt":1}}
{"n":1}
{"event":"cut","old":{"execution":8,"attempt":1},"message":""}
{"event":"resync","path_data":"/w=="}
{"event":"replaced","old":{"execution":8,"attempt":1},"new":{"execution":9,"attempt":1}}
{"n":2}
{"event":"end","status":{"exit":0}}
closed 1000'
	run -0 get '/v1/sandboxes/s-42/watch?path=/' -w '%{http_code}'
	assert_output '{"status":"refused","decision":"deny","reason":"replayed","hop":"sbx-manager"}
403'
	run -0 get '/v1/sandboxes/s-42/watch?path=/'
	assert_line --index -1 'data: {"event":"closed","code":4403,"message":"refused by sbx-manager: deny: replayed"}'
	run -0 ws_at '/v1/sandboxes/s-42/watch?path=/' '{}' event open raw 00 rest
	assert_line 'closed 1003 nothing is taken here'
	for line in 'watch|path= is missing' 'watch?path=/&recursive=1|recursive= is neither true nor false' 'watch?path=%00|path= is not encoded as forms are'; do
		run -0 get "/v1/sandboxes/s-42/${line%|*}"
		assert_output "{\"status\":\"error\",\"error\":\"bad-record\",\"message\":\"query: ${line#*|}\"}"
	done
	run -0 get '/v1/sandboxes/s-42/watch?path=/' -0
	assert_output --partial 'events are for HTTP/1.1'
}

# --- the whole path ---

# stand: s-42 as execution 7 on worker-a.
stand() {
	world_make
	world_vmm one
	world_activate s-42 7 a one >/dev/null
	front "$@"
}

# prepare, resume EXECUTION FROM TO: s-42 is cut; it goes on on another worker.
prepare() {
	guest=$(spaceid show -c "$WORLD/$1.ini" s-42 -o json | jq -r .guest.id)
	sandbox resume s-42 --prepare --from-config "$WORLD/$1.ini" >/dev/null
}
resume() {
	world_resume s-42 "$1" "$3" one --from-config "$WORLD/$2.ini" --guest-key "$WORLD/$2/records/guest-keys/$guest" >/dev/null
}

# op OP ARGS: one operation over HTTP; its result.
op() { get /v1/ops -H 'Content-Type: application/json' -d "{\"op\":\"$1\",\"sandbox\":\"s-42\",\"args\":$2}" | jq -c .result; }

@test "a terminal is opened over HTTP, attached to by WebSocket, and typed into on the next execution, and the one after that" {
	stand
	session=$(op terminal.open '{"argv":["sh"],"rows":24,"cols":80}' | jq -r .session)
	ws_at "/v1/sandboxes/s-42/sessions/$session/attach" "{out: \"$WORLD/out\"}" size 30 100 in 'n=4; PS1=; stty -echo; echo first$((n+1))\n' until 'first5\r\n' \
		note "$WORLD/ready1" event replaced in 'stty size; echo second$((n+2))\n' until 'second6\r\n' note "$WORLD/ready2" \
		event replaced in 'echo third$((n+3)); exit 9\n' rest >"$WORLD/told" 3>&- &
	local pid=$!
	eventually test -e "$WORLD/ready1"
	prepare a
	resume 8 a b
	eventually test -e "$WORLD/ready2"
	prepare b
	resume 9 b a
	exits_with 0 "$pid"
	assert_equal "$(jq -Rr 'fromjson? | select(.event == "cut" or .event == "replaced") | [.event, .old.execution, .new.execution, .message] | map(tostring) | join(" ")' "$WORLD/told")" \
		'cut 7 null fenced
replaced 7 8 null
cut 8 null fenced
replaced 8 9 null'
	run -0 tail -n 2 "$WORLD/told"
	assert_output $'status {"exit":9}\nclosed 1000'
	grep -q $'^30 100\r$' "$WORLD/out"
	grep -q $'^third7\r$' "$WORLD/out"
}

@test "what a session says while it is cut off comes at the byte, up to 64 KiB; what is more is counted" {
	stand
	mkfifo "$WORLD/guest-one/go"
	session=$(op exec.start '{"argv":["sh","-c","seq 1 30000; for n in 1 2 3; do read x <go; seq $((n*100000)) $((n*100000+$x)); done"],"cwd":"/"}' | jq -r .session)
	# One who comes late: the first output is not kept any more.
	ws_at "/v1/sandboxes/s-42/sessions/$session/attach" '{}' until '\n30000\n' >/dev/null
	ws_at "/v1/sandboxes/s-42/sessions/$session/attach" "{out: \"$WORLD/out\"}" until '\n30000\n' note "$WORLD/ready1" \
		event replaced until '\n104000\n' note "$WORLD/ready2" event replaced until '\n230000\n' note "$WORLD/ready3" rest >"$WORLD/told" 3>&- &
	local pid=$!
	eventually test -e "$WORLD/ready1"
	prepare a
	echo 4000 >"$WORLD/guest-one/go"
	resume 8 a b
	eventually test -e "$WORLD/ready2"
	prepare b
	echo 30000 >"$WORLD/guest-one/go"
	resume 9 b a
	eventually test -e "$WORLD/ready3"
	echo 0 >"$WORLD/guest-one/go"
	exits_with 0 "$pid"
	{
		seq 1 30000 | tail -c 65536
		seq 100000 104000
		seq 200000 230000 | tail -c 65536
		echo 300000
	} | cmp - "$WORLD/out"
	missing=$(($(seq 200000 230000 | wc -c) - 65536))
	assert_equal "$(jq -Rc 'fromjson? | select(.event == "gap")' "$WORLD/told")" "{\"event\":\"gap\",\"missing\":$missing}"
	assert_equal "$(tail -n 1 "$WORLD/told")" 'closed 1000'
}

@test "a grant that is withdrawn ends what it opened at the next replacement" {
	stand
	session=$(op exec.start '{"argv":["cat"]}' | jq -r .session)
	ws_at "/v1/sandboxes/s-42/sessions/$session/attach" '{}' in a until a note "$WORLD/ready" rest >"$WORLD/told" 3>&- &
	local pid=$!
	eventually test -e "$WORLD/ready"
	spacerouted revoke --principal token:token --sandbox '*' >/dev/null
	spacerouted cache drop --all >/dev/null
	prepare a
	resume 8 a b
	exits_with 0 "$pid"
	assert_equal "$(tail -n 1 "$WORLD/told")" 'closed 4403 refused by node-api: deny: unauthorized'
}

@test "by TLS it is the same, and a watch of the guest's files too" {
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x -addext subjectAltName=IP:127.0.0.1 \
		-keyout "$WORLD/tls.key" -out "$WORLD/tls.pem" 2>/dev/null
	chmod 0600 "$WORLD/tls.key"
	stand --listen "tcp:127.0.0.1:$port" --tls-cert "$WORLD/tls.pem" --tls-key "$WORLD/tls.key"
	AT=wss://127.0.0.1:$port
	mkdir "$WORLD/guest-one/d"
	ws_at '/v1/sandboxes/s-42/watch?path=/d' "{ca: \"$WORLD/tls.pem\", headers: {Origin: \"https://127.0.0.1:$port\"}}" event open \
		note "$WORLD/ready" event create >"$WORLD/told" 3>&- &
	local pid=$!
	eventually test -e "$WORLD/ready"
	touch "$WORLD/guest-one/d/new"
	exits_with 0 "$pid"
	assert_equal "$(grep -c '{"event":"create","path":"/d/new"}' "$WORLD/told")" 1
	run -0 ws_at /v1/sandboxes/s-42/sessions/none/attach "{ca: \"$WORLD/tls.pem\"}" rest
	assert_output --partial '422 {"status":"error","error":"op","errno":"ENOENT"'
	run -0 ws_at /v1/sandboxes/s-42/sessions/none/attach "{ca: \"$WORLD/tls.pem\", headers: {Origin: \"http://127.0.0.1:$port\"}}" rest
	assert_output --partial '403 '
}

# LONG=1: 2,000 WebSockets.
@test "of many WebSockets those whose execution is replaced are opened again, and the others do not notice" {
	local each=${LONG:+1000}
	each=${each:-20}
	world_make
	printf '%s\n' '[guest]' "max_sessions = $((each + 10))" >>"$WORLD/control.ini"
	world_vmm one
	world_vmm two
	world_activate s-42 7 a one >/dev/null
	world_activate s-43 7 a two >/dev/null
	front --streams $((2 * each))
	timeout 500 node "$ROOT/tests/fixtures/ws-many.cjs" "$AT" "$(<"$WORLD/token")" "$each" "$WORLD/ready" s-42 s-43 \
		>"$WORLD/said" 2>"$WORLD/errors" 3>&- &
	local pid=$!
	eventually test -e "$WORLD/ready"
	prepare a
	resume 8 a b
	exits_with 0 "$pid"
	assert_equal "$(cat "$WORLD/errors")" ''
	[ -z "${LONG:-}" ] || echo "# $(cat "$WORLD/said")" >&3
	assert_equal "$(jq -c 'del(.ms)' "$WORLD/said")" "{\"open\":$((2 * each)),\"replaced\":$each,\"undisturbed\":$each,\"exact\":$((2 * each))}"
}
