#!/usr/bin/env bats
# tests/lab: one trace under several rules of admission. The example is small enough to be followed by hand.

# shellcheck disable=SC2154

load helper

LAB=$BATS_TEST_DIRNAME/../../build/lab
EXAMPLE=$BATS_TEST_DIRNAME/../lab/example.jsonl

# row RULE WHAT: right, none and the wrong ones of one line of the output.
row() {
	jq -c --arg rule "$1" --arg of "$2" \
		'select(.rule == $rule and .of == $of) | [.right, .none, .wrong.in_place, .wrong.moved, .wrong.unreached]' <<<"$output"
}

@test "the example comes out as it does by hand" {
	local rule requests streams
	run "$LAB" run --trace "$EXAMPLE" -o json
	assert_success
	while read -r rule requests streams; do
		assert_equal "$rule $(row "$rule" requests)" "$rule $requests"
		assert_equal "$rule $(row "$rule" stream-moves)" "$rule $streams"
	done <<-'END'
		execution-bound [5,1,0,0,1] [0,2,0,0,1]
		gateway-generation [6,1,0,0,0] [0,3,0,0,0]
		sandbox-and-port [6,0,1,0,0] [0,2,0,0,1]
		credentials-with-repair [3,0,2,0,2] [0,2,0,0,1]
	END
}

@test "an execution that was told to go gets nothing that is bound to its successor, nor the other way round" {
	local seed
	for seed in 1 2 3; do
		run "$LAB" run --seed "$seed" -o json
		assert_success
		assert_equal "$(row execution-bound requests | jq -c '.[2]')" 0
		assert_equal "$(row execution-bound stream-moves | jq -c '.[2:4]')" '[0,0]'
		assert_equal "$(jq -s '[.[] | select(.of == "requests" and .rule != "execution-bound").wrong.in_place > 0] | all' <<<"$output")" true
	done
}

@test "a trace that was printed is replayed as the one of its seed" {
	"$LAB" trace --seed 9 --events 30000 >"$BATS_TEST_TMPDIR/trace"
	assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/trace")" 30000
	"$LAB" run --seed 9 --events 30000 >"$BATS_TEST_TMPDIR/by-seed"
	run "$LAB" run --trace - <"$BATS_TEST_TMPDIR/trace"
	assert_success
	assert_output "$(cat "$BATS_TEST_TMPDIR/by-seed")"
	run "$LAB" run --seed 10 --events 30000
	refute_output "$(cat "$BATS_TEST_TMPDIR/by-seed")"
}

@test "a line that is no event is named, and ends it" {
	local text message
	while IFS='|' read -r text message; do
		run --separate-stderr "$LAB" run --trace - <<<"$text"
		assert_equal "$status" 3
		assert_equal "$stderr" "lab: line 1: $message"
	done <<-'END'
		{"at":1,"event":"sleep"}|sleep: no such event
		{"at":1,"event":"stop","sandbox":1}|execution is missing
		{"at":1,"event":"stop","sandbox":1,"execution":1,"worker":0}|worker does not belong there
		{"at":1,"event":"stop","sandbox":512,"execution":1}|sandbox is out of range
		{"at":1,"event":"install","sandbox":1,"execution":1,"worker":0,"cause":"rain"}|rain: no such cause
	END
}

@test "the README tells what it prints" {
	run "$LAB" run
	assert_success
	sed -n '/\$ make lab/,/^$/s/^    //p' "$BATS_TEST_DIRNAME/../../README.md" | tail -n +2 | diff - <(printf '%s\n' "$output")
}
