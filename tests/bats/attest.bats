# spacebridge attest: evidence taken, shown and judged; every way in which a bridge or VMM can be another one (04-bridge).
# shellcheck shell=bats disable=SC2016,SC2119,SC2120,SC2154
load helper
load attest

setup() { attest_world; }
teardown() { stop_all; }

@test "enroll takes evidence of bridge and VMM" {
	run --separate-stderr enroll
	assert_success
	assert_json --argjson bridge "$bridge_pid" --argjson vmm "$vmm_pid" --arg uds "$uds" --arg path "$bridge" \
		--arg exe "$(readlink -f "$FIXTURES/vmm")" --arg inode "$(stat -c %i "$uds")" '
		keys == ["bridge", "vmm"] and .bridge.pid == $bridge and .vmm.pid == $vmm and .bridge.listener.path == $path
		and .vmm.listener.path == $uds and .vmm.listener.ino == $inode and .vmm.executable.path == $exe
		and .vmm.cid == 42 and .vmm.uds_path == $uds and (.bridge | has("cid") | not)'
}

@test "enroll records the executable's BLAKE2b-256" {
	run --separate-stderr enroll
	assert_json --arg hash "$(b2sum -l 256 "$FIXTURES/vmm" | cut -d ' ' -f 1)" '.vmm.executable.blake2b == $hash'
}

@test "enroll adds evidence to a record, ready to be installed" {
	# The guest of a whole record is given its key: it takes an agent that hears it.
	stop agent
	start agent spacebridge guest --listen "unix:$world/agent.sock" --root "$world" --cid 42
	echo "{\"sandbox\":\"s-42\",\"route\":$ROUTE,\"owner\":\"op\"}" >plain.json
	enroll --record plain.json >from-file.json
	enroll --record - <plain.json >from-input.json
	run diff from-file.json from-input.json
	assert_success
	run --separate-stderr spaceid install <from-file.json
	assert_success
	assert_output '{"sandbox":"s-42","changed":true,"epoch":1,"effect":"installed"}'
	run --separate-stderr spaceid show -o json s-42
	assert_json --slurpfile enrolled from-file.json '{bridge, vmm} == ($enrolled[0] | {bridge, vmm})'
}

@test "enroll resolves symlinks on the way to a socket, once" {
	mkdir real
	ln -s real link
	start other "$FIXTURES/echo" "$world/real/o.sock"
	run --separate-stderr spacebridge attest --enroll --bridge-pid "$STARTED" --bridge link/o.sock
	assert_success
	assert_json --arg path "$world/real/o.sock" '.bridge.listener.path == $path'
}

@test "enroll takes the CID from the VMM's API, and refuses another one" {
	run --separate-stderr enroll --cid 43
	assert_failure 11
	assert_equal "$stderr" "spacebridge: attest: vmm: cid 43 was given, the VMM says 42"
	run --separate-stderr spacebridge attest --enroll --vmm-pid "$vmm_pid" --vsock "$uds" --cid 43
	assert_success
	assert_json '.vmm.cid == 43 and (.vmm | has("api") | not)'
	run --separate-stderr spacebridge attest --enroll --vmm-pid "$vmm_pid" --vsock "$uds"
	assert_failure 2
}

@test "enroll refuses a process that does not listen there" {
	run --separate-stderr spacebridge attest --enroll --bridge-pid "$vmm_pid" --bridge "$bridge"
	assert_failure 11
	assert_equal "$stderr" "spacebridge: attest: bridge: $bridge: pid $vmm_pid does not listen there"
	ln "$bridge" second
	run --separate-stderr enroll
	assert_failure 11
	assert_equal "$stderr" "spacebridge: attest: bridge: $bridge: it has 2 names; a socket must have one"
	rm second "$bridge"
	run --separate-stderr enroll
	assert_failure 1
}

@test "enroll refuses a process that has ended" {
	stop bridge
	run --separate-stderr enroll
	assert_failure 11
	assert_equal "$stderr" "spacebridge: attest: bridge: pid $bridge_pid: no such process, or it has exited"
}

@test "enroll refuses a record of another sandbox, and one that is no record" {
	run --separate-stderr enroll --record - <<<'{"sandbox":"s-43"}'
	assert_failure 3
	run --separate-stderr enroll --record - <<<'{"sandbox":"s-42","sandbox":"s-42"}'
	assert_failure 3
	run --separate-stderr enroll --record /nonexistent
	assert_failure 1
	mkfifo fifo
	run --separate-stderr enroll --record fifo
	assert_failure 1
}

