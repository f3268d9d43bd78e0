# spacebridge forward: what a manager lets pass, and what it says of what it does not.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2119,SC2120
load helper
load manager

teardown() {
	stop_all
}

@test "a matching request reaches the bridge under the manager's number and without its capability" {
	worker
	cap=$(mint 'file.*')
	run tell < <(wire r1 file.read "$cap" '{ "path" : "/etc/x", "n":[1, {"a":"\u00e9"}] }')
	assert_success
	assert_output '{"id":"r1","status":"ok","result":{"op":"file.read","args":{"path":"/etc/x","n":[1,{"a":"é"}]}}}'
	# The arguments go on as they were written.
	assert_equal "$(cat "$BRIDGE_LOG")" '{"id":"1","op":"file.read","sandbox":"s-42","args":{ "path" : "/etc/x", "n":[1, {"a":"\u00e9"}] }}'
	run cat "$AUDIT"
	assert_json --argjson route "$ROUTE" '.role == "sbx-manager" and .id == "r1" and .caller == "uid:1000" and
		.sandbox == "s-42" and .op == "file.read" and .decision == "match" and (has("reason") | not) and
		.route == $route and .epoch == 1 and (.kid | startswith("k4.pid.")) and (.jti | length) == 22 and
		(.us | type) == "number" and (.time | fromdate) > 0'
}

@test "many requests share one link, whatever the order of their answers" {
	worker
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap" '{"hold":true}'; wire b file.stat "$cap"; wire c file.read "$cap" '{"release":true}')
	assert_success
	assert_equal "$(jq -rs 'map(.id) | sort | join(" ")' <<<"$output")" 'a b c'
	assert_equal "$(jq -rs 'map(.status) | unique | join(" ")' <<<"$output")" ok
	assert_equal "$(jq -r .id <<<"${lines[0]}")" b
}

@test "each difference of the selected route is refused with its own reason, and nothing is passed on" {
	worker
	{
		wire execution+ file.read "$(mint 'file.*' --execution 8)"
		wire execution- file.read "$(mint 'file.*' --execution 6)"
		wire worker file.read "$(mint 'file.*' --worker worker-b)"
		wire pod_uid file.read "$(mint 'file.*' --pod-uid 0b9f0000-0000-4000-8000-000000000001)"
		wire activation file.read "$(mint 'file.*' --activation act-20)"
		wire attempt file.read "$(mint 'file.*' --attempt 2)"
		wire absent file.read "$(mint 'file.*' --sandbox s-43)" '{}' s-43
	} >"$W/in"
	run tell <"$W/in"
	assert_success
	assert_answer execution+ '{"status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"receiver"}'
	assert_answer execution- '{"status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}'
	assert_refused worker refresh-route worker
	assert_refused pod_uid refresh-route pod_uid
	assert_refused activation refresh-route activation
	assert_refused attempt refresh-route attempt
	assert_refused absent refresh-route absent
	bridge_got 0
}

@test "another substrate is refused as substrate" {
	worker
	cap=$(spacecap mint -k "$W/key" --sandbox s-42 --execution 7 --worker worker-a --substrate host --activation act-19 \
		--attempt 1 --caller uid:1000 --purpose control --access file.read)
	run tell < <(wire a file.read "$cap")
	assert_refused a refresh-route substrate
	bridge_got 0
}

@test "a retired execution is refused as retired" {
	worker
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap")
	assert_answer a '{"status":"ok","result":{"op":"file.read","args":{}}}'
	spaceid retire --sandbox s-42 --execution 7
	run tell < <(wire a file.read "$cap")
	assert_refused a refresh-route retired
	bridge_got 1
}

@test "another sandbox's capability is denied before anything is looked up, and the answer tells nothing" {
	worker
	run tell < <(wire a file.read "$(mint 'file.*')" '{}' s-43; wire b file.read "$(mint 'file.*' --sandbox s-43)")
	assert_refused a deny sandbox
	assert_refused b deny sandbox
	bridge_got 0
	run cat "$AUDIT"
	# Nothing was looked up: not even the audit line has an epoch.
	assert_equal "$(jq -rs 'map(select(.reason == "sandbox" and (has("epoch") | not))) | length' <<<"$output")" 2
}

