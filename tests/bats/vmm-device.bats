# The vsock device of the stand-in for a VMM (virtio 1.2, 5.10), against a scripted driver that keeps its rules or
# breaks them.
# shellcheck shell=bats disable=SC2154
load helper

setup() {
	uds=$BATS_TEST_TMPDIR/v.sock
	device=$BATS_TEST_TMPDIR/vhost.sock
	start vmm "$FIXTURES/vmm" --uds "$uds" --vhost "$device" --cid 42
}

teardown() { stop_all; }

# host STEP...: a connection of the host, in the background; hosted: its end, every step as written.
host() {
	"$FIXTURES/talk" "$uds" "$@" 3>&- &
	hosting=$!
}
hosted() { wait "$hosting"; }

driver() { run "$FIXTURES/driver" "$device" 42 "$@"; }

# since EPOCHREALTIME: milliseconds.
since() { echo $(((${EPOCHREALTIME/./} - ${1/./}) / 1000)); }

# How a driver grants CONNECT 9, and how its host hears of it.
granted=(start 0 offer 32 hear request '' say response '')
connected=(send 'CONNECT 9\n' expect 'OK 1073741824\n')

@test "a connection is asked of the guest, granted, used both ways and reset" {
	host "${connected[@]}" send hello expect world end
	driver "${granted[@]}" hear rw hello say rw world say rst ''
	assert_success
	hosted
}

@test "a request that comes before the driver does waits for it" {
	mkfifo "$BATS_TEST_TMPDIR/asked"
	host send 'CONNECT 9\n' silence go "$BATS_TEST_TMPDIR/asked" expect 'OK 1073741824\n' end
	read -r <"$BATS_TEST_TMPDIR/asked"
	driver "${granted[@]}" say rst ''
	assert_success
	hosted
}

@test "what the guest resets instead of granting it is not answered" {
	host send 'CONNECT 9\n' end
	driver start 0 offer 4 hear request '' say rst ''
	assert_success
	hosted
}

@test "a guest that says nothing to a request is reset after two seconds, and the host dropped" {
	local before=$EPOCHREALTIME
	host send 'CONNECT 9\n' end
	driver start 0 offer 4 hear request '' hear rst ''
	assert_success
	[ "$(since "$before")" -ge 1900 ]
	hosted
}

@test "the end of the host shuts both directions; a guest that does not say that it knows is reset after two seconds" {
	host "${connected[@]}" shut end
	driver "${granted[@]}" hear shutdown 3 say rst ''
	assert_success
	hosted
	local before=$EPOCHREALTIME
	host send 'CONNECT 9\n' expect 'OK 1073741825\n' shut end
	driver "${granted[@]}" hear shutdown 3 hear rst ''
	assert_success
	[ "$(since "$before")" -ge 1900 ]
	hosted
}

@test "a guest that shuts one direction is not told on; both are an end, and are reset" {
	host "${connected[@]}" expect bye silence send more end
	driver "${granted[@]}" say rw bye say shutdown 2 hear rw more say shutdown 1 hear rst ''
	assert_success
	hosted
}

@test "no more is sent than the guest has room for, and it is asked when that is used up" {
	host "${connected[@]}" send 'hello world' end
	driver start 0 offer 16 hear request '' room 5 say response '' hear rw hello hear credit-request '' \
		room 11 say credit-update '' hear rw ' world' say rst ''
	assert_success
	hosted
}

@test "the guest is told what was passed on, when it asks and when half of its room is used" {
	host "${connected[@]}" all >"$BATS_TEST_TMPDIR/all"
	driver "${granted[@]}" say credit-request '' hear credit-update '' flood 8 hear credit-update '' say rst ''
	assert_success
	hosted
	assert_equal "$(stat -c %s "$BATS_TEST_TMPDIR/all")" 32768
}

@test "a guest that sends more than its credit is reset" {
	mkfifo "$BATS_TEST_TMPDIR/over"
	# The host reads nothing yet: its socket takes some, the device 64 KiB, and no more.
	host "${connected[@]}" wait "$BATS_TEST_TMPDIR/over" all >"$BATS_TEST_TMPDIR/all"
	driver "${granted[@]}" offer 16 flood 200 until rst
	assert_success
	echo >"$BATS_TEST_TMPDIR/over"
	hosted
	[ "$(stat -c %s "$BATS_TEST_TMPDIR/all")" -lt $((200 * 4096 - 65536)) ]
}

@test "a packet of no connection is reset; one of another CID is nothing" {
	driver start 0 offer 4 ports 1 2 say rw stray hear rst '' from 1 2 say rst '' \
		as 43 ports 3 4 say rw stray as 42 ports 5 6 say rw stray hear rst '' from 5 6
	assert_success
}

@test "a guest's request reaches who listens at the path and its port; for another port it is reset" {
	start echo "$FIXTURES/echo" "${uds}_77"
	driver start 0 offer 8 ports 77 3000 say request '' hear response '' say rw hello hear rw hello \
		ports 78 3001 say request '' hear rst ''
	assert_success
}

@test "connections of a guest that is there anew, or gone, are ended" {
	host "${connected[@]}" end
	driver "${granted[@]}" start 0 offer 4 say rw more hear rst ''
	assert_success
	hosted
	host send 'CONNECT 9\n' expect 'OK 1073741825\n' end
	driver "${granted[@]}"
	assert_success
	hosted
}

@test "a driver that was at work before learns that its transport was reset, a new one does not" {
	driver start 7 event
	assert_success
	driver start 0 offer 4 ports 1 2 say rw stray hear rst '' quiet
	assert_success
}

@test "pages that the device writes are in the log, for a migration" {
	host "${connected[@]}" send hello end
	driver "${granted[@]}" hear rw hello dirty say rst ''
	assert_success
	hosted
}

@test "a driver that breaks the rules of its ring is left, the reason told, and the next one served" {
	local how words
	while IFS=: read -r how words; do
		driver start 0 offer 4 break "$how" left
		assert_success
		assert_equal "$(tail -n 1 "$BATS_TEST_TMPDIR/vmm.err")" "vmm: device: $words"
	done <<-'END'
		head:a descriptor's number beyond the queue
		next:a descriptor's number beyond the queue
		loop:a chain without end
		ahead:more chains than the queue holds
		below:a buffer outside memory, or in too many parts
		beyond:a buffer outside memory, or in too many parts
		overflow:a buffer outside memory, or in too many parts
		direction:a buffer of the wrong direction
		indirect:an indirect descriptor, which was not offered
		short:a packet shorter than it says
		length:a packet shorter than it says
	END
	host "${connected[@]}" end
	driver "${granted[@]}" say rst ''
	assert_success
	hosted
}

@test "a frontend that makes no sense is left, and the next one served" {
	local how
	for how in request size features regions queue entries kick; do
		driver misspeak "$how" left
		assert_success
		assert_equal "$(tail -n 1 "$BATS_TEST_TMPDIR/vmm.err")" 'vmm: device: a message that makes no sense'
	done
	# Rings outside memory are no rings.
	host send 'CONNECT 9\n' end
	driver misspeak rings start 0
	assert_success
	hosted
}
