#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2034,SC2153,SC2154
# Races of the running cache, each driven to its interleaving: a gate before etcd (tests/fixtures/etcd-gate.py) holds what
# etcd has answered while the test acts. What the rules do in any order is tests/unit/test_cache_races.c.

load helper
load spacerouted
load backend

setup_file() {
	backend_begin
}

setup() {
	space_setup
	backend_setup
	GATED=$BATS_TEST_TMPDIR/gated.ini
	sed "s|$ETCD|http://$(etcd_address gate):2379|" "$SPACE_CONFIG" >"$GATED"
	start gate "$ROOT/tests/fixtures/etcd-gate.py" "$(etcd_address gate):2379" "${ETCD#http://}" "$BATS_TEST_TMPDIR/gate.sock"
	spacerouted grant -p "$ME" -s 's-*' --ops ping >/dev/null
	spacerouted grant -p uid:4711 -s 's-*' --ops ping >/dev/null
	publish s-42 7 >/dev/null
	start_cache
	run -0 cache get s-42 --op ping
	assert_json '.effect == "filled" and .route.execution == 7'
	EXPIRES=$(jq -r .expires <<<"$output")
}

teardown() {
	stop_all
}

teardown_file() {
	backend_end
}

start_cache() {
	SPACE_CONFIG=$GATED start cache spacerouted serve
}

# gate hold|go|await route|rights|watch
gate() {
	run -0 socat -t60 - "UNIX-CONNECT:$BATS_TEST_TMPDIR/gate.sock" <<<"$1 $2"
	assert_output 'done'
}

# meanwhile NAME CMD...: runs it beside the test; finish NAME: its end, as run leaves it.
meanwhile() {
	local name=$1
	shift
	"$@" >"$BATS_TEST_TMPDIR/$name.answer" 2>&1 3>&- &
	eval "PID_$name=$!"
}

finish() {
	local pid=PID_$1
	status=0
	wait "${!pid}" || status=$?
	output=$(cat "$BATS_TEST_TMPDIR/$1.answer")
}

# counts FILTER: is this true of the cache's counters?
counts() {
	run -0 spacerouted cache stats -o json
	assert_json "$1"
}

@test "a late rejection of 7, read before 8 was there, finds 8 in and leaves it" {
	gate hold route
	meanwhile late reject s-42 7
	gate await route
	publish s-42 8
	eventually gives_json '.effect == "hit" and .route.execution == 8' cache get s-42 --op ping
	gate go route
	finish late
	assert_equal "$status" 0
	assert_json '.effect == "kept" and .route.execution == 8'
	counts '.kept == 1 and .discarded == 1 and .replaced == 0 and .unchanged == 0 and .followed == 1 and .entries == 1'
	run -0 cache get s-42 --op ping
	assert_json --arg e "$EXPIRES" '.effect == "hit" and .route.execution == 8 and .expires == $e'
}

@test "two rejections of 7 at once make one lookup, and both are told 8" {
	gate hold watch
	publish s-42 8
	gate hold route
	meanwhile first reject s-42 7
	gate await route
	meanwhile second reject s-42 7
	eventually gives_json '.coalesced == 1' spacerouted cache stats -o json
	gate go route
	for one in first second; do
		finish "$one"
		assert_equal "$status" 0
		assert_json '.effect == "replaced" and .route.execution == 8'
	done
	counts '.lookups == 2 and .coalesced == 1 and .replaced == 2 and .discarded == 0'
	gate go watch
	run -0 cache get s-42 --op ping
	assert_json --arg e "$EXPIRES" '.effect == "hit" and .route.execution == 8 and .expires == $e'
}

@test "a fill that read 7 before the watch told 8 is thrown away and asked for again" {
	gate hold rights
	meanwhile fill spacerouted cache get --caller uid:4711 -s s-42 --op ping
	gate await rights
	publish s-42 8
	# The watch has told it: another caller's entry follows.
	eventually gives_json '.effect == "hit" and .route.execution == 8' cache get s-42 --op ping
	gate go rights
	finish fill
	assert_equal "$status" 0
	assert_json '.effect == "filled" and .route.execution == 8'
	counts '.discarded == 1 and .lookups == 3 and .entries == 2'
}

