# spacebridge guest: sessions and ports as streams, in frames.
# shellcheck shell=bats disable=SC2016,SC2154,SC2034
load helper
load guest

# runs FIFO: waits until a command has opened it, and ended.
runs() { timeout 60 cat "$1" >/dev/null; }

@test "a session takes input, gives both outputs apart and ends with its command's exit" {
	agent
	session exec.start '{"argv":["sh","-c","cat; echo no >&2; exit 3"]}'
	framed="-o $BATS_TEST_TMPDIR/out -e $BATS_TEST_TMPDIR/err"
	run stream exec.attach "$attach" pump < <(seq 1 30000)
	assert_output "$attached"$'\n{"exit":3}'
	cmp "$BATS_TEST_TMPDIR/out" <(seq 1 30000)
	assert_equal "$(cat "$BATS_TEST_TMPDIR/err")" no
}

@test "a command gets its directory, its environment, its program's arguments, and a session of its own" {
	mkdir "$tree/work"
	agent
	session exec.start '{"argv":["sh","-c","pwd; echo $A $1; ps -o sid= -p $$ | tr -d \" \"; echo $$","sh","b c"],"cwd":"work","env":{"A":"a"}}'
	run stream exec.attach "$attach" rest
	assert_line --index 1 "$tree/work"
	assert_line --index 2 'a b c'
	assert_equal "${lines[3]}" "${lines[4]}"
	ask exec.start '{"argv":["no-such-program"]}'
	assert_json '.errno == "ENOENT"'
	ask exec.start '{"argv":["true"],"timeout_ms":1}'
	assert_json '.errno == "EINVAL"'
	ask exec.attach '{"session":"0123"}'
	assert_json '.status == "error" and .errno == "ENOENT"'
}

@test "a late attachment gets the output and the end, as often as it likes" {
	mkfifo "$tree/held"
	agent
	session exec.start '{"argv":["sh","-c","exec 3>held; echo out; echo err >&2; kill -9 $$"]}'
	runs "$tree/held"
	for _ in 1 2; do
		run stream exec.attach "$attach" rest
		assert_output "$attached"$'\nerr\nout\n{"signal":"SIGKILL"}'
	done
}

@test "exactly the last 64 KiB are kept, and a client may say where to go on" {
	mkfifo "$tree/go"
	agent
	session exec.start '{"argv":["sh","-c","read x <go; seq 1 20000; read x <go; echo end"]}'
	# 108,894 bytes go to the first attachment, which then is cut.
	stream exec.attach "$attach" go "$tree/go" until $'\\n20000\\n' >/dev/null
	framed="-o $BATS_TEST_TMPDIR/out"
	run stream exec.attach "$attach" go "$tree/go" rest
	assert_output "${attached/0/43358}"$'\n{"exit":0}'
	{
		seq 1 20000 | tail -c 65536
		echo end
	} | cmp - "$BATS_TEST_TMPDIR/out"
	run stream exec.attach "$(jq -c '.from = 108894' <<<"$attach")" rest
	assert_equal "$(cat "$BATS_TEST_TMPDIR/out")" end
	ask exec.attach "$(jq -c '.from = 43361' <<<"$attach")"
	assert_json '.errno == "ERANGE"'
	ask exec.attach "$(jq -c '.from = 108899' <<<"$attach")"
	assert_json '.errno == "ERANGE"'
	run stream exec.attach "$(jq -c '.from = 108898' <<<"$attach")" rest
	assert_output "${attached/0/108898}"$'\n{"exit":0}'
}

@test "output before the first attachment waits for it" {
	agent
	session exec.start '{"argv":["seq","1","40000"]}'
	framed="-o $BATS_TEST_TMPDIR/out"
	run stream exec.attach "$attach" rest
	assert_output "$attached"$'\n{"exit":0}'
	cmp "$BATS_TEST_TMPDIR/out" <(seq 1 40000)
}

@test "a command that nobody attaches to does not stall for long" {
	mkfifo "$tree/done"
	agent
	session exec.start '{"argv":["sh","-c","seq 1 100000; echo >done"]}'
	runs "$tree/done"
	run stream exec.attach "$attach" rest
	assert_line --index -1 '{"exit":0}'
	assert_line --index -2 100000
}

@test "a session outlives a cut, and its input goes on" {
	agent
	session exec.start '{"argv":["cat"]}'
	stream exec.attach "$attach" send 'one\n' until 'one\n' >/dev/null
	ask exec.list
	assert_json --arg session "$session" '.result == {sessions:[.result.sessions[0] | {session:$session,program:"cat",terminal:false,started,attached}],truncated:false}'
	run stream exec.attach "$attach" until 'one\n' send 'two\n' end rest
	assert_output "$attached"$'\none\ntwo\n{"exit":0}'
	ask exec.list
	assert_json '.result.sessions[0] | .attached == false and .exit == 0'
}

