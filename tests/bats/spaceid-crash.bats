#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016
# The store under kill -9 and under many writers at once.
load helper

setup() { cd "$BATS_TEST_TMPDIR" || return; }

survives() { run -0 "$ROOT/tests/fault/store-kill.sh" "$@"; }

@test "making a store survives a kill at every system call" { survives create; }
@test "a first install survives a kill at every system call" { survives install; }
@test "an install after a pruning survives a kill at every system call" { survives reinstall; }
@test "a replacement survives a kill at every system call" { survives replace; }
@test "an attempt survives a kill at every system call" { survives attempt; }
@test "new evidence survives a kill at every system call" { survives evidence; }
@test "a retirement survives a kill at every system call" { survives retire; }
@test "a fence survives a kill at every system call" { survives fence; }
@test "a handoff survives a kill at every system call" { survives handoff; }
@test "a pruning survives a kill at every system call" { survives prune; }
@test "a replacement survives kills at single instructions of its publication" { survives replace 17; }

# calls COMMAND...: the system calls that make a change durable and known, in their order, by name.
calls() {
	strace -f -qq -o trace -e trace=fsync,fdatasync,renameat,renameat2,unlinkat,futex,write "$@" >out || true
	awk '{ sub(/\(.*/, "", $2); printf "%s ", $2 }' trace
}

@test "a change is durable before it is published, and published before it is told" {
	command -v strace >/dev/null || skip_or_fail strace
	echo '{"sandbox":"s-42","route":{"execution":7,"worker":"w","substrate":"kubernetes","pod_uid":"0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b","activation":"a","attempt":1},"owner":"op-7"}' >input
	spaceid install --records records </dev/null
	run -0 calls spaceid install --records records <input
	assert_output "write fsync renameat fsync futex write "
	run -0 calls spaceid retire --records records --sandbox s-42 --execution 7
	assert_output "write fsync renameat fsync futex write "
	run -0 calls spaceid prune --records records --no-routes --older-than 0
	assert_output "unlinkat fsync futex write "
	# What a dead writer renamed is made durable before it is published, too.
	run -137 bash -c 'strace -f -o /dev/null -e inject=fsync:signal=KILL:when=2 spaceid install --records records <input; exit $?'
	run -0 calls spaceid retire --records records --sandbox s-42 --execution 6
	assert_output "fsync futex write "
}

@test "eight writers at once: every effect is consistent and the epoch takes each step exactly once" {
	local writer pids=()
	for ((writer = 1; writer <= 8; writer++)); do
		# Each of its own executions, all of three sandboxes: most of them race another writer's.
		awk -v writer="$writer" 'BEGIN {
			for (n = 0; n < 250; n++)
				printf "{\"sandbox\":\"s-%d\",\"route\":{\"execution\":%d,\"worker\":\"w\",\"substrate\":\"host\",\"activation\":\"a\",\"attempt\":1},\"owner\":\"op-%d\"}\n",
					n % 3, int(n / 3) * 8 + writer, writer
		}' >"in.$writer"
	done
	for ((writer = 1; writer <= 8; writer++)); do
		spaceid install --records records <"in.$writer" >"out.$writer" 3>&- &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || [ $? = 14 ]
	done
	run -0 wc -l out.*
	assert_line --regexp '^ *2000 total$'
	# Nothing but effects and the conflict of a lower execution.
	run -0 jq -rs 'map(.effect // .conflict) | unique | join(",")' out.*
	assert_output "a higher execution is installed,installed,replaced"
	for s in s-0 s-1 s-2; do
		# In one writer's output the epochs grow; over all of them each is taken once, without a gap.
		for ((writer = 1; writer <= 8; writer++)); do
			run -0 jq -es --arg s $s 'map(select(.sandbox == $s and .changed) | .epoch) | . == (unique)' "out.$writer"
		done
		run -0 jq -ecs --arg s $s 'map(select(.sandbox == $s and .changed) | .epoch) | sort | . == [range(1; length + 1)]' out.*
		epochs=$(cat out.* | jq -s --arg s $s 'map(select(.sandbox == $s and .changed)) | length')
		run -0 "$FIXTURES/storecheck" records $s
		assert_json --argjson n "$epochs" '.record.epoch == $n and .page.epoch == $n and .record.version == $n and .page.version == $n and (.page.pending or .page.unsettled | not)'
		# The highest execution of all has won.
		assert_json '.record.route.execution >= 83 * 8'
	done
	run -0 ls -A records
	assert_output ".lock
.page
.slots
s-0.json
s-1.json
s-2.json"
}

@test "a writer that is stopped with the lock keeps others waiting, not from reading" {
	command -v strace >/dev/null || skip_or_fail strace
	echo '{"sandbox":"s-42","route":{"execution":7,"worker":"w","substrate":"host","activation":"a","attempt":1},"owner":"op-7"}' >input
	spaceid install --records records <input >/dev/null
	sed s/:7,/:8,/ input >next
	strace -f -o trace -e trace=fsync,renameat -e inject=fsync:signal=STOP:when=1 spaceid install --records records <next >out 3>&- &
	local tracer=$! stopped
	eventually grep -qs 'stopped by SIGSTOP' trace
	stopped=$(awk '{print $1; exit}' trace)
	run -0 spaceid show --records records s-42
	assert_json '.route.execution == 7'
	run -0 spaceid compare --records records < <(jq -c '{selected: {sandbox, route}}' records/s-42.json)
	kill -CONT "$stopped"
	run -0 spaceid install --records records <next
	assert_output '{"sandbox":"s-42","changed":false,"epoch":2,"effect":"none"}'
	wait "$tracer"
}
