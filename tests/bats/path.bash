# The whole path on one machine, with real daemons: a control plane and two workers, each with its own state, keys and
# sockets, under $WORLD. For the bats files and bin/demo. Whoever loads it has `start NAME COMMAND...` and
# `stop NAME` (helper.bash), $FIXTURES, and the tools on PATH. JSON is read without jq: the demo has only what the
# build needs.
#
#   $WORLD/control.ini, a.ini, b.ini   configurations; the workers are worker-a and worker-b
#   $WORLD/WHO/audit.jsonl             with $WORLD_AUDIT: the audit lines of each
#   $WORLD/guest-NAME                  the root directory of one guest
#   $WORLD/vmm-NAME.sock               its VSOCK socket on the host
# shellcheck shell=bash disable=SC2153

# world_config WHO [LINE...]: a configuration, with more lines of any section at its end.
world_config() {
	local who=$1

	shift
	{
		printf '%s\n' '[space]' 'realm = test' 'name = control' "state_dir = $WORLD/$who" "run_dir = $WORLD/$who/run"
		[ "$who" = control ] || echo "worker = worker-$who"
		printf '%s\n' '[keys]' "secret = $WORLD/control/signer.key" "root = $WORLD_ROOT" \
			"max_skew = ${WORLD_SKEW:-15}" \
			'[bridge]' "min_level = $WORLD_LEVEL" 'connect_timeout_ms = 20000' '[registry]' 'timeout_ms = 20000' \
			${WORLD_AUDIT:+'[audit]' "file = $WORLD/$who/audit.jsonl"} \
			'[manager]' "timeout_ms = ${WORLD_TIMEOUT_MS:-120000}" '[streams]' 'reattach_timeout = 300' "$@"
	} >"$WORLD/$who.ini"
}

# world_keys: the root key, the signer's, and the bundle that tells workers of it.
world_keys() {
	spacecap keygen -o "$WORLD/root.key"
	spacecap keygen -o "$WORLD/control/signer.key"
	spacecap pubkey "$WORLD/control/signer.key" >"$WORLD/signer.public"
	WORLD_ROOT=$(spacecap pubkey "$WORLD/root.key")
	spacecap bundle build -k "$WORLD/root.key" -r test --serial 1 -o "$WORLD/keys.tar.zst" "$WORLD/signer.public"
} >/dev/null

# world_make: control plane and workers, standing; our own uid may do everything to every sandbox.
world_make() {
	local who

	mkdir -p "$WORLD"/{control,a,b}/run
	WORLD_LEVEL=$(world_level)
	world_keys
	for who in control a b; do
		world_config "$who"
	done
	export SPACE_CONFIG=$WORLD/control.ini
	for who in a b; do
		spacecap bundle install -c "$WORLD/$who.ini" "$WORLD/keys.tar.zst" >/dev/null
		start "manager-$who" sbx-manager -c "$WORLD/$who.ini"
	done
	spacerouted grant --principal "uid:$(id -u)" --sandbox '*' --ops 'ping,guest.info,file.*,exec.*' >/dev/null
	# An old route stays until it is rejected: what a rejection repairs is to be seen.
	start cache spacerouted serve --no-watch
}

# world_level: what this kernel can prove.
world_level() {
	local line

	line=$(spacebridge attest --pid $$ -o json)
	[[ $line =~ \"level\":\"([^\"]*) ]] && echo "${BASH_REMATCH[1]}"
}

# world_vmm NAME [OPTION...]: a VMM, played by the stand-in, and the agent in its guest. Its pid is then in $STARTED.
world_vmm() {
	local name=$1 cid=$((3 + WORLD_VMMS)) agent=${WORLD_AGENTS:-$WORLD}/guest-$1.sock

	shift
	WORLD_VMMS=$((WORLD_VMMS + 1))
	mkdir -p "$WORLD/guest-$name/etc"
	echo "$name" >"$WORLD/guest-$name/etc/hostname"
	start "guest-$name" spaced-guest --listen "unix:$agent" --root "$WORLD/guest-$name" --cid "$cid" \
		--key "$WORLD/guest-$name.key"
	start "vmm-$name" "$FIXTURES/vmm" --uds "$WORLD/vmm-$name.sock" --guest "$agent" --cid "$cid" \
		--api "$WORLD/api-$name.sock" "$@"
}
WORLD_VMMS=0

# world_activate, world_resume SANDBOX EXECUTION WORKER VMM [OPTION...]: this VMM serves it from now on.
world_activate() {
	world_sandbox activate "$@"
}
world_resume() {
	world_sandbox resume "$@"
}
world_sandbox() {
	local verb=$1 sandbox=$2 execution=$3 worker=$4 vmm=$5

	shift 5
	sandbox "$verb" "$sandbox" --execution "$execution" --worker-config "$WORLD/$worker.ini" \
		--vmm-pid "$(cat "$WORLD/vmm-$vmm.pid")" --uds-path "$WORLD/vmm-$vmm.sock" --api "$WORLD/api-$vmm.sock" "$@"
}

# world_bridges: pids of the bridges that `sandbox` started.
world_bridges() {
	local note

	for note in "$WORLD"/*/run/bridge/*.pid; do
		[ ! -e "$note" ] || cut -d ' ' -f 1 "$note"
	done
}

# world_end: ends them; the rest is stop_all's.
world_end() {
	local pid

	for pid in $(world_bridges); do
		kill -KILL "$pid" 2>/dev/null || :
	done
}
