#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2154
# What a record keeps of its last changes, and how show and compare put it on a terminal of 80 columns.
load helper

setup() { cd "$BATS_TEST_TMPDIR" || return; }

UID_A=0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b
UID_B=1c8fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b

# rec EXECUTION [ATTEMPT [POD_UID [MORE]]]: a record to install
rec() {
	printf '{"sandbox":"s-42","route":{"execution":%s,"worker":"worker-a","substrate":"kubernetes","pod_uid":"%s","activation":"act-19","attempt":%s},"owner":"op-7"%s}\n' \
		"$1" "${3:-$UID_A}" "${2:-1}" "${4:-}"
}
given() { rec "$@" | spaceid install --records records >/dev/null; }
change() { spaceid "$@" --records records --sandbox s-42 >/dev/null; }
history() { spaceid show --history --records records s-42 | jq -c ".history | $1"; }
undated='map(del(.at) | walk(if type == "object" then del(.fenced_at) else . end))'

# on_terminal COMMAND...: what it writes to a terminal of 80 columns, without the terminal's CR
on_terminal() {
	command -v script >/dev/null || skip_or_fail script
	script -qec "stty cols 80; $*" /dev/null </dev/null | tr -d '\r'
}

@test "a record keeps each change: when, its epoch, its effect, and from what to what" {
	given 7
	change fence --cut
	given 7 2
	given 7 2 "$UID_A" ',"bridge":{"pid":7},"guest":{"id":"g-1"}'
	change handoff --from op-7 --owner op-8
	given 8 1 "$UID_B"
	change retire --execution 8
	run -0 history "$undated | .[]"
	assert_output '{"epoch":1,"version":1,"effect":"installed","from":null,"to":{"execution":7,"worker":"worker-a","substrate":"kubernetes","pod_uid":"0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b","activation":"act-19","attempt":1,"owner":"op-7","state":"active"}}
{"epoch":1,"version":2,"effect":"fenced","from":{},"to":{"cut_version":2}}
{"epoch":2,"version":3,"effect":"attempt-only","from":{"attempt":1},"to":{"attempt":2}}
{"epoch":2,"version":4,"effect":"evidence","from":{},"to":{"evidence":"bridge,guest"}}
{"epoch":2,"version":5,"effect":"handoff","from":{"owner":"op-7"},"to":{"owner":"op-8"}}
{"epoch":3,"version":6,"effect":"replaced","from":{"execution":7,"pod_uid":"0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b","attempt":2,"owner":"op-8","cut_version":2,"evidence":"bridge,guest"},"to":{"execution":8,"pod_uid":"1c8fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b","attempt":1,"owner":"op-7"}}
{"epoch":4,"version":7,"effect":"retired","from":{"state":"active"},"to":{"state":"retired"}}'
	run -0 history 'map(.at | fromdate | now - . < 60) | all'
	assert_output true
	# What changes nothing is no change.
	given 8 1 "$UID_B" || true
	change retire --execution 8
	run -0 history length
	assert_output 7
}

@test "only the last 32 changes are kept, and each still knows from what to what" {
	for execution in $(seq 1 40); do rec "$execution"; done | spaceid install --records records >/dev/null
	run -0 history '[length, .[0].from, .[0].to, .[-1].from, .[-1].to]'
	assert_output '[32,{"execution":8},{"execution":9},{"execution":39},{"execution":40}]'
}

@test "show and list print records without their history, as ever, unless they are asked for it" {
	given 7
	run -0 spaceid show --records records s-42
	assert_json 'has("history") | not'
	run -0 spaceid list --records records
	assert_json 'has("history") | not'
	run -0 jq -c '.history | map(del(.at))' records/s-42.json
	assert_output '[{"epoch":1,"version":1,"effect":"installed"}]'
}

@test "a record of a version that kept none is read, and its history begins with the next change" {
	given 7
	jq -c 'del(.history)' records/s-42.json >old
	cp old records/s-42.json
	run -0 history .
	assert_output '[]'
	run -0 spaceid show -o table --history --records records s-42
	assert_line 'last change: not kept (an older version wrote this record)'
	jq -c '{selected: {sandbox, route}}' old >selected
	run -0 spaceid compare --records records <selected
	given 8
	run -0 history "$undated"
	assert_output '[{"epoch":2,"version":2,"effect":"replaced","from":{"execution":7},"to":{"execution":8}}]'
}

@test "a pruning takes the history with the record" {
	given 7
	change retire --execution 7
	change prune --no-routes --older-than 0
	given 8
	run -0 history 'map(.effect)'
	assert_output '["installed"]'
}