@test "a new attachment takes over, and the old one is told" {
	mkfifo "$tree/first"
	agent
	session exec.start '{"argv":["cat"]}'
	stream exec.attach "$attach" send 'one\n' until 'one\n' go "$tree/first" rest >"$BATS_TEST_TMPDIR/old" &
	local old=$!
	cat "$tree/first"
	run stream exec.attach "$attach" until 'one\n' send 'two\n' end rest
	assert_output "$attached"$'\none\ntwo\n{"exit":0}'
	wait "$old"
	run cat "$BATS_TEST_TMPDIR/old"
	assert_output "$attached"$'\none\n{"error":"op","errno":"EBUSY","message":"another attachment has taken this session over"}'
}

@test "signals reach the command by their names, until it has ended" {
	agent
	session exec.start '{"argv":["sh","-c","trap \"echo got\" USR1; echo ready; while :; do sleep 100 & wait $!; kill $!; done"]}'
	stream exec.attach "$attach" until 'ready\n' >/dev/null
	ask exec.signal "$(jq -c '.signal = "USR1"' <<<"$attach")"
	assert_output '{"id":"1","status":"ok","result":{}}'
	stream exec.attach "$attach" until 'got\n' >/dev/null
	ask exec.signal "$(jq -c '.signal = "SIGNONE"' <<<"$attach")"
	assert_json '.errno == "EINVAL"'
	ask exec.signal "$(jq -c '.signal = "SIGTERM"' <<<"$attach")"
	run stream exec.attach "$attach" rest
	assert_line --index -1 '{"signal":"SIGTERM"}'
	ask exec.signal "$(jq -c '.signal = "SIGTERM"' <<<"$attach")"
	assert_json '.errno == "ESRCH"'
	ask exec.signal '{"session":"none","signal":"SIGTERM"}'
	assert_json '.errno == "ENOENT"'
}

@test "a terminal is the command's controlling one, has a size, and changes it" {
	agent
	framed="-o $BATS_TEST_TMPDIR/out"
	session terminal.open '{"rows":24,"cols":80,"env":{"PS1":"> "}}'
	run stream exec.attach "$attach" send 'stty size; tty -s && echo a $TERM\n' until 'a xterm-256color' \
		frame 4 '{"rows":30,"cols":100}' send 'stty size\n' until '30 100' \
		send 'sh -c "echo run; exec sleep 100"\n' until 'run\x0d\n' send '\x03' until '> ' send 'echo $?\n' until '130' send 'exit 7\n' rest
	assert_output "$attached"$'\n{"exit":7}'
	grep -qx $'24 80\r' "$BATS_TEST_TMPDIR/out"
	session terminal.open '{"argv":["sh","-c","trap \"stty size\" WINCH; echo ready; while read -r line; do :; done"],"rows":1,"cols":2}'
	stream exec.attach "$attach" until 'ready' >/dev/null
	ask terminal.resize "$(jq -c '. + {rows:50,cols:60}' <<<"$attach")"
	assert_output '{"id":"1","status":"ok","result":{}}'
	run stream exec.attach "$attach" until '50 60' end rest
	assert_output "$attached"$'\n{"exit":0}'
}

@test "sizes and terminals that are none are refused" {
	agent
	for args in '{}' '{"rows":0,"cols":80}' '{"rows":24,"cols":65536}' '{"rows":24,"cols":80,"argv":[]}'; do
		ask terminal.open "$args"
		assert_json '.errno == "EINVAL"'
	done
	session exec.start '{"argv":["cat"]}'
	ask terminal.resize "$(jq -c '. + {rows:50,cols:60}' <<<"$attach")"
	assert_json '.errno == "ENOTTY"'
	run stream exec.attach "$attach" frame 4 '{"rows":50,"cols":60}' rest
	assert_output "$attached"$'\n{"error":"op","errno":"ENOTTY","message":"the session has no terminal"}'
	run stream exec.attach "$attach" frame 4 '{"rows":50}' rest
	assert_line --index 1 --partial '{"error":"bad-record",'
	run stream exec.attach "$attach" send 'still here\n' end rest
	assert_output "$attached"$'\nstill here\n{"exit":0}'
}

@test "no more sessions than max_sessions, those that have ended make room" {
	printf '[guest]\nmax_sessions = 2\n' >"$BATS_TEST_TMPDIR/space.ini"
	SPACE_CONFIG=$BATS_TEST_TMPDIR/space.ini agent
	session exec.start '{"argv":["cat"]}'
	session exec.start '{"argv":["cat"]}'
	ask exec.start '{"argv":["cat"]}'
	assert_json '.errno == "EAGAIN"'
	stream exec.attach "$attach" end rest >/dev/null
	local ended=$attach
	session terminal.open '{"argv":["cat"],"rows":1,"cols":1}'
	ask exec.attach "$ended"
	assert_json '.errno == "ENOENT"'
	ask exec.list
	assert_json '.result.sessions | length == 2'
}

