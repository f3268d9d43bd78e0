# spacestream: leases held from the command line, what cuts them, who sees them.
# shellcheck shell=bats disable=SC2034,SC2016,SC2030,SC2031,SC2154
load helper

setup() {
	W=$BATS_TEST_TMPDIR
	cd "$W" || return
	mkdir run state
	printf '%s\n' '[space]' "state_dir = $W/state" "run_dir = $W/run" '[gateway]' 'half_close_timeout = 60' \
		'[streams]' 'cut_timeout = 20' >space.ini
	export SPACE_CONFIG=$W/space.ini
	RECORDS=$W/state/records
}

teardown() { stop_all; }

# route [SUBSTRATE [JQ-FILTER]]: a route, for people to change.
route() {
	jq -nc --arg substrate "${1:-kubernetes}" '{execution:7,worker:"worker-a",substrate:$substrate,activation:"act-19",attempt:1}
		+ if $substrate == "kubernetes" then {pod_uid:"0b9f0000-0000-4000-8000-000000000000"} else {} end'
}

# rec ROUTE [SANDBOX]: its record.
rec() { printf '{"sandbox":"%s","route":%s,"owner":"op-1"}\n' "${2:-s-42}" "$1"; }

# change JQ-FILTER [OPTION...]: installs the route so changed.
change() {
	ROUTE=$(jq -c "$1" <<<"$ROUTE")
	rec "$ROUTE" | spaceid install "${@:2}" >/dev/null
}

installed() {
	ROUTE=$(route "$@")
	rec "$ROUTE" | spaceid install >/dev/null
}

# echo_server: what sends back, at $W/echo.sock.
echo_server() { start echo "$FIXTURES/echo" "$W/echo.sock"; }

# hold NAME [OPTION...]: a relay between a FIFO and the echo server, open; its pid in $HELD, what comes back in NAME.back.
hold() {
	mkfifo "$1.in"
	exec {input}<>"$1.in"
	start "$1" bash -c 'exec spacestream relay --sandbox s-42 "${@:3}" - "unix:$2" <"$1.in" >"$1.back"' - "$1" "$W/echo.sock" "${@:2}"
	HELD=$STARTED
}

# through NAME TEXT: a line goes through it and comes back.
through() {
	echo "$2" >"$1.in"
	eventually grep -qx "$2" "$1.back"
}

# cut NAME WORDS: it has ended with 12, or will, saying so.
cut_with() {
	await_end "$(cat "$1.pid")"
	run tail -n 1 "$1.err"
	assert_output "spacestream: relay: s-42: cut: $2"
}

@test "lease runs a command with its standard input and output, and ends with its status" {
	installed
	run -0 bash -c 'head -c 300000 /dev/zero | spacestream lease --sandbox s-42 -- wc -c'
	assert_output 300000
	run -0 bash -c 'echo out | spacestream lease --sandbox s-42 -- sh -c "cat; echo err >&2" 2>err'
	assert_output out
	assert_equal "$(cat err)" err
	run -3 spacestream lease --sandbox s-42 -- sh -c 'exit 3' </dev/null
	run -137 spacestream lease --sandbox s-42 -- sh -c 'kill -9 $$' </dev/null
	run -127 spacestream lease --sandbox s-42 -- xyzzy-plugh </dev/null
	assert_output --partial xyzzy-plugh
	# It ends though something that it left behind still has its output.
	run -0 bash -c 'spacestream lease --sandbox s-42 -- sh -c "echo done; sleep 4 2>/dev/null 3>&- & exit 0" </dev/null'
	assert_output 'done'
}

# said: a command under a lease that has said 100000 bytes to ./slow and ended; the lease's process is $holding.
said() {
	rm -f said
	spacestream lease --sandbox s-42 -- sh -c 'head -c 100000 /dev/zero; echo $$ >said' </dev/null >slow 2>err 3>&- &
	holding=$!
	exec {slow}<slow
	eventually test -s said
	await_end "$(cat said)"
}

@test "what a command has said before its end is delivered, however late it is read" {
	installed
	mkfifo slow
	said
	# Longer than what a command has left behind is waited for.
	sleep 1.5
	assert_equal "$(wc -c <&"$slow")" 100000
	exits_with 0 "$holding"
	exec {slow}<&-
	# A signal ends the waiting; what was not delivered is no success. A reader that goes ends it, too.
	said
	kill -TERM "$holding"
	exits_with 143 "$holding"
	exec {slow}<&-
	said
	exec {slow}<&-
	exits_with 0 "$holding"
}

