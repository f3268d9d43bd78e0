#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2153,SC2154
# The registry: publish, retire, resolve, list, grant, revoke, grants. The same tests for both backends:
# registry-etcd.bats is a link to this file.

load helper
load spacerouted
load backend

setup_file() {
	backend_begin
}

setup() {
	space_setup
	backend_setup
}

teardown() {
	stop_all
}

teardown_file() {
	backend_end
}

@test "publish installs a first route, and the same again changes nothing" {
	run -0 publish s-42 7
	assert_output '{"sandbox":"s-42","changed":true,"effect":"replaced","revision":1}'
	run -0 publish s-42 7
	assert_output '{"sandbox":"s-42","changed":false,"effect":"none","revision":1}'
	run -0 spacerouted resolve s-42
	assert_json '.route.execution == 7 and .endpoint == "unix:/run/7" and .state == "active" and .revision == 1'
}

@test "publish replaces by a higher execution and refuses a lower one with 14" {
	publish s-42 7
	run -0 publish s-42 8
	assert_json '.effect == "replaced" and .revision == 2'
	run -14 publish s-42 7
	assert_output '{"sandbox":"s-42","changed":false,"conflict":"execution 8 was published already"}'
	run -0 spacerouted resolve s-42
	assert_json '.route.execution == 8 and .revision == 2'
}

@test "publish takes a higher attempt alone, and a lower one only at the revision given" {
	publish s-42 7 2
	run -0 publish s-42 7 3
	assert_json '.effect == "attempt-only" and .revision == 2'
	run -14 publish s-42 7 2
	assert_json '.changed == false and (.conflict | contains("--if-rev 2"))'
	route_flags 7 2
	run -14 spacerouted publish -s s-42 "${FLAGS[@]}" --endpoint unix:/run/7 --if-rev 1
	assert_output '{"sandbox":"s-42","changed":false,"conflict":"the revision is 2, not 1"}'
	run -0 spacerouted publish -s s-42 "${FLAGS[@]}" --endpoint unix:/run/7 --if-rev 2
	assert_json '.effect == "attempt-only" and .revision == 3'
}

@test "publish takes another endpoint of the same route" {
	publish s-42 7
	route_flags 7
	run -0 spacerouted publish -s s-42 "${FLAGS[@]}" --endpoint unix:/elsewhere
	assert_json '.effect == "endpoint" and .revision == 2'
}

@test "publish changes anything else of the same execution only at the revision given" {
	publish s-42 7
	other=(--execution 7 --worker worker-b --substrate host --activation act-7 --attempt 1 --endpoint unix:/run/7)
	run -14 spacerouted publish -s s-42 "${other[@]}"
	run -0 spacerouted publish -s s-42 "${other[@]}" --if-rev 1
	assert_json '.effect == "replaced" and .revision == 2'
	run -14 spacerouted publish -s s-43 "${other[@]}" --if-rev 1
	run -0 spacerouted publish -s s-43 "${other[@]}" --if-rev 0
}

@test "retire takes down exactly the execution it names, and nothing at or below it comes back" {
	publish s-42 8
	run -14 spacerouted retire -s s-42 --execution 7
	assert_output '{"sandbox":"s-42","changed":false,"conflict":"the current execution is 8, not 7"}'
	run -0 spacerouted retire -s s-42 --execution 8
	assert_output '{"sandbox":"s-42","changed":true,"effect":"retired","revision":2}'
	run -0 spacerouted retire -s s-42 --execution 8
	assert_json '.effect == "none" and .revision == 2'
	run -1 spacerouted resolve s-42
	assert_output --partial 'no current route; execution 8 was retired'
	run -14 publish s-42 8
	run -14 publish s-42 7
	run -0 publish s-42 9
	assert_json '.effect == "replaced" and .revision == 3'
	run -14 spacerouted retire -s s-99 --execution 1
}

