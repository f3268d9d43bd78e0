# spacebridge guest: requests and answers of the agent.
# shellcheck shell=bats disable=SC2016,SC2154
load helper
load guest

# deliver: sends standard input whether it is wanted or not, and prints what comes back until the end.
deliver() {
	python3 -c '
import socket, sys, threading
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
s.connect(sys.argv[1])
data = sys.stdin.buffer.read()
def send():
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
threading.Thread(target=send).start()
try:
    while chunk := s.recv(65536):
        sys.stdout.buffer.write(chunk)
except ConnectionResetError:
    pass
' "$sock"
}

# gone FIFO: waits until nobody has the FIFO open for writing any more.
gone() { timeout 60 cat "$1" >/dev/null; }

@test "ping and guest.info answer, and what is no argument of theirs is EINVAL" {
	agent
	ask ping
	assert_output '{"id":"1","status":"ok","result":{}}'
	ask guest.info
	assert_json --arg kernel "$(uname -r)" '.result.kernel == $kernel and .result.boot_id and .status == "ok"'
	ask ping '{"loud":true}'
	assert_json '.status == "error" and .error == "op" and .errno == "EINVAL"'
}

@test "a file is written, read, listed, renamed, changed and removed" {
	agent
	ask file.mkdir '{"path":"/a/b","parents":true}'
	assert_output '{"id":"1","status":"ok","result":{}}'
	ask file.write '{"path":"/a/b/f","text":"hello\n","mode":"0640"}'
	assert_output '{"id":"1","status":"ok","result":{"size":6}}'
	ask file.read '{"path":"/a/b/f"}'
	assert_output '{"id":"1","status":"ok","result":{"size":6,"eof":true,"text":"hello\n"}}'
	ask file.chmod '{"path":"/a/b/f","mode":"0600"}'
	ask file.stat '{"path":"/a/b/f"}'
	assert_json '.result.mode == "0600" and .result.size == 6 and .result.type == "file"'
	ask file.rename '{"from":"/a/b/f","to":"/a/g"}'
	ask file.list '{"path":"/","recursive":true}'
	assert_json '[.result.entries[].name] == ["a","a/b","a/g"] and .result.truncated == false'
	ask file.remove '{"path":"/a","recursive":true}'
	assert_output '{"id":"1","status":"ok","result":{}}'
	run ls -A "$tree"
	assert_output ''
}

@test "a large tree is removed while other requests are answered" {
	mkdir "$tree/big"
	(cd "$tree/big" && seq 1 3000 | xargs touch)
	agent
	# In one write, so that both are at hand in one turn of the agent.
	run exchange <<<"$(
		request 1 file.remove '{"path":"big","recursive":true}'
		request 2 ping
	)"
	assert_line --index 0 '{"id":"2","status":"ok","result":{}}'
	assert_line --index 1 '{"id":"1","status":"ok","result":{}}'
	assert_not_exist "$tree/big"
}

@test "no path leads out of the root" {
	echo outside >"$BATS_TEST_TMPDIR/secret"
	ln -s ../secret "$tree/up"
	ln -s "$BATS_TEST_TMPDIR/secret" "$tree/whole"
	ln -s "$BATS_TEST_TMPDIR" "$tree/dir"
	agent
	jq -nc --arg up "$BATS_TEST_TMPDIR" '
		["../secret", "/../secret", "up", "whole", "dir/secret", $up + "/secret", "/etc/passwd"][] as $path
		| ["file.read", {path:$path}], ["file.write", {path:$path,text:"changed",append:true,create:false}],
		  ["file.stat", {path:$path}], ["file.chmod", {path:$path,mode:"0777"}], ["file.list", {path:($path + "/..")}],
		  ["exec.run", {argv:["pwd"],cwd:$path}]
		| {id:"1",op:.[0],sandbox:"s-42",args:.[1]}' >"$BATS_TEST_TMPDIR/requests"
	run exchange <"$BATS_TEST_TMPDIR/requests"
	assert_equal "${#lines[@]}" 42
	output=$(jq -sc 'map([.status, .errno]) | unique' <<<"$output")
	assert_output '[["error","ENOENT"]]'
	run exchange <<<"$(request 1 exec.run '{"argv":["pwd"],"cwd":"../../.."}')"
	assert_json --arg tree "$tree" '.result.stdout.text == $tree + "\n"'
	assert_equal "$(cat "$BATS_TEST_TMPDIR/secret")" outside
	run ls "$tree"
	assert_output $'dir\nup\nwhole'
}