@test "a fence denies what was issued up to it and fifteen seconds after, and nothing later" {
	worker
	begin
	faketime -f "$(at -30)" spaceid fence --sandbox s-42
	{
		wire before file.read "$(mint_at "$(at -40)" 'file.*')"
		wire slack file.read "$(mint_at "$(at -22)" 'file.*')"
		wire after file.read "$(mint 'file.*')"
	} >"$W/in"
	run tell <"$W/in"
	assert_refused before deny fenced
	assert_refused slack deny fenced
	assert_answer after '{"status":"ok","result":{"op":"file.read","args":{}}}'
	bridge_got 1
}

@test "a single-use capability passes once, also after a restart and after kill -9" {
	worker
	one=$(mint exec.run) two=$(mint exec.run)
	run tell < <(wire a exec.run "$one"; wire b exec.run "$one"; wire c exec.run "$two")
	assert_ok a
	assert_refused b deny replayed
	assert_ok c
	stop manager
	start_manager
	run tell < <(wire a exec.run "$one"; wire b exec.run "$(mint exec.run)")
	assert_refused a deny replayed
	assert_ok b
	stop manager KILL
	start_manager
	run tell < <(wire a exec.run "$one"; wire b exec.run "$two")
	assert_refused a deny replayed
	assert_refused b deny replayed
	bridge_got 3
	# It is known before the bridge is looked at.
	stop bridge
	run tell < <(wire a exec.run "$one"; wire b exec.run "$(mint exec.run)")
	assert_refused a deny replayed
	assert_refused b deny listener-replaced
}

@test "a family never covers a single-use operation, and one operation never another" {
	worker
	run tell < <(wire a exec.run "$(mint 'exec.*')"; wire b exec.run "$(mint exec.run,file.read)"
		wire c file.write "$(mint file.read)"; wire d file.write "$(mint 'file.*')")
	assert_refused a deny access
	assert_refused b deny access
	assert_refused c deny access
	assert_ok d
	bridge_got 1
}

@test "what is wrong with a token is said with its reason" {
	worker
	cap=$(mint 'file.*')
	spacecap keygen -o "$W/other"
	{
		wire tampered file.read "${cap:0:60}$(tr 'A-Za-z' 'B-ZAb-za' <<<"${cap:60:1}")${cap:61}"
		wire short file.read "${cap:0:200}"
		wire none file.read ''
		wire noise file.read 'v4.public.!!!'
		wire realm file.read "$(mint 'file.*' --realm other)"
		wire key file.read "$(mint 'file.*' -k "$W/other")"
		wire old file.read "$(mint 'file.*' --ttl 1 | tee "$W/old")"
		wire purpose file.read "$(mint lease.list --purpose manage)"
	} >"$W/in"
	run tell <"$W/in"
	assert_refused tampered deny signature
	assert_refused short deny malformed
	assert_refused none deny malformed
	assert_refused noise deny malformed
	assert_refused realm deny signature
	assert_refused key deny unknown-key
	assert_refused purpose deny purpose
	assert_ok old
	bridge_got 1
}

@test "time is looked at each time: expired and not yet valid" {
	make_worker
	start_bridge
	install
	begin
	cap=$(mint_at "$(at 0)" 'file.*')
	manager_at "$(at 1)"
	run tell < <(wire a file.read "$cap")
	assert_ok a
	stop manager
	manager_at "$(at 120)"
	run tell < <(wire a file.read "$cap")
	assert_ok a
	stop manager
	manager_at "$(at 136)"
	run tell < <(wire a file.read "$cap")
	assert_refused a deny expired
	stop manager
	manager_at "$(at -100)"
	run tell < <(wire a file.read "$cap")
	assert_refused a deny not-yet-valid
}

