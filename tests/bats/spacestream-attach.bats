# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2154
# spacestream attach: terminals and commands of a guest, through the whole path, with real daemons.
load helper
load path

export BATS_VERBOSE_RUN=1

setup() {
	WORLD=$BATS_TEST_TMPDIR
}

teardown() {
	world_end
	stop_all
}

# stand: s-42 as execution 7 on worker-a; whoever we are may attach, and ask why a stream was cut.
stand() {
	world_make
	spacerouted grant --principal "uid:$(id -u)" --sandbox '*' --ops 'ping,guest.info,file.*,exec.*,terminal.*,lease.*' >/dev/null
	world_vmm one
	world_activate s-42 7 a one >/dev/null
}

# at_terminal ROWS COLS STEP... -- OPTION...: somebody at a terminal, attached to s-42.
at_terminal() {
	local steps=()

	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	shift
	python3 "$ROOT/tests/fixtures/pty.py" "${steps[@]}" -- spacestream attach s-42 "$@"
}

attach() {
	spacestream attach s-42 "$@"
}

@test "a command's output, errors, input and exit code are its own" {
	stand
	run -3 --separate-stderr attach --exec -- sh -c 'read a; read b; echo "$b $a"; echo wrong >&2; exit 3' <<<$'one\ntwo'
	assert_output 'two one'
	assert_equal "$stderr" wrong
	run -0 attach --exec --cwd /etc -- cat hostname </dev/null
	assert_output one
	run -143 attach --exec -- sh -c 'kill -TERM $$' </dev/null
	run -137 attach --exec -- sh -c 'kill -KILL $$' </dev/null
	# End of input reaches the command, and its late answer comes back.
	run -0 attach --exec -- sh -c 'cat >/dev/null; echo late' </dev/null
	assert_output late
	head -c 3000000 /dev/urandom >"$WORLD/bytes"
	attach --exec -- cat <"$WORLD/bytes" >"$WORLD/back"
	cmp "$WORLD/bytes" "$WORLD/back"
}

@test "a terminal has the size and modes of ours, which come back as they were" {
	stand
	run -0 at_terminal 30 100 raw type 'stty size\r' expect '\n30 100' size 40 120 \
		type 'until [ "$(stty size)" = "40 120" ]; do :; done; echo now$((40+2))\r' expect now42 \
		type 'echo $TERM; exit 5\r' expect "$TERM" end cooked -- --terminal
	assert_output 5
}

@test "the detach key leaves a session that goes on; a session given is attached to, and what is kept comes again" {
	stand
	run -0 at_terminal 24 80 raw type 'echo se''cret$((40+2))\r' expect secret42 type '\x1d' expect 'left session ' end cooked -- --terminal
	assert_output 0
	session=$(node-api <<<'{"op":"exec.list","sandbox":"s-42","args":{}}' | jq -r '.result.sessions[].session')
	run -0 at_terminal 24 80 raw expect secret42 type 'exit 7\r' end cooked -- "$session"
	assert_output 7
	# Another key, or none.
	run -0 at_terminal 24 80 raw type '\x1d\x10' expect 'left session ' end cooked -- --terminal --detach-key ctrl-p
	run -0 at_terminal 24 80 raw type 'read -r x; exit 9\r\x1d\r' end cooked -- --terminal --detach-key none
	assert_output 9
}

@test "the terminal is restored after SIGTERM, SIGHUP, SIGABRT and SIGKILL, and the signal is what ended us" {
	stand
	for name in TERM HUP ABRT KILL; do
		run -0 at_terminal 24 80 raw type 'echo ready$((1+1))\r' expect ready2 signal "$name" end cooked -- --terminal
		assert_output -- "-$(kill -l "$name")"
	done
	# Stopped and continued, as any job.
	run -0 at_terminal 24 80 raw signal TSTP cooked signal CONT raw type 'exit 4\r' end cooked -- --terminal
	assert_output 4
}

@test "a cut attachment waits for a newer route and attaches once more, to the same session" {
	stand
	mkfifo "$WORLD/go" "$WORLD/on"
	at_terminal 24 80 raw type 'n=4; echo first$((n+1))\r' expect first5 go "$WORLD/go" wait "$WORLD/on" \
		expect 'attached again: execution 7 attempt 2, before 7 attempt 1' raw \
		type 'echo second$((n+2))\r' expect second6 type 'exit 6\r' end cooked -- --terminal >"$WORLD/out" 2>"$WORLD/err" 3>&- &
	pid=$!
	read -r <"$WORLD/go"
	world_activate s-42 7 a one --attempt 2 >/dev/null
	echo on >"$WORLD/on"
	wait "$pid" || fail "$(cat "$WORLD/err")"
	assert_equal "$(cat "$WORLD/out")" 6
}

@test "output goes on at the byte where a cut left it, on another worker too; input goes on as well" {
	stand
	mkfifo "$WORLD/in" "$WORLD/out"
	attach --exec -- sh -c 'i=0; while read -r word; do i=$((i+1)); echo "$i $word"; done; exit 8' <"$WORLD/in" >"$WORLD/out" 2>"$WORLD/err" 3>&- &
	pid=$!
	exec {in}>"$WORLD/in" {out}<"$WORLD/out"
	echo before >&"$in"
	read -r -u "$out" line
	assert_equal "$line" '1 before'
	guest=$(spaceid show -c "$WORLD/a.ini" s-42 -o json | jq -r .guest.id)
	sandbox resume s-42 --prepare --from-config "$WORLD/a.ini" >/dev/null
	world_resume s-42 8 b one --from-config "$WORLD/a.ini" \
		--guest-key "$WORLD/a/records/guest-keys/$guest" >/dev/null
	eventually grep -q 'attached again' "$WORLD/err"
	echo after >&"$in"
	read -r -u "$out" line
	assert_equal "$line" '2 after'
	exec {in}>&-
	exits_with 8 "$pid"
	assert_equal "$(cat <&"$out")" ''
	run cat "$WORLD/err"
	assert_output "spacestream: attach: s-42: cut from execution 7: fenced; waiting for a newer route
spacestream: attach: s-42: attached again: execution 8 attempt 1, before 7 attempt 1"
}

