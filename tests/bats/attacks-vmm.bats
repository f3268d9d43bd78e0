# Attacks on the VMM and its VSOCK socket (04-bridge), performed; see attacks.bats.
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

# misbehaving HOW [OPTION...]: a VMM that was honest when it was enrolled, and has just done HOW.
misbehaving() {
	mkfifo "$W/done"
	stop vmm
	start_vmm --misbehave "$1" --done "$W/done" "${@:2}"
	again
	served
	fresh
	kill -USR1 "$VMM"
	from "$W/done"
}

@test "VMM's listener passed to another process that accepts" {
	start taker "$FIXTURES/taker" "$W/taker.sock" "$LOOT"
	misbehaving pass-listener --pass-to "$W/taker.sock"
	caught listener-owner vmm-peer-held spaced-host
	assert_equal "$(cat "$LOOT")" "CONNECT 5005"
}

@test "forked child of the VMM accepts" {
	misbehaving fork-accept
	caught listener-owner vmm-peer-held spaced-host
}

@test "leaked listener of the VMM on which another process calls listen()" {
	misbehaving relisten
	caught peer-credentials vmm-peer-credentials spaced-host
}

@test "VMM executes its own program anew" {
	misbehaving re-exec
	caught vmm-process vmm-start spaced-host
}

@test "VMM executes another program" {
	misbehaving become --program "$FIXTURES/attacks" --loot "$LOOT"
	caught vmm-process vmm-start spaced-host
}

# executing_at COUNT HOW [OPTION...]: the bridge stops at its COUNT-th look at an mm pin, the VMM executes HOW, the bridge
# goes on.
executing_at() {
	mkfifo "$W/done"
	stop_point image "$1"
	stop vmm
	start_vmm --misbehave "$2" --done "$W/done" "${@:3}"
	stop host
	start_host "${STOP[@]}"
	again
	ask_aside
	await_stop
	kill -USR1 "$VMM"
	from "$W/done"
	go_on
	answered
}

@test "VMM executes while it is being pinned" {
	executing_at 4 re-exec # 1: the level; 2, 3: the manager
	is_caught vmm-process vmm-start spaced-host
}

@test "VMM executes in the middle of the checks, everything else proven" {
	executing_at 5 re-exec
	is_caught vmm-process vmm-image spaced-host
}

@test "VMM becomes another program in the middle of the checks" {
	executing_at 5 become --program "$FIXTURES/attacks" --loot "$LOOT"
	is_caught vmm-process vmm-image spaced-host
}

@test "VMM's pid reused in the same tick, with the same program, stack and path" {
	as_root
	stop vmm
	rm -f "$UDS"
	start vmm "$FIXTURES/attacks" same-tick "$UDS" "$LOOT"
	reinstall ".vmm = $(cat "$BATS_TEST_TMPDIR/vmm.out")"
	replant vmm
	caught vmm-process vmm-peer-process spaced-host
}

@test "VMM's program deleted, replaced or touched on disk" {
	cp "$FIXTURES/vmm" "$W/program"
	stop vmm
	start vmm "$W/program" --uds "$UDS" --guest "$W/agent.sock" --cid 42 --api "$API" --log "$W/vmm.log"
	VMM=$STARTED
	again
	served
	touch "$W/program"
	fresh
	served # it runs the bytes that were enrolled
	run bash -c 'echo x >>"$1"' - "$W/program"
	assert_failure
	assert_output --partial 'Text file busy'
	fresh
	served
	rm "$W/program"
	fresh
	served
	cp /bin/true "$W/program"
	fresh
	served
	matrix served vmm-executable spaced-host
}

@test "VMM forges its /proc/<pid>/exe" {
	as_root
	mkfifo "$W/forge"
	stop vmm
	start vmm env LD_PRELOAD="$ROOT/build/preload/forge.so" FORGE_PATH="$UDS" FORGE_LOG="$LOOT" \
		FORGE_EXE="$FIXTURES/vmm" FORGE_FIFO="$W/forge" "$(command -v sleep)" 1000
	enroll_vmm "$STARTED"
	echo >"$W/forge"
	from "$W/forge"
	assert_equal "$(readlink "/proc/$STARTED/exe")" "$(readlink -f "$FIXTURES/vmm")"
	caught vmm-executable vmm-executable spaced-host
}

@test "impostor whose /proc/<pid>/exe is forged to be the VMM's program" {
	as_root
	mv "$UDS" "$W/aside"
	start impostor env LD_PRELOAD="$ROOT/build/preload/forge.so" FORGE_PATH="$UDS" FORGE_LOG="$LOOT" \
		FORGE_EXE="$FIXTURES/vmm" "$(command -v sleep)" 1000
	assert_equal "$(readlink "/proc/$STARTED/exe")" "$(readlink -f "$FIXTURES/vmm")"
	replant vmm
	caught peer-credentials vmm-peer-credentials spaced-host
}

