# attest --enroll and the guest: who gets a key, under which, and where it lies (04-bridge, Record).
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2154
load helper

ROUTE='{"execution":7,"worker":"worker-a","substrate":"host","activation":"act-19","attempt":1}'

setup() {
	W=$BATS_TEST_TMPDIR/w
	mkdir -p "$W/tree"
	worker a
	start_agent
	start_vmm
}

teardown() { stop_all; }

# worker NAME: from now on that worker's configuration and state.
worker() {
	mkdir -p "$W/$1"
	printf '%s\n' '[space]' 'worker = worker-a' "state_dir = $W/$1" "run_dir = $W/$1" '[bridge]' \
		'min_level = launch-pidfd' 'connect_timeout_ms = 20000' >"$W/$1/space.ini"
	export SPACE_CONFIG=$W/$1/space.ini
	keys=$W/$1/records/guest-keys
}

start_agent() { start agent spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 42; }

start_vmm() { start vmm "$FIXTURES/vmm" --uds "$W/v.sock" --guest "$W/agent.sock" --cid 42 --log "$W/passed" "$@"; }

# enroll [OPTION...]: a record for the route as it is now, with VMM and guest.
enroll() {
	run --separate-stderr spacebridge attest --enroll --sandbox s-42 --vmm-pid "$(cat "$BATS_TEST_TMPDIR/vmm.pid")" \
		--vsock "$W/v.sock" --cid 42 --record - "$@" \
		< <(jq -nc --argjson route "$ROUTE" '{sandbox:"s-42",route:$route,owner:"op-1"}')
}

# becomes FILTER: the route from now on.
becomes() { ROUTE=$(jq -c "$1" <<<"$ROUTE"); }

# greeted: does a bridge with this worker's record and key come through to this guest?
greeted() {
	sed -i '/manager_exe/d' "$SPACE_CONFIG"
	echo "manager_exe = $FIXTURES/talk" >>"$SPACE_CONFIG"
	start host spacebridge host s-42 --listen "$W/bridge.sock" --audit "$W/audit"
	run timeout 60 "$FIXTURES/talk" "$W/bridge.sock" line
	stop host
}

@test "enroll gives the guest a key, and keeps it in a file of its own, not in the record" {
	enroll
	assert_success
	assert_json '.guest | keys == ["id"] and (.id | test("^[0-9a-f]{32}$"))'
	id=$(jq -r .guest.id <<<"$output")
	spaceid install <<<"$output"
	assert_equal "$(stat -c '%a %s' "$keys/$id")" '600 44'
	assert_equal "$(ls "$keys")" "$id"
	run grep -r "$(cat "$keys/$id")" "$W/a/records" --include='*s-42*'
	assert_failure
	greeted
	assert_json '.bridge == "ready"'
}

@test "a record without a route, or evidence alone, asks nothing of the guest" {
	run --separate-stderr spacebridge attest --enroll --vmm-pid "$(cat "$BATS_TEST_TMPDIR/vmm.pid")" --vsock "$W/v.sock" --cid 42
	assert_success
	assert_json 'keys == ["vmm"]'
	assert_not_exist "$keys"
	[ ! -s "$W/passed" ]
}

@test "to enroll again is to find the same guest, with the same key" {
	enroll
	first=$output
	cp -r "$keys" "$W/before"
	enroll
	assert_success
	assert_equal "$(jq -c .guest <<<"$output")" "$(jq -c .guest <<<"$first")"
	run diff -r "$keys" "$W/before"
	assert_success
}

@test "a next execution on the same worker is rekeyed under the key in force" {
	enroll
	spaceid install <<<"$output"
	becomes '.execution = 8'
	enroll
	assert_success
	spaceid install <<<"$output"
	greeted
	assert_json '.bridge == "ready" and .execution == 8'
}

