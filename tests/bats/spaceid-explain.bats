#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2154
# spaceid explain: what disagreed, since when, and what mends it, from whatever is at hand.
load helper

UID_A=0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b
T=2026-11-30T03:00:07Z

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	printf '[space]\nworker = worker-a\nstate_dir = %s\n[audit]\nfile = %s/audit\n' "$PWD" "$PWD" >space.ini
	export SPACE_CONFIG=$PWD/space.ini
	install 7
}

route() { printf '{"execution":%s,"worker":"%s","substrate":"kubernetes","pod_uid":"%s","activation":"act-19","attempt":1}' "$1" "${2:-worker-a}" "$UID_A"; }
install() { printf '{"sandbox":"s-42","route":%s,"owner":"op-7"}\n' "$(route "$@")" | spaceid install >/dev/null; }

# line ROLE DECISION REASON [EXECUTION [MORE]]: an audit line
line() {
	printf '{"time":"%s","role":"%s","id":"1","caller":"uid:1000","sandbox":"s-42","op":"file.read","decision":"%s","reason":"%s","action":"refused","kid":"k4.pid.k","jti":"AAAAAAAAAAAAAAAAAAAAAA","route":%s,"epoch":1,"us":412%s}\n' \
		"$T" "$1" "$2" "$3" "$(route "${4:-7}")" "${5:-}"
}
refusal='{"id":"r3","status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}'
at() { jq -r ".history[$1].at" records/s-42.json; }

# keys REALM: a signer, its bundle of keys where the configuration has it
keys() {
	spacecap keygen -o signer.key >/dev/null
	spacecap pubkey signer.key >signer.pub
}
mint() {
	spacecap mint -k "${KEY:-signer.key}" --audit /dev/null --realm "${REALM:-space}" --purpose control --sandbox s-42 --caller uid:1000 --access file.read \
		--execution "${1:-7}" --worker worker-a --substrate kubernetes --pod-uid "$UID_A" --activation act-19 --attempt 1
}

@test "a refusal: what was selected, what is installed, the change that parted them, who made it, what to do" {
	install 8
	line sbx-manager refresh-route execution >>audit
	run -0 spaceid explain -o table <<<"$refusal"
	assert_output "what: sbx-manager refused file.read of uid:1000 in s-42, at $T: refresh-route: execution
from: the last audit line like it; --sandbox names another sandbox

               selected                              installed
   sandbox     s-42                                  s-42
   state                                             active
   substrate   kubernetes                            kubernetes
!  execution   7                                     8
   worker      worker-a                              worker-a
   pod_uid     $UID_A  $UID_A
   activation  act-19                                act-19
   attempt     1                                     1

selected: as the audit line has it
installed: as the record has it
behind: the caller (selected 7, installed 8)
parted: at $(at 1): replaced, epoch 2, by uid:$(id -u): execution 7 -> 8
done: it was refused before a byte went on; the caller's stage may have tried once more on a newer route

the last audit lines about it:
time                  role         op         what was done       note
$(at 0)  spaceid      install    installed           
$(at 1)  spaceid      install    replaced            
$T  sbx-manager  file.read  refused: execution  

next: the caller's route is older than what runs here: resolve it again; if the registry still names the older one, publish the newer
      \$ spacerouted resolve s-42"
}

@test "the same for programs" {
	install 8
	line sbx-manager refresh-route execution >>audit
	line sbx-manager refresh-route execution >>audit
	run -0 spaceid explain "$refusal"
	assert_json --arg at "$(at 1)" --arg me "uid:$(id -u)" '
		.input == "answer" and .sandbox == "s-42" and
		.event == {time: "2026-11-30T03:00:07Z", role: "sbx-manager", id: "1", caller: "uid:1000", op: "file.read", decision: "refresh-route", reason: "execution", action: "refused", jti: "AAAAAAAAAAAAAAAAAAAAAA"} and
		.selected.route.execution == 7 and .selected.source == "audit-line" and
		.installed.route.execution == 8 and .installed.epoch == 2 and .installed.state == "active" and .installed.source == "record" and
		.now == {decision: "refresh-route", reason: "execution", differs: ["execution"], behind: "caller"} and
		.parted == {at: $at, epoch: 2, version: 2, effect: "replaced", from: {execution: 7}, to: {execution: 8}, by: $me} and
		.like_it == {count: 2, first: "2026-11-30T03:00:07Z", last: "2026-11-30T03:00:07Z"} and
		(.lines | map(.action)) == ["installed", "replaced", "refused", "refused"] and .unseen == [] and
		.next.command == "spacerouted resolve s-42"'
	# An id, the audit line itself, one out of a journal, and a line of compare lead to the same.
	for what in s-42 "$(tail -n 1 audit)" "Nov 30 03:00:07 worker-a spacebridge[7]: $(tail -n 1 audit)" \
		"$(jq -c '{selected: {sandbox, route}}' audit | tail -n 1)"; do
		run -0 spaceid explain "$what"
		assert_json '.sandbox == "s-42" and .now.reason == "execution" and .parted.effect == "replaced" and .next.command == "spacerouted resolve s-42"'
	done
}

