#!/bin/bash
# streams.sh up DIR COUNT | request DIR N | down DIR: a worker with COUNT sandboxes, each with bridge, VMM and what sends
# back all that a stream brings it, for bench_streams. `request` prints the line that opens a stream in the N-th. It is
# good for as many streams as are opened within two minutes.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
fixtures=$root/build/fixtures
PATH=$root/build/bin:$PATH
dir=$2
export SPACE_CONFIG=$dir/space.ini
route='{"execution":7,"worker":"worker-a","substrate":"host","activation":"act-1","attempt":1}'

# As the units do; without the right to, all bridges share one network namespace, and looking up costs what all of them have.
alone=(unshare --net --)
"${alone[@]}" true 2>/dev/null || alone=()

# start NAME COMMAND...; where: what it is run by.
start() {
	local name=$1
	shift
	"${where[@]}" "$fixtures/await-ready" -o "$dir/$name.out" -e "$dir/$name.err" -p "$dir/$name.pid" -- "$@"
}
where=()

sandbox() {
	local n=$1 agent=$dir/run/$1.agent vsock=$dir/run/$1.vsock cid=$((10 + $1)) pid
	start "agent-$n" spacebridge guest --listen "unix:$agent" --root "$dir/tree" --cid "$cid" --key "$dir/$n.key"
	start "vmm-$n" "$fixtures/vmm" --uds "$vsock" --guest "$agent" --cid "$cid"
	where=("${alone[@]}")
	start "host-$n" spacebridge host --sandbox "s-$n" --audit "$dir/log/audit"
	where=()
	printf '{"sandbox":"s-%s","owner":"op-1","route":%s}\n' "$n" "$route" |
		spacebridge attest --enroll --sandbox "s-$n" --bridge-pid "$(cat "$dir/host-$n.pid")" \
			--vmm-pid "$(cat "$dir/vmm-$n.pid")" --vsock "$vsock" --cid "$cid" --record - |
		spaceid install >/dev/null
	pid=$(cat "$dir/agent-$n.pid")
	kill "$pid"
	"$fixtures/await-end" "$pid"
	start "agent-$n" "$fixtures/bridge" --listen "$agent" --greeting '' --guest-key "$dir/$n.key" --cid "$cid"
}

up() {
	local n
	mkdir -p "$dir"/{run,tree,log}
	printf '%s\n' '[space]' 'worker = worker-a' "state_dir = $dir/state" "run_dir = $dir/run" \
		'[bridge]' "min_level = $("$fixtures/evidence" level)" 'connect_timeout_ms = 5000' >"$SPACE_CONFIG"
	spacecap keygen -o "$dir/key" >/dev/null
	spacecap pubkey "$dir/key" >"$dir/key.public"
	for ((n = 1; n <= $1; n++)); do
		sandbox "$n"
	done
	start manager spacebridge forward --audit "$dir/log/audit" --keys "$dir/key.public"
}

request() {
	local cap
	cap=$(spacecap mint -k "$dir/key" --sandbox "s-$1" --execution 7 --worker worker-a --substrate host \
		--activation act-1 --attempt 1 --caller uid:0 --purpose control --access 'tree.*')
	printf '{"id":"r","op":"tree.get","sandbox":"s-%s","args":{"open":"echo"},"cap":"%s"}\n' "$1" "$cap"
}

down() {
	local file
	for file in "$dir"/*.pid; do
		kill "$(cat "$file")" 2>/dev/null || true
	done
	rm -rf "$dir"
}

verb=$1
shift 2
"$verb" "$@"
