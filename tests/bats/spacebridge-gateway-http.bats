# spacebridge gateway with --http: every request is admitted by itself, whatever connection it comes on.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2119,SC2154
load helper
load gateway

setup_file() { npm_peers; }

# web: an HTTP/1.1 server in the guest, and the gateway before it.
web() {
	web_service
	start_gateway --http
}

# fetch CAP PATH [OPTION...]: curl through the gateway; what came, and the status behind it.
fetch() {
	run timeout 60 curl -sS --unix-socket "$GATEWAY" -H "Authorization: Bearer $1" -w '%{http_code}\n' "${@:3}" "http://guest$2"
}

# raw TEXT: a request as it is written; all that comes back.
raw() { talk send "$1" all; }

# status N REASON: the last output is an answer that says so, and no byte came to the guest.
status() {
	assert_line --index 0 --partial "HTTP/1.1 $1 "
	output=$(tail -n 1 <<<"$output")
	assert_json --arg reason "$2" '(.reason // .error) == $reason'
	assert_no_byte
}

@test "a capability serves many requests of a kept connection, and reaches no guest" {
	web
	cap=$(mint http)
	run timeout 60 curl -sS --unix-socket "$GATEWAY" -H "Authorization: Bearer $cap" -H 'Connection: keep-alive, X-Mine' \
		-H 'X-Mine: 1' -H 'X-Other: 2' -H 'TE: trailers' -w '%{num_connects}\n' http://guest/a http://guest/chunked http://guest/c
	assert_success
	assert_output $'1:/a\n1\n1:/chunked\n0\n1:/c\n0'
	run grep -c '^GET' "$W/service.log"
	assert_output 3
	run grep -ciE 'v4.public|authorization|connection|x-mine|^te:' "$W/service.log" "$log"
	assert_output "$W/service.log:0"$'\n'"$log:0"
	assert_equal "$(grep -c '^X-Other: 2' "$W/service.log")" 3
	assert_equal "$(jq -r 'select(.note | strings | endswith("request")) | .caller' "$AUDIT" | uniq -c | xargs)" '3 uid:1000'
	fetch "$cap" /again
	assert_output $'2:/again\n200'
}

@test "bodies go through as they are: with a length, in chunks, to the end, and none" {
	web
	cap=$(mint http)
	head -c 3000000 /dev/urandom | base64 >"$W/body"
	run timeout 60 curl -sS --unix-socket "$GATEWAY" -H "Authorization: Bearer $cap" --data-binary "@$W/body" -o "$W/back" \
		-w '%{http_code}' http://guest/
	assert_output 200
	cmp "$W/body" "$W/back"
	run timeout 60 curl -sS --unix-socket "$GATEWAY" -H "Authorization: Bearer $cap" -H 'Transfer-Encoding: chunked' \
		--data-binary "@$W/body" -o "$W/back" -w '%{http_code}' http://guest/chunked
	assert_output 200
	cmp "$W/body" "$W/back"
	fetch "$cap" /close
	assert_output --partial $':/close\n200'
	fetch "$cap" /head -I
	assert_line --index 0 --partial 'HTTP/1.1 200'
	fetch "$cap" /old --http1.0
	assert_output --partial $':/old\n200'
}

@test "each refusal has its status, and a body that says why" {
	web
	fetch "$(mint http --execution 8)" /
	assert_line --index 0 '{"status":"refused","decision":"refresh-route","reason":"execution","hop":"netgtw","behind":"receiver"}'
	assert_line --index 1 409
	fetch "$(mint http --realm other)" /
	assert_line --index 1 401
	fetch x /
	assert_output --partial '"reason":"malformed"'
	assert_line --index 1 401
	fetch "$(mint http --sandbox s-43)" /
	assert_line --index 1 403
	fetch "$(mint websocket)" /
	assert_output --partial '"reason":"protocol"'
	assert_line --index 1 403
	fetch "$(mint tls)" /
	assert_line --index 1 403
	fetch "$(mint http --port 5005)" /
	assert_output --partial '"reason":"port"'
	assert_line --index 1 403
	assert_no_byte
	run timeout 60 curl -sS --unix-socket "$GATEWAY" -o /dev/null -D - http://guest/
	assert_line --index 0 --partial '401'
	assert_output --partial 'WWW-Authenticate: Bearer'
	fetch "$(mint http --port 1)" /
	assert_output --partial '"error":"transport"'
	assert_line --index 1 502
}

@test "a later request of a connection is judged as the first was" {
	web
	cap=$(mint http)
	run timeout 60 python3 - "$GATEWAY" "$cap" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		one = 'GET /one HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n' % sys.argv[2]
		s.sendall((one + 'GET /two HTTP/1.1\r\nHost: a\r\n\r\n').encode())
		whole = b''
		while data := s.recv(65536):
		    whole += data
		print([line for line in whole.decode().splitlines() if line.startswith('HTTP')])
	END
	assert_output "['HTTP/1.1 200 OK', 'HTTP/1.1 401 Unauthorized']"
	refute grep /two "$W/service.log"
}