@test "magic links of procfs lead nowhere, even from the root directory itself" {
	local path
	start agent spacebridge guest --listen "unix:$sock" --root /
	for path in /proc/self/root/etc/passwd /proc/self/cwd /proc/self/fd/0; do
		ask file.read "$(jq -nc --arg path "$path" '{path:$path}')"
		assert_json '.errno == "ELOOP"'
	done
	ask exec.run '{"argv":["pwd"],"cwd":"/proc/self/cwd"}'
	assert_json '.errno == "ELOOP"'
}

@test "an operation that the agent does not have is ENOSYS, a request that is none is EINVAL" {
	agent
	for op in lease.list guest.rekey no.such; do
		ask "$op"
		assert_json '.status == "error" and .error == "op" and .errno == "ENOSYS"'
	done
	run exchange <<-'LINES'
		{"id":"1","op":"ping","sandbox":"s-42","args":{},"cap":"v4.public.x"}
		{"id":"2","op":"ping","sandbox":"s-42"}
		{"id":"3","op":"ping","sandbox":"../s","args":{}}
		{"id":"4","op":7,"sandbox":"s-42","args":{}}
		{"id":"5","status":"ok","result":{}}
		{"id":"6","op":"ping","sandbox":"s-42","args":{}}
	LINES
	assert_equal "${#lines[@]}" 6
	for i in 0 1 2 3 4; do
		output=${lines[i]}
		assert_json '.status == "error" and .error == "op" and .errno == "EINVAL"'
	done
	assert_line --index 5 '{"id":"6","status":"ok","result":{}}'
}

@test "a line without an id to answer ends its connection, and no other" {
	local nest bad
	agent
	nest=$(printf '[%.0s' {1..17})
	coproc other { exchange; }
	# shellcheck disable=SC2154
	local to=${other[1]} from=${other[0]}
	for bad in '' 'noise' '{"op":"ping","sandbox":"s","args":{}}' '{"id":"","op":"ping","sandbox":"s","args":{}}' \
		'{"id":1,"op":"ping","sandbox":"s","args":{}}' '{"id":"1","id":"1"}' '[]' 'null' "{\"id\":\"1\",\"a\":$nest" \
		"{\"id\":\"$(printf '%0129d' 0)\",\"op\":\"ping\",\"sandbox\":\"s\",\"args\":{}}" $'{"id":"\xff"}'; do
		run deliver < <(
			request before ping
			printf '%s\n' "$bad"
			request after ping
		)
		assert_output '{"id":"before","status":"ok","result":{}}'
		request 1 ping >&"$to"
		IFS= read -r -t 60 answer <&"$from"
		assert_equal "$answer" '{"id":"1","status":"ok","result":{}}'
	done
}

@test "binary noise, a line of 10 MB and half a record are survived" {
	agent
	run deliver < <(head -c 1000000 /dev/urandom)
	assert_output ''
	run deliver < <(
		printf '{"id":"1","op":"file.write","sandbox":"s","args":{"path":"f","text":"'
		head -c 10000000 /dev/zero | tr '\0' a
		printf '"}}\n'
		request 2 ping
	)
	assert_output ''
	run deliver < <(
		request 1 ping
		request 2 file.write '{"path":"f","text":"half"}' | head -c 60
	)
	assert_output '{"id":"1","status":"ok","result":{}}'
	assert_not_exist "$tree/f"
	ask ping
	assert_output '{"id":"1","status":"ok","result":{}}'
}

@test "a command's ends, outputs and input come back as they were" {
	agent
	ask exec.run '{"argv":["sh","-c","cat; echo no >&2; exit 3"],"text":"in\n"}'
	assert_output '{"id":"1","status":"ok","result":{"exit":3,"stdout":{"text":"in\n"},"stderr":{"text":"no\n"},"truncated":false}}'
	ask exec.run '{"argv":["sh","-c","kill -9 $$"]}'
	assert_json '.result == {signal:"SIGKILL",stdout:{text:""},stderr:{text:""},truncated:false}'
	ask exec.run '{"argv":["cat"],"data":"AP8="}'
	assert_json '.result.stdout == {data:"AP8="}'
	ask exec.run '{"argv":["wc","-c"]}'
	assert_json '.result.stdout.text == "0\n"'
	ask exec.run '{"argv":["no-such-program"]}'
	assert_json '.error == "op" and .errno == "ENOENT"'
	touch "$tree/plain"
	ask exec.run '{"argv":["./plain"]}'
	assert_json '.error == "op" and .errno == "EACCES"'
}

