# spacebridge gateway in line mode: one line, one answer, and bytes as long as a lease allows.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2119,SC2154
load helper
load gateway

# keep NAME LINE [STEP...]: a connection in the background; returns once it is open.
keep() {
	local name=$1 line=$2
	mkfifo "$W/$name.open"
	timeout 250 "$FIXTURES/talk" "$GATEWAY" send "$line\\n" line go "$W/$name.open" "${@:3}" >"$W/$name.out" \
		2>"$W/$name.err" 3>&- &
	kept=$!
	from "$W/$name.open"
	output=$(cat "$W/$name.out")
	opened
}

# accepted TEXT: the service has got exactly this, resets aside.
accepted() {
	eventually grep -q accepted "$W/service.log"
	assert_equal "$(grep -v reset "$W/service.log")" "$1"
}

@test "bytes go both ways, raw on this side and whole; the end of one direction leaves the other" {
	standing late
	head -c 3000000 /dev/urandom >"$W/in"
	run timeout 60 socat -t 60 - "UNIX-CONNECT:$GATEWAY" < <(line tcp "$(mint tcp)"; echo; cat "$W/in")
	assert_success
	opened
	assert_line --index 1 '3000000 bytes'
	{
		echo accepted
		cat "$W/in"
	} | cmp - "$W/service.log"
	eventually has "$AUDIT" closed
	run jq -c '[.decision, .caller, .epoch, .note]' "$AUDIT"
	assert_line --index 0 "[\"match\",\"uid:1000\",1,\"lease $lease open\"]"
	assert_line --index 1 "[\"match\",\"uid:1000\",1,\"lease $lease closed: both sides ended\"]"
}

@test "what a service says first comes at once, and the capability goes nowhere" {
	standing first
	cap=$(mint tcp)
	talk send "$(line tcp "$cap")\\n" line expect 'SSH-2.0-test\n' send 'hello\n' expect 'hello\n' shut end
	assert_success
	run grep -c v4.public "$log" "$W/service.log"
	assert_output "$log:0"$'\n'"$W/service.log:0"
}

@test "an answer has the id that the line has" {
	standing
	talk send "{\"id\":\"a\\\\u000a\",\"cap\":\"$(mint tcp)\",\"port\":$PORT,\"protocol\":\"tcp\"}\\n" line shut end
	assert_success
	assert_json '.id == "a\n" and .status == "open"'
}

@test "a capability opens one stream, also after the gateway was killed, and after a restart" {
	standing
	line=$(line tcp "$(mint tcp)")
	talk send "$line\\n" line send x expect x shut end
	assert_success
	: >"$log"
	: >"$W/service.log"
	refused replayed "$line"
	stop gateway KILL
	start_gateway
	refused replayed "$line"
	stop gateway
	start_gateway
	refused replayed "$line"
}

@test "each refusal has its reason, and comes before any byte" {
	standing
	refused execution "$(line tcp "$(mint tcp --execution 8)")"
	refused activation "$(line tcp "$(mint tcp --activation act-18)")"
	refused attempt "$(line tcp "$(mint tcp --attempt 2)")"
	refused sandbox "$(line tcp "$(mint tcp --sandbox s-43)")"
	refused port "$(line tcp "$(mint tcp)" 1)"
	refused protocol "$(line http "$(mint tcp)")"
	refused malformed "$(line tcp x)"
	refused signature "$(line tcp "$(mint tcp --realm other)")"
	refused purpose "$(line tcp "$(spacecap mint -k "$W/key" --sandbox s-42 --execution 7 --worker worker-a --substrate host \
		--activation act-19 --attempt 1 --caller uid:1000 --purpose control --access 'file.*')")"
	spaceid fence --sandbox s-42 >/dev/null
	refused fenced "$(line tcp "$(mint tcp)")"
	spaceid retire --sandbox s-42 --execution 7 >/dev/null
	refused retired "$(line tcp "$(mint tcp)")"
}

@test "the agent's own port and deny_ports are refused before anything else is looked at" {
	configure 'deny_ports = 22, 2375'
	start_gateway
	for port in 5005 22 2375; do
		refused port "$(line tcp x "$port")"
	done
	PORT=23
	refused absent "$(line tcp "$(mint tcp)")"
}

