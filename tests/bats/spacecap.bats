# shellcheck shell=bats disable=SC2154,SC2016
# spacecap: keys, minting, verifying, inspecting.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cp "$BATS_FILE_TMPDIR"/*.key "$BATS_FILE_TMPDIR"/*.pub .
}

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	jq -r .A.secret "$VECTORS/capability.keys.json" >a.key
	jq -r .A.public "$VECTORS/capability.keys.json" >a.pub
	jq -r .B.secret "$VECTORS/capability.keys.json" >b.key
	chmod 600 a.key b.key
}

# routed [JQ]: a routed record, changed by a jq filter.
routed() {
	jq -c "${1:-.}" <<-'JSON'
		{"id":"r1","op":"file.read","sandbox":"s-42","args":{"path":"/etc/hostname"},"caller":"uid:1000",
		 "route":{"execution":7,"worker":"worker-a","substrate":"kubernetes",
		          "pod_uid":"0b9f6a2e-0c1d-4e2f-8a3b-5c6d7e8f9a0b","activation":"act-19","attempt":1},
		 "endpoint":"unix:/run/space/manager.sock","access":["file.*","exec.run","exec.attach","port.connect"],
		 "authorized_until":"2999-01-01T00:00:00Z","attempted":1}
	JSON
}

# mint [ARGS]: the filter with the key of these tests.
mint() {
	spacecap mint -k a.key --realm prod --iss cp-1 "$@"
}

# payload TOKEN: its claims, unverified.
payload() {
	spacecap inspect -- "$1" | jq -c .claims
}

# from_flags ARGS: one token with what every purpose has.
from_flags() {
	mint --sandbox s-42 --execution 7 --worker worker-a --substrate kubernetes \
		--pod-uid 0b9f6a2e-0c1d-4e2f-8a3b-5c6d7e8f9a0b --activation act-19 --attempt 1 --caller uid:1000 "$@"
}

# refused DECISION REASON HOP: the last output is exactly this refusal of r1.
refused() {
	assert_output "$(printf '{"id":"r1","status":"refused","decision":"%s","reason":"%s","hop":"%s"}' "$@")"
}

# Line 71 of the vectors has the token, time, realm and arguments of line 69 and another answer: no verifier has both.
CONTRADICTION='"attach with an access list"'

@test "every vector is judged as written when its token stands on the command line" {
	local row name token code
	jq -r 'select(.name != '"$CONTRADICTION"') |
		[.name, (.token | gsub("\n"; "%0A")), .realm, .at, (.args | to_entries[] | "--" + .key, (.value | tostring))] | @sh' \
		"$VECTORS/capability.jsonl" >rows
	while IFS= read -r row; do
		eval "set -- $row"
		name=$1 token=${2//%0A/$'\n'} realm=$3 at=$4 code=0
		shift 4
		spacecap verify --keys a.pub --realm "$realm" "$@" --at "$at" -- "$token" >out || code=$?
		jq -c --arg name "$name" --argjson code $code '[$name, $code, del(.claims)]' out >>got
	done <rows
	jq -c 'select(.name != '"$CONTRADICTION"') | [.name, (if .expect.valid then 0 else 11 end), .expect]' \
		"$VECTORS/capability.jsonl" >expected
	diff expected got
	assert_equal "$(wc -l <got)" 86
	assert_equal "$(jq -c 'select(.name == "attach" or .name == '"$CONTRADICTION"') | del(.name, .expect)' \
		"$VECTORS/capability.jsonl" | sort -u | wc -l)" 1
}

@test "every vector is judged the same as a record of the filter" {
	# Those whose arguments are an operation of the table; at one time and realm a run.
	local at
	for at in $(jq -r 'select(.realm == "prod") | .at' "$VECTORS/capability.jsonl" | sort -u); do
		jq -c --arg at "$at" 'select(.at == $at and .realm == "prod" and .args.op != "filex.read" and
				.name != "attach with an access list") |
			{id: .name, op: (.args.op // {attach: "exec.attach", "service-port": "port.connect"}[.args.purpose]),
			 sandbox: "s-42", args: (.args | del(.purpose, .op)), cap: .token}' "$VECTORS/capability.jsonl" >in
		jq -c --arg at "$at" 'select(.at == $at and .realm == "prod" and .args.op != "filex.read" and
				.name != "attach with an access list") | [.name, .expect.reason]' "$VECTORS/capability.jsonl" >expected
		run --separate-stderr spacecap verify --keys a.pub --realm prod --at "$at" <in
		jq -c '[.id, .reason]' <<<"$output" >got
		diff expected got
	done
}

