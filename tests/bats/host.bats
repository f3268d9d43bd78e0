# spacebridge host: who is let in, what is proven before a byte passes, and what ends it.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2154
load helper

ROUTE='{"execution":7,"worker":"worker-a","substrate":"host","activation":"act-19","attempt":1}'

setup() {
	W=$BATS_TEST_TMPDIR/w
	mkdir -p "$W/state" "$W/tree"
	configure
	AUDIT=$W/audit
	bridge=$W/run/bridge/s-42.sock
	uds=$W/v.sock
	log=$W/passed
}

teardown() { stop_all; }

# configure [LINE...]: a worker whose manager is the tests' own client, with these lines in [bridge].
configure() {
	mkdir -p "$W/run"
	[[ $* == *connect_timeout_ms* ]] || set -- "$@" 'connect_timeout_ms = 20000'
	printf '%s\n' '[space]' 'worker = worker-a' "state_dir = $W/state" "run_dir = $W/run" '[bridge]' \
		'min_level = launch-pidfd' "manager_exe = $FIXTURES/talk" "$@" >"$W/space.ini"
	export SPACE_CONFIG=$W/space.ini
}

# as_python: the manager is a Python program.
as_python() {
	configure "manager_exe = $(python3 -c 'import os; print(os.readlink("/proc/self/exe"))')"
	sed -i '/talk$/d' "$W/space.ini"
}

# start_vmm [OPTION...]: the VMM, and the guest's agent behind it.
start_vmm() {
	[ -e "$BATS_TEST_TMPDIR/agent.pid" ] ||
		start agent spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 42
	start vmm "$FIXTURES/vmm" --uds "$uds" --guest "$W/agent.sock" --cid 42 --log "$log" "$@"
	VMM=$STARTED
}

# bare [ROUTE-FILTER]: the record without its evidence.
bare() { jq -nc --argjson route "$ROUTE" "{sandbox:\"s-42\",route:(\$route | ${1:-.}),owner:\"op-1\"}"; }

# install [ROUTE-FILTER]: the record, with what is enrolled of the VMM that runs, and of its guest.
install() {
	bare "${1:-.}" | spacebridge attest --enroll --sandbox s-42 --vmm-pid "$(cat "$BATS_TEST_TMPDIR/vmm.pid")" --vsock "$uds" \
		--cid 42 --record - >"$W/record" || fail "enroll: $(cat "$W/record")"
	: >"$log"
	spaceid install <"$W/record"
}

# install_unasked: the same for a VMM through which no guest can be reached.
install_unasked() {
	mkdir -p "$W/state/records/guest-keys"
	(umask 077 && echo paWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaU >"$W/state/records/guest-keys/g-1")
	spacebridge attest --enroll --vmm-pid "$(cat "$BATS_TEST_TMPDIR/vmm.pid")" --vsock "$uds" --cid 42 >"$W/evidence"
	jq -c --argjson bare "$(bare)" '$bare + . + {guest:{id:"g-1"}}' "$W/evidence" | spaceid install
}

start_host() { start host spacebridge host --sandbox s-42 --audit "$AUDIT"; }

# standing [OPTION...]: all of it, the VMM with these options.
standing() {
	start_vmm "$@"
	install
	start_host
}

talk() { run timeout 60 "$FIXTURES/talk" "$bridge" "$@"; }

# refused REASON: one connection, which must be answered so and ended; no byte of it came to the guest.
refused() {
	talk all
	assert_success
	assert_output "{\"bridge\":\"refused\",\"reason\":\"$1\"}"
	assert_nothing_passed
	assert_equal "$(tail -n 1 "$AUDIT" | jq -r .reason)" "$1"
}

# failed ERROR: the same for what is no decision.
failed() {
	talk all
	assert_success
	assert_json --arg error "$1" '.bridge == "error" and .error == $error'
	assert_nothing_passed
	assert_equal "$(tail -n 1 "$AUDIT" | jq -r .error)" "$1"
}

assert_nothing_passed() { [ ! -s "$log" ] || fail "the guest was sent: $(cat "$log")"; }

ping() { printf '{"id":"%s","op":"ping","sandbox":"s-42","args":{}}\\n' "$1"; }

pong() { printf '{"id":"%s","status":"ok","result":{}}\\n' "$1"; }

