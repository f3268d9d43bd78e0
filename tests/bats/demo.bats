# shellcheck shell=bats disable=SC2154
# The demo is a test: each scene checks what it shows.
load helper

@test "the demo's ten scenes end as they must, and nothing is left" {
	TMPDIR=$BATS_TEST_TMPDIR run -0 demo
	assert_line --regexp '^10\. '
	refute_line --partial 'NOT as it must'
	assert_line 'Ten scenes, each ended as it must.'
	assert_equal "$(ls -A "$BATS_TEST_TMPDIR")" ''
}

@test "the scenes end in the same way with guests that boot Linux, and the machines are gone" {
	"$ROOT/tests/guest/build" 2>"$BATS_TEST_TMPDIR/missing" || {
		[ $? -eq 4 ] || fail "$(cat "$BATS_TEST_TMPDIR/missing")"
		skip_or_fail "$(sed 's/^guest: missing: //' "$BATS_TEST_TMPDIR/missing")"
	}
	mkdir "$BATS_TEST_TMPDIR/tmp"
	TMPDIR=$BATS_TEST_TMPDIR/tmp run -0 demo --guest
	assert_line --regexp '\| guest seven: Linux .*, the agent starts'
	refute_line --partial 'NOT as it must'
	assert_line 'Ten scenes, each ended as it must.'
	assert_equal "$(ls -A "$BATS_TEST_TMPDIR/tmp")" ''
	assert_equal "$(grep -lasF "$BATS_TEST_TMPDIR/tmp" /proc/[0-9]*/cmdline)" ''
}

@test "a command runs in the demo's environment, and its output is its own" {
	TMPDIR=$BATS_TEST_TMPDIR run -0 --separate-stderr demo -- sh -c \
		'echo "{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{\"path\":\"/etc/hostname\"}}" | bin/node-api'
	assert_output '{"id":"1","status":"ok","result":{"size":6,"eof":true,"text":"seven\n"}}'
	TMPDIR=$BATS_TEST_TMPDIR run -7 demo -- sh -c 'exit 7'
}

@test "a scene that does not end as it must makes the demo fail" {
	# A registry tool that never rebuilds: the stale caller gets his refusal.
	mkdir "$BATS_TEST_TMPDIR/tools"
	ln -s "${SPACE_BIN:-$ROOT/build/bin}"/* "$BATS_TEST_TMPDIR/tools"
	rm "$BATS_TEST_TMPDIR/tools/spacerouted"
	printf '%s\n' '#!/bin/sh' "[ \"\$1\" != repair ] || exec sed 's/,\"request\":.*/}/'" \
		"exec \"${SPACE_BIN:-$ROOT/build/bin}/spacerouted\" \"\$@\"" >"$BATS_TEST_TMPDIR/tools/spacerouted"
	chmod +x "$BATS_TEST_TMPDIR/tools/spacerouted"
	SPACE_BIN=$BATS_TEST_TMPDIR/tools run -1 demo
	assert_line --partial 'NOT as it must (exit 0, "status":"ok", "text":"kept"): exit 10; '
}

@test "--keep leaves the directory without processes" {
	TMPDIR=$BATS_TEST_TMPDIR run -0 demo --keep -- true
	local left=("$BATS_TEST_TMPDIR"/space-demo.*)
	assert_file_exists "${left[0]}/control.ini"
	assert_file_exists "${left[0]}/a/records/s-42.json"
	# Processes come and go while grep reads: only what it found counts.
	assert_equal "$(grep -lasF "${left[0]}" /proc/[0-9]*/cmdline)" ''
}

@test "an unknown option is a usage error" {
	run -2 demo --serve
}
