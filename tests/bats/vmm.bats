# The stand-in for Firecracker's host side keeps Firecracker's rules (04-bridge), or breaks them when asked to.
# shellcheck shell=bats
load helper

setup() {
	uds=$BATS_TEST_TMPDIR/v.sock
	agent=$BATS_TEST_TMPDIR/agent.sock
	start agent "$FIXTURES/echo" "$agent"
}

teardown() { stop_all; }

vmm() { start vmm "$FIXTURES/vmm" --uds "$uds" --guest "$agent" --cid 42 "$@"; }

talk() { run "$FIXTURES/talk" "$uds" "$@"; }

@test "CONNECT to the guest's port is answered with a host port from 2^30 on, each a new one" {
	vmm
	talk send 'CONNECT 5005\n' expect 'OK 1073741824\n' send hello expect hello
	assert_success
	talk send 'CONNECT 5005\n' expect 'OK 1073741825\n' send hello expect hello
	assert_success
}

@test "the agent sees CID 2 and the host port as its peer" {
	stop agent
	start agent "$FIXTURES/echo" --name "$agent"
	vmm
	talk send 'CONNECT 5005\n' expect 'OK 1073741824\n' line
	assert_success
	assert_output "vsock:2:1073741824:42:$STARTED"
}

@test "the request is read as Firecracker reads it" {
	local line
	vmm
	for line in 'CONNECT 5005\n' 'connect 5005\n' 'CoNnEcT +5005\n' 'CONNECT  0005005\n' 'CONNECT 5005 and more\n' \
		'CONNECT 5005                    '; do
		talk send "$line" expect 'OK 10737418'
		assert_success
	done
	for line in 'CONNECT x5005\n' 'CONNEXT 5005\n' 'CONNECT -5005\n' 'CONNECT 4294967296\n' 'CONNECT          \n' \
		'CONNECT 5005,                       '; do
		talk send "$line" end
		assert_success
	done
}

@test "bytes sent right behind the request reach the guest" {
	vmm
	talk send 'CONNECT 5005\nhello' expect 'OK 1073741824\n' expect hello
	assert_success
}

@test "a request in two pieces, or of fewer than ten bytes, is dropped without an answer" {
	vmm
	talk send 'CONNECT 50' end
	assert_success
	talk send 'CONN' end
	assert_success
	talk send 'CONNECT 5' end
	assert_success
}

@test "a port that the guest does not listen on is dropped without an answer" {
	vmm
	talk send 'CONNECT 5006\n' end
	assert_success
	stop agent
	talk send 'CONNECT 5005\n' end
	assert_success
}

@test "a half-close of the host ends both directions" {
	vmm
	talk send 'CONNECT 5005\n' expect 'OK 1073741824\n' send hello expect hello shut end
	assert_success
}

@test "a half-close of the guest is not told, its end is" {
	stop agent
	start agent "$FIXTURES/echo" --bye "$agent"
	vmm
	talk send 'CONNECT 5005\n' expect 'OK 1073741824\nbye\n' silence send more silence send quit end
	assert_success
}

@test "four mebibytes go through in both directions at once" {
	vmm
	talk send 'CONNECT 5005\n' expect 'OK 1073741824\n' mirror 4194304
	assert_success
}

@test "connection 1024 is accepted and dropped" {
	vmm
	run "$FIXTURES/crowd" "$uds" 1023 'CONNECT 5005\n' 'OK '
	assert_success
	assert_output "1023 answered, one more: dropped"
	talk send 'CONNECT 5005\n' expect 'OK 1073742847\n'
	assert_success
}

@test "the API socket tells CID and path, and knows nothing else" {
	vmm --api "$BATS_TEST_TMPDIR/api.sock"
	run curl -sS --unix-socket "$BATS_TEST_TMPDIR/api.sock" http://localhost/vm/config
	assert_success
	assert_json ".vsock == {guest_cid: 42, uds_path: \"$uds\"} and .\"machine-config\".vcpu_count == 1"
	run curl -sS -o /dev/null -w '%{http_code}' --unix-socket "$BATS_TEST_TMPDIR/api.sock" http://localhost/x
	assert_output 400
}

@test "the log keeps what the host sends after CONNECT" {
	vmm --log "$BATS_TEST_TMPDIR/log"
	talk send 'CONNECT 5005\n' expect 'OK 1073741824\n' send 'one two' expect 'one two'
	assert_success
	run cat "$BATS_TEST_TMPDIR/log"
	assert_output 'one two'
}

@test "each misbehaviour on a connection is what it says" {
	while read -r how steps; do
		vmm --misbehave "$how" --early 'early\n' --delay 1500
		eval "talk send 'CONNECT 5005\n' $steps"
		assert_success
		stop vmm
	done <<-'END'
		no-answer silence
		late silence expect 'OK 1073741824\n' send x expect x
		split expect 'OK' silence expect ' 1073741824\n' send x expect x
		coalesced expect 'OK 1073741824\nearly\\n' send x expect x
		notok expect 'NOTOK\n' end
		overlong expect 'OK 0000000000000000000000000000001073741824\n'
		unended expect 'OK 1073741824' end
		ok-close expect 'OK 1073741824\n' end
		other-number expect 'OK 1073741825\n' send x expect x
		hang-up end
	END
}

@test "a forked child accepts in the place of its parent" {
	mkfifo "$BATS_TEST_TMPDIR/done"
	for how in fork-accept relisten; do
		vmm --misbehave "$how" --done "$BATS_TEST_TMPDIR/done"
		kill -USR1 "$STARTED"
		read -r child <"$BATS_TEST_TMPDIR/done"
		assert_not_equal "$child" "$STARTED"
		talk send 'CONNECT 5005\n' expect 'OK 1073741824\n' send x expect x
		assert_success
		stop vmm
		eventually deserted "$uds"
	done
}

@test "a VMM that executes itself anew keeps its listener and its pid" {
	mkfifo "$BATS_TEST_TMPDIR/done"
	vmm --misbehave re-exec --done "$BATS_TEST_TMPDIR/done"
	kill -USR1 "$STARTED"
	read -r again <"$BATS_TEST_TMPDIR/done"
	assert_equal "$again" "$STARTED"
	talk send 'CONNECT 5005\n' expect 'OK 1073741824\n' send x expect x
	assert_success
}