@test "what is no line is a bad record" {
	PORT=80
	start_gateway
	cap=$(mint tcp)
	for line in '{' '{}' "$(line tcp "$cap" 0)" "$(line tcp "$cap" 65536)" "$(line tcp "$cap" 080)" "$(line udp "$cap")" \
		"$(line tcp "$cap" '"80"')" "{\"cap\":\"$cap\",\"port\":80,\"protocol\":\"tcp\",\"more\":1}"; do
		talk send "$line\\n" all
		assert_json '.status == "error" and .error == "bad-record"'
	done
	talk send "$(head -c 3000 /dev/zero | tr '\0' a)" send "$(head -c 3000 /dev/zero | tr '\0' a)" all
	assert_json '.error == "bad-record"'
}

@test "whoever says nothing is told after connect_timeout_ms" {
	PATIENCE=200
	configure
	start_gateway
	talk all
	assert_json '.error == "timeout"'
}

@test "a port without a service is the guest's own word, and the capability is used up" {
	start_vmm
	install
	PORT=1
	start_gateway
	line=$(line tcp "$(mint tcp)")
	talk send "$line\\n" all
	assert_json '.status == "error" and .error == "op" and .errno == "ECONNREFUSED"'
	talk send "$line\\n" all
	assert_json '.reason == "replayed"'
}

@test "first bytes that are not of the protocol come no further, at once or late" {
	standing
	for protocol in http websocket tls; do
		: >"$log"
		refused protocol "$(line "$protocol" "$(mint "$protocol")")\\nSSH-2.0-x\\n"
	done
	talk send "$(line tls "$(mint tls)")\\n" line send 'GET / HTTP/1.1\n\n' end
	assert_success
	opened
	audited --arg note "lease $lease closed" '.reason == "protocol" and .note == $note'
	accepted accepted
}

@test "first bytes that do not come are a denial after connect_timeout_ms" {
	standing
	# Within this all has to be proven that comes before them.
	sed -i 's/^connect_timeout_ms.*/connect_timeout_ms = 2000/' "$W/etc/space.ini"
	stop gateway
	start_gateway
	talk send "$(line http "$(mint http)")\\nGET / HT" line end
	assert_success
	assert_equal "$(tail -n 1 "$AUDIT" | jq -r .reason)" protocol
	accepted accepted
}

@test "a request line opens http, also in pieces" {
	standing
	talk send "$(line http "$(mint http)")\\nGE" line send 'T / HTT' send 'P/1.1\n' expect 'GET / HTTP/1.1\n' shut end
	assert_success
}

@test "a new execution cuts what is open, another attempt does not" {
	standing
	keep one "$(line tcp "$(mint tcp)")" send a expect a end
	first=$lease
	install '.attempt = 2'
	audited '.note | endswith("open")'
	talk send "$(line tcp "$(mint tcp)")\\n" all
	assert_json '.decision == "refresh-route" and .reason == "attempt"'
	install '.execution = 8'
	wait "$kept" || fail "$(cat "$W/one.err")"
	eventually has "$AUDIT" 'cut: the record moved on'
	run grep -F "$first" "$AUDIT"
	assert_line --index 1 --partial 'cut: the record moved on'
	assert_equal "$(jq -r 'select(.note | strings | contains("cut")) | .reason' "$AUDIT")" execution
}

@test "the end of the VMM's process cuts, and says so" {
	standing
	keep one "$(line tcp "$(mint tcp)")" send a expect a end
	stop vmm KILL
	wait "$kept" || fail "$(cat "$W/one.err")"
	audited '.reason == "vmm-process" or (.note | contains("closed: the guest"))'
}

@test "another VMM than was enrolled is refused before the guest hears of it" {
	standing
	stop vmm KILL
	start vmm "$FIXTURES/vmm" --uds "$W/v.sock" --guest "$W/agent.sock" --cid 42 --log "$log"
	talk send "$(line tcp "$(mint tcp)")\\n" all
	assert_json '.decision == "deny" and .hop == "netgtw" and (.reason | IN("listener-replaced", "peer-credentials", "vmm-process"))'
	assert_no_byte
}