@test "a record that leaves no room keeps less history, and is installed all the same" {
	given 7
	for attempt in 2 3 4; do given 7 $attempt; done
	given 8 1 "$UID_A" ",\"bridge\":{\"note\":\"$(printf '%065000d' 0)\"}"
	run -0 history 'map(.effect)'
	assert_output '["attempt-only","replaced"]'
	run -0 test "$(stat -c %s records/s-42.json)" -le 65536
}

@test "evidence is in a history by its name alone" {
	given 7 1 "$UID_A" ',"bridge":{"exe":"/opt/private/bridge"},"guest":{"id":"g-77"}'
	given 8
	run -0 jq -c .history records/s-42.json
	refute_output --partial private
	refute_output --partial g-77
	assert_output --partial '"evidence":"bridge,guest"'
}

@test "a history that is none makes the record a bad one" {
	given 7
	cp records/s-42.json good
	for damage in '.history[0].effect = "hacked"' '.history[0].at = "today"' '.history[0].was = {execution: []}' \
		'.history = [range(33)]' '.history[0].more = 1' '.history[0].epoch = 0' '.history = {}'; do
		jq -c "$damage" good >records/s-42.json
		run -3 spaceid show --records records s-42
		assert_output --partial 'spaceid: show: records: '
	done
}

@test "show --history for people: what is stored, each change, whether it is in force, what to do" {
	given 7
	given 8
	run -0 spaceid show -o table --history --records records s-42
	at=$(jq -r '.history[1].at' records/s-42.json) first=$(jq -r '.history[0].at' records/s-42.json)
	assert_output "field             value
v                 1
sandbox           s-42
route.execution   8
route.worker      worker-a
route.substrate   kubernetes
route.pod_uid     $UID_A
route.activation  act-19
route.attempt     1
epoch             2
version           2
state             active
owner             op-7
installed_at      $at

at                    epoch  effect     what changed
$at  2      replaced   execution 7 -> 8
$first  1      installed  execution 7, worker worker-a, substrate kubernetes, pod_uid $UID_A, activation act-19, attempt 1, owner op-7, state active

in force: yes
last change: replaced at $at: execution 7 -> 8
next: nothing: it is what receivers go by"
	change retire --execution 8
	run -0 spaceid show -o table --records records s-42
	assert_line 'next: this execution is over here: resolve the route again; if the registry still names it, publish its successor or retire the route'
	assert_line '      $ spacerouted resolve s-42'
}

@test "show says when receivers refuse a record, and how to take it away" {
	given 7
	jq -c '.version = 9' records/s-42.json >changed
	cp changed records/s-42.json
	run -0 spaceid show -o table --records records s-42
	assert_line 'in force: no, the page says epoch 1, version 1'
	assert_line '      $ spaceid export --sandbox s-42 FILE'
	rm records/.page
	run -0 spaceid show -o table --records records s-42
	assert_line 'in force: no, the page is missing, old or damaged (the next change makes it anew)'
}

@test "compare fits a terminal of 80 columns, cuts nothing, and marks what differs" {
	given 8 1 "$UID_B"
	rec 7 | jq -c '{selected: {sandbox, route}}' >selected
	run -0 on_terminal "NO_COLOR=1 spaceid compare --records records <selected"
	assert_output '               selected                         installed
   sandbox     s-42                             s-42
   state                                        active
   substrate   kubernetes                       kubernetes
!  execution   7                                8
   worker      worker-a                         worker-a
!  pod_uid     0b9fa3b1-3d4e-4f50-8a6b-         1c8fa3b1-3d4e-4f50-8a6b-
               7c8d9e0f1a2b                     7c8d9e0f1a2b
   activation  act-19                           act-19
   attempt     1                                1
refresh-route: execution (use: open)
behind: the caller (selected 7, installed 8)
next: the caller'\''s route is older than what runs here: resolve it again; if the
      registry still names the older one, publish the newer
      $ spacerouted resolve s-42'
	run -0 on_terminal "spaceid compare --records records <selected"
	assert_line $'\033[31m!  execution   7                                8\033[0m'
	run -0 on_terminal "spaceid compare --color never --records records <selected"
	refute_output --partial $'\033'
	# In a pipe it is JSON, and has none.
	run -10 spaceid compare --records records <selected
	assert_json '.decision == "refresh-route" and .behind == "caller"'
	refute_output --partial $'\033'
}

@test "show --history fits a terminal of 80 columns" {
	given 7
	given 8 1 "$UID_B"
	run -0 on_terminal "spaceid show --history --color never --records records s-42"
	run -0 awk 'length > 80' <<<"$output"
	assert_output ""
}