@test "a clock set back opens no window for single-use operations" {
	make_worker
	start_bridge
	install
	cap=$(mint exec.run)
	manager_at +140s
	run tell < <(wire a exec.run "$(mint_at +140s exec.run)")
	assert_ok a
	stop manager
	start_manager
	run tell < <(wire a exec.run "$cap"; wire b file.read "$(mint 'file.*')")
	assert_refused a deny expired
	assert_ok b
}

@test "a manager notices new keys by itself, and forgets what it remembered under the old ones" {
	worker
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap")
	assert_ok a
	spacecap keygen -o "$W/key2"
	spacecap pubkey "$W/key2" >"$W/key2.public"
	mv "$W/key2.public" "$W/key.public"
	new=$(mint 'file.*' -k "$W/key2")
	passes() { wire a file.read "$new" | tell | grep -q '"ok"'; }
	await passes
	run tell < <(wire a file.read "$cap"; wire b file.read "$new")
	assert_refused a deny unknown-key
	assert_ok b
}

@test "without a bundle a manager serves, trusts nobody and says so" {
	make_worker
	start_bridge
	install
	start manager spacebridge forward --audit "$AUDIT" --keys "$W/state/keys"
	run tell < <(wire a file.read "$(mint 'file.*')")
	assert_refused a deny unknown-key
	run cat "$BATS_TEST_TMPDIR/manager.err"
	assert_output --partial 'spacebridge: forward: keys: '
}

@test "a bridge that nothing is recorded of is denied" {
	make_worker
	start_bridge
	install 'del(.bridge, .vmm)'
	start_manager
	run tell < <(wire a file.read "$(mint 'file.*')")
	assert_refused a deny evidence-unavailable
	bridge_got 0
}

@test "a bridge whose VMM is not recorded is denied" {
	make_worker
	start_bridge
	install 'del(.vmm)'
	start_manager
	run tell < <(wire a file.read "$(mint 'file.*')")
	assert_refused a deny evidence-unavailable
	bridge_got 0
}

@test "a bridge that ends while it is being proven is no denial, nor is one whose VMM does" {
	make_worker
	start_bridge --part
	install
	start_manager
	run tell < <(wire a file.read "$(mint 'file.*')")
	assert_error a transport false
	stop bridge
	stop vmm
	rm -f "$W/run"/{vmm,bridge}.sock
	start vmm "$FIXTURES/bridge" --listen "$W/run/vmm.sock" --greeting OK --part
	start_bridge
	ROUTE=$(jq -c '.execution = 8' <<<"$ROUTE")
	install
	run tell < <(wire a file.read "$(mint 'file.*' --execution 8)")
	assert_error a transport false
	bridge_got 0
}

@test "an impostor at the bridge's path gets no byte" {
	worker
	# The inode stays taken; with it free again an impostor may get it, and is told by its pid.
	ln "$W/run/bridge.sock" "$W/run/bridge.kept"
	stop bridge
	start_bridge
	run tell < <(wire a file.read "$(mint 'file.*')")
	assert_refused a deny listener-replaced
	bridge_got 0
	run jq -r 'select(.reason == "listener-replaced").note' "$AUDIT"
	refute_output ''
}

@test "a bridge that has no connection to the recorded VMM is denied" {
	make_worker
	start_bridge --greeting '{"bridge":"ready","sandbox":"s-42","execution":7,"epoch":1,"level":"full","fd":3,"vsock_inode":1,"vsock_fd":3,"vmm_fd":3}'
	install
	start_manager
	run tell < <(wire a file.read "$(mint 'file.*')")
	assert_refused a deny listener-owner
	bridge_got 0
}