@test "a command gets its directory, its environment, three descriptors and a session of its own" {
	mkdir "$tree/work"
	agent 7</dev/null
	ask exec.run '{"argv":["sh","-c","pwd; env; echo /proc/self/fd/*; echo $$ $(cut -d\" \" -f5,6 /proc/self/stat)"],"cwd":"work","env":{"A":"b=c"}}'
	run jq -r .result.stdout.text <<<"$output"
	assert_line --index 0 "$tree/work"
	assert_line 'A=b=c'
	refute_line --partial NOTIFY_SOCKET
	refute_line --partial SPACE_CONFIG
	assert_line '/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3'
	read -r pid group session <<<"${lines[-1]}"
	assert_equal "$pid $pid" "$group $session"
}

@test "output beyond its limit is cut, and the command does not stall on it" {
	agent
	ask exec.run '{"argv":["sh","-c","head -c 3000000 /dev/zero | tr \"\\0\" x; head -c 100 /dev/zero | tr \"\\0\" y >&2"]}'
	assert_json '.result.exit == 0 and .result.truncated == true and (.result.stdout.text | length) == 65536 and (.result.stderr.text | length) == 100'
	ask exec.run '{"argv":["printf","123456"],"limit":4}'
	assert_json '.result.truncated == true and .result.stdout.text == "1234"'
	ask exec.run '{"argv":["printf","1234"],"limit":4}'
	assert_json '.result.truncated == false'
	ask exec.run '{"argv":["sh","-c","head -c 200000 /dev/urandom; head -c 200000 /dev/urandom >&2"],"limit":131072}'
	assert [ "${#output}" -le 262144 ]
	assert_json '.result.truncated == true and (.result.stdout.data | length) == 174764 and (.result.stderr.data | length) > 80000'
}

@test "a command over its time is killed with all that it started" {
	mkfifo "$tree/held"
	agent
	# Each of three generations keeps the FIFO open. Two seconds, in which a shell gets to its first words on any machine.
	exchange < <(
		request 1 exec.run '{"argv":["sh","-c","exec 3>held; (trap \"\" TERM HUP; sleep 1000 & sleep 1000) & sleep 1000"],"timeout_ms":2000}'
		request 2 exec.run '{"argv":["sh","-c","echo so far; exec sleep 1000"],"timeout_ms":2000}'
	) >"$BATS_TEST_TMPDIR/answers" &
	local asked=$!
	gone "$tree/held"
	wait "$asked"
	run grep '"id":"2"' "$BATS_TEST_TMPDIR/answers"
	assert_json '.result == {signal:"SIGKILL",stdout:{text:"so far\n"},stderr:{text:""},truncated:false,timed_out:true}'
}

@test "a command in the background does not hold up the answer" {
	agent
	ask exec.run '{"argv":["sh","-c","sleep 1000 & echo $!"],"timeout_ms":20000}'
	assert_json '.result.exit == 0'
	kill "$(jq -r .result.stdout.text <<<"$output")"
}

@test "a command does not hold up other requests of its connection" {
	mkfifo "$tree/gate"
	agent
	coproc line { exchange; }
	local to=${line[1]} from=${line[0]}
	request slow exec.run '{"argv":["cat","gate"]}' >&"$to"
	request quick ping >&"$to"
	IFS= read -r -t 60 answer <&"$from"
	assert_equal "$answer" '{"id":"quick","status":"ok","result":{}}'
	echo opened >"$tree/gate"
	IFS= read -r -t 60 answer <&"$from"
	assert_equal "$(jq -r .id,.result.stdout.text <<<"$answer")" $'slow\nopened'
}

@test "an id that is in flight already is EINVAL, and the first request goes on" {
	mkfifo "$tree/gate"
	agent
	coproc line { exchange; }
	local to=${line[1]} from=${line[0]}
	request 1 exec.run '{"argv":["cat","gate"]}' >&"$to"
	request 1 exec.run '{"argv":["touch","twice"]}' >&"$to"
	IFS= read -r -t 60 answer <&"$from"
	assert_equal "$(jq -c '[.id,.error,.errno]' <<<"$answer")" '["1","op","EINVAL"]'
	request 1 file.write '{"path":"twice","text":""}' >&"$to"
	IFS= read -r -t 60 answer <&"$from"
	assert_equal "$(jq -c '[.id,.error,.errno]' <<<"$answer")" '["1","op","EINVAL"]'
	echo opened >"$tree/gate"
	IFS= read -r -t 60 answer <&"$from"
	assert_equal "$(jq -r .result.stdout.text <<<"$answer")" opened
	assert_not_exist "$tree/twice"
}

