# Guests that are another one, and VMMs that lead to another one (04-bridge, Verify 7), performed; see attacks.bats.
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

# restart_guest [OPTION...]
restart_guest() {
	stop guest
	start_guest "$@"
}

# restart_vmm [OPTION...]: another VMM in front of the same guest, enrolled, with a manager that has no link yet.
restart_vmm() {
	stop vmm
	start_vmm "$@"
	enroll_vmm "$VMM"
	fresh
}

# snapshot FILE: what a snapshot of the guest's memory would hold of its identity.
snapshot() { cp -p "$W/guest.key" "$1"; }

@test "guest of another CID" {
	restart_guest --cid 43
	caught guest-identity guest-hello spaced-host
	restart_guest
	served
}

@test "VMM whose API tells another CID than is enrolled" {
	stop vmm
	start_vmm --config-cid 43
	run --separate-stderr enroll --cid 42
	assert_failure 11
	assert_equal "$stderr" "spacebridge: attest: vmm: cid 42 was given, the VMM says 43"
	# Its guest has 42, and proves it: what the VMM says must not be recorded.
	run --separate-stderr enroll --record - < <(jq -nc "{sandbox:\"s-42\",owner:\"op\",route:$ROUTE}")
	assert_failure 11
	spacebridge attest --enroll --vmm-pid "$VMM" --vsock "$UDS" --api "$API" >"$W/vmm.json"
	reinstall ".vmm = $(jq -c '.vmm | .cid = 42' "$W/vmm.json")"
	served # by the guest of CID 42, whatever the VMM says
	run --separate-stderr spacebridge attest --sandbox s-42 --connect
	assert_failure 11
	assert_json '.reason == "guest-identity" and ([.checks[] | select(.ok | not)] | length == 1 and .[0].name == "vmm-cid")'
	matrix guest-identity vmm-cid attest
}

@test "VMM whose API tells another VSOCK path than is enrolled" {
	stop vmm
	start_vmm --config-uds "$W/other.sock"
	again
	served # the VMM is the one that was enrolled
	run --separate-stderr spacebridge attest --sandbox s-42 --connect
	assert_failure 11
	assert_json '.reason == "listener-owner" and ([.checks[] | select(.ok | not)] | length == 1 and .[0].name == "vmm-uds-path")'
	matrix listener-owner vmm-uds-path attest
}

@test "guest with the key of before its resume" {
	snapshot "$W/old.key"
	ROUTE=$(jq -c '.execution = 8 | .activation = "act-8"' <<<"$ROUTE")
	again
	served
	fresh
	snapshot "$W/new.key"
	restart_guest --key "$W/old.key"
	caught guest-identity guest-hello spaced-host
	restart_guest --key "$W/new.key"
	served
}

@test "clone of the guest, once the other has its next key" {
	snapshot "$W/clone.key"
	start clone spacebridge guest --listen "unix:$W/clone.sock" --root "$W/tree" --cid 42 --key "$W/clone.key"
	again # the first of the two is rekeyed
	served
	fresh
	mv "$W/agent.sock" "$W/aside"
	mv "$W/clone.sock" "$W/agent.sock"
	caught guest-identity guest-hello spaced-host
	mv "$W/aside" "$W/agent.sock"
	served
}

# proven SANDBOX: does the guest behind its VMM prove that it is the one of this sandbox?
proven() {
	run --separate-stderr spacebridge attest --sandbox "$1" --connect
	jq -c '.checks[] | select(.name == "guest-hello") | .ok' <<<"$output"
}

@test "two restores of one snapshot, each behind the VMM of the other" {
	local key
	key=$W/state/records/guest-keys/$(jq -r .guest.id "$W/record")
	snapshot "$W/second.key"
	ROUTE=$(jq -c '.execution = 8 | .activation = "act-8"' <<<"$ROUTE")
	again
	start second spacebridge guest --listen "unix:$W/second.sock" --root "$W/tree" --cid 42 --key "$W/second.key"
	start second-vmm "$FIXTURES/vmm" --uds "$W/v2.sock" --guest "$W/second.sock" --cid 42 --log "$W/vmm.log"
	jq -nc "{sandbox:\"s-43\",owner:\"op\",route:$ROUTE}" |
		spacebridge attest --enroll --sandbox s-43 --vmm-pid "$STARTED" --vsock "$W/v2.sock" --cid 42 \
			--guest-key "$key" --record - | spaceid install
	served
	fresh
	assert_equal "$(proven s-42) $(proven s-43)" 'true true'
	mv "$W/agent.sock" "$W/aside"
	mv "$W/second.sock" "$W/agent.sock"
	mv "$W/aside" "$W/second.sock"
	assert_equal "$(proven s-42) $(proven s-43)" 'false false'
	caught guest-identity guest-hello spaced-host
}

@test "guest that replays a recorded hello" {
	restart_vmm --heard "$W/heard"
	served
	grep -m 1 '"guest":"hello"' "$W/heard" >"$W/recorded"
	fresh
	stop guest
	start replay "$FIXTURES/attacks" replay "$W/agent.sock" "$W/recorded" "$LOOT"
	caught guest-identity guest-hello spaced-host
	run grep -c '"guest":"hello"' "$LOOT"
	assert_output 1
	stop replay
	start_guest
	served
}

@test "VMM that joins the connection to another one of its guest's" {
	restart_vmm --misbehave other-number
	caught guest-identity guest-hello spaced-host
}

@test "VMM that adds a guest's words of its own behind OK" {
	restart_vmm --misbehave coalesced --early '{"guest":"hello","mac":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}'$'\n'
	caught guest-identity guest-hello spaced-host
}

@test "guest without the key" {
	restart_guest --key "$W/none.key"
	caught guest-identity guest-hello spaced-host
}
