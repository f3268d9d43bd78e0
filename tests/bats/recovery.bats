#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2154
# The recovery table as a matrix: every operation, every way for an attempt to end, every state of the registry. The
# table is tests/fixtures/recovery/table.c, written from the specification; LONG=1 tries every pair of endings.
load helper

# Sixteen thousand cases, each of several processes: half a minute on an idle machine.
export BATS_TEST_TIMEOUT=1200

setup() {
	# Each case publishes twice, durably: where there is memory for files, that is no wait for a disk.
	PLAY=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "$BATS_TEST_TMPDIR")")
	mkdir "$PLAY/play"
	for side in up down; do
		mkdir -p "$PLAY/$side/run"
		printf '[space]\nstate_dir = %s\nrun_dir = %s\n' "$PLAY/$side" "$PLAY/$side/run" >"$PLAY/$side.ini"
		spacerouted grant -c "$PLAY/$side.ini" -p "uid:$(id -u)" -s 's-*' --ports 8080/http \
			--ops 'ping,guest.info,file.*,tree.*,exec.*,terminal.*,lease.*' >/dev/null
		start "$side" spacerouted serve -c "$PLAY/$side.ini" --no-watch
	done
	spacecap keygen -o "$PLAY/key" >/dev/null
	spacecap pubkey "$PLAY/key" >"$PLAY/key.public"
}

teardown() {
	stop_all
	rm -rf "$PLAY"
}

@test "every operation, ending and state of the registry comes to what the table says" {
	run -0 "$FIXTURES/recovery" ${LONG:+--long} "$PLAY/play" "$PLAY/key" "$PLAY/up/registry.db" "$PLAY/up/run/cache.sock" \
		"$PLAY/down/registry.db" "$PLAY/down/run/cache.sock"
	# One line: nothing disagreed. The number is there so that no case is lost unnoticed.
	assert_equal "${#lines[@]}" 1
	assert_json '.wrong == 0'
	[ -n "${LONG:-}" ] || assert_json '.cases == 16330 and .attempts == 25229'
}
