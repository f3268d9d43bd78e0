# What one more stream costs does not depend on how many there are. streams-cut.bats opens 8,000 of them (LONG=1).
# shellcheck shell=bats disable=SC2016,SC2034,SC2119,SC2120,SC2154
load helper
load manager
load worlds

teardown() {
	exec 7>&-
	stop_all
}

# opener: opens and ends streams of s-1, a step at a time; see step.
opener() {
	requests s-1 echo 1 >"$W/request"
	mkfifo "$W/steps" "$W/done"
	python3 - "$MANAGER" "$W" 3>&- <<-'PYTHON' &
		import socket, sys
		manager, work = sys.argv[1:]
		request = open(work + "/request", "rb").read()
		streams = []

		def open_one():
		    stream = socket.socket(socket.AF_UNIX)
		    stream.connect(manager)
		    stream.sendall(request)
		    answer = stream.makefile("rb").readline()
		    assert b'"status":"open"' in answer, answer
		    streams.append(stream)

		for step in open(work + "/steps"):
		    verb, count = step.split()
		    for i in range(int(count)):
		        if verb == "open":
		            open_one()
		        else:
		            streams.pop(len(streams) // 2).close()
		    open(work + "/done", "w").write("done\n")
	PYTHON
	exec 7>"$W/steps"
}

# step VERB COUNT: that many are opened, or ended, one after the other.
step() {
	echo "$1 $2" >&7
	from "$W/done"
}

descriptors() {
	local all=("/proc/$1/fd/"*)
	echo "${#all[@]}"
}

# looks: how often manager or bridge have gone through all descriptors of a process.
looks() { grep -c '/fd$' "$W/looks" || true; }

@test "however many streams are open, one more is found without a look at all the others" {
	local vmm before all
	make_worker
	: >"$W/looks"
	export LD_PRELOAD=$ROOT/build/preload/looks.so SP_LOOKS=$W/looks
	guest s-1 11
	vmm=$(cat "$BATS_TEST_TMPDIR/vmm-s-1.pid")
	start_manager
	unset LD_PRELOAD
	opener
	step open 10
	before=$(descriptors "$vmm")
	all=$(looks)
	step open 110
	# Those that ended leave numbers free, which are given away again.
	step end 12
	await eval '[ "$(descriptors "$vmm")" -eq $((before + 2 * (110 - 12))) ]'
	await eval '[ "$(spacestream list | wc -l)" -eq $((2 * (120 - 12))) ]'
	step open 20
	assert_equal "$(looks)" "$all"
	# The very first one of each process is looked for everywhere, so this can be seen at all.
	[ "$all" -ge 1 ]
}

@test "a stream that nobody reads holds 256 KiB on the worker, 128 KiB in the guest at the most, and delays no other" {
	make_worker
	agent_guest s-1 11
	start_manager
	head -c 5M /dev/urandom >"$W/large"
	wire r tree.get "$(mint 'tree.*' --sandbox s-1)" '{"path":"/large"}' s-1 >"$W/request"
	run timeout 250 python3 "$ROOT/tests/fixtures/stream-memory.py" "$MANAGER" "$W/request" 16 \
		"manager=$(cat "$BATS_TEST_TMPDIR/manager.pid")" "bridge=$(cat "$BATS_TEST_TMPDIR/host-s-1.pid")" \
		"agent=$(cat "$BATS_TEST_TMPDIR/agent-s-1.pid")"
	assert_success
	# It has flowed as far as it can: all of them are full.
	assert_json 'map_values(.sockets >= 16384) == {manager:true,bridge:true,agent:true} and .agent.pipes >= 4096'
	assert_json '[.manager, .bridge | .[]] | add <= 262144'
	assert_json '[.agent[]] | add <= 131072'
}