@test "lease and relay refuse another route than the one expected, and where there is none" {
	run -10 spacestream lease --sandbox s-42 -- true
	assert_output --partial 'refresh-route absent'
	installed
	run -0 spacestream lease --sandbox s-42 --expect "$ROUTE" -- true </dev/null
	run -10 spacestream lease --sandbox s-42 --expect "$(jq -c '.execution = 8' <<<"$ROUTE")" -- true
	assert_output --partial 'refresh-route execution'
	run -10 spacestream relay --sandbox s-42 --kind gateway --expect "$(jq -c '.attempt = 2' <<<"$ROUTE")" - -
	assert_output --partial 'refresh-route attempt'
	run -3 spacestream relay --sandbox s-42 --expect '{}' - -
	run -10 bash -c 'spaceid retire --sandbox s-42 --execution 7 >/dev/null; spacestream lease --sandbox s-42 -- true'
	assert_output --partial 'refresh-route retired'
	spaceid list >before
	echo '{' >"$RECORDS/s-42.json"
	run -3 spacestream lease --sandbox s-42 -- true
}

@test "a command under a lease that is cut is told to end, then killed, with all that it started" {
	installed
	start polite bash -c 'exec spacestream lease --sandbox s-42 -- sh -c "trap \"echo asked >$1/asked; exit\" TERM; echo \$\$ >$1/polite; sleep 300 & wait"' - "$W" </dev/null
	start deaf bash -c 'exec spacestream lease --sandbox s-42 -- sh -c "trap \"\" TERM; sleep 300 & echo \$! >$1/deaf; wait; sleep 300"' - "$W" </dev/null
	eventually test -s polite
	eventually test -s deaf
	change '.execution = 8'
	await_end "$(cat polite.pid)"
	assert_equal "$(cat asked)" asked
	assert_equal "$(head -n 1 polite.err)" 'spacestream: lease: s-42: cut: refresh-route execution: the record moved on'
	await_end "$(cat deaf.pid)"
	await_end "$(cat deaf)"
}

@test "relay connects addresses, and carries what there is both ways to the last byte" {
	installed
	echo_server
	head -c 3000000 /dev/urandom >data
	run -0 bash -c 'spacestream relay --sandbox s-42 - "unix:$1" <data | cmp - data' - "$W/echo.sock"
	# A question whose asker has ended its direction is answered all the same.
	run -0 bash -c 'printf question | spacestream relay --sandbox s-42 - "unix:$1"' - "$W/echo.sock"
	assert_output question
}

# flooded: a relay between two TCP peers, full: one writes without end, the other reads nothing until that is over. What
# became of their connections goes to ./resets; the peers' pid in $peers.
flooded() {
	mkfifo ready
	python3 - ready 3>&- <<-'PYTHON' >resets &
		import socket, sys, threading
		sides = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
		with open(sys.argv[1], "w") as ready:
		    print(*[s.getsockname()[1] for s in sides], file=ready)
		a, b = [s.accept()[0] for s in sides]
		a.settimeout(60)
		b.settimeout(60)
		a.sendall(b"x")
		assert b.recv(1) == b"x"
		with open(sys.argv[1], "w") as ready:
		    print("open", file=ready)
		def flood(s):
		    try:
		        while True:
		            s.sendall(b"y" * 65536)
		    except OSError as failed:
		        print(type(failed).__name__, flush=True)
		t = threading.Thread(target=flood, args=(a,))
		t.start()
		# Reads nothing until it is over: there is something buffered everywhere.
		t.join()
		try:
		    while b.recv(65536):
		        pass
		    print("end")
		except OSError as failed:
		    print(type(failed).__name__)
	PYTHON
	peers=$!
	read -r a b <ready
	start relay spacestream relay --sandbox s-42 "tcp:127.0.0.1:$a" "tcp:127.0.0.1:$b"
	read -r <ready
}

@test "a cut is a reset on TCP, at both ends, whatever is still buffered" {
	installed
	flooded
	change '.execution = 8'
	cut_with relay 'refresh-route execution: the record moved on'
	wait "$peers"
	run sort -u resets
	assert_output ConnectionResetError
}

