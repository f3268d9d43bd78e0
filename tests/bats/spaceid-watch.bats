#!/usr/bin/env bats
# shellcheck shell=bash
# spaceid watch: each change a line, what could not be seen singly a gap, and waits that end.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	# Durability is no part of what is tested here.
	[ ! -w /dev/shm ] || memory=$(mktemp -d -p /dev/shm space-watch.XXXXXX) && ln -s "$memory" records
	rec 1 | install >/dev/null
}
teardown() {
	stop_all
	[ -z "$memory" ] || rm -rf "$memory"
}

rec() {
	printf '{"sandbox":"%s","route":{"execution":%s,"worker":"w","substrate":"kubernetes","pod_uid":"0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b","activation":"a","attempt":1},"owner":"op-7"}\n' "${2:-s-42}" "$1"
}
install() { spaceid install --records records; }

@test "watch prints every change as it was when it was published" {
	start watch spaceid watch --records records --sandbox s-42 --until-epoch 3 --timeout 600
	spaceid handoff --records records --sandbox s-42 --from op-7 --owner op-8
	spaceid fence --records records --sandbox s-42
	rec 1 s-1 | install
	rec 2 | install
	spaceid retire --records records --sandbox s-42 --execution 2
	await_end "$STARTED"
	run -0 cat watch.out
	assert_output '{"sandbox":"s-42","effect":"handoff","epoch":1,"version":2,"state":"active"}
{"sandbox":"s-42","effect":"fenced","epoch":1,"version":3,"state":"active"}
{"sandbox":"s-42","effect":"replaced","epoch":2,"version":4,"state":"active"}
{"sandbox":"s-42","effect":"retired","epoch":3,"version":5,"state":"retired"}'
}

@test "watch --once ends with the first change of any sandbox" {
	start watch spaceid watch --records records --once
	rec 1 s-1 | install
	await_end "$STARTED"
	run -0 cat watch.out
	assert_output '{"sandbox":"s-1","effect":"installed","epoch":1,"version":1,"state":"active"}'
}

@test "watch --until-epoch ends at once when the epoch is there already" {
	rec 2 | install
	run -0 spaceid watch --records records --sandbox s-42 --until-epoch 2
	assert_output '{"sandbox":"s-42","effect":"none","epoch":2,"version":2,"state":"active"}'
	run -0 spaceid watch --records records --sandbox s-42 --until-epoch 1 -o table
	assert_output 's-42: none, epoch 2, version 2, active'
}

@test "watch exits 1 when what it waits for does not come in time, and 0 when it only watched" {
	run -1 spaceid watch --records records --once --timeout 0
	assert_output "spaceid: watch: no change within the time given"
	run -1 spaceid watch --records records --sandbox s-42 --until-epoch 2 --timeout 0
	assert_output "spaceid: watch: the epoch was not reached within the time given"
	run -0 spaceid watch --records records --timeout 0
	assert_output ""
	run -2 spaceid watch --records records --until-epoch 2
}

@test "watch says so when changes came too fast to be seen singly" {
	start watch spaceid watch --records records --sandbox s-42 --until-epoch 1200 --timeout 600
	kill -STOP "$STARTED"
	seq 2 1200 | awk -v record="$(rec 1)" '{ line = record; sub(/:1,/, ":" $1 ",", line); print line }' | install >/dev/null
	kill -CONT "$STARTED"
	await_end "$STARTED"
	run -0 cat watch.out
	assert_output '{"gap":true}
{"sandbox":"s-42","effect":"none","epoch":1200,"version":1200,"state":"active"}'
}

@test "watch ends quietly when nobody reads it any more" {
	run -0 timeout 60 bash -c 'set -o pipefail; spaceid watch --records records | true'
	assert_output ""
}

@test "watch sees a change that was settled after its writer died" {
	start watch spaceid watch --records records --sandbox s-42 --until-epoch 2 --timeout 600
	rec 2 >input
	run -137 bash -c 'strace -f -o /dev/null -e inject=fsync:signal=KILL:when=2 spaceid install --records records <input; exit $?'
	run -0 spaceid handoff --records records --sandbox s-42 --from op-7 --owner op-8
	await_end "$STARTED"
	run -0 cat watch.out
	assert_output '{"sandbox":"s-42","effect":"settled","epoch":2,"version":2,"state":"active"}'
}
