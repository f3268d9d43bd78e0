#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2153,SC2154
# The cache: serve and its client, against 05-routing's table. The same tests for both backends of the registry:
# spacerouted-cache-etcd.bats is a link to this file.

load helper
load spacerouted
load backend

setup_file() {
	backend_begin
}

setup() {
	space_setup
	backend_setup
	spacerouted grant -p "$ME" -s 's-*' --ops 'file.*,ping' >/dev/null
	publish s-42 7 >/dev/null
	# Most tests reject an old route: it must be there still.
	start cache spacerouted serve --no-watch
}

# follow: the same cache anew, following the registry.
follow() {
	stop cache
	start cache spacerouted serve
}

teardown() {
	stop_all
}

teardown_file() {
	backend_end
}

@test "get fills on a miss, hits from then on, and a hit never moves expires" {
	run -0 cache get s-42 --op file.read
	assert_json '.status == "ok" and .effect == "filled" and .route.execution == 7 and .access == ["file.*", "ping"]'
	expires=$(jq -r .expires <<<"$output")
	run -0 cache get s-42 --op ping
	assert_json --arg e "$expires" '.effect == "hit" and .route.execution == 7 and .expires == $e'
	run -0 spacerouted cache stats
	assert_json '.hits == 1 and .misses == 1 and .lookups == 1 and .entries == 1'
}

@test "expires is session_ttl from the authorization, or the end of the grant when that is sooner" {
	before=$(date +%s)
	run -0 cache get s-42
	after=$(date +%s)
	expires=$(jq '.expires | fromdate' <<<"$output")
	[ "$expires" -ge $((before + 900)) ] && [ "$expires" -le $((after + 900)) ]
	until=$(date -u -d '+60 seconds' +%Y-%m-%dT%H:%M:%SZ)
	spacerouted grant -p uid:4711 -s s-42 --ops ping --until "$until"
	run -0 spacerouted cache get --caller uid:4711 -s s-42
	assert_json --arg u "$until" '.expires == $u'
}

@test "who has no grant is denied with 11, be the sandbox there or not, and nothing is kept of it" {
	run -11 spacerouted cache get --caller uid:4711 -s s-42 --op ping
	denied=$output
	assert_output '{"status":"refused","decision":"deny","reason":"unauthorized"}'
	run -11 spacerouted cache get --caller uid:4711 -s s-43 --op ping
	assert_output "$denied"
	run -11 cache get s-43 --op exec.run
	assert_output "$denied"
	assert_equal "$(counter entries)" 0
}

@test "an authorized caller learns that there is no such sandbox" {
	run -1 cache get s-43 --op ping
	assert_output '{"status":"ok","effect":"gone"}'
	assert_equal "$(counter entries)" 0
}

@test "a registry that does not answer is unavailable, while live entries serve on" {
	cache get s-42 --op ping
	registry_away
	# Looked at once a second at most.
	eventually gives_json '.error == "unavailable"' cache get s-44 --op ping
	run -0 cache get s-42 --op ping
	assert_json '.effect == "hit" and .route.execution == 7'
	run -1 reject s-42 7
	assert_json '.status == "error" and .error == "unavailable"'
	run -1 cache renew s-42
	assert_json '.error == "unavailable"'
	run -0 cache get s-42 --op ping
	assert_json '.effect == "hit" and .route.execution == 7'
	registry_back
	eventually gives_json '.effect == "gone"' cache get s-44 --op ping
	run -0 cache get s-42 --op ping
	# Another file may be another registry; a cluster's watch goes on where it was.
	wanted=filled
	! backend_is_etcd || wanted=hit
	assert_json --arg w "$wanted" '.effect == $w'
}

