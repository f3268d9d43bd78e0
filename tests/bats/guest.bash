# The agent on a Unix socket, asked as forward asks it.
# shellcheck shell=bash disable=SC2034,SC2154

setup() {
	sock=$BATS_TEST_TMPDIR/guest.sock
	tree=$BATS_TEST_TMPDIR/tree
	mkdir "$tree"
}

teardown() { stop_all; }

agent() { start agent spacebridge guest --listen "unix:$sock" --root "$tree" "$@"; }

# request ID OP [ARGS]: a line as it travels from forward to the guest.
request() {
	jq -nc --arg id "$1" --arg op "$2" --argjson args "${3:-"{}"}" '{id:$id,op:$op,sandbox:"s-42",args:$args}'
}

# exchange: sends standard input on one connection, then its end; what comes back goes to output.
exchange() { socat -t 60 - "UNIX-CONNECT:$sock"; }

# ask OP [ARGS]: one request and its answer.
ask() {
	run exchange < <(request 1 "$@")
	assert_success
	assert_equal "${#lines[@]}" 1
}

# stream OP ARGS STEP...: a stream and what is done on it (tests/fixtures/framed); options of framed before in $framed.
stream() {
	local op=$1 args=$2
	shift 2
	# shellcheck disable=SC2086
	"$FIXTURES/framed" ${framed:-} "$sock" "$(request 1 "$op" "$args")" "$@"
}

# session OP ARGS: starts one; its id in $session, the args to attach in $attach.
session() {
	ask "$@"
	assert_json .result.session
	session=$(jq -r .result.session <<<"$output")
	attach=$(jq -nc --arg session "$session" '{session:$session}')
}

opened='{"id":"1","status":"open"}'
attached='{"id":"1","status":"open","from":0}'
