#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2154,SC2317
# call: the path in one process. Side by side with the pipeline that it stands for, case by case: the same answers, exit
# codes, attempts and cache.
load helper
load spacerouted
load sides

setup() {
	sides_setup
}

teardown() {
	stop_all
}

# each_case: every way for an attempt to end, for an operation of each kind of row, in every state of the registry. Each
# has its own sandbox, s-STATE-N, so that none has to do with another.
each_case() {
	jq -nc --argjson deny "$(sed -n 's/^    \[SP_REASON_[A-Z_]*\] = {SP_DENY, "\(.*\)"},$/\1/p' "$ROOT/lib/record/reason.c" |
		jq -R . | jq -sc .)" '
		def refused(d; r): {status: "refused", decision: d, reason: r, hop: "sbx-manager"};
		def error(k; sent): {status: "error", error: k, sent: sent, message: "m"};
		def ok: {status: "ok", result: {x: [1, {y: "é"}]}};
		[("file.read", "file.write", "exec.signal", "lease.list") as $op |
			(("same", "stale", "gone", "attempt", "elsewhere", "refused", "severed", "none") as $state |
				[ok], [refused("refresh-route"; "execution"), ok], [refused("refresh-route"; ("worker", "substrate", "pod_uid",
				"activation", "attempt", "retired", "absent"))] | [$op, $state] + .),
			((true, false) as $sent |
				["same", error("transport"; $sent), ok],
				["stale", error("timeout"; $sent), refused("refresh-route"; "execution")],
				["same", error("transport"; $sent), error("timeout"; $sent)],
				["stale", refused("refresh-route"; "worker"), error("transport"; $sent)] | [$op] + .),
			(("overloaded", "unavailable", "too-large", "internal", "bad-record") as $kind |
				[$op, "stale", {status: "error", error: $kind, message: "m"}]),
			[$op, "stale", {status: "error", error: "op", errno: "ENOENT", message: "m"}],
			[$op, "stale", refused("deny"; "retired")],
			[$op, "same", {status: "open", lease: "l", epoch: 1}]
		] + [["file.read", "stale", refused("deny"; $deny[])]] | to_entries[] |
		"k\(.key)" as $key | .value as [$op, $state] |
		{id: $key, op: $op, sandbox: "s-\($state)-\(.key)",
			args: {key: $key, turns: [.value[2:][] | {say: ["{\"id\":\"$ID\"," + tojson[1:]]}]}}'
}

@test "each way for a request to end has the same answer, attempts and cache as in the pipeline" {
	each_case >"$W/cases"
	run_both <"$W/cases"
	assert_equal "$(cat "$W/call.code")" 3
	assert_equal "$(cat "$W/call.stderr")" ''
	# Nothing was sent under a capability of before, and nothing three times.
	run jq -sr 'map(.sandbox + " " + .cap) | group_by(.)[] | select(length > 1)[0]' "$W/call.log"
	assert_output ''
	assert_equal "$(jq -s 'group_by(.sandbox) | map(length) | max' "$W/call.log")" 2
	# What they end in does differ.
	assert_equal "$(jq -r '[.status, .decision, .error, .sent] | map(tostring) | join(" ")' "$W/call.answers" | sort -u | wc -l)" 13
}

@test "with many in flight it is the same" {
	each_case >"$W/cases"
	run_both --window 64 <"$W/cases"
	assert_equal "$(cat "$W/call.code")" 3
	assert_equal "$(jq -r .id "$W/call.answers" | xargs)" "$(jq -r .id "$W/cases" | xargs)"
}

@test "with a signer in the place of the key, and for the owner of a token, it is the same" {
	each_case | awk 'NR % 5 == 0' >"$W/cases"
	start signer spacecap agent -k "$W/key" --listen "$W/signer"
	mv "$W/key" "$W/key.aside"
	run_both --agent "$W/signer" --window 8 <"$W/cases"
	then_world() {
		rm -f "$W/token"
		spacerouted grant -p token:ci -s 's-s*' --ops file.read --token-file "$W/token" >/dev/null
	}
	run_both --agent "$W/signer" --token-file "$W/token" <"$W/cases"
	# The token's owner may read only.
	assert_equal "$(jq -r 'select(.hop == "node-api").reason' "$W/call.answers" | sort -u)" unauthorized
	run -0 grep -c '"ok"' "$W/call.answers"
}