@test "impostor by LD_PRELOAD inside the VMM's real program" {
	mv "$UDS" "$W/aside"
	start impostor env LD_PRELOAD="$ROOT/build/preload/forge.so" FORGE_PATH="$UDS" FORGE_LOG="$LOOT" "$FIXTURES/vmm"
	assert_equal "$(readlink "/proc/$STARTED/exe")" "$(readlink -f "$FIXTURES/vmm")"
	replant vmm
	caught peer-credentials vmm-peer-credentials spaced-host
}

@test "VMM traced" {
	strace -qq -o /dev/null -e trace=none -p "$VMM" 3>&- &
	tracer=$!
	eventually grep -q "^TracerPid:.$tracer" "/proc/$VMM/status"
	caught vmm-process vmm-tracer spaced-host
	kill "$tracer"
	wait "$tracer" || true
	served
}

@test "VMM traced by one of its threads, not the first" {
	stop vmm
	start_vmm --threads 2
	again
	served
	fresh
	thread=$(printf '%s\n' /proc/"$VMM"/task/* | grep -v "/$VMM\$" | head -n 1)
	strace -qq -o /dev/null -e trace=none -p "${thread##*/}" 3>&- &
	tracer=$!
	eventually grep -q "^TracerPid:.$tracer" "$thread/status"
	assert_equal "$(sed -n 's/^TracerPid:.//p' "/proc/$VMM/status")" 0
	caught vmm-process vmm-tracer spaced-host
	kill "$tracer"
	wait "$tracer" || true
	served
}

@test "VMM of more threads than are looked at" {
	stop vmm
	start_vmm --threads 63
	again
	served
	stop vmm
	mkfifo "$W/done"
	start_vmm --misbehave multiply --threads 63 --done "$W/done"
	again
	served
	fresh
	kill -USR1 "$VMM"
	from "$W/done"
	caught evidence-unavailable vmm-tracer spaced-host
	assert_regex "$(tail -n 1 "$W/host.audit")" 'seen more threads or descriptors than are looked at"'
}

@test "VMM of another sandbox at this path" {
	start other "$FIXTURES/vmm" --uds "$W/other.sock" --guest "$W/agent.sock" --cid 43 --log "$LOOT"
	mv "$UDS" "$W/aside"
	mv "$W/other.sock" "$UDS"
	caught listener-replaced vmm-path spaced-host
	mv "$W/aside" "$UDS"
	served
}

@test "stale VMM of the last execution at the path of the new one" {
	local uds=$UDS
	mv "$BATS_TEST_TMPDIR/vmm.pid" "$BATS_TEST_TMPDIR/old.pid"
	UDS=$W/new.sock API=$W/new-api.sock
	start_vmm
	ROUTE=$(jq -c '.execution = 8 | .activation = "act-8"' <<<"$ROUTE")
	again
	served
	fresh
	mv "$UDS" "$W/aside"
	mv "$uds" "$UDS"
	caught listener-replaced vmm-path spaced-host
}

@test "VMM that does not answer CONNECT as it must" {
	local how
	# The bridge alone has little patience.
	sed 's/^connect_timeout_ms.*/connect_timeout_ms = 200/' "$W/space.ini" >"$W/host.ini"
	stop host
	start_host env "SPACE_CONFIG=$W/host.ini"
	again
	for how in no-answer notok overlong unended split ok-close hang-up late; do
		stop vmm
		start_vmm --misbehave "$how" --delay 1000
		enroll_vmm "$VMM"
		: >"$W/vmm.log"
		ask
		assert_json '.status == "error" and (.error == "transport" or .error == "timeout") and .sent == false'
		nothing_got
	done
	matrix transport vmm-answer spaced-host
}

@test "VMM that exits while a request is in flight" {
	# The link has to stand before: a guest that is stopped proves nothing on a new one.
	served
	kill -STOP "$(cat "$BATS_TEST_TMPDIR/guest.pid")"
	ask_aside
	eventually grep -q "$MARK" "$W/vmm.log"
	kill -KILL "$VMM"
	answered
	assert_json '.status == "error" and .error == "transport" and .sent == true'
	kill -CONT "$(cat "$BATS_TEST_TMPDIR/guest.pid")"
	caught listener-replaced vmm-connect spaced-host
}

@test "VMM that leaves its namespaces" {
	as_root
	local kind
	for kind in net mnt; do
		stop vmm
		mkfifo "$W/gate-$kind"
		start vmm "$FIXTURES/attacks" leave "$W/gate-$kind" "$kind" "$UDS" "$LOOT"
		enroll_vmm "$STARTED"
		echo >"$W/gate-$kind"
		from "$W/gate-$kind"
		caught vmm-process vmm-namespaces spaced-host
	done
}