@test "reject replaces by a newer route and keeps expires" {
	run -0 cache get s-42 --op ping
	expires=$(jq -r .expires <<<"$output")
	publish s-42 8
	run -0 cache get s-42 --op ping
	assert_json '.effect == "hit" and .route.execution == 7'
	run -0 reject s-42 7
	assert_json '.effect == "replaced" and .route.execution == 8 and .endpoint == "unix:/run/8"'
	run -0 cache get s-42 --op ping
	assert_json --arg e "$expires" '.effect == "hit" and .route.execution == 8 and .expires == $e'
	assert_equal "$(counter replaced)" 1
}

@test "a late rejection of 7 after 8 is in evicts nothing" {
	publish s-42 8
	cache get s-42 --op ping
	run -0 reject s-42 7
	assert_json '.effect == "kept" and .route.execution == 8'
	assert_equal "$(counter lookups)" 1
	run -0 cache get s-42 --op ping
	assert_json '.effect == "hit" and .route.execution == 8'
}

@test "a rejected route that the registry still has is unchanged, for a second without asking" {
	cache get s-42 --op ping
	run -0 reject s-42 7
	assert_output '{"status":"ok","effect":"unchanged"}'
	run -0 reject s-42 7
	assert_output '{"status":"ok","effect":"unchanged"}'
	assert_equal "$(counter unchanged)" 2
	run -0 cache get s-42 --op ping
	assert_json '.effect == "hit" and .route.execution == 7'
}

@test "reject takes the entry away when the route has been retired" {
	cache get s-42 --op ping
	spacerouted retire -s s-42 --execution 7
	run -0 reject s-42 7
	assert_output '{"status":"ok","effect":"gone"}'
	assert_equal "$(counter entries)" 0
	run -1 cache get s-42 --op ping
	assert_output '{"status":"ok","effect":"gone"}'
}

@test "reject without an entry tells what the registry has and inserts nothing" {
	publish s-42 8
	run -0 reject s-42 7
	assert_json '.effect == "replaced" and .route.execution == 8'
	run -0 reject s-42 9
	assert_json '.effect == "unchanged"'
	run -0 reject s-43 7
	assert_json '.effect == "gone"'
	assert_equal "$(counter entries)" 0
}

@test "renew alone moves expires, and takes up what has been granted" {
	cache get s-42 --op ping
	first=$(spacerouted cache dump | jq .expires)
	spacerouted grant -p "$ME" -s s-42 --ops exec.run
	eventually gives_json ".expires > $first" cache renew s-42
	assert_json '.effect == "renewed" and .access == ["exec.run", "file.*", "ping"]'
	run -11 spacerouted cache renew --caller uid:4711 -s s-42
}

@test "an operation that the entry does not grant is asked for again a second later" {
	run -0 cache get s-42 --op ping
	expires=$(jq -r .expires <<<"$output")
	spacerouted grant -p "$ME" -s s-42 --ops exec.run
	eventually gives 0 cache get s-42 --op exec.run
	assert_json --arg e "$expires" '.effect == "filled" and .expires == $e'
}

@test "drop forgets one entry, a sandbox, a caller, or all" {
	publish s-43 1
	spacerouted grant -p uid:4711 -s '*' --ops ping
	fill() {
		for who in "$ME" uid:4711; do
			for s in s-42 s-43; do spacerouted cache get --caller "$who" -s "$s"; done
		done >/dev/null
	}
	fill
	run -0 cache drop s-42
	assert_output '{"status":"ok","effect":"dropped","count":1}'
	fill
	run -0 spacerouted cache drop -s s-42
	assert_json '.count == 2'
	fill
	run -0 spacerouted cache drop --caller uid:4711
	assert_json '.count == 2'
	fill
	run -0 spacerouted cache drop -s 's-4?'
	assert_json '.count == 4'
	fill
	run -0 spacerouted cache drop --all
	assert_json '.count == 4'
	run -2 spacerouted cache drop
	run -2 spacerouted cache drop --all -s s-42
}