@test "what a caller may not, or does not write as he must, is answered alike" {
	{
		asked ping x-1 r1 && asked terminal.open s-same-1 r2 && asked ping s-none-1 r3
		asked tree.get s-same-1 r4 '{"path":"/"}' && asked tree.get x-1 r5 && asked exec.attach s-same-1 r6
		asked exec.attach s-same-1 r7 '{"session":"e1"}' && asked port.connect s-same-1 r8
		asked port.connect s-same-1 r9 '{"port":8080,"protocol":"http"}'
		asked port.connect s-same-1 r10 '{"port":1,"protocol":"tcp"}'
		printf '%s\n' '{"op":"ping","sandbox":"s-same-1","args":{}}' 'no record' '' '[]' '{}' \
			'{"op":"file.fly","sandbox":"s-same-1","args":{}}' '{"id":"","op":"ping","sandbox":"s-same-1","args":{}}' \
			'{"op":"ping","op":"ping","sandbox":"s-same-1","args":{}}' '{"op":"ping","sandbox":"../x","args":{}}' \
			'{"op":"ping","sandbox":"s-same-1","args":{},"cap":"x"}' '{"op":"ping","sandbox":"s-same-1","args":{"n":1.5}}' \
			'{"op":"ping","sandbox":"s-same-1","args":{"n":1e3}}' '{"op":"ping","sandbox":"s-same-1","args":{"text":"\u00e9\u0001\/\t"}}' \
			'{"id":"r1","status":"ok","result":{}}'
		asked ping s-same-1 r1 && asked ping s-same-1 r1
		for size in 190000 200000 300000; do
			asked file.write s-same-1 big "{\"text\":\"$(head -c $size /dev/zero | tr '\0' x)\"}"
		done
		asked file.read s-same-1 long '{"say":["{\"id\":\"$ID\",\"status\":\"ok\",\"result\":{\"text\":\"$SIZE:262090\"}}"]}'
		printf '{"op":"ping","sandbox":"s-same-1","args":{}}'
	} >"$W/cases"
	run_both <"$W/cases"
	assert_equal "$(cat "$W/call.code")" 3
	assert_equal "$(jq -r 'select(.error == "bad-record") | .line' "$W/call.answers" | xargs)" \
		'4 6 7 8 9 12 13 14 15 16 17 18 19 20 21 22 24 28 29'
}

@test "a connection that breaks, and one that gives no answer to what was asked, end alike" {
	local how op n=0
	for how in '{"close":true}' '{"say":["noise"]}' '{"say":["{\"id\":\"9999\",\"status\":\"ok\",\"result\":{}}"]}' \
		'{"say":["$SIZE:300000"]}' '{"say":["{\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"unauthorized\",\"hop\":\"m\"}"]}'; do
		for op in file.read file.write exec.signal; do
			asked $op s-same-$((++n)) "r$n" "$how"
		done
	done >"$W/cases"
	run_both <"$W/cases"
	assert_equal "$(jq -c '[.error, .sent]' "$W/call.answers" | uniq -c | xargs)" '12 [transport,true] 3 [transport,false]'
	# Twice where the table says so: a read each time, a write where nothing was sent.
	assert_equal "$(wc -l <"$W/call.requests")" 21
}

@test "an answer that comes twice, and one that comes too late, is nobody else's" {
	configure '[manager]' 'timeout_ms = 1000'
	local twice='{"say":["{\"id\":\"$ID\",\"status\":\"ok\",\"result\":{\"n\":1}}\n{\"id\":\"$ID\",\"status\":\"ok\",\"result\":{\"n\":2}}"]}'
	{
		asked file.read s-same-1 r1 "$twice" && asked file.write s-same-1 r2 "$twice" && asked ping s-same-1 r3 '{"n":3}'
		# The first attempt is answered when the second has come.
		asked file.read s-same-2 r4 '{"turns":[{"hold":true},{"release":true}]}' && asked ping s-same-1 r5 '{"n":5}'
		# And a refusal that is repeated refuses nothing else.
		asked file.read s-stale-3 r6 "${twice//'\"status\":\"ok\",\"result\":{\"n\":1}'/'\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"retired\",\"hop\":\"m\"'}"
		asked ping s-same-1 r7 '{"n":7}'
	} >"$W/cases"
	run_both --window 8 <"$W/cases"
	assert_equal "$(jq -c '[.id, .status, .reason, .result.n, .result.args.n]' "$W/call.answers")" '["r1","ok",null,1,null]
["r2","ok",null,1,null]
["r3","ok",null,null,3]
["r4","ok",null,null,null]
["r5","ok",null,null,5]
["r6","refused","retired",null,null]
["r7","ok",null,null,7]'
	assert_equal "$(wc -l <"$W/call.requests")" 9
}