@test "options that do not belong together are wrong usage" {
	local words
	while read -r words; do
		# shellcheck disable=SC2086
		run --separate-stderr spacebridge attest $words
		assert_failure 2
		assert_output ''
	done <<-END

		--enroll
		--enroll --vmm-pid 1
		--enroll --vsock v.sock
		--enroll --bridge b.sock
		--enroll --bridge-pid 1
		--enroll --bridge-pid 0 --bridge b.sock
		--enroll --bridge-pid 1 --bridge b.sock --cid 3
		--enroll --vmm-pid 1 --vsock v.sock --cid 2
		--enroll --sandbox ../x --bridge-pid 1
		--enroll --vmm-pid 1 --vsock v.sock --cid 3 --guest-key f
		--enroll --bridge-pid 1 --bridge b.sock --record f --guest-key f
		--sandbox s-42 --cid 3
		--sandbox s-42 --vsock v.sock
		--sandbox s-42 --pid 1
		--sandbox ../x
		--pid 0
		--pid 1 --connect
		--pid x
		--pid 1 --evidence -
		--evidence f
		--enroll --bridge-pid 1 --bridge b.sock --evidence f
		--check f --sandbox s-42
		--check f --pid 1
		--check f --enroll
		--check f --connect
		--check f --vsock v.sock
		--check f --evidence g
	END
}

@test "pid shows evidence without a record" {
	run --separate-stderr spacebridge attest --pid "$vmm_pid" --vsock "$uds"
	assert_success
	assert_json --argjson pid "$vmm_pid" --arg level "$level" \
		'.level == $level and .evidence.pid == $pid and .evidence.listener.mode == "0660"'
	run --separate-stderr spacebridge attest --pid "$vmm_pid"
	assert_json '.evidence | has("listener") | not'
	run --separate-stderr spacebridge attest --pid "$vmm_pid" -o table
	assert_line --regexp "^executable.path +$(readlink -f "$FIXTURES/vmm")$"
}

@test "what was enrolled matches, check by check" {
	installed
	judged
	matched
	assert_json '[.checks[].name] == (
		["level", "path", "boot", "process", "start", "namespaces", "tracer", "executable", "listener", "alive", "image"] as $one
		| ["level", "path", "connect", "peer-credentials", "peer-process", "boot", "process", "start", "namespaces", "tracer",
			"executable", "peer-socket", "peer-held", "listener", "alive", "image"] as $api
		| ($one | map("bridge-" + .)) + ($one + $api + ["cid", "uds-path"] | map("vmm-" + .)))'
	assert_json '[.checks[] | keys == ["expected", "name", "ok", "seen"]] | all'
}

@test "with connections of its own it still matches, and asks nothing of the guest" {
	installed
	: >vmm.log
	judged --connect
	matched
	assert_json '[.checks[].name] | contains(["bridge-greeting", "bridge-onward", "bridge-peer-held", "vmm-answer", "vmm-peer-held"])'
	assert_equal "$(cat vmm.log bridge.log)" ""
}

@test "a check list for people has expected, seen, microseconds and a way on" {
	installed '.bridge.start_time = "1"'
	judged -o table
	assert_failure 11
	assert_line --regexp '^ok    bridge-path +[0-9]+ us$'
	assert_line --regexp '^FAIL  bridge-start +[0-9]+ us$'
	assert_line --regexp '^      expected  tick 1, stack 0x'
	assert_line "deny bridge-process, level $level"
	assert_line --partial 'activate with a higher attempt'
}

@test "both sides are looked at, the first failure is the reason" {
	installed '.bridge.start_time = "1" | .vmm.listener.cookie = "1"'
	judged
	denied bridge-start bridge-process
	assert_json '[.checks[] | select(.ok | not) | .name] == ["bridge-start", "vmm-listener"]'
}

@test "no record is refresh-route absent, a retired one refresh-route retired" {
	installed
	spaceid retire --sandbox s-42 --execution 7 >/dev/null
	judged
	assert_failure 10
	assert_output "{\"decision\":\"refresh-route\",\"reason\":\"retired\",\"level\":\"$level\",\"checks\":[]}"
	run --separate-stderr spacebridge attest --sandbox s-43
	assert_failure 10
	assert_output "{\"decision\":\"refresh-route\",\"reason\":\"absent\",\"level\":\"$level\",\"checks\":[]}"
	run --separate-stderr spacebridge attest --sandbox s-42 --records /nonexistent
	assert_failure 1
}