@test "a sandbox that nothing stands against" {
	run -0 spaceid explain -o table s-42
	assert_line -n 0 'what: s-42: no refusal of it is known here'
	assert_line 'installed: execution 7 on worker-a, active, epoch 1'
	run -0 spaceid explain -o table s-77
	assert_line 'installed: no record'
	assert_line '      $ spacerouted resolve s-77'
}

@test "the change that parted the sides is found among later ones, a retirement and a fence too" {
	install 8
	spaceid fence --sandbox s-42 --cut >/dev/null
	install 9
	spaceid retire --sandbox s-42 --execution 9 >/dev/null
	run -0 spaceid explain < <(line sbx-manager refresh-route retired 7)
	assert_json '.parted.effect == "replaced" and .parted.from.execution == 7 and .parted.to.execution == 8'
	run -0 spaceid explain < <(line sbx-manager refresh-route retired 9)
	assert_json '.parted.effect == "retired" and .now.reason == "retired"'
	run -0 spaceid explain < <(line sbx-manager deny fenced 8)
	assert_json '.parted.effect == "fenced" and .parted.epoch == 2 and .next.command == "spaceid show --history s-42"'
}

@test "what was never installed here is said to be so, and a newer one leaves the receiver behind" {
	run -0 spaceid explain -o table < <(line sbx-manager refresh-route execution 8)
	assert_line 'behind: the receiver (selected 8, installed 7)'
	assert_line 'parted: not known: what was selected was never installed in this store'
	assert_line "next: this worker's record is older than what was selected: the newer execution was not installed here, or runs elsewhere; see both sides"
	assert_line '      $ sandbox status s-42'
	jq -c 'del(.history)' records/s-42.json >old && cp old records/s-42.json
	run -0 spaceid explain < <(line sbx-manager refresh-route execution 6)
	assert_json '.parted_unknown == "the record keeps no history (an older version wrote it)"'
}

@test "what has been mended since is said to be so" {
	install 8
	run -0 spaceid explain < <(line sbx-manager refresh-route execution 8)
	assert_json '.now.decision == "match" and .next == {words: "nothing: by now both sides name the same execution"}'
}

@test "a token whose signature nobody checked is said to be unchecked, and why" {
	keys
	run -0 spaceid explain -o table "$(mint)"
	assert_line 'token: for control in s-42, caller uid:1000, issued '"$(sed -n 's/.*issued \(.*\), ends.*/\1/p' <<<"$output")"', ends '"$(sed -n 's/^token.*ends \(.*\)$/\1/p' <<<"$output")"
	assert_line 'signature: NOT CHECKED: whoever made it, it says this of itself'
	assert_line 'selected: as the token has it, which is not to be believed yet'
	assert_line --regexp "^not seen: the token's signature: .*/keys: "
	run -0 spaceid explain "$(mint)"
	assert_json '.input == "token" and .token.signature == "unchecked" and .token.claims.sub == "s-42" and .now.decision == "match" and .unseen[0].what == "the token'\''s signature"'
	# Nor is one checked whose key is none of ours.
	spacecap keygen -o other.key >/dev/null
	spacecap pubkey other.key >other.pub
	run -0 spaceid explain --keys other.pub "$(mint)"
	assert_json '.token.signature == "unchecked" and .token.reason == "unknown-key" and .next.command == "spacecap bundle list"'
}

@test "a token is checked where there are keys: good, of another realm, and never printed" {
	keys
	mint 8 >token
	install 8
	install 9
	run -0 spaceid explain --keys signer.pub - <token
	assert_json '.token.signature == "good" and .token.reason == null and .now.behind == "caller" and .parted.from.execution == 8 and .next.command == "spacerouted resolve s-42"'
	refute_output --partial "$(cat token)"
	REALM=other mint >token
	run -0 spaceid explain -o table --keys signer.pub - <token
	assert_line 'signature: bad: believe none of it'
	assert_line 'now: it would be refused: deny: signature'
	refute_output --partial "$(cut -c 1-40 token)"
	run -0 spaceid explain v4.public.AAAA
	assert_json '.token == {signature: "bad", reason: "malformed"} and .next.command == "spacecap inspect -"'
}