@test "a VMM that executes anew while it is being proven is refused, at the last look too" {
	local count
	mkfifo "$W/done"
	for count in 2 3; do # 1: the level; 2: its pin; 3: right before the first byte, all else proven
		start_vmm --misbehave re-exec --done "$W/done"
		install
		service echo
		stop_point image "$count"
		start gateway "${STOP[@]}" spacebridge gateway s-42 --keys "$W/key.public" --audit "$AUDIT"
		timeout 60 "$FIXTURES/talk" "$GATEWAY" send "$(line tcp "$(mint tcp)")\\n" all >"$W/said" 3>&- &
		kept=$!
		await_stop
		kill -USR1 "$(cat "$BATS_TEST_TMPDIR/vmm.pid")"
		from "$W/done"
		go_on
		wait "$kept"
		output=$(cat "$W/said")
		assert_json '. == {status:"refused",decision:"deny",reason:"vmm-process",hop:"netgtw"}'
		[ ! -s "$W/service.log" ] || fail "at $count the service got: $(cat "$W/service.log")"
		stop_all
		rm -rf "$W/state" "$W/service.log"
	done
}

@test "more streams than max_streams are overloaded" {
	configure 'max_streams = 1'
	standing
	keep one "$(line tcp "$(mint tcp)")" end
	talk send "$(line tcp "$(mint tcp)")\\n" all
	assert_json '.error == "overloaded"'
	stop gateway
	wait "$kept" || fail "$(cat "$W/one.err")"
}

# pins: how many descriptors hold on to a process.
pins() {
	find "/proc/$(cat "$BATS_TEST_TMPDIR/gateway.pid")/fd" -printf '%l\n' | grep -cE '^(anon_inode:\[pidfd\]|net:.*|/proc/.*|pidfd:.*)$'
}

@test "streams of an epoch share what pins their VMM, and the first of them may go" {
	standing
	local i before pids=()
	for i in {1..9}; do
		mkfifo "$W/until$i"
		keep "s$i" "$(line tcp "$(mint tcp)")" wait "$W/until$i" send a expect a shut end
		pids+=("$kept")
		[ "$i" -gt 1 ] || before=$(pins)
	done
	[ "$before" -ge 3 ] || fail "only $before"
	assert_equal "$(pins)" "$before"
	for i in {1..9}; do
		echo >"$W/until$i"
		wait "${pids[i - 1]}" || fail "stream $i: $(cat "$W/s$i.err")"
	done
}

@test "through the manager the client frames, both check, and the gateway uses the capability up" {
	standing
	start_manager
	cap=$(mint tcp)
	run timeout 60 "$FIXTURES/framed" "$MANAGER" "$(wire tcp "$cap")" send 'hello\n' until 'hello\n' end rest
	assert_success
	assert_line --index 0 --regexp '^\{"id":"s","status":"open","lease":"[0-9a-f]{32}","epoch":1\}$'
	assert_line --index -1 '{"exit":0}'
	refute_output --partial v4.public
	run jq -r .decision "$W/manager.audit"
	refute_output --partial deny
	run timeout 60 "$FIXTURES/talk" "$MANAGER" send "$(wire tcp "$cap")\\n" all
	assert_output '{"id":"s","status":"refused","decision":"deny","reason":"replayed","hop":"netgtw"}'
	: >"$log"
	: >"$W/service.log"
	stop gateway KILL
	run timeout 60 "$FIXTURES/talk" "$MANAGER" send "$(wire tcp "$(mint tcp)")\\n" all
	assert_json '.id == "s" and .error == "transport" and .sent == false'
	assert_no_byte
}

@test "the manager refuses by itself what no gateway needs to hear of" {
	start_vmm
	install
	PORT=80
	start_manager
	for pair in "port $(wire tcp "$(mint tcp)" 5005)" "port $(wire tcp "$(mint tcp)" 81)" \
		"execution $(wire tcp "$(mint tcp --execution 6)")" "protocol $(wire http "$(mint tcp)")"; do
		run timeout 60 "$FIXTURES/talk" "$MANAGER" send "${pair#* }\\n" all
		assert_json --arg reason "${pair%% *}" '.status == "refused" and .reason == $reason and .hop == "sbx-manager"'
	done
	# Of a port that nobody reaches no answer says whether there is such a sandbox, or such a capability.
	for cap in x "$(mint tcp)" "$(mint tcp --port 5005)"; do
		for sandbox in s-42 s-none; do
			line=$(wire tcp "$cap" 5005)
			run timeout 60 "$FIXTURES/talk" "$MANAGER" send "${line/s-42/$sandbox}\\n" all
			assert_output '{"id":"s","status":"refused","decision":"deny","reason":"port","hop":"sbx-manager"}'
		done
	done
	run timeout 60 "$FIXTURES/talk" "$MANAGER" send "$(wire tcp "$(mint tcp)" '"80"')\\n" all
	assert_json '.error == "bad-record"'
}