@test "keygen makes a 0600 file, prints what is public of it, and never writes over another" {
	run -0 --separate-stderr spacecap keygen -o new.key
	assert_json '.file == "new.key" and (.public | startswith("k4.public.")) and (.id | startswith("k4.pid."))'
	assert_equal "$(stat -c %a new.key)" 600
	assert_equal "$(spacecap pubkey new.key)" "$(jq -r .public <<<"$output")"
	assert_equal "$(spacecap pubkey --id new.key)" "$(jq -r .id <<<"$output")"
	cp new.key kept.key
	run -1 --separate-stderr spacecap keygen -o new.key
	assert_output ''
	assert_equal "$stderr" 'spacecap: keygen: new.key: File exists'
	cmp new.key kept.key
	ln -s elsewhere link.key
	run -1 spacecap keygen -o link.key
	assert_not_exist elsewhere
}

@test "keygen says when its output is lost" {
	run -1 --separate-stderr spacecap keygen -o /dev/full
	assert_equal "$stderr" 'spacecap: keygen: /dev/full: File exists'
	run -1 --separate-stderr bash -c 'spacecap keygen -o new.key >/dev/full'
	assert_equal "$stderr" 'spacecap: keygen: standard output: No space left on device'
}

@test "pubkey reads the known keys, public and secret, and standard input" {
	local expected id
	expected=$(jq -r .A.public "$VECTORS/capability.keys.json")
	id=$(jq -r .A.id "$VECTORS/capability.keys.json")
	run -0 spacecap pubkey a.key
	assert_output "$expected"
	run -0 spacecap pubkey --id a.pub
	assert_output "$id"
	run -0 spacecap pubkey --id - <a.key
	assert_output "$id"
}

@test "a key file with mode 0644 is refused and says how to mend it" {
	chmod 644 a.key
	run -3 --separate-stderr mint < <(routed)
	assert_output ''
	assert_equal "$stderr" "spacecap: mint: a.key: mode 0644 lets others read a secret; run: chmod 600 a.key"
	run -3 --separate-stderr spacecap pubkey a.key
	assert_equal "$stderr" "spacecap: pubkey: a.key: mode 0644 lets others read a secret; run: chmod 600 a.key"
	run -3 --separate-stderr spacecap agent -k a.key --listen "$PWD/s.sock"
	assert_not_exist s.sock
}

@test "a key file that is a link, a FIFO, a directory, absent or no key is refused at once" {
	ln -s a.key link.key
	run -1 timeout 60 spacecap mint -k link.key </dev/null
	mkfifo fifo.key
	run -1 --separate-stderr timeout 60 spacecap mint -k fifo.key </dev/null
	assert_equal "$stderr" "spacecap: mint: fifo.key: not a regular file"
	run -1 timeout 60 spacecap mint -k . </dev/null
	run -1 timeout 60 spacecap mint -k none.key </dev/null
	(umask 077 && echo k4.secret.AAAA >bad.key && cp a.pub public.key && : >empty.key && cat a.key b.key >two.key)
	local file
	for file in bad public empty two; do
		run -3 --separate-stderr spacecap mint -k $file.key </dev/null
		assert_output ''
	done
}