# refused_by_guest WORDS: the guest's proof did not convince; all that it was sent are hellos.
refused_by_guest() {
	talk all
	assert_success
	assert_output '{"bridge":"refused","reason":"guest-identity"}'
	assert_equal "$(jq -r .guest "$log" | sort -u)" hello
	audited --arg words "$1" '.reason == "guest-identity" and (.note | contains($words))'
}

# hold: a connection that is open and stays, in the background; in steps that the test gives.
hold() {
	mkfifo "$W/open" "$W/go"
	timeout 250 "$FIXTURES/talk" "$bridge" line send "$(ping 1)" expect "$(pong 1)" go "$W/open" "$@" \
		>"$W/held.out" 2>"$W/held.err" 3>&- &
	held=$!
	read -r <"$W/open"
}

# greeted WORD: one connection, and a greeting with this word in it.
greeted() { talk line && [[ $output == *"$1"* ]]; }

# released: waits for the held connection; each of its steps must have gone as written.
released() { wait "$held" || fail "$(cat "$W/held.err")"; }

@test "an honest manager is greeted with what was proven, and then speaks with the guest" {
	standing
	talk line send "$(ping 1)" expect "$(pong 1)" send "$(ping 2)" expect "$(pong 2)"
	assert_success
	assert_json '.bridge == "ready" and .sandbox == "s-42" and .execution == 7 and .epoch == 1 and
		(.level | IN("full", "pidfd", "launch-pidfd")) and (keys | length) == 9'
	run cat "$AUDIT"
	assert_json '.role == "spaced-host" and .sandbox == "s-42" and .decision == "match" and .epoch == 1 and
		.route.execution == 7 and .us >= 0'
}

@test "the greeting says where both of its connections, and the VMM's end, are to be found" {
	standing
	hold end
	output=$(cat "$W/held.out")
	run readlink "/proc/$(cat "$BATS_TEST_TMPDIR/host.pid")/fd/$(jq -r .vsock_fd <<<"$output")"
	assert_output "socket:[$(jq -r .vsock_inode "$W/held.out")]"
	run readlink "/proc/$(cat "$BATS_TEST_TMPDIR/host.pid")/fd/$(jq -r .fd "$W/held.out")" \
		"/proc/$(cat "$BATS_TEST_TMPDIR/vmm.pid")/fd/$(jq -r .vmm_fd "$W/held.out")"
	assert_line --index 0 --regexp '^socket:\[[0-9]+\]$'
	assert_line --index 1 --regexp '^socket:\[[0-9]+\]$'
}

@test "without a record, and with a retired one, the manager is told to look for a newer route" {
	start_vmm
	start_host
	refused absent
	install
	spaceid retire --sandbox s-42 --execution 7
	refused retired
}

@test "a record without evidence of a VMM opens nothing" {
	start_vmm
	bare | spaceid install
	start_host
	refused evidence-unavailable
}

@test "a record that somebody broke is no answer" {
	standing
	echo '{}' >"$(echo "$W"/state/records/*s-42*)"
	stop host
	start_host
	failed unavailable
}

@test "another executable than the manager's is refused" {
	configure "manager_exe = $FIXTURES/crowd"
	sed -i '/talk$/d' "$W/space.ini"
	standing
	refused bridge-executable
}

@test "the default manager is our own executable, so that nothing else gets in" {
	configure
	sed -i "/manager_exe/d" "$W/space.ini"
	standing
	refused bridge-executable
}

@test "another uid than the manager's is refused" {
	configure 'manager_uid = 4242'
	standing
	refused peer-credentials
}

@test "a VMM that is gone, or another one in its place, is refused" {
	standing
	stop vmm KILL
	refused listener-replaced
	start_vmm
	# Where the file system gives the socket its predecessor's inode, the listener's pid tells.
	talk all
	assert_success
	assert_json '.reason | IN("listener-replaced", "peer-credentials")'
	spaceid retire --sandbox s-42 --execution 7
	install '.execution = 8'
	talk line send "$(ping 1)" expect "$(pong 1)"
	assert_success
	assert_json '.execution == 8 and .epoch == 3'
}

