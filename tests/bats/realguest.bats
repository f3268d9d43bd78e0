# The whole path to a real Linux guest: QEMU without KVM, with the vsock device that the stand-in for a VMM plays. One
# guest is booted; its snapshot, of before it had a key, is what each test's own guest starts from, and the one that the
# tests which do it no harm share.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2154
load helper
load path
# shellcheck source=tests/guest/machine.bash disable=SC1091
source "$BATS_TEST_DIRNAME/../guest/machine.bash"

setup_file() {
	export WORLD=$BATS_FILE_TMPDIR SERVERS=$BATS_FILE_TMPDIR MACHINE_PARTS MISSING=''

	MACHINE_PARTS=$("$ROOT/tests/guest/build" 2>"$WORLD/missing") || {
		[ $? -eq 4 ] || fail "$(cat "$WORLD/missing")"
		MISSING=$(tail -n 1 "$WORLD/missing")
		return 0
	}
	world_make
	# For a worker that a test adds.
	export WORLD_LEVEL WORLD_ROOT
	world_vmm fresh
	machine_snapshot fresh "$WORLD/fresh.snapshot"
	guest one s-42
}

setup() {
	[ -z "$MISSING" ] || skip_or_fail "${MISSING#guest: missing: }"
	export SPACE_CONFIG=$WORLD/control.ini
	WORLD_VMMS=$((10 * BATS_TEST_NUMBER))
	GUESTS=()
	uds=$WORLD/vmm-one.sock
}

# The memory of its guests is not needed for longer than a test.
teardown() {
	local name

	for name in "${GUESTS[@]}"; do
		[ ! -e "$WORLD/machine-$name.pid" ] || machine_off "$name"
	done
}

teardown_file() {
	world_end
	stop_all
}

# guest NAME SANDBOX: a guest of its own, which serves it as execution 7 on worker-a.
guest() {
	restored "$1" fresh
	world_activate "$2" 7 a "$1" >/dev/null
}

# restored NAME SNAPSHOT: a VMM with a guest that starts from it.
restored() {
	GUESTS+=("$1")
	machine_vmm "$1" --log "$WORLD/$1.passed"
	machine_restore "$1" "$WORLD/$2.snapshot"
}

talk() { run "$FIXTURES/talk" "$uds" "$@"; }

# ask OP [ARGS] [SANDBOX] [ID]: an asked record.
ask() {
	printf '{"id":"%s","op":"%s","sandbox":"%s","args":%s}\n' "${4:-r1}" "$1" "${3:-s-42}" "${2:-{\}}"
}

# does OP ARGS RESULT-FILTER [SANDBOX]: it is ok, with such a result.
does() {
	run -0 node-api < <(ask "$1" "$2" "${4:-s-42}")
	assert_json ".status == \"ok\" and (.result | $3)"
}

# refused REASON: the last answer, by the bridge.
refused() {
	assert_json --arg reason "$1" \
		'. == {id:"r1", status:"refused", decision:"deny", reason:$reason, hop:"spaced-host"}'
}

# gather PATH COUNT: listens there for the guest from now on, and gives each caller its line back once so many have
# called. gathered: they have.
gather() {
	mkfifo "$BATS_TEST_TMPDIR/gathered"
	python3 - "$1" "$2" >"$BATS_TEST_TMPDIR/gathered" 3>&- <<-'END' &
		import socket, sys
		listener = socket.socket(socket.AF_UNIX)
		listener.settimeout(120)
		listener.bind(sys.argv[1])
		listener.listen(64)
		print("listens", flush=True)
		callers = [listener.accept()[0] for _ in range(int(sys.argv[2]))]
		print("gathered", flush=True)
		for one in callers:
		    one.sendall(one.recv(64))
	END
	exec 4<"$BATS_TEST_TMPDIR/gathered"
	gathered
}
gathered() { read -r -t 120 -u 4; }