@test "what the bridge says first decides: refused, error, nothing, noise, another execution, the end" {
	make_worker
	start_manager
	while IFS='|' read -r greeting expected; do
		# Only silence is a matter of patience.
		[ -n "$greeting" ] || patience 500
		[ ! -e "$BATS_TEST_TMPDIR/bridge.pid" ] || stop bridge
		start_bridge --greeting "$greeting"
		install ".route.execution = 7 | .route.attempt = $((++attempt))"
		cap=$(mint 'file.*' --attempt "$attempt")
		run tell < <(wire a file.read "$cap")
		# shellcheck disable=SC2086
		assert_${expected}
	done <<'CASES'
{"bridge":"refused","reason":"vmm-process"}|refused a deny vmm-process spaced-host
{"bridge":"refused","reason":"guest-identity"}|refused a deny guest-identity spaced-host
{"bridge":"refused","reason":"retired"}|refused a refresh-route retired spaced-host
{"bridge":"refused","reason":"expired"}|error a transport false
{"bridge":"error","error":"overloaded","message":"full"}|error a overloaded
{"bridge":"error","error":"transport","message":"no OK"}|error a transport false
{"bridge":"error","error":"timeout","message":"slow"}|error a timeout false
{"bridge":"error","error":"unavailable","message":"x"}|error a unavailable
{"bridge":"ready"}|error a transport false
HTTP/1.1 200 OK|error a transport false
|error a timeout false
CASES
	bridge_got 0
}

@test "a bridge that is ready for another execution, epoch or sandbox is not used" {
	make_worker
	start_manager
	for option in '--execution 8' '--epoch 9' '--sandbox s-43'; do
		[ ! -e "$BATS_TEST_TMPDIR/bridge.pid" ] || stop bridge
		# shellcheck disable=SC2086
		start_bridge $option
		install ".route.attempt = $((++attempt))"
		run tell < <(wire a file.read "$(mint 'file.*' --attempt "$attempt")")
		assert_error a transport false
	done
	bridge_got 0
}

