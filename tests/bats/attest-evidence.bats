# spacebridge attest --evidence and --check: what was judged, taken away and judged again elsewhere (04-bridge, attest).
# shellcheck shell=bats disable=SC2016,SC2119,SC2120,SC2154
load helper
load attest

# One world for the tests that leave it as it is; who changes something in it sets up one of its own: attest_world.
setup_file() {
	local BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	attest_world
	installed
	export world level uds bridge_pid vmm_pid
}
teardown_file() {
	local BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	stop_all
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export SPACE_CONFIG=$world/space.ini
}
teardown() { stop_all; }

# take ARGS: judges s-42 and takes everything away into e.tar. unpack: it lies in e/ then.
take() { judged --evidence e.tar "$@"; }
unpack() {
	mkdir e
	tar xf e.tar -C e
}

# check_tar FILE: the verdict in $output, on a machine that has neither configuration nor records.
check_tar() { SPACE_CONFIG=$ROOT/tests/fixtures/empty.ini run --separate-stderr spacebridge attest --check "$1"; }

# tampered MEMBER FILTER: the archive with one member changed by a jq filter, judged.
tampered() {
	local was changed
	was=$(<"e/$1")
	changed=$(jq -c "$2" "e/$1")
	echo "$changed" >"e/$1"
	(cd e && tar cf ../t.tar -- *.json */*)
	echo "$was" >"e/$1"
	check_tar t.tar
}

# refused WORDS: the archive was bad.
refused() {
	assert_equal "$status" 3
	assert_output ''
	assert_equal "$stderr" "spacebridge: attest: $1"
}

@test "evidence is a new file of our own eyes only, with everything in it and the answer as without it" {
	take
	matched
	local answer=$output
	assert_equal "$(stat -c %a e.tar)" 600
	run tar tf e.tar
	assert_output 'manifest.json
report.json
record.json
bridge/seen.json
bridge/stat
bridge/status
bridge/cgroup
bridge/descriptors
vmm/seen.json
vmm/stat
vmm/status
vmm/cgroup
vmm/descriptors'
	unpack
	assert_equal "$(cat e/report.json)" "$answer"
	assert_equal "$(cat e/record.json)" "$(spaceid show -o json s-42)"
	assert_equal "$(cat e/vmm/cgroup)" "$(cat "/proc/$vmm_pid/cgroup")"
	output=$(cat e/manifest.json)
	assert_json --arg boot "$(cat /proc/sys/kernel/random/boot_id)" --arg kernel "$(uname -r)" --arg level "$level" '
		.v == 1 and .of == "sandbox" and .sandbox == "s-42" and .boot_id == $boot and .kernel == $kernel
		and .level == $level and .min_level == $level and (.facilities | length) == 7 and (.made_at | fromdate) > 0'
	output=$(cat e/vmm/seen.json)
	assert_json --argjson pid "$vmm_pid" --arg ino "$(stat -c %i "$uds")" \
		--arg hash "$(b2sum -l 256 "$FIXTURES/vmm" | cut -d ' ' -f 1)" '
		.process.pid == $pid and .file.kind == "socket" and .file.ino == $ino and .executable_bytes.blake2b == $hash
		and .listener.socket.state == "listening" and .listener.socket.has_file and (has("connection") | not)'
	run grep -c "socket:\[$(jq .listener.socket.inode e/vmm/seen.json)\]" e/vmm/descriptors
	assert_output 1
}

@test "no key, no environment and no command line is taken away" {
	attest_world
	stop agent
	start agent spacebridge guest --listen "unix:$world/agent.sock" --root "$world" --cid 42
	echo "{\"sandbox\":\"s-42\",\"route\":$ROUTE,\"owner\":\"op\"}" | enroll --record - | spaceid install >/dev/null
	take --connect
	matched
	assert_json '[.checks[] | select(.name == "guest-hello") | .ok] == [true]'
	hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
	local key
	key=$(hex "records/guest-keys/$(spaceid show -o json s-42 | jq -r .guest.id)")
	[ "${#key}" -ge 64 ] || fail "no key: $key"
	run grep -c "$key" <(hex e.tar)
	assert_output 0
	run grep -caE 'PATH=|--log' e.tar
	assert_output 0
}

@test "what was taken is judged elsewhere by the same checks, without those of the moment" {
	attest_world
	installed
	take
	local here
	here=$(jq -c '[.checks[] | select(.name | test("alive|image|cid|uds|connect|peer") | not) | [.name, .expected, .seen]] | unique' <<<"$output")
	stop bridge
	stop vmm
	check_tar e.tar
	matched
	assert_json --argjson here "$here" '([.checks[] | select(.name != "report") | [.name, .expected, .seen]] - $here) == []'
	assert_json '[.checks[].name] == ["bridge-level","bridge-path","bridge-boot","bridge-process","bridge-start",
		"bridge-namespaces","bridge-tracer","bridge-executable","bridge-listener","vmm-level","vmm-path","vmm-boot",
		"vmm-process","vmm-start","vmm-namespaces","vmm-tracer","vmm-executable","vmm-listener","report"]'
	assert_json --slurpfile m <(tar xOf e.tar manifest.json) '.made_at == $m[0].made_at and .host == $m[0].host
		and (.not_judged | contains(["bridge-alive","bridge-image","vmm-alive","vmm-image","vmm-cid","vmm-uds-path"]))'
}

@test "with connections their facts are judged again too, but no answer" {
	take --connect
	check_tar e.tar
	matched
	assert_json '[.checks[].name] | contains(["bridge-peer-credentials","bridge-peer-process","bridge-peer-socket",
		"bridge-peer-held","vmm-peer-socket","vmm-peer-held"])'
	assert_json '.not_judged | contains(["bridge-greeting","bridge-onward","vmm-answer"])'
	unpack
	tampered vmm/seen.json '.peer_socket.socket.file_ino += 1'
	denied vmm-peer-socket listener-replaced
	tampered vmm/seen.json '.held = {error:"ENOENT"}'
	denied vmm-peer-held listener-owner
	tampered bridge/seen.json '.credentials.pid += 1'
	denied bridge-peer-credentials peer-credentials
}

@test "a denial is taken away with its reason, and judged the same elsewhere" {
	attest_world
	installed
	mv "$bridge" moved
	ln -s moved "$bridge"
	take
	denied bridge-path listener-replaced
	check_tar e.tar
	denied bridge-path listener-replaced
	rm e.tar
	stop vmm
	take
	assert_equal "$status" 11
	check_tar e.tar
	assert_equal "$status" 11
	unpack
	output=$(cat e/vmm/seen.json)
	assert_json '.process == {error:"ESRCH"} and .start == {error:"ESRCH"} and .listener == {error:"ESRCH"}'
	assert_file_not_exist e/vmm/stat
}

@test "a record that was changed fails at its own check with its own reason" {
	take
	unpack
	local filter check reason
	while IFS=' ' read -r check reason filter; do
		tampered record.json "$filter"
		echo "with $filter:"
		denied "$check" "$reason"
	done <<-END
		bridge-process bridge-process .bridge.pid += 1
		bridge-boot bridge-process .bridge.boot_id = "00000000-0000-4000-8000-000000000000"
		bridge-start bridge-process .bridge.start_time = "1"
		bridge-start bridge-process .bridge.start_stack = "1"
		bridge-namespaces bridge-process .bridge.namespaces.net += 1
		bridge-executable bridge-executable .bridge.executable.ino = "1"
		bridge-executable bridge-executable .bridge.executable.mtime = "1.000000000" | .bridge.executable.blake2b |= ascii_downcase[1:] + "0"
		bridge-path listener-replaced .bridge.listener.ino = "1"
		bridge-listener listener-owner .bridge.listener.cookie = "1"
		bridge-evidence evidence-unavailable del(.bridge)
		vmm-process vmm-process .vmm.pid += 1
		vmm-executable vmm-executable .vmm.executable.size += 1
		vmm-listener listener-owner .vmm.listener.socket += 1
		vmm-evidence evidence-unavailable .vmm.cid = 2
	END
	# Only the times moved: the bytes decide, and they are the same.
	tampered record.json '.bridge.executable.mtime = "1.000000000"'
	matched
	jq -c '.bridge.pidfs = "1"' e/record.json >pidfs.json
	cp pidfs.json e/record.json
	tampered record.json .
	[ "$level" != full ] || denied bridge-process bridge-process
}

@test "what was seen, the kernel's stat and the level are judged, not only told" {
	take
	unpack
	tampered bridge/seen.json '.tracer.pid = 1'
	denied bridge-tracer bridge-process
	tampered bridge/seen.json '.executable = {error:"EACCES"}'
	denied bridge-executable evidence-unavailable
	tampered vmm/seen.json '.file.kind = "symlink"'
	denied vmm-path listener-replaced
	tampered manifest.json '.level = "none"'
	denied bridge-level evidence-unavailable
	tampered manifest.json 'del(.boot_id)'
	denied bridge-boot evidence-unavailable
	sed -i 's/ (vmm) / (spaced ) (host) /' e/vmm/stat
	tampered manifest.json .
	matched
	awk '{ $24++; print }' e/vmm/stat >stat
	mv stat e/vmm/stat
	tampered manifest.json .
	denied vmm-start vmm-process
}

@test "a report that said no is never made a yes" {
	take
	unpack
	tampered report.json '.decision = "deny" | .reason = "guest-identity" |
		.checks += [{name:"guest-hello",ok:false,expected:"the proof",seen:"\u001b[31manother"}]'
	denied report guest-identity
	assert_json '.checks[-1].seen == "deny guest-identity: guest-hello: expected the proof, seen ?[31manother"'
	# And one that said yes makes none.
	jq -c '.bridge.pid += 1' e/record.json >changed
	mv changed e/record.json
	tampered report.json .
	denied bridge-process bridge-process
}

@test "an absent record and a retired one are taken away as what they are" {
	attest_world
	installed
	run --separate-stderr spacebridge attest --sandbox s-43 --evidence absent.tar
	assert_failure 10
	run tar tf absent.tar
	assert_output 'manifest.json
report.json'
	check_tar absent.tar
	assert_equal "$status" 10
	assert_json '.decision == "refresh-route" and .reason == "absent"'
	spaceid retire --sandbox s-42 --execution 7 >/dev/null
	take
	assert_equal "$status" 10
	check_tar e.tar
	assert_equal "$status" 10
	assert_json '.decision == "refresh-route" and .reason == "retired" and .checks == []'
}

@test "one process is taken away too, and nobody can say what it should have been" {
	run --separate-stderr spacebridge attest --pid "$vmm_pid" --vsock "$uds" --evidence p.tar
	assert_success
	assert_json --argjson pid "$vmm_pid" '.evidence.pid == $pid'
	run --separate-stderr tar xOf p.tar evidence.json
	assert_json --argjson pid "$vmm_pid" '.pid == $pid'
	run --separate-stderr tar xOf p.tar process/seen.json
	assert_json '.listener.socket.state == "listening" and .file.kind == "socket"'
	check_tar p.tar
	denied record evidence-unavailable
	run --separate-stderr spacebridge attest --pid "$vmm_pid" --evidence q.tar
	assert_success
	run --separate-stderr tar xOf q.tar process/seen.json
	assert_json '.listener == {error:"ENOENT"} and .file == {error:"ENOENT"} and .start == {}'
	check_tar q.tar
	denied record evidence-unavailable
}

@test "what was seen of a process that ended meanwhile counts for nothing" {
	start sleeper "$FIXTURES/echo" sleeper.sock
	# Of the looks at an mm pin (two probes, two at enrolling, two at capturing) the last is stopped.
	stop_point image 6
	"${STOP[@]}" spacebridge attest --pid "$STARTED" --evidence p.tar >/dev/null 3>&- &
	taking=$!
	await_stop
	stop sleeper KILL
	go_on
	wait "$taking"
	run -0 --separate-stderr tar xOf p.tar process/stat
	assert_regex "$output" "^$STARTED \(echo\) "
	run -0 --separate-stderr tar xOf p.tar process/seen.json
	assert_json '.process == {error:"ESRCH"} and .start == {error:"ESRCH"} and .executable == {error:"ESRCH"}'
}

@test "evidence is never written over something, nor left half done" {
	echo mine >e.tar
	take
	assert_equal "$status" 1
	assert_output ''
	assert_equal "$stderr" 'spacebridge: attest: e.tar: File exists'
	assert_equal "$(cat e.tar)" mine
	ln -s nowhere link.tar
	judged --evidence link.tar
	assert_equal "$status" 1
	assert_file_not_exist nowhere
	judged --evidence /dev/full
	assert_equal "$status" 1
	assert_equal "$stderr" 'spacebridge: attest: /dev/full: File exists'
	judged --evidence nowhere/e.tar
	assert_equal "$status" 1
	assert_output ''
	# A limit of the file's size is a disk that is full after 4 KiB.
	run --separate-stderr bash -c 'trap "" XFSZ; ulimit -f 4; exec spacebridge attest --sandbox s-42 --evidence big.tar'
	assert_equal "$status" 1
	assert_output ''
	assert_equal "$stderr" 'spacebridge: attest: big.tar: File too large'
	run bash -c 'echo big.tar*'
	assert_output 'big.tar*'
}

@test "an answer that cannot be written is told once, and what was taken stays" {
	local args
	for args in '--sandbox s-42 --evidence one.tar' '--check one.tar' "--pid $vmm_pid"; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr bash -c 'spacebridge attest "$@" >/dev/full' _ $args
		assert_equal "$stderr" 'spacebridge: attest: standard output: No space left on device'
	done
	check_tar one.tar
	matched
}

@test "an archive that is none, or that means ill, is refused as a whole" {
	take
	unpack
	tar_of() { rm -f bad.tar && tar cf bad.tar --owner 0 --group 0 -C e "$@"; }
	head -c 3000 e.tar >bad.tar
	check_tar bad.tar
	assert_equal "$status" 3
	echo nonsense >bad.tar
	check_tar bad.tar
	assert_equal "$status" 3
	: >bad.tar
	check_tar bad.tar
	assert_equal "$status" 3
	echo x >e/extra
	tar_of .
	check_tar bad.tar
	refused 'bad.tar: archive: a member'"'"'s name is unsafe: `./`'
	tar_of extra
	check_tar bad.tar
	refused 'bad.tar: archive: unknown member `extra`'
	mv e/extra e/bridge/environ
	tar_of bridge/environ
	check_tar bad.tar
	refused 'bad.tar: archive: unknown member `bridge/environ`'
	tar_of manifest.json manifest.json --hard-dereference
	check_tar bad.tar
	refused 'bad.tar: archive: `manifest.json` is in it twice'
	tar_of --transform 's,manifest.json,../manifest.json,' -P manifest.json
	check_tar bad.tar
	refused 'bad.tar: archive: a member'"'"'s name is unsafe: `../manifest.json`'
	tar_of --transform 's,manifest.json,/etc/passwd,' -P manifest.json
	check_tar bad.tar
	refused 'bad.tar: archive: a member'"'"'s name is unsafe: `/etc/passwd`'
	mv e/report.json report.json
	ln -s /etc/passwd e/report.json
	tar_of manifest.json report.json
	check_tar bad.tar
	refused 'bad.tar: archive: `report.json` is a link, device or directory'
	rm e/report.json
	ln e/manifest.json e/report.json
	tar_of manifest.json report.json
	check_tar bad.tar
	refused 'bad.tar: archive: `report.json` is a link, device or directory'
	rm e/report.json
	mkfifo e/report.json
	tar_of manifest.json report.json
	check_tar bad.tar
	refused 'bad.tar: archive: `report.json` is a link, device or directory'
	rm e/report.json
	mv report.json e/report.json
	head -c 1100000 /dev/zero >e/bridge/status
	tar_of manifest.json bridge/status
	check_tar bad.tar
	refused 'bad.tar: archive: larger than its limit when unpacked'
	head -c 3000000 /dev/zero >bad.tar
	check_tar bad.tar
	assert_equal "$status" 3
	mkfifo pipe.tar
	check_tar pipe.tar
	assert_equal "$status" 1
	check_tar none.tar
	assert_equal "$status" 1
	assert_equal "$stderr" 'spacebridge: attest: none.tar: No such file or directory'
}

@test "an archive that is not of its form says where" {
	take
	unpack
	local words member filter
	while IFS=@ read -r member filter words; do
		tampered "$member" "$filter"
		echo "$member with $filter:"
		refused "t.tar: $words"
	done <<-'END'
		manifest.json@.v = 2@manifest: of format 2, which a newer version wrote; this one reads 1: upgrade it
		manifest.json@del(.v)@manifest: it has no format version
		manifest.json@.of = "x"@manifest: of neither a sandbox nor a process
		manifest.json@.made_at = "yesterday"@manifest: a field is not of its form
		manifest.json@.extra = 1@manifest: unknown field `extra`
		report.json@.reason = "x"@report: no such decision and reason
		report.json@.checks[0].name = "\u001b[2J"@check: `name` is none
		report.json@.checks = [range(129) as $n | {name:"x",ok:true,expected:"",seen:""}]@report: more than 128 checks
		record.json@.sandbox = "s-43"@record: of another sandbox
		record.json@.extra = 1@record: unknown field `extra`
		bridge/seen.json@del(.tracer)@bridge: seen: `tracer` is missing
		bridge/seen.json@.tracer.error = "EIO"@bridge: tracer: unknown field `error`
		bridge/seen.json@.tracer = {error:"EWHAT"}@bridge: tracer: `error` is not of its form
		bridge/seen.json@.file.kind = "device"@bridge: file: `kind` is not of its form
		vmm/seen.json@.listener.socket.state = "x"@vmm: socket: `state` is not of its form
		vmm/seen.json@[.]@vmm/seen.json: not a JSON object
	END
	rm e/vmm/stat
	tampered manifest.json .
	refused 't.tar: vmm: stat: not what the kernel shows'
	rm -r e/vmm
	tampered manifest.json .
	refused 't.tar: vmm: nothing was seen of it'
	rm e/report.json
	tampered manifest.json .
	refused 't.tar: no report.json in it'
}