@test "a VMM of the wrong executable is refused" {
	standing
	spaceid retire --sandbox s-42 --execution 7
	bare '.execution = 8' | jq -c --slurpfile was "$W/record" \
		'. + {vmm: ($was[0].vmm | .executable |= (.ino = "1" | .blake2b = ("0" * 64)))}' | spaceid install
	refused vmm-executable
}

@test "whatever a VMM answers that is not OK and a number is transport, and nothing has passed" {
	local how
	for how in split notok overlong unended hang-up ok-close; do
		start_vmm --misbehave "$how"
		spaceid retire --sandbox s-42 --execution 7 || true
		ROUTE=$(jq -c '.execution += 1' <<<"$ROUTE")
		install_unasked
		[ -e "$BATS_TEST_TMPDIR/host.pid" ] || start_host
		failed transport
		stop vmm
	done
}

# start_unheard ABSTRACT: a host whose service manager has an abstract name, or a path (and does not listen).
start_unheard() {
	rm -f "$bridge"
	NOTIFY_SOCKET=$1 spacebridge host --sandbox s-42 --audit "$AUDIT" 3>&- &
	echo $! >"$BATS_TEST_TMPDIR/host.pid"
	eventually [ -S "$bridge" ]
}

network() { readlink "/proc/$1/ns/net"; }

@test "a bridge lives in a network namespace of its own where it may, and where its manager may look into it" {
	unshare --net true 2>/dev/null || skip_or_fail 'the right to make a network namespace'
	start_vmm
	install
	start_unheard "$W/notify"
	assert_not_equal "$(network "$(cat "$BATS_TEST_TMPDIR/host.pid")")" "$(network self)"
	talk line send "$(ping 1)" expect "$(pong 1)"
	assert_success
	stop host
	start_unheard @space-tests
	assert_equal "$(network "$(cat "$BATS_TEST_TMPDIR/host.pid")")" "$(network self)"
	stop host
	configure 'manager_uid = 0,12345'
	start_unheard "$W/notify"
	assert_equal "$(network "$(cat "$BATS_TEST_TMPDIR/host.pid")")" "$(network self)"
}

@test "a guest whose agent does not run is transport" {
	standing
	stop agent
	failed transport
}

@test "a VMM that never answers is a timeout, and holds up nobody else" {
	configure 'connect_timeout_ms = 1500'
	start_vmm --misbehave no-answer
	install_unasked
	start_host
	timeout 250 "$FIXTURES/talk" "$bridge" all >"$W/first.out" 3>&- &
	local first=$!
	spaceid retire --sandbox s-42 --execution 7
	talk all
	assert_output '{"bridge":"refused","reason":"retired"}'
	wait "$first"
	output=$(cat "$W/first.out")
	# It was asked before the record was retired, or after: both are answers, silence is none.
	assert_json '.error == "timeout" or .reason == "retired"'
	ROUTE=$(jq -c '.execution = 8' <<<"$ROUTE")
	install_unasked
	failed timeout
}

@test "a VMM that answers late is waited for" {
	start_vmm --misbehave late
	install
	start_host
	talk line send "$(ping 1)" expect "$(pong 1)"
	assert_success
}

@test "bytes right behind OK are not swallowed: they are no hello of the guest" {
	start_vmm --misbehave coalesced --early 'early\n'
	install_unasked
	start_host
	refused_by_guest "the guest's answer"
}

@test "a forked child of the VMM that accepts in its place is found out" {
	mkfifo "$W/done"
	standing --misbehave fork-accept --done "$W/done"
	kill -USR1 "$VMM"
	read -r <"$W/done"
	refused listener-owner
}

@test "megabytes go both ways at once, whole, without being kept" {
	as_python
	standing
	python3 - "$bridge" "$W/tree" <<-'PYTHON'
		import json, os, socket, sys, threading
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(60)
		s.connect(sys.argv[1])
		back = s.makefile("rb")
		assert b"ready" in back.readline()
		open(sys.argv[2] + "/big", "wb").write(b"".join(b"%07d\n" % i for i in range(16384)))
		def send():
		    for i in range(60):
		        op = {"id": f"w{i}", "op": "file.write", "sandbox": "s-42", "args": {"path": f"f{i}", "text": f"{i:05}" * 30000}}
		        s.sendall(json.dumps(op).encode() + b"\n")
		        op = {"id": f"r{i}", "op": "file.read", "sandbox": "s-42", "args": {"path": "big"}}
		        s.sendall(json.dumps(op).encode() + b"\n")
		threading.Thread(target=send).start()
		for i in range(60):
		    assert json.loads(back.readline()) == {"id": f"w{i}", "status": "ok", "result": {"size": 150000}}, i
		    read = json.loads(back.readline())
		    assert read["id"] == f"r{i}" and read["result"]["text"] == "".join("%07d\n" % n for n in range(16384)), i
		    assert open(f"{sys.argv[2]}/f{i}").read() == f"{i:05}" * 30000, i
	PYTHON
	run awk '/VmHWM/ { print $2 }' "/proc/$STARTED/status"
	assert [ "$output" -lt 32768 ]
}