@test "with nothing but the line it says what it can, and what it could not see" {
	export SPACE_CONFIG=$ROOT/tests/fixtures/empty.ini
	run -0 spaceid explain -o table --records none <<<"$refusal"
	assert_output 'what: sbx-manager refused: refresh-route: execution
done: it was refused before a byte went on; the caller'\''s stage may have tried once more on a newer route
not seen: audit lines: no file is named (--audit, or [audit] file of the configuration)
not seen: the record: it is not known which sandbox this is about (--sandbox)
next: the caller'\''s route is older than what runs here: resolve it again; if the registry still names the older one, publish the newer
      $ spacerouted resolve S'
	run -0 spaceid explain --records none --audit none --sandbox s-42 <<<"$refusal"
	assert_json '.sandbox == "s-42" and (.unseen | map(.what)) == ["audit lines", "the record"] and (has("installed") | not) and .next.command == "spacerouted resolve s-42"'
	run -0 spaceid explain -o table --records none < <(line sbx-manager refresh-route execution 7 ',"installed":{"route":'"$(route 8)"',"epoch":2,"state":"active"}')
	assert_line '!  execution   7                                     8'
	assert_line 'installed: as the audit line has it'
}

@test "an answer that refuses nothing, and an error that says who is to be looked at" {
	run -0 spaceid explain -o table '{"id":"1","status":"ok","result":{}}'
	assert_line -n 0 'what: an answer that refuses nothing: nothing disagreed'
	run -0 spaceid explain -o table --sandbox s-42 '{"id":"r5","status":"error","error":"transport","sent":false,"message":"no bridge"}'
	assert_line -n 0 'what: a stage of the path failed in s-42: error: transport'
	assert_line 'note: no bridge'
	assert_line '      $ spacebridge attest --sandbox s-42 --connect'
}

@test "another worker's record cannot be seen here, and no record here is no evidence" {
	rm records/s-42.json
	run -0 spaceid explain -o table < <(line sbx-manager refresh-route worker 7 | sed s/worker-a/worker-b/)
	assert_line --regexp '^ +state +not seen$'
	assert_line 'not seen: the other worker: this is worker-a, and worker-b was selected: what is installed there can be seen there alone'
}

@test "escapes, controls and half characters of a line reach no terminal" {
	local evil='\u001b[2J\u009b31m\u0007\u202eevil'
	line "mgr$evil" refresh-route execution 8 ",\"note\":\"$evil\"" | sed "s/uid:1000/$evil/; s/file.read/$evil/" >>audit
	tail -n 1 audit >one
	for what in "$(cat one)" s-42 "{\"id\":\"$evil\",\"status\":\"error\",\"error\":\"op\",\"errno\":\"E\",\"message\":\"$evil\"}"; do
		run -0 spaceid explain -o table "$what"
		assert_output --partial evil
		run -1 grep -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' <<<"$output"
		run -0 spaceid explain "$what"
		run -1 grep -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\\u00[019]' <<<"$output"
	done
}

@test "what is nothing, too long or too deep is a bad record, and is not repeated" {
	run -3 spaceid explain 'hunter2 and more'
	assert_output 'spaceid: explain: no line of JSON, no capability (v4.public...) and no id of a sandbox'
	run -3 spaceid explain </dev/null
	run -3 spaceid explain < <(head -c 300000 /dev/zero | tr '\0' a)
	assert_output 'spaceid: explain: standard input: more than 266240 bytes'
	run -3 spaceid explain < <(printf '{"role":'; head -c 5000 /dev/zero | tr '\0' '[')
	run -3 spaceid explain '{"a":1}'
	run -3 spaceid explain '{"status":"refused","decision":"deny","reason":"execution","hop":"x"}'
	run -3 spaceid explain < <(printf 'a\0b')
}

@test "an audit file that is none neither blocks nor misleads" {
	mkfifo fifo
	run -0 timeout 20 spaceid explain --audit fifo s-42
	assert_json '.unseen[0] == {what: "audit lines", why: "fifo: not a regular file"}'
	{ head -c 300000 /dev/urandom | tr -d '\n'; echo; echo '{"role":"sbx-manager","sandbox":"s-42"'; line sbx-manager refresh-route execution 8; printf '{"role":"sbx'; } >garbage
	run -0 spaceid explain --audit garbage s-42
	assert_json '.event.reason == "execution" and (.lines | length) == 1'
}

@test "of a large audit file the end is read, and it is said that there is more" {
	{
		line sbx-manager refresh-route worker 7
		yes "$(line sbx-manager refresh-route attempt 7 | sed s/s-42/s-1/)" | head -c 9000000
		echo
		line sbx-manager refresh-route execution 8
	} >large
	run -0 spaceid explain --audit large s-42
	assert_json '.event.reason == "execution" and (.lines | length) == 1 and .unseen == [{what: "older audit lines", why: "only the last 8 MiB were read"}]'
}