@test "resolve of an unknown sandbox is 1 and prints nothing" {
	publish s-42 7
	run -1 --separate-stderr spacerouted resolve s-43
	assert_output ''
	assert_equal "$stderr" 'spacerouted: resolve: s-43: no route was ever published'
}

@test "reading a registry that is not there says so and makes none" {
	for verb in list 'resolve s-42' grants 'revoke -p uid:1'; do
		# shellcheck disable=SC2086 # words
		run -1 --separate-stderr spacerouted $verb
		assert_output ''
		assert_equal "$stderr" "spacerouted: ${verb%% *}: no registry at $REGISTRY; publish or grant makes one"
	done
	registry_is_absent
}

@test "list shows active and retired routes in order, as lines and as a table" {
	publish s-2 7
	publish s-1 3
	spacerouted retire -s s-2 --execution 7
	run -0 spacerouted list
	assert_equal "$(jq -r '[.sandbox, .state, .revision] | @csv' <<<"$output")" $'"s-1","active",2\n"s-2","retired",3'
	run -0 spacerouted list -o table --color never
	assert_line --index 0 --regexp '^sandbox +execution +worker +state +revision +activation +endpoint +attempt$'
	assert_line --index 2 --regexp '^s-2 +7 +worker-a +retired +3 +act-7 +unix:/run/7 +1$'
}

@test "publish as a filter answers each line in its place and goes on after a bad one" {
	run -3 --separate-stderr spacerouted publish < <(
		publication s-1 1
		echo '{"sandbox":"s-1"}'
		publication s-1 0
		publication s-2 1
		printf '%s' "$(publication s-1 2)"
	)
	assert_equal "$(jq -c '[.sandbox, .effect, .error, .line]' <<<"$output")" \
		'["s-1","replaced",null,null]
[null,null,"bad-record",2]
[null,null,"bad-record",3]
["s-2","replaced",null,null]
["s-1","replaced",null,null]'
}

@test "a conflict among many lines makes 14" {
	publish s-1 5
	run -14 spacerouted publish < <(
		publication s-1 4
		publication s-2 1
	)
	assert_equal "${#lines[@]}" 2
}

@test "eight at once that find no registry make one, and each revision is given once" {
	local publishers=()
	for i in 1 2 3 4 5 6 7 8; do
		for n in 1 2 3 4 5; do publication "s-$i" "$n"; done | spacerouted publish >"$BATS_TEST_TMPDIR/out.$i" &
		publishers+=($!)
	done
	wait "${publishers[@]}"
	cat "$BATS_TEST_TMPDIR"/out.* >"$BATS_TEST_TMPDIR/all"
	assert_equal "$(jq -s 'map(.effect) | unique == ["replaced"]' "$BATS_TEST_TMPDIR/all")" true
	assert_equal "$(jq -s 'map(.revision) | unique | length == 40 and max == 40' "$BATS_TEST_TMPDIR/all")" true
}

