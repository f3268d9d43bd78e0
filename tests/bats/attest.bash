# A bridge and a VMM to attest: the stand-ins of tests/fixtures, in a world of the test's own. For attest*.bats.
# shellcheck shell=bash disable=SC2016,SC2034,SC2119,SC2120,SC2154

# setup of the files that load this: a bridge and a VMM stand.
attest_world() {
	cd "$BATS_TEST_TMPDIR" || return
	world=$PWD
	mkdir -p run/bridge
	level=$(spacebridge attest --pid $$ | jq -r .level)
	printf '%s\n' '[space]' "state_dir = $world" "run_dir = $world/run" '[bridge]' "min_level = $level" \
		'connect_timeout_ms = 20000' >space.ini
	export SPACE_CONFIG=$world/space.ini
	uds=$world/v.sock api=$world/api.sock bridge=$world/run/bridge/s-42.sock
	start agent "$FIXTURES/echo" agent.sock
	start_vmm
	start_bridge
}

start_vmm() {
	start vmm "$FIXTURES/vmm" --uds "$uds" --guest "$world/agent.sock" --cid 42 --api "$api" --log "$world/vmm.log" "$@"
	vmm_pid=$STARTED
}

start_bridge() {
	start bridge "$FIXTURES/bridge" --listen "$bridge" --vmm "$uds" --port 5005 --log "$world/bridge.log" "$@"
	bridge_pid=$STARTED
}

enroll() {
	spacebridge attest --enroll --sandbox s-42 --bridge-pid "$bridge_pid" --vmm-pid "$vmm_pid" --vsock "$uds" --api "$api" \
		"$@"
}

ROUTE='{"execution":7,"worker":"a","substrate":"host","activation":"act-1","attempt":1}'

# patience MILLISECONDS: what is waited for from now on. A second is long enough for who is well, but not on every
# machine: evidence is taken before.
patience() { sed -i "s/^connect_timeout_ms.*/connect_timeout_ms = $1/" space.ini; }

# installed [FILTER]: what is enrolled now, changed by a jq filter, becomes the record of s-42.
installed() {
	enroll | jq -c ". + {sandbox: \"s-42\", owner: \"op\", route: $ROUTE} | ${1:-.}" >record.json
	spaceid install <record.json >installed.json
}

# judged ARGS: attest's line in $output. denied CHECK REASON: it was denied by this check.
judged() { run --separate-stderr spacebridge attest --sandbox s-42 "$@"; }
denied() {
	assert_equal "$status" 11
	assert_json --arg check "$1" --arg reason "$2" \
		'.decision == "deny" and .reason == $reason and ([.checks[] | select(.ok | not)][0].name) == $check'
}
matched() {
	assert_equal "$status" 0
	assert_json '.decision == "match" and (has("reason") | not) and ([.checks[].ok] | all)'
}
