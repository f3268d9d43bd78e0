# Sandboxes whose streams end in a stand-in for the guest. With manager.bash.
# shellcheck shell=bash disable=SC2034,SC2119,SC2120,SC2154

# Bridges get network namespaces of their own, as the units give them, where that may be.
ALONE=()
! unshare --net true 2>/dev/null || ALONE=(unshare --net --)

# agent_guest NAME CID: a VMM with an agent behind it, which is enrolled, and a bridge.
agent_guest() {
	local name=$1 cid=$2 agent=$W/$1.agent vmm=$W/$1.vsock
	start "agent-$name" spacebridge guest --listen "unix:$agent" --root "$W" --cid "$cid" --key "$W/$name.key"
	start "vmm-$name" "$FIXTURES/vmm" --uds "$vmm" --guest "$agent" --cid "$cid"
	START_IN=("${ALONE[@]}")
	start "host-$name" spacebridge host "$name" --audit "$W/$name.audit"
	START_IN=()
	record "$name" "$cid"
}

# guest NAME CID: then, under the key that the agent was given, what plays the guest's end of streams takes its place.
guest() {
	local name=$1 cid=$2 agent=$W/$1.agent
	agent_guest "$@"
	stop "agent-$name"
	start "guest-$name" "$FIXTURES/bridge" --listen "$agent" --greeting '' --guest-key "$W/$name.key" --cid "$cid" \
		--log "$W/$name.log"
}

# record NAME CID [JQ-FILTER]: installs the route so changed, with the evidence of what runs.
record() {
	jq -nc --arg name "$1" --argjson route "$ROUTE" "{sandbox:\$name,route:(\$route|${3:-.}),owner:\"op-1\"}" >"$W/bare"
	spacebridge attest --enroll --sandbox "$1" --bridge-pid "$(cat "$BATS_TEST_TMPDIR/host-$1.pid")" \
		--vmm-pid "$(cat "$BATS_TEST_TMPDIR/vmm-$1.pid")" --vsock "$W/$1.vsock" --cid "$2" --record "$W/bare" \
		>"$W/$1.record" || fail "enroll: $(cat "$W/$1.record")"
	spaceid install <"$W/$1.record" >/dev/null
}

# requests NAME HOW COUNT: so many lines that open a stream.
requests() {
	local cap i
	cap=$(mint 'tree.*' --sandbox "$1")
	for ((i = 0; i < $3; i++)); do
		wire "r$i" tree.get "$cap" "{\"open\":\"$2\"}" "$1"
	done
}
