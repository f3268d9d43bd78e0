# spacebridge send: minted records in, done records out; what a manager and what stands in for one can make it say.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2119,SC2120
load helper
load manager

teardown() {
	stop_all
}

# A manager that says what it is told to: the stand-in of a bridge, without greeting.
fake_manager() {
	make_worker "$@"
	start fake "$FIXTURES/bridge" --listen "$MANAGER" --greeting '' --log "$W/fake.log"
	: >>"$W/fake.log"
}

@test "requests get their own answers under their own ids, in order, whatever the window" {
	worker
	cap=$(mint 'file.*')
	{
		minted a file.read "$cap" '{"n":1}'
		minted a file.read "$cap" '{"n":2}'
		minted '' file.read "$cap" '{"n":3}'
		minted "$(printf 'i%.0s' {1..128})" file.read "$cap" '{"n":4}'
		minted 'q\"\u0001' file.read "$cap" '{"n":5}'
	} >"$W/in"
	for window in 1 2 64; do
		run spacebridge send --window "$window" <"$W/in"
		assert_success
		assert_equal "$(jq -r '.result.args.n' <<<"$output" | tr '\n' ' ')" '1 2 3 4 5 '
		assert_line --index 0 '{"id":"a","status":"ok","result":{"op":"file.read","args":{"n":1}}}'
		assert_line --index 2 '{"status":"ok","result":{"op":"file.read","args":{"n":3}}}'
		assert_line --index 4 '{"id":"q\"\u0001","status":"ok","result":{"op":"file.read","args":{"n":5}}}'
	done
}

@test "nothing but id, op, sandbox, args and cap travels to the manager" {
	fake_manager
	run spacebridge send < <(minted caller file.read v4.public.x '{"say":["{\"id\":\"$ID\",\"status\":\"ok\",\"result\":{}}"]}')
	assert_success
	assert_output '{"id":"caller","status":"ok","result":{}}'
	assert_equal "$(jq -c 'del(.args)' "$W/fake.log")" '{"id":"1","op":"file.read","sandbox":"s-42","cap":"v4.public.x"}'
}

@test "a window of requests is in flight at once, and no more" {
	fake_manager
	for i in 1 2 3; do minted "$i" file.read x '{"hold":true}'; done >"$W/in"
	minted 4 file.read x '{"release":true}' >>"$W/in"
	# The fourth waits for the turn of the first, which ends without an answer.
	run spacebridge send --window 3 --timeout-ms 2000 <"$W/in"
	assert_failure 1
	assert_error 1 timeout true
	assert_ok 4
	run spacebridge send --window 4 <"$W/in"
	assert_success
	assert_equal "$(jq -r .status <<<"$output" | sort | uniq -c | tr -s ' ')" ' 4 ok'
}

@test "only minted and done records have a place; every other is a bad record in its place" {
	fake_manager
	{
		printf '{"op":"ping","sandbox":"s-42","args":{}}\n'
		minted a file.read x | jq -c 'del(.cap)'
		minted b tree.get x
		minted c file.read x | jq -c '.endpoint = "tcp:127.0.0.1:80"'
		minted d file.read x | jq -c '.endpoint = "unix:relative"'
		minted e file.read x | jq -c '. + {extra:1}'
		minted f nonsense x
		echo '{"id":"g","status":"ok"}'
		echo '{"id":"h","status":"refused","decision":"match","reason":"expired","hop":"x"}'
		echo
		echo '{"a":1} x'
		head -c 10000000 /dev/zero | tr '\0' 'a'
		echo
		head -c 4096 /dev/urandom | tr '\n' 'x'
		echo
		printf '%s' '{"half'
	} >"$W/in"
	run spacebridge send <"$W/in"
	assert_failure 3
	assert_equal "$(jq -r '"\(.status) \(.error)"' <<<"$output" | sort | uniq -c | tr -s ' ')" ' 14 error bad-record'
	assert_equal "$(jq -r .line <<<"$output" | tr '\n' ' ')" '1 2 3 4 5 6 7 8 9 10 11 12 13 14 '
	assert_equal "$(wc -l <"$W/fake.log")" 0
}