# begun NAME SANDBOX [COMMAND]: a command in this guest that does not end, asked for in the background; it has begun.
begun() {
	gather "$WORLD/vmm-$1.sock_77" 1
	ask exec.run "{\"argv\":[\"sh\",\"-c\",\"echo | vsock call 77; ${3:-sleep 1000}\"],\"timeout_ms\":300000}" "$2" |
		node-api >"$BATS_TEST_TMPDIR/answer" 3>&- &
	asking=$!
	gathered
}

# cut_off: the answer to it is that the way to the guest broke after it was sent.
cut_off() {
	wait "$asking" || true
	output=$(cat "$BATS_TEST_TMPDIR/answer")
	assert_json '.status == "error" and .error == "transport" and .sent == true and .id == "r1"'
}

# record SANDBOX WORKER [FILTER]: what is installed there, to be installed again.
record() {
	spaceid show -c "$WORLD/$2.ini" "$1" -o json | jq -c "{sandbox, route, owner, bridge, vmm, guest} | ${3:-.}"
}

# install WORKER: the record on standard input, published too.
install() {
	local line
	line=$(cat)
	spaceid install -c "$WORLD/$1.ini" <<<"$line" >/dev/null
	jq -c --arg endpoint "unix:$WORLD/$1/run/manager.sock" '{sandbox, route, endpoint: $endpoint}' <<<"$line" |
		spacerouted publish >/dev/null
	spacerouted cache drop --all >/dev/null
}

# key_of SANDBOX WORKER: the file with its guest's key.
key_of() {
	echo "$WORLD/$2/records/guest-keys/$(record "$1" "$2" | jq -r .guest.id)"
}

@test "the agent for guests needs no shared library and nothing of NSS, and is smaller than two mebibytes" {
	local agent=${SPACE_BIN:-$ROOT/build/bin}/spaced-guest-static
	run ldd "$agent"
	refute_output --partial '=>'
	run nm "$agent"
	assert_success
	refute_line --regexp ' [TtW] (getpw|getgr(nam|gid|ent)|getaddrinfo|gethostby|getserv|nss_)'
	strip -o "$BATS_TEST_TMPDIR/agent" "$agent"
	[ "$(stat -c %s "$BATS_TEST_TMPDIR/agent")" -lt $((2 * 1024 * 1024)) ]
}

@test "CONNECT to the agent's port is answered with a host port from 2^30 on, each a new one" {
	talk send 'CONNECT 5005\n' expect 'OK ' line
	assert_success
	first=$output
	[ "$first" -ge 1073741824 ]
	talk send 'CONNECT 5005\n' expect 'OK ' line
	assert_output $((first + 1))
}

@test "a port that nobody in the guest listens on is dropped without an answer" {
	talk send 'CONNECT 5006\n' end
	assert_success
}

@test "four mebibytes go through in both directions at once" {
	talk send 'CONNECT 7\n' expect 'OK ' line mirror 4194304
	assert_success
}

@test "a half-close of the host ends both directions; one of the guest is not told, its end is" {
	talk send 'CONNECT 7\n' expect 'OK ' line send hello expect hello shut end
	assert_success
	talk send 'CONNECT 8\n' expect 'OK ' line expect 'bye\n' silence send more silence send quit end
	assert_success
}

@test "connection 1024 is accepted and dropped" {
	run "$FIXTURES/crowd" "$uds" 1023 'CONNECT 5005\n' 'OK '
	assert_success
	assert_output "1023 answered, one more: dropped"
}

@test "a guest reaches who listens at the VSOCK path and its port, and nobody else" {
	start callee "$FIXTURES/echo" "${uds}_78"
	does exec.run '{"argv":["vsock","call","78"],"text":"from inside\n"}' '.exit == 0 and .stdout.text == "from inside\n"'
	does exec.run '{"argv":["vsock","call","79"],"text":"from inside\n"}' \
		'.exit == 1 and .stderr.text == "vsock: call: Connection reset by peer\n"'
}