# read_once OPTION...: an attachment whose reader goes after one line; how both of them ended, in $codes.
read_once() {
	attach "$@" </dev/null 2>"$WORLD/err" 3>&- | head -n 1 >"$WORLD/line" && codes=${PIPESTATUS[*]}
	assert_equal "$(cat "$WORLD/line"):$codes:$(cat "$WORLD/err")" 'up:0 0:'
}

@test "a reader that goes away takes along the command that was started for him, be it deaf to SIGTERM or stopped" {
	local command held rest
	stand
	mkfifo "$WORLD/guest-one/held"
	for command in 'echo up; exec sleep 1000' 'trap "" TERM; echo up; sleep 1000; sleep 1000' 'echo up; kill -STOP $$; sleep 1000'; do
		# It holds the FIFO as long as it lives, and so do we until it has ended.
		exec {held}<>"$WORLD/guest-one/held"
		read_once --exec --cwd / -- sh -c "exec 3>held; $command"
		exec {rest}<"$WORLD/guest-one/held" {held}<&-
		timeout 60 cat <&"$rest"
		exec {rest}<&-
	done
}

@test "a reader that goes away leaves a session that was there before, and one that he may not end is named" {
	stand
	session=$(node-api <<<'{"op":"exec.start","sandbox":"s-42","args":{"argv":["sh","-c","echo up; exec sleep 1000"]}}' | jq -r .result.session)
	read_once "$session"
	left() {
		node-api <<<'{"op":"exec.list","sandbox":"s-42","args":{}}' | jq -c '.result.sessions[0] | [.attached, has("exit"), has("signal")]'
	}
	eventually is '[false,false,false]' left
	spacerouted revoke --principal "uid:$(id -u)" --sandbox '*' >/dev/null
	spacerouted grant --principal "uid:$(id -u)" --sandbox '*' --ops exec.start,exec.attach >/dev/null
	spacerouted cache drop --all >/dev/null
	attach --exec -- sh -c 'echo up; exec sleep 1000' </dev/null 2>"$WORLD/err" 3>&- | head -n 1 >"$WORLD/line" && codes=${PIPESTATUS[*]}
	assert_equal "$codes" '1 0'
	run cat "$WORLD/err"
	assert_output --regexp '^spacestream: attach: s-42: session [0-9a-f]{32} goes on: refused by node-api: deny: unauthorized$'
}

@test "a stream that an operator cancels ends with 12, at once, and says why" {
	stand
	mkfifo "$WORLD/out"
	attach --exec -- sh -c 'echo up; exec sleep 1000' </dev/null >"$WORLD/out" 2>"$WORLD/err" 3>&- &
	pid=$!
	exec {out}<"$WORLD/out"
	read -r -u "$out" line
	lease=$(spacestream list -c "$WORLD/a.ini" -o json | jq -r 'select(.role == "sbx-manager").lease')
	spacestream cancel -c "$WORLD/a.ini" "$lease" >/dev/null
	code=0
	wait "$pid" || code=$?
	assert_equal "$code" 12
	run cat "$WORLD/err"
	assert_output --regexp '^spacestream: attach: s-42: session [0-9a-f]{32} was cut: '
}

@test "without a newer route the wait ends in time, or by a key; what is typed meanwhile goes nowhere" {
	stand
	mkfifo "$WORLD/go" "$WORLD/on"
	at_terminal 24 80 raw type 'n=4; echo first$((n+1))\r' expect first5 go "$WORLD/go" wait "$WORLD/on" \
		expect 'waiting for a newer route' type 'touch typed\r' type '\x03' expect 'left session ' end cooked \
		-- --terminal --cwd / >"$WORLD/out" 2>"$WORLD/err" 3>&- &
	pid=$!
	read -r <"$WORLD/go"
	kill -KILL "$(world_bridges)"
	echo on >"$WORLD/on"
	wait "$pid" || fail "$(cat "$WORLD/err")"
	assert_equal "$(cat "$WORLD/out")" 12
	assert_not_exists "$WORLD/guest-one/typed"
	rm "$WORLD/a/run/bridge/s-42.sock"
	world_activate s-42 7 a one --attempt 2 >/dev/null
	attach --reattach-timeout 1 --exec -- sh -c 'echo up; exec sleep 1000' </dev/null >"$WORLD/on" 2>"$WORLD/err" 3>&- &
	pid=$!
	exec {out}<"$WORLD/on"
	read -r -u "$out" || fail "$(cat "$WORLD/err")"
	sandbox retire s-42 --execution 7 --worker-config "$WORLD/a.ini" >/dev/null
	code=0
	wait "$pid" || code=$?
	assert_equal "$code" 12
	run cat "$WORLD/err"
	assert_line --index 0 --regexp '^spacestream: attach: s-42: cut from execution 7: (retired|absent); waiting for a newer route$'
	assert_line --index 1 --regexp '^spacestream: attach: s-42: session [0-9a-f]{32} was cut: (retired|absent)$'
}