@test "a revoked grant takes its entries along within a second, others stay" {
	spacerouted grant -p uid:4711 -s '*' --ops ping
	cache get s-42 --op ping
	spacerouted cache get --caller uid:4711 -s s-42 --op ping
	run -0 spacerouted revoke -p "$ME" -s 's-*'
	eventually gives 11 cache get s-42 --op ping
	run -0 spacerouted cache get --caller uid:4711 -s s-42 --op ping
	assert_json '.effect == "hit"'
	assert_equal "$(counter dropped)" 1
	run -0 jq -c 'select(.note == "revoked: entries dropped") | [.caller, .sandbox]' "$BATS_TEST_TMPDIR/cache.err"
	assert_output "[\"$ME\",\"s-*\"]"
}

@test "a cache that follows has a new route unasked, for every caller, and expires stays" {
	follow
	spacerouted grant -p uid:4711 -s '*' --ops ping
	run -0 cache get s-42 --op ping
	expires=$(jq -r .expires <<<"$output")
	spacerouted cache get --caller uid:4711 -s s-42 --op ping
	publish s-42 8
	eventually gives_json '.effect == "hit" and .route.execution == 8' cache get s-42 --op ping
	assert_json --arg e "$expires" '.expires == $e and .endpoint == "unix:/run/8"'
	run -0 spacerouted cache get --caller uid:4711 -s s-42 --op ping
	assert_json '.effect == "hit" and .route.execution == 8'
	run -0 reject s-42 7
	assert_json '.effect == "kept" and .route.execution == 8'
	assert_equal "$(counter followed)" 2
	assert_equal "$(counter lookups)" 2
}

@test "a cache that follows forgets a route that is retired" {
	follow
	cache get s-42 --op ping
	spacerouted retire -s s-42 --execution 7
	eventually gives 1 cache get s-42 --op ping
	assert_output '{"status":"ok","effect":"gone"}'
	assert_equal "$(counter entries)" 0
	assert_equal "$(counter followed)" 1
}

@test "two thousand random questions of eight clients at once are never told an older route than one was before" {
	follow
	run -0 "$ROOT/tests/fixtures/race-clients.py" "$RUN/cache.sock" "$ME" 8 250
	# It was a race.
	assert_equal "$(tail -n 1 <<<"$output" | jq -r '[.replaced, .kept, .filled, .hit, .dropped] | map(. > 0) | all')" true
}

@test "a cache that is started warm knows what its callers may ask for, and nothing else" {
	stop cache
	publish s-43 1
	publish t-1 1
	publish s-44 1
	spacerouted retire -s s-44 --execution 1
	spacerouted grant -p uid:4711 -s 's-4?' --ops exec.run
	spacerouted grant -p uid:4711 -s t-1 --ops ping --until 2099-01-01T00:00:00Z
	spacerouted grant -p token:ci -s '*' --ops ping --token-file "$BATS_TEST_TMPDIR/ci"
	start cache spacerouted serve --warm
	run -0 spacerouted cache dump
	assert_equal "$(jq -r '[.caller, .sandbox, .route.execution] | @csv' <<<"$output" | sort)" "$(printf '"%s","%s",%s\n' \
		"$ME" s-42 7 "$ME" s-43 1 uid:4711 s-42 7 uid:4711 s-43 1 uid:4711 t-1 1 | sort)"
	registry_away
	run -0 cache get s-43 --op ping
	assert_json '.effect == "hit" and .access == ["file.*", "ping"]'
	run -0 spacerouted cache get --caller uid:4711 -s s-42 --op exec.run
	assert_json '.effect == "hit" and .access == ["exec.run"]'
	registry_back
}

@test "stats are also text for Prometheus" {
	cache get s-42 --op ping
	cache get s-42 --op ping
	run -0 spacerouted cache stats --prometheus
	assert_line '# TYPE space_cache_entries gauge'
	assert_line 'space_cache_entries 1'
	assert_line '# TYPE space_cache_hits_total counter'
	assert_line 'space_cache_hits_total 1'
	assert_equal "$(grep -cv '^#' <<<"$output")" "$(spacerouted cache stats -o json | jq length)"
}