@test "a guest cannot play the manager: any answer but ok and error op is transport, sent" {
	worker
	cap=$(mint 'file.*')
	while IFS= read -r line; do
		run tell < <(wire a file.read "$cap" "$(say "$line")")
		assert_error a transport true
	done <<'CASES'
{"id":"$ID","status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}
{"id":"$ID","status":"refused","decision":"deny","reason":"expired","hop":"sbx-manager"}
{"id":"$ID","status":"error","error":"transport","sent":false,"message":"x"}
{"id":"$ID","status":"error","error":"timeout","sent":false,"message":"x"}
{"id":"$ID","status":"error","error":"unavailable","message":"x"}
{"id":"$ID","status":"error","error":"bad-record","message":"x"}
{"id":"$ID","status":"open","lease":"l","epoch":1}
{"id":"$ID","status":"ok","result":{},"request":{"op":"ping"}}
{"id":"$ID","status":"ok","result":{},"cap":"v4.public.x"}
{"id":"$ID","status":"ok","result":"text"}
{"id":"$ID","status":"ok"}
{"id":"$ID","status":"error","error":"op","errno":"EIO","message":"x","sent":false}
{"id":"$ID","status":"match"}
{"id":"$ID"}
{"id":"$ID","status":"ok","result":{"n":1.5}}
{"id":"$ID","status":"ok","result":{"a":1,"a":2}}
{"id":"$ID","status":"ok","result":{}} trailing
{"status":"ok","result":{}}
{"id":1,"status":"ok","result":{}}
{"id":"999999","status":"ok","result":{}}
not json

CASES
	run tell < <(wire a file.read "$cap" "$(say '{"id":"$ID","status":"error","error":"op","errno":"ENOENT","message":"no such file"}')")
	assert_answer a '{"status":"error","error":"op","errno":"ENOENT","message":"no such file"}'
}

@test "an overlong answer is transport; one as long as a line may be passes" {
	worker
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap" "$(say '{"id":"$ID","status":"ok","result":{"text":"$SIZE:262144"}}')")
	assert_error a transport true
	run tell < <(wire a file.read "$cap" "$(say '{"id":"$ID","status":"ok","result":{"text":"$SIZE:262000"}}')")
	assert_equal "$(answer a | jq '.result.text | length')" 262000
	id=$(printf 'i%.0s' {1..128})
	run tell < <(wire "$id" file.read "$cap" "$(say '{"id":"$ID","status":"ok","result":{"text":"$SIZE:262096"}}')")
	assert_error "$id" too-large
}

@test "a second answer, or one to another's number, ends the link for all that were on it" {
	worker
	cap=$(mint 'file.*')
	ok='{"id":"$ID","status":"ok","result":{}}'
	run tell < <(wire hold file.read "$cap" '{"hold":true}'; wire twice file.read "$cap" "$(say "$ok" "$ok")")
	assert_answer twice '{"status":"ok","result":{}}'
	assert_error hold transport true
	run tell < <(wire a file.read "$cap")
	assert_ok a
}

@test "a bridge that ends in the middle is transport, and what is true of sent is said" {
	worker
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap" '{"hold":true}'; wire b file.read "$cap" '{"close":true}')
	assert_error a transport true
	assert_error b transport true
	run tell < <(wire a file.read "$cap" '{"exit":true}')
	assert_error a transport true
	run tell < <(wire a file.read "$cap")
	assert_refused a deny listener-replaced
}

@test "an answer that does not come is a timeout, and is thrown away when it comes late" {
	# Long enough for who does answer.
	worker '[manager]' 'timeout_ms = 3000'
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap" '{"hold":true}')
	assert_error a timeout true
	run tell < <(wire b file.read "$cap" '{"release":true}'; wire c file.read "$cap")
	assert_ok b
	assert_ok c
	# Still the same link: numbers go on, nothing was lost.
	assert_equal "$(jq -rs 'map(.id) | join(" ")' "$BRIDGE_LOG")" '1 2 3'
}

@test "an answer whose execution was replaced meanwhile is not passed back" {
	worker
	cap=$(mint 'file.*')
	exec {answers}< <(wire a file.read "$cap" '{"hold":true}' | tell)
	await grep -q hold "$BRIDGE_LOG"
	jq -nc --argjson route "$ROUTE" '{sandbox:"s-42",route:($route | .execution = 8),owner:"op-1"}' | spaceid install
	kill -USR1 "$(cat "$BATS_TEST_TMPDIR/bridge.pid")"
	output=$(cat <&"$answers")
	assert_error a transport true
	run tell < <(wire a file.read "$cap")
	assert_answer a '{"status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}'
}

# A request that waits for a bridge which has not greeted yet; its answer will be at $answers.
waiting_request() {
	make_worker
	start_bridge --wait
	install
	start_manager
	sockets() { find "/proc/$(cat "$BATS_TEST_TMPDIR/bridge.pid")/fd" -lname 'socket:*' | wc -l; }
	before=$(sockets)
	exec {answers}< <(wire a "$1" "$(mint "$1")" | tell)
	connected() { [ "$(sockets)" -gt "$before" ]; }
	await connected
}

@test "a request that waits for its bridge when the execution is replaced learns of the new route" {
	waiting_request file.read
	spaceid retire --sandbox s-42 --execution 7
	output=$(cat <&"$answers")
	assert_refused a refresh-route retired
	bridge_got 0
}

@test "a fence that comes while a request waits for its bridge counts" {
	waiting_request file.read
	spaceid fence --sandbox s-42
	kill -USR2 "$(cat "$BATS_TEST_TMPDIR/bridge.pid")"
	output=$(cat <&"$answers")
	assert_refused a deny fenced
	bridge_got 0
}

@test "a handoff that comes while a request waits for its bridge changes nothing" {
	waiting_request exec.run
	spaceid handoff --sandbox s-42 --from op-1 --owner op-2
	kill -USR2 "$(cat "$BATS_TEST_TMPDIR/bridge.pid")"
	output=$(cat <&"$answers")
	assert_ok a
	bridge_got 1
}

@test "two requests with one single-use capability that wait together: one passes" {
	waiting_request exec.run
	cap=$(mint exec.run)
	exec {more}< <({ wire b exec.run "$cap"; wire c exec.run "$cap"; } | tell)
	kill -USR2 "$(cat "$BATS_TEST_TMPDIR/bridge.pid")"
	output=$(cat <&"$answers")
	assert_ok a
	output=$(cat <&"$more")
	assert_ok b
	assert_refused c deny replayed
	bridge_got 2
}

@test "lines that are no requests are answered in place, and the connection goes on" {
	worker
	cap=$(mint 'file.*')
	deep=$(printf '[%.0s' {1..20})$(printf ']%.0s' {1..20})
	{
		echo
		echo '{'
		echo '[]'
		wire extra file.read "$cap" | jq -c '. + {caller:"root"}'
		wire route file.read "$cap" | jq -c --argjson route "$ROUTE" '. + {route:$route}'
		wire status file.read "$cap" | jq -c '. + {status:"ok",result:{}}'
		wire nocap file.read "$cap" | jq -c 'del(.cap)'
		wire noargs file.read "$cap" | jq -c 'del(.args)'
		wire unknown guest.rekey "$cap"
		wire hello guest.hello "$cap"
		wire stream tree.get "$cap"
		wire lease lease.list "$cap"
		wire sandbox file.read "$cap" '{}' '../s-42'
		wire deep file.read "$cap" "{\"a\":$deep}"
		wire float file.read "$cap" '{"a":1.5}'
		echo '{"id":"dup","id":"dup2","op":"ping","sandbox":"s-42","args":{},"cap":"x"}'
		head -c 10000000 /dev/zero | tr '\0' 'a'
		echo
		head -c 4096 /dev/urandom | tr '\n' 'x'
		echo
		printf '{"id":"nul","op":"ping","sandbox":"s-42","args":{"a":"\\u0000"},"cap":"x"}\n'
		printf '{"id":"utf8","op":"ping","sandbox":"s-42","args":{"a":"\xff"},"cap":"x"}\n'
		wire good file.read "$cap"
		printf '%s' '{"id":"half","op":"ping"'
	} >"$W/in"
	run tell <"$W/in"
	assert_success
	for id in extra route status nocap noargs unknown hello stream sandbox; do
		assert_error "$id" bad-record
	done
	assert_refused lease deny purpose
	assert_ok good
	assert_equal "$(jq -cs 'map(select(has("id") | not) | {line,error,status}) | map(.line)' <<<"$output")" \
		'[1,2,3,14,15,16,17,18,19,20]'
	assert_equal "$(jq -rs 'map(select(has("id") | not) | .error) | unique | join(" ")' <<<"$output")" bad-record
	bridge_got 1
}

@test "an id that is in flight on the connection is a bad record, on another it is not" {
	worker
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap" '{"hold":true}'; wire a file.stat "$cap"; wire b file.read "$cap" '{"release":true}'
		)
	assert_equal "$(answer a | jq -rs 'map(.error // .status) | join(" ")')" 'bad-record ok'
	exec {answers}< <(wire a file.read "$cap" '{"hold":true}' | tell)
	await grep -q '"3"' "$BRIDGE_LOG"
	run tell < <(wire a file.read "$cap" '{"release":true}')
	assert_ok a
	output=$(cat <&"$answers")
	assert_ok a
	# Once answered, an id may come again.
	run tell < <(wire a file.read "$cap"; wire b file.read "$cap"; wire b2 file.read "$cap")
	assert_equal "$(wc -l <<<"$output")" 3
}