@test "a record without evidence, or with evidence that is none, is evidence-unavailable" {
	installed 'del(.bridge)'
	judged
	denied bridge-evidence evidence-unavailable
	spaceid install --if-epoch 1 <<<"$(jq -c '.route.attempt = 2 | .bridge = {}' record.json)" >/dev/null
	judged
	denied bridge-evidence evidence-unavailable
}

@test "an impostor that re-binds the bridge's path is denied and sees nothing" {
	installed
	mv "$bridge" aside # so that the inode is not given away again
	start impostor "$FIXTURES/echo" --log "$world/impostor.log" "$bridge"
	judged --connect
	denied bridge-path listener-replaced
	assert_equal "$(cat impostor.log)" ""
	stop impostor
	rm -f "$bridge"
	mv aside "$bridge"
	judged --connect
	matched
}

@test "an impostor with the very inode of the bridge's socket is denied before it gets a byte" {
	mv "$bridge" aside
	start impostor "$FIXTURES/echo" --log "$world/impostor.log" "$bridge"
	spacebridge attest --enroll --bridge-pid "$bridge_pid" --bridge aside --vmm-pid "$vmm_pid" --vsock "$uds" --api "$api" \
		>enrolled.json
	enroll() { cat enrolled.json; }
	installed ".bridge.listener += {path: \"$bridge\", ino: \"$(stat -c %i "$bridge")\"}"
	judged --connect
	denied bridge-peer-credentials peer-credentials
	eventually test -s impostor.log
	assert_equal "$(cat impostor.log)" "accepted"
}

@test "a symbolic link, a second name and a socket that nobody serves are denied" {
	installed
	mv "$bridge" aside
	ln -s ../../aside "$bridge"
	judged
	denied bridge-path listener-replaced
	rm "$bridge"
	mv aside "$bridge"
	ln "$bridge" second
	judged
	denied bridge-path listener-replaced
	rm second
	mv run elsewhere
	ln -s elsewhere run
	judged
	denied bridge-path listener-replaced
	rm run
	mv elsewhere run
	judged
	matched
	stop bridge KILL
	judged --connect
	denied bridge-connect listener-replaced
	judged
	denied bridge-process bridge-process
}

@test "a bridge of another process, with the same program, is denied" {
	installed
	stop bridge
	start_bridge
	judged --connect
	assert_equal "$status" 11
	# ext4 gives the inode of the old socket away at once: then the process is what differs.
	assert_json '.reason == "listener-replaced" or .reason == "peer-credentials"'
	assert_equal "$(cat bridge.log)" ""
}

@test "who takes the VMM's listener over is denied by the exact check" {
	mkfifo fifo
	stop bridge
	stop vmm
	while read -r how check; do
		start taker "$FIXTURES/taker" taker.sock "$world/taker.log"
		start_vmm --misbehave "$how" --done fifo --pass-to "$world/taker.sock"
		start_bridge
		installed
		judged --connect
		matched
		: >vmm.log
		kill -USR1 "$vmm_pid"
		read -r _ <fifo
		spaceid install --if-epoch 1 <<<"$(jq -c '.route.attempt = 2 | del(.bridge)' record.json)" >/dev/null
		judged --connect
		assert_json --arg check "$check" '[.checks[] | select(.ok | not).name] == ["bridge-evidence", $check]'
		assert_equal "$(cat vmm.log)" ""
		rm -rf records
		stop bridge
		stop vmm
		stop taker
		eventually deserted "$uds"
	done <<-'END'
		fork-accept vmm-peer-held
		relisten vmm-peer-credentials
		pass-listener vmm-peer-held
		re-exec vmm-start
	END
}

@test "a VMM that does not answer as Firecracker does is not judged" {
	local how check
	while read -r how check; do
		stop vmm
		start_vmm --misbehave "$how"
		installed 'del(.bridge)'
		[ "$how" != no-answer ] || patience 1000
		judged --connect
		patience 20000
		assert_json --arg check "$check" '[.checks[] | select(.ok | not).name] == ["bridge-evidence", $check]'
		rm -rf records
	done <<-'END'
		no-answer vmm-answer
		notok vmm-answer
		overlong vmm-answer
		unended vmm-answer
		hang-up vmm-answer
		split vmm-answer
		ok-close vmm-peer-socket
	END
}

@test "a VMM that ended the bridge's connection is not judged by what it no longer holds" {
	stop vmm
	start_vmm --misbehave ok-close
	installed
	judged --connect
	denied vmm-peer-socket evidence-unavailable
	assert_json '[.checks[] | select(.ok | not).seen] == ["the connection has ended", "the connection has ended"]'
}