@test "of eight that publish at the same revision at once one wins, and the others are told" {
	local publishers=()
	publish s-other 1
	# All have opened the registry and wait for their line; then they get it.
	for i in 1 2 3 4 5 6 7 8; do
		mkfifo "$BATS_TEST_TMPDIR/gate.$i"
		{
			read -r _ <"$BATS_TEST_TMPDIR/gate.$i"
			publication s-1 1 | sed "s/worker-a/w-$i/"
		} | spacerouted publish --if-rev 0 >"$BATS_TEST_TMPDIR/out.$i" &
		publishers+=($!)
	done
	for i in 1 2 3 4 5 6 7 8; do echo go >"$BATS_TEST_TMPDIR/gate.$i"; done
	wait "${publishers[@]}" || true
	cat "$BATS_TEST_TMPDIR"/out.* >"$BATS_TEST_TMPDIR/all"
	assert_equal "$(jq -r '.effect // .conflict' "$BATS_TEST_TMPDIR/all" | sort | uniq -c | xargs)" \
		'1 replaced 7 the revision is 2, not 0'
	winner=$(jq -r .route.worker <(spacerouted resolve s-1))
	assert_equal "$(jq -r .effect "$BATS_TEST_TMPDIR/out.${winner#w-}")" replaced
}

# answers FILE N: are there so many lines by now?
answers() {
	[ "$(grep -c . "$1")" -ge "$2" ]
}

@test "publish killed at any moment leaves the registry readable and no revision goes back" {
	for round in 1 2 3 4 5 6; do
		mkfifo "$BATS_TEST_TMPDIR/in.$round"
		spacerouted publish <"$BATS_TEST_TMPDIR/in.$round" >"$BATS_TEST_TMPDIR/out.$round" &
		pid=$!
		exec 9>"$BATS_TEST_TMPDIR/in.$round"
		for n in $(seq $((round * 100 + 1)) $((round * 100 + 60))); do publication "s-$((n % 3))" "$n"; done >&9 2>/dev/null &
		writer=$!
		# Some of them have been answered, others are under way.
		eventually answers "$BATS_TEST_TMPDIR/out.$round" "$round"
		kill -KILL "$pid"
		exec 9>&-
		wait "$pid" "$writer" || true
		told=$(grep '}$' "$BATS_TEST_TMPDIR/out.$round" | jq -s 'map(.revision) | max')
		kept=$(spacerouted list | jq -s 'map(.revision) | max')
		[ "$kept" -ge "$told" ] || fail "revision $told was told, $kept is kept"
	done
	registry_is_sound
}

@test "grant, grants and revoke" {
	run -0 spacerouted grant -p uid:1000 -s 's-*' --ops 'file.*,exec.run' --ports 8080/http,9000-9010/tcp --until 2099-01-01T00:00:00Z
	assert_output '{"principal":"uid:1000","sandbox":"s-*","changed":true,"effect":"granted","revision":1}'
	run -0 spacerouted grant -p uid:1000 -s 's-*' --ops 'file.*,exec.run' --ports 8080/http,9000-9010/tcp --until 2099-01-01T00:00:00Z
	assert_json '.changed == false and .effect == "none" and .revision == 1'
	run -0 spacerouted grants
	assert_output '{"principal":"uid:1000","sandbox":"s-*","ops":["file.*","exec.run","port.connect"],"ports":["8080/http","9000-9010/tcp"],"until":"2099-01-01T00:00:00Z","revision":1}'
	run -0 spacerouted grant -p uid:1000 -s 's-*' --ops ping
	assert_json '.effect == "changed"'
	run -0 spacerouted grants -s s-42
	assert_json '.ops == ["ping"] and (has("until") | not)'
	run -0 spacerouted grants -s t-42
	assert_output ''
	run -0 spacerouted revoke -p uid:1000 -s s-42
	assert_json '.changed == false and .revoked == 0'
	run -0 spacerouted revoke -p uid:1000
	assert_output '{"principal":"uid:1000","changed":true,"revoked":1}'
	run -0 spacerouted grants
	assert_output ''
}

@test "a grant to a user is his uid's, and listed under his name" {
	run -0 spacerouted grant -p user:root -s s-42 --ops ping
	run -0 spacerouted grants
	assert_json '.principal == "user:root" and .subject == "uid:0"'
	run -0 spacerouted grants -p uid:0
	assert_json '.principal == "user:root"'
	run -1 spacerouted grant -p user:no-such-user -s s-42 --ops ping
	run -0 spacerouted revoke -p user:root
	assert_json '.revoked == 1'
}

@test "a grant that makes no sense is refused with 2 and changes nothing" {
	for flags in '-p group:x -s s --ops ping' '-p uid:01 -s s --ops ping' '-p uid:1 -s -s --ops ping' \
		'-p uid:1 -s a/b --ops ping' '-p uid:1 -s s --ops fly' '-p uid:1 -s s --ops guest.rekey' '-p uid:1 -s s --ops *' \
		'-p uid:1 -s s' '-p uid:1 -s s --ops port.connect' '-p uid:1 -s s --ops port.*' '-p uid:1 -s s --ports 80' \
		'-p uid:1 -s s --ports 0/tcp' '-p uid:1 -s s --ports 80/udp' '-p uid:1 -s s --ops ping --until 2020-01-01T00:00:00Z' \
		'-p uid:1 -s s --ops ping --until tomorrow' '-p uid:1 -s s --ops ping --token-file x'; do
		set -f
		# shellcheck disable=SC2086 # words
		run spacerouted grant $flags
		set +f
		assert_equal "$flags: $status" "$flags: 2"
	done
	registry_is_absent
}

@test "a token is made in a 0600 file, kept only as a hash, and never printed" {
	run -0 spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$BATS_TEST_TMPDIR/ci"
	refute_output --partial space-token
	assert_equal "$(stat -c %a "$BATS_TEST_TMPDIR/ci")" 600
	token=$(cat "$BATS_TEST_TMPDIR/ci")
	[[ $token =~ ^space-token:ci:[A-Za-z0-9_-]{43}$ ]] || fail "no token"
	registry_bytes >"$BATS_TEST_TMPDIR/all"
	run ! grep -aqF "${token##*:}" "$BATS_TEST_TMPDIR/all"
	assert_equal "$(registry_token_size ci)" 32
}

@test "a token's file must be its owner's alone, of the right name, and exist or be new" {
	token=$BATS_TEST_TMPDIR/ci
	spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$token"
	run -3 spacerouted grant -p token:other -s s-42 --ops ping --token-file "$token"
	chmod 644 "$token"
	run -3 spacerouted grant -p token:ci -s s-43 --ops ping --token-file "$token"
	mkfifo -m 600 "$BATS_TEST_TMPDIR/fifo"
	run -1 spacerouted grant -p token:ci -s s-43 --ops ping --token-file "$BATS_TEST_TMPDIR/fifo"
	run -0 spacerouted grants
	assert_equal "${#lines[@]}" 1
}

@test "another token of the same name needs --rotate, and one that was refused leaves no file" {
	spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$BATS_TEST_TMPDIR/one"
	run -14 spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$BATS_TEST_TMPDIR/two"
	assert_not_exists "$BATS_TEST_TMPDIR/two"
	run -0 spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$BATS_TEST_TMPDIR/two" --rotate
	assert_json '.effect == "changed"'
	run -0 spacerouted grant -p token:ci -s s-43 --ops ping
	run -1 --separate-stderr spacerouted grant -p token:new -s s-42 --ops ping
	assert_equal "$stderr" 'spacerouted: grant: token:new has no token yet; --token-file FILE makes one'
}

@test "on a terminal changes are words" {
	route_flags 7
	run -0 spacerouted publish -o table --color never -s s-42 "${FLAGS[@]}" --endpoint unix:/m
	assert_output 's-42: replaced, revision 1'
	run -14 spacerouted retire -o table --color never -s s-42 --execution 6
	assert_output 's-42: conflict: the current execution is 7, not 6; nothing was changed'
	run -0 spacerouted grant -o table -p uid:1 -s s-42 --ops ping
	assert_output 'uid:1 on s-42: granted, revision 2'
}

# watch_begin [OPTION...]: a watch that has begun; its lines are in the file watch.
watch_begin() {
	: >"$BATS_TEST_TMPDIR/watch"
	spacerouted watch "$@" >"$BATS_TEST_TMPDIR/watch" 2>"$BATS_TEST_TMPDIR/watch.err" 3>&- &
	echo $! >"$BATS_TEST_TMPDIR/watch.pid"
	disown $!
	eventually answers "$BATS_TEST_TMPDIR/watch" 1
}

@test "watch prints each change when it happens, from now on" {
	publish s-1 1
	watch_begin
	assert_equal "$(cat "$BATS_TEST_TMPDIR/watch")" '{"event":"watching","revision":1}'
	publish s-1 2
	eventually answers "$BATS_TEST_TMPDIR/watch" 2
	spacerouted retire -s s-1 --execution 2
	publish s-2 5
	eventually answers "$BATS_TEST_TMPDIR/watch" 4
	assert_equal "$(tail -n +2 "$BATS_TEST_TMPDIR/watch" | jq -c '[.sandbox, .route.execution, .state, .revision]')" \
		'["s-1",2,"active",2]
["s-1",2,"retired",3]
["s-2",5,"active",4]'
}

@test "watch resumes from a revision" {
	publish s-1 1
	publish s-2 1
	publish s-3 1
	watch_begin --from 1
	eventually answers "$BATS_TEST_TMPDIR/watch" 3
	assert_equal "$(jq -c '[.event, .sandbox, .revision]' "$BATS_TEST_TMPDIR/watch")" '["watching",null,1]
[null,"s-2",2]
[null,"s-3",3]'
}

@test "watch says when it cannot resume, and lists everything" {
	publish s-1 1
	publish s-2 1
	watch_begin --from 1000
	eventually answers "$BATS_TEST_TMPDIR/watch" 4
	assert_equal "$(jq -c '[.event, .from, .sandbox, .revision]' "$BATS_TEST_TMPDIR/watch")" '["watching",null,null,1000]
["resync",1000,null,2]
[null,null,"s-1",1]
[null,null,"s-2",2]'
	publish s-1 2
	eventually answers "$BATS_TEST_TMPDIR/watch" 5
	assert_equal "$(tail -n 1 "$BATS_TEST_TMPDIR/watch" | jq -c '[.sandbox, .route.execution]')" '["s-1",2]'
}

@test "watch ends when nobody reads it" {
	publish s-1 1
	run -0 bash -c 'spacerouted watch | head -n 1'
	assert_output '{"event":"watching","revision":1}'
}

# elsewhere: a registry of the same kind beside the test's own.
elsewhere() {
	if backend_is_etcd; then
		echo "$REGISTRY-other"
	else
		echo "sqlite:$BATS_TEST_TMPDIR/other.db"
	fi
}

@test "export and import move a registry, tombstones, grants and tokens too, and revisions rise" {
	for n in 1 2 3; do publish s-1 $n; done
	publish s-2 7 2
	spacerouted retire -s s-2 --execution 7
	spacerouted grant -p user:root -s 's-*' --ops 'file.*' --ports 80/tcp --until 2099-01-01T00:00:00Z
	spacerouted grant -p token:ci -s s-1 --ops ping --token-file "$BATS_TEST_TMPDIR/ci"
	run -0 spacerouted export
	assert_equal "$(jq -r .kind <<<"$output" | xargs)" 'registry route route grant grant end'
	refute_output --partial "$(cut -d: -f3 "$BATS_TEST_TMPDIR/ci")"
	echo "$output" >"$BATS_TEST_TMPDIR/export"
	run -0 spacerouted import --registry "$(elsewhere)" <"$BATS_TEST_TMPDIR/export"
	assert_equal "$(jq -c '[.effect, .routes]' <<<"$output" | xargs)" \
		'[null,null] [replaced,null] [replaced,null] [granted,null] [granted,null] [null,2]'
	spacerouted export --registry "$(elsewhere)" >"$BATS_TEST_TMPDIR/again"
	assert_equal "$(jq -cS 'del(.revision)' "$BATS_TEST_TMPDIR/again")" "$(jq -cS 'del(.revision)' "$BATS_TEST_TMPDIR/export")"
	before=$(jq -s 'map(.revision // 0) | max' "$BATS_TEST_TMPDIR/export")
	[ "$(jq -s 'map(select(.kind == "route").revision) | min' "$BATS_TEST_TMPDIR/again")" -gt "$before" ]
	# The same again changes nothing.
	run -0 spacerouted import --registry "$(elsewhere)" <"$BATS_TEST_TMPDIR/export"
	assert_equal "$(jq -c 'select(.changed)' <<<"$output")" ''
	# What is newer there stays.
	publication s-1 4 | spacerouted publish --registry "$(elsewhere)"
	run -14 spacerouted import --registry "$(elsewhere)" <"$BATS_TEST_TMPDIR/export"
	assert_equal "$(jq -r 'select(.conflict).conflict' <<<"$output")" 'execution 4 is there already, active'
}

@test "import of an older export gives back no right that was taken since, and no token" {
	spacerouted grant -p uid:7 -s 's-*' --ops 'file.*'
	spacerouted grant -p user:root -s s-1 --ops ping --until 2099-01-01T00:00:00Z
	spacerouted grant -p token:ci -s s-1 --ops ping --token-file "$BATS_TEST_TMPDIR/ci"
	spacerouted export >"$BATS_TEST_TMPDIR/export"
	spacerouted grant -p uid:7 -s 's-*' --ops file.read
	spacerouted grant -p user:root -s s-1 --ops ping --until 2098-01-01T00:00:00Z
	spacerouted grant -p token:ci -s s-1 --ops ping --token-file "$BATS_TEST_TMPDIR/other" --rotate
	spacerouted grants >"$BATS_TEST_TMPDIR/before"
	run -14 spacerouted import <"$BATS_TEST_TMPDIR/export"
	assert_equal "$(jq -c 'select(.principal) | [.principal, .changed, .conflict]' <<<"$output" | xargs)" \
		'[token:ci,false,another token is there] [uid:7,false,another grant is there] [user:root,false,another grant is there]'
	run -0 spacerouted grants
	assert_output "$(<"$BATS_TEST_TMPDIR/before")"
}

@test "import takes up no revision that would leave no room for changes" {
	publish s-1 1
	run -3 spacerouted import < <(
		echo '{"kind":"registry","version":1,"revision":9007199254740991}'
		echo '{"kind":"end","routes":0,"grants":0}'
	)
	assert_equal "$(jq -r .message <<<"${lines[0]}")" 'registry: `revision` is above 4503599627370495'
	run -0 publish s-1 2
	assert_json '.effect == "replaced" and .revision == 2'
	run -0 spacerouted import < <(
		echo '{"kind":"registry","version":1,"revision":4503599627370495}'
		echo '{"kind":"end","routes":0,"grants":0}'
	)
	run -0 publish s-1 3
	assert_json '.effect == "replaced" and .revision > 4503599627370495'
	run -0 spacerouted resolve s-1
	assert_json '.route.execution == 3'
}

@test "import refuses what is no export, and says when it was cut off" {
	publish s-1 1
	spacerouted export >"$BATS_TEST_TMPDIR/export"
	run -3 --separate-stderr spacerouted import --registry "$(elsewhere)" < <(tail -n +2 "$BATS_TEST_TMPDIR/export")
	assert_equal "$(jq -r .message <<<"${lines[0]}")" 'a `registry` line comes first'
	run -3 --separate-stderr spacerouted import --registry "$(elsewhere)" < <(head -n 2 "$BATS_TEST_TMPDIR/export")
	assert_equal "$stderr" 'spacerouted: import: the input ended before its end line'
	run -3 spacerouted import --registry "$(elsewhere)" < <(sed 2d "$BATS_TEST_TMPDIR/export")
	assert_output --partial 'end: 0 routes and 0 grants came'
	for line in '{"kind":"route"}' '{"kind":"other"}' '{}' \
		'{"kind":"grant","principal":"uid:1","sandbox":"s","ops":["fly"],"ports":[]}' \
		'{"kind":"grant","principal":"token:x","sandbox":"s","ops":["ping"],"ports":[]}' \
		'{"kind":"registry","version":2,"revision":1}'; do
		run -3 --separate-stderr spacerouted import --registry "$(elsewhere)" < <(
			head -n 1 "$BATS_TEST_TMPDIR/export"
			echo "$line"
		)
		assert_equal "$(jq -r .error <<<"${lines[1]}")" bad-record
	done
}