@test "a client that goes in the middle takes nothing with it" {
	worker
	cap=$(mint 'file.*')
	exec {client}> >(exec socat -u - "UNIX-CONNECT:$MANAGER")
	socat=$!
	wire a file.read "$cap" '{"hold":true}' >&"$client"
	await grep -q hold "$BRIDGE_LOG"
	kill -KILL "$socat"
	exec {client}>&-
	run tell < <(wire b file.read "$cap" '{"release":true}'; wire c file.read "$cap")
	assert_equal "$(jq -rs 'map(.id + .status) | sort | join(" ")' <<<"$output")" 'bok cok'
	assert_equal "$(jq -rs 'map(.id) | join(" ")' "$BRIDGE_LOG")" '1 2 3'
}

@test "a thousand requests in flight are all answered" {
	worker '[manager]' 'max_inflight = 2000'
	cap=$(mint 'file.*')
	wire ID file.read "$cap" '{"hold":true}' >"$W/one"
	for i in {1..1000}; do sed "s/\"ID\"/\"r$i\"/" "$W/one"; done >"$W/in"
	wire last file.read "$cap" '{"release":true}' >>"$W/in"
	run tell <"$W/in"
	assert_equal "$(jq -rs 'map(select(.status == "ok").id) | unique | length' <<<"$output")" 1001
}