@test "a passphrase seals a key; without it, or with another, the key stays shut" {
	(umask 077 && echo 'correct horse' >pass && echo wrong >other && : >none)
	run -0 --separate-stderr spacecap keygen -o sealed.key --passphrase-file pass
	local id
	id=$(jq -r .id <<<"$output")
	run -0 cat sealed.key
	assert_output --regexp '^k4\.secret-pw\.'
	assert_equal "$(spacecap pubkey --id --passphrase-file pass sealed.key)" "$id"
	run -3 --separate-stderr spacecap pubkey sealed.key
	assert_equal "$stderr" "spacecap: pubkey: sealed.key: a k4.secret-pw. key: say --passphrase-file FILE to open it"
	run -3 --separate-stderr spacecap mint -k sealed.key -P other </dev/null
	assert_equal "$stderr" "spacecap: mint: sealed.key: wrong passphrase for this k4.secret-pw. key"
	run -3 --separate-stderr spacecap mint -k sealed.key -P none </dev/null
	run -0 --separate-stderr spacecap mint -k sealed.key -P pass < <(routed)
	assert_json --arg id "$id" '.cap | split(".")[3] | gsub("-";"+") | gsub("_";"/") | @base64d | fromjson | .kid == $id'
	chmod 644 pass
	run -3 spacecap mint -k sealed.key -P pass </dev/null
}

@test "mint adds a capability to a routed record and changes nothing else" {
	run -0 --separate-stderr mint < <(routed)
	assert_equal "$(jq -c 'del(.cap)' <<<"$output")" "$(routed)"
	run -0 payload "$(jq -r .cap <<<"$output")"
	assert_json '.iss == "cp-1" and .sub == "s-42" and .aud == "sbx-manager" and .caller == "uid:1000" and
		.purpose == "control" and .access == ["file.*"] and .iat == .nbf and (.jti | length == 22) and
		((.exp | fromdate) - (.iat | fromdate)) == 120 and .route.execution == 7'
}

@test "the purpose follows from the operation" {
	run -0 --separate-stderr mint < <(
		routed '.op = "exec.run" | .args = {argv: ["true"]}'
		routed '.op = "exec.attach" | .args = {session: "sess-1"}'
		routed '.op = "port.connect" | .args = {port: 8080, protocol: "http"}'
		routed '.op = "lease.list" | .args = {} | .access = ["lease.*"]'
	)
	local -a claims
	mapfile -t claims < <(jq -r .cap <<<"$output" | while read -r token; do payload "$token"; done)
	is_json '.purpose == "control" and .access == ["exec.run"]' <<<"${claims[0]}"
	is_json '.purpose == "attach" and .session == "sess-1" and .access == null' <<<"${claims[1]}"
	is_json '.purpose == "service-port" and .aud == "netgtw" and .port == 8080 and .protocol == "http"' <<<"${claims[2]}"
	is_json '.purpose == "manage" and .access == ["lease.*"]' <<<"${claims[3]}"
}

@test "an authorization that has passed is refused as unauthorized" {
	run -11 --separate-stderr mint < <(routed '.authorized_until = "2020-01-01T00:00:00Z"')
	refused deny unauthorized signer
}

@test "an operation that was not granted is refused as access" {
	run -11 --separate-stderr mint < <(routed '.op = "lease.list"')
	refused deny access signer
}

@test "no capability outlives the authorization" {
	command -v faketime >/dev/null || skip_or_fail faketime
	run -0 --separate-stderr faketime -f '@2026-11-29 12:00:00' spacecap mint -k a.key < <(
		routed '.authorized_until = "2026-11-29T12:00:30Z"')
	run -0 payload "$(jq -r .cap <<<"$output")"
	assert_json '.iat == "2026-11-29T12:00:00Z" and .exp == "2026-11-29T12:00:30Z"'
}

@test "a multi-use capability is handed out again, a single-use one and a second attempt never" {
	run -0 --separate-stderr mint < <(
		routed
		routed '.op = "file.write" | .id = "other"'
		routed '.attempted = 2'
		routed '.op = "exec.run"'
		routed '.op = "exec.run"'
		routed '.sandbox = "s-43"'
	)
	assert_equal "$(jq -r .cap <<<"$output" | sed -n 1p)" "$(jq -r .cap <<<"$output" | sed -n 2p)"
	assert_equal "$(jq -r .cap <<<"$output" | sort -u | wc -l)" 5
}