@test "max_entries bounds it, the least recently used go first" {
	stop cache
	printf '[cache]\nmax_entries = 2\n' >>"$SPACE_CONFIG"
	start cache spacerouted serve
	publish s-1 1
	publish s-2 1
	cache get s-1
	cache get s-2
	cache get s-1
	cache get s-42
	run -0 spacerouted cache dump
	assert_equal "$(jq -r .sandbox <<<"$output" | sort | xargs)" 's-1 s-42'
	assert_equal "$(counter evicted)" 1
}

@test "a port is granted with its protocol" {
	spacerouted grant -p uid:4711 -s s-42 --ports 8080/http
	run -0 spacerouted cache get --caller uid:4711 -s s-42 --op port.connect --port 8080 --protocol http
	assert_json '.access == ["port.connect"] and .ports == ["8080/http"]'
	for other in '--port 8080 --protocol tcp' '--port 8081 --protocol http' '--port 8080' ''; do
		# shellcheck disable=SC2086 # words
		run -11 spacerouted cache get --caller uid:4711 -s s-42 --op port.connect $other
	done
}

@test "a token's name alone opens nothing, nor does a token that was replaced" {
	token=$BATS_TEST_TMPDIR/ci
	spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$token"
	run -11 spacerouted cache get --caller token:ci -s s-42
	run -0 spacerouted cache get --caller token:ci -s s-42 --token-file "$token"
	assert_json '.effect == "filled"'
	run -11 spacerouted cache get --caller token:ci -s s-42
	spacerouted grant -p token:ci -s s-42 --ops ping --token-file "$token.new" --rotate
	run -0 spacerouted cache get --caller token:ci -s s-42 --token-file "$token.new"
	run -11 spacerouted cache get --caller token:ci -s s-42 --token-file "$token"
}

@test "only the uids of allow_uids are answered" {
	printf '[cache]\nallow_uids = 4242\n' >>"$SPACE_CONFIG"
	stop cache
	start cache spacerouted serve
	[ "$(id -u)" -ne 4242 ]
	run -1 spacerouted cache stats
	assert_output "{\"status\":\"error\",\"error\":\"unavailable\",\"message\":\"uid $(id -u) is not in [cache] allow_uids\"}"
	run -0 jq -r '[.role, .decision, .reason, .note] | @csv' "$BATS_TEST_TMPDIR/cache.err"
	assert_output "\"cache\",\"deny\",\"unauthorized\",\"uid $(id -u) is not in [cache] allow_uids\""
}

@test "peers that say nothing more make room for others" {
	# More than are served at once, each of them staying: every one is answered all the same.
	run -0 "$FIXTURES/crowd" "$RUN/cache.sock" 1500 '{"ask":"stats"}\n' '{"status":"ok","counters":'
	assert_output '1500 answered, one more: answered'
}

@test "strangers who say nothing are let go, and so are those above their number" {
	printf '[cache]\nallow_uids = 4242\n' >>"$SPACE_CONFIG"
	stop cache
	start cache spacerouted serve
	run "$FIXTURES/crowd" "$RUN/cache.sock" 0 '' ''
	assert_output '0 answered, one more: dropped'
	run "$FIXTURES/crowd" "$RUN/cache.sock" 1500 '' ''
	assert_output '1500 answered, one more: dropped'
}

@test "allow_uids and session_ttl are taken up when the configuration changes, and a bad one is not" {
	printf '[cache]\nallow_uids = 4242\n' >>"$SPACE_CONFIG"
	eventually gives 1 spacerouted cache stats
	# Broken: what was in force stays.
	echo nonsense >>"$SPACE_CONFIG"
	eventually grep -q 'reload failed' "$BATS_TEST_TMPDIR/cache.err"
	SPACE_CONFIG=$ROOT/tests/fixtures/empty.ini run -1 spacerouted cache stats --cache "$RUN/cache.sock"
	printf '[space]\nstate_dir = %s\nrun_dir = %s\n[cache]\nsession_ttl = 5\n' "$STATE" "$RUN" >"$SPACE_CONFIG"
	eventually gives 0 spacerouted cache stats
	run -0 cache get s-42
	[ "$(jq '.expires | fromdate' <<<"$output")" -le $(($(date +%s) + 5)) ]
}

