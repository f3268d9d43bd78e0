#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2153,SC2154
# repair: which done records get the one second attempt, and what becomes of the others.

load helper
load spacerouted

EXECUTION='{"status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}'

setup() {
	space_setup
	spacerouted grant -p "$ME" -s 's-*' --ops 'file.*,exec.*,lease.*,ping,guest.info' >/dev/null
	publish s-42 7 >/dev/null
	start cache spacerouted serve --no-watch
}

teardown() {
	stop_all
}

# tried OP [ATTEMPTED]: the routed record that was tried on execution 7.
tried() {
	printf '{"id":"r1","op":"%s","sandbox":"s-42","args":{"path":"/x"},"caller":"%s","route":%s,"endpoint":"unix:/run/7","access":["file.*"],"authorized_until":"2099-01-01T00:00:00Z","attempted":%s}' \
		"$1" "$ME" "$(route_json 7)" "${2:-1}"
}

# ended RESULT REQUEST: a done record as `send --keep-request` gives it.
ended() {
	jq -c --argjson r "$2" '{id: "r1"} + . + {request: $r}' <<<"$1"
}

error() {
	printf '{"status":"error","error":"%s","sent":%s,"message":"lost"}' "$1" "$2"
}

@test "a stale route is rebuilt once: another route and endpoint, everything else as it was" {
	cache get s-42 --op file.read
	publish s-42 8
	run -0 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_output "$(tried file.read 2 | jq -c --argjson r "$(route_json 8)" '.route = $r | .endpoint = "unix:/run/8"')"
	run -0 spacerouted cache stats
	assert_json '.replaced == 1 and .lookups == 2'
	run -0 cache get s-42 --op file.read
	assert_json '.effect == "hit" and .route.execution == 8'
}

@test "a route that another attempt has replaced already is used as it is" {
	publish s-42 8
	cache get s-42 --op file.read
	run -0 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_json '.route.execution == 8 and .attempted == 2'
	assert_equal "$(counter kept)" 1
}

@test "a refusal that comes twice, or late, evicts nothing newer" {
	cache get s-42 --op file.read
	publish s-42 8
	run -0 spacerouted repair < <(
		ended "$EXECUTION" "$(tried file.read)"
		ended "$EXECUTION" "$(tried file.read)"
	)
	assert_equal "$(jq -c '[.route.execution, .attempted]' <<<"$output")" $'[8,2]\n[8,2]'
	assert_equal "$(counter replaced) $(counter kept)" '1 1'
	publish s-42 9
	reject s-42 8
	# 7 was refused long ago.
	run -0 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_json '.route.execution == 9 and .attempted == 2'
	run -0 cache get s-42 --op file.read
	assert_json '.effect == "hit" and .route.execution == 9'
	assert_equal "$(counter replaced) $(counter kept) $(counter lookups)" '2 2 3'
}

@test "without an entry the registry's newer route is used, and nothing is inserted" {
	publish s-42 8
	run -0 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_json '.route.execution == 8 and .attempted == 2'
	assert_equal "$(counter entries)" 0
}

@test "every refresh reason is repaired" {
	publish s-42 8
	for reason in worker substrate pod_uid activation attempt retired absent; do
		result=$(jq -c --arg r $reason '.reason = $r | del(.behind)' <<<"$EXECUTION")
		run -0 spacerouted repair < <(ended "$result" "$(tried file.read)")
		assert_json '.route.execution == 8 and .attempted == 2'
	done
}

@test "an unchanged route and one that is gone leave the refusal, without the request" {
	cache get s-42 --op file.read
	run -10 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_output "$(jq -c '{id: "r1"} + .' <<<"$EXECUTION")"
	spacerouted retire -s s-42 --execution 7
	spacerouted cache drop --all
	run -10 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_output "$(jq -c '{id: "r1"} + .' <<<"$EXECUTION")"
	assert_equal "$(counter gone)" 1
}

@test "an attempt of its own execution alone is another route" {
	publish s-42 7 2
	run -0 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_json '.route.execution == 7 and .route.attempt == 2 and .attempted == 2'
}

@test "never a third attempt, and the cache is not even asked" {
	publish s-42 8
	run -10 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read 2)")
	assert_output "$(jq -c '{id: "r1"} + .' <<<"$EXECUTION")"
	run -1 spacerouted repair < <(ended "$(error transport false)" "$(tried file.read 2)")
	assert_json '.error == "transport" and (has("request") | not)'
	assert_equal "$(counter lookups)" 0
}

@test "never one after a deny" {
	publish s-42 8
	for reason in sandbox expired signature replayed bridge-process unauthorized; do
		result=$(jq -nc --arg r $reason '{status: "refused", decision: "deny", reason: $r, hop: "sbx-manager"}')
		ended "$result" "$(tried file.read)" >>"$BATS_TEST_TMPDIR/in"
		jq -c '{id: "r1"} + .' <<<"$result" >>"$BATS_TEST_TMPDIR/expected"
	done
	run -11 spacerouted repair <"$BATS_TEST_TMPDIR/in"
	assert_output "$(cat "$BATS_TEST_TMPDIR/expected")"
	assert_equal "$(counter lookups)" 0
}

@test "operations that may not be rebuilt are refused at once" {
	publish s-42 8
	run -10 spacerouted repair < <(
		for op in exec.signal terminal.resize lease.status lease.list lease.cancel; do ended "$EXECUTION" "$(tried $op)"; done
	)
	assert_equal "${#lines[@]}" 5
	assert_equal "$(uniq <<<"$output")" "$(jq -c '{id: "r1"} + .' <<<"$EXECUTION")"
	assert_equal "$(counter lookups)" 0
}