@test "an enrollment that led to no record leaves a guest that the next one still reaches" {
	enroll
	spaceid install <<<"$output"
	becomes '.attempt = 2'
	enroll
	becomes '.attempt = 3'
	enroll
	becomes '.attempt = 4'
	enroll
	assert_success
	spaceid install <<<"$output"
	greeted
	assert_json '.bridge == "ready" and .epoch == 2'
}

@test "an enrollment that was killed before the guest's answer came is made good by the next one" {
	enroll
	spaceid install <<<"$output"
	stop vmm
	# This VMM takes the bytes to the guest and never says so.
	start_vmm --misbehave coalesced --early 'x'
	becomes '.attempt = 2'
	enroll
	assert_failure
	stop vmm
	start_vmm
	becomes '.attempt = 3'
	enroll
	assert_success
}

@test "on another worker the predecessor's key is needed, and travels in its file" {
	enroll
	cp "$keys/$(jq -r .guest.id <<<"$output")" "$W/snapshot.key"
	worker b
	becomes '.execution = 8'
	enroll
	assert_failure 11
	assert_equal "$stderr" "spacebridge: attest: guest: the guest takes no key from us (--guest-key names the one it has): the guest says: this guest has a key already: a rekey must prove it"
	assert_equal "$(ls "$keys")" ''
	enroll --guest-key "$W/snapshot.key"
	assert_success
	spaceid install <<<"$output"
	greeted
	assert_json '.bridge == "ready" and .execution == 8'
}

@test "the predecessor's key is worthless once the guest has its successor" {
	enroll
	cp "$keys/$(jq -r .guest.id <<<"$output")" "$W/snapshot.key"
	worker b
	becomes '.execution = 8'
	enroll --guest-key "$W/snapshot.key"
	assert_success
	worker c
	becomes '.execution = 9'
	enroll --guest-key "$W/snapshot.key"
	assert_failure 11
	assert_equal "$(ls "$keys")" ''
}

@test "a guest key that others can read is refused before the guest hears of anything" {
	enroll
	cp "$keys/$(jq -r .guest.id <<<"$output")" "$W/snapshot.key"
	: >"$W/passed"
	worker b
	becomes '.execution = 8'
	chmod 644 "$W/snapshot.key"
	enroll --guest-key "$W/snapshot.key"
	assert_failure 3
	[ ! -s "$W/passed" ]
	echo short >"$W/snapshot.key"
	chmod 600 "$W/snapshot.key"
	enroll --guest-key "$W/snapshot.key"
	assert_failure 3
	enroll --guest-key "$W/none"
	assert_failure 1
}

@test "a guest that does not run, and one that is no agent of ours, are no enrollment" {
	stop agent
	enroll
	assert_failure 1
	start agent "$FIXTURES/echo" "$W/agent.sock"
	enroll
	assert_failure 3
	assert_equal "$(find "$keys" -name "[!.]*" -type f | wc -l)" 1
	stop agent
	start_agent
	enroll
	assert_success
	assert_equal "$(find "$keys" -name "[!.]*" -type f | wc -l)" 1
}

@test "a VMM that is not the one enrolled hears no key" {
	enroll
	: >"$W/passed"
	stop vmm
	start_vmm --misbehave fork-accept --done "$W/done"
	mkfifo "$W/done"
	kill -USR1 "$STARTED"
	read -r <"$W/done"
	becomes '.execution = 8'
	enroll
	assert_failure
	[ ! -s "$W/passed" ]
}

@test "attest --connect asks for the hello, and says what came of it" {
	enroll
	spaceid install <<<"$output"
	run --separate-stderr spacebridge attest --sandbox s-42 --connect -o json
	assert_json '.checks | map(select(.name == "guest-hello")) | length == 1 and .[0].ok'
	stop agent
	start_agent
	run --separate-stderr spacebridge attest --sandbox s-42 --connect -o json
	assert_json '.checks | map(select(.name == "guest-hello")) | .[0].ok == false and (.[0].seen | contains("no key"))'
}