@test "a side that does not read stops the other, and costs a bounded buffer" {
	mkfifo "$W/go"
	head -c 64000000 /dev/zero >"$W/tree/big"
	standing
	# 200 answers of 128 KiB that nobody reads.
	python3 - "$bridge" <<-'PYTHON' >"$W/requests"
		for i in range(200):
		    print('{"id":"%d","op":"file.read","sandbox":"s-42","args":{"path":"big","offset":%d}}' % (i, i))
	PYTHON
	timeout 250 "$FIXTURES/talk" "$bridge" line send "$(head -n 35 "$W/requests")"'\n' wait "$W/go" >/dev/null 3>&- &
	local flood=$!
	# The host is asked something else meanwhile, and answers.
	talk line send "$(ping 1)" expect "$(pong 1)"
	assert_success
	run awk '/VmHWM/ { print $2 }' "/proc/$STARTED/status"
	assert [ "$output" -lt 32768 ]
	echo >"$W/go"
	wait "$flood"
}

@test "without an enrolled guest, or without its key, nothing is opened" {
	standing
	local key
	key=$W/state/records/guest-keys/$(jq -r .guest.id "$W/record")
	chmod 644 "$key"
	refused evidence-unavailable
	rm "$key"
	refused evidence-unavailable
	spaceid retire --sandbox s-42 --execution 7
	jq -c 'del(.guest) | .route.execution = 8' "$W/record" | spaceid install
	refused evidence-unavailable
}

@test "a guest that was never given this key is another guest" {
	standing
	stop agent
	start agent spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 42
	refused_by_guest 'seen the guest says: this guest has no key yet'
}

@test "a resumed guest that still has its predecessor's key is another guest" {
	start agent spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 42 --key "$W/agent.key"
	standing
	cp "$W/agent.key" "$W/snapshot.key"
	install '.execution = 8'
	talk line send "$(ping 1)" expect "$(pong 1)"
	assert_success
	: >"$log"
	stop agent
	cp "$W/snapshot.key" "$W/agent.key"
	start agent spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 42 --key "$W/agent.key"
	refused_by_guest 'not one of the enrolled key'
}

@test "a guest with another CID, and a VMM that tells another port, are found out by the proof" {
	start agent spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 42 --key "$W/agent.key"
	standing
	stop agent
	start agent spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 43 --key "$W/agent.key"
	refused_by_guest 'not one of the enrolled key'
	stop agent
	start agent spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 42 --key "$W/agent.key"
	stop vmm
	start_vmm --misbehave other-number
	spacebridge attest --enroll --vmm-pid "$VMM" --vsock "$uds" --cid 42 |
		jq -c --slurpfile was "$W/record" '$was[0] + . | .route.attempt = 2' | spaceid install
	refused_by_guest 'not one of the enrolled key'
}

@test "a guest that replays a hello it saw is found out" {
	standing
	stop agent
	mkfifo "$W/ready"
	# It knows one good answer, to another nonce on another connection.
	python3 - "$W/agent.sock" "$W/ready" 3>&- <<-'PYTHON' &
		import os, socket, sys
		os.unlink(sys.argv[1]) if os.path.exists(sys.argv[1]) else None
		s = socket.socket(socket.AF_UNIX)
		s.bind(sys.argv[1])
		s.listen()
		open(sys.argv[2], "w").write("\n")
		c, _ = s.accept()
		c.makefile("rb").readline()
		c.sendall(b'{"guest":"hello","mac":"vsxqiF3XX57wR3nkS4x1eJTDcWX1tofzSH1NRLDrGZc"}\n')
		c.recv(1)
	PYTHON
	local replayer=$!
	read -r <"$W/ready"
	refused_by_guest 'not one of the enrolled key'
	wait "$replayer"
}