@test "a grant revoked while its fill is under way grants nothing" {
	gate hold rights
	meanwhile fill spacerouted cache get --caller uid:4711 -s s-42 --op ping
	gate await rights
	spacerouted revoke -p uid:4711 -s 's-*'
	# The watch tells in order: once this is known, so is the revocation.
	publish s-42 8
	eventually gives_json '.effect == "hit" and .route.execution == 8' cache get s-42 --op ping
	gate go rights
	finish fill
	assert_equal "$status" 11
	assert_equal "$output" '{"status":"refused","decision":"deny","reason":"unauthorized"}'
	counts '.discarded == 1 and .entries == 1'
}

@test "a retirement of 7 that the watch tells late takes nothing of 8" {
	spacerouted cache get --caller uid:4711 -s s-43 --op ping || [ "$?" -eq 1 ]
	publish s-43 1
	eventually gives 0 spacerouted cache get --caller uid:4711 -s s-43 --op ping
	gate hold watch
	spacerouted retire -s s-42 --execution 7
	publish s-42 8
	publish s-43 2
	run -0 reject s-42 7
	assert_json '.effect == "replaced" and .route.execution == 8'
	gate await watch
	gate go watch
	eventually gives_json '.effect == "hit" and .route.execution == 2' spacerouted cache get --caller uid:4711 -s s-43 --op ping
	run -0 cache get s-42 --op ping
	assert_json --arg e "$EXPIRES" '.effect == "hit" and .route.execution == 8 and .expires == $e'
	counts '.followed == 1'
}

@test "a retirement of 7 that looked before 8 was published is a conflict, and 8 stays" {
	gate hold route
	SPACE_CONFIG=$GATED meanwhile late spacerouted retire -s s-42 --execution 7
	gate await route
	run -0 publish s-42 8
	assert_json '.effect == "replaced"'
	gate go route
	finish late
	assert_equal "$status" 14
	assert_json '.changed == false and .sandbox == "s-42"'
	run -0 spacerouted resolve s-42
	assert_json '.route.execution == 8'
}

# requests: how many transactions the gate has passed on.
requests() {
	grep -c '^/v3/kv/txn$' "$BATS_TEST_TMPDIR/gate.out"
}

@test "a publication is one request, and two where another has published meanwhile" {
	SPACE_CONFIG=$GATED
	stop cache
	coproc PUBLISH { spacerouted publish 2>/dev/null; }
	# said FILTER REQUESTS SANDBOX EXECUTION: what the publisher answers, and how often it asks for that.
	said() {
		local before
		before=$(requests)
		publication "$3" "$4" >&"${PUBLISH[1]}"
		read -r output <&"${PUBLISH[0]}"
		assert_json "$1"
		assert_equal $(($(requests) - before)) "$2"
	}
	# Opening the registry is a request, too: this one counts two.
	said '.effect == "replaced"' 2 s-1 1
	said '.effect == "replaced"' 1 s-1 2
	said '.effect == "replaced"' 1 s-2 1
	publish s-1 5 >/dev/null
	said '.changed == false and .conflict != null' 1 s-1 3
	said '.effect == "replaced"' 2 s-1 6
	said '.effect == "replaced"' 1 s-1 7
	# That nothing is to be done is read, not remembered.
	spacerouted retire -s s-1 --execution 7 >/dev/null
	said '.changed == false and .conflict != null' 1 s-1 7
	said '.effect == "replaced"' 2 s-42 8
	kill "$PUBLISH_PID"
}

# grants_of WHO COUNT [SUBJECT]: puts in as many grants, of as many patterns.
grants_of() {
	{
		echo '{"kind":"registry","version":1,"revision":1}'
		seq "$2" | sed "s/.*/{\"kind\":\"grant\",\"principal\":\"$1\",${3:+\"subject\":\"$3\",}\"sandbox\":\"s-g&\",\"ops\":[\"ping\"],\"ports\":[]}/"
		printf '{"kind":"end","routes":0,"grants":%s}\n' "$2"
	} | spacerouted import >/dev/null
}

