# spacebridge forward: requests that become streams, from the line that asks to the last byte.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2119,SC2120,SC2154
load helper
load manager

teardown() { stop_all; }

# ask OP CAP ARGS [STEP...]: one connection: the request, then what fixtures/talk is told to do.
ask() {
	local line
	line=$(wire s "$1" "$2" "$3")
	run timeout 60 "$FIXTURES/talk" "$MANAGER" send "${line//\\/\\\\}"'\n' "${@:4}"
}

# keep NAME ARGS [STEP...]: a stream in the background, under $CAP if that is set; returns once it is open, its answer in
# $output.
keep() {
	local name=$1 line
	line=$(wire "$name" tree.get "${CAP:-$(mint 'tree.*')}" "$2")
	mkfifo "$W/$name.open" "$W/$name.go"
	timeout 250 "$FIXTURES/talk" "$MANAGER" send "$line"'\n' line go "$W/$name.open" "${@:3}" >"$W/$name.out" \
		2>"$W/$name.err" 3>&- &
	echo $! >"$W/$name.kept"
	read -r <"$W/$name.open"
	output=$(cat "$W/$name.out")
}

# kept NAME: it has ended, each of its steps gone as written.
kept() { wait "$(cat "$W/$1.kept")" || fail "$(cat "$W/$1.err")"; }

# manage OP ARGS: the answer to an operation on leases.
manage() {
	run tell < <(wire m "$1" "$(mint 'lease.*' --purpose manage "${@:3}")" "$2")
	output=$(jq -c .result <<<"$output")
}

@test "a stream opens with its lease and epoch, and then carries bytes both ways, whole" {
	worker
	ask tree.get "$(mint 'tree.*')" '{"open":"echo"}' line mirror 5000000
	assert_success
	assert_json 'keys == ["epoch","id","lease","status"] and .id == "s" and .status == "open" and .epoch == 1 and
		(.lease | test("^[0-9a-f]{32}$"))'
	lease=$(jq -r .lease <<<"$output")
	run jq -c '[.op, .decision, .note]' "$AUDIT"
	assert_line --index 1 "[\"tree.get\",\"match\",\"lease $lease open\"]"
}

@test "what stands right behind a line, on either side, is the stream's" {
	worker
	cap=$(mint 'tree.*')
	line=$(wire s tree.get "$cap" '{"open":"echo","behind":"from the guest"}')
	run timeout 60 "$FIXTURES/talk" "$MANAGER" send "$line"'\nearly' line expect 'from the guest\nearly' mirror 1000
	assert_success
}

@test "the bridge gets the stream's request on a connection of its own, under a number and without its capability" {
	worker
	ask tree.put "$(mint 'tree.*')" '{"open":"echo","path":"x"}' line mirror 10
	assert_success
	run cat "$BRIDGE_LOG"
	assert_json '.id == "1" and .op == "tree.put" and .args.path == "x" and (has("cap") | not)'
	run tell < <(wire a tree.get "$(mint 'file.*')" '{"open":"echo"}')
	assert_refused a deny access
}

@test "an identity refusal comes before any byte, and ends the connection" {
	worker
	ask tree.get "$(mint 'tree.*' --execution 8)" '{"open":"echo"}' all
	assert_output '{"id":"s","status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"receiver"}'
	ask tree.get "$(mint 'file.*')" '{"open":"echo"}' all
	assert_output '{"id":"s","status":"refused","decision":"deny","reason":"access","hop":"sbx-manager"}'
	ask tree.get "$(mint 'lease.*' --purpose manage)" '{"open":"echo"}' all
	assert_output '{"id":"s","status":"refused","decision":"deny","reason":"purpose","hop":"sbx-manager"}'
	bridge_got 0
}

