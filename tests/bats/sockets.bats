# spacebridge sockets: who listens where, found out without anybody's notice.
# shellcheck shell=bats disable=SC2016,SC2034,SC2154
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir run
}

teardown() { stop_all; }

# listen NAME: a server at run/NAME, which logs who connects.
listen() {
	start "${1##*/}" "$FIXTURES/bridge" --listen "$PWD/run/$1" --log "$PWD/log"
}

# leave PATH: a socket that nobody has any more.
leave() {
	start leaver "$FIXTURES/bridge" --listen "$1"
	stop leaver KILL
}

@test "who has a socket is told, and does not notice" {
	listen a.sock
	run -0 spacebridge sockets run/a.sock
	assert_json --argjson pid "$STARTED" --argjson uid "$(id -u)" --argjson ino "$(stat -c %i run/a.sock)" \
		--arg mode "$(stat -c 0%a run/a.sock)" \
		'. == {path: "run/a.sock", state: "served", ino: $ino, mode: $mode, owner: $uid, uid: $uid, pid: $pid}'
	run -0 cat a.sock.err a.sock.out
	assert_output ''
	# It was never connected to: whoever waits for a first connection still does.
	python3 -c '
import socket, subprocess, sys
s = socket.socket(socket.AF_UNIX); s.bind("run/b.sock"); s.listen(1); s.settimeout(0)
print(subprocess.run(["spacebridge", "sockets", "run/b.sock"], stdout=subprocess.PIPE).stdout.decode(), end="")
try: s.accept(); sys.exit("somebody connected")
except BlockingIOError: pass' >said
	run -0 jq -r .state said
	assert_output served
}

@test "a socket that nobody has is stale, and what is none is told apart" {
	leave "$PWD/run/left.sock"
	touch run/file
	run -0 spacebridge sockets run/left.sock run/file run/none run/file/below
	run -0 jq -r '"\(.path) \(.state)"' <<<"$output"
	assert_output $'run/file no-socket\nrun/file/below absent\nrun/left.sock stale\nrun/none absent'
}

@test "of a directory the sockets are shown, whatever they are called" {
	local long
	long=$(printf 'x%.0s' {1..90})
	leave "$PWD/run/left.sock"
	mkdir "run/$long"
	python3 -c '
import socket
s = socket.socket(socket.AF_UNIX); s.bind(b"run/\x1b[31m\n\xff\"x")'
	ln -s left.sock run/link
	mkfifo run/fifo
	listen "$long/$long.sock"
	run -0 spacebridge sockets run "run/$long"
	run -0 jq -r '"\(.path) \(.state)"' <<<"$output"
	assert_output "run/?[31m??\"x stale
run/left.sock stale
run/$long/$long.sock served"
}

@test "who may not know says so, and is not kept from what everybody may know" {
	[ "$(id -u)" = 0 ] || skip_or_fail root
	listen open.sock
	chmod 666 run/open.sock
	chmod 755 . run
	mkdir -m 700 run/closed
	listen closed/in.sock
	# The way to here need not be open.
	as_nobody() { (cd run && setpriv --reuid 65534 --regid 65534 --clear-groups "$(command -v spacebridge)" "$@"); }
	run -0 as_nobody sockets open.sock closed closed/in.sock
	run -0 jq -r '"\(.path) \(.state) \(has("pid"))"' <<<"$output"
	assert_output $'closed hidden false\nclosed/in.sock hidden false\nopen.sock served false'
}

@test "a socket of another network namespace is served" {
	unshare --net true 2>/dev/null || skip_or_fail 'the right to make a network namespace'
	START_IN=(unshare --net)
	listen a.sock
	run -0 spacebridge sockets run/a.sock
	assert_json '.state == "served" and (has("pid") | not)'
}