@test "a fence refuses the next request of a kept connection, whose guest's connection stands" {
	web
	mkfifo "$W/asked" "$W/fenced"
	python3 - "$GATEWAY" "$(mint http)" "$W/asked" "$W/fenced" <<-'END' >"$W/statuses" 3>&- &
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(20)
		s.connect(sys.argv[1])
		request = ('GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n' % sys.argv[2]).encode()
		s.sendall(request)
		data = b''
		while not data.endswith(b'1:/\n'):
		    data += s.recv(65536)
		print(data.split(b'\r\n')[0].decode())
		open(sys.argv[3], 'w').write('\n')
		open(sys.argv[4]).readline()
		s.sendall(request)
		data = b''
		while more := s.recv(65536):
		    data += more
		print(data.split(b'\r\n')[0].decode())
	END
	pid=$!
	from "$W/asked"
	spaceid fence --sandbox s-42 >/dev/null
	assert_equal "$(spacestream list | jq -r .state)" open
	echo >"$W/fenced"
	wait "$pid"
	run cat "$W/statuses"
	assert_output $'HTTP/1.1 200 OK\nHTTP/1.1 403 Forbidden'
	assert_equal "$(tail -n 1 "$AUDIT" | jq -r .reason)" fenced
	assert_equal "$(grep -c ^GET "$W/service.log")" 1
}

@test "a service that switches protocols unasked, or for a capability of http, opens no stream" {
	web
	fetch "$(mint http)" /switch
	assert_output --partial "the guest's answer is no HTTP"
	assert_line --index 1 502
	fetch "$(mint tcp)" /switch
	assert_line --index 1 502
	fetch "$(mint http)" /switch -H 'Connection: Upgrade' -H 'Upgrade: websocket'
	assert_line --index 1 502
}

@test "the guest's connection is never another caller's" {
	web
	run timeout 60 python3 - "$GATEWAY" "$(mint http)" "$(mint http --caller uid:1001)" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		for token in (sys.argv[2], sys.argv[2], sys.argv[3]):
		    s.sendall(('GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n' % token).encode())
		    data = b''
		    while not data.endswith(b'/\n'):
		        data += s.recv(65536)
		    print(data.decode().split('\r\n')[-1].strip())
	END
	assert_output $'1:/\n1:/\n2:/'
}

@test "heads that two readers could read in two ways are 400, and the end" {
	web
	export CAP
	CAP=$(mint http)
	cat >"$W/raw.py" <<-'END'
		import fcntl, os, socket, struct, sys, termios, time
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		text = sys.argv[2].encode().decode('unicode_escape').encode('latin-1').replace(b'AUTH', b'Authorization: Bearer ' + os.environ['CAP'].encode())
		head, end, body = text.partition(b'\r\n\r\n')
		# With `bytes` the body comes in pieces of one.
		try:
		    s.sendall(head + end)
		    for piece in [bytes([byte]) for byte in body] if sys.argv[3:] else [body]:
		        s.sendall(piece)
		        if sys.argv[3:]:
		            while struct.unpack('i', fcntl.ioctl(s, termios.TIOCOUTQ, b'1234'))[0]:
		                time.sleep(0.001)
		except OSError:
		    pass
		whole = b''
		try:
		    while data := s.recv(65536):
		        whole += data
		except ConnectionResetError:
		    pass
		print(whole.decode().split('\r\n')[0])
	END
	local head='POST / HTTP/1.1\r\nHost: a\r\nAUTH\r\n' text
	for text in "${head}Content-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n" \
		"${head}Content-Length: 1\\r\\nContent-Length: 1\\r\\n\\r\\na" \
		"${head}Content-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\na" \
		"${head}Content-Length: +1\\r\\n\\r\\na" \
		"${head}Transfer-Encoding: gzip, chunked\\r\\n\\r\\n" \
		"${head}Transfer-Encoding: chunked\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n" \
		"${head}AUTH\\r\\n\\r\\n" \
		"${head}Host: b\\r\\n\\r\\n" \
		"${head}X: a\\r\\n b\\r\\n\\r\\n" \
		"${head}X: a\\nY: b\\r\\n\\r\\n" \
		"${head}X: a\\x00b\\r\\n\\r\\n" \
		"${head}X : a\\r\\n\\r\\n" \
		'POST / HTTP/1.1\r\nAUTH\r\n\r\n' \
		'POST / HTTP/1.0\r\nAUTH\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' \
		'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\nAUTH\r\n\r\n' \
		'\r\nPOST / HTTP/1.1\r\nHost: a\r\nAUTH\r\n\r\n' \
		'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' 'GET /\r\n\r\n'; do
		run timeout 60 python3 "$W/raw.py" "$GATEWAY" "$text"
		assert_output 'HTTP/1.1 400 Bad Request'
	done
	assert_no_byte
	# Where chunks end is as sure: what is no line end there is none.
	for text in '1\r\na\r\nx\r\n' '1\r\naXX0\r\n\r\n' '1\r\na\rX0\r\n\r\n' '1\r\naX\n0\r\n\r\n' '1\rXa\r\n0\r\n\r\n' \
		'1\na\r\n0\r\n\r\n' '1\r\na\n0\r\n\r\n' '1\r\na\r\n0\r\n\n' '1\r\na\r\n0\r\n\rX' 'fffffffffffffffff\r\na'; do
		run timeout 60 python3 "$W/raw.py" "$GATEWAY" "${head}Transfer-Encoding: chunked\\r\\n\\r\\n$text"
		assert_output 'HTTP/1.1 400 Bad Request'
		run timeout 60 python3 "$W/raw.py" "$GATEWAY" "${head}Transfer-Encoding: chunked\\r\\n\\r\\n$text" bytes
		assert_output 'HTTP/1.1 400 Bad Request'
	done
	for how in '' bytes; do
		run timeout 60 python3 "$W/raw.py" "$GATEWAY" \
			"${head}Connection: close\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1;a=b\\r\\na\\r\\n02\\r\\nbc\\r\\n0\\r\\nT: x\\r\\n\\r\\n" $how
		assert_output 'HTTP/1.1 200 OK'
	done
	run timeout 60 python3 "$W/raw.py" "$GATEWAY" "${head}$(printf 'X: a\\r\\n%.0s' {1..120})\\r\\n"
	assert_output 'HTTP/1.1 400 Bad Request'
	run timeout 60 python3 "$W/raw.py" "$GATEWAY" "${head}X: $(head -c 17000 /dev/zero | tr '\0' a)\\r\\n\\r\\n"
	assert_output 'HTTP/1.1 400 Bad Request'
}

