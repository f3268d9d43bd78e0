# spacebridge gateway before servers and behind clients that people have: nginx, curl, h2load, Chromium.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2119,SC2154
load helper
load gateway

# Where Debian has nginx, and users other than root do not look.
PATH=$PATH:/usr/sbin

setup_file() { npm_peers; }

need() { command -v "$1" >/dev/null || skip_or_fail "$1"; }

# listening PORT PID: does the process, which cannot say so, listen there?
listening() {
	kill -0 "$2" 2>/dev/null || fail "the server of port $1 has ended: $(tail -n 3 "$W"/*.err)"
	taken "$1"
}

# nginx_at NAME PORT SERVER [LISTEN-OPTION]: nginx with SERVER as the body of its one server, until stop_all; it logs to NAME.log.
nginx_at() {
	mkdir -p "$W/$1/temp"
	cat >"$W/$1/nginx.conf" <<-CONF
		daemon off;
		master_process off;
		pid $W/$1/pid;
		error_log $W/$1.err;
		events { worker_connections 1024; }
		http {
			log_format seen '\$connection \$request "\$http_authorization" "\$http_sec_websocket_protocol"';
			access_log $W/$1.log seen;
			client_body_temp_path $W/$1/temp/body;
			proxy_temp_path $W/$1/temp/proxy;
			fastcgi_temp_path $W/$1/temp/fastcgi;
			uwsgi_temp_path $W/$1/temp/uwsgi;
			scgi_temp_path $W/$1/temp/scgi;
			client_max_body_size 100m;
			keepalive_requests 100000;
			server { listen 127.0.0.1:$2 ${4:-}; $3 }
		}
	CONF
	nginx -e "$W/$1.err" -c "$W/$1/nginx.conf" 3>&- >/dev/null 2>&1 &
	echo $! >"$BATS_TEST_TMPDIR/$1.pid"
	disown "$!"
	eventually listening "$2" "$!"
}

# guest_nginx [LISTEN-OPTION]: nginx is the service behind the guest's $PORT. It compresses, takes uploads, and has a file.
guest_nginx() {
	need nginx
	start_vmm
	install
	mkdir "$W/site"
	seq 400000 >"$W/site/numbers.txt"
	head -c 2000000 /dev/urandom >"$W/site/page"
	echo hello >"$W/site/hello"
	PORT=$(free_port)
	nginx_at site "$PORT" "root $W/site; gzip on; gzip_types text/plain; gzip_proxied any; dav_methods PUT;" "${1:-}"
}

# fetch CAP PATH [OPTION...]: curl through the gateway's HTTP.
fetch() { run timeout 60 curl -sS --unix-socket "$GATEWAY" -H "Authorization: Bearer $1" "${@:3}" "http://guest$2"; }

@test "nginx behind the guest serves curl: whole, in parts, compressed, unchanged, uploaded" {
	guest_nginx
	start_gateway --http
	cap=$(mint http)
	fetch "$cap" /numbers.txt -o "$W/back" -w '%{http_code} %header{server}'
	assert_output --partial '200 nginx/'
	cmp "$W/site/numbers.txt" "$W/back"
	fetch "$cap" /numbers.txt -r 100-199 -o "$W/back" -w '%{http_code}'
	assert_output 206
	cmp <(head -c 200 "$W/site/numbers.txt" | tail -c 100) "$W/back"
	fetch "$cap" /numbers.txt --compressed -o "$W/back" -w '%{http_code} %header{content-encoding} %header{transfer-encoding}'
	assert_output '200 gzip chunked'
	cmp "$W/site/numbers.txt" "$W/back"
	fetch "$cap" /numbers.txt -z "$W/site/numbers.txt" -w '%{http_code}'
	assert_output 304
	fetch "$cap" /numbers.txt -I -w '%{http_code} %header{content-length}'
	assert_line --index -1 "200 $(stat -c %s "$W/site/numbers.txt")"
	fetch "$cap" /none -o "$W/back" -w '%{http_code}'
	assert_output 404
	fetch "$cap" /upload -T "$W/site/numbers.txt" -H 'Expect: 100-continue' -w '%{http_code}'
	assert_output 201
	cmp "$W/site/numbers.txt" "$W/site/upload"
	fetch "$cap" /page -o "$W/one" -w '%{http_code} %{http_version} %{num_connects}\n' -o "$W/two" http://guest/page
	assert_output $'200 1.1 1\n200 1.1 0'
	cmp "$W/site/page" "$W/one"
	cmp "$W/site/page" "$W/two"
	run timeout 60 curl -sS --unix-socket "$GATEWAY" -o "$W/back" -w '%{http_code}' http://guest/page
	assert_output 401
	assert_equal "$(grep -c 'GET /page HTTP/1.1' "$W/site.log")" 2
	run grep -cv '"-" "-"$' "$W/site.log"
	assert_output 0
}

