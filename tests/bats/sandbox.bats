# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2154
# bin/sandbox: the lifecycle in its safe order, each step repeated after a failure, and where it stands.
load helper
load path

setup() {
	WORLD=$BATS_TEST_TMPDIR
	world_make
	world_vmm one
}

teardown() {
	world_end
	stop_all
}

# steps: what the last command did, a word each.
steps() {
	jq -r '"\(.step) \(.at) \(.effect)"' <<<"$output"
}

# break_at TOOL VERB [WORD]: from now on this verb (with this word among its arguments) fails, without doing anything.
break_at() {
	local real=${SPACE_BIN:-$ROOT/build/bin}
	mkdir "$WORLD/tools"
	ln -s "$real"/* "$WORLD/tools"
	rm "$WORLD/tools/$1"
	cat >"$WORLD/tools/$1" <<-SCRIPT
		#!/bin/sh
		case "\$* " in
		"$2 "*"${3:-}"*) echo "$1: $2: broken on purpose" >&2; exit 1 ;;
		esac
		exec "$real/$1" "\$@"
	SCRIPT
	chmod +x "$WORLD/tools/$1"
	broken=$WORLD/tools
}

mend() {
	rm -rf "$WORLD/tools"
	unset broken
}

# try COMMAND...: with what break_at broke.
try() {
	SPACE_BIN=${broken:-${SPACE_BIN:-}} "$@"
}

activate() {
	world_activate s-42 7 a one "$@"
}

prepare() {
	sandbox resume s-42 --prepare --from-config "$WORLD/a.ini"
}

resume() {
	world_resume s-42 8 b two --from-config "$WORLD/a.ini" "$@"
}

# epoch WORKER: of the record there.
epoch() {
	spaceid show -c "$WORLD/$1.ini" s-42 -o json | jq .epoch
}

status() {
	run "$@" sandbox status s-42 --worker-config "$WORLD/b.ini" --from-config "$WORLD/a.ini" -o json
	jq -r .next <<<"$output"
}

hostname() {
	node-api < <(echo '{"op":"file.read","sandbox":"'"${1:-s-42}"'","args":{"path":"/etc/hostname"}}') | jq -r '.result.text // .reason'
}

@test "activate makes a started VMM servable, and when it is repeated changes nothing" {
	run -0 --separate-stderr activate
	run -0 steps
	assert_output - <<-STEPS
		bridge worker-a started
		install worker-a installed
		check worker-a match
		publish control replaced
	STEPS
	assert_equal "$(hostname)" one
	local before
	before=$(spaceid show -c "$WORLD/a.ini" s-42 -o json; spacerouted resolve s-42 -o json)
	run -0 activate
	run -0 steps
	assert_output $'install worker-a none\ncheck worker-a match\npublish control none'
	assert_equal "$(spaceid show -c "$WORLD/a.ini" s-42 -o json; spacerouted resolve s-42 -o json)" "$before"
}

@test "activate can be repeated after a failure at each of its steps" {
	local place number=0
	for place in 'spacebridge host' 'spacebridge attest --record' 'spaceid install' 'spacebridge attest --connect' \
		'spacerouted publish'; do
		number=$((number + 1))
		world_vmm "g$number"
		# shellcheck disable=SC2086
		break_at $place
		run -1 --separate-stderr try world_activate "s-$number" 7 a "g$number"
		[[ $stderr == *'broken on purpose'* || $stderr == *'it has ended'* ]] || fail "$place: $stderr"
		run -1 spacerouted resolve "s-$number"
		mend
		run -0 world_activate "s-$number" 7 a "g$number"
		run -0 steps
		assert_line 'publish control replaced'
		assert_equal "$(hostname "s-$number")" "g$number"
	done
}

@test "a VMM that is not what was said is not enrolled, and nothing is installed" {
	run -11 --separate-stderr sandbox activate s-42 --execution 7 --worker-config "$WORLD/a.ini" --cid 3 \
		--vmm-pid "$(cat "$WORLD/guest-one.pid")" --uds-path "$WORLD/vmm-one.sock"
	assert_output --partial '"step":"bridge"'
	assert_equal "${stderr_lines[-1]}" 'sandbox: activate: enroll at worker-a'
	run -1 spaceid show -c "$WORLD/a.ini" s-42
	run -0 activate
	run -0 steps
	assert_line -n 0 'bridge worker-a none'
}

@test "a VMM that was started again needs the next attempt" {
	activate >/dev/null
	stop vmm-one
	rm -f "$WORLD"/{vmm,api}-one.sock
	start vmm-one "$FIXTURES/vmm" --uds "$WORLD/vmm-one.sock" --guest "$WORLD/guest-one.sock" --cid 3 --api "$WORLD/api-one.sock"
	run -14 --separate-stderr activate
	assert_equal "${stderr_lines[-1]}" 'sandbox: activate: install at worker-a: other evidence than recorded for this route; what was started again is --attempt 2'
	run -0 activate --attempt 2
	run -0 steps
	assert_output - <<-STEPS
		bridge worker-a started
		install worker-a attempt-only
		check worker-a match
		publish control attempt-only
	STEPS
	assert_equal "$(hostname)" one
}

@test "another execution is a conflict, and what is in service goes on" {
	local wrong='sandbox: activate: install at worker-a: it has execution 7, act-7, attempt 1, active'
	activate >/dev/null
	run -14 --separate-stderr world_activate s-42 6 a one
	assert_equal "$stderr" "$wrong: only a higher execution can follow"
	run -14 --separate-stderr world_activate s-42 7 a one --activation act-8
	assert_equal "$stderr" "$wrong: the same one with a higher attempt, or a higher execution, can follow"
	run -14 --separate-stderr world_activate s-42 8 a one
	assert_equal "$stderr" 'sandbox: activate: execution 7 on worker-a has the route: resume, or retire it first'
	spacerouted retire --sandbox s-42 --execution 7 >/dev/null
	run -14 --separate-stderr world_activate s-42 8 a one
	assert_equal "$stderr" "$wrong: resume --prepare ends it"
	assert_output ''
	run -0 spacebridge attest -c "$WORLD/a.ini" --sandbox s-42 --connect
	assert_equal "$(epoch a)" 1
}

@test "resume fences first, then activates, then retires the old execution" {
	activate >/dev/null
	run -0 prepare
	run -0 steps
	assert_output 'fence worker-a fenced'
	run -0 status -0
	assert_output --regexp '^served by worker-a; capabilities issued up to .* are void: resume, when that was for a snapshot$'
	world_vmm two
	run -0 resume
	run -0 steps
	assert_output - <<-STEPS
		bridge worker-b started
		install worker-b installed
		check worker-b match
		publish control replaced
		retire worker-a retired
		bridge worker-a ended
	STEPS
	assert_equal "$(hostname)" two
	run -0 status -0
	assert_output 'served by worker-b'
	# All of it again: nothing is left to do.
	run -0 prepare
	assert_output --partial '"effect":"none"'
	run -0 resume
	run -0 steps
	assert_output $'install worker-b none\ncheck worker-b match\npublish control none'
}

@test "a guest that comes with its snapshot is resumed under its predecessor's key, and under no other" {
	local id
	activate >/dev/null
	prepare >/dev/null
	id=$(spaceid show -c "$WORLD/a.ini" s-42 -o json | jq -r .guest.id)
	cp "$WORLD/a/records/guest-keys/$id" "$WORLD/snapshot.key"
	# The same guest, behind another VMM.
	stop vmm-one
	start vmm-two "$FIXTURES/vmm" --uds "$WORLD/vmm-two.sock" --guest "$WORLD/guest-one.sock" --cid 3 --api "$WORLD/api-two.sock"
	run -11 --separate-stderr resume
	[[ $stderr == *'this guest has a key already'* ]] || fail "$stderr"
	run -1 spaceid show -c "$WORLD/b.ini" s-42
	run -0 resume --guest-key "$WORLD/snapshot.key"
	assert_equal "$(hostname)" one
}

@test "resume can be repeated after a failure at each of its steps" {
	local place number=0
	for place in 'spacebridge host' 'spacebridge attest --record' 'spaceid install' 'spacebridge attest --connect' \
		'spacerouted publish' 'spaceid retire'; do
		number=$((number + 1))
		world_vmm "a$number"
		world_vmm "b$number"
		world_activate "s-$number" 7 a "a$number" >/dev/null
		sandbox resume "s-$number" --prepare --from-config "$WORLD/a.ini" >/dev/null
		# shellcheck disable=SC2086
		break_at $place
		run -1 --separate-stderr try world_resume "s-$number" 8 b "b$number" --from-config "$WORLD/a.ini"
		# Never is the old one retired before the new one has its route.
		if [ "$place" != 'spaceid retire' ]; then
			assert_equal "$(spaceid show -c "$WORLD/a.ini" "s-$number" -o json | jq -r .state)" active
			assert_equal "$(spacerouted resolve "s-$number" -o json | jq .route.execution)" 7
		fi
		mend
		run -0 world_resume "s-$number" 8 b "b$number" --from-config "$WORLD/a.ini"
		run -0 steps
		assert_line 'retire worker-a retired'
		assert_equal "$(hostname "s-$number")" "b$number"
	done
}

@test "resume refuses to go on when the old execution was not fenced" {
	activate >/dev/null
	world_vmm two
	run -1 --separate-stderr resume
	assert_output ''
	assert_equal "$stderr" 'sandbox: resume: worker-a still serves execution 7: first resume --prepare, then take the snapshot (or --from-lost, when worker-a cannot be reached)'
	run -1 spaceid show -c "$WORLD/b.ini" s-42
	assert_equal "$(hostname)" one
}

@test "resume without the old worker leaves it to be told later" {
	activate >/dev/null
	world_vmm two
	run -0 world_resume s-42 8 b two --from-lost
	run -0 steps
	assert_line -n -1 'publish control replaced'
	run -0 status -0
	assert_output 'served by worker-b; worker-a still has execution 7: retire it there'
	run -0 sandbox retire s-42 --execution 7 --worker-config "$WORLD/a.ini"
	run -0 steps
	assert_output $'retire control none\nretire worker-a retired\nbridge worker-a ended'
	assert_equal "$(hostname)" two
}

@test "resume on the same worker replaces the bridge" {
	activate >/dev/null
	run -0 prepare
	world_vmm two
	run -0 world_resume s-42 8 a two
	run -0 steps
	assert_output - <<-STEPS
		bridge worker-a started
		install worker-a replaced
		check worker-a match
		publish control replaced
		retire worker-a none
	STEPS
	assert_equal "$(hostname)" two
	assert_equal "$(world_bridges | wc -l)" 1
}

@test "retire takes route, record and bridge away, and may be repeated" {
	activate >/dev/null
	local bridge
	bridge=$(world_bridges)
	run -0 sandbox retire s-42 --execution 7 --worker-config "$WORLD/a.ini"
	run -0 steps
	assert_output $'retire control retired\nretire worker-a retired\nbridge worker-a ended'
	await_end "$bridge"
	assert_equal "$(hostname)" absent
	run -0 sandbox retire s-42 --execution 7 --worker-config "$WORLD/a.ini"
	run -0 steps
	assert_output $'retire control none\nretire worker-a none'
	run -0 status -10
	assert_output 'not active: activate'
}

@test "retire can be repeated after a failure in between" {
	activate >/dev/null
	break_at spaceid retire
	run -1 try sandbox retire s-42 --execution 7 --worker-config "$WORLD/a.ini"
	mend
	run -0 status -10
	assert_output 'worker-a still has execution 7, and there is no route: repeat activate, or retire it'
	run -0 sandbox retire s-42 --execution 7 --worker-config "$WORLD/a.ini"
	run -0 steps
	assert_output $'retire control none\nretire worker-a retired\nbridge worker-a ended'
}

@test "a late retirement of 7 harms 8 neither in the registry nor on its worker" {
	activate >/dev/null
	prepare >/dev/null
	world_vmm two
	world_resume s-42 8 a two >/dev/null
	run -0 sandbox retire s-42 --execution 7 --worker-config "$WORLD/a.ini"
	run -0 steps
	assert_output $'retire control none\nretire worker-a none'
	assert_equal "$(hostname)" two
}

@test "handoff changes the owner of a kubernetes resident, and nothing else" {
	activate --substrate kubernetes --pod-uid 0b9f0000-0000-4000-8000-000000000000 --owner op-7 >/dev/null
	run -0 sandbox handoff s-42 --from op-7 --owner op-8 --worker-config "$WORLD/a.ini"
	run -0 steps
	assert_output 'handoff worker-a handoff'
	assert_equal "$(spaceid show -c "$WORLD/a.ini" s-42 -o json | jq -r '"\(.owner) \(.epoch)"')" 'op-8 1'
	assert_equal "$(hostname)" one
	run -14 --separate-stderr sandbox handoff s-42 --from op-7 --owner op-9 --worker-config "$WORLD/a.ini"
	assert_output ''
}

@test "status says what is installed but not published" {
	break_at spacerouted publish
	run -1 try activate
	mend
	run -0 status -10
	assert_output 'worker-a still has execution 7, and there is no route: repeat activate, or retire it'
}

@test "status says when the route points to a worker that does not serve it" {
	activate >/dev/null
	spaceid retire -c "$WORLD/a.ini" --sandbox s-42 --execution 7 >/dev/null
	run -0 status -10
	assert_output 'routed to execution 7 on worker-a, which does not serve that: activate it there, or retire the route'
}

@test "status says when the bridge that was enrolled has ended" {
	activate >/dev/null
	kill -KILL "$(cut -d ' ' -f 1 "$WORLD/a/run/bridge/s-42.pid")"
	bridge_gone() { [ "$(spacebridge attest -c "$WORLD/a.ini" --sandbox s-42 -o json | jq -r .reason)" = bridge-process ]; }
	eventually bridge_gone
	run -10 sandbox status s-42 --worker-config "$WORLD/a.ini" -o json
	assert_json '.served == false and .workers[0].decision == "match" and .workers[0].attest == "bridge-process"'
	assert_json '.next | startswith("worker-a has the route'"'"'s execution, but denies requests with bridge-process: ")'
}

@test "status says which worker cannot be asked" {
	activate >/dev/null
	world_vmm two
	world_resume s-42 8 b two --from-lost >/dev/null
	run -0 --separate-stderr sandbox status s-42 --worker-config "$WORLD/b.ini" --from-config "$WORLD/a.ini" --from-run false -o json
	assert_json '.served == true and .workers[1] == {"worker":"the old worker","decision":"unknown"} and
		.next == "served by worker-b; the old worker cannot be asked"'
	run -10 --separate-stderr sandbox status s-42 --worker-config "$WORLD/b.ini" --worker-run false -o json
	assert_json '.next == "the worker cannot be asked; routed to execution 8 on worker-b"'
}

@test "status shows a table to people" {
	activate >/dev/null
	run -0 sandbox status s-42 --worker-config "$WORLD/a.ini" -o table
	assert_output - <<-TABLE
		at           execution  state     activation   attempt epoch  owner
		route                7  worker-a  act-7              1        
		  revision 2
		worker-a             7  active    act-7              1     1  act-7
		  against the route: match
		served by worker-a
	TABLE
}

@test "a worker elsewhere is reached by a command, its bridge is given" {
	printf '#!/bin/sh\necho "$*" >>"%s"\nexec "$@"\n' "$WORLD/there.log" >"$WORLD/there"
	chmod +x "$WORLD/there"
	run -2 --separate-stderr activate --worker-run "$WORLD/there"
	assert_equal "$stderr" 'sandbox: activate: with --worker-run the bridge is started there, and --bridge-pid given'
	start bridge spaced-host s-42 -c "$WORLD/a.ini"
	run -0 activate --worker-run "$WORLD/there" --bridge-pid "$STARTED"
	run -0 steps
	assert_output $'install worker-a installed\ncheck worker-a match\npublish control replaced'
	assert_equal "$(grep -c "^spaceid install -c $WORLD/a.ini" "$WORLD/there.log")" 1
	run -1 grep spacerouted "$WORLD/there.log"
	assert_equal "$(hostname)" one
}

@test "what is missing or odd is a usage error, and changes nothing" {
	run -2 sandbox
	run -2 sandbox activat s-42
	run -2 sandbox activate
	run -2 sandbox activate s-42 --execution 7 --worker-config "$WORLD/a.ini"
	run -2 sandbox activate 's 42' --execution 7
	run -2 sandbox activate s-42 --execution seven
	run -2 sandbox activate s-42 --owner 'a"b'
	run -2 sandbox activate s-42 --execution
	run -2 sandbox retire s-42 --worker-config "$WORLD/a.ini"
	run -2 sandbox handoff s-42 --from op-7 --worker-config "$WORLD/a.ini"
	run -2 sandbox status s-42 --worker-config "$WORLD/missing.ini"
	run -2 sandbox status s-42
	assert_output 'sandbox: status: the configuration of the worker has no [space] worker: set it there, or name another one with --worker-config'
	run -1 spaceid show -c "$WORLD/a.ini" s-42
}
