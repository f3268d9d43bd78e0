# A worker with a VMM, its guest, a service on one of the guest's ports, and the gateway before it. For the bats files of
# spacebridge gateway.
# shellcheck shell=bash disable=SC2016,SC2034,SC2119,SC2120,SC2153,SC2154

ROUTE='{"execution":7,"worker":"worker-a","substrate":"host","activation":"act-19","attempt":1}'

setup() {
	W=$BATS_TEST_TMPDIR/w
	mkdir -p "$W/etc" "$W/state" "$W/tree" "$W/run"
	configure
	AUDIT=$W/audit
	GATEWAY=$W/run/gateway/s-42.sock
	MANAGER=$W/run/manager.sock
	log=$W/passed
	spacecap keygen -o "$W/key"
	spacecap pubkey "$W/key" >"$W/key.public"
}

teardown() { stop_all; }

# configure [LINE...]: these lines are of [gateway]. In a directory of its own, in which every change would be one of the
# configuration.
configure() {
	printf '%s\n' '[space]' 'realm = test' 'worker = worker-a' "state_dir = $W/state" "run_dir = $W/run" '[bridge]' \
		"min_level = $("$FIXTURES/evidence" level)" "connect_timeout_ms = ${PATIENCE:-20000}" '[gateway]' "$@" >"$W/etc/space.ini"
	export SPACE_CONFIG=$W/etc/space.ini
}

# free_port: of the loopback, for who cannot choose one himself. Below those that the kernel gives away by itself, so that
# it is free still when it is taken.
free_port() {
	python3 -c '
import random, socket
while True:
    try:
        with socket.socket() as s:
            s.bind(("127.0.0.1", random.randrange(10000, 32000)))
            print(s.getsockname()[1])
            break
    except OSError:
        pass'
}