@test "what the guest answers instead of open is passed on, and the connection ends" {
	worker
	ask tree.get "$(mint 'tree.*')" "$(say '{"id":"$ID","status":"error","error":"op","errno":"ENOENT","message":"none"}')" all
	assert_output '{"id":"s","status":"error","error":"op","errno":"ENOENT","message":"none"}'
	ask tree.get "$(mint 'tree.*')" "$(say '{"id":"$ID","status":"open","lease":"l","epoch":1}')" all
	assert_json '.error == "transport" and .sent == true'
	ask tree.get "$(mint 'tree.*')" '{"close":true}' all
	assert_json '.error == "transport" and .sent == true'
}

@test "a stream is the only record of its connection" {
	worker
	cap=$(mint 'file.*,tree.*')
	run tell < <(wire a file.read "$cap"; wire b tree.get "$cap" '{"open":"echo"}'; wire c file.read "$cap")
	assert_ok a
	assert_error b bad-record
	assert_ok c
}

@test "an attach capability opens its own session once, and no other" {
	worker
	cap=$(spacecap mint -k "$W/key" --sandbox s-42 --execution 7 --worker worker-a --substrate kubernetes \
		--pod-uid 0b9f0000-0000-4000-8000-000000000000 --activation act-19 --attempt 1 --caller uid:1000 \
		--purpose attach --session e-1)
	ask exec.attach "$cap" '{"open":"echo","session":"e-2"}' all
	assert_json '.reason == "session"'
	ask exec.attach "$cap" '{"open":"echo"}' all
	assert_json '.error == "bad-record"'
	ask tree.get "$cap" '{"open":"echo"}' all
	assert_json '.reason == "purpose"'
	ask exec.attach "$(mint 'tree.*')" '{"open":"echo","session":"e-1"}' all
	assert_json '.reason == "purpose"'
	ask exec.attach "$cap" '{"open":"echo","session":"e-1"}' line mirror 1000
	assert_success
	ask exec.attach "$cap" '{"open":"echo","session":"e-1"}' all
	assert_json '.reason == "replayed"'
	stop manager KILL
	start_manager
	ask exec.attach "$cap" '{"open":"echo","session":"e-1"}' all
	assert_json '.reason == "replayed"'
	bridge_got 1
}

@test "the end of either side is the other's, once its last bytes are through" {
	worker
	ask tree.get "$(mint 'tree.*')" '{"open":"echo"}' line send abc expect abc shut end
	assert_success
	keep one '{"open":"echo"}' end
	stop bridge KILL
	kept one
}

@test "a client that ends its direction right behind its request gets the answer, and what the guest said behind that" {
	worker
	ask tree.get "$(mint 'tree.*')" '{"open":"echo"}' shut all
	assert_success
	assert_json '.id == "s" and .status == "open"'
	ask tree.get "$(mint 'tree.*')" '{"open":"echo","behind":"from the guest"}' shut all
	assert_success
	assert_line --index 1 'from the guest'
	ask tree.get "$(mint 'tree.*')" "$(say '{"id":"$ID","status":"error","error":"op","errno":"ENOENT","message":"none"}')" shut all
	assert_output '{"id":"s","status":"error","error":"op","errno":"ENOENT","message":"none"}'
}

@test "a new execution cuts what is open, says why, and refuses what comes" {
	worker
	keep one '{"open":"echo"}' end
	lease=$(jq -r .lease <<<"$output")
	ROUTE=$(jq -c '.execution = 8' <<<"$ROUTE")
	install
	kept one
	audited --arg note "lease $lease cut: the record moved on" '.op == "tree.get" and .caller == "uid:1000" and
		.decision == "refresh-route" and .reason == "execution" and .note == $note and .route.execution == 7'
	ask tree.get "$(mint 'tree.*')" '{"open":"echo"}' all
	assert_json '.reason == "execution" and .behind == "caller"'
	manage lease.status "{\"lease\":\"$lease\"}" --execution 8
	assert_json --arg lease "$lease" '.lease == $lease and .state == "cut" and .decision == "refresh-route" and
		.reason == "execution" and .epoch == 1 and .execution == 7 and .op == "tree.get" and .caller == "uid:1000"'
}