# ready COMMAND: could be typed as it stands, as far as its tool's tables know
ready() {
	# shellcheck disable=SC2086
	set -- $1
	case $1 in
	sandbox | date) command -v "$1" >/dev/null ;;
	*) "$@" --help >/dev/null ;;
	esac
}

@test "there is advice for every reason and every error, and each command is one that exists" {
	local decision reason said
	while read -r decision reason; do
		run -0 spaceid explain --records none --audit none < <(line sbx-manager "$decision" "$reason")
		assert_json '.next.words | length > 20'
		said=$(jq -r '.next.command // ""' <<<"$output")
		[ "$reason" = replayed ] || [ -n "$said" ] || fail "$reason: no command"
		[ -z "$said" ] || ready "$said" || fail "$reason: $said"
	done < <(printf 'refresh-route %s\n' execution worker substrate pod_uid activation attempt retired absent
		printf 'deny %s\n' malformed unknown-key revoked-key signature not-yet-valid expired lifetime purpose access port \
			protocol session fenced replayed sandbox unauthorized peer-credentials bridge-process bridge-executable \
			vmm-process vmm-executable listener-owner listener-replaced guest-identity evidence-unavailable)
	for error in bad-record op overloaded too-large unavailable internal; do
		run -0 spaceid explain --records none --audit none "{\"role\":\"netgtw\",\"sandbox\":\"s-42\",\"error\":\"$error\",\"action\":\"failed\"}"
		assert_json --arg error "$error" '.event.error == $error and (.next.words | length > 20)'
	done
}

@test "an explanation fits a terminal of 80 columns, with colour only where it may" {
	command -v script >/dev/null || skip_or_fail script
	install 8
	line sbx-manager refresh-route execution >>audit
	on_terminal() { script -qec "stty cols 80; $*" /dev/null </dev/null | tr -d '\r'; }
	run -0 on_terminal "NO_COLOR=1 spaceid explain s-42"
	assert_line 'next: the caller'\''s route is older than what runs here: resolve it again; if the'
	run -0 awk 'length > 80 || /\033/' <<<"$output"
	assert_output ""
	run -0 on_terminal spaceid explain s-42
	assert_line $'\033[31m!  execution   7                                8\033[0m'
	run -0 spaceid explain s-42
	refute_output --partial $'\033'
}

@test "a key that is not believed: what was done to bundles of keys here is shown with it" {
	local kid
	keys
	kid=$(spacecap pubkey --id signer.key)
	spacecap keygen -o root.key >/dev/null
	printf '[keys]\nroot = %s\n' "$(spacecap pubkey root.key)" >>space.ini
	spacecap bundle build -k root.key --serial 1 -o 1.tzst signer.pub >built
	spacecap bundle install 1.tzst >built
	spacecap bundle revoke -k root.key --kid "$kid" -o 2.tzst 1.tzst >built
	spacecap bundle install 2.tzst >built
	line sbx-manager deny revoked-key | jq -c --arg kid "$kid" '.kid = $kid' >>audit
	run -0 spaceid explain -o json '{"status":"refused","decision":"deny","reason":"revoked-key","hop":"sbx-manager"}'
	run jq -r '.lines[] | select(.role == "spacecap") | "\(.op): \(.action), \(.note)"' <<<"$output"
	assert_output "bundle install: installed, serial 1 of realm space: 1 active, 0 revoked
bundle revoke: revoked, serial 2 of realm space: 0 active, 1 revoked, now also $kid
bundle install: installed, serial 2 of realm space: 0 active, 1 revoked"
	run -0 spaceid explain -o json "$(mint)"
	run jq -c '[.lines[].role]' <<<"$output"
	assert_output '["spaceid","spacecap","spacecap","spacecap","sbx-manager"]'
	# It says nothing about other refusals.
	line sbx-manager refresh-route execution >>audit
	run -0 spaceid explain -o json "$refusal"
	run jq -c '[.lines[].role]' <<<"$output"
	assert_output '["spaceid","sbx-manager","sbx-manager"]'
}

@test "a token that was issued before a fence would be refused, and the fence is shown" {
	local token
	keys
	token=$(mint)
	spaceid fence --sandbox s-42 >fenced
	run -0 spaceid explain -o table --keys signer.pub "$token"
	assert_line 'now: it would be refused: deny: fenced'
	assert_line --regexp "^parted: at $(at 1): fenced, epoch 1, by uid:$(id -u): "
	assert_line --partial '$ spaceid show --history s-42'
	run -0 spaceid explain -o json --keys signer.pub "$token"
	assert_json '.token.reason == "fenced" and .parted.effect == "fenced" and .token.signature == "good"'
}