@test "no more commands run at once than max_sessions allows" {
	mkfifo "$tree/gate"
	printf '[guest]\nmax_sessions = 2\n' >"$BATS_TEST_TMPDIR/space.ini"
	agent -c "$BATS_TEST_TMPDIR/space.ini"
	coproc line { exchange; }
	local to=${line[1]} from=${line[0]}
	request 1 exec.run '{"argv":["cat","gate"]}' >&"$to"
	request 2 exec.run '{"argv":["cat","gate"]}' >&"$to"
	request 3 exec.run '{"argv":["true"]}' >&"$to"
	IFS= read -r -t 60 answer <&"$from"
	assert_equal "$(jq -c '[.id,.error,.errno]' <<<"$answer")" '["3","op","EAGAIN"]'
	: >"$tree/gate"
	IFS= read -r -t 60 answer <&"$from"
	IFS= read -r -t 60 answer <&"$from"
	request 4 exec.run '{"argv":["true"]}' >&"$to"
	IFS= read -r -t 60 answer <&"$from"
	assert_equal "$(jq -c '[.id,.result.exit]' <<<"$answer")" '["4",0]'
}

@test "a connection that ends takes its commands along" {
	mkfifo "$tree/held"
	agent
	python3 - "$sock" "$(request 1 exec.run '{"argv":["sh","-c","exec 3>held; echo up >&3; trap \"\" TERM; sleep 1000; sleep 1000"]}')" "$tree/held" <<-'PYTHON'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(sys.argv[2].encode() + b"\n")
		open(sys.argv[3]).readline()
	PYTHON
	gone "$tree/held"
	ask ping
	assert_output '{"id":"1","status":"ok","result":{}}'
}

@test "a reader that is slow gets every answer, and costs no more than a bounded queue" {
	head -c 131072 /dev/zero | tr '\0' x >"$tree/f"
	agent
	run python3 - "$sock" "$(request ID file.read '{"path":"f"}')" "$STARTED" <<-'PYTHON'
		import json, socket, sys, threading
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(60)
		s.connect(sys.argv[1])
		def ask():
		    for i in range(600):
		        s.sendall(sys.argv[2].replace("ID", str(i)).encode() + b"\n")
		asking = threading.Thread(target=ask)
		asking.start()
		asking.join(0.3)
		seen = []
		for line in s.makefile("rb"):
		    seen.append(json.loads(line))
		    if len(seen) == 600:
		        break
		assert [a["id"] for a in seen] == [str(i) for i in range(600)]
		assert all(len(a["result"]["text"]) == 131072 for a in seen)
		peak = [l.split()[1] for l in open(f"/proc/{sys.argv[3]}/status") if l.startswith("VmHWM")]
		assert int(peak[0]) < 40000, peak
	PYTHON
	assert_success
}

@test "a file that does not fit is an error, and leaves what was there" {
	agent
	stop agent
	echo old >"$tree/f"
	start agent prlimit --fsize=1000 spacebridge guest --listen "unix:$sock" --root "$tree"
	ask file.write "$(jq -nc '{path:"f",text:("x" * 2000)}')"
	assert_json '.error == "op" and .errno == "EFBIG"'
	assert_equal "$(ls -A "$tree"):$(cat "$tree/f")" f:old
	ask file.write "$(jq -nc '{path:"f",text:"new"}')"
	assert_json '.result.size == 3'
}

@test "SIGTERM lets what is in flight end, takes nothing new, and ends with 0" {
	mkfifo "$tree/gate"
	start agent bash -c 'spacebridge guest --listen "$1" --root "$2" & echo $! >"$3"; wait $!; echo $? >"$3"' - \
		"unix:$sock" "$tree" "$BATS_TEST_TMPDIR/code"
	eventually test -s "$BATS_TEST_TMPDIR/code"
	coproc line { exchange; }
	local to=${line[1]} from=${line[0]}
	request 1 exec.run '{"argv":["sh","-c","echo up >up; cat gate"]}' >&"$to"
	request 2 ping >&"$to"
	IFS= read -r -t 60 answer <&"$from"
	kill -TERM "$(cat "$BATS_TEST_TMPDIR/code")"
	echo opened >"$tree/gate"
	IFS= read -r -t 60 answer <&"$from"
	assert_equal "$(jq -r .result.stdout.text <<<"$answer")" opened
	await_end "$STARTED"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/code")" 0
	assert_not_exist "$sock"
}