@test "a head that does not come to its end is told so" {
	PATIENCE=300
	configure
	start_gateway --http
	raw 'GET / HTTP/1.1'
	assert_line --index 0 --partial 'HTTP/1.1 408'
}

@test "a new execution cuts what is under way, and refuses what comes next" {
	standing late
	stop gateway
	start_gateway --http
	mkfifo "$W/open"
	timeout 250 "$FIXTURES/talk" "$GATEWAY" send "GET / HTTP/1.1"$'\r'"\\nHost: a"$'\r'"\\nAuthorization: Bearer $(mint tcp)"$'\r'"\\n"$'\r'"\\n" \
		end 3>&- &
	kept=$!
	eventually grep -q ^GET "$W/service.log"
	install '.execution = 8'
	wait "$kept"
	audited '.reason == "execution" or .error == "transport"'
	fetch "$(mint http)" /
	assert_line --index 1 409
}

@test "a line that begins with a brace is line mode still: the manager's way in" {
	standing
	stop gateway
	start_gateway --http
	talk send "$(line tcp "$(mint tcp)")\\n" line send x expect x shut end
	assert_success
	opened
}

@test "the npm client opens a WebSocket, its capability in either place" {
	[ -e "$PEERS/installed" ] || skip_or_fail 'npm package ws (no registry reached)'
	start_vmm
	install
	cat >"$W/server.cjs" <<-'END'
		const { WebSocketServer } = require('ws'), fs = require('fs');
		const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => {
			fs.writeFileSync(process.argv[2] + '.new', String(server.address().port));
			fs.renameSync(process.argv[2] + '.new', process.argv[2]);
		});
		server.on('connection', (socket, request) => {
			socket.send(JSON.stringify(request.headers));
			socket.on('message', (data, binary) => socket.send(data, { binary }));
		});
	END
	cat >"$W/client.cjs" <<-'END'
		const WebSocket = require('ws');
		const [path, protocols, headers] = process.argv.slice(2);
		const socket = new WebSocket('ws+unix:' + path + ':/chat', JSON.parse(protocols), { headers: JSON.parse(headers) });
		const big = Buffer.alloc(300000, 'x');
		let count = 0;
		socket.on('message', (data, binary) => {
			if (++count === 1) { console.log(data.toString()); socket.send(big); return; }
			console.log(socket.protocol, data.equals(big));
			socket.close(1000);
		});
		socket.on('unexpected-response', (request, response) => { console.log(response.statusCode); process.exit(1); });
		socket.on('close', (code) => console.log(code));
	END
	node "$W/server.cjs" "$W/ws.port" 3>&- >/dev/null 2>&1 &
	echo $! >"$BATS_TEST_TMPDIR/server.pid"
	eventually test -e "$W/ws.port"
	PORT=$(cat "$W/ws.port")
	start_gateway --http
	run timeout 60 node "$W/client.cjs" "$GATEWAY" '["chat"]' "{\"Authorization\":\"Bearer $(mint websocket)\"}"
	assert_line --index 1 'chat true'
	assert_line --index 2 1000
	run timeout 60 node "$W/client.cjs" "$GATEWAY" "[\"chat\",\"$(mint websocket)\"]" '{}'
	refute_output --partial v4.public
	assert_line --index 1 'chat true'
	run timeout 60 node "$W/client.cjs" "$GATEWAY" '["chat"]' "{\"Authorization\":\"Bearer $(mint websocket --execution 6)\"}"
	assert_output 409
}
