# Attacks on the way to the bridge and on the bridge (04-bridge), performed; next to each that the honest path is
# served. Each must end in its exact reason, by its exact check, with no byte of the operation at the attacker's end.
# The VMM, the guest and the attestor have files of their own; the matrix of all stands in space-path(7).
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2119,SC2120,SC2154
load helper
load attack

setup() {
	world
	served
	fresh
}

teardown() {
	stop_all
	rows_stand
}

# turning HOW: an honest bridge that will turn on SIGUSR1 (tests/preload/turn.c).
turning() {
	mkfifo "$W/done"
	stop host
	start_host env LD_PRELOAD="$ROOT/build/preload/turn.so" TURN_HOW="$1" TURN_PATH="$BRIDGE" TURN_DONE="$W/done" \
		TURN_LOOT="$LOOT" TURN_PROGRAM="$FIXTURES/attacks"
	again
	served
	fresh
}

# turns: it does so now.
turns() {
	kill -USR1 "$HOST"
	from "$W/done"
}

@test "bridge path unlinked and bound again" {
	mv "$BRIDGE" "$W/aside" # the inode stays taken
	impostor "$BRIDGE"
	caught listener-replaced bridge-path sbx-manager
	assert_equal "$(cat "$LOOT")" ""
	stop impostor
	mv -f "$W/aside" "$BRIDGE"
	served
}

@test "bridge path bound again, with the inode of the old socket" {
	mv "$BRIDGE" "$W/aside"
	impostor "$BRIDGE"
	replant bridge
	caught peer-credentials bridge-peer-credentials sbx-manager
	loot accepted
}

@test "bridge path swapped between check and connection" {
	stop_point connect
	fresh "${STOP[@]}"
	impostor "$W/impostor.sock"
	ask_aside
	await_stop
	mv "$BRIDGE" "$W/aside"
	mv "$W/impostor.sock" "$BRIDGE"
	go_on
	answered
	is_served # by the bridge that was checked
	assert_equal "$(cat "$LOOT")" ""
	matrix served bridge-connect sbx-manager
	fresh
	caught listener-replaced bridge-path sbx-manager
}

@test "bridge path swapped back and forth, as fast as can be" {
	local round missed='' passed=''
	impostor "$W/impostor.sock"
	start swapper "$FIXTURES/attacks" exchange "$BRIDGE" "$W/impostor.sock"
	for ((round = 0; round < 2000; round++)); do
		run --separate-stderr spacebridge attest --sandbox s-42 --connect
		case $status in
		0) passed=1 ;;
		11)
			missed=1
			assert_json '.reason == "listener-replaced"'
			;;
		*) fail "exit code $status: $output" ;;
		esac
		[ "$round" -lt 20 ] || [ -z "$passed" ] || [ -z "$missed" ] || break
	done
	assert [ -n "$passed" ] && assert [ -n "$missed" ]
	assert_equal "$(cat "$LOOT")" ""
	matrix listener-replaced bridge-path attest
}

@test "symbolic link at the bridge path" {
	mv "$BRIDGE" "$W/aside"
	ln -s ../../aside "$BRIDGE"
	caught listener-replaced bridge-path sbx-manager
	rm "$BRIDGE"
	mv "$W/aside" "$BRIDGE"
	served
}

@test "symbolic link on the way to the bridge path" {
	mv "$W/run/bridge" "$W/run/elsewhere"
	ln -s elsewhere "$W/run/bridge"
	caught listener-replaced bridge-path sbx-manager
	rm "$W/run/bridge"
	mv "$W/run/elsewhere" "$W/run/bridge"
	served
}

@test "hard link to the bridge's socket" {
	ln "$BRIDGE" "$W/second"
	caught listener-replaced bridge-path sbx-manager
	rm "$W/second"
	served
}

@test "abstract socket of the bridge path's name" {
	socat -u "ABSTRACT-LISTEN:$BRIDGE,fork" "OPEN:$LOOT,append" 3>&- &
	echo $! >"$BATS_TEST_TMPDIR/impostor.pid"
	eventually listens "@$BRIDGE"
	served # a path is a file, never a name
	assert_equal "$(cat "$LOOT")" ""
	run --separate-stderr spacebridge attest --enroll --bridge-pid "$HOST" --bridge "@$BRIDGE"
	assert_failure 1
	matrix served bridge-path sbx-manager
}

@test "bridge killed" {
	stop host KILL
	caught listener-replaced bridge-connect sbx-manager
}

@test "bridge killed and its pid taken by another process" {
	as_root
	stop host KILL
	rm "$BRIDGE"
	start taker "$FIXTURES/attacks" retake "$HOST" "$BRIDGE" "$LOOT"
	replant bridge
	caught bridge-process bridge-peer-process sbx-manager
}

@test "bridge traced" {
	strace -qq -f -o /dev/null -e trace=none -p "$HOST" 3>&- &
	tracer=$!
	eventually grep -q "^TracerPid:.$tracer" "/proc/$HOST/status"
	caught bridge-process bridge-tracer sbx-manager
	kill "$tracer"
	wait "$tracer" || true
	served
}

@test "bridge restarted by somebody, the same program at the same path" {
	stop host KILL
	start_host
	replant bridge
	caught peer-credentials bridge-peer-credentials sbx-manager
	again
	served
}

@test "bridge whose connection ends in another VMM" {
	start other "$FIXTURES/bridge" --listen "$W/other.sock" --greeting OK
	stop host
	start host "$FIXTURES/bridge" --listen "$BRIDGE" --vmm "$W/other.sock" --log "$LOOT" --epoch 2
	HOST=$STARTED
	again
	caught listener-replaced vmm-peer-socket sbx-manager
}

@test "somebody who is not the manager at the bridge" {
	run "$FIXTURES/talk" "$BRIDGE" all
	assert_output '{"bridge":"refused","reason":"bridge-executable"}'
	matrix bridge-executable client-executable spaced-host
	served
}

@test "forked child of the bridge accepts" {
	turning fork
	turns
	caught listener-owner bridge-peer-held sbx-manager
}

@test "leaked listener of the bridge on which another process calls listen()" {
	turning relisten
	turns
	caught peer-credentials bridge-peer-credentials sbx-manager
}

@test "bridge executes its own program anew" {
	turning exec
	turns
	caught bridge-process bridge-start sbx-manager
}

@test "bridge executes another program" {
	turning become
	turns
	caught bridge-process bridge-start sbx-manager
}

# turns_at COUNT: the manager stops at its COUNT-th look at an mm pin, the bridge turns, the manager goes on.
turns_at() {
	stop_point image "$1"
	fresh "${STOP[@]}"
	ask_aside
	await_stop
	turns
	go_on
	answered
}

@test "bridge executes while it is being pinned" {
	turning exec
	turns_at 2 # 1: the level
	is_caught bridge-process bridge-start sbx-manager
}

@test "bridge executes in the middle of the checks, everything else proven" {
	turning exec
	turns_at 4 # 3: the VMM, while the bridge is at work
	is_caught bridge-process bridge-image sbx-manager
}

@test "bridge becomes another program in the middle of the checks" {
	turning become
	turns_at 4 # 3: the VMM, while the bridge is at work
	is_caught bridge-process bridge-image sbx-manager
}

@test "every row of the matrix in space-path(7) is of an attack that is performed" {
	page_rows | cut -f 3 | sort -u >"$W/page"
	[ -s "$W/page" ]
	run grep -vxFf <(sed -n 's/^@test "\(.*\)" {$/\1/p' "$ROOT"/tests/bats/attacks*.bats) "$W/page"
	assert_failure 1
	assert_output ''
}