# front PROTOCOL: a port of loopback, $port, whose one connection is a stream of this gateway; it ends as $front.
front() {
	rm -f "$W/front.port"
	mkfifo "$W/front.port"
	python3 "$ROOT/tests/fixtures/line-front.py" "$GATEWAY" "$(line "$1" "$(mint "$1")")" "$W/front.port" >"$W/front.out" 3>&- &
	front=$!
	port=$(timeout 60 head -n 1 "$W/front.port")
}

@test "HTTP/2 by prior knowledge passes as http in line mode: curl down and up, many streams of h2load" {
	need h2load
	guest_nginx http2
	start_gateway
	front http
	local curl=(curl -sS --http2-prior-knowledge -w '%{http_version} %{http_code}')
	# curl 7.88 cannot ask twice over one connection with prior knowledge, whoever answers.
	run timeout 60 "${curl[@]}" -o "$W/back" "http://127.0.0.1:$port/numbers.txt"
	assert_output '2 200'
	wait "$front"
	cmp "$W/site/numbers.txt" "$W/back"
	output=$(cat "$W/front.out")
	opened
	front http
	run timeout 60 "${curl[@]}" -T "$W/site/numbers.txt" "http://127.0.0.1:$port/upload"
	assert_output '2 201'
	wait "$front"
	cmp "$W/site/numbers.txt" "$W/site/upload"
	front http
	run timeout 60 h2load -n 1000 -c 1 -m 50 "http://127.0.0.1:$port/hello"
	assert_line --partial '1000 succeeded, 0 failed, 0 errored'
	wait "$front"
	front http
	run timeout 60 h2load -n 20 -c 1 -m 8 "http://127.0.0.1:$port/page"
	assert_line 'requests: 20 total, 20 started, 20 done, 20 succeeded, 0 failed, 0 errored, 0 timeout'
	assert_line --partial '(40000000) data'
	wait "$front"
	assert_equal "$(cut -d ' ' -f 2- "$W/site.log" | LC_ALL=C sort | uniq -c | sed 's/^ *//')" '1000 GET /hello HTTP/2.0 "-" "-"
1 GET /numbers.txt HTTP/2.0 "-" "-"
20 GET /page HTTP/2.0 "-" "-"
1 PUT /upload HTTP/2.0 "-" "-"'
}

@test "128 kept connections at once are served without an error, every request admitted" {
	need h2load
	guest_nginx
	start_gateway --http
	run timeout 60 h2load --h1 -n 6400 -c 128 -B "unix:$GATEWAY" -H "Authorization: Bearer $(mint http)" http://guest/hello
	assert_line --partial '6400 done, 6400 succeeded, 0 failed, 0 errored, 0 timeout'
	assert_line --partial '6400 2xx, 0 3xx'
	assert_equal "$(grep -c ' GET /hello HTTP/1.1 "-" "-"$' "$W/site.log")" 6400
	assert_equal "$(cut -d ' ' -f 1 "$W/site.log" | sort | uniq -c | awk '{ print $1 }' | sort -u)" 50
	assert_equal "$(cut -d ' ' -f 1 "$W/site.log" | sort -u | wc -l)" 128
	assert_equal "$(jq -r '.note | strings | select(endswith("request"))' "$AUDIT" | wc -l)" 6400
}

