#!/bin/bash
# path.sh up DIR | gateway DIR ADDRESS PORT COUNT | down DIR: one worker with everything from manager to guest, for
# bench_path and bench_gateway. `up` prints one minted record that reads 1 KiB; `gateway` starts one, on a core of its own,
# at tcp:ADDRESS, and prints so many first lines for the guest's PORT.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
fixtures=$root/build/fixtures
PATH=$root/build/bin:$PATH
dir=$2
export SPACE_CONFIG=$dir/space.ini

start() {
	local name=$1
	shift
	"$fixtures/await-ready" -o "$dir/$name.out" -e "$dir/$name.err" -p "$dir/$name.pid" -- "$@"
}

up() {
	local route='{"execution":7,"worker":"worker-a","substrate":"host","activation":"act-1","attempt":1}' cap
	mkdir -p "$dir"/{run,tree,log}
	head -c 768 /dev/urandom | base64 -w0 >"$dir/tree/1k"
	printf '%s\n' '[space]' 'worker = worker-a' "state_dir = $dir/state" "run_dir = $dir/run" \
		'[bridge]' "min_level = $("$fixtures/evidence" level)" >"$SPACE_CONFIG"
	spacecap keygen -o "$dir/key" >/dev/null
	spacecap pubkey "$dir/key" >"$dir/key.public"
	start guest spacebridge guest --listen "unix:$dir/run/agent.sock" --root "$dir/tree" --cid 42
	start vmm "$fixtures/vmm" --uds "$dir/run/v.sock" --guest "$dir/run/agent.sock" --cid 42
	start host spacebridge host --sandbox s-42 --audit "$dir/log/audit"
	printf '{"sandbox":"s-42","owner":"op-1","route":%s}\n' "$route" |
		spacebridge attest --enroll --sandbox s-42 --bridge-pid "$(cat "$dir/host.pid")" \
			--vmm-pid "$(cat "$dir/vmm.pid")" --vsock "$dir/run/v.sock" --cid 42 --record - |
		spaceid install >/dev/null
	start manager spacebridge forward --audit "$dir/log/audit" --keys "$dir/key.public"
	cap=$(spacecap mint -k "$dir/key" --sandbox s-42 --execution 7 --worker worker-a --substrate host \
		--activation act-1 --attempt 1 --caller uid:0 --purpose control --access 'file.*,tree.*')
	printf '{"id":"r","op":"file.read","sandbox":"s-42","args":{"path":"/1k"},"caller":"uid:0","route":%s,' "$route"
	printf '"endpoint":"unix:%s","access":["file.*","tree.*"],"authorized_until":"2100-01-01T00:00:00Z","attempted":1,"cap":"%s"}\n' \
		"$dir/run/manager.sock" "$cap"
}

gateway() {
	local cap i
	start gateway taskset -c "$(($(nproc) > 1))" spacebridge gateway s-42 --listen "tcp:$1" --audit "$dir/log/gateway" \
		--keys "$dir/key.public"
	for ((i = 0; i < $3; i++)); do
		cap=$(spacecap mint -k "$dir/key" --sandbox s-42 --execution 7 --worker worker-a --substrate host \
			--activation act-1 --attempt 1 --caller uid:0 --purpose service-port --port "$2" --protocol tcp)
		printf '{"cap":"%s","port":%s,"protocol":"tcp"}\n' "$cap" "$2"
	done
}

down() {
	local file
	for file in "$dir"/*.pid; do
		kill "$(cat "$file")" 2>/dev/null || true
	done
	rm -rf "$dir"
}

"$1" "${@:3}"