@test "revoke takes any number of a principal's grants away in one transaction, and nobody else's" {
	SPACE_CONFIG=$GATED
	grants_of uid:4242 150
	grants_of uid:42 3
	before=$(requests)
	run -0 spacerouted revoke -p uid:4242
	assert_json '.revoked == 150'
	# It opens the registry, looks, and takes away.
	assert_equal $(($(requests) - before)) 3
	assert_equal "$(spacerouted grants -p uid:4242 -o json)" ''
	assert_equal "$(spacerouted grants -p uid:42 -o json | wc -l)" 3
	assert_equal "$(etcd_values | grep -c "^$PREFIX/rights/uid:42,")" 3
	assert_equal "$(etcd_values | grep -c "^$PREFIX/rights/uid:4242,")" 0
	# A subject that two principals share: only what is the one's goes, batch by batch where it is much.
	rights() { etcd_values | grep -c "^$PREFIX/rights/uid:4711,"; }
	grants_of user:root 150 uid:4711
	assert_equal "$(rights)" 151
	run -0 spacerouted revoke -p uid:4711
	assert_json '.revoked == 1'
	assert_equal "$(rights)" 150
	spacerouted grant -p uid:4711 -s 's-x' --ops ping >/dev/null
	run -0 spacerouted revoke -p user:root
	assert_json '.revoked == 150'
	assert_equal "$(rights)" 1
	run -0 spacerouted grants -p uid:4711 -o json
	assert_json '.sandbox == "s-x"'
}

@test "members that elect a leader are asked again within the time limit, not beyond it" {
	SPACE_CONFIG=$GATED
	gate leaderless 3
	run -0 spacerouted resolve s-42
	assert_json '.route.execution == 7'
	gate leaderless 2
	run -0 publish s-42 8
	assert_json '.effect == "replaced"'
	within 300
	gate leaderless 1000
	run -1 spacerouted resolve s-42
	assert_output --partial 'etcdserver: no leader (HTTP 503)'
}

@test "a renewal and a rejection that overtake each other lose neither 8 nor the new end" {
	gate hold watch
	gate hold rights
	meanwhile renewal cache renew s-42
	gate await rights
	publish s-42 8
	run -0 reject s-42 7
	assert_json '.effect == "replaced" and .route.execution == 8'
	gate go rights
	finish renewal
	assert_json --arg e "$EXPIRES" '.effect == "renewed" and .route.execution == 8 and .expires >= $e'
	counts '.discarded == 1 and .replaced == 1'
	# The other way round.
	publish s-42 9
	gate hold route
	meanwhile rejection reject s-42 8
	gate await route
	run -0 cache renew s-42
	assert_json '.effect == "renewed" and .route.execution == 8'
	renewed=$(jq -r .expires <<<"$output")
	gate go route
	finish rejection
	assert_json '.effect == "replaced" and .route.execution == 9'
	counts '.discarded == 2 and .replaced == 2'
	run -0 cache get s-42 --op ping
	assert_json --arg e "$renewed" '.effect == "hit" and .route.execution == 9 and .expires == $e'
}

@test "a cache killed between a rejection and the rebuild comes back with nothing and knows 8 only" {
	gate hold route
	meanwhile rejection reject s-42 7
	gate await route
	stop cache KILL
	finish rejection
	assert_equal "$status" 1
	publish s-42 8
	gate go route
	start_cache
	# The rebuild asks again, of a cache without the entry: nothing is inserted for it.
	run -0 reject s-42 7
	assert_json '.effect == "replaced" and .route.execution == 8'
	counts '.entries == 0 and .replaced == 1'
	run -0 cache get s-42 --op ping
	assert_json '.effect == "filled" and .route.execution == 8'
	run -0 reject s-42 7
	assert_json '.effect == "kept" and .route.execution == 8'
	counts '.entries == 1 and .kept == 1'
}

@test "a clock that steps an hour ahead ends an entry, and one that steps back prolongs none" {
	stop cache
	printf '[cache]\nsession_ttl = 3\n' >>"$GATED"
	clock=$BATS_TEST_TMPDIR/clock
	echo +0 >"$clock"
	SPACE_CONFIG=$GATED start cache env "LD_PRELOAD=$(faketime -f +0s printenv LD_PRELOAD)" "FAKETIME_TIMESTAMP_FILE=$clock" \
		FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 spacerouted serve
	run -0 cache get s-42 --op ping
	assert_json '.effect == "filled"'
	echo +3600 >"$clock"
	run -0 cache get s-42 --op ping
	assert_json '.effect == "filled"'
	ahead=$(jq '.expires | fromdate' <<<"$output")
	[ "$ahead" -gt $(($(date +%s) + 3000)) ]
	counts '.expired == 1'
	# By the time of day it would live for an hour now.
	echo +0 >"$clock"
	eventually gives_json '.effect == "filled"' cache get s-42 --op ping
	[ "$(jq '.expires | fromdate' <<<"$output")" -lt "$ahead" ]
	counts '.expired == 2 and .entries == 1'
}
