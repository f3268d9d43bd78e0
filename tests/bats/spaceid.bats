#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2154
# spaceid compare: the comparison as a filter, of two files, against the store, and for people.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	selected='{"sandbox":"s-42","route":{"execution":7,"worker":"worker-a","substrate":"kubernetes","pod_uid":"0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b","activation":"act-19","attempt":1}}'
	installed="${selected%\}},\"state\":\"active\"}"
}

# line SELECTED INSTALLED [USE]
line() {
	printf '{"selected":%s,"installed":%s%s}\n' "$1" "$2" "${3:+,\"use\":\"$3\"}"
}

@test "compare decides every vector as expected, and exits 11 for the denials among them" {
	jq -c .case "$VECTORS/compare.jsonl" >cases
	spaceid compare <cases >out 2>err || status=$?
	assert_equal "$status" 11
	run -0 cat err
	assert_output ""
	jq -cS .expect "$VECTORS/compare.jsonl" >expected
	jq -cS '{decision,reason,differs,behind} | with_entries(select(.value != null))' out >got
	run -0 diff expected got
	# What came in goes out, in order, with nothing but the decision added.
	jq -cS 'del(.decision,.reason,.differs,.behind)' out >kept
	run -0 diff <(jq -cS . cases) kept
	run -0 wc -l <kept
	assert_output 120
}

@test "compare says match and exits 0 when both sides name the same execution" {
	run -0 spaceid compare < <(line "$selected" "$installed")
	assert_json '.decision == "match" and .differs == [] and (has("reason") or has("behind") | not)'
}

@test "compare says the receiver is behind when the installed execution is lower" {
	run -10 spaceid compare < <(line "${selected/:7/:8}" "$installed")
	assert_json '.decision == "refresh-route" and .reason == "execution" and .behind == "receiver" and .differs == ["execution"]'
}

@test "compare says the caller is behind when the installed execution is higher" {
	run -10 spaceid compare < <(line "${selected/:7/:6}" "$installed")
	assert_json '.decision == "refresh-route" and .reason == "execution" and .behind == "caller" and .differs == ["execution"]'
}

@test "compare denies another sandbox without a word about what differs" {
	run -11 spaceid compare < <(line "${selected/s-42/s-43}" "${installed/:7/:8}")
	assert_json '.decision == "deny" and .reason == "sandbox" and (has("differs") or has("behind") | not)'
}

@test "compare says absent when there is no record, and retired before anything that differs" {
	run -10 spaceid compare < <(line "$selected" null)
	assert_json '.decision == "refresh-route" and .reason == "absent" and (has("differs") | not)'
	run -10 spaceid compare < <(line "${selected/:7/:6}" "${installed/active/retired}")
	assert_json '.decision == "refresh-route" and .reason == "retired" and .differs == ["execution"] and (has("behind") | not)'
}