@test "files and commands are the guest's own" {
	does exec.run '{"argv":["uname","-r"]}' '.exit == 0 and (.stdout.text | test("-cloud-amd64\n$"))'
	[ "$(jq -r .result.stdout.text <<<"$output")" != "$(uname -r)" ]
	does file.mkdir '{"path":"/tmp/d"}' '. == {}'
	does file.write '{"path":"/tmp/d/f","text":"kept","mode":384}' '.size == 4'
	does file.read '{"path":"/tmp/d/f"}' '.text == "kept"'
	does file.stat '{"path":"/tmp/d/f"}' '.size == 4 and .type == "file"'
	does file.rename '{"from":"/tmp/d/f","to":"/tmp/d/g"}' '. == {}'
	does file.list '{"path":"/tmp/d"}' '[.entries[].name] == ["g"]'
	does file.remove '{"path":"/tmp/d","recursive":true}' '. == {}'
	does exec.run '{"argv":["ls","/tmp/d"]}' '.exit == 1'
}

@test "the hello is of the CID that the guest's kernel has, and of the number in OK" {
	cid=$(curl -sS --unix-socket "$WORLD/api-one.sock" http://localhost/vm/config | jq .vsock.guest_cid)
	does exec.run '{"argv":["vsock","cid"]}' ".stdout.text == \"$cid\n\""
	run -0 spacebridge attest -c "$WORLD/a.ini" --sandbox s-42 --connect -o json
	assert_json '.decision == "match" and (.checks | map(select(.name == "guest-hello")) | length == 1 and .[0].ok)'
}

@test "a record of another CID is no record of this guest" {
	guest cid s-cid
	record s-cid a '.vmm.cid += 1 | .vmm |= del(.api) | .route.attempt = 2' | install a
	: >"$WORLD/cid.passed"
	run -11 node-api < <(ask ping '{}' s-cid)
	refused guest-identity
	run -1 grep -c '"op"' "$WORLD/cid.passed"
}

@test "bytes travel unchanged, as many as a record holds" {
	head -c 120000 /dev/urandom >"$BATS_TEST_TMPDIR/bytes"
	does file.write "{\"path\":\"/tmp/bytes\",\"data\":\"$(base64 -w0 <"$BATS_TEST_TMPDIR/bytes")\"}" '.size == 120000'
	does file.read '{"path":"/tmp/bytes"}' '.size == 120000'
	jq -r .result.data <<<"$output" | base64 -d | cmp - "$BATS_TEST_TMPDIR/bytes"
}

@test "fifty commands run at once, each with its own answer" {
	# Each asks the host for its line, who answers when all fifty have.
	gather "${uds}_80" 50
	for ((i = 0; i < 50; i++)); do
		ask exec.run "{\"argv\":[\"vsock\",\"call\",\"80\"],\"text\":\"r$i\\n\"}" s-42 "r$i"
	done >"$BATS_TEST_TMPDIR/asked"
	run -0 node-api --window 50 <"$BATS_TEST_TMPDIR/asked"
	assert_json -s 'map(.id + "\n" == .result.stdout.text) | [length, all] == [50, true]'
}

@test "a guest behind another sandbox's VMM is refused before a byte of the operation" {
	guest left s-left
	guest right s-right
	vmm=$(record s-right a .vmm)
	record s-left a ".vmm = $vmm | .route.attempt = 2" | install a
	: >"$WORLD/right.passed"
	run -11 node-api < <(ask file.read '{"path":"/etc/hostname"}' s-left)
	refused guest-identity
	run -1 grep -c '"op"' "$WORLD/right.passed"
	does ping '{}' '. == {}' s-right
}

@test "a restored guest is refused until it is rekeyed under its predecessor's key, and has what was written before" {
	guest before s-res
	does file.write '{"path":"/note","text":"kept"}' '.size == 4' s-res
	sandbox resume s-res --prepare --from-config "$WORLD/a.ini" >/dev/null
	cp "$(key_of s-res a)" "$BATS_TEST_TMPDIR/key"
	machine_snapshot before "$WORLD/before.snapshot"
	restored after before
	# It is who its predecessor was, and nobody else yet.
	spacebridge attest -c "$WORLD/a.ini" --enroll --vmm-pid "$(cat "$WORLD/vmm-after.pid")" --vsock "$WORLD/vmm-after.sock" \
		--api "$WORLD/api-after.sock" -o json >"$BATS_TEST_TMPDIR/evidence"
	record s-res a ".vmm = $(jq -c .vmm "$BATS_TEST_TMPDIR/evidence") | .route.attempt = 2" | install a
	run spacebridge attest -c "$WORLD/a.ini" --sandbox s-res --connect -o json
	assert_json '.checks | map(select(.name == "guest-hello"))[0].ok'
	# A worker without that key does not become its master.
	run -11 world_resume s-res 8 b after --from-lost
	assert_output --partial 'this guest has a key already: a rekey must prove it'
	world_resume s-res 8 b after --from-lost --guest-key "$BATS_TEST_TMPDIR/key" >/dev/null
	does file.read '{"path":"/note"}' '.text == "kept"' s-res
}

@test "two restores of one snapshot never pass for each other" {
	guest parent s-two
	sandbox resume s-two --prepare --from-config "$WORLD/a.ini" >/dev/null
	cp "$(key_of s-two a)" "$BATS_TEST_TMPDIR/key"
	machine_snapshot parent "$WORLD/parent.snapshot"
	restored twin parent
	world_resume s-two 8 b twin --from-lost --guest-key "$BATS_TEST_TMPDIR/key" >/dev/null
	does ping '{}' '. == {}' s-two
	# The second one, behind the very VMM that was enrolled for the first.
	machine_off twin
	machine_restore twin "$WORLD/parent.snapshot"
	: >"$WORLD/twin.passed"
	run -11 node-api < <(ask file.read '{"path":"/etc/hostname"}' s-two)
	refused guest-identity
	run -1 grep -c '"op"' "$WORLD/twin.passed"
	# And once it is somebody itself: an execution of another worker.
	world_config c
	record s-two b '.route.execution = 9 | .route.worker = "worker-c" | {sandbox, route, owner}' |
		spacebridge attest -c "$WORLD/c.ini" --enroll --vmm-pid "$(cat "$WORLD/vmm-twin.pid")" \
			--vsock "$WORLD/vmm-twin.sock" --api "$WORLD/api-twin.sock" --guest-key "$BATS_TEST_TMPDIR/key" --record - |
		is_json .guest.id
	run -11 node-api < <(ask file.read '{"path":"/etc/hostname"}' s-two)
	refused guest-identity
	run -1 grep -c '"op"' "$WORLD/twin.passed"
}

@test "a guest that was booted anew takes a key once" {
	guest again s-boot
	machine_off again
	machine_boot again
	machine_await again
	run -11 node-api < <(ask ping '{}' s-boot)
	refused guest-identity
	world_activate s-boot 7 a again --attempt 2 >/dev/null
	does ping '{}' '. == {}' s-boot
	run -11 world_resume s-boot 8 b again --from-lost
	assert_output --partial 'this guest has a key already: a rekey must prove it'
	does ping '{}' '. == {}' s-boot
}

@test "a kernel panic in the middle of a command is a broken transport after it was sent" {
	guest panics s-panic
	begun panics s-panic 'echo c >/proc/sysrq-trigger'
	cut_off
	run -1 node-api < <(ask ping '{}' s-panic)
	assert_json '.error == "transport" and .sent == false'
}

@test "a VMM that is killed in the middle of a command is a broken transport, then a refusal" {
	guest killed s-kill
	begun killed s-kill
	kill -KILL "$(cat "$WORLD/vmm-killed.pid")"
	cut_off
	run -11 node-api < <(ask ping '{}' s-kill)
	refused listener-replaced
}
