# shellcheck shell=bats disable=SC2154
# spacecap and two independent PASETO libraries, npm's paseto and paseto-ts: each reads what the other has signed.
load helper

setup_file() { npm_peers; }

setup() {
	command -v node >/dev/null || skip_or_fail 'node (Debian package nodejs)'
	command -v npm >/dev/null || skip_or_fail npm
	[ -e "$PEERS/installed" ] || skip_or_fail 'npm packages paseto and paseto-ts (no registry reached)'
	cd "$BATS_TEST_TMPDIR" || return
	spacecap keygen -o a.key >/dev/null
	spacecap pubkey a.key >a.pub
}

peer() {
	node "$ROOT/tests/fixtures/peers/peer.mjs" "$@"
}

from_flags() {
	spacecap mint -k a.key --realm prod --iss cp-1 --sandbox s-42 --execution 7 --worker worker-a --substrate host \
		--activation act-19 --attempt 1 --caller 'user:Zoë "Z"' "$@"
}

claims() {
	local now
	now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	jq -cn --arg now "$now" --arg exp "$(date -u -d "$now + 60 seconds" +%Y-%m-%dT%H:%M:%SZ)" '{iss: "cp-1", sub: "s-42",
		aud: "sbx-manager", iat: $now, nbf: $now, exp: $exp, jti: "AAAAAAAAAAAAAAAAAAAAAA", caller: "uid:1000",
		purpose: "control", route: {execution: 7, worker: "worker-a", substrate: "host", activation: "act-19", attempt: 1},
		access: ["file.*"]}'
}

footer() {
	printf '{"kid":"%s"}' "$(spacecap pubkey --id a.key)"
}

judge() {
	spacecap verify --keys a.pub --realm prod --purpose control --op file.read -- "$1"
}

@test "each library verifies what spacecap mints, for every purpose, and sees the same claims" {
	local library token purpose
	for library in paseto paseto-ts; do
		for purpose in 'control --access file.*,exec.*' 'attach --session s' 'service-port --port 80 --protocol tls' \
			'manage --access lease.list'; do
			# shellcheck disable=SC2086
			token=$(set -f && from_flags --purpose $purpose)
			run -0 --separate-stderr peer $library verify "$(cat a.pub)" "$token" space.cap.v1:prod
			assert_equal "$(jq -cS .claims <<<"$output")" "$(spacecap inspect -- "$token" | jq -cS .claims)"
			assert_equal "$(jq -r .footer.kid <<<"$output")" "$(spacecap pubkey --id a.key)"
		done
	done
}

@test "each library refuses our token under another realm, another key, or with a byte changed" {
	local library token
	token=$(from_flags --purpose control --access ping)
	spacecap keygen -o b.key >/dev/null
	for library in paseto paseto-ts; do
		run ! peer $library verify "$(cat a.pub)" "$token" space.cap.v1:staging
		run ! peer $library verify "$(spacecap pubkey b.key)" "$token" space.cap.v1:prod
		run ! peer $library verify "$(cat a.pub)" "${token/eyJ/eyK}" space.cap.v1:prod
	done
}

@test "spacecap verifies what each library mints, and refuses the same of another realm" {
	local library token
	for library in paseto paseto-ts; do
		token=$(peer $library sign "$(cat a.key)" "$(claims)" "$(footer)" space.cap.v1:prod)
		run -0 --separate-stderr judge "$token"
		assert_json '.valid == true and .claims.sub == "s-42"'
		token=$(peer $library sign "$(cat a.key)" "$(claims)" "$(footer)" space.cap.v1:staging)
		run -11 --separate-stderr judge "$token"
		assert_output '{"valid":false,"decision":"deny","reason":"signature"}'
		token=$(peer $library sign "$(cat a.key)" "$(claims)" '' space.cap.v1:prod)
		run -11 --separate-stderr judge "$token"
		assert_output '{"valid":false,"decision":"deny","reason":"malformed"}'
	done
}

@test "what the libraries would let pass in the claims, spacecap refuses" {
	local token change
	for change in 's/"sub":"s-42"/"sub":"s-42","sub":"s-43"/' 's/"execution":7/"execution":9007199254740993/' \
		's/"execution":7/"execution":7.0/' 's/"access"/"admin":true,"access"/'; do
		token=$(peer paseto sign "$(cat a.key)" "$(claims | sed "$change")" "$(footer)" space.cap.v1:prod)
		run -0 peer paseto verify "$(cat a.pub)" "$token" space.cap.v1:prod
		run -11 --separate-stderr judge "$token"
		assert_output '{"valid":false,"decision":"deny","reason":"malformed"}'
	done
}

@test "keys that a library made are ours, and ours are its" {
	(umask 077 && peer paseto-ts keygen >keys && head -n 1 keys >a.key)
	tail -n 1 keys >a.pub
	run -0 spacecap pubkey a.key
	assert_output "$(cat a.pub)"
	run -0 --separate-stderr peer paseto-ts verify "$(cat a.pub)" "$(from_flags --purpose control --access ping)" \
		space.cap.v1:prod
	run -0 --separate-stderr judge "$(peer paseto-ts sign "$(cat a.key)" "$(claims)" "$(footer)" space.cap.v1:prod)"
}
