# One worker with all of the real path: manager, bridge, the stand-in for the VMM, the agent in its guest. For
# attacks*.bats: each attack is performed on it, and each is asked what it got.
# shellcheck shell=bash disable=SC2016,SC2034,SC2119,SC2120,SC2153,SC2154

ROUTE='{"execution":7,"worker":"worker-a","substrate":"host","activation":"act-7","attempt":1}'
MARK=this-is-the-operation

# world: everything stands, nothing is wrong yet.
world() {
	W=$BATS_TEST_TMPDIR/w
	mkdir -p "$W/state" "$W/run/bridge" "$W/tree"
	echo "$MARK" >"$W/tree/$MARK"
	printf '%s\n' '[space]' 'realm = test' 'worker = worker-a' "state_dir = $W/state" "run_dir = $W/run" \
		'[bridge]' "min_level = $("$FIXTURES/evidence" level)" 'connect_timeout_ms = 20000' >"$W/space.ini"
	export SPACE_CONFIG=$W/space.ini
	spacecap keygen -o "$W/key" >/dev/null
	spacecap pubkey "$W/key" >"$W/key.public"
	UDS=$W/v.sock API=$W/api.sock BRIDGE=$W/run/bridge/s-42.sock LOOT=$W/loot
	: >"$LOOT"
	start_guest
	start_vmm
	start_host
	install
	start_manager
}

# start_guest [OPTION...]: the agent; a later option counts.
start_guest() {
	start guest spacebridge guest --listen "unix:$W/agent.sock" --root "$W/tree" --cid 42 --key "$W/guest.key" "$@"
}

start_vmm() {
	start vmm "$FIXTURES/vmm" --uds "$UDS" --guest "$W/agent.sock" --cid 42 --api "$API" --log "$W/vmm.log" "$@"
	VMM=$STARTED
}

start_host() {
	start host "$@" spacebridge host --sandbox s-42 --audit "$W/host.audit"
	HOST=$STARTED
}

enroll() {
	spacebridge attest --enroll --sandbox s-42 --bridge-pid "$HOST" --vmm-pid "$VMM" --vsock "$UDS" --api "$API" "$@"
}

# install [JQ-FILTER]: what runs now is enrolled and becomes the record.
install() {
	jq -nc "{sandbox:\"s-42\",owner:\"op\",route:$ROUTE}" | enroll --record - | jq -c "${1:-.}" >"$W/record"
	spaceid install --if-epoch "$(epoch)" <"$W/record" >"$W/installed" || fail "install: $(cat "$W/installed")"
}

epoch() {
	local now
	now=$(spaceid show -o json s-42 2>/dev/null | jq .epoch)
	echo "${now:-0}"
}

start_manager() {
	start manager "$@" spacebridge forward --audit "$W/manager.audit" --keys "$W/key.public"
}

# fresh: a manager without links: what it is asked next has to be proven anew.
fresh() {
	[ ! -e "$BATS_TEST_TMPDIR/manager.pid" ] || stop manager
	start_manager "$@"
}

# again [JQ-FILTER]: what runs now is enrolled anew, under another attempt.
again() {
	ROUTE=$(jq -c '.attempt += 1' <<<"$ROUTE")
	install "$@"
}

# reinstall FILTER: the record as it was, changed by a jq filter, under another attempt.
reinstall() {
	ROUTE=$(jq -c '.attempt += 1' <<<"$ROUTE")
	jq -c ". + {route:$ROUTE} | $1" "$W/record" >"$W/record.new"
	mv "$W/record.new" "$W/record"
	spaceid install --if-epoch "$(epoch)" <"$W/record" >"$W/installed" || fail "install: $(cat "$W/installed")"
}

# enroll_vmm PID: that process is the VMM from now on, as far as the record knows; the guest is the same.
enroll_vmm() {
	spacebridge attest --enroll --vmm-pid "$1" --vsock "$UDS" --cid 42 >"$W/vmm.json"
	reinstall ".vmm = $(jq -c .vmm "$W/vmm.json")"
}

# replant bridge|vmm: what lies at the recorded path now has the recorded inode, as ext4 arranges it by itself when a
# socket is unlinked and bound again.
replant() {
	local path inode
	path=$(jq -r ".$1.listener.path" "$W/record")
	inode=$(stat -c %i "$path")
	reinstall ".$1.listener += {ino: \"$inode\", file_ino: $((inode & 0xffffffff))}"
}