@test "a shorter life can be asked for, a longer one not" {
	run -0 --separate-stderr mint --ttl 30 < <(routed)
	run -0 payload "$(jq -r .cap <<<"$output")"
	assert_json '((.exp | fromdate) - (.iat | fromdate)) == 30'
	local ttl
	for ttl in 0 121 -1 3600 x; do
		run -2 --separate-stderr mint --ttl=$ttl < <(routed)
		assert_output ''
	done
}

@test "done records pass mint and verify unchanged, with the exit code they call for" {
	local record
	while read -r code record; do
		run -"$code" --separate-stderr mint <<<"$record"
		assert_output "$record"
		run -"$code" --separate-stderr spacecap verify --keys a.pub <<<"$record"
		assert_output "$record"
	done <<-'DONE'
		0 {"id":"1","status":"ok","result":{"size":3}}
		10 {"id":"1","status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"receiver"}
		11 {"status":"refused","decision":"deny","reason":"sandbox","hop":"sbx-manager"}
		1 {"id":"1","status":"error","error":"transport","sent":false,"message":"m"}
		10 {"id":"1","status":"refused","decision":"refresh-route","reason":"retired","hop":"sbx-manager","request":{"op":"ping"}}
	DONE
}

@test "asked and minted records, and whatever only looks done, are bad records of mint" {
	run -0 --separate-stderr mint < <(routed)
	local minted=$output
	run -3 --separate-stderr mint <<-BAD
		{"id":"1","op":"ping","sandbox":"s-42","args":{}}
		$minted
		{"status":"ok"}
		{"status":"refused","decision":"deny","reason":"execution","hop":"h"}
		$(routed '.extra = 1')
		$(routed '.route.extra = 1')
		$(routed 'del(.access)')
		$(routed '.attempted = 3')
		$(routed '.access = ["file.fly"]')
		$(routed '.op = "exec.attach" | .args = {}')
		$(routed '.op = "port.connect" | .args = {port: 0, protocol: "tcp"}')
	BAD
	assert_equal "$(jq -c '[.status, .error, .line]' <<<"$output")" "$(seq 11 | sed 's/.*/["error","bad-record",&]/')"
}

@test "one token from flags, of each purpose, verifies for that purpose" {
	local token
	token=$(from_flags --purpose control --access 'file.read,exec.*')
	run -0 --separate-stderr spacecap verify --keys a.pub --realm prod --purpose control --op file.read -- "$token"
	assert_json '.valid and .claims.access == ["file.read", "exec.*"] and .claims.iss == "cp-1"'
	token=$(from_flags --purpose attach --session sess-1)
	run -0 spacecap verify --keys a.pub --realm prod --purpose attach --session sess-1 -- "$token"
	token=$(from_flags --purpose service-port --port 8080 --protocol http)
	run -0 spacecap verify --keys a.pub --realm prod --purpose service-port --port 8080 --protocol http -- "$token"
	token=$(from_flags --purpose manage --access lease.list --ttl 5)
	run -0 --separate-stderr spacecap verify --keys a.pub --realm prod --purpose manage --op lease.list - <<<"$token"
	assert_json '((.claims.exp | fromdate) - (.claims.iat | fromdate)) == 5'
}

@test "flags that make no capability are a usage error and mint nothing" {
	local -a bad=(
		'--purpose control'
		'--purpose control --access file.read --session s'
		'--purpose attach'
		'--purpose attach --session a/b'
		'--purpose service-port --port 80'
		'--purpose service-port --port 0 --protocol tcp'
		'--purpose service-port --port 80 --protocol udp'
		'--purpose control --access file.fly'
		'--purpose root --access file.read'
		'--purpose control --access file.read --ttl 121'
		'--purpose control --access file.read --execution 0'
		'--purpose control --access file.read --substrate host'
		'--purpose control --access file.read --caller='
	)
	local flags
	for flags in "${bad[@]}"; do
		# shellcheck disable=SC2086
		run -2 --separate-stderr from_flags $flags
		assert_output ''
		refute [ -z "$stderr" ]
	done
	run -2 --separate-stderr mint --sandbox s-42
	assert_output ''
}

@test "verify adds the claims to a record" {
	run -0 --separate-stderr mint < <(routed)
	local minted=$output
	run -0 --separate-stderr spacecap verify --keys a.pub --realm prod <<<"$minted"
	assert_equal "$(jq -c 'del(.claims)' <<<"$output")" "$minted"
	assert_equal "$(jq -c .claims <<<"$output")" "$(payload "$(jq -r .cap <<<"$minted")")"
}

@test "a record without a capability, or with one that is no string, is refused as malformed" {
	run -11 --separate-stderr spacecap verify --keys a.pub <<-'RECORDS'
		{"id":"r1","op":"ping","sandbox":"s-42","args":{}}
		{}
		{"id":"r1","op":"ping","cap":7}
		{"id":"r1","op":"ping","cap":null}
	RECORDS
	assert_equal "$(jq -c '[.status, .decision, .reason, .hop]' <<<"$output" | sort -u)" \
		'["refused","deny","malformed","spacecap"]'
	assert_equal "$(wc -l <<<"$output")" 4
}

@test "a record is verified for what its own op and args ask for" {
	run -0 --separate-stderr mint < <(routed '.op = "port.connect" | .args = {port: 8080, protocol: "http"}')
	local minted=$output
	verify_changed() {
		run "$1" --separate-stderr spacecap verify --keys a.pub --realm prod < <(jq -c "$2" <<<"$minted")
	}
	verify_changed -0 .
	verify_changed -11 '.args.port = 8081'
	refused deny port spacecap
	verify_changed -11 '.args.protocol = "tcp"'
	refused deny protocol spacecap
	verify_changed -11 '.op = "file.read"'
	refused deny purpose spacecap
	verify_changed -3 '.op = "no.such"'
	verify_changed -3 'del(.op)'
	verify_changed -3 '.args = {}'
}

@test "a record that names another sandbox than its token is denied" {
	run -0 --separate-stderr mint < <(routed)
	run -11 --separate-stderr spacecap verify --keys a.pub --realm prod < <(jq -c '.sandbox = "s-43"' <<<"$output")
	refused deny sandbox spacecap
}

@test "verify refuses a token of another realm" {
	run -0 --separate-stderr mint < <(routed)
	run -11 --separate-stderr spacecap verify --keys a.pub --realm staging <<<"$output"
	refused deny signature spacecap
}

@test "--skew lowers what is forgiven and never raises it" {
	local line token
	line=$(grep '"exp + 14 s"' "$VECTORS/capability.jsonl")
	token=$(jq -r .token <<<"$line")
	run -0 spacecap verify --keys a.pub --realm prod --purpose control --at 2026-11-29T12:02:14Z -- "$token"
	run -11 spacecap verify --keys a.pub --realm prod --purpose control --skew 14 --at 2026-11-29T12:02:14Z -- "$token"
	assert_output '{"valid":false,"decision":"deny","reason":"expired"}'
	run -2 spacecap verify --keys a.pub --realm prod --purpose control --skew 16 --at 2026-11-29T12:02:14Z -- "$token"
	printf '[keys]\nmax_skew = 5\n' >space.ini
	run -11 spacecap verify -c space.ini --keys a.pub --realm prod --purpose control --at 2026-11-29T12:02:05Z -- "$token"
	run -2 spacecap verify -c space.ini --skew 6 --keys a.pub --realm prod --purpose control -- "$token"
}

@test "whatever is wrong with a token is a decision, also on standard input" {
	local token
	for token in '' x v4.public. 'v4.public.é' "$(head -c 9000 /dev/zero | tr '\0' A)"; do
		run -11 --separate-stderr spacecap verify --keys a.pub --purpose control -- "$token"
		assert_output '{"valid":false,"decision":"deny","reason":"malformed"}'
		run -11 --separate-stderr spacecap verify --keys a.pub --purpose control - <<<"$token"
		assert_output '{"valid":false,"decision":"deny","reason":"malformed"}'
	done
	run -11 --separate-stderr spacecap verify --keys a.pub --purpose control - < <(head -c 10000000 /dev/urandom)
	assert_output '{"valid":false,"decision":"deny","reason":"malformed"}'
}

@test "one token needs a purpose, and records need none" {
	run -2 --separate-stderr spacecap verify --keys a.pub -- v4.public.x
	[[ $stderr == *--purpose* ]]
	run -2 --separate-stderr spacecap verify --keys a.pub --op ping </dev/null
	[[ $stderr == *--op* ]]
}

@test "--keys takes a key, a file of several, and says what is wrong with others" {
	local token
	token=$(from_flags --purpose control --access ping)
	run -0 spacecap verify --keys "$(cat a.pub)" --realm prod --purpose control -- "$token"
	{ echo '# two signers'; spacecap pubkey b.key; cat a.pub; } >both.pub
	run -0 spacecap verify --keys both.pub --realm prod --purpose control -- "$token"
	run -11 --separate-stderr spacecap verify --keys "$(spacecap pubkey b.key)" --realm prod --purpose control -- "$token"
	assert_output '{"valid":false,"decision":"deny","reason":"unknown-key"}'
	run -3 spacecap verify --keys a.key --purpose control -- "$token"
	run -3 spacecap verify --keys k4.public.AAAA --purpose control -- "$token"
	run -1 spacecap verify --keys none --purpose control -- "$token"
	mkdir empty
	run -2 --separate-stderr spacecap verify --keys empty --purpose control -- "$token"
	[[ $stderr == *'[keys] root'* ]]
	run -1 --separate-stderr spacecap verify --keys empty --root "$(cat a.pub)" --purpose control -- "$token"
	[[ $stderr == *'no bundle is installed'* ]]
}

@test "inspect shows header, footer, claims and clock, and that none of it is verified" {
	local token
	token=$(jq -r 'select(.name == "signed by B, footer says A") | .token' "$VECTORS/capability.jsonl")
	run -0 --separate-stderr spacecap inspect --at 2026-11-29T12:02:15Z -- "$token"
	assert_json '.verified == false and .header == "v4.public" and (.footer.kid | startswith("k4.pid.")) and
		.claims.sub == "s-42" and .clock.says == "expired" and .clock.left == -15'
	run -0 --separate-stderr spacecap inspect --at 2026-11-29T12:00:00Z - <<<"$token"
	assert_json '.clock.says == "within its life" and .clock.age == 0'
	run -0 --separate-stderr spacecap inspect -o table -- "$token"
	assert_line --index 0 'unverified: what the token says, whoever made it (spacecap verify judges it)'
	assert_line --partial 's-42'
	token=$(jq -r 'select(.name == "unknown claim") | .token' "$VECTORS/capability.jsonl")
	run -0 --separate-stderr spacecap inspect -- "$token"
	assert_json '.clock.says == "malformed" and .clock.why == "claims: unknown field `admin`"'
}

@test "inspect takes what is no JSON apart too, and refuses what is no token" {
	local token
	token=$(jq -r 'select(.name == "invalid UTF-8") | .token' "$VECTORS/capability.jsonl")
	run -0 --separate-stderr spacecap inspect -- "$token"
	assert_json '(.claims.data | @base64d | test("iss")) and .clock.says == "malformed"'
	for token in '' x v4.local.AAAA v4.public.AAAA 'v4.public.!'; do
		run -3 --separate-stderr spacecap inspect -- "$token"
		assert_output ''
	done
}

@test "each mint is an audit line where an audit file is named, and none on standard error" {
	run -0 --separate-stderr mint --audit audit < <(
		routed
		routed '.id = "r2"'
		routed '.id = "r3" | .authorized_until = "2020-01-01T00:00:00Z"'
	) || true
	assert_equal "$stderr" ''
	jq -se --arg kid "$(jq -r .A.id "$VECTORS/capability.keys.json")" '
		map([.role, .id, .decision, .reason, .note]) == [["signer", "r1", "match", null, null],
			["signer", "r2", "match", null, "reused"], ["signer", "r3", "deny", "unauthorized", null]] and
		.[0].kid == $kid and .[0].jti == .[1].jti and .[0].caller == "uid:1000" and .[0].sandbox == "s-42" and
		.[0].op == "file.read" and .[0].route.execution == 7 and (.[0].us | type == "number")' audit
	assert_equal "$(stat -c %a audit)" 640
	printf '[audit]\nfile = %s/configured\n' "$PWD" >space.ini
	run -0 --separate-stderr mint -c space.ini < <(routed)
	assert_equal "$(wc -l <configured)" 1
	run ! grep -r 'v4.public' audit configured
}

@test "a secret is never printed" {
	local secret
	secret=$(cut -c 11-40 a.key)
	run --separate-stderr spacecap pubkey -v a.key
	run ! grep -F "$secret" <<<"$output$stderr"
	(umask 077 && sed 's/.$/!/' a.key >broken.key)
	run -3 --separate-stderr spacecap mint -v -k broken.key < <(routed)
	run ! grep -F "$secret" <<<"$output$stderr"
}

# many: a hundred routed records of all purposes, the usual ones first; some are refused, some bad.
many() {
	local i
	for ((i = 0; i < 100; i++)); do
		routed ".id = \"r$i\" | .sandbox = \"s-$((i % 40))\"" | case $((i % 10)) in
		5) jq -c '.op = "exec.run" | .args = {argv: ["a \"b\"\n\\"]}' ;;
		6) jq -c '.op = "exec.attach" | .args = {session: "s1"}' ;;
		7) jq -c '.op = "file.write" | .access = ["exec.run"]' ;;
		8) jq -c '.attempted = 3' ;;
		9) jq -c '{status: "ok", result: {}}' ;;
		*) cat ;;
		esac
	done
}

