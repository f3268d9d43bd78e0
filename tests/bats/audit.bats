#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2154
# The audit file of a whole machine: who writes which line, rotation under work, floods.
load helper
load man

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	machine
	AUDIT=$MACHINE/var/lib/space/audit.jsonl
}

teardown() {
	[ -z "${asker:-}" ] || kill "$asker" 2>/dev/null || true
	machine_end
	stop_all
}

ask() { node-api <<<"{\"id\":\"$1\",\"op\":\"${2:-ping}\",\"sandbox\":\"${3:-s-42}\",\"args\":{}}"; }

# servers: the pids of all that have the audit file open
servers() { cat "$BATS_TEST_TMPDIR/cache.pid" "$BATS_TEST_TMPDIR/manager.pid"; jq -r .bridge.pid "$MACHINE/var/lib/space/records/s-42.json"; }

# has_open PID FILE: does the process have this very file open?
has_open() { is_not '' find -L "/proc/$1/fd" -maxdepth 1 -samefile "$2" 2>/dev/null; }

@test "rotation under work loses no line and repeats none, in every server that shares the file" {
	local n pid
	mkfifo half
	{
		for n in {1..15}; do ask "a-$n"; done
		echo >half
		for n in {16..40}; do ask "a-$n"; done
	} >answers 2>asker.err 3>&- &
	asker=$!
	from half
	mv "$AUDIT" "$AUDIT.1"
	for pid in $(servers); do kill -HUP "$pid"; done
	for pid in $(servers); do
		# Its file is made by whoever comes first.
		eventually test -e "$AUDIT"
		eventually has_open "$pid" "$AUDIT"
	done
	wait "$asker"
	run jq -rs 'map(.status) | unique | join(",")' answers
	assert_output ok
	ask after
	for role in sbx-manager signer; do
		run jq -rs --arg role "$role" 'map(select(.role == $role and .op == "ping") | .jti) | [length, (unique | length)] | @csv' "$AUDIT.1" "$AUDIT"
		assert_output '41,41'
	done
	# Nobody is left in the old one.
	run -0 jq -rs 'map(select(.op == "ping" and .role == "sbx-manager")) | last | .action' "$AUDIT"
	assert_output passed
	for pid in $(servers); do
		run find -L "/proc/$pid/fd" -maxdepth 1 -samefile "$AUDIT.1"
		assert_output ''
	done
}

@test "the signer, the gateway and the guest's agent take up a new file on SIGHUP too" {
	local name
	start signer spacecap agent --listen "$MACHINE/run/signer.sock" --audit signer.audit
	start gateway spacebridge gateway s-42 --listen "unix:$MACHINE/run/gateway.sock" --audit gateway.audit
	start agent spaced-guest --listen "unix:$MACHINE/run/agent.sock" --root / --cid 4 --audit agent.audit
	for name in signer gateway agent; do
		mv "$name.audit" "$name.audit.1"
		kill -HUP "$(cat "$BATS_TEST_TMPDIR/$name.pid")"
		timeout 20 bash -c 'until [ -e "$1" ]; do :; done' - "$name.audit"
		has_open "$(cat "$BATS_TEST_TMPDIR/$name.pid")" "$name.audit"
	done
}

@test "a refusal for another execution tells both, who is behind, and what was done, at the manager" {
	ask one >/dev/null
	jq -c '.route.execution = 8' record.json | spaceid install >/dev/null
	run -10 ask two
	run -0 jq -c 'select(.role == "sbx-manager" and .decision == "refresh-route") | [.sandbox, .op, .reason, .behind, .action, .route.execution, .installed.route.execution, .installed.epoch, .installed.state]' "$AUDIT"
	assert_line -n 0 '["s-42","ping","execution","caller","refused",7,8,2,"active"]'
	spaceid retire --sandbox s-42 --execution 8 >/dev/null
	run -10 ask three
	run -0 jq -c 'select(.role == "sbx-manager" and .reason == "retired") | .installed.state' "$AUDIT"
	assert_line -n 0 '"retired"'
}

@test "each change of a record, a route or a grant is a line: who, what, from what came of it" {
	jq -c '.route.execution = 8' record.json | spaceid install >/dev/null
	run -14 spaceid install < <(jq -c . record.json)
	spaceid fence --sandbox s-42 --cut >/dev/null
	run -14 spaceid handoff --sandbox s-42 --from op-1 --owner op-2
	spaceid retire --sandbox s-42 --execution 8 >/dev/null
	spaceid prune --no-routes --older-than 0 >/dev/null
	run -14 spaceid fence --sandbox s-42
	run -0 jq -c --arg me "uid:$(id -u)" 'select(.role == "spaceid" and .caller == $me) | [.op, .action, .epoch, .route.execution, .installed.route.execution, .installed.state, .note]' "$AUDIT"
	assert_output '["install","installed",1,7,7,"active",null]
["install","replaced",2,8,8,"active",null]
["install","conflict",2,7,8,"active","a higher execution is installed"]
["fence","fenced",2,null,8,"active","cut"]
["handoff","conflict",2,null,8,"active","substrate host has no handoff"]
["retire","retired",3,null,8,"retired","execution 8"]
["prune","pruned",3,null,null,null,null]
["fence","conflict",null,null,null,null,"no record"]'
	spacerouted grant --principal uid:77 --sandbox 's-4*' --ops ping >/dev/null
	spacerouted revoke --principal uid:77 >/dev/null
	spacerouted retire --sandbox s-42 --execution 7 >/dev/null
	run -14 spacerouted retire --sandbox s-42 --execution 9
	run -0 jq -c 'select(.role == "spacerouted") | [.op, .sandbox, .action, .route.execution, .note]' "$AUDIT"
	assert_output "[\"grant\",\"s-42\",\"granted\",null,\"uid:$(id -u)\"]
[\"publish\",\"s-42\",\"replaced\",7,null]
[\"grant\",\"s-4*\",\"granted\",null,\"uid:77\"]
[\"revoke\",null,\"revoked\",null,\"uid:77\"]
[\"retire\",\"s-42\",\"retired\",null,null]
[\"retire\",\"s-42\",\"conflict\",null,\"the current execution is 7, not 9\"]"
}

@test "a change that cannot be written down is not made" {
	local before
	before=$(spaceid show s-42)
	mkdir audit.d
	run -1 spaceid retire --audit audit.d --sandbox s-42 --execution 7
	assert_output 'spaceid: retire: nothing was changed: audit file: audit.d: Is a directory'
	assert_equal "$(spaceid show s-42)" "$before"
	run -1 spacerouted retire --audit audit.d --sandbox s-42 --execution 7
	run -0 spacerouted resolve s-42
}

@test "a flood of bad lines is a few lines and a count, and what is decided meanwhile stands there" {
	ask before >/dev/null
	# A step of talk's is one write of 4 KiB at the most.
	local steps=()
	for _ in {1..15}; do steps+=(send "$(yes '{"op":"nonsense"}' | head -n 200)\n"); done
	run -0 "$FIXTURES/talk" "$MACHINE/run/space/manager.sock" "${steps[@]}" shut all
	assert_equal "${#lines[@]}" 3000
	run -0 ask after
	# The manager counts the rest at the end of its second.
	eventually is 3000 jq -s 'map(select(.role == "sbx-manager" and .error == "bad-record") | .repeated // 1) | add' "$AUDIT"
	run -0 jq -s 'map(select(.error == "bad-record")) | length < 300' "$AUDIT"
	assert_output true
	run -0 jq -r 'select(.role == "sbx-manager" and .op == "ping").action' "$AUDIT"
	assert_output 'passed
passed'
}
