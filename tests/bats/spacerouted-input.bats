#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2153,SC2154
# What nobody should send: each filter of spacerouted answers it in its place and leaves its state alone.

load helper
load spacerouted

setup() {
	space_setup
	publish s-42 7 >/dev/null
	spacerouted grant -p "$ME" -s s-42 --ops ping >/dev/null
	BEFORE=$(state)
}

teardown() {
	stop_all
}

state() {
	spacerouted list
	spacerouted grants
}

# nonsense: six lines that are no records, the last one without LF.
nonsense() {
	printf '\n'
	head -c 10000000 /dev/zero | tr '\0' x
	printf '\n'
	printf '\200\376\377\001\033noise\n'
	printf '{"a":%0100000d}\n' 0 | sed 's/0/[/g'
	printf '{"sandbox":"s-42","sandbox":"s-42"}\n'
	printf '{"sandbox":"s-4'
}

FILTERS=(publish route repair)

@test "empty, overlong, binary, deep, duplicate and half lines are bad records in their places" {
	start cache spacerouted serve
	nonsense >"$BATS_TEST_TMPDIR/in"
	for filter in "${FILTERS[@]}"; do
		run -3 spacerouted "$filter" <"$BATS_TEST_TMPDIR/in"
		assert_equal "$filter: $(jq -c '[.error, .line]' <<<"$output" | xargs)" \
			"$filter: [bad-record,1] [bad-record,2] [bad-record,3] [bad-record,4] [bad-record,5] [bad-record,6]"
	done
	assert_equal "$(state)" "$BEFORE"
}

@test "a good record after bad ones is served" {
	start cache spacerouted serve
	run -3 spacerouted route < <(
		nonsense
		echo
		asked ping s-42
	)
	assert_equal "${#lines[@]}" 7
	assert_equal "$(tail -n 1 <<<"$output" | jq .attempted)" 1
}

@test "no input is no output" {
	for filter in "${FILTERS[@]}"; do
		run -0 spacerouted "$filter" </dev/null
		assert_output ''
	done
}

@test "a full disk is 1, said on standard error" {
	start cache spacerouted serve
	asked ping s-42 >"$BATS_TEST_TMPDIR/route"
	echo '{"status":"ok","result":{}}' >"$BATS_TEST_TMPDIR/repair"
	publication s-42 7 >"$BATS_TEST_TMPDIR/publish"
	for filter in "${FILTERS[@]}"; do
		run -1 --separate-stderr bash -c 'spacerouted "$1" <"$2" >/dev/full' _ "$filter" "$BATS_TEST_TMPDIR/$filter"
		assert_equal "$stderr" "spacerouted: $filter: standard output: No space left on device"
	done
	for verb in list grants 'resolve s-42' 'cache stats'; do
		run -1 --separate-stderr bash -c "spacerouted $verb >/dev/full"
		assert_equal "$stderr" "spacerouted: ${verb%% s-*}: standard output: No space left on device"
	done
	assert_equal "$(state)" "$BEFORE"
}

@test "a closed output ends a filter quietly" {
	start cache spacerouted serve
	yes "$(asked ping s-42)" | head -n 20000 >"$BATS_TEST_TMPDIR/in"
	run -0 --separate-stderr bash -c 'spacerouted route --window 16 <"$1" | head -n 1' _ "$BATS_TEST_TMPDIR/in"
	assert_equal "${#lines[@]}" 1
	assert_equal "$stderr" ''
	yes '{"status":"ok","result":{}}' | head -n 100000 >"$BATS_TEST_TMPDIR/in"
	run -0 --separate-stderr bash -c 'spacerouted repair <"$1" | head -n 1' _ "$BATS_TEST_TMPDIR/in"
	assert_output '{"status":"ok","result":{}}'
	assert_equal "$stderr" ''
	run -0 spacerouted cache stats # and the cache lives
}

@test "a missing, an unreadable and a wrong configuration are 2 for every verb that reads one" {
	echo '[cache]' >"$BATS_TEST_TMPDIR/wrong.ini"
	echo 'max_entries = many' >>"$BATS_TEST_TMPDIR/wrong.ini"
	mkdir "$BATS_TEST_TMPDIR/directory"
	for file in /no/such.ini "$BATS_TEST_TMPDIR/wrong.ini" "$BATS_TEST_TMPDIR/directory"; do
		for verb in publish list 'resolve s-42' grants 'revoke -p uid:1' 'grant -p uid:1 -s s --ops ping' \
			'retire -s s-42 --execution 7' serve 'cache stats' 'cache dump' 'cache drop --all' route repair; do
			# shellcheck disable=SC2086 # words
			run -2 --separate-stderr spacerouted $verb -c "$file" </dev/null
			assert_equal "$output" ''
			[[ $stderr == *"$file"* ]] || fail "does not name the file: $stderr"
		done
	done
	assert_equal "$(state)" "$BEFORE"
}

