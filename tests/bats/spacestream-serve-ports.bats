# spacestream serve: requests to ports of a guest. Most tests have a manager and a service that say what a test wants
# (fixtures/frames.py), behind a real cache and signer; the last have the whole path, with a gateway and an HTTP server.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
load helper
load path
load front

export BATS_VERBOSE_RUN=1

setup_file() { npm_peers; }

setup() {
	WORLD=$BATS_TEST_TMPDIR
	AT=$WORLD/http
}

teardown() {
	world_end
	stop_all
}

PORT=/v1/sandboxes/s-42/ports/8080

# said: what the service got, a line each, with \r\n as it is.
said() { jq -r 'select(has("input")).input' "$WORLD/log" | sed 's/\r$//'; }

# ok [FIELD...]: the head of an answer, for a script.
ok() { printf 'HTTP/1.1 200 OK\\r\\n%s' "$(printf '%s\\r\\n' "$@" '')"; }

@test "a request goes on with the path below the port, without token, cookies and what is ours alone" {
	control "open l; input 9; out $(ok 'Content-Length: 2' 'X: y')hi; hold"
	run -0 get "$PORT/a/../b%2f?c=d&e" --path-as-is -i -H 'Cookie: a=b' -H 'X-Forwarded-Prefix: /x' -H 'TE: trailers' -H 'Accept: */*' \
		-H 'Connection: X-Next' -H 'X-Next: 1' -H 'User-Agent: u' -H 'Host: h'
	assert_output $'HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 2\r\nContent-Security-Policy: sandbox\r\n\r\nhi'
	run -0 jq -c 'select(.op)' "$WORLD/log"
	assert_output '{"op":"port.connect","args":{"port":8080,"protocol":"http"}}'
	run -0 said
	assert_output "GET /a/../b%2f?c=d&e HTTP/1.1
Host: h
Accept: */*
User-Agent: u
X-Forwarded-Prefix: $PORT"
	# The service's connection ends with the exchange.
	await is 1 grep -c closed "$WORLD/log.closed"
}

@test "an answer goes on in a framing of ours, without what would count for all sandboxes" {
	control "open l; input 9; out $(ok 'Transfer-Encoding: chunked')3\r\nabc\r\n0\r\nT: u\r\n\r\n; hold" \
		"open l; input 9; out $(ok)abc; end; status {\"exit\":0}" "open l; input 9; out $(ok)abc; end; status {\"exit\":0}" \
		"open l; input 9; out $(ok 'Content-Length: 5'); hold" 'open l; input 9; out HTTP/1.1 204 No Content\r\n\r\n; hold' \
		"open l; input 9; out HTTP/1.1 302 Found\r\nLocation: /b\r\nSet-Cookie: a=b\r\nAlt-Svc: h2\r\nContent-Length: 0\r\n\r\n; hold" \
		"open l; input 9; out HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n; hold"
	run -0 get "$PORT/" -i --raw
	assert_output $'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Security-Policy: sandbox\r\n\r\n3\r\nabc\r\n0\r\n\r'
	run -0 get "$PORT/" -i --raw
	assert_output $'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Security-Policy: sandbox\r\n\r\n3\r\nabc\r\n0\r\n\r'
	run -0 get "$PORT/" -i -0
	assert_output $'HTTP/1.1 200 OK\r\nContent-Security-Policy: sandbox\r\nConnection: close\r\n\r\nabc'
	run -0 get "$PORT/" -I
	assert_output $'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Security-Policy: sandbox\r\n\r'
	run -0 get "$PORT/" -i
	assert_output $'HTTP/1.1 204 No Content\r\nContent-Security-Policy: sandbox\r\n\r'
	run -0 get "$PORT/" -i
	assert_output $'HTTP/1.1 302 Found\r\nLocation: '"$PORT"$'/b\r\nContent-Length: 0\r\nContent-Security-Policy: sandbox\r\n\r'
	run -0 get "$PORT/" -w '%{http_code}'
	assert_output 404
}

@test "bodies go both ways, megabytes and by any method; chunks are cut anew" {
	control "open l; input 2000100; out $(ok 'Transfer-Encoding: chunked')2dc6c0\r\n; fill 3000000; out \r\n0\r\n\r\n; hold" \
		"open l; input 2000100; out $(ok 'Content-Length: 3000000'); fill 3000000; hold" \
		"open l; input 9; out HTTP/1.1 100 Continue\r\n\r\n; input 3; out $(ok 'Content-Length: 1')a; hold"
	head -c 2000000 /dev/zero | tr '\0' y >"$WORLD/body"
	get "$PORT/" -X PATCH -H 'Transfer-Encoding: chunked' --data-binary "@$WORLD/body" >"$WORLD/back"
	assert_equal "$(wc -c <"$WORLD/back") $(tr -d x <"$WORLD/back" | wc -c)" '3000000 0'
	get "$PORT/" -X DELETE --data-binary "@$WORLD/body" >"$WORLD/back"
	assert_equal "$(wc -c <"$WORLD/back") $(tr -d x <"$WORLD/back" | wc -c)" '3000000 0'
	jq -r 'select(has("input")).input' "$WORLD/log" | tr -d '\r' >"$WORLD/said"
	run -0 grep -E '^(PATCH|DELETE|Content-Length|Transfer-Encoding)' "$WORLD/said"
	assert_output $'PATCH / HTTP/1.1\nTransfer-Encoding: chunked\nDELETE / HTTP/1.1\nContent-Length: 2000000'
	# Each is whole: the one in chunks, whose sizes are lines, too.
	assert_equal "$(grep '^y' "$WORLD/said" | tr -d '\n' | wc -c)" 4000000
	# The service gives leave for a body.
	run -0 get "$PORT/" -i --data-binary abc -H 'Expect: 100-continue' --expect100-timeout 300
	assert_line --index 0 $'HTTP/1.1 100 Continue\r'
	assert_line a
}

# answered STATUS JSON ARG...: this request is answered so.
answered() {
	run -0 get "${@:3}" -w '%{http_code}'
	assert_equal "$output" "$2"$'\n'"$1"
}

@test "what the service does not answer, manager and gateway do, with the statuses of the gateway" {
	local deny='{"status":"refused","decision":"deny","reason":"port","hop":"netgtw"}' op='{"status":"error","error":"op","errno":"ECONNREFUSED","message":"m"}'
	local none='{"status":"error","error":"transport","sent":true,"message":"the guest'
	control "answer $deny" "$STALE" "answer $op" 'answer {"status":"error","error":"overloaded","message":"m"}' \
		'open l; input 9; out SSH-2.0-x\r\n\r\n; hold' 'open l; input 9; end; status {"exit":0}' 'open l; input 9; cut' "$DENY" \
		'open l; input 9; status {"error":"op","errno":"ECONNRESET","message":"reset"}' \
		'open l; input 9; out HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n; hold'
	answered 403 "$deny" "$PORT/"
	answered 409 "${STALE#* }" "$PORT/"
	answered 502 "$op" "$PORT/"
	answered 503 '{"status":"error","error":"overloaded","message":"m"}' "$PORT/"
	answered 502 "${none}'s answer is no HTTP\"}" "$PORT/"
	answered 502 "$none ended without an answer\"}" "$PORT/"
	answered 502 '{"status":"error","error":"transport","sent":true,"message":"the stream was cut"}' "$PORT/"
	answered 502 '{"status":"error","error":"op","errno":"ECONNRESET","message":"reset"}' "$PORT/"
	answered 502 "${none}'s answer is no HTTP\"}" "$PORT/"
	answered 404 '{"status":"error","error":"bad-record","message":"there is nothing here"}' "$PORT"
	answered 404 '{"status":"error","error":"bad-record","message":"there is nothing here"}' /v1/sandboxes/s-42/ports/0/
	answered 404 '{"status":"error","error":"bad-record","message":"there is nothing here"}' /v1/sandboxes/s-42/ports/65536/
	run -0 timeout 60 curl -sS --unix-socket "$AT" -w '%{http_code}' "http://x$PORT/"
	assert_line --index 1 401
}

@test "an answer that breaks off is seen to" {
	control "open l; input 9; out $(ok 'Content-Length: 9')half; end; status {\"exit\":0}" "open l; input 9; out $(ok)half; cut" "$DENY" \
		"open l; input 9; out $(ok 'Transfer-Encoding: chunked')4\r\nhalf\r\n; end; status {\"exit\":0}" \
		"open l; input 9; out $(ok 'Transfer-Encoding: chunked')4\r\nhalf\r\nx; hold"
	local n
	for n in 1 2 3 4; do
		run get "$PORT/"
		# Also with nothing of it.
		[[ $status = 18 || $status = 52 || $status = 56 ]] || fail "$n: $status: $output"
	done
}

@test "one connection's requests each have a stream of their own" {
	control "open l; input 9; input 4; out $(ok 'Content-Length: 1')a; hold" "open l; input 9; input 4; out $(ok 'Content-Length: 1')b; hold"
	run -0 raw < <(for n in one two; do
		printf 'POST %s/%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 4\r\n\r\nbody' "$PORT" "$n" "$(<"$WORLD/token")"
	done; printf 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
	assert_equal "$(grep -o 'HTTP/1.1 200 OK' <<<"$output" | wc -l)" 3
	assert_output --partial $'\r\n\r\naHTTP/1.1 200 OK'
	run -0 said
	assert_line 'POST /one HTTP/1.1'
	assert_line 'POST /two HTTP/1.1'
	assert_line --index -1 body
}

# upgrade [FIELD...]: of a WebSocket that is opened by hand.
upgrade() {
	printf 'GET %s/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' "$PORT"
	printf '%s\r\n' "$@" ''
}

@test "an upgrade to WebSocket passes; its token may be a subprotocol, which the service does not see" {
	local switched='HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' bearer key='Sec-WebSocket-Key: x'
	control "open l; input 9; out $switched\r\n; input 4; out pong; end; status {\"exit\":0}" \
		"open l; input 9; out ${switched}Sec-WebSocket-Protocol: chat\r\n\r\n; end; status {\"exit\":0}" \
		"open l; input 9; out $switched\r\n; cut" "$DENY"
	run -0 raw_open < <(upgrade "$key" "Authorization: Bearer $(<"$WORLD/token")"; printf ping; exec tail -f /dev/null)
	assert_output $'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\npong'
	bearer="bearer.$(tr -d '\n' <"$WORLD/token" | base64 -w0 | tr -d = | tr '+/' -_)"
	run -0 raw_open < <(upgrade "$key" "Sec-WebSocket-Protocol: chat, $bearer" 'Sec-WebSocket-Protocol: space.v1,other'; exec tail -f /dev/null)
	assert_line $'Sec-WebSocket-Protocol: chat\r'
	run -0 raw_open < <(upgrade "$key" "Sec-WebSocket-Protocol: space.v1, $bearer"; exec tail -f /dev/null)
	assert_line $'Sec-WebSocket-Protocol: space.v1\r'
	run -0 jq -c 'select(.op == "port.connect").args' "$WORLD/log"
	assert_line --index 0 '{"port":8080,"protocol":"websocket"}'
	run -0 said
	refute_output --partial bearer
	assert_line 'Sec-WebSocket-Protocol: chat, other'
	assert_equal "$(grep -c '^Sec-WebSocket-Protocol' <<<"$output")" 1
	# A page from elsewhere, a token twice.
	run -0 raw_open < <(upgrade "$key" "Sec-WebSocket-Protocol: $bearer" 'Origin: http://elsewhere'; exec tail -f /dev/null)
	assert_line --index 0 $'HTTP/1.1 403 Forbidden\r'
	run -0 raw_open < <(upgrade "$key" "Sec-WebSocket-Protocol: $bearer" "Authorization: Bearer $(<"$WORLD/token")"; exec tail -f /dev/null)
	assert_line --index 0 $'HTTP/1.1 400 Bad Request\r'
}

# world_port: the whole path, with a gateway, and a server in the guest, whose port is $NUMBER.
world_port() {
	world_make
	world_vmm one
	world_activate s-42 7 a one >/dev/null
	front
	start gateway netgtw -c "$WORLD/a.ini" s-42 --keys "$WORLD/signer.public"
	start service node "$WORLD/service.cjs" "$WORLD/number"
	NUMBER=$(<"$WORLD/number")
	PORT=/v1/sandboxes/s-42/ports/$NUMBER
}

service() {
	cat >"$WORLD/service.cjs" <<-'END'
		const http = require('http'), fs = require('fs'), dgram = require('child_process');
		let WebSocketServer;
		try { ({ WebSocketServer } = require('ws')); } catch { }
		const server = http.createServer((request, response) => {
			let body = 0;
			request.on('data', (data) => { body += data.length; });
			request.on('end', () => {
				response.setHeader('Content-Type', 'application/json');
				response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.rawHeaders, body }));
			});
		});
		if (WebSocketServer) new WebSocketServer({ server }).on('connection', (socket, request) => {
			socket.send(request.url);
			socket.on('message', (data, binary) => socket.send(data, { binary }));
		});
		server.listen(0, '127.0.0.1', () => {
			fs.writeFileSync(process.argv[2], String(server.address().port));
			require('child_process').execFileSync('python3', ['-c', `import os, socket
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.sendto(b'READY=1', chr(0) + os.environ['NOTIFY_SOCKET'][1:])`]);
		});
	END
}

@test "on the whole path curl and ws reach a service of the guest; without the right to its port it is 403" {
	[ -e "$PEERS/installed" ] || skip_or_fail 'npm package ws (no registry reached)'
	service
	world_port
	head -c 3000000 /dev/urandom >"$WORLD/body"
	run -0 get "$PORT/a?b" -T "$WORLD/body"
	assert_json '[.method, .url, .body] == ["PUT", "/a?b", 3000000]'
	assert_json '.headers | map(ascii_downcase) | index("authorization") == null'
	refute_output --partial "$(<"$WORLD/token")"
	refute_output --partial v4.public
	# By a capability that it has of the same caller, the next goes, too.
	run -0 get "$PORT/" -H 'Transfer-Encoding: chunked' --data-binary "@$WORLD/body"
	assert_json '[.method, .url, .body] == ["POST", "/", 3000000]'
	run -0 get /v1/sandboxes/s-42/ports/1/
	assert_json '.error == "op" and .errno == "ECONNREFUSED"'
	cat >"$WORLD/client.cjs" <<-'END'
		const WebSocket = require('ws'), crypto = require('crypto');
		const [path, target, token] = process.argv.slice(2), sent = crypto.randomBytes(1000000);
		const bearer = 'bearer.' + Buffer.from(token).toString('base64url');
		const socket = new WebSocket(`ws+unix:${path}:${target}`, ['space.v1', bearer]);
		socket.on('open', () => socket.send(sent));
		socket.on('message', (data, binary) => {
			if (!binary) console.log(String(data), socket.protocol);
			else { console.log(data.equals(sent)); socket.close(4000, 'enough'); }
		});
		socket.on('close', (code) => console.log(code));
	END
	run -0 timeout 120 node "$WORLD/client.cjs" "$AT" "$PORT/chat" "$(<"$WORLD/token")"
	assert_output $'/chat space.v1\ntrue\n4000'
	spacerouted grant --principal token:none --token-file "$WORLD/none" --sandbox '*' --ops 'ping,file.*' >/dev/null
	TOKEN=$WORLD/none run -0 get "$PORT/" -w '%{http_code}'
	assert_line --index 1 403
	spacerouted grant --principal token:http --token-file "$WORLD/http-only" --sandbox '*' --ops ping --ports "$NUMBER/http" >/dev/null
	TOKEN=$WORLD/http-only run -0 get "$PORT/"
	assert_json '.url == "/"'
	run timeout 120 node "$WORLD/client.cjs" "$AT" "$PORT/chat" "$(<"$WORLD/http-only")"
	assert_output --partial 'Unexpected server response: 403'
}

@test "a fence cuts a WebSocket and an answer in the middle" {
	[ -e "$PEERS/installed" ] || skip_or_fail 'npm package ws (no registry reached)'
	service
	world_port
	cat >"$WORLD/client.cjs" <<-'END'
		const WebSocket = require('ws');
		const [path, target, token] = process.argv.slice(2);
		const socket = new WebSocket(`ws+unix:${path}:${target}`, [], { headers: { Authorization: 'Bearer ' + token } });
		socket.on('message', (data) => console.log(String(data)));
		socket.on('error', () => {});
		socket.on('close', (code) => console.log(code));
	END
	timeout 120 node "$WORLD/client.cjs" "$AT" "$PORT/chat" "$(<"$WORLD/token")" >"$WORLD/out" 3>&- &
	local pid=$!
	eventually has "$WORLD/out" /chat
	sandbox resume s-42 --prepare --from-config "$WORLD/a.ini" >/dev/null
	exits_with 0 "$pid"
	assert_equal "$(cat "$WORLD/out")" $'/chat\n1006'
	run -0 get "$PORT/" -w '%{http_code}'
	assert_line --index 1 403
}
