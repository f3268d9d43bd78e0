# shellcheck shell=bats disable=SC2016,SC2034,SC2154
# The unit of the agent in a real guest: its kernel, its systemd, real AF_VSOCK, cgroups.
load helper
load path
load systemd
# shellcheck source=tests/guest/machine.bash
source "$BATS_TEST_DIRNAME/../guest/machine.bash"

setup_file() {
	container_possible mke2fs
	[ -n "$MISSING" ] || container_make
	[ -z "$MISSING" ] || return 0
	systemctl --root "$MACHINE" --quiet enable space-guest
	container_disk "$BATS_FILE_TMPDIR/disk"
}

setup() {
	[ -z "$MISSING" ] || skip_or_fail "$MISSING"
	WORLD=$BATS_TEST_TMPDIR
}

teardown() {
	world_end
	stop_all
}

# ask COMMAND: what a shell in the guest says to it.
ask() {
	jq -nc --arg command "$1" '{id:"1",op:"exec.run",sandbox:"s-42",args:{argv:["/bin/sh","-c",$command]}}' |
		node-api >"$WORLD/answer" || true
	run -0 cat "$WORLD/answer"
}

@test "the agent's unit serves over AF_VSOCK, in its sandbox, and keeps its key when it is started again" {
	MACHINE_PARTS=$("$ROOT/tests/guest/build" 2>"$WORLD/missing") ||
		skip_or_fail "$(sed -n '$s/guest: missing: //p' "$WORLD/missing")"
	world_make
	machine_vmm unit
	MACHINE_WORDS='quiet root=disk'
	machine_boot unit -drive "file=$BATS_FILE_TMPDIR/disk,if=virtio,format=raw,cache=unsafe"
	# A whole system, and every instruction of it emulated: on an idle machine it takes 12 s.
	machine_await unit
	world_activate s-42 7 a unit >/dev/null

	ask 'id -un; cat /proc/self/cgroup; grep ^CapBnd /proc/self/status; systemctl --failed --no-legend | wc -l'
	assert_json '.result.stdout.text ==
		"space-guest\n0::/system.slice/space-guest.service\nCapBnd:\t0000000000000000\n0\n"'

	ask 'kill -KILL $(pidof spacebridge)'
	assert_json '.status == "error" and .error == "transport" and .sent'
	machine_await unit
	ask 'systemctl show --property NRestarts --value space-guest'
	assert_json '.result.stdout.text == "1\n"'
}