@test "a capability that expires, and a fence that does not cut, leave what is open and refuse what comes" {
	worker '[keys]' 'max_skew = 0'
	CAP=$(mint 'tree.*' --ttl 6)
	keep one '{"open":"echo"}' wait "$W/one.go" send abc expect abc wait "$W/one.go" send def expect def
	expired() {
		ask tree.get "$CAP" '{"open":"echo"}' line
		is_json '.reason == "expired"' <<<"$output"
	}
	await expired
	echo >"$W/one.go"
	spaceid fence --sandbox s-42 >/dev/null
	ask tree.get "$(mint 'tree.*')" '{"open":"echo"}' all
	assert_json '.reason == "fenced"'
	echo >"$W/one.go"
	kept one
}

@test "the end of the bridge's process is told as what it is" {
	worker
	keep one '{"open":"echo"}' end
	lease=$(jq -r .lease <<<"$output")
	stop bridge KILL
	kept one
	manage lease.status "{\"lease\":\"$lease\"}"
	# Its connection ends with it: whichever is seen first.
	assert_json '(.state == "cut" and .reason == "bridge-process") or .state == "closed"'
}

@test "leases are listed, told of and cancelled by whoever may manage, for this sandbox alone" {
	worker
	keep one '{"open":"echo"}' mirror 1000 go "$BATS_TEST_TMPDIR/w/one.go" end
	one=$(jq -r .lease <<<"$output")
	keep two '{"open":"echo"}' end
	two=$(jq -r .lease <<<"$output")
	read -r <"$W/one.go"
	manage lease.list '{}'
	assert_json --arg one "$one" --arg two "$two" '(.leases | map(.lease)) == [$one, $two] and .truncated == false and
		(.leases[0] | .state == "open" and .kind == "control" and .epoch == 1 and .execution == 7 and .in == 1000 and
			.out > 1000)'
	manage lease.status "{\"lease\":\"${two:0:12}\"}"
	assert_json --arg two "$two" '.lease == $two and .state == "open"'
	run tell < <(wire m lease.status "$(mint 'lease.*' --purpose manage)" '{"lease":"0000"}')
	assert_json '.error == "op" and .errno == "ENOENT"'
	run tell < <(wire m lease.cancel "$(mint lease.list --purpose manage)" '{"all":true}')
	assert_refused m deny access
	run tell < <(wire m lease.cancel "$(mint 'lease.*' --purpose manage)" '{}')
	assert_json '.error == "op" and .errno == "EINVAL"'
	manage lease.cancel "{\"lease\":\"$one\"}"
	assert_output '{"cancelled":1}'
	kept one
	manage lease.status "{\"lease\":\"$one\"}"
	assert_json '.state == "cancelled" and (has("reason") | not)'
	manage lease.cancel '{"all":true}'
	assert_output '{"cancelled":1}'
	kept two
	manage lease.list '{}'
	assert_output '{"leases":[],"truncated":false}'
}

@test "a manager that is told to stop cuts its streams, and ends" {
	worker
	keep one '{"open":"echo"}' end
	stop manager
	kept one
	audited '.error == "transport" and (.note | endswith("cut: the manager stops"))'
	run ls "$W/run/leases"
	assert_output ''
}

@test "one slow stream costs bounded memory and delays no other" {
	worker
	keep slow '{"open":"count"}' wait "$BATS_TEST_TMPDIR/w/slow.go"
	before=$(awk '/VmRSS/ { print $2 }' "/proc/$(cat "$BATS_TEST_TMPDIR/manager.pid")/status")
	for _ in 1 2 3; do
		ask tree.get "$(mint 'tree.*')" '{"open":"echo"}' line mirror 3000000
		assert_success
	done
	after=$(awk '/VmRSS/ { print $2 }' "/proc/$(cat "$BATS_TEST_TMPDIR/manager.pid")/status")
	assert [ $((after - before)) -lt 512 ]
	echo >"$W/slow.go"
	kept slow
}