@test "a relay that a signal ends resets both ends too, and has not ended well" {
	installed
	flooded
	stop relay
	wait "$peers"
	run sort -u resets
	assert_output ConnectionResetError
	mkfifo input
	exec {input}<>input
	echo_server
	spacestream relay --sandbox s-42 - "unix:$W/echo.sock" <&"$input" >/dev/null 3>&- &
	relaying=$!
	eventually is 1 bash -c 'spacestream list | grep -c relay'
	kill "$relaying"
	exits_with 143 "$relaying"
}

@test "relay refuses what is no address, and says what cannot be reached" {
	installed
	for address in unix tcp:127.0.0.1 tcp:127.0.0.1:080 tcp:127.0.0.1:80x tcp::80 tcp:a:b:80 fd:x fd:-1 'tcp:[::1]80' xyzzy; do
		run -2 spacestream relay --sandbox s-42 - "$address" </dev/null
	done
	run -1 spacestream relay --sandbox s-42 - "unix:$W/none.sock" </dev/null
	run -1 spacestream relay --sandbox s-42 - tcp:127.0.0.1:1 </dev/null
	run -1 spacestream relay --sandbox s-42 - fd:77 </dev/null
}

# each_row SUBSTRATE: the table of leases, for both kinds.
each_row() {
	installed "$1"
	echo_server
	hold control
	hold gateway --kind gateway
	through control one
	through gateway one
	# Owner only.
	if [ "$1" = kubernetes ]; then
		spaceid handoff --sandbox s-42 --from op-1 --owner op-2 >/dev/null
		through control owner
		through gateway owner
		spaceid handoff --sandbox s-42 --from op-2 --owner op-1 >/dev/null
	fi
	# A fence that does not cut.
	spaceid fence --sandbox s-42 >/dev/null
	through control fenced
	through gateway fenced
	# Attempt only.
	change '.attempt = 2'
	cut_with control 'refresh-route attempt: the record moved on'
	through gateway attempt
	run spacestream list
	assert_json '.kind == "gateway" and .epoch == 2'
	# Fence with --cut.
	spaceid fence --sandbox s-42 --cut >/dev/null
	cut_with gateway 'deny fenced: the record moved on'
	# What is opened after it stays.
	rm -f ./*.in
	hold control
	hold gateway --kind gateway
	through control anew
	through gateway anew
	change '.activation = "act-20"' --if-epoch 2
	cut_with control 'refresh-route activation: the record moved on'
	cut_with gateway 'refresh-route activation: the record moved on'
}

# last_rows SUBSTRATE: the rest of the table.
last_rows() {
	local row
	installed "$1"
	echo_server
	for row in worker pod_uid execution retired removed; do
		[ "$1" = kubernetes ] || [ "$row" != pod_uid ] || continue
		rm -f ./*.in
		hold control
		hold gateway --kind gateway
		through control "$row"
		through gateway "$row"
		reason="refresh-route $row: the record moved on"
		case $row in
		worker) change '.worker = "worker-b"' --if-epoch "$(jq .epoch "$RECORDS/s-42.json")" ;;
		pod_uid) change '.pod_uid |= sub("^0"; "1")' --if-epoch "$(jq .epoch "$RECORDS/s-42.json")" ;;
		execution) change '.execution += 1' ;;
		retired) spaceid retire --sandbox s-42 --execution "$(jq .execution <<<"$ROUTE")" >/dev/null ;;
		removed)
			rm "$RECORDS/s-42.json"
			reason='refresh-route absent: the record was taken away, or cannot be read'
			;;
		esac
		cut_with control "$reason"
		cut_with gateway "$reason"
		[ "$row" != retired ] || change '.execution += 1'
	done
	run -10 spacestream lease --sandbox s-42 -- true </dev/null
}

@test "kubernetes: owner, fence, attempt, fence --cut and activation, for control and gateway leases" {
	each_row kubernetes
}

@test "host: owner, fence, attempt, fence --cut and activation, for control and gateway leases" {
	each_row host
}

@test "kubernetes: worker, pod, execution, retirement and removal cut both kinds" {
	last_rows kubernetes
}

@test "host: worker, execution, retirement and removal cut both kinds" {
	last_rows host
}

@test "list shows what is held on this node, and nothing of processes that died" {
	run -0 spacestream list
	assert_output ''
	installed
	rec "$(route host)" s-1 | spaceid install >/dev/null
	echo_server
	hold one
	hold two --kind gateway
	start three bash -c 'exec spacestream lease --sandbox s-1 -- sleep 60' </dev/null
	through one x
	run -0 spacestream list
	assert_equal "$(jq -sc 'sort_by(.sandbox, .kind) | map([.sandbox, .kind, .op, .role, .execution, .epoch, .caller, .state, .in, .out])' <<<"$output")" \
		"[[\"s-1\",\"control\",\"lease\",\"spacestream\",7,1,\"uid:$(id -u)\",\"open\",0,0],[\"s-42\",\"control\",\"relay\",\"spacestream\",7,1,\"uid:$(id -u)\",\"open\",2,2],[\"s-42\",\"gateway\",\"relay\",\"spacestream\",7,1,\"uid:$(id -u)\",\"open\",0,0]]"
	run -0 spacestream list --sandbox s-1 -o table
	assert_line --index 0 --regexp '^lease +sandbox +execution +op +caller +age +kind +in +out +role +epoch$'
	assert_line --index 1 --regexp '^[0-9a-f]{12} +s-1 +7 +lease +uid:[0-9]+ +[0-9]+ s +control +0 +0 +spacestream +1$'
	assert_equal "${#lines[@]}" 2
	# Its children keep nothing of it alive, and nobody asks a dead process.
	kill -KILL "$(cat one.pid)"
	await_end "$(cat one.pid)"
	stop two
	run -0 spacestream list
	assert_json '.sandbox == "s-1"'
	stop three
	run -0 spacestream list
	assert_output ''
	run ls run/leases
	assert_output ''
}

@test "a process that does not answer is named, and the others are listed all the same" {
	installed
	echo_server
	hold one
	hold two
	kill -STOP "$HELD"
	run -1 --separate-stderr spacestream list
	assert_equal "$(jq -sc length <<<"$output")" 1
	assert_equal "$stderr" "spacestream: list: $W/run/leases/spacestream.$HELD.sock: no answer: it does not answer (stopped?)"
	kill -CONT "$HELD"
}

@test "a process without a descriptor left for who asks does not spin meanwhile" {
	local before after
	installed
	echo_server
	hold one
	prlimit --pid "$HELD" --nofile=3:
	before=$(awk '{ print $14 + $15 }' "/proc/$HELD/stat")
	run -1 spacestream list
	assert_output --partial 'no answer'
	after=$(awk '{ print $14 + $15 }' "/proc/$HELD/stat")
	[ $((after - before)) -lt 50 ] || fail "$((after - before)) ticks"
	prlimit --pid "$HELD" --nofile=256:
	run -0 spacestream list
	assert_equal "$(jq -sc length <<<"$output")" 1
}

@test "cancel ends one lease by the beginning of its id, or all of a sandbox" {
	installed
	echo_server
	hold one
	hold two
	hold three
	id=$(spacestream list | jq -r "select(.pid == $(cat one.pid)).lease")
	run -1 spacestream cancel 0000000000000000
	assert_output --partial 'no such lease'
	run -2 spacestream cancel
	run -2 spacestream cancel xyz
	run -2 spacestream cancel "$id" --sandbox s-42
	run -0 spacestream cancel "${id:0:16}"
	assert_output '{"cancelled":1}'
	cut_with one cancelled
	run -0 spacestream cancel --sandbox s-1
	assert_output '{"cancelled":0}'
	run -0 spacestream cancel --sandbox s-42
	assert_output '{"cancelled":2}'
	cut_with two cancelled
	cut_with three cancelled
}

@test "an id that more than one lease begins with is refused, and nothing is cancelled" {
	installed
	echo_server
	# Of seventeen ids two begin alike.
	for i in {1..17}; do
		hold "h$i"
	done
	twice=$(spacestream list | jq -r '.lease[0:1]' | sort | uniq -d | head -n 1)
	run -14 spacestream cancel "$twice"
	assert_output --partial 'leases begin so; nothing was cancelled'
	run -0 spacestream list
	assert_equal "${#lines[@]}" 17
}
