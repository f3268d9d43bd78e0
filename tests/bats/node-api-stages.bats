# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2154
# node-api as a pipeline, with stand-ins for its stages: what it makes of their ends, and that it streams.
load helper

setup() {
	export SPACE_BIN=$BATS_TEST_TMPDIR/stages
	mkdir "$SPACE_BIN"
	# Every stage passes on what it gets and notes how it was called.
	for tool in spacerouted spacecap spacebridge; do
		stand_in "$tool" 'exec cat'
	done
}

# stand_in TOOL SCRIPT: what TOOL does; $STAGE there is "route", "mint-1", "send-1", "repair", "mint-2" or "send-2".
stand_in() {
	cat >"$SPACE_BIN/$1" <<-SCRIPT
		#!/bin/bash
		STAGE=\$1
		case "\$*" in
		send*--keep-request*) STAGE=send-1 ;;
		send*) STAGE=send-2 ;;
		mint*)
			# Two stages share one command line: the first to make the directory is mint-1, whichever that is.
			mkdir "$BATS_TEST_TMPDIR/mint-1" 2>/dev/null && STAGE=mint-1 || STAGE=mint-2
			;;
		esac
		echo "\$STAGE: \${0##*/} \$*" >>"$BATS_TEST_TMPDIR/calls"
		$2
	SCRIPT
	chmod +x "$SPACE_BIN/$1"
}

# over_socket COMMAND: runs it at one end of a socket pair; our standard input and output are at the other.
over_socket() {
	command -v socat >/dev/null || skip_or_fail socat
	printf '%s\necho "exit $?"\n' "$1" >"$BATS_TEST_TMPDIR/served"
	socat -t 60 - "EXEC:bash $BATS_TEST_TMPDIR/served"
}

@test "the stages are those of the overview, each with its options" {
	run -0 --separate-stderr node-api -c /some/space.ini --token-file /some/token --agent /some/signer --window 7 <<<x
	assert_output x
	run -0 sort "$BATS_TEST_TMPDIR/calls"
	assert_output - <<-CALLS
		mint-1: spacecap mint -c /some/space.ini --agent /some/signer --window 7
		mint-2: spacecap mint -c /some/space.ini --agent /some/signer --window 7
		repair: spacerouted repair -c /some/space.ini --window 7
		route: spacerouted route -c /some/space.ini --token-file /some/token --window 7
		send-1: spacebridge send -c /some/space.ini --window 7 --keep-request
		send-2: spacebridge send -c /some/space.ini --window 7
	CALLS
}

@test "a line is answered at once, while the input stays open" {
	coproc API { node-api; }
	# The shell forgets a coprocess and its descriptors as soon as that has ended.
	exec {from}<&"${API[0]}"
	echo '{"id":"1"}' >&"${API[1]}"
	read -r -t 60 answer <&"$from"
	assert_equal "$answer" '{"id":"1"}'
	printf '{"id":"2"}' >&"${API[1]}"
	local to=${API[1]} pid=$API_PID
	exec {to}>&-
	read -r -t 60 answer <&"$from" || true
	assert_equal "$answer" '{"id":"2"}'
	wait "$pid"
}

@test "the exit code is that of the last stage" {
	for code in 0 1 3 10 11 12 14; do
		stand_in spacebridge "cat; [ \$STAGE = send-1 ] || exit $code; exit 11"
		run -"$code" node-api <<<x
		assert_output x
	done
}

@test "no input makes no output and code 0" {
	run -0 node-api </dev/null
	assert_output ''
}

@test "a last line without line feed counts as a request" {
	stand_in spacebridge 'sed p -n; [ $STAGE = send-1 ] || echo; exit 0'
	run -0 node-api < <(printf 'a\nb')
}

@test "a stage that exits with 2 makes 2, whichever it is" {
	for stage in route mint-1 mint-2 send-1 repair send-2; do
		rm -rf "$BATS_TEST_TMPDIR/mint-1"
		for tool in spacerouted spacecap spacebridge; do
			stand_in "$tool" "[ \$STAGE != $stage ] || exit 2; exec cat"
		done
		run -2 node-api <<<x
	done
}

