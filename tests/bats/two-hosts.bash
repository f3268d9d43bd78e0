# Two hosts: network namespaces with a cable in between. On one the control plane, on the other worker-b with its VMM
# and guest; the manager's socket is carried by stunnel, with the configurations that are installed and certificates
# that were made as space-link(7) says. Each end of the link is a user of its own. Needs path.bash and man.bash; for root.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154

LINK_CONTROL_UID=4711 LINK_WORKER_UID=4712
LINK_ADDRESS=192.0.2.2

# hosts_make: both, standing, and the link between them. With WORLD and SERVERS a new directory that others may pass.
hosts_make() {
	WORLD=$(mktemp -d "${TMPDIR:-/tmp}/space-hosts-XXXXXX")
	SERVERS=$WORLD
	chmod 755 "$WORLD"
	mkdir -p "$WORLD"/{control,b}/run "$WORLD/link/worker-b" "$WORLD/bats"
	hosts_network
	WORLD_LEVEL=$(world_level)
	world_keys
	WORLD_TIMEOUT_MS=6000 world_config control '[manager]' "uid = $LINK_CONTROL_UID"
	world_config b '[manager]' "allow_uids = $LINK_WORKER_UID"
	export SPACE_CONFIG=$WORLD/control.ini
	spacecap bundle install -c "$WORLD/b.ini" "$WORLD/keys.tar.zst" >/dev/null
	spacerouted grant --principal "uid:$(id -u)" --sandbox '*' --ops 'ping,guest.info,file.*,exec.*,lease.*' >/dev/null
	hosts_worker
	START_IN=("${ON_CONTROL[@]}")
	start cache spacerouted serve
	START_IN=()
	link_certificates
	link_start worker control
	link_start control worker-b
}

# hosts_network: ON_CONTROL and ON_WORKER run a command on that host.
hosts_network() {
	CONTROL_NET=space-c-$$-$BATS_TEST_NUMBER WORKER_NET=space-w-$$-$BATS_TEST_NUMBER
	ON_CONTROL=(nsenter "--net=/run/netns/$CONTROL_NET")
	ON_WORKER=(nsenter "--net=/run/netns/$WORKER_NET")
	ip netns add "$CONTROL_NET"
	ip netns add "$WORKER_NET"
	ip -n "$CONTROL_NET" link add cable type veth peer name cable netns "$WORKER_NET"
	ip -n "$CONTROL_NET" address add 192.0.2.1/24 dev cable
	ip -n "$WORKER_NET" address add "$LINK_ADDRESS/24" dev cable
	cable up
	ip -n "$CONTROL_NET" link set cable up
}

# cable up|down: of the link, at the worker's end.
cable() {
	ip -n "$WORKER_NET" link set cable "$1"
}

# hosts_worker: manager, bridge, VMM and guest of s-42, as execution 7.
hosts_worker() {
	START_IN=("${ON_WORKER[@]}")
	start manager-b sbx-manager -c "$WORLD/b.ini"
	# The manager's socket is for the link's user alone, by [manager] allow_uids.
	chmod 755 "$WORLD/b" "$WORLD/b/run"
	chmod 666 "$WORLD/b/run/manager.sock"
	world_vmm one
	START_IN=()
	hosts_activate 1
}

# hosts_activate ATTEMPT: on the worker, and published with the link's socket, which is the manager's for the control
# plane.
hosts_activate() {
	"${ON_WORKER[@]}" sandbox activate s-42 --execution 7 --attempt "$1" --worker-config "$WORLD/b.ini" \
		--vmm-pid "$(cat "$WORLD/vmm-one.pid")" --uds-path "$WORLD/vmm-one.sock" --api "$WORLD/api-one.sock" \
		--endpoint "unix:$WORLD/link/worker-b/manager.sock" >/dev/null
}

# link_certificates: by the examples of space-link(7), which has a worker-c, too.
link_certificates() {
	local MACHINE=$WORLD

	cd "$WORLD/link" || return
	run_examples "$ROOT/man/space-link.7"
	cd "$WORLD" || return
	chown "$LINK_CONTROL_UID" "$WORLD/link/control.key" "$WORLD/link/worker-b"
	chown "$LINK_WORKER_UID" "$WORLD"/link/worker-[bc].key
}

# link_start END NAME [SED-SCRIPT]: the control plane's or the worker's end by the installed configuration, so changed.
link_start() {
	local end=$1 uid=$LINK_WORKER_UID on=("${ON_WORKER[@]}") config=$WORLD/link/$2.conf log=$WORLD/link-$1.log

	[ "$end" = worker ] || uid=$LINK_CONTROL_UID on=("${ON_CONTROL[@]}")
	sed -e "s|/etc/space/link|$WORLD/link|; s|/run/space-link|$WORLD/link|; s|/run/space/|$WORLD/b/run/|" \
		-e "${3:-}" "$ROOT/lib/systemd/link-$end.conf" >"$config"
	# The unit's directory goes with its process.
	[ "$end" = worker ] || rm -f "$WORLD/link/worker-b/manager.sock"
	"${on[@]}" setpriv --reuid "$uid" --clear-groups sh -c 'umask 0; exec stunnel4 "$1"' link "$config" >"$log" 2>&1 3>&- &
	echo $! >"$WORLD/link-$end.pid"
	disown
	eventually link_stands "$end" "$log"
}

link_stands() {
	kill -0 "$(cat "$WORLD/link-$1.pid")" || fail "$(cat "$2")"
	has "$2" 'Configuration successful'
}

# hosts_end: all of it.
hosts_end() {
	world_end
	stop_all
	ip netns delete "$CONTROL_NET" || :
	ip netns delete "$WORKER_NET" || :
	case $WORLD in
	*/space-hosts-*) rm -rf "$WORLD" ;;
	esac
}
