#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016
# What spaceid makes of bad input and bad surroundings: the documented answer and exit code, and an untouched store.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	route='{"execution":7,"worker":"w","substrate":"host","activation":"a","attempt":1}'
	good="{\"sandbox\":\"s-42\",\"route\":$route,\"owner\":\"op-7\"}"
	case='{"selected":{"sandbox":"s-42","route":'$route'},"installed":null}'
	spaceid install --records records <<<"$good" >/dev/null
	remember
}

remember() { (cd records && sha256sum .page .slots ./*.json && ls -A) >before; }
untouched() { (cd records && sha256sum .page .slots ./*.json && ls -A) | run -0 diff before -; }

# bad_first COMMAND...: standard input is one bad line and a good one; the answers are in their places.
bad_first() {
	run -3 --separate-stderr "$@"
	assert_equal "${#lines[@]}" 2
	assert_equal "$(jq -r '[.status, .error, .line] | join(" ")' <<<"${lines[0]}")" "error bad-record 1"
	assert_equal "$(jq -r '.error' <<<"${lines[1]}")" null
	# shellcheck disable=SC2154
	assert_equal "$stderr" ""
	untouched
}

each() { # LINE: as the first of two to both filters
	bad_first spaceid install --records records < <(printf '%s\n%s\n' "$1" "$good")
	bad_first spaceid compare < <(printf '%s\n%s\n' "$1" "${case/null/{\"sandbox\":\"s-42\",\"route\":$route\}}")
}

@test "an empty line is a bad record in its place" {
	each ""
	each " "
	run -0 spaceid install --records records </dev/null
	assert_output ""
	run -0 spaceid compare </dev/null
	assert_output ""
}

@test "a line of 10 MB is one bad record" {
	local filler
	filler=$(head -c 10485760 /dev/zero | tr '\0' x)
	printf '{"sandbox":"%s"}\n%s\n' "$filler" "$good" >input
	bad_first spaceid install --records records <input
	assert_equal "$(jq -r .message <<<"${lines[0]}")" "line longer than 256 KiB"
	printf '{"selected":"%s"}\n%s\n' "$filler" "${case/null/{\"sandbox\":\"s-42\",\"route\":$route\}}" >input
	bad_first spaceid compare <input
}

@test "binary noise is bad records, a line each" {
	head -c 100000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 >noise 2>/dev/null
	lines_in=$(($(tr -cd '\n' <noise | wc -c) + 1))
	for verb in "install --records records" compare; do
		# shellcheck disable=SC2086
		spaceid $verb <noise >out || assert_equal $? 3
		run -0 jq -rs 'map(.error) | unique | join(",")' out
		assert_output bad-record
		assert_equal "$(wc -l <out)" "$lines_in"
		untouched
	done
	each $'\xff\xfe{}'
	each '{"sandbox":"s\u0000"}'
	each '[1]'
	each 'null'
}

@test "deep nesting is a bad record" {
	local deep
	deep=$(printf '[%.0s' {1..5000})$(printf ']%.0s' {1..5000})
	each "{\"sandbox\":$deep}"
	each "${good%\}},\"bridge\":{\"a\":$(printf '[%.0s' {1..15})1$(printf ']%.0s' {1..15})}}"
}

@test "half a record at the end of input is a bad record, a whole one without LF is not" {
	run -3 spaceid install --records records < <(printf '%s\n%s' "$good" "${good%??}")
	assert_equal "$(jq -r '.effect // .error' <<<"$output" | tr '\n' ' ')" "none bad-record "
	untouched
	run -0 spaceid install --records records < <(printf '%s' "$good")
	assert_output '{"sandbox":"s-42","changed":false,"epoch":1,"effect":"none"}'
	run -3 spaceid compare < <(printf '%s' "${case%?}")
	run -10 spaceid compare < <(printf '%s' "$case")
}

@test "duplicate keys are a bad record, escaped and nested too" {
	each "${good%\}},\"owner\":\"op-8\"}"
	each "${good%\}},\"own\\u0065r\":\"op-8\"}"
	each "${good/\"attempt\":1/\"attempt\":1,\"attempt\":2}"
	each "${good%\}},\"bridge\":{\"a\":1,\"a\":1}}"
}

@test "what is no record to install is a bad record" {
	local line
	for line in "${good%\}},\"epoch\":9}" "${good%\}},\"state\":\"retired\"}" "${good/\"owner\":\"op-7\"/\"bridge\":{}}" \
		"${good/s-42/../s-42}" "${good/op-7/-}" "${good%\}},\"bridge\":[]}" "${good%\}},\"guest\":{\"id\":\"g\",\"key\":\"k\"}}" \
		"${good/:7,/:9007199254740992,}" "${good/:7,/:1e3,}" "${good%\}},\"id\":\"r1\"}" \
		"${good/:7,/:8,}${good}"; do
		bad_first spaceid install --records records < <(printf '%s\n%s\n' "$line" "$good")
	done
	# A record that could not be read back is refused before it is written.
	line=${good/:7,/:8,}
	line="${line%\}},\"bridge\":{\"path\":\"$(head -c 70000 /dev/zero | tr '\0' x)\"}}"
	bad_first spaceid install --records records < <(printf '%s\n%s\n' "$line" "$good")
	assert_equal "$(jq -r .message <<<"${lines[0]}")" "the record would be longer than 65536 bytes"
}

@test "a full disk behind standard output is exit 1, and said" {
	local command status
	echo "$good" >good
	echo "$case" >case
	for command in "install --records records" "compare" "show --records records s-42" "list --records records" \
		"watch --records records --sandbox s-42 --until-epoch 1" "list --records records -o table"; do
		input=good status=0
		[ "${command%% *}" = install ] || input=case
		# shellcheck disable=SC2086
		spaceid $command <$input >/dev/full 2>err || status=$?
		assert_equal "$command: $status" "$command: 1"
		run -0 cat err
		assert_output --regexp '^spaceid: .*standard output: No space left on device$'
	done
	untouched
}

@test "a full disk under the store changes nothing and says so" {
	[ "$(id -u)" = 0 ] || skip_or_fail "root, to mount a small file system,"
	mkdir small
	unshare -m bash -c '
		set -eu
		mount -t tmpfs -o size=1m none small
		head -n 1 <<<"$1" | spaceid install --records small/records >/dev/null
		cat small/records/s-42.json >before.json
		head -c 2m /dev/zero >small/filler 2>/dev/null || :
		code=0
		sed "s/:7,/:8,/; s/}\$/,\"bridge\":{\"p\":\"$(head -c 30000 /dev/zero | tr "\0" x)\"}}/" <<<"$1" | spaceid install --records small/records >out 2>err || code=$?
		echo "exit $code"
		cmp before.json small/records/s-42.json && echo same
		rm small/filler
		sed "s/:7,/:8,/" <<<"$1" | spaceid install --records small/records
		ls -A small/records
	' - "$good" >said || fail "$(cat said err)"
	run -0 cat said
	assert_output 'exit 1
same
{"sandbox":"s-42","changed":true,"epoch":2,"effect":"replaced"}
.lock
.page
.slots
s-42.json'
	run -0 cat out
	assert_json '.status == "error" and .error == "unavailable"'
	run -0 cat err
	assert_output 'spaceid: install: small/records/.aside: No space left on device'
}

@test "a closed output ends a filter quietly" {
	yes "$case" | head -n 20000 >many
	run -0 bash -c 'spaceid compare <many 2>err | head -n 1 >/dev/null; cat err'
	assert_output ""
	run -0 bash -c 'spaceid list --records records 2>err | true; cat err'
	assert_output ""
}

@test "a missing, unreadable or wrong configuration is exit 2 and changes nothing" {
	mkdir directory
	printf '[space]\nworkre = w\n' >wrong.ini
	for file in missing.ini directory wrong.ini; do
		for command in "install --records records" "retire --records records --sandbox s-42 --execution 7" \
			"fence --records records --sandbox s-42" "handoff --records records --sandbox s-42 --from op-7 --owner op-8" \
			"prune --records records --no-routes" "show s-42" "list" "watch --timeout 0" "compare"; do
			# shellcheck disable=SC2086
			run -2 spaceid $command -c $file < <(echo "${good/:7,/:8,}")
			assert_output --partial "spaceid: ${command%% *}: $file"
		done
	done
	untouched
	SPACE_CONFIG=missing.ini run -2 spaceid install --records records < <(echo "${good/:7,/:8,}")
	untouched
	if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
		chmod 755 . && printf '' >secret.ini && chmod 600 secret.ini
		run -2 setpriv --reuid 65534 --regid 65534 --clear-groups spaceid list -c secret.ini
		assert_output "spaceid: list: secret.ini: Permission denied"
	fi
}

@test "ids and numbers that are none are usage errors" {
	run -2 spaceid retire --records records --sandbox ../s-42 --execution 7
	run -2 spaceid retire --records records --sandbox s-42 --execution 0
	run -2 spaceid retire --records records --sandbox s-42 --execution 7.5
	run -2 spaceid retire --records records --sandbox s-42
	run -2 spaceid retire --records records --execution 7
	run -2 spaceid handoff --records records --sandbox s-42 --from op-7
	run -2 spaceid install --records records --if-epoch -1
	run -2 spaceid install --records records --if-epoch x
	run -2 spaceid watch --records records --sandbox -x
	untouched
}
