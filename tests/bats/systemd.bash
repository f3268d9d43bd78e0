# A machine of our own with systemd: the tree of tests/systemd/tree with these tools installed, booted as a container,
# or put on a disk. Everything here is for root.
#
#   $MACHINE   the root directory
#   $LEADER    the pid of its init, seen from here
# shellcheck shell=bash disable=SC2154

# In setup_file, one after another, each only while $MISSING is empty. It names what there is no container without, for
# skip_or_fail in setup.

# container_possible [TOOL...]
container_possible() {
	local tool

	export MACHINE='' LEADER='' MISSING=''
	for tool in debootstrap systemd-nspawn nsenter "$@"; do
		command -v "$tool" >/dev/null || MISSING=$tool
	done
	unshare --mount --pid --fork true 2>/dev/null || MISSING='the right to make namespaces'
	[ "$(id -u)" = 0 ] || MISSING='root, to make a system'
}

# container_tree: its files, without these tools. They are kept for the next time, in $SPACE_TREE or build/systemd/tree.
container_tree() {
	local tree=${SPACE_TREE:-$ROOT/build/systemd/tree}

	mkdir -p "${tree%/*}"
	if ! timeout 600 flock "${tree%/*}" "$ROOT/tests/systemd/tree" "$tree" >"$BATS_FILE_TMPDIR/tree" 2>&1; then
		MISSING="a tree of Debian ($(tail -n 3 "$BATS_FILE_TMPDIR/tree"))"
		return
	fi
	MACHINE=$BATS_FILE_TMPDIR/machine
	cp -a "$tree" "$MACHINE"
}

# container_make: the same after `make install`.
container_make() {
	container_tree
	[ -n "$MISSING" ] || make -s -C "$ROOT" install "DESTDIR=$MACHINE" PREFIX=/usr >/dev/null
}

# container_disk FILE: the same as a disk to boot from, without what only costs an emulated machine time.
container_disk() {
	systemctl --root "$MACHINE" --quiet mask getty.target systemd-logind.service timers.target \
		dev-{hugepages,mqueue}.mount sys-kernel-{debug,tracing}.mount
	truncate -s 512M "$1"
	mke2fs -q -t ext4 -d "$MACHINE" "$1"
}

# container_boot: returns once it is up. Its own limit ends it when nobody else does.
container_boot() {
	local nspawn

	if ! "$FIXTURES/await-ready" -o "$BATS_FILE_TMPDIR/console" -e "$BATS_FILE_TMPDIR/console" \
		-p "$BATS_FILE_TMPDIR/nspawn" -- timeout 1200 "$ROOT/tests/systemd/boot" "$MACHINE" "space-test-$$" 3>&-; then
		MISSING="systemd-nspawn that boots (it said: $(tail -n 3 "$BATS_FILE_TMPDIR/console"))"
		return
	fi
	nspawn=$(pgrep -P "$(cat "$BATS_FILE_TMPDIR/nspawn")")
	LEADER=$(pgrep -P "$nspawn")
	# It gives its machines a boot id of their own, which a service with its own /proc does not see.
	while inside umount /proc/sys/kernel/random/boot_id 2>/dev/null; do :; done
}

# container_end: with all that runs in it.
container_end() {
	local nspawn

	[ -e "$BATS_FILE_TMPDIR/nspawn" ] || return 0
	nspawn=$(cat "$BATS_FILE_TMPDIR/nspawn")
	kill -KILL "${LEADER:-$nspawn}" 2>/dev/null || :
	await_end "$nspawn"
	"$ROOT/tests/systemd/boot" --clear "space-test-$$"
}

# inside COMMAND...: in the machine, as its root.
inside() {
	timeout 120 nsenter --target "$LEADER" --all --wdns=/ env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# property UNIT NAME: what systemd says of it.
property() {
	inside systemctl show --property "$2" --value "$1"
}

# properties UNIT NAME...: the same of several, on one line.
properties() {
	local name

	for name in "${@:2}"; do
		property "$1" "$name"
	done | xargs
}

# process UNIT: the directory of its process in the machine's /proc.
process() {
	echo "/proc/$(property "$1" MainPID)"
}

# status UNIT NAME: a field of the status of its process.
status() {
	inside sed -n "s/^$2:[[:space:]]*//p" "$(process "$1")/status"
}

# container_drop_in UNIT LINE...: changes a unit until the machine ends.
container_drop_in() {
	local directory=/run/systemd/system/$1.d

	shift
	inside mkdir -p "$directory"
	printf '%s\n' "$@" | inside tee "$directory/test.conf" >/dev/null
	inside systemctl daemon-reload
}

# container_restore UNIT: as it was installed.
container_restore() {
	inside rm -r "/run/systemd/system/$1.d"
	inside systemctl daemon-reload
}