@test "a stage that was killed makes 1, whichever it is" {
	for stage in route mint-1 mint-2 send-1 repair send-2; do
		rm -rf "$BATS_TEST_TMPDIR/mint-1"
		for tool in spacerouted spacecap spacebridge; do
			stand_in "$tool" "cat; [ \$STAGE != $stage ] || kill -KILL \$\$"
		done
		run -1 --separate-stderr node-api <<<x
		assert_output x
		assert_equal "${stderr_lines[-1]}" 'node-api: a stage was killed by signal 9'
	done
}

@test "an answer too few or too many makes 1, whichever stage it is" {
	for stage in route mint-1 mint-2 send-1 repair send-2; do
		for filter in '1d' 'p'; do
			rm -rf "$BATS_TEST_TMPDIR/mint-1"
			for tool in spacerouted spacecap spacebridge; do
				stand_in "$tool" "if [ \$STAGE = $stage ]; then exec sed $filter; fi; exec cat"
			done
			run -1 --separate-stderr node-api <<<x
			[[ $stderr =~ ^'node-api: 1 requests, '[02]' answers: a stage ended early'$ ]]
		done
	done
}

@test "a stage that ends early with a code of its own makes 1" {
	stand_in spacerouted 'if [ $STAGE = repair ]; then head -n 1; exit 11; fi; exec cat'
	run -1 --separate-stderr node-api < <(printf 'a\nb\n')
	assert_output a
	assert_equal "$stderr" 'node-api: 2 requests, 1 answers: a stage ended early'
}

@test "a tool that is not there makes 1" {
	rm "$SPACE_BIN/spacebridge"
	PATH=/usr/bin:/bin run -1 "$ROOT/bin/node-api" <<<x
	assert_line 'node-api: a stage could not be started'
}

@test "a caller who stops reading ends it without words" {
	node-api < <(for ((i = 0; i < 100000; i++)); do echo "a line that somebody reads"; done) 2>"$BATS_TEST_TMPDIR/err" |
		head -n 1 >"$BATS_TEST_TMPDIR/out"
	local code=${PIPESTATUS[0]}
	assert_equal "$code" 1
	assert_equal "$(cat "$BATS_TEST_TMPDIR/err")" ''
}

@test "answers that cannot be written make 1" {
	run -1 --separate-stderr bash -c 'node-api <<<x >/dev/full'
	assert_equal "${stderr_lines[-1]}" 'node-api: not all answers could be passed on'
	run -1 bash -c 'node-api --help >/dev/full'
}

@test "an input that cannot be read makes 1" {
	run -1 --separate-stderr node-api <"$BATS_TEST_TMPDIR"
	assert_output ''
	assert_equal "${stderr_lines[-1]}" 'node-api: not all requests could be passed on'
	run -1 --separate-stderr timeout 60 bash -c 'node-api <&-'
	assert_output ''
	assert_equal "${stderr_lines[-1]}" 'node-api: standard input is closed'
}

@test "with --peer route reads the caller's socket itself" {
	stand_in spacerouted '[ $STAGE != route ] || [ -S /dev/stdin ] || exit 2; exec cat'
	run -0 over_socket 'node-api --peer' <<<x
	assert_output $'x\nexit 0'
	run -0 cat "$BATS_TEST_TMPDIR/calls"
	assert_line 'route: spacerouted route --peer'
}

@test "with --peer a stage that drops a record makes 1" {
	stand_in spacebridge 'exec sed 1d'
	run -0 over_socket 'node-api --peer 2>/dev/null' <<<x
	assert_output 'exit 1'
}

@test "an unknown option, a missing value, two callers at once are usage errors" {
	run -2 node-api --widnow 3 </dev/null
	run -2 node-api --window </dev/null
	run -2 node-api --peer --token-file /some/token </dev/null
	assert_line 'node-api: --peer and --token-file exclude one another'
	run -2 node-api request.json </dev/null
	assert [ ! -e "$BATS_TEST_TMPDIR/calls" ]
}