@test "time-outs end alike, and keep nobody else waiting" {
	configure '[manager]' 'timeout_ms = 1000'
	local op
	for op in file.read file.write exec.signal lease.list; do
		asked $op s-same-1 "$op" '{"hang":true}'
		asked $op s-stale-1 "$op" "{\"turns\":[{\"hang\":true},{}],\"key\":\"$op\"}"
	done >"$W/cases"
	run_both --window 16 <"$W/cases"
	assert_equal "$(jq -r '[.id, .status, .error, .sent] | map(tostring) | join(" ")' "$W/call.answers")" "\
file.read error timeout true
file.read ok null null
file.write error timeout true
file.write error timeout true
exec.signal error timeout true
exec.signal error timeout true
lease.list error timeout true
lease.list ok null null"
	assert_equal "$(wc -l <"$W/call.requests")" 12
}

@test "a registry, a cache and a signer that are not there are answered alike" {
	{
		asked file.read s-same-1 r1 && asked file.read s-none-2 r2
		asked file.read s-stale-3 r3 \
			'{"say":["{\"id\":\"$ID\",\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"retired\",\"hop\":\"m\"}"]}'
	} >"$W/cases"
	then_world() {
		mv "$W/state/registry.db" "$W/state/aside"
		# Looked at once a second at most.
		eventually gives_json '.error == "unavailable"' cache get s-other --op ping
	}
	run_both <"$W/cases"
	assert_equal "$(jq -r '.error // .reason // .status' "$W/call.answers" | xargs)" 'ok unavailable retired'
	then_world() { stop cache; }
	run_both <"$W/cases"
	assert_equal "$(jq -r .error "$W/call.answers" | uniq)" unavailable
	then_world() { :; }
	run_both --agent "$W/nobody" <"$W/cases"
	assert_equal "$(jq -r '.error // .reason' "$W/call.answers" | xargs)" 'unavailable absent unavailable'
}

# over_socket COMMAND: the input at one end of a Unix socket, the command at the other.
over_socket() {
	rm -f "$W/peer"
	socat "UNIX-LISTEN:$W/peer" "EXEC:$1,nofork" 3>&- &
	eventually [ -S "$W/peer" ]
	timeout 60 socat -t 20 - "UNIX-CONNECT:$W/peer" <"$W/in"
}

@test "with --peer the caller is whoever connected, as in the pipeline" {
	command -v socat >/dev/null || skip_or_fail socat
	{ asked file.read s-same-1 r1 '{}' && asked terminal.open s-same-1 r2; } >"$W/in"
	world
	over_socket 'node-api --peer' >"$W/pipeline"
	over_socket 'spacerouted call --peer' >"$W/call"
	run -0 diff "$W/pipeline" "$W/call"
	assert_equal "$(jq -r '.reason // .status' "$W/call" | xargs)" 'ok unauthorized'
	run -2 --separate-stderr spacerouted call --peer </dev/null
	assert_equal "$stderr" 'spacerouted: call: --peer: standard input is no Unix socket; it goes with a socket unit'
}

@test "what call cannot do with its options it says before it reads" {
	world
	run -2 spacerouted call --peer --token-file "$W/token" </dev/null
	run -2 spacerouted call --agent "$W/signer" --key "$W/key" </dev/null
	run -2 spacerouted call --window 4097 </dev/null
	run -1 --separate-stderr spacerouted call --key "$W/none" < <(asked ping s-same-1)
	assert_output ''
	run -0 spacerouted call </dev/null
	assert_output ''
}

@test "a caller who stops reading ends it without words, whatever is under way" {
	# More than a pipe holds.
	for ((n = 0; n < 4000; n++)); do echo '{"op":"ping","sandbox":"s-same-1","args":{}}'; done >"$W/in"
	world
	spacerouted call --window 64 <"$W/in" 2>"$W/err" | head -n 1 >"$W/out"
	assert_equal "${PIPESTATUS[*]}" '0 0'
	assert_equal "$(cat "$W/err")" ''
	assert_equal "$(cat "$W/out")" '{"status":"ok","result":{"op":"ping","args":{}}}'
}