@test "compare lets an established gateway stream outlive an attempt, and no other use" {
	local second=${selected/\"attempt\":1/\"attempt\":2}
	run -0 spaceid compare < <(line "$second" "$installed" established-gateway)
	assert_json '.decision == "match" and .differs == ["attempt"]'
	run -10 spaceid compare < <(line "$second" "$installed" established-control)
	assert_json '.reason == "attempt"'
	run -10 spaceid compare < <(line "$second" "$installed" open)
	assert_json '.reason == "attempt"'
	run -10 spaceid compare < <(line "$second" "$installed")
	assert_json '.reason == "attempt"'
}

@test "compare takes state as active when it is not given, and never looks at an owner" {
	run -0 spaceid compare < <(line "$selected" "$selected")
	run -0 spaceid compare < <(line "$selected" "${selected%\}},\"owner\":\"op-9\"}")
}

@test "compare answers a malformed side as a bad record in its place, never with a decision" {
	local bad
	for bad in "${selected/\"attempt\":1/\"attempt\":0}" "${selected/kubernetes/vm}" '{}' '7' 'null' \
		"${selected/\"attempt\":1/\"attempt\":1,\"more\":1}" "${selected/\"sandbox\":\"s-42\",/}" \
		"${selected/act-19/-x}" "${selected/:7/:7.0}" "${selected/0b9f/0B9F}"; do
		run -3 spaceid compare < <(line "$bad" "$installed" && line "$selected" "$installed")
		assert_equal "$(jq -r '.error // .decision' <<<"$output" | tr '\n' ' ')" "bad-record match "
		assert_equal "$(jq -r .line <<<"${lines[0]}")" 1
	done
	run -3 spaceid compare < <(line "$selected" '{"sandbox":"s-42"}')
	run -3 spaceid compare < <(line "$selected" "${installed/active/paused}")
	run -3 spaceid compare < <(line "$selected" "$installed" opened)
	run -3 spaceid compare < <(line "$selected" "$installed" | sed 's/^{/{"decision":"match",/')
	run -3 spaceid compare <<<"{\"selected\":$selected}"
	assert_json '.message == "`installed` is missing (null: no record)"'
}

@test "compare takes two files, and a record as show prints it" {
	echo "$selected" >selected.json
	echo "${installed/:7/:8}" >installed.json
	run -10 spaceid compare --selected selected.json --installed installed.json
	assert_json '.reason == "execution" and .behind == "caller"'
	run -0 spaceid install --records records <<<"${selected%\}},\"owner\":\"op-7\"}"
	spaceid show --records records s-42 >installed.json
	run -0 spaceid compare --selected selected.json --installed installed.json --use established-gateway
	assert_json '.decision == "match" and .use == "established-gateway"'
}

@test "compare --records takes installed from the store" {
	run -0 spaceid install --records records <<<"${selected%\}},\"owner\":\"op-7\"}"
	run -0 spaceid compare --records records <<<"{\"selected\":$selected}"
	assert_json '.decision == "match"'
	run -10 spaceid compare --records records <<<"{\"selected\":${selected/:7/:8}}"
	assert_json '.reason == "execution" and .behind == "receiver"'
	run -10 spaceid compare --records records <<<"{\"selected\":${selected/s-42/s-43}}"
	assert_json '.reason == "absent"'
	run -0 spaceid retire --records records --sandbox s-42 --execution 7
	run -10 spaceid compare --records records <<<"{\"selected\":$selected}"
	assert_json '.reason == "retired"'
	run -3 spaceid compare --records records < <(line "$selected" "$installed")
	assert_json '.error == "bad-record"'
	echo "$selected" >selected.json
	run -10 spaceid compare --records records --selected selected.json
	assert_json '.reason == "retired"'
}

@test "compare exits 11 over 10, and 3 over both" {
	local deny refresh
	deny=$(line "${selected/s-42/s-43}" "$installed") refresh=$(line "$selected" null)
	run -11 spaceid compare <<<"$refresh"$'\n'"$deny"
	run -3 spaceid compare <<<"$refresh"$'\n'"$deny"$'\n{}'
	assert_equal "${#lines[@]}" 3
}

@test "compare shows people both sides, what differs, who is behind and what to do next" {
	run -10 spaceid compare -o table < <(line "${selected/:7/:8}" "$installed")
	assert_line --regexp '^! +execution +8 +7$'
	assert_line --regexp '^ +worker +worker-a +worker-a$'
	assert_line 'refresh-route: execution (use: open)'
	assert_line 'behind: the receiver (selected 8, installed 7)'
	assert_line "next: this worker's record is older than what was selected: the newer execution was not installed here, or runs elsewhere; see both sides"
	assert_line '      $ sandbox status s-42'
	run -11 spaceid compare -o table < <(line "${selected/s-42/s-43}" "$installed")
	assert_line --regexp '^! +sandbox +s-43 +s-42$'
	assert_line 'deny: sandbox (use: open)'
	run -10 spaceid compare -o table < <(line "$selected" null)
	assert_line --regexp '^! +state +no record$'
	run -3 --separate-stderr spaceid compare -o table <<<'{}'
	assert_equal "$stderr" 'spaceid: compare: line 1: `installed` is missing (null: no record)'
}

@test "compare colours what differs only when it is asked to or speaks to a terminal" {
	run -10 spaceid compare -o table --color=always < <(line "${selected/:7/:8}" "$installed")
	assert_output --partial $'\033[31m!  execution'
	run -10 spaceid compare -o table < <(line "${selected/:7/:8}" "$installed")
	refute_output --partial $'\033'
}

@test "compare wants --selected with exactly one of --installed and --records" {
	run -2 spaceid compare --selected a.json
	run -2 spaceid compare --installed a.json
	run -2 spaceid compare --selected a --installed b --records c
	run -2 spaceid compare --use open
	run -1 spaceid compare --selected missing.json --installed missing.json
	assert_output 'spaceid: compare: missing.json: No such file or directory'
	mkfifo fifo
	run -1 spaceid compare --selected fifo --installed fifo
	assert_output 'spaceid: compare: fifo: not a regular file'
}

@test "a misspelt verb and option suggest the nearest" {
	run -2 spaceid compere
	assert_output --partial 'compare'
	run -2 spaceid compare --instaled x
	assert_output --partial 'installed'
}

@test "a line spelled unusually is compared as its usual spelling is, to the byte" {
	jq -c .case "$VECTORS/compare.jsonl" >usual
	line "$selected" '{"sandbox":"s-42"}' >>usual
	spaceid compare <usual >expected || assert_equal $? 3
	sed 's/^{/{ /' usual >unusual
	run spaceid compare <unusual
	assert_equal "$status" 3
	run -0 diff expected - <<<"$output"
}

@test "with --jobs lines stay in order, and are compared as by one thread, also against a store" {
	local jobs
	jq -c '.case, .case, .case' "$VECTORS/compare.jsonl" >cases
	spaceid compare <cases >one || assert_equal $? 11
	jq -c '.selected + {owner: "op-1"}' cases | sort -u | head -n 2 | spaceid install --records store >installed || true
	jq -c 'del(.installed)' cases >sides
	spaceid compare --records store <sides >stored || assert_equal $? 10
	for jobs in 1 2 5 0; do
		run spaceid compare --jobs "$jobs" <cases
		assert_equal "$status" 11
		run -0 diff one - <<<"$output"
		run spaceid compare --jobs "$jobs" --records store <sides
		assert_equal "$status" 10
		run -0 diff stored - <<<"$output"
	done
	run -2 spaceid compare --jobs 65 </dev/null
	run -2 spaceid compare --jobs 2 --selected cases --installed cases
	assert_output --partial '--jobs is for the filter'
}