@test "more requests than a connection may have in flight are refused as overloaded at once, and not run" {
	worker '[manager]' 'max_inflight = 3'
	cap=$(mint 'file.*')
	# In one write: the fourth is there before the third is let go.
	for i in a b c d; do wire $i file.read "$cap" '{"hold":true}'; done >"$W/in"
	run tell < <(cat "$W/in"; await grep -q '"3"' "$BRIDGE_LOG"; kill -USR1 "$(cat "$BATS_TEST_TMPDIR/bridge.pid")")
	assert_error d overloaded
	assert_equal "$(jq -rs 'map(select(.status == "ok").id) | sort | join("")' <<<"$output")" abc
	bridge_got 3
}

@test "a client that does not read holds up neither the others nor the manager's memory" {
	worker '[manager]' 'max_inflight = 256'
	cap=$(mint 'file.*')
	wire ID file.read "$cap" "$(say '{"id":"$ID","status":"ok","result":{"text":"$SIZE:131072"}}')" >"$W/one"
	for i in {1..200}; do sed "s/\"ID\"/\"r$i\"/" "$W/one"; done >"$W/in"
	mkfifo "$W/slow"
	tell <"$W/in" >"$W/slow" &
	exec {slow}<"$W/slow"
	# More than the sockets between take: the manager holds some, and stops asking for more.
	await grep -q '"12"' "$BRIDGE_LOG"
	run tell < <(wire b file.read "$cap")
	assert_ok b
	resident=$(awk '/VmRSS/ { print $2 }' "/proc/$(cat "$BATS_TEST_TMPDIR/manager.pid")/status")
	[ "$resident" -lt 60000 ] || fail "the manager holds $resident KiB"
	run jq -rs 'map(select(.status == "ok").id) | unique | length' <&"$slow"
	assert_output 200
}

@test "a peer of a uid that is not served is told so before anything is read" {
	[ "$(id -u)" = 0 ] || skip_or_fail 'root, to become another user'
	make_worker '[manager]' 'allow_uids = 0 4242'
	start_bridge
	install
	there=$(mktemp -d /tmp/space-forward-XXXXXX)
	chmod 755 "$there"
	MANAGER=$there/m.sock
	start_manager --listen "$MANAGER"
	wire a file.read "$(mint 'file.*')" >"$W/in"
	run setpriv --reuid=4243 --clear-groups socat -t 60 - "UNIX-CONNECT:$MANAGER" <"$W/in"
	assert_output '{"status":"refused","decision":"deny","reason":"unauthorized","hop":"sbx-manager"}'
	run setpriv --reuid=4242 --clear-groups socat -t 60 - "UNIX-CONNECT:$MANAGER" <"$W/in"
	rm -r "$there"
	assert_ok a
	bridge_got 1
	assert_equal "$(jq -r 'select(.reason == "unauthorized").caller' "$AUDIT")" 'uid:4243'
}