@test "a bridge and a VMM that hang are not judged, and not said to be replaced" {
	installed
	patience 1000
	kill -STOP "$bridge_pid"
	judged --connect
	denied bridge-greeting evidence-unavailable
	assert_json '[.checks[] | select(.ok | not).seen] == ["timed out"]'
	kill -CONT "$bridge_pid"
	kill -STOP "$vmm_pid"
	judged
	denied vmm-config evidence-unavailable
	assert_json '.checks[-1].seen == "no answer of the VMM: timed out"'
	judged --connect
	denied bridge-greeting evidence-unavailable
	assert_json '[.checks[] | select(.ok | not).name] == ["bridge-greeting", "vmm-answer"]'
	kill -CONT "$vmm_pid"
}

@test "a configuration that cannot be read is told once" {
	SPACE_CONFIG=$world/none.ini judged
	assert_failure 2
	assert_equal "$stderr" "spacebridge: attest: $world/none.ini: No such file or directory"
}

@test "a VMM with another guest, or another VSOCK path, is denied" {
	installed '.vmm.cid = 43'
	judged
	denied vmm-cid guest-identity
	rm -rf records
	installed '.vmm.uds_path = "/elsewhere"'
	judged
	denied vmm-uds-path listener-owner
}

@test "a traced bridge is denied" {
	installed
	strace -qq -o /dev/null -e trace=none -p "$bridge_pid" 3>&- &
	tracer=$!
	eventually grep -q "^TracerPid:.$tracer" "/proc/$bridge_pid/status"
	judged
	denied bridge-tracer bridge-process
	kill "$tracer"
	wait "$tracer" || true
	judged
	matched
}

@test "an attestor without the right to look denies, and says what it lacks" {
	local drop=()
	[ "$(id -u)" -ne 0 ] || drop=(setpriv --bounding-set=-all --inh-caps=-all)
	mkfifo fifo
	stop vmm
	start_vmm --misbehave hide --done fifo
	installed 'del(.bridge)'
	kill -USR1 "$vmm_pid"
	read -r _ <fifo
	run --separate-stderr "${drop[@]}" spacebridge attest --sandbox s-42
	assert_failure 11
	assert_json '[.checks[] | select(.ok | not).name] == ["bridge-evidence", "vmm-process"]'
	assert_json '.checks[-1].seen | contains("CAP_SYS_PTRACE")'
}

@test "with -v attest says what the kernel lacks for a higher level" {
	installed
	run --separate-stderr env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK=peerpidfd,pidfs \
		spacebridge attest -v --sandbox s-42
	assert_equal "$stderr" 'spacebridge: attest: level launch-pidfd; missing here: SO_PEERPIDFD, pidfs'
	judged
	assert_equal "$stderr" ''
}

@test "all records are judged at once, a line each, and retired ones are not" {
	installed
	spaceid install < <(jq -c '.sandbox = "s-43"' record.json) >installed.json
	spaceid install < <(jq -c '.sandbox = "s-41"' record.json) >installed.json
	spaceid retire --sandbox s-41 --execution 7 >installed.json
	run -0 spacebridge attest --all
	assert_output $'{"sandbox":"s-42","decision":"match"}\n{"sandbox":"s-43","decision":"match"}'
	: >vmm.log
	stop bridge
	run -11 spacebridge attest --all
	assert_equal "${#lines[@]}" 2
	assert_json '.sandbox == "s-43" and .decision == "deny" and .reason == "listener-replaced"
		and (.message | startswith("listener-replaced: bridge-path: "))'
	run cat vmm.log
	assert_output ''
}

@test "a record that cannot be read is told, and the others are judged" {
	installed
	echo '{' >records/s-40.json
	run -3 --separate-stderr spacebridge attest --all
	assert_output '{"sandbox":"s-42","decision":"match"}'
	[[ $stderr == 'spacebridge: attest: '*s-40* ]]
}

@test "what the kernel can prove is told, and whether that is enough" {
	run -0 spacebridge attest --level
	assert_json --arg level "$level" '.level == $level and .min_level == $level and .enough'
	[ "$level" != none ] || skip_or_fail 'any level'
	# In a pid namespace with the /proc of another one nothing can be proved.
	unshare --pid --fork true 2>/dev/null || skip_or_fail 'the right to make a pid namespace'
	run -11 unshare --pid --fork spacebridge attest --level
	assert_json --arg level "$level" '.level == "none" and .min_level == $level and (.enough | not)
		and .missing == ["/proc of this pid namespace"]'
	run -2 --separate-stderr spacebridge attest --level --connect
	assert_equal "${stderr_lines[0]}" 'spacebridge: attest: --connect goes with --sandbox'
}
