#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2153,SC2154
# The registry in a file: what is SQLite's own. registry-sqlite.bats has what every registry does.

load helper
load spacerouted

setup() {
	space_setup
}

teardown() {
	stop_all
}

@test "the registry's files are nobody else's, and one that others may write is refused" {
	umask 000
	publish s-42 7
	assert_equal "$(stat -c %a "$DB")" 600
	chmod 620 "$DB"
	run -2 --separate-stderr spacerouted list
	assert_equal "$stderr" "spacerouted: list: registry $DB: mode 0620 lets others write it; run: chmod 600 $DB"
}

@test "a file that is no registry of this version is refused and left alone" {
	sqlite3 "$DB" 'CREATE TABLE other (x); PRAGMA user_version = 7'
	chmod 600 "$DB"
	before=$(sha256sum "$DB")
	run -2 spacerouted publish -s s-42 --execution 7 --worker w --substrate host --activation a --attempt 1 --endpoint unix:/m
	assert_output --partial 'a database, but no registry'
	assert_equal "$(sha256sum "$DB")" "$before"
	rm "$DB"
	publish s-42 7
	sqlite3 "$DB" 'PRAGMA user_version = 3'
	run -2 spacerouted list
	assert_output --partial 'of format 3, which a newer version wrote; this one reads 2: upgrade it'
	sqlite3 "$DB" 'PRAGMA user_version = 1'
	run -2 spacerouted list
	assert_output --partial 'of format 1; this one reads 2: what the tool that made it exports can be imported into a new one'
}

@test "a registry that is locked is unavailable within its time limit" {
	publish s-42 7
	within 50
	coproc LOCK { sqlite3 "$DB"; }
	# shellcheck disable=SC2153 # set by coproc
	pid=$LOCK_PID out=${LOCK[0]} in=${LOCK[1]}
	echo 'BEGIN IMMEDIATE; SELECT 1;' >&"$in"
	read -r _ <&"$out"
	run -1 --separate-stderr publish s-42 8
	assert_equal "$(jq -c '[.status, .error]' <<<"$output")" '["error","unavailable"]'
	run -0 spacerouted resolve s-42
	assert_json '.route.execution == 7'
	kill "$pid"
}

# exported N: what export prints of so many sandboxes.
exported() {
	echo '{"kind":"registry","version":1,"revision":0}'
	jq -nc --argjson n "$1" 'range($n) | {kind:"route", sandbox:"s-\(. + 100000)", route:{execution:7, worker:"w",
		substrate:"host", activation:"a", attempt:1}, endpoint:"unix:/m", state:"active", revision:(. + 1)}'
	echo "{\"kind\":\"end\",\"routes\":$1,\"grants\":0}"
}

# taken_up: each whole line of import's answers in FILE tells of what the registry has. How many.
taken_up() {
	grep '}$' "$1" | jq -r 'select(.changed).sandbox' | sort >"$BATS_TEST_TMPDIR/answered"
	spacerouted list -o json | jq -r .sandbox | sort | comm -23 "$BATS_TEST_TMPDIR/answered" - >"$BATS_TEST_TMPDIR/lost"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/lost")" ''
	wc -l <"$BATS_TEST_TMPDIR/answered"
}

@test "an import waits for the disk once for many lines, and answers none before that" {
	local answers in pid

	exported 20000 >"$BATS_TEST_TMPDIR/lines"
	run -0 strace -f -qq -e trace=fsync,fdatasync -o "$BATS_TEST_TMPDIR/waits" spacerouted import <"$BATS_TEST_TMPDIR/lines"
	assert_equal "${#lines[@]}" 20002
	[ "$(wc -l <"$BATS_TEST_TMPDIR/waits")" -lt 100 ]
	# Killed while nobody reads: what it has answered is there.
	rm "$DB"*
	mkfifo "$BATS_TEST_TMPDIR/answers"
	spacerouted import <"$BATS_TEST_TMPDIR/lines" >"$BATS_TEST_TMPDIR/answers" 3>&- &
	exec {answers}<"$BATS_TEST_TMPDIR/answers"
	read -r -u "$answers"
	kill -KILL $!
	cat <&"$answers" >"$BATS_TEST_TMPDIR/said"
	exec {answers}<&-
	[ "$(taken_up "$BATS_TEST_TMPDIR/said")" -gt 100 ]
	# A line alone is answered at once.
	mkfifo "$BATS_TEST_TMPDIR/in"
	spacerouted import <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/answers" 3>&- &
	pid=$!
	exec {in}>"$BATS_TEST_TMPDIR/in" {answers}<"$BATS_TEST_TMPDIR/answers"
	head -n 2 "$BATS_TEST_TMPDIR/lines" | sed 's/s-100000/s-1/' >&"$in"
	read -r -u "$answers"
	read -r -u "$answers"
	run -0 spacerouted resolve s-1
	kill "$pid"
}

@test "what a full disk does not take is not answered as taken up" {
	exported 20000 >"$BATS_TEST_TMPDIR/lines"
	code=0
	(
		ulimit -f 600
		trap '' XFSZ
		spacerouted import <"$BATS_TEST_TMPDIR/lines" | cat >"$BATS_TEST_TMPDIR/said"
		exit "${PIPESTATUS[0]}"
	) 2>"$BATS_TEST_TMPDIR/err" || code=$?
	assert_equal "$code" 1
	run -0 cat "$BATS_TEST_TMPDIR/err"
	assert_output --partial 'spacerouted: import: registry'
	taken_up "$BATS_TEST_TMPDIR/said" >/dev/null
	# With room it goes on from there.
	run -0 spacerouted import <"$BATS_TEST_TMPDIR/lines"
	assert_equal "$(spacerouted list -o json | wc -l)" 20000
}