@test "a journal that cannot be written runs nothing" {
	make_worker
	start_bridge
	install
	start manager strace -D -f -qq -o "$W/trace" -e trace=fdatasync -e inject=fdatasync:error=EIO \
		spacebridge forward --audit "$AUDIT" --keys "$W/key.public"
	run tell < <(wire a exec.run "$(mint exec.run)"; wire b file.read "$(mint 'file.*')")
	assert_error a unavailable
	assert_ok b
	assert_equal "$(jq -rs 'map(.op) | join(" ")' "$BRIDGE_LOG")" file.read
}

@test "a second manager on the same state is refused" {
	worker
	run --separate-stderr spacebridge forward --listen "$W/run/second.sock" --keys "$W/key.public"
	assert_failure 14
	assert_output ''
}

@test "a manager that is told to stop answers what is in flight first" {
	worker
	exec {answers}< <(wire a file.read "$(mint 'file.*')" '{"hold":true}' | tell)
	await grep -q hold "$BRIDGE_LOG"
	pid=$(cat "$BATS_TEST_TMPDIR/manager.pid")
	kill -TERM "$pid"
	await test ! -e "$MANAGER"
	kill -USR1 "$(cat "$BATS_TEST_TMPDIR/bridge.pid")"
	output=$(cat <&"$answers")
	assert_ok a
	await_end "$pid"
	rm "$BATS_TEST_TMPDIR/manager.pid"
}

@test "a full disk under the audit file loses lines, not requests, and is said once" {
	make_worker
	start_bridge
	install
	AUDIT=/dev/full
	start_manager
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap"; wire b file.read "$cap")
	assert_equal "$(jq -rs 'map(.status) | join(" ")' <<<"$output")" 'ok ok'
	assert_equal "$(grep -c 'line lost' "$BATS_TEST_TMPDIR/manager.err")" 1
}

@test "another configuration is taken up by itself, a broken one is told and changes nothing" {
	make_worker '[manager]' 'allow_uids = 4242'
	start_bridge
	install
	start_manager
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap")
	assert_output '{"status":"refused","decision":"deny","reason":"unauthorized","hop":"sbx-manager"}'
	sed "s/^allow_uids = .*/allow_uids = $(id -u)/" "$W/space.ini" >"$W/new"
	mv "$W/new" "$W/space.ini"
	serves() { wire a file.read "$cap" | tell | grep -q '"ok"'; }
	await serves
	echo nonsense >"$W/space.ini"
	await grep -q 'reload failed, the values before stay in use' "$BATS_TEST_TMPDIR/manager.err"
	run serves
	assert_success
}

@test "the audit file is opened again on SIGHUP" {
	worker
	cap=$(mint 'file.*')
	run tell < <(wire a file.read "$cap")
	mv "$AUDIT" "$AUDIT.1"
	kill -HUP "$(cat "$BATS_TEST_TMPDIR/manager.pid")"
	await test -e "$AUDIT"
	run tell < <(wire b file.read "$cap")
	assert_equal "$(jq -r .id "$AUDIT.1" "$AUDIT" | tr '\n' ' ')" 'a b '
}

@test "wrong configuration ends it with exit 2 before it listens" {
	make_worker
	printf '[manager]\nmax_inflight = none\n' >"$W/bad.ini"
	run spacebridge forward -c "$W/bad.ini"
	assert_failure 2
	run spacebridge forward -c "$W/missing.ini"
	assert_failure 2
	run spacebridge forward --lissten x
	assert_failure 2
	assert_output --partial '--listen'
	mkdir -p "$W/state/keys"
	run spacebridge forward
	assert_failure 2
	assert_file_not_exist "$MANAGER"
}

@test "clients that say nothing more make room for others" {
	worker
	# More than the manager serves at once, each of them staying: every one is answered all the same.
	run -0 "$FIXTURES/crowd" "$MANAGER" 1500 'x\n' '{"status":"error","error":"bad-record"'
	assert_output '1500 answered, one more: answered'
}
