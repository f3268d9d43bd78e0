#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2154
# The soak (tests/soak): a short one of the real daemons, and proof that its judge can say no.
load helper

# What takes half a minute alone may take ten beside others.
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-1800}

RUN=$BATS_TEST_DIRNAME/../soak/run
SHRINK=$BATS_TEST_DIRNAME/../soak/shrink

# --- a history that was made up, and is good

# line LINE...: of the history.
line() { printf '%s\n' "$@" >>"$H/history"; }

# ran GUEST NUMBER: what this guest's log says.
ran() { printf '%015d\n' "$2" >>"$H/g/$1/root/log"; }

# past NUMBER...: two executions of sandbox 0, one after the other on worker 0, and one of sandbox 1; one write in the
# first and a read in the second; and that many more operations, which the case has.
past() {
	H=$BATS_TEST_TMPDIR/h
	rm -rf "$H"
	for guest in 1 2 3; do
		mkdir -p "$H/g/$guest/root"
		truncate -s "$((guest << 24))" "$H/g/$guest/root/log"
	done
	line 'soak 1 seed 1 sandboxes 2 ttl 10 skew 3 wall 1000000000000000' \
		'guest 1 0 1' 'install 0 10 0 0 1 1 1 0' 'publish 10 20 0 0 1 1 0' \
		'guest 3 1 1' 'install 0 10 1 1 3 1 1 0' 'publish 10 20 1 1 1 1 0' \
		'guest 2 0 2' 'install 1000000 1000100 0 0 2 2 1 0' 'publish 1000200 1000300 0 0 2 1 0' \
		'window 900000 1000400 s0 resume' \
		'op 0 uid W 0 500 600 - ok 1 0' 'op 1 uid R 0 2000000 2000100 - ok 2 -'
	ran 1 0
}

# judged OPERATIONS [KIND]: the end; nothing but KIND is wrong, once or more.
judged() {
	line 'load 0 100000000 0' "end 100000000 $1"
	run --separate-stderr "$ROOT/build/soak-judge" "$H"
	assert_equal "$status" "$((${2:+1} + 0))"
	output=$(jq -r 'to_entries | .[(map(.key) | index("excused_share")) + 1:][] | select(.value > 0).key' <<<"$output")
	assert_output "${2:-}"
}

# wrong KIND LINE...: a past with these lines, of which the operations are numbered from 2, is wrong in this way alone.
wrong() {
	past
	line "${@:2}"
	judged "$(($(printf '%s\n' "${@:2}" | grep -cE '^(op|sent) ') + 2))" "$1"
}

# fine LINE...: it is not.
fine() { wrong '' "$@"; }

@test "the judge finds nothing in a history in which all is well" {
	past
	judged 2
	fine 'op 2 uid R 0 1000050 1000300 - ok 1 -'
	fine 'op 2 token R 0 999000 1000300 - ok 2 -'
	fine 'op 2 uid W 0 950000 950100 - refused refresh-route absent'
	fine 'op 2 uid W 0 6000000 6000100 - lost'
	fine 'stream c 100 1000050 0 1 1 0 end 8 4 0 999999'
	fine 'stream c 2000000 90000000 0 2 1 0 stood 8 8 0 2000100'
}

@test "the judge tells an execution that was not to answer" {
	wrong wrong_execution 'op 2 uid R 0 1000101 6000100 - ok 1 -'
	wrong wrong_execution 'op 2 uid R 0 500 900000 - ok 2 -'
	wrong wrong_execution 'op 2 uid R 0 6000000 6000100 - ok 3 -'
	# Selected was the first execution, the second one answered.
	wrong wrong_execution 'sent 2 R 0 0 1 1 0 1 1000000001 1000000011 500 600 6000000 6000100 - ok 2 -'
	# It answered one, and ran at another.
	past
	ran 1 2
	line 'op 2 uid W 0 6000000 6000100 - ok 2 0'
	judged 3 wrong_execution
	# Nobody had published it.
	past
	sed -i '/^publish 1000200/d' "$H/history"
	judged 2 wrong_execution
	wrong wrong_execution 'stream c 100 1000500 0 1 1 0 end 8 8 0 1000101'
}

@test "the judge tells what ran and was refused, ran twice, or never ran" {
	past
	ran 1 2
	line 'op 2 uid W 0 950000 950100 - refused refresh-route absent'
	judged 3 ran_after_refusal
	past
	ran 1 2
	line 'op 2 uid W 0 950000 950100 - error transport 0'
	judged 3 ran_after_refusal
	past
	ran 1 0
	judged 2 ran_twice
	wrong missing 'op 2 uid W 0 6000000 6000100 - ok 2 0'
}

@test "the judge tells a caller who was taken back, and what was not refused" {
	# Another worker was not told: its execution may answer, but not one who was answered by the next before.
	past
	sed -i 's/^install 1000000 1000100 0 0 2/install 1000000 1000100 0 1 2/' "$H/history"
	line 'op 2 token R 0 6000000 6000100 - ok 1 -'
	judged 3
	sed -i '/^load/d; /^end/d' "$H/history"
	line 'op 3 uid R 0 6000000 6000100 - ok 1 -'
	judged 4 went_back
	wrong not_refused 'op 2 token R 0 6000000 6000100 unauthorized ok 2 -'
	wrong not_refused 'fence 6000000 6000100 0 0 0 0' 'op 2 uid R 0 6000200 6000300 - ok 2 -'
	fine 'fence 6000000 6000100 0 0 0 0' 'op 2 uid R 0 30000000 30000100 - ok 2 -'
	wrong not_refused 'sent 2 R 0 0 2 1 0 1 1000000002 1000000012 2000000 2000100 19000000 19000100 - ok 2 -'
	wrong not_refused 'revoke 2100000 2200000 1 0 0' \
		'sent 2 R 0 0 2 1 0 1 1000000010 1000000020 2000000 2000100 13000000 13000100 - ok 2 -'
}