# impostor PATH [OPTION...]: a server that keeps what it gets.
impostor() {
	start impostor "$FIXTURES/echo" --log "$LOOT" "${@:2}" "$1"
}

# as_root: the test needs rights that only root has here.
as_root() {
	[ "$(id -u)" -eq 0 ] || skip_or_fail "root"
}

# ask: the answer of the manager to a request for the marked file, with a capability for what is installed.
ask() {
	local line
	line=$(question)
	run socat -t 60 - "UNIX-CONNECT:$W/run/manager.sock" <<<"$line"
	assert_success
}

# ask_aside, answered: the same in the background, and its end.
ask_aside() {
	: >"$W/vmm.log"
	question | socat -t 60 - "UNIX-CONNECT:$W/run/manager.sock" >"$W/answer" 3>&- &
	ASKING=$!
}
answered() {
	wait "$ASKING"
	output=$(cat "$W/answer")
}

question() {
	local cap
	cap=$(spacecap mint -k "$W/key" --realm test --iss test --sandbox s-42 \
		--execution "$(jq .execution <<<"$ROUTE")" --activation "$(jq -r .activation <<<"$ROUTE")" \
		--attempt "$(jq .attempt <<<"$ROUTE")" --worker worker-a --substrate host --caller uid:0 --purpose control \
		--access file.read)
	echo "{\"id\":\"1\",\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{\"path\":\"/$MARK\"},\"cap\":\"$cap\"}"
}

# served: the honest path answers.
served() {
	ask
	is_served
}
is_served() {
	assert_json --arg mark "$MARK" '.status == "ok" and .result.text == $mark + "\n"'
}

# caught REASON CHECK HOP: the request was denied for this reason, by this check, at this hop; no byte of it came to
# whoever the attacker is, nor to the guest.
caught() {
	: >"$W/vmm.log"
	ask
	is_caught "$@"
}
is_caught() {
	assert_json --arg reason "$1" --arg hop "$3" '{status, decision, reason, hop}
		== {status: "refused", decision: "deny", reason: $reason, hop: $hop} and (keys == ["decision", "hop", "id", "reason", "status"])'
	assert_equal "$(audit_check "$3")" "$2"
	nothing_got
	matrix "$1" "$2" "$3"
}

# audit_check HOP: the check that the last audit line of that hop names.
audit_check() {
	local file=$W/manager.audit
	[ "$1" != spaced-host ] || file=$W/host.audit
	tail -n 1 "$file" | jq -r '.note | split(": ")[1]'
}

# loot TEXT: exactly this came to the attacker, who may take some time to hear of it.
loot() {
	eventually test -s "$LOOT"
	assert_equal "$(cat "$LOOT")" "$1"
}

# nothing_got: neither loot nor guest saw any of the operation.
nothing_got() {
	run grep -c "$MARK" "$LOOT" "$W/vmm.log"
	assert_output "$LOOT:0
$W/vmm.log:0"
}

# matrix REASON CHECK HOP: a row of the matrix; REASON is `served` where the check makes the attack come to nothing.
matrix() {
	printf '%s\t%s\t%s\n' "$1" "$2" "$BATS_TEST_DESCRIPTION" >>"$BATS_TEST_TMPDIR/rows"
	printf '%-66s %-12s %-24s %s\n' "$BATS_TEST_DESCRIPTION" "$3" "$2" "$1" >>"$BATS_RUN_TMPDIR/matrix"
}

# page_rows: the matrix of space-path(7), as matrix writes it. A row with an empty cell is the reason of those below it.
page_rows() {
	sed -n '/^\.Sh ATTACKS/,/^\.El/s/^\.It //p' "$ROOT/man/space-path.7" | awk -F ' Ta ?' '
		$1 == "Em check" { next }
		$2 == "" { reason = substr($1, 4); next }
		{ print reason "\t" $1 "\t" $2 }'
}

# rows_stand: for teardown: what this attack came to is what the page says of it, no more and no less.
rows_stand() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] && [ -z "${BATS_TEST_SKIPPED:-}" ] || return 0
	touch "$BATS_TEST_TMPDIR/rows"
	page_rows | awk -F '\t' -v of="$BATS_TEST_DESCRIPTION" '$3 == of' | sort -u |
		diff - <(sort -u "$BATS_TEST_TMPDIR/rows") >&2 || fail "another matrix than in space-path(7): < page, > seen"
}
