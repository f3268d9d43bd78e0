#!/usr/bin/env bats
# shellcheck shell=bash
# The promise to streams, end to end: holders of leases in processes of their own, changes by the command line.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	printf '[streams]\ncut_timeout = 0.1\n' >impatient.ini
	printf '[streams]\ncut_timeout = 60\n' >patient.ini
	export SPACE_CONFIG=$PWD/patient.ini
	rec 7 | spaceid install --records records >/dev/null
}
teardown() { stop_all; }

rec() {
	printf '{"sandbox":"s-42","route":{"execution":%s,"worker":"w","substrate":"kubernetes","pod_uid":"0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b","activation":"a","attempt":%s},"owner":"op-7"}\n' "$1" "${2:-1}"
}
hold() { start "$1" "$FIXTURES/holder" "${@:2}" records s-42; }

# old_after MARK FILE EPOCH: lines of that epoch that were moved after the first MARK bytes
old_after() { tail -c "+$(($1 + 1))" "$2" | grep -c "^$3 " || true; }

@test "after install has returned, no byte of the old epoch moves, and the new epoch's do" {
	hold one -f
	hold two -f
	for execution in 8 9 10 11; do
		epoch=$((execution - 7))
		run -0 spaceid install --records records < <(rec "$execution")
		mark_one=$(stat -c %s one.out) mark_two=$(stat -c %s two.out)
		eventually grep -q "^$((epoch + 1)) " one.out
		eventually grep -q "^$((epoch + 1)) " two.out
		assert_equal "$(old_after "$mark_one" one.out "$epoch")" 0
		assert_equal "$(old_after "$mark_two" two.out "$epoch")" 0
	done
}

@test "a holder whose version moved on is cut by install, retire and fence --cut" {
	for change in "install" "retire --sandbox s-42 --execution 8" "fence --sandbox s-42 --cut"; do
		[ "$change" != "fence --sandbox s-42 --cut" ] || rec 9 | spaceid install --records records >/dev/null
		hold one
		# shellcheck disable=SC2086
		run -0 spaceid $change --records records < <(rec 8)
		mark=$(stat -c %s one.out)
		await_end "$STARTED"
		assert_equal "$(stat -c %s one.out)" "$mark"
		rm one.pid one.out
	done
}

@test "a holder stopped in the middle of a move makes install exit 1, naming it, with the new record in force" {
	hold stuck -s
	run -1 --separate-stderr spaceid install -c impatient.ini --records records < <(rec 8)
	# shellcheck disable=SC2154
	assert_equal "$stderr" "spaceid: install: s-42: pid $STARTED still in the middle of an old move after 100 ms (stopped?); the new record is in force; the same command again waits again"
	assert_json '.status == "error" and .error == "timeout" and .sent == true'
	assert_equal "$(jq '[.epoch, .route.execution]' -c records/s-42.json)" '[2,8]'
	# Again: it waits again, and says the same.
	run -1 --separate-stderr spaceid install -c impatient.ini --records records < <(rec 8)
	assert_regex "$stderr" "pid $STARTED still"
	# It goes on: it may finish its move, and is cut.
	kill -CONT "$STARTED"
	run -0 spaceid install --records records < <(rec 8)
	assert_output '{"sandbox":"s-42","changed":false,"epoch":2,"effect":"none"}'
	mark=$(stat -c %s stuck.out)
	await_end "$STARTED"
	assert_equal "$(stat -c %s stuck.out)" "$mark"
}

@test "retire and fence --cut wait for a stopped holder too; handoff and other sandboxes do not" {
	hold stuck -s
	run -0 spaceid handoff -c impatient.ini --records records --sandbox s-42 --from op-7 --owner op-8
	run -0 spaceid install -c impatient.ini --records records < <(rec 1 | sed s/s-42/s-1/)
	run -1 spaceid fence -c impatient.ini --records records --sandbox s-42 --cut
	assert_line '{"sandbox":"s-42","changed":true,"epoch":1,"effect":"fenced"}'
	assert_line --partial "pid $STARTED still"
	run -1 spaceid retire -c impatient.ini --records records --sandbox s-42 --execution 7
	assert_line '{"sandbox":"s-42","changed":true,"epoch":2,"effect":"retired"}'
	assert_line --partial "pid $STARTED still"
	run -1 spaceid retire -c impatient.ini --records records --sandbox s-42 --execution 7
	assert_line '{"sandbox":"s-42","changed":false,"epoch":2,"effect":"none"}'
}

@test "a holder that died in the middle of a move keeps nobody waiting" {
	hold stuck -s
	kill -KILL "$STARTED"
	await_end "$STARTED"
	run -0 spaceid install -c impatient.ini --records records < <(rec 8)
	assert_output '{"sandbox":"s-42","changed":true,"epoch":2,"effect":"replaced"}'
}

@test "holders are cut when a writer dies in the middle of a change, and the next command settles it" {
	command -v strace >/dev/null || skip_or_fail strace
	hold one -f
	rec 8 >input
	# The second fsync is the directory's: the new record is in place, not yet published.
	run -137 bash -c 'strace -f -o /dev/null -e inject=fsync:signal=KILL:when=2 spaceid install --records records <input; exit $?'
	await_end "$STARTED"
	run -0 "$FIXTURES/storecheck" records s-42
	assert_json '.record.epoch == 2 and .page.epoch == 1 and .page.pending and .page.dead'
	run -0 spaceid compare --records records < <(jq -c '{selected: {sandbox, route}}' records/s-42.json)
	assert_json '.decision == "match"'
	run -0 "$FIXTURES/storecheck" records s-42
	assert_json '.page.epoch == 2 and (.page.pending | not)'
}