@test "the judge tells streams that lose bytes, end, or do not" {
	wrong stream_bytes 'stream c 2000000 90000000 0 2 1 0 stood 8 4 0 2000100'
	wrong stream_bytes 'stream c 100 1000050 0 1 1 0 end 8 4 1 999999'
	wrong stream_cut 'stream c 2000000 6000000 0 2 1 0 end 8 8 0 2000100'
	wrong stream_cut 'stream c 100 90000000 0 1 1 0 stood 8 8 0 200'
}

@test "the judge tells what nothing explains, what came too late, and what broke" {
	wrong unexplained 'op 2 uid W 0 6000000 6000100 - refused refresh-route absent'
	wrong unexplained 'op 2 uid W 1 950000 950100 - refused refresh-route absent'
	wrong unexplained 'op 2 uid W 0 950000 950100 - error op -'
	wrong unexplained 'op 2 uid W 0 950000 950100 - odd'
	wrong late_change 'late 6000000 6000100 0 retire 14 0'
	wrong trouble 'died 6000000 cache 139'
	past
	judged 3 trouble # nobody answered the third
	past
	line 'something else'
	run "$ROOT/build/soak-judge" "$H"
	assert_equal "$status" 2
}

@test "a seed is a trace, and no other" {
	run -0 "$ROOT/build/soak" trace --seed 5 --ops 20000 --sandboxes 20
	assert_equal "$output" "$("$ROOT/build/soak" trace --seed 5 --ops 20000 --sandboxes 20)"
	assert_not_equal "$output" "$("$ROOT/build/soak" trace --seed 6 --ops 20000 --sandboxes 20)"
	assert_equal "${lines[0]}" 'soak 1 seed 5 sandboxes 20 ops 20000 streams 8'
	# Everything happens in it.
	assert_equal "$(tail -n +2 <<<"$output" | cut -d ' ' -f 2 | sort -u | wc -l)" 30
	printf '%s\n' 'soak 1 seed 5 sandboxes 20 ops 20000 streams 8' '10 rain 3 7' >"$BATS_TEST_TMPDIR/trace"
	run -2 "$ROOT/build/soak" drive "$BATS_TEST_TMPDIR/trace" "$BATS_TEST_TMPDIR"
	assert_output --partial 'line 2 is none of a trace'
}

@test "a trace that fails is made shorter" {
	"$ROOT/build/soak" trace --seed 5 --ops 20000 --sandboxes 20 >"$BATS_TEST_TMPDIR/trace"
	# It fails by a pause and by a rotation of keys, and by nothing else.
	printf '%s\n' '#!/bin/bash' 'grep -q " pause " "$2" && grep -q " rotate " "$2" && exit 1' 'exit 0' >"$BATS_TEST_TMPDIR/run"
	chmod +x "$BATS_TEST_TMPDIR/run"
	SOAK_RUN=$BATS_TEST_TMPDIR/run TRIES=1 run -0 --separate-stderr "$SHRINK" "$BATS_TEST_TMPDIR/trace"
	assert_output "$BATS_TEST_TMPDIR/trace.short"
	run cut -d ' ' -f 2 "$output"
	assert_equal "${#lines[@]}" 3
	run sort <<<"$(tail -n +2 <<<"$output")"
	assert_output $'pause\nrotate'
}

# mutant NAME: the tools with this fault put in.
mutant() {
	make -s -C "$ROOT" "build/mutants/$1"
	export SPACE_BIN=$ROOT/build/mutants/$1
}

@test "faults that are put into the tools are found out" {
	local file files=("$BATS_TEST_DIRNAME"/../soak/mutants/route.sed) options=(--seed 3 --ops 6000 --sandboxes 16 --every 100)
	if [ -n "${LONG:-}" ]; then
		files=("$BATS_TEST_DIRNAME"/../soak/mutants/*.sed)
		options=(--seed 1 --ops 60000 --sandboxes 64 --every 300 --streams 16)
	fi
	for file in "${files[@]}"; do
		mutant "$(basename "$file" .sed)"
		run --separate-stderr "$RUN" "${options[@]}" --discard
		[ "$status" -eq 1 ] || fail "$file: $output"
		assert_json '.wrong_execution + .ran_after_refusal + .ran_twice + .not_refused + .late_change > 0'
	done
}

@test "a soak of everything: nothing at a wrong execution, nothing after a refusal, nothing twice, no byte lost" {
	local options=(--seed "${SEED:-1}" --ops 20000 --sandboxes 100 --every 300)
	[ -z "${LONG:-}" ] || options=(--seed "${SEED:-1}" --ops 1000000 --sandboxes 300 --every 400 --streams 24)
	run --separate-stderr "$RUN" "${options[@]}"
	[ "$status" -eq 0 ] || fail "$output $stderr"
	assert_json '.operations >= 20000 and .ok > .operations / 2 and .excused_share < 0.75 and .stood > 0'
}