@test "a record spelled unusually is minted and verified as its usual spelling is, to the byte" {
	many >usual
	sed 's/^{/{ /' usual >unusual
	mint <usual >minted || assert_equal $? 3
	run mint <unusual
	assert_equal "$status" 3
	run -0 diff <(jq -c 'del(.cap)' minted) <(jq -c 'del(.cap)' <<<"$output")
	sed 's/^{/{\t/' minted >odd
	spacecap verify --keys a.pub --realm prod <minted >verified || assert_equal $? 3
	run spacecap verify --keys a.pub --realm prod <odd
	assert_equal "$status" 3
	run -0 diff verified - <<<"$output"
	for at in 2026-01-01T00:00:00Z 2999-01-01T00:00:00Z; do
		spacecap verify --keys a.pub --realm prod --at "$at" <minted >verified || assert_equal $? 3
		run spacecap verify --keys a.pub --realm prod --at "$at" <odd
		run -0 diff verified - <<<"$output"
	done
	run -0 grep -c '"reason":"not-yet-valid"\|"reason":"expired"' verified
}

@test "with --jobs records stay in order, and are minted and verified as by one thread" {
	local jobs
	many >all
	mint <all >one || assert_equal $? 3
	spacecap verify --keys a.pub --realm prod <one >judged || assert_equal $? 3
	for jobs in 2 5 0; do
		mint --jobs "$jobs" --audit audit <all >several || assert_equal $? 3
		run -0 diff <(jq -c 'del(.cap)' one) <(jq -c 'del(.cap)' several)
		spacecap verify --jobs "$jobs" --keys a.pub --realm prod <one >again || assert_equal $? 3
		run -0 diff judged again
		# What several have minted is as good.
		spacecap verify --jobs "$jobs" --keys a.pub --realm prod <several >again || assert_equal $? 3
		run -0 diff <(jq -c 'del(.claims.jti, .claims.iat, .claims.nbf, .claims.exp, .cap)' judged) \
			<(jq -c 'del(.claims.jti, .claims.iat, .claims.nbf, .claims.exp, .cap)' again)
	done
	# Each decision has its audit line, whoever made it.
	run -0 jq -s 'length' audit
	assert_output 240
}

@test "--jobs is a number from 0 to 64, and goes with filters only" {
	local args
	for args in 'mint -k a.key --jobs 65' 'mint -k a.key --jobs x' 'mint --agent s --jobs 2' 'verify --keys a.pub --jobs 65' \
		'mint -k a.key --jobs 2 --sandbox s-42' 'verify --keys a.pub --jobs 2 --purpose control TOKEN'; do
		# shellcheck disable=SC2086
		run -2 spacecap $args </dev/null
		assert_output --partial '--jobs'
	done
}