@test "every other operation is rebuilt" {
	publish s-42 8
	for op in ping guest.info file.read file.stat file.list file.write file.mkdir file.rename file.remove file.chmod tree.get \
		tree.put file.watch exec.run exec.start terminal.open exec.list exec.attach port.connect; do
		ended "$EXECUTION" "$(tried $op)"
	done >"$BATS_TEST_TMPDIR/in"
	run -0 spacerouted repair --window 8 <"$BATS_TEST_TMPDIR/in"
	assert_equal "${#lines[@]}" 19
	assert_equal "$(jq -c '[.route.execution, .attempted]' <<<"$output" | uniq)" '[8,2]'
}

@test "transport and timeout are retried on the same route, by the table, without touching the cache" {
	publish s-42 8
	# operation, unsent, possibly sent
	while read -r op unsent sent; do
		for kind in transport timeout; do
			for pair in "false $unsent" "true $sent"; do
				read -r was again <<<"$pair"
				ended "$(error $kind "$was")" "$(tried "$op")" >>"$BATS_TEST_TMPDIR/in"
				if [ "$again" = yes ]; then
					tried "$op" 2
					echo
				else
					jq -c '{id: "r1"} + .' <<<"$(error $kind "$was")"
				fi >>"$BATS_TEST_TMPDIR/expected"
			done
		done
	done <<-'TABLE'
		ping yes yes
		file.read yes yes
		file.write yes no
		exec.run yes no
		exec.list yes yes
		exec.signal no no
		lease.status yes yes
		port.connect yes no
	TABLE
	run -1 spacerouted repair <"$BATS_TEST_TMPDIR/in"
	assert_output "$(cat "$BATS_TEST_TMPDIR/expected")"
	assert_equal "$(counter lookups)" 0
	assert_equal "$(counter entries)" 0
}

@test "every other error passes through" {
	for kind in overloaded unavailable too-large internal bad-record op; do
		result=$(printf '{"status":"error","error":"%s","message":"m"}' $kind)
		[ $kind != op ] || result='{"status":"error","error":"op","errno":"ENOENT","message":"m"}'
		ended "$result" "$(tried ping)" >>"$BATS_TEST_TMPDIR/in"
		jq -c '{id: "r1"} + .' <<<"$result" >>"$BATS_TEST_TMPDIR/expected"
	done
	ended '{"status":"ok","result":{}}' "$(tried ping)" >>"$BATS_TEST_TMPDIR/in"
	echo '{"id":"r1","status":"ok","result":{}}' >>"$BATS_TEST_TMPDIR/expected"
	run -3 spacerouted repair <"$BATS_TEST_TMPDIR/in"
	assert_output "$(cat "$BATS_TEST_TMPDIR/expected")"
}

@test "a cache that is not there, or that forgets to answer, leaves the refusal" {
	publish s-42 8
	stop cache
	run -10 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_output "$(jq -c '{id: "r1"} + .' <<<"$EXECUTION")"
	for lie in 'noise' '{"status":"ok","effect":"replaced"}' '{"status":"ok","effect":"magic"}' '{}' \
		'{"status":"refused","decision":"deny","reason":"unauthorized"}'; do
		socat "UNIX-LISTEN:$RUN/cache.sock" "SYSTEM:read -r line; echo '$lie'" 3>&- &
		eventually listens "$RUN/cache.sock"
		run -10 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
		assert_output "$(jq -c '{id: "r1"} + .' <<<"$EXECUTION")"
		wait $! || true
		rm -f "$RUN/cache.sock"
	done
	socat "UNIX-LISTEN:$RUN/cache.sock" 'SYSTEM:cat >/dev/null' 3>&- &
	eventually listens "$RUN/cache.sock"
	within 300
	run -10 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_output "$(jq -c '{id: "r1"} + .' <<<"$EXECUTION")"
}

@test "a newer endpoint alone is no other route: the refusal stands, the next request goes there" {
	cache get s-42 --op file.read
	route_flags 7
	spacerouted publish -s s-42 "${FLAGS[@]}" --endpoint unix:/elsewhere
	run -10 spacerouted repair < <(ended "$EXECUTION" "$(tried file.read)")
	assert_output "$(jq -c '{id: "r1"} + .' <<<"$EXECUTION")"
	assert_equal "$(counter replaced)" 1
	run -0 spacerouted route < <(asked file.read s-42)
	assert_json '.endpoint == "unix:/elsewhere"'
}

@test "records of other states and done ones without a request pass as they are" {
	cat >"$BATS_TEST_TMPDIR/in" <<-IN
		{"id":"a","status":"ok","result":{"x":[1,2,{"y":null}]}}
		$(jq -c '{id: "b"} + .' <<<"$EXECUTION")
		{"status":"error","error":"bad-record","line":3,"message":"m"}
		$(tried file.read)
		$(asked ping s-42)
	IN
	run -3 spacerouted repair <"$BATS_TEST_TMPDIR/in"
	assert_output "$(cat "$BATS_TEST_TMPDIR/in")"
}

@test "a request that cannot be what send remembered is a bad record" {
	ended "$EXECUTION" "$(tried file.read)" | jq -c '
		(.request.attempted = 3), (.request.attempted = 0), (.request.cap = "v4.public.x"), (.request.status = "ok"),
		del(.request.route), (.request.op = "file.fly"), (.request.id = "r2"), del(.request.id), (.request = {}),
		(.request = "x"), (.request.caller = ""), (.request.caller = "user:alice"), (.reason = "sandbox"), (.extra = 1)
	' >"$BATS_TEST_TMPDIR/in"
	run -3 spacerouted repair <"$BATS_TEST_TMPDIR/in"
	assert_equal "$(jq -r '.error + " " + (.line | tostring)' <<<"$output")" "$(seq -f 'bad-record %g' 14)"
}
