#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2154
# What surrounds the measuring programs: the table, the comparison with an earlier run, the pictures. Never a time.
load helper

setup() {
	mkdir -p "$BATS_TEST_TMPDIR/tests/bench" "$BATS_TEST_TMPDIR/build/bench"
	cd "$BATS_TEST_TMPDIR" || return
	cp "$ROOT"/tests/bench/{run,table.jq,plot} tests/bench
}

# program NAME COMMAND...: a measuring program that does this.
program() {
	: >"tests/bench/bench_$1.c"
	printf '#!/bin/sh\n%s\n' "$2" >"build/bench/bench_$1"
	chmod +x "build/bench/bench_$1"
}

# puts VALUE RATIO MET: a program that prints a figure beside a peer, one without, and a curve.
puts() {
	printf "cat <<'END'\n%s\nEND\n" '{"bench":"move","value":'"$1"',"unit":"us","peer":"socat","peer_value":8,"ratio":'"$2"',"target":"<= 1.2","met":'"$3"'}
{"bench":"moves","value":900,"unit":"/s","target":">= 800","met":true}
{"plot":"records","curve":"look","at":10,"value":2,"unit":"us"}
{"plot":"records","curve":"look","at":100000,"value":'"$1"',"unit":"us"}'
}

@test "make bench: a row a figure with its target, a row a curve, and what is left out" {
	program one "$(puts 12 1.5 false)
echo 'bench_one: no socat: its figures are left out' >&2"
	program two 'echo "{\"bench\":\"start\",\"value\":1,\"unit\":\"ms\",\"target\":\"<= 2\",\"met\":true}"; exit 3'
	run -0 --separate-stderr tests/bench/run
	assert_output 'figure  value   peer   its value  ratio  target
move    12 us   socat  8 us       1.5    <= 1.2  MISSED
moves   900 /s  -      -          -      >= 800  met
start   1 ms    -      -          -      <= 2    met

cost of one  with so many  unit  points
look         records       us    10: 2   100000: 12

3 figures, 1 MISSED

left out, or failed:
bench: two failed (3)
bench_one: no socat: its figures are left out'
	run -0 jq -rc '.program // .machine.cpus' build/bench.json
	assert_output "$(nproc)
one
one
one
one
two"
}

@test "make bench BASE=: beside an earlier run, also the one that this run replaces" {
	program one "$(puts 8 1 true)"
	run -0 --separate-stderr tests/bench/run -o json
	assert_equal "$(jq -sc 'map(.value)' <<<"$output")" '[null,8,900,2,8]'
	program one "$(puts 12 1.5 false)"
	program two 'echo "{\"bench\":\"start\",\"value\":1,\"unit\":\"ms\",\"target\":\"<= 2\",\"met\":true}"'
	run -0 --separate-stderr tests/bench/run -b build/bench.json
	assert_output 'figure  value   peer   its value  ratio  target          before  change
move    12 us   socat  8 us       1.5    <= 1.2  MISSED  1       +50%    WORSE
moves   900 /s  -      -          -      >= 800  met     900     0%
start   1 ms    -      -          -      <= 2    met     -       new

cost of one  with so many  unit  change  points
look         records       us    +25%    10: 2   100000: 12

3 figures, 1 MISSED'
	run -2 --separate-stderr tests/bench/run -b tests/bench/run
	assert_equal "$stderr" 'bench: tests/bench/run: not the lines of an earlier run: print one with -o json'
	run -2 --separate-stderr tests/bench/run -b nowhere
	assert_equal "$stderr" 'bench: nowhere: no such file: an earlier run, printed with -o json'
}

@test "a program of those named runs alone, and the others' last figures stay" {
	program one "$(puts 8 1 true)"
	program two 'echo "{\"bench\":\"start\",\"value\":1,\"unit\":\"ms\",\"target\":\"<= 2\",\"met\":true}"'
	run -0 --separate-stderr tests/bench/run
	program one "$(puts 12 1.5 false)"
	run -0 --separate-stderr tests/bench/run -o json one
	assert_equal "$(jq -sc 'map(.program)' <<<"$output")" '[null,"one","one","one","one"]'
	assert_equal "$(jq -sc 'map(.value)' build/bench.json)" '[null,12,900,2,12,1]'
}

@test "a picture of a curve: along 1 where it is flat" {
	run -0 tests/bench/plot . <<-'END'
		{"machine":{"cpus":2}}
		{"bench":"move","value":3,"unit":"us","target":"<= 4","met":true}
		{"plot":"some <records>","curve":"flat & cheap","at":10,"value":3,"unit":"us"}
		{"plot":"some <records>","curve":"flat & cheap","at":1000,"value":3,"unit":"us"}
		{"plot":"some <records>","curve":"linear","at":10,"value":0.5,"unit":"ms"}
		{"plot":"some <records>","curve":"linear","at":1000,"value":50,"unit":"ms"}
	END
	run -0 grep -E '<(title|path d=.*fill="none"|text x="582")' 'some-<records>.svg'
	assert_output '<title>some &lt;records&gt;</title>
<path d="M60.0 184.0L540.0 184.0" fill="none" stroke="#1f77b4" stroke-width="2"/>
<text x="582" y="66">flat &amp; cheap</text>
<text x="582" y="79" fill="#777">3 to 3 us</text>
<path d="M60.0 184.0L540.0 62.5" fill="none" stroke="#d62728" stroke-width="2"/>
<text x="582" y="96">linear</text>
<text x="582" y="109" fill="#777">0.5 to 50 ms</text>'
}