@test "a registry that is a directory, a FIFO, a damaged file or no URL is refused and nothing hangs" {
	mkdir "$BATS_TEST_TMPDIR/directory"
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	head -c 100000 /dev/urandom >"$BATS_TEST_TMPDIR/noise"
	chmod 600 "$BATS_TEST_TMPDIR/noise"
	run -2 spacerouted list --registry "sqlite:$BATS_TEST_TMPDIR/directory"
	run -2 spacerouted list --registry "sqlite:$BATS_TEST_TMPDIR/fifo"
	run -1 spacerouted list --registry "sqlite:$BATS_TEST_TMPDIR/noise"
	assert_output --partial 'file is not a database'
	run -2 spacerouted list --registry sqlite:registry.db
	run -2 spacerouted list --registry redis:/x
	run -2 spacerouted list --registry "$DB"
	run -1 spacerouted publish --registry sqlite:/no/such/directory/registry.db </dev/null
}

@test "a registry whose disk is full says so and keeps what it had" {
	[ "$(id -u)" -eq 0 ] || skip_or_fail 'root (to mount a small tmpfs)'
	unshare --mount true 2>/dev/null || skip_or_fail 'a mount namespace'
	cat >"$BATS_TEST_TMPDIR/full.sh" <<-'SCRIPT'
		set -eu
		mount -t tmpfs -o size=1m tmpfs "$1"
		publication() {
			printf '{"sandbox":"s-%s","route":{"execution":1,"worker":"w","substrate":"host","activation":"a","attempt":1},"endpoint":"unix:/m"}\n' "$1"
		}
		publication 1 | spacerouted publish --registry "sqlite:$1/registry.db" >/dev/null
		head -c 700000 /dev/zero >"$1/filler"
		for n in $(seq 2 60); do publication "$n"; done |
			spacerouted publish --registry "sqlite:$1/registry.db" >"$2" 2>/dev/null && exit 9
		rm "$1/filler"
		spacerouted list --registry "sqlite:$1/registry.db"
	SCRIPT
	mkdir "$BATS_TEST_TMPDIR/small"
	run -0 unshare --mount bash "$BATS_TEST_TMPDIR/full.sh" "$BATS_TEST_TMPDIR/small" "$BATS_TEST_TMPDIR/answers"
	assert_equal "$(jq -r .sandbox <<<"$output" | head -n 1)" s-1
	# Whatever was answered `replaced` is there, and nothing else.
	assert_equal "$(jq -r .sandbox <<<"$output" | grep -v '^s-1$' | sort)" \
		"$(jq -r 'select(.effect == "replaced").sandbox' "$BATS_TEST_TMPDIR/answers" | sort)"
	assert_equal "$(jq -r 'select(.error).error' "$BATS_TEST_TMPDIR/answers" | sort -u)" unavailable
}

@test "flags that make no route are 2 and change nothing" {
	for flags in '' '--endpoint unix:/m' '--endpoint unix:/m --execution 7' \
		'--endpoint m --execution 7 --worker w --substrate host --activation a --attempt 1' \
		'--endpoint unix:/m --execution 0 --worker w --substrate host --activation a --attempt 1' \
		'--endpoint unix:/m --execution 9007199254740992 --worker w --substrate host --activation a --attempt 1' \
		'--endpoint unix:/m --execution 8 --worker w --substrate host --activation a --attempt 1 --pod-uid x' \
		'--endpoint unix:/m --execution 8 --worker w --substrate kubernetes --activation a --attempt 1' \
		'--endpoint unix:/m --execution 8 --worker w/x --substrate host --activation a --attempt 1'; do
		# shellcheck disable=SC2086 # words
		run spacerouted publish --sandbox s-42 $flags </dev/null
		assert_equal "$flags: $status" "$flags: 2"
	done
	for number in 0 9007199254740992; do
		run -2 --separate-stderr spacerouted publish --sandbox s-42 --endpoint unix:/m --execution "$number" \
			--worker w --substrate host --activation a --attempt 1
		assert_equal "${stderr_lines[0]}" \
			"spacerouted: publish: --execution: \`$number\` is not a whole number from 1 to 9007199254740991"
	done
	run -2 spacerouted publsh
	assert_output --partial 'did you mean `publish`?'
	run -2 spacerouted publish --sandbx s
	assert_output --partial 'did you mean --sandbox?'
	run -2 spacerouted route --window 0 </dev/null
	run -2 spacerouted route --window 4097 </dev/null
	assert_equal "$(state)" "$BEFORE"
}