@test "done records pass, without any request that came with them" {
	make_worker
	refused='{"id":"a","status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"'
	{
		echo "$refused}"
		echo "$refused,\"request\":$(minted a file.read x)}"
		echo '{"status":"error","error":"bad-record","line":7,"message":"x"}'
	} >"$W/in"
	for flag in '' --keep-request; do
		# shellcheck disable=SC2086
		run spacebridge send $flag <"$W/in"
		assert_failure 3
		assert_line --index 0 "$refused}"
		assert_line --index 1 "$refused}"
		assert_line --index 2 '{"status":"error","error":"bad-record","line":7,"message":"x"}'
	done
}

@test "--keep-request adds the routed record to what repair may mend, from its own memory, and never a capability" {
	fake_manager
	answer='"say":["{\"id\":\"$ID\",\"status\":'
	stale="{$answer\\\"refused\\\",\\\"decision\\\":\\\"refresh-route\\\",\\\"reason\\\":\\\"worker\\\",\\\"hop\\\":\\\"m\\\"}\"]}"
	deny="{$answer\\\"refused\\\",\\\"decision\\\":\\\"deny\\\",\\\"reason\\\":\\\"expired\\\",\\\"hop\\\":\\\"m\\\"}\"]}"
	lost="{$answer\\\"error\\\",\\\"error\\\":\\\"transport\\\",\\\"sent\\\":false,\\\"message\\\":\\\"x\\\"}\"]}"
	late="{$answer\\\"error\\\",\\\"error\\\":\\\"timeout\\\",\\\"sent\\\":true,\\\"message\\\":\\\"x\\\"}\"]}"
	busy="{$answer\\\"error\\\",\\\"error\\\":\\\"overloaded\\\",\\\"message\\\":\\\"x\\\"}\"]}"
	okay="{$answer\\\"ok\\\",\\\"result\\\":{}}\"]}"
	{
		minted stale file.read secret "$stale"
		minted lost file.read secret "$lost"
		minted late file.read secret "$late"
		minted deny file.read secret "$deny"
		minted busy file.read secret "$busy"
		minted okay file.read secret "$okay"
		minted again file.read secret "$stale" 2
		minted '' file.read secret "$stale"
	} >"$W/in"
	run spacebridge send --keep-request --window 8 <"$W/in"
	assert_failure 11
	for id in stale lost late; do
		assert_equal "$(answer $id | jq -cS .request)" "$(jq -cS --arg id $id 'select(.id == $id) | del(.cap)' "$W/in")"
	done
	assert_equal "$(jq -c 'select(has("id") | not) | .request' <<<"$output")" "$(tail -n 1 "$W/in" | jq -c 'del(.cap)')"
	assert_equal "$(jq -s 'map(select(has("request"))) | length' <<<"$output")" 4
	refute_output --partial secret
	run spacebridge send --window 8 <"$W/in"
	refute_output --partial request
}

@test "whoever listens at the endpoint is looked at before he is told anything" {
	[ "$(id -u)" = 0 ] || skip_or_fail 'root, to become another user'
	make_worker '[manager]' 'uid = 4242'
	there=$(mktemp -d /tmp/space-send-XXXXXX)
	chmod 777 "$there"
	MANAGER=$there/m.sock
	for uid in 4243 4242; do
		: >"$W/heard"
		chmod 666 "$W/heard"
		rm -f "$MANAGER"
		setpriv --reuid="$uid" --clear-groups "$FIXTURES/bridge" --listen "$MANAGER" --greeting '' --log /dev/fd/7 7>>"$W/heard" &
		impostor=$!
		eventually listens "$MANAGER"
		run spacebridge send --timeout-ms 2000 < <(minted a file.read secret '{"hang":true}')
		kill "$impostor"
		assert_failure 1
		if [ "$uid" = 4243 ]; then
			assert_error a transport false
			assert_output --partial 'uid 4243'
			assert_equal "$(wc -c <"$W/heard")" 0
		else
			assert_error a timeout true
			eventually grep -q secret "$W/heard"
		fi
	done
	rm -r "$there"
}

@test "a manager that does not serve us has read nothing" {
	[ "$(id -u)" = 0 ] || skip_or_fail 'root, to serve another user only'
	make_worker '[manager]' 'allow_uids = 4242'
	start_manager
	run spacebridge send --keep-request < <(minted a file.read "$(mint 'file.*')")
	assert_failure 1
	assert_error_kept a transport false
	assert_output --partial allow_uids
}