# page_server: a page, what it fetches and its WebSocket, behind the guest's $PORT. /held is answered after the page
# has fetched /done: a browser's load event, upon which it prints the page, waits for it.
page_server() {
	cat >"$W/page.cjs" <<-'END'
		const { WebSocketServer } = require('ws'), fs = require('fs'), http = require('http');
		const [portFile, page, log] = process.argv.slice(2);
		let held = [], done = false;
		const release = () => { held.forEach((response) => response.end()); held = []; };
		const server = http.createServer((request, response) => {
			fs.appendFileSync(log, request.url + ' ' + JSON.stringify(request.headers) + '\n');
			if (request.url === '/held') { held.push(response); }
			if (request.url === '/' || request.url === '/done') { done = request.url === '/done'; }
			if (done) { release(); }
			if (request.url === '/held') { return; }
			response.setHeader('Content-Type', request.url === '/' ? 'text/html' : 'text/plain');
			response.end(request.url === '/' ? fs.readFileSync(page) : 'fetched');
		});
		new WebSocketServer({ server }).on('connection', (socket, request) => {
			fs.appendFileSync(log, request.url + ' ' + JSON.stringify(request.headers) + '\n');
			socket.on('message', (data, binary) => socket.send('echo of ' + data, { binary }));
		});
		server.listen(0, '127.0.0.1', () => {
			fs.writeFileSync(portFile + '.new', String(server.address().port));
			fs.renameSync(portFile + '.new', portFile);
		});
	END
	cat >"$W/page.html" <<-'END'
		<!DOCTYPE html><link rel="icon" href="data:,"><p id="same"></p><p id="other"></p><p id="echo"></p><img src="/held">
		<script>
		const [http, websocket, gateway] = location.hash.slice(1).split(',');
		const put = (id, text) => { document.getElementById(id).textContent = text; };
		const options = { headers: { Authorization: 'Bearer ' + http } };
		const get = (at) => fetch(at, options).then((r) => r.text().then((text) => r.status + ' ' + text), (e) => e.name);
		(async () => {
			put('same', await get('/data'));
			put('other', await get('http://' + gateway + '/other'));
			const socket = new WebSocket('ws://' + gateway + '/chat', ['chat', websocket]);
			socket.onopen = () => socket.send('hello');
			socket.onmessage = (event) => { put('echo', socket.protocol + ': ' + event.data); socket.close(); };
			socket.onerror = () => put('echo', 'no WebSocket');
			socket.onclose = () => get('/done');
		})();
		</script>
	END
	: >"$W/service.log"
	node "$W/page.cjs" "$W/page.port" "$W/page.html" "$W/service.log" 3>&- >/dev/null 2>"$W/page.err" &
	echo $! >"$BATS_TEST_TMPDIR/page.pid"
	disown "$!"
	eventually test -e "$W/page.port" || fail "$(cat "$W/page.err")"
	PORT=$(cat "$W/page.port")
}

# browse URL: the page as it is once it has loaded.
browse() {
	HOME=$W run --separate-stderr timeout 200 chromium --headless --no-sandbox --disable-gpu --disable-quic --disable-dev-shm-usage \
		--disable-background-networking --disable-component-update --disable-sync --disable-breakpad --no-first-run \
		--no-proxy-server --user-data-dir="$W/chromium" --dump-dom "$1"
}

# A browser sets no Authorization of its own as it navigates or loads an image, and asks for leave (OPTIONS, without it)
# before it sets one for another origin: an operator's front gives the page's origin, and the capability of its loading.
@test "Chromium loads a page through the gateway, and the page opens a WebSocket with its capability" {
	need chromium
	need nginx
	[ -e "$PEERS/installed" ] || skip_or_fail 'npm package ws (no registry reached)'
	start_vmm
	install
	page_server
	listen=$(free_port)
	start_gateway --http --listen "tcp:127.0.0.1:$listen"
	origin=$(free_port)
	nginx_at front "$origin" "
		location / { proxy_pass http://127.0.0.1:$listen; proxy_http_version 1.1; proxy_set_header Connection ''; }
		location = / { proxy_pass http://127.0.0.1:$listen; proxy_set_header Authorization 'Bearer $(mint http)'; }
		location = /held { proxy_pass http://127.0.0.1:$listen; proxy_set_header Authorization 'Bearer $(mint http)'; }"
	browse "http://127.0.0.1:$origin/#$(mint http),$(mint websocket),127.0.0.1:$listen"
	assert_success
	assert_output --partial '<p id="same">200 fetched</p>'
	assert_output --partial '<p id="other">TypeError</p>'
	assert_output --partial '<p id="echo">chat: echo of hello</p>'
	run cut -d ' ' -f 1 "$W/service.log"
	assert_output --partial /chat
	refute_output --partial /other
	run grep -ciE 'v4\.public|authorization' "$W/service.log"
	assert_output 0
	run grep -c '"sec-websocket-protocol":"chat"' "$W/service.log"
	assert_output 1
	browse "http://127.0.0.1:$origin/#$(mint http),$(mint websocket --execution 6),127.0.0.1:$listen"
	assert_success
	assert_output --partial '<p id="same">200 fetched</p>'
	assert_output --partial '<p id="echo">no WebSocket</p>'
	assert_equal "$(grep -c '^/chat ' "$W/service.log")" 1
	assert_equal "$(jq -r 'select(.reason == "execution") | .decision' "$AUDIT")" refresh-route
}