@test "SIGTERM does not wait for ever: a command that stays is killed" {
	mkfifo "$tree/held"
	agent
	coproc line { exchange; }
	request 1 exec.run '{"argv":["sh","-c","exec 3>held; echo up >&3; trap \"\" TERM; sleep 1000; sleep 1000"]}' >&"${line[1]}"
	head -n 1 "$tree/held"
	kill -TERM "$STARTED"
	gone "$tree/held"
	await_end "$STARTED"
}

@test "SIGHUP opens the audit file anew" {
	agent --audit "$BATS_TEST_TMPDIR/audit"
	mv "$BATS_TEST_TMPDIR/audit" "$BATS_TEST_TMPDIR/audit.1"
	kill -HUP "$STARTED"
	ask ping
	run deliver <<<'noise'
	run cat "$BATS_TEST_TMPDIR/audit"
	assert_json '.role == "spaced-guest" and .error == "bad-record"'
}

@test "a peer that is not the host is not heard" {
	agent --cid 42
	run python3 - "$sock" "$(request 1 ping)" <<-'PYTHON'
		import socket, sys
		def answer(name):
		    s = socket.socket(socket.AF_UNIX)
		    s.settimeout(60)
		    s.bind(name)
		    s.connect(sys.argv[1])
		    try:
		        s.sendall(sys.argv[2].encode() + b"\n")
		        return s.recv(100)
		    except (BrokenPipeError, ConnectionResetError):
		        return b""
		for cid in 0, 1, 3, 42:
		    assert answer(f"\0vsock:{cid}:1073741824:42:1") == b"", cid
		assert answer("\0vsock:2:1073741824:42:1").startswith(b'{"id":"1","status":"ok"')
	PYTHON
	assert_success
	run jq -sc 'map([.role, .decision, .reason]) | unique' "$BATS_TEST_TMPDIR/agent.err"
	assert_output '[["spaced-guest","deny","peer-credentials"]]'
}

@test "the agent listens on AF_VSOCK, where the guest's own processes are not heard" {
	if ! python3 -c 'import socket; socket.socket(socket.AF_VSOCK)' 2>/dev/null; then
		run spacebridge guest --root "$tree" --key "$BATS_TEST_TMPDIR/key" --listen vsock:59005
		assert_failure 1
		assert_output --partial 'vsock:59005'
		return
	fi
	start agent spacebridge guest --root "$tree" --key "$BATS_TEST_TMPDIR/key" --listen vsock:59005
	run python3 - "$(request 1 ping)" <<-'PYTHON'
		import socket, sys
		s = socket.socket(socket.AF_VSOCK)
		s.settimeout(60)
		try:
		    s.connect((1, 59005))
		    s.sendall(sys.argv[1].encode() + b"\n")
		    print(s.recv(100))
		except OSError:
		    print("unheard")
	PYTHON
	assert_success
	[ "$output" = unheard ] || assert_output "b''"
}

@test "what it cannot serve is said, with the exit code of its kind" {
	run spacebridge guest --listen tcp:1 --root "$tree"
	assert_failure 2
	assert_output 'spacebridge: guest: tcp:1: neither unix:PATH nor vsock:PORT'
	run spacebridge guest --listen vsock:0 --root "$tree"
	assert_failure 2
	run spacebridge guest --listen "unix:$sock" --root "$tree/none"
	assert_failure 1
	assert_output "spacebridge: guest: $tree/none: No such file or directory"
	run spacebridge guest --listen "unix:$tree/none/sock" --root "$tree"
	assert_failure 1
	run spacebridge guest --listen "unix:$sock" --root "$tree" --cid 2
	assert_failure 2
	run spacebridge guest -c "$tree/none.ini"
	assert_failure 2
	agent
	run spacebridge guest --listen "unix:$sock" --root "$tree"
	assert_failure 1
	ask ping
	assert_output '{"id":"1","status":"ok","result":{}}'
}

