# Shared by every bats file: the tools on PATH, a scratch directory, servers that are waited for and ended.
# shellcheck shell=bash disable=SC2034,SC2154

bats_require_minimum_version 1.5.0
bats_load_library bats-support
bats_load_library bats-assert
bats_load_library bats-file

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
PATH=${SPACE_BIN:-$ROOT/build/bin}:$ROOT/bin:$PATH
FIXTURES=$ROOT/build/fixtures
VECTORS=$ROOT/tests/vectors
export PATH
# No test may depend on the machine's own installation.
export SPACE_CONFIG=$ROOT/tests/fixtures/empty.ini
unset NOTIFY_SOCKET LISTEN_FDS LISTEN_PID NO_COLOR COLUMNS LINES
# Nor on what runs the tests: a bash without TERM makes one up that its children do not see.
export TERM=xterm-256color LC_ALL=C.UTF-8
umask 022
ulimit -S -n "$(ulimit -H -n)"
START_IN=()

# skip_or_fail "what is missing": a loud skip that CI does not accept.
skip_or_fail() {
	[ -z "${REQUIRE_ALL:-}" ] || fail "REQUIRE_ALL: $1 is missing"
	skip "$1 is missing"
}

# npm_peers: npm's packages among the tests' peers, in $PEERS; for setup_file. Without a registry there is none.
npm_peers() {
	export PEERS=$ROOT/build/peers
	export NODE_PATH=$PEERS/node_modules
	! command -v npm >/dev/null || "$ROOT/tests/fixtures/peers/install" "$PEERS" || true
}

# start NAME CMD...: runs a server in the background until stop_all and returns once it said READY=1. Its pid is in
# $STARTED and in NAME.pid, what it wrote in NAME.out and NAME.err, all in $BATS_TEST_TMPDIR, or in $SERVERS where a file
# has servers for all of its tests. $START_IN: a command that runs it elsewhere.
start() {
	local directory=${SERVERS:-$BATS_TEST_TMPDIR} name=$1
	shift
	"${START_IN[@]}" "$FIXTURES/await-ready" -o "$directory/$name.out" -e "$directory/$name.err" -p "$directory/$name.pid" -- "$@" 3>&- || {
		cat "$directory/$name.err" >&2
		fail "$name did not become ready"
	}
	STARTED=$(cat "$directory/$name.pid")
}

# await_end PID: returns once the process has ended, also while its own parent has not asked for its status (an
# init that reaps once a second would make every test that long).
await_end() {
	"$FIXTURES/await-end" "$1" || fail "pid $1 has not ended within 120 s"
}

# exits_with CODE PID: our child ends so. `run wait` would be in a subshell, which has no children.
exits_with() {
	local code=0
	wait "$2" || code=$?
	assert_equal "$code" "$1"
}

# stop NAME [SIGNAL]: ends a server and waits until it has gone.
stop() {
	local file=${SERVERS:-$BATS_TEST_TMPDIR}/$1.pid pid
	pid=$(cat "$file")
	kill "-${2:-TERM}" "$pid" 2>/dev/null || true
	await_end "$pid"
	rm -f "$file"
}

# stop_all: kills what is left. When it returns nothing writes into the test's directory any more, which bats removes.
stop_all() {
	local file pids=()
	for file in "${SERVERS:-$BATS_TEST_TMPDIR}"/*.pid; do
		[ ! -s "$file" ] || pids+=("$(<"$file")")
	done
	[ ${#pids[@]} -gt 0 ] || return 0
	kill -KILL "${pids[@]}" 2>/dev/null || true
	"$FIXTURES/await-end" "${pids[@]}" || true
}

# eventually COMMAND...: tries until it succeeds, for what another process does by itself. The limit is there for what never
# comes true; no machine is so busy that it counts.
eventually() {
	local end=$((SECONDS + 120))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || fail "not within 120 s: $*"
		sleep 0.01
	done
}

# await COMMAND...: the same without a word from the command.
await() { eventually quietly "$@"; }
quietly() { "$@" >/dev/null 2>&1; }

# is, is_not WORDS COMMAND...: does the command print them?
is() { [ "$("${@:2}")" = "$1" ]; }
is_not() { ! is "$@"; }

# listens PATH: does somebody listen at this Unix path? A socket has its name before it takes connections.
listens() { grep -q " 00010000 .* $1\$" /proc/net/unix; }

# deserted PATH: does nobody? A child with the listener of a process that was ended goes after that.
deserted() { ! listens "$1"; }

# audited FILTER: the last line of $AUDIT is so, now or soon: who is cut knows it before it is written down.
audited() { eventually last_is "$AUDIT" "$@"; }
last_is() { tail -n 1 "$1" | is_json "${@:2}" >/dev/null 2>&1; }

# has FILE TEXT: a line of the file has this text.
has() { grep -qsF -- "$2" "$1"; }

# is_json FILTER: the jq filter is true of standard input. jq 1.6 alone is content with an input of nothing.
is_json() {
	local said
	said=$(jq -e "$@") && [ -n "$said" ]
}

# assert_json FILTER: the jq filter is true of the last output, of the last line where there are several.
assert_json() {
	is_json "$@" <<<"$output" || fail "not true of the output: $* -- $output"
}

# stop_point POINT [COUNT] (tests/preload/stop.c): what a program must be started with to stop there; await_stop and go_on are the other ends.
stop_point() {
	[ -e "$BATS_TEST_TMPDIR/tell" ] || mkfifo "$BATS_TEST_TMPDIR/tell" "$BATS_TEST_TMPDIR/go"
	STOP=(env LD_PRELOAD="$ROOT/build/preload/stop.so" SP_STOP_AT="$1" SP_STOP_COUNT="${2:-1}" \
		SP_STOP_TELL="$BATS_TEST_TMPDIR/tell" SP_STOP_GO="$BATS_TEST_TMPDIR/go")
}
await_stop() { from "$BATS_TEST_TMPDIR/tell"; }
go_on() { echo >"$BATS_TEST_TMPDIR/go"; }

# from FIFO: waits for its line; not for ever.
from() { timeout 60 head -n 1 "$1" >/dev/null || fail "nothing came from $1"; }