# taken PORT: does somebody listen there?
taken() { (: >"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# start_vmm [OPTION...]: the VMM, and the guest's agent behind it.
start_vmm() {
	start agent spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 42
	start vmm "$FIXTURES/vmm" --uds "$W/v.sock" --guest "$W/agent.sock" --cid 42 --log "$log" "$@"
}

# enroll [ROUTE-FILTER]: the record, with what is enrolled of the VMM that runs, and of its guest.
enroll() {
	jq -nc --argjson route "$ROUTE" "{sandbox:\"s-42\",route:(\$route | ${1:-.}),owner:\"op-1\"}" |
		spacebridge attest --enroll --sandbox s-42 --vmm-pid "$(cat "$BATS_TEST_TMPDIR/vmm.pid")" --vsock "$W/v.sock" \
			--cid 42 --record - >"$W/record" || fail "enroll: $(cat "$W/record")"
	: >"$log"
}

# install [ROUTE-FILTER]: the same, in force.
install() {
	enroll "$@"
	install_again >"$W/installed" || fail "install: $(cat "$W/installed")"
}

# install_again: the same record.
install_again() { spaceid install <"$W/record"; }

# service MODE: what the guest's port $PORT leads to (tests/fixtures/port-service.py); what it got is in $W/service.log.
service() {
	start service python3 "$ROOT/tests/fixtures/port-service.py" "$1" "$W/service.port" "$W/service.log"
	PORT=$(cat "$W/service.port")
	: >>"$W/service.log"
}

# web_service: an HTTP/1.1 server in the guest, and the VMM before it.
web_service() {
	cat >"$W/web.py" <<-'END'
		import http.server, os, socket, sys
		log = open(sys.argv[2], 'a', buffering=1)
		connections = 0
		class Handler(http.server.BaseHTTPRequestHandler):
		    protocol_version = 'HTTP/1.1'
		    def setup(self):
		        global connections
		        connections += 1
		        self.number = connections
		        super().setup()
		    def log_message(self, *args):
		        pass
		    def body(self):
		        if self.headers.get('Transfer-Encoding') == 'chunked':
		            whole = b''
		            while size := int(self.rfile.readline(), 16):
		                whole += self.rfile.read(size)
		                self.rfile.readline()
		            self.rfile.readline()
		            return whole
		        return self.rfile.read(int(self.headers.get('Content-Length', 0)))
		    def do_GET(self):
		        log.write(self.requestline + '\n' + str(self.headers))
		        if self.path == '/switch':
		            self.wfile.write(b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
		            return
		        body = self.body() if self.command == 'POST' else b'%d:%s\n' % (self.number, self.path.encode())
		        self.send_response(200)
		        if self.path == '/chunked':
		            self.send_header('Transfer-Encoding', 'chunked')
		            self.end_headers()
		            for i in range(0, len(body), 3):
		                self.wfile.write(b'%x\r\n%s\r\n' % (len(body[i:i + 3]), body[i:i + 3]))
		            self.wfile.write(b'0\r\n\r\n')
		            return
		        if self.path == '/close':
		            self.end_headers()
		            self.wfile.write(body)
		            self.close_connection = True
		            return
		        self.send_header('Content-Length', str(len(body)))
		        self.end_headers()
		        if self.command != 'HEAD':
		            self.wfile.write(body)
		    do_POST = do_HEAD = do_GET
		class Server(http.server.ThreadingHTTPServer):
		    daemon_threads = True
		server = Server(('127.0.0.1', 0), Handler)
		with open(sys.argv[1], 'w') as file:
		    print(server.server_port, file=file)
		notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		notify.sendto(b'READY=1', '\0' + os.environ['NOTIFY_SOCKET'][1:])
		server.serve_forever()
	END
	start_vmm
	install
	start service python3 "$W/web.py" "$W/service.port" "$W/service.log"
	PORT=$(cat "$W/service.port")
	: >>"$W/service.log"
}

start_gateway() { start gateway spacebridge gateway s-42 --keys "$W/key.public" --audit "$AUDIT" "$@"; }
start_manager() { start manager spacebridge forward --keys "$W/key.public" --audit "$W/manager.audit" "$@"; }

# standing [MODE]: all of it.
standing() {
	start_vmm
	install
	service "${1:-echo}"
	start_gateway
}

# mint PROTOCOL [OPTION...]: a capability for $PORT; options given later count.
mint() {
	spacecap mint -k "$W/key" --sandbox s-42 --execution 7 --worker worker-a --substrate host --activation act-19 \
		--attempt 1 --caller uid:1000 --purpose service-port --port "$PORT" --protocol "$@"
}

# line PROTOCOL CAP [PORT]: the first line of a client.
line() { printf '{"cap":"%s","port":%s,"protocol":"%s"}' "$2" "${3:-$PORT}" "$1"; }

# wire PROTOCOL CAP [PORT]: a request as send writes it to the manager.
wire() {
	printf '{"id":"s","op":"port.connect","sandbox":"s-42","args":{"port":%s,"protocol":"%s"},"cap":"%s"}' \
		"${3:-$PORT}" "$1" "$2"
}

# talk STEP...: one connection to the gateway (tests/fixtures/talk).
talk() { run timeout 60 "$FIXTURES/talk" "$GATEWAY" "$@"; }

# assert_no_byte: nothing was sent to the guest, and nothing came to the service.
assert_no_byte() {
	[ ! -s "$log" ] || fail "the guest was sent: $(cat "$log")"
	[ ! -s "$W/service.log" ] || fail "the service got: $(cat "$W/service.log")"
}

# refused REASON LINE: it is refused so, the connection ends, and no byte came to the guest.
refused() {
	local decision=deny
	case $1 in execution | worker | substrate | activation | attempt | retired | absent) decision=refresh-route ;; esac
	talk send "$2\\n" all
	assert_success
	assert_json --arg reason "$1" --arg decision "$decision" \
		'del(.behind) == {status:"refused",decision:$decision,reason:$reason,hop:"netgtw"}'
	assert_no_byte
	assert_equal "$(tail -n 1 "$AUDIT" | jq -r '[.role, .op, .sandbox, .reason] | join(" ")')" \
		"netgtw port.connect s-42 $1"
}

# opened: the last output's first line is `open`; its lease in $lease.
opened() {
	is_json '.status == "open" and .epoch >= 1' <<<"${output%%$'\n'*}" || fail "not open: $output"
	lease=$(jq -r .lease <<<"${output%%$'\n'*}")
}