@test "the static agent needs no library and serves the same" {
	run file -b "$ROOT/build/bin/spaced-guest-static"
	assert_output --partial 'static'
	start agent spaced-guest-static --listen "unix:$sock" --root "$tree"
	ask exec.run '{"argv":["sh","-c","echo static"]}'
	assert_json '.result.stdout.text == "static\n"'
	run spaced-guest-static --listen nowhere
	assert_failure 2
	run -2 spaced-guest-static --max-sessions 0
	assert_output $'spaced-guest-static: --max-sessions: `0` is not a whole number from 1 to 4096\ntry: spaced-guest-static --help'
	run -0 spaced-guest-static --version
	assert_output "spaced-guest-static $(spacebridge -V | cut -d ' ' -f 2)"
	run -2 spaced-guest-static --lisetn=x
	assert_line -n 0 'spaced-guest-static: unknown option --lisetn; did you mean --listen?'
	run -2 spaced-guest-static --xyzzy-plugh
	assert_line -n 0 'spaced-guest-static: unknown option --xyzzy-plugh'
	run -2 spaced-guest-static -x
	assert_line -n 0 'spaced-guest-static: unknown option -x'
	run -2 spaced-guest-static --root
	assert_line -n 0 'spaced-guest-static: --root wants a value (DIR)'
	run -2 spaced-guest-static --help=all
	assert_line -n 0 'spaced-guest-static: --help takes no value'
	run -2 spaced-guest-static somewhere
	assert_line -n 0 'spaced-guest-static: `somewhere`: no argument is taken'
	run -1 bash -c 'spaced-guest-static --help >/dev/full'
	# What it takes, what it says that it takes, and what its page says.
	run spaced-guest-static --max-tree-mib 0
	assert_failure 2
	run diff <(spaced-guest-static --help | sed -n '/^examples:$/q; s/^  \(-.,\|   \) \(--[a-z-]*\).*/\2/p' | grep -vx -e --help -e --version | sort) \
		<(sed -n '/^\.Bl/,/^\.El/s/^\.It Fl.* -\([a-z-]*\).*/--\1/p' "$ROOT/man/spaced-guest-static.1" | sort | grep -vx -e --help -e --version)
	assert_output ''
}

@test "hello and rekey are heard from the host alone, first on a connection, and in their form" {
	agent --cid 42
	run python3 - "$sock" <<-'PYTHON'
		import json, socket, sys
		NONCE = "paWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaU"
		HELLO = json.dumps({"guest": "hello", "nonce": NONCE}, separators=(",", ":"))
		REKEY = json.dumps({"guest": "rekey", "sandbox": "s-42", "execution": 7, "id": "g-1", "key": NONCE}, separators=(",", ":"))
		PING = '{"id":"1","op":"ping","sandbox":"s-42","args":{}}'
		ports = iter(range(1073741824, 1073741924))
		def say(*lines, name=None):
		    s = socket.socket(socket.AF_UNIX)
		    s.settimeout(60)
		    s.bind(name or f"\0vsock:2:{next(ports)}:42:1")
		    s.connect(sys.argv[1])
		    s.sendall("".join(l + "\n" for l in lines).encode())
		    s.shutdown(socket.SHUT_WR)
		    return [json.loads(l) for l in s.makefile()]
		def error(*lines, **name):
		    seen = say(*lines, **name)
		    assert len(seen) == 1 and list(seen[0]) == ["guest", "message"] and seen[0]["guest"] == "error", seen
		    return seen[0]["message"]
		assert "no VSOCK address" in error(HELLO, name="\0another")
		assert "no VSOCK address" in error(REKEY, name="\0another")
		assert "no key" in error(HELLO)
		assert "no key" in error(HELLO, PING)
		assert [list(a) for a in say(REKEY, PING)] == [["guest", "mac"]]
		assert "must prove" in error(REKEY)
		assert "neither" in error('{"guest":"bye"}')
		assert "unknown field" in error(HELLO[:-1] + ',"sandbox":"s-42"}')
		assert "longer" in error('{"guest":"hello","nonce":"' + "x" * 2000 + '"}')
		# After a hello the connection is for requests; later ones are none of ours.
		seen = say(HELLO, PING)
		assert len(seen) == 2 and list(seen[0]) == ["guest", "mac"] and seen[1]["status"] == "ok", seen
		assert len(say(PING, HELLO)) == 1
		assert len(say(HELLO, HELLO)) == 1
		# Each connection has a proof of its own.
		assert say(HELLO)[0]["mac"] != say(HELLO)[0]["mac"]
	PYTHON
	assert_success
	run jq -sc '[.[] | select(.op == "guest.rekey") | [.sandbox, .decision, .reason]]' "$BATS_TEST_TMPDIR/agent.err"
	assert_output '[["s-42","match",null],["s-42","deny","guest-identity"]]'
	run jq -sc '[.[] | select(.op == "guest.hello") | .decision] | unique' "$BATS_TEST_TMPDIR/agent.err"
	assert_output '["deny","match"]'
}