# hears FILE [STEP]: the guest's agent is one that hears a line, keeps it in FILE, and then does nothing more, or ends.
hears() {
	mkfifo "$W/ready"
	python3 - "$W/agent.sock" "$W/ready" "$@" 3>&- <<-'PYTHON' &
		import os, socket, sys
		path, ready, heard = sys.argv[1:4]
		if os.path.exists(path):
		    os.unlink(path)
		s = socket.socket(socket.AF_UNIX)
		s.bind(path)
		s.listen()
		open(ready, "w").write("\n")
		c, _ = s.accept()
		open(heard, "wb").write(c.makefile("rb").readline())
		if sys.argv[4:] != ["end"]:
		    c.recv(1)
	PYTHON
	hearer=$!
	from "$W/ready"
	rm "$W/ready"
}

@test "a guest that hears the hello and goes is transport; one that says nothing is a timeout" {
	standing
	stop agent
	hears "$W/heard" end
	talk all
	wait "$hearer"
	assert_json '.error == "transport" and (.message | test("behind OK"))'
	assert_equal "$(jq -r .guest "$W/heard")" hello
	sed -i 's/^connect_timeout_ms.*/connect_timeout_ms = 1500/' "$W/space.ini"
	stop host
	start_host
	hears "$W/heard"
	talk all
	wait "$hearer"
	assert_json '.error == "timeout" and (.message | test("say hello"))'
	assert_equal "$(jq -r .guest "$W/heard")" hello
}

@test "once retire has returned, not one byte more of what was open is moved" {
	as_python
	standing
	mkfifo "$W/open"
	# Sends and receives as fast as it can; what it sends after the change is marked.
	python3 - "$bridge" "$W/open" "$W/changed" >"$W/flood.out" 2>&1 3>&- <<-'PYTHON' &
		import os, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(60)
		s.connect(sys.argv[1])
		greeting = b""
		while not greeting.endswith(b"\n"):
		    greeting += s.recv(1)
		assert b"ready" in greeting, greeting
		rounds = 0
		try:
		    while True:
		        after = os.path.exists(sys.argv[3])
		        s.sendall(b'{"id":"%s","op":"ping","sandbox":"s-42","args":{}}\n' % (b"after" if after else b"before"))
		        if not s.recv(65536):
		            break
		        rounds += 1
		        if rounds == 100:
		            open(sys.argv[2], "w").write("\n")
		except OSError:
		    pass
		print(rounds)
	PYTHON
	local flood=$!
	read -r <"$W/open"
	spaceid retire --sandbox s-42 --execution 7
	touch "$W/changed"
	wait "$flood"
	assert [ "$(cat "$W/flood.out")" -ge 100 ]
	run grep -c after "$log"
	assert_output 0
	audited '.op == "cut" and .decision == "refresh-route" and .reason == "retired" and .epoch == 1'
}

@test "a newer execution, or another attempt, ends what is open" {
	standing
	hold end
	install '.attempt = 2'
	released
	audited '.op == "cut" and .reason == "attempt" and .epoch == 1'
	rm "$W/open" "$W/go"
	hold end
	install '.execution = 8'
	released
	audited '.op == "cut" and .reason == "execution" and .epoch == 2'
}

@test "a handoff and a fence leave what is open; a fence that cuts ends it" {
	ROUTE=$(jq -c '.substrate = "kubernetes" | .pod_uid = "0b9f0000-0000-4000-8000-000000000000"' <<<"$ROUTE")
	standing
	hold wait "$W/go" send "$(ping 2)" expect "$(pong 2)" go "$W/open" end
	spaceid handoff --sandbox s-42 --from op-1 --owner op-2
	spaceid fence --sandbox s-42
	echo >"$W/go"
	read -r <"$W/open"
	spaceid fence --sandbox s-42 --cut
	released
	audited '.op == "cut" and .reason == "fenced"'
}

@test "the end of the VMM, or of the guest's agent, is the manager's end" {
	standing
	hold end
	stop vmm KILL
	released
	rm "$W/open" "$W/go"
	start_vmm
	install '.execution = 8'
	hold end
	stop agent KILL
	released
}