@test "many questions on one connection are answered in order, bad ones in their place" {
	cache get s-42 --op ping
	run -0 socat -t 60 - "UNIX-CONNECT:$RUN/cache.sock" < <(
		for _ in 1 2 3; do
			printf '{"ask":"get","caller":"%s","sandbox":"s-42","op":"ping"}\n' "$ME"
			printf 'noise\n\n'
			printf '{"ask":"get","caller":"uid:4711","sandbox":"s-42"}\n'
		done
	)
	assert_equal "$(jq -r '.effect // .error // .reason' <<<"$output" | xargs)" \
		'hit bad-record bad-record unauthorized hit bad-record bad-record unauthorized hit bad-record bad-record unauthorized'
}

@test "an overlong line, noise and a peer that never reads harm nobody else" {
	{
		head -c 10000000 /dev/zero | tr '\0' x
		printf '\n{"ask":"stats"}\n'
	} >"$BATS_TEST_TMPDIR/in"
	run -0 socat -t 60 - "UNIX-CONNECT:$RUN/cache.sock" <"$BATS_TEST_TMPDIR/in"
	assert_equal "$(jq -r '.error // .status' <<<"$output" | xargs)" 'bad-record ok'
	head -c 300000 /dev/urandom | socat -t1 - "UNIX-CONNECT:$RUN/cache.sock" >/dev/null
	# Asks without end and reads nothing: its answers are bounded, and so are its questions.
	yes '{"ask":"stats"}' | socat -u - "UNIX-CONNECT:$RUN/cache.sock" &
	deaf=$!
	run -0 cache get s-42 --op ping
	kill "$deaf"
}

@test "audit lines tell every decision but not its repetition" {
	cache get s-42 --op ping
	cache get s-42 --op ping
	run -11 spacerouted cache get --caller uid:4711 -s s-42 --op ping
	reject s-42 7
	run -0 jq -c '[.role, .caller, .sandbox, .op, .decision, .reason, .route.execution, .note]' "$BATS_TEST_TMPDIR/cache.err"
	assert_output "[\"cache\",\"$ME\",\"s-42\",\"ping\",\"match\",null,null,\"filled\"]
[\"cache\",\"uid:4711\",\"s-42\",\"ping\",\"deny\",\"unauthorized\",null,\"denied\"]
[\"cache\",\"$ME\",\"s-42\",null,\"match\",null,7,\"unchanged\"]"
}

@test "SIGTERM ends it cleanly and takes its socket away" {
	stop cache
	assert_not_exists "$RUN/cache.sock"
	run -1 --separate-stderr spacerouted cache stats
	assert_equal "$stderr" "spacerouted: cache stats: $RUN/cache.sock: No such file or directory; no cache serves there (spacerouted serve)"
}

@test "a second cache on the same socket is refused" {
	run -1 spacerouted serve
	assert_output --partial 'another process listens there'
	run -0 spacerouted cache stats
}

@test "dump shows every entry, in pieces" {
	for n in $(seq 700); do publication "s-d$n" 1; done | spacerouted publish >/dev/null
	seq 700 | sed "s/.*/{\"ask\":\"get\",\"caller\":\"$ME\",\"sandbox\":\"s-d&\"}/" |
		socat -t 60 - "UNIX-CONNECT:$RUN/cache.sock" >/dev/null
	run -0 spacerouted cache dump
	assert_equal "$(jq -r .sandbox <<<"$output" | sort -u | wc -l)" 700
	run -0 spacerouted cache dump -o table --color never
	assert_line --index 0 --regexp '^caller +sandbox +execution +worker +expires +revision +endpoint$'
}