@test "a stream is the only request of its connection; what refuses it is one line and the end" {
	agent
	session exec.start '{"argv":["cat"]}'
	run exchange < <(
		request a ping
		request b exec.attach "$attach"
		request c ping
	)
	assert_equal "${#lines[@]}" 3
	output=${lines[1]}
	assert_json '.id == "b" and .errno == "EINVAL"'
	run exchange < <(
		request a exec.attach '{}'
		request b ping
	)
	assert_json '.id == "a" and .errno == "EINVAL"'
	assert_equal "${#lines[@]}" 1
}

@test "what is no frame ends the stream with words, and not the session" {
	agent
	session exec.start '{"argv":["cat"]}'
	for bytes in '\x06\x00\x00\x00\x00\x00\x00\x00' '\x00\x01\x00\x00\x00\x00\x00\x00' '\x00\x00\x00\x00\x00\x01\x00\x01' \
		'\x01\x00\x00\x00\x00\x00\x00\x01a' 'GET / HTTP/1.1\n'; do
		run stream exec.attach "$attach" raw "$bytes" rest
		assert_line --index 1 --partial '{"error":"bad-record","message":"frame: '
	done
	run stream exec.attach "$attach" send 'x\n' end rest
	assert_output "$attached"$'\nx\n{"exit":0}'
}

@test "a slow reader stalls its own command and nobody else's, in bounded memory" {
	local pid before after
	agent
	pid=$(cat "$BATS_TEST_TMPDIR/agent.pid")
	mkfifo "$tree/slow" "$tree/go"
	session exec.start '{"argv":["sh","-c","head -c 50000000 /dev/zero"]}'
	before=$(awk '/VmRSS/ { print $2 }' "/proc/$pid/status")
	framed="-o $BATS_TEST_TMPDIR/out"
	stream exec.attach "$attach" go "$tree/slow" wait "$tree/go" rest >"$BATS_TEST_TMPDIR/slow" &
	local slow=$!
	cat "$tree/slow"
	session exec.start '{"argv":["seq","1","1000000"]}'
	framed="-o $BATS_TEST_TMPDIR/other"
	run stream exec.attach "$attach" rest
	assert_line --index 1 '{"exit":0}'
	cmp "$BATS_TEST_TMPDIR/other" <(seq 1 1000000)
	after=$(awk '/VmRSS/ { print $2 }' "/proc/$pid/status")
	assert [ $((after - before)) -lt 1024 ]
	echo >"$tree/go"
	wait "$slow"
	assert_equal "$(tail -n 1 "$BATS_TEST_TMPDIR/slow")" '{"exit":0}'
	assert_equal "$(stat -c %s "$BATS_TEST_TMPDIR/out")" 50000000
}

@test "a command that does not read stalls its client, and no more is taken than fits" {
	mkfifo "$tree/gate"
	agent
	session exec.start '{"argv":["sh","-c","cat gate; wc -c"]}'
	stream exec.attach "$attach" pump < <(head -c 20000000 /dev/zero) >"$BATS_TEST_TMPDIR/out" &
	local pump=$!
	ask ping
	assert_json '.status == "ok"'
	echo >"$tree/gate"
	wait "$pump"
	assert_equal "$(tail -n +2 "$BATS_TEST_TMPDIR/out")" $'\n20000000\n{"exit":0}'
}

@test "an agent that ends tells its streams, and takes its sessions along" {
	mkfifo "$tree/held" "$tree/here"
	agent
	session exec.start '{"argv":["sh","-c","exec 3>held; trap \"\" TERM HUP; echo ready; sleep 1000"]}'
	stream exec.attach "$attach" until 'ready\n' go "$tree/here" rest >"$BATS_TEST_TMPDIR/out" &
	local attached=$!
	exec 4<"$tree/held"
	cat "$tree/here"
	stop agent
	wait "$attached"
	assert_equal "$(tail -n 1 "$BATS_TEST_TMPDIR/out")" '{"error":"unavailable","message":"the agent is ending"}'
	timeout 60 cat <&4
	exec 4<&-
}

# answer_by PYTHON [ADDRESS]: a service for one connection, in `peer`; $connect are the args to reach it. What it prints
# comes from $service; its pid is $serving.
answer_by() {
	local port
	coproc SERVICE {
		python3 -c 'import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET
listener = socket.create_server((sys.argv[2], 0), family=family)
print(listener.getsockname()[1], flush=True)
peer = listener.accept()[0]
exec(sys.argv[1])' "$1" "${2:-127.0.0.1}" 3>&-
	}
	# The shell forgets a coprocess and its descriptors as soon as that has ended.
	serving=$SERVICE_PID
	exec {service}<&"${SERVICE[0]}"
	read -r port <&"$service"
	connect=$(jq -nc --argjson port "$port" '{port:$port,protocol:"tcp"}')
}