@test "a manager that ends its direction has ended the connection" {
	standing
	talk line send "$(ping 1)" expect "$(pong 1)" shut end
	assert_success
}

@test "connection 1024 is overloaded, at once" {
	configure "manager_exe = $FIXTURES/crowd"
	sed -i '/talk$/d' "$W/space.ini"
	standing
	run timeout 120 "$FIXTURES/crowd" "$bridge" 1023 '' '{"bridge":"ready",'
	assert_success
	assert_output '1023 answered, one more: answered'
	run jq -sc 'map(.error // .decision) | group_by(.) | map([.[0], length])' "$AUDIT"
	assert_output '[["match",1023],["overloaded",1]]'
}

@test "thousands of connections leave no descriptor and no memory behind" {
	as_python
	standing
	run python3 - "$bridge" "$STARTED" <<-'PYTHON'
		import os, socket, sys, time
		def once():
		    s = socket.socket(socket.AF_UNIX)
		    s.settimeout(60)
		    s.connect(sys.argv[1])
		    assert b'"ready"' in s.recv(4096)
		    return s
		def files():
		    return len(os.listdir(f"/proc/{sys.argv[2]}/fd"))
		def memory():
		    return int(next(l.split()[1] for l in open(f"/proc/{sys.argv[2]}/status") if l.startswith("VmRSS")))
		# With one connection open. What was closed before it, the host may see a moment later; a few sockets for
		# asking the kernel come and go.
		def settled(count):
		    held = once()
		    deadline = time.monotonic() + 60
		    while files() > count + 16 and time.monotonic() < deadline:
		        time.sleep(0.001)
		    return files() <= count + 16
		first = once()
		open_files = files()
		first.close()
		for _ in range(500):
		    once().close()
		assert settled(open_files)
		before = memory()
		for _ in range(3000):
		    once().close()
		assert settled(open_files)
		assert memory() - before < 1024, (before, memory())
	PYTHON
	assert_success
}

@test "SIGTERM ends every connection, takes the socket away, and ends with 0" {
	start_vmm
	install
	start host bash -c 'spacebridge host s-42 --audit "$1" & echo $! >"$2"; wait $!; echo $? >"$2"' - "$AUDIT" "$W/code"
	eventually test -s "$W/code"
	hold end
	kill -TERM "$(cat "$W/code")"
	released
	await_end "$STARTED"
	assert_equal "$(cat "$W/code")" 0
	assert_not_exist "$bridge"
}

@test "SIGHUP opens the audit file anew" {
	standing
	talk line
	mv "$AUDIT" "$AUDIT.1"
	kill -HUP "$STARTED"
	eventually test -e "$AUDIT"
	talk line
	assert_equal "$(jq -c .decision "$AUDIT" "$AUDIT.1" | uniq -c | tr -s ' ')" ' 2 "match"'
}

@test "another configuration counts from the next connection on; one that is wrong changes nothing" {
	standing
	hold wait "$W/go" send "$(ping 2)" expect "$(pong 2)"
	echo 'manager_uid = 4242' >>"$W/space.ini"
	eventually greeted peer-credentials
	echo >"$W/go"
	released
	echo 'manager_uid = nobody' >>"$W/space.ini"
	kill -HUP "$STARTED"
	eventually grep -q 'reload failed' "$BATS_TEST_TMPDIR/host.err"
	: >"$log"
	refused peer-credentials
	sed -i '/manager_uid/d' "$W/space.ini"
	eventually greeted ready
}

@test "what it cannot serve is said, with the exit code of its kind" {
	run spacebridge host
	assert_failure 2
	run spacebridge host --sandbox ../s
	assert_failure 2
	assert_line --index 0 'spacebridge: host: `../s` is no sandbox'"'"'s id'
	run spacebridge host s-42 --sandbox s-42
	assert_failure 2
	run spacebridge host --sandbox s-42 -c "$W/none.ini"
	assert_failure 2
	run spacebridge host --sandbox s-42 --listen "$W/none/at/all.sock"
	assert_failure 1
	run spacebridge host --sandbox s-42 --audit "$W"
	assert_failure 1
	start_host
	run spacebridge host --sandbox s-42
	assert_failure 1
}