# As assert_error, beside a kept request.
assert_error_kept() {
	output=$(jq -c 'del(.request)' <<<"$output")
	assert_error "$@"
}

@test "an endpoint where nobody listens is transport, unsent, exit 1" {
	make_worker
	run spacebridge send < <(minted a file.read x)
	assert_failure 1
	assert_error a transport false
	assert_output --partial "$MANAGER"
}

@test "a manager's answer that is none is transport, sent; the next request opens a new connection" {
	fake_manager
	while IFS= read -r line; do
		run spacebridge send < <(minted a file.read x "$(say "$line")"; minted b file.read x "$(say '{"id":"$ID","status":"ok","result":{}}')")
		assert_failure 1
		assert_error a transport true
		assert_answer b '{"status":"ok","result":{}}'
	done <<'CASES'
{"id":"$ID","status":"ok","result":{},"request":{"op":"ping"}}
{"id":"$ID","status":"ok","result":{},"cap":"x"}
{"id":"$ID","status":"open","lease":"l","epoch":1}
{"id":"$ID","status":"refused","decision":"match","reason":"none","hop":"x"}
{"id":"$ID","status":"refused","decision":"refresh-route","reason":"expired","hop":"x"}
{"id":"$ID","status":"error","error":"transport","message":"x"}
{"id":"$ID","op":"ping","sandbox":"s","args":{}}
{"id":"99","status":"ok","result":{}}
{"status":"ok","result":{}}
nonsense
{"id":"$ID","status":"ok","result":{"text":"$SIZE:262144"}}
CASES
}

@test "a manager that ends in the middle is transport, sent, and nothing is repeated" {
	fake_manager
	run spacebridge send --window 2 < <(minted a file.read x '{"hold":true}'; minted b file.read x '{"close":true}'
		)
	assert_failure 1
	assert_error a transport true
	assert_error b transport true
	assert_equal "$(wc -l <"$W/fake.log")" 2
}

@test "an answer that does not come is a timeout; a late one is thrown away" {
	fake_manager
	run spacebridge send --timeout-ms 2000 < <(minted a file.read x '{"hold":true}'; minted b file.read x '{"release":true}')
	assert_failure 1
	assert_error a timeout true
	assert_ok b
	assert_equal "$(wc -l <<<"$output")" 2
}

@test "the exit code is that of the worst answer" {
	worker
	ok=$(minted a file.read "$(mint 'file.*')")
	stale=$(minted b file.read "$(mint 'file.*' --execution 6)")
	deny=$(minted c file.read "$(mint 'file.*')x")
	failed=$(minted d file.read "$(mint 'file.*')" "$(say '{"id":"$ID","status":"error","error":"op","errno":"ENOENT","message":"x"}')")
	run spacebridge send <<<"$ok"
	assert_success
	run spacebridge send <<<"$failed"
	assert_failure 1
	run spacebridge send <<<"$stale"$'\n'"$ok"
	assert_failure 10
	run spacebridge send <<<"$stale"$'\n'"$deny"$'\n'"$failed"
	assert_failure 11
	run spacebridge send <<<"$stale"$'\n'"$deny"$'\n''{}'
	assert_failure 3
	run spacebridge send </dev/null
	assert_success
	assert_output ''
}

@test "a full disk is a failure, a closed output a quiet end" {
	worker
	minted a file.read "$(mint 'file.*')" >"$W/in"
	run bash -c 'spacebridge send <"$1" >/dev/full' _ "$W/in"
	assert_failure 1
	assert_output --partial 'No space left'
	run bash -c 'set -o pipefail; yes "$(cat "$1")" | head -n 5000 | spacebridge send --window 16 | head -n 1; echo "${PIPESTATUS[2]}"' _ "$W/in"
	assert_line --index 1 0
	assert_equal "${#lines[@]}" 2
}

@test "options out of their bounds are usage errors" {
	make_worker
	run spacebridge send --window 0 </dev/null
	assert_failure 2
	run spacebridge send --window 4097 </dev/null
	assert_failure 2
	run spacebridge send --timeout-ms 0 </dev/null
	assert_failure 2
	run spacebridge send --keep-requests </dev/null
	assert_failure 2
	assert_output --partial '--keep-request'
}