@test "a port's service gets the client's end of input, and its late answer comes back" {
	agent
	answer_by '
size = 0
while chunk := peer.recv(65536): size += len(chunk)
peer.sendall(b"%d\nlate\n" % size)'
	run stream port.connect "$connect" pump < <(head -c 3000000 /dev/zero)
	assert_output "$opened"$'\n3000000\nlate\n{"exit":0}'
}

@test "a service that ends first is told, and still gets what the client says" {
	agent
	answer_by 'peer.sendall(b"hello\n"); peer.shutdown(socket.SHUT_WR); print(peer.recv(100, socket.MSG_WAITALL).decode())'
	run stream port.connect "$connect" until 'hello\n' half send 'after your end' end rest
	assert_output "$opened"$'\nhello\n{"exit":0}'
	read -r line <&"$service"
	assert_equal "$line" 'after your end'
}

@test "what a service has said before it went is passed on, though it takes no more" {
	local agent
	agent
	agent=$(cat "$BATS_TEST_TMPDIR/agent.pid")
	mkfifo "$BATS_TEST_TMPDIR/step"
	# It leaves a byte unread: its end is a reset. The agent sees all of it at once, and more of the client's.
	answer_by "
import os, signal
peer.recv(1)
os.kill($agent, signal.SIGSTOP)
peer.sendall(b'answer\\n')
peer.close()"
	stream port.connect "$connect" send ab wait "$BATS_TEST_TMPDIR/step" send c go "$BATS_TEST_TMPDIR/step" rest \
		>"$BATS_TEST_TMPDIR/out" &
	local client=$!
	await_end "$serving"
	echo >"$BATS_TEST_TMPDIR/step"
	timeout 60 cat "$BATS_TEST_TMPDIR/step"
	kill -CONT "$agent"
	wait "$client"
	run cat "$BATS_TEST_TMPDIR/out"
	assert_output "$opened"$'\nanswer\n{"error":"op","errno":"ECONNRESET","message":"Connection reset by peer"}'
}

@test "five megabytes go both ways at once through a port, as it was" {
	agent
	answer_by 'while chunk := peer.recv(65536): peer.sendall(chunk)'
	head -c 5000000 /dev/urandom >"$BATS_TEST_TMPDIR/in"
	framed="-o $BATS_TEST_TMPDIR/out"
	run stream port.connect "$connect" pump <"$BATS_TEST_TMPDIR/in"
	assert_output "$opened"$'\n{"exit":0}'
	cmp "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out"
}

@test "a service on ::1 alone is found" {
	[ -e /proc/net/if_inet6 ] || skip_or_fail 'IPv6'
	agent
	answer_by 'peer.sendall(b"six\n")' ::1
	run stream port.connect "$connect" end rest
	assert_output "$opened"$'\nsix\n{"exit":0}'
}

@test "no service, the agent's own port, and what is no port are refused in one line" {
	agent
	answer_by ''
	stream port.connect "$connect" end rest >/dev/null
	await_end "$serving"
	ask port.connect "$connect"
	assert_json '.errno == "ECONNREFUSED"'
	ask port.connect '{"port":5005,"protocol":"tcp"}'
	assert_json '.errno == "EACCES"'
	for args in '{"port":0,"protocol":"tcp"}' '{"port":65536,"protocol":"tcp"}' '{"port":80,"protocol":"udp"}' '{"port":80}'; do
		ask port.connect "$args"
		assert_json '.errno == "EINVAL"'
	done
}

@test "a cut of the client resets the service's connection" {
	agent
	answer_by '
peer.recv(100)
peer.sendall(b"x")
try:
    print("end" if peer.recv(100) == b"" else "bytes")
except ConnectionResetError:
    print("reset")'
	stream port.connect "$connect" send a until x >/dev/null
	read -r line <&"$service"
	assert_equal "$line" reset
}

@test "a half-closed port that says nothing any more ends after half_close_timeout" {
	printf '[gateway]\nhalf_close_timeout = 1\n' >"$BATS_TEST_TMPDIR/space.ini"
	SPACE_CONFIG=$BATS_TEST_TMPDIR/space.ini agent
	answer_by '
import select
peer.sendall(b"x")
peer.recv(100)
poll = select.poll()
poll.register(peer, 0)
poll.poll()
print("reset")'
	run stream port.connect "$connect" until x end rest
	assert_output "$opened"$'\nx{"error":"timeout","message":"half closed, and idle for too long"}'
	read -r line <&"$service"
	assert_equal "$line" reset
}