@test "the manager tells nothing to a listener that is no gateway" {
	start_vmm
	install
	PORT=80
	start_manager
	mkdir -p "$W/run/gateway"
	start impostor "$FIXTURES/echo" --log "$W/impostor.log" "$GATEWAY"
	run timeout 60 "$FIXTURES/talk" "$MANAGER" send "$(wire tcp "$(mint tcp)")\\n" all
	assert_output '{"id":"s","status":"refused","decision":"deny","reason":"bridge-executable","hop":"sbx-manager"}'
	run cat "$W/impostor.log"
	refute_output --partial v4.public
}

@test "a stream through the manager is cut by a new execution, and its lease tells why" {
	standing
	start_manager
	mkfifo "$W/open" "$W/go"
	timeout 250 "$FIXTURES/framed" "$MANAGER" "$(wire tcp "$(mint tcp)")" send 'a\n' until 'a\n' go "$W/open" rest >"$W/out" 3>&- &
	kept=$!
	from "$W/open"
	output=$(cat "$W/out")
	lease=$(head -n 1 "$W/out" | jq -r .lease)
	install '.execution = 8'
	wait "$kept"
	assert_equal "$(tail -n 1 "$W/out")" cut
	eventually has "$W/manager.audit" "lease $lease cut: the record moved on"
	run grep -F "lease $lease cut: the record moved on" "$W/manager.audit"
	assert_json '.reason == "execution"'
}

@test "first bytes in frames are judged as well, and a wrong one is told in the last frame" {
	standing
	start_manager
	run timeout 60 "$FIXTURES/framed" "$MANAGER" "$(wire http "$(mint http)")" send 'SSH-2' rest
	assert_line --index -1 --partial '"errno":"EPROTO"'
	run timeout 60 "$FIXTURES/framed" "$MANAGER" "$(wire http "$(mint http)")" send 'GET /' send ' HTTP/1.1\n' \
		until 'HTTP/1.1\n' end rest
	assert_line --index -1 '{"exit":0}'
	accepted "accepted
accepted
GET / HTTP/1.1"
}

@test "it listens on loopback, and plainly nowhere else" {
	standing
	stop gateway
	port=$(free_port)
	start_gateway --listen "tcp:127.0.0.1:$port"
	run timeout 60 socat -t 60 - "TCP:127.0.0.1:$port" < <(line tcp "$(mint tcp)"; echo; echo hello)
	opened
	assert_line --index 1 hello
	stop gateway
	for address in "tcp:0.0.0.0:$port" "tcp:[::]:$port" "tcp:127.0.0.1:0$port" "tcp:127.0.0.1" "$port" 'tcp:localhost:80.'; do
		run spacebridge gateway s-42 --keys "$W/key.public" --listen "$address"
		assert_failure 2
	done
}

@test "one gateway serves a sandbox, and is told which" {
	start_gateway
	run spacebridge gateway s-42 --keys "$W/key.public" --listen "unix:$W/other.sock"
	assert_failure 14
	run spacebridge gateway
	assert_failure 2
	run netgtw
	assert_failure 2
}

@test "openssl speaks TLS through to a server in the guest" {
	start_vmm
	install
	start_gateway
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$W/tls.key" -out "$W/tls.pem" -subj /CN=guest -days 1 2>/dev/null
	PORT=$(free_port)
	openssl s_server -quiet -www -accept "127.0.0.1:$PORT" -cert "$W/tls.pem" -key "$W/tls.key" 3>&- >/dev/null 2>&1 &
	echo $! >"$BATS_TEST_TMPDIR/server.pid"
	eventually taken "$PORT"
	# s_client says no line before its hello: what goes before stands between.
	mkfifo "$W/front.port"
	python3 "$ROOT/tests/fixtures/line-front.py" "$GATEWAY" "$(line tls "$(mint tls)")" "$W/front.port" >"$W/front.out" 3>&- &
	front=$!
	port=$(timeout 60 head -n 1 "$W/front.port")
	run timeout 60 openssl s_client -quiet -connect "127.0.0.1:$port" < <(printf 'GET / HTTP/1.0\r\n\r\n')
	assert_output --partial 'HTTP/1.0 200 ok'
	wait "$front"
}
