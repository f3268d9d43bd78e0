# shellcheck shell=bats disable=SC2016,SC2154
# The scripts that start a role: they become the tool itself, and find it beside the tree or by PATH.
load helper

setup() {
	export SPACE_BIN=$BATS_TEST_TMPDIR/tools
	mkdir "$SPACE_BIN"
	printf '#!/bin/sh\necho "$$ $0 $*"\n' >"$SPACE_BIN/spacebridge"
	chmod +x "$SPACE_BIN/spacebridge"
}

# become SCRIPT...: runs it in the place of a shell, and prints that shell's pid first.
become() {
	run -0 sh -c 'echo $$; exec "$@"' sh "$@"
}

@test "each role is its tool's process, with the arguments that were given" {
	become "$ROOT/bin/sbx-manager" -c /some/space.ini --audit /some/log
	assert_line -n 1 "${lines[0]} $SPACE_BIN/spacebridge forward -c /some/space.ini --audit /some/log"
	become "$ROOT/bin/spaced-guest" -c /some/space.ini
	assert_line -n 1 "${lines[0]} $SPACE_BIN/spacebridge guest -c /some/space.ini"
	become "$ROOT/bin/spaced-host" s-42 -c /some/space.ini
	assert_line -n 1 "${lines[0]} $SPACE_BIN/spacebridge host s-42 -c /some/space.ini"
	become "$ROOT/bin/netgtw" s-42 -c /some/space.ini
	assert_line -n 1 "${lines[0]} $SPACE_BIN/spacebridge gateway s-42 -c /some/space.ini"
}

@test "a role that is called wrongly says what its tool says" {
	unset SPACE_BIN
	run -2 netgtw -c "$SPACE_CONFIG"
	assert_output 'spacebridge: gateway: whose gateway? One sandbox, please
try: spacebridge help gateway'
	run -2 spaced-host
	assert_output 'spacebridge: host: whose bridge? One sandbox, please
try: spacebridge help host'
	run -2 sbx-manager --lisetn x
	assert_line -n 0 'spacebridge: forward: unknown option --lisetn; did you mean --listen?'
	run -2 spaced-guest --rot x
	assert_line -n 0 'spacebridge: guest: unknown option --rot; did you mean --root?'
}

@test "once installed the tools are found by PATH" {
	mkdir "$BATS_TEST_TMPDIR/installed"
	cp "$ROOT"/bin/{sbx-manager,spaced-host,spaced-guest} "$BATS_TEST_TMPDIR/installed"
	PATH=$SPACE_BIN:/usr/bin:/bin
	unset SPACE_BIN
	run -0 "$BATS_TEST_TMPDIR/installed/sbx-manager"
	assert_output --regexp '/tools/spacebridge forward$'
}

@test "a link to a script in the tree finds the tree's tools" {
	unset SPACE_BIN
	ln -s "$ROOT/bin/sbx-manager" "$BATS_TEST_TMPDIR/linked"
	PATH=/usr/bin:/bin run -0 "$BATS_TEST_TMPDIR/linked" --help
	assert_output --partial 'spacebridge forward'
}

@test "check says what it does, and takes no other option for a file of tests" {
	run -0 "$ROOT/bin/check" --help
	assert_line --index 0 --partial 'check [-k] [FILE...]: '
	run -2 --separate-stderr "$ROOT/bin/check" --no-such-option
	assert_output ''
	assert_equal "${stderr_lines[0]}" 'check: --no-such-option: no such option'
}

@test "a help that cannot be written makes 1" {
	for script in check demo deps; do
		run -1 bash -c "'$ROOT/bin/$script' --help >/dev/full"
	done
}
