# Real guests: QEMU without KVM, which takes its vsock device from the stand-in for a VMM. For realguest.bats and
# bin/demo --guest, in the place of path.bash's world_vmm; needs what path.bash needs.
#
# The stand-in is the VMM that is enrolled: it owns the VSOCK socket and the API socket. QEMU is its engine.
#
#   $WORLD/machine-NAME.log   the guest's serial line
#   $MACHINE_PARTS            what tests/guest/build made
# shellcheck shell=bash disable=SC2153

# How long a machine may live at the most, in seconds, whatever becomes of us: longer than the slowest run of a file of
# tests; and words for its kernel.
MACHINE_LIFE=1200
MACHINE_WORDS=quiet

# machine_on NAME [OPTION...]: QEMU, with the device that the VMM of that name waits for. Not awaited. The device can
# be taken out of its bay, which a snapshot needs.
machine_on() {
	local name=$1 options=(-M 'q35,memory-backend=mem' -accel 'tcg,thread=multi' -cpu max -m 256
		-object 'memory-backend-memfd,id=mem,size=256M,share=on'
		-nodefaults -no-user-config -display none -no-reboot -serial stdio
		-qmp "unix:$WORLD/monitor-$1.sock,server=on,wait=off"
		-chardev "socket,id=vhost,path=$WORLD/vhost-$1.sock" -device 'pcie-root-port,id=bay'
		-kernel "$MACHINE_PARTS/kernel" -initrd "$MACHINE_PARTS/initramfs"
		-append "console=ttyS0 $MACHINE_WORDS panic=-1 name=$1")

	shift
	rm -f "$WORLD/monitor-$name.sock"
	timeout "$MACHINE_LIFE" setpriv --pdeathsig KILL qemu-system-x86_64 "${options[@]}" "$@" \
		</dev/null >>"$WORLD/machine-$name.log" 2>&1 3>&- &
	echo "$!" >"$WORLD/machine-$name.pid"
	# How it ends is no news of the shell's.
	disown "$!"
}

# machine_boot NAME [OPTION...]: with the device in its bay from the start.
machine_boot() {
	machine_on "$@" -device vhost-user-vsock-pci,chardev=vhost,id=vsock,bus=bay
}

# machine_lives NAME
machine_lives() {
	local stat

	read -r stat 2>/dev/null <"/proc/$(cat "$WORLD/machine-$1.pid")/stat" && [[ $stat != *') Z '* ]]
}

# machine_await NAME: until the agent in the guest accepts. The VMM itself holds a CONNECT back for two seconds while no
# driver is there. $MACHINE_PATIENCE: seconds, if not 300.
machine_await() {
	local end=$((SECONDS + ${MACHINE_PATIENCE:-300}))

	until "$FIXTURES/talk" "$WORLD/vmm-$1.sock" send 'CONNECT 5005\n' expect 'OK ' 2>/dev/null; do
		if ! machine_lives "$1" || [ "$SECONDS" -ge "$end" ]; then
			tail -n 5 "$WORLD/machine-$1.log" >&2
			echo "the guest $1 does not come up" >&2
			return 1
		fi
	done
}

# machine_tell NAME WORDS COMMAND...: QMP commands to QEMU, one after the other; returns once it has said WORDS.
machine_tell() {
	local name=$1 words=$2 line='' in out monitor

	shift 2
	coproc MONITOR { exec socat - "UNIX-CONNECT:$WORLD/monitor-$name.sock,retry=6000,interval=0.05" 2>/dev/null 3>&-; }
	in=${MONITOR[0]} out=${MONITOR[1]} monitor=$MONITOR_PID
	printf '%s\n' '{"execute":"qmp_capabilities"}' \
		'{"execute":"migrate-set-capabilities","arguments":{"capabilities":[{"capability":"events","state":true}]}}' \
		"$@" >&"$out"
	while read -r -t 300 line <&"$in" && [[ $line != *"$words"* ]]; do
		case $line in
		*'"error"'* | *'"failed"'*) break ;;
		esac
	done
	exec {out}>&- {in}<&-
	wait "$monitor" || :
	[[ $line == *"$words"* ]] || {
		echo "the machine $name, asked $*: $line" >&2
		return 1
	}
}

# machine_vmm NAME [OPTION...]: the VMM alone. Its pid is then in $STARTED.
machine_vmm() {
	local name=$1 cid=$((3 + WORLD_VMMS))

	shift
	WORLD_VMMS=$((WORLD_VMMS + 1))
	start "vmm-$name" "$FIXTURES/vmm" --uds "$WORLD/vmm-$name.sock" --vhost "$WORLD/vhost-$name.sock" --cid "$cid" \
		--api "$WORLD/api-$name.sock" "$@"
}

# world_vmm NAME [OPTION...]: a VMM and a guest of its own, up.
world_vmm() {
	machine_vmm "$@"
	machine_boot "$1"
	machine_await "$1"
}

# machine_snapshot NAME FILE: its memory and state; it does not go on. QEMU 7.2 refuses to save a machine with this
# device, whatever the device offers: "State blocked by non-migratable device '0000:00:01.0:00.0/vhost-user-vsock'".
# So the guest is without it in the snapshot, as if its transport had been reset, and gets one where it is restored.
machine_snapshot() {
	local writer

	machine_tell "$1" DEVICE_DELETED '{"execute":"device_del","arguments":{"id":"vsock"}}'
	# What QEMU starts writes; that all of it is there, this end knows.
	mkfifo "$2.fifo"
	cat "$2.fifo" >"$2" 3>&- &
	writer=$!
	machine_tell "$1" '"completed"' \
		"{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"exec:cat >$2.fifo\"}}" || {
		kill "$writer"
		return 1
	}
	wait "$writer"
	rm "$2.fifo"
	machine_off "$1"
}

# machine_restore NAME FILE: behind the VMM of that name, which waits for a machine.
machine_restore() {
	machine_on "$1" -incoming defer
	machine_tell "$1" RESUME "{\"execute\":\"migrate-incoming\",\"arguments\":{\"uri\":\"exec:cat $2\"}}"
	machine_tell "$1" '"return": {}, "id": "added"' \
		'{"execute":"device_add","id":"added","arguments":{"driver":"vhost-user-vsock-pci","chardev":"vhost","id":"vsock","bus":"bay"}}'
	machine_await "$1"
}

# machine_off NAME: at once, as by a cut cable.
machine_off() {
	kill -KILL "$(cat "$WORLD/machine-$1.pid")" 2>/dev/null || :
	"$FIXTURES/await-end" "$(cat "$WORLD/machine-$1.pid")"
	rm -f "$WORLD/machine-$1.pid"
}
