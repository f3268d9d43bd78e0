# A VMM that ends its connections in the middle of their being proven: whenever that is, it is a broken transport of which
# nothing was sent, and no denial. Real bridge, real manager, each look held up in turn.
# shellcheck shell=bats disable=SC2030,SC2031,SC2034,SC2154
load helper
load path

setup() {
	WORLD=$BATS_TEST_TMPDIR
	world_make
	world_vmm one --misbehave reset
	world_activate s-42 7 a one >/dev/null
	echo '{"id":"r1","op":"ping","sandbox":"s-42","args":{}}' | spacerouted route | spacecap mint >"$WORLD/minted"
}

teardown() {
	world_end
	stop_all
}

# sockets PID: how many it has.
sockets() { find "/proc/$1/fd" -lname 'socket:*' 2>/dev/null | wc -l; }

# has COUNT PID, fewer COUNT PID.
has() { [ "$(sockets "$2")" -eq "$1" ]; }
fewer() { [ "$(sockets "$2")" -lt "$1" ]; }

# ask: the request, by a manager that stops on its way; `word` is `answered` when it did not.
ask() {
	{
		spacebridge send <"$WORLD/minted" >"$WORLD/answer" || :
		echo answered >"$BATS_TEST_TMPDIR/tell"
	} 3>&- &
	asker=$!
	read -r -t 60 word <"$BATS_TEST_TMPDIR/tell" || fail 'neither stopped nor answered'
}

# ended POINT COUNT: the VMM's connections end while the manager is there for so many times, if the bridge has one yet.
# What was broken by that is counted.
ended() {
	local held
	stop manager-a
	eventually has "$idle" "$vmm"
	stop_point "$1" "$2"
	start manager-a "${STOP[@]}" sbx-manager -c "$WORLD/a.ini"
	ask
	[ "$word" != answered ] || return 0
	if ! has "$idle" "$vmm"; then
		held=$(sockets "$bridge")
		kill -USR1 "$vmm"
		eventually fewer "$held" "$bridge"
	fi
	go_on
	read -r -t 60 <"$BATS_TEST_TMPDIR/tell" || fail 'no answer'
	wait "$asker"
	output=$(cat "$WORLD/answer")
	assert_json '.status == "ok" or (.error == "transport" and .sent == false)'
	[[ $output == *'"ok"'* ]] || broken=$((broken + 1))
}

@test "a connection that ends while it is being proven is no denial" {
	local point count broken word asker vmm bridge idle=2
	vmm=$(cat "$WORLD/vmm-one.pid")
	bridge=$(world_bridges)
	stop manager-a
	# Its listener and its API's, and nothing that is open.
	eventually has "$idle" "$vmm"
	start manager-a sbx-manager -c "$WORLD/a.ini"
	for point in held socket; do
		broken=0 word=''
		for ((count = 1; count <= 12; count++)); do
			ended "$point" "$count"
			[ "$word" != answered ] || break
		done
		assert [ "$broken" -ge 2 ]
	done
}
