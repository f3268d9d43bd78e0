# A worker with a manager, a stand-in for the bridge behind it, and what speaks to them. For forward.bats and send.bats.
# shellcheck shell=bash disable=SC2034,SC2154,SC2153,SC2119,SC2120

ROUTE='{"execution":7,"worker":"worker-a","substrate":"kubernetes","pod_uid":"0b9f0000-0000-4000-8000-000000000000","activation":"act-19","attempt":1}'

# make_worker [LINE...]: state, keys and a configuration (with these lines at its end) in $W.
make_worker() {
	W=$BATS_TEST_TMPDIR/w
	mkdir -p "$W/run" "$W/state"
	printf '%s\n' '[space]' 'realm = test' 'worker = worker-a' "state_dir = $W/state" "run_dir = $W/run" \
		'[bridge]' "min_level = $("$FIXTURES/evidence" level)" 'connect_timeout_ms = 20000' "$@" >"$W/space.ini"
	export SPACE_CONFIG=$W/space.ini
	spacecap keygen -o "$W/key"
	spacecap pubkey "$W/key" >"$W/key.public"
	MANAGER=$W/run/manager.sock
	AUDIT=$W/audit
	BRIDGE_LOG=$W/bridge.log
}

# start_bridge [OPTION...]: the stand-ins for VMM and bridge of s-42.
start_bridge() {
	[ -e "$BATS_TEST_TMPDIR/vmm.pid" ] || start vmm "$FIXTURES/bridge" --listen "$W/run/vmm.sock" --greeting OK
	start bridge "$FIXTURES/bridge" --listen "$W/run/bridge.sock" --vmm "$W/run/vmm.sock" --log "$BRIDGE_LOG" "$@"
	: >>"$BRIDGE_LOG"
}

# install [JQ-FILTER]: the runtime record of s-42 with the evidence of what runs.
install() {
	local bridge vmm
	bridge=$("$FIXTURES/evidence" bridge "$(cat "$BATS_TEST_TMPDIR/bridge.pid")" "$W/run/bridge.sock")
	vmm=$("$FIXTURES/evidence" vmm "$(cat "$BATS_TEST_TMPDIR/vmm.pid")" "$W/run/vmm.sock")
	jq -c "${1:-.}" <<<"{\"sandbox\":\"s-42\",\"route\":$ROUTE,\"owner\":\"op-1\",\"bridge\":$bridge,\"vmm\":$vmm}" |
		spaceid install >"$W/installed" || fail "install: $(cat "$W/installed")"
}

start_manager() {
	start manager spacebridge forward --audit "$AUDIT" --keys "$W/key.public" "$@"
}

# worker [LINE...]: all of it, standing.
worker() {
	make_worker "$@"
	start_bridge
	install
	start_manager
}

# patience MILLISECONDS: of a manager that is started anew.
patience() {
	sed -i "s/^connect_timeout_ms = .*/connect_timeout_ms = $1/" "$W/space.ini"
	stop manager
	start_manager
}

# begin: from now on counts at SECONDS: for faketime, a clock that starts so long after that, whenever it is asked for.
begin() { BEGIN=$(date +%s); }
at() { date -d "@$((BEGIN + $1))" '+@%F %T'; }

# manager_at OFFSET: a manager whose clock differs; `faketime` itself would stay in between and take the signals.
manager_at() {
	start manager env "LD_PRELOAD=$(faketime -f +0s printenv LD_PRELOAD)" "FAKETIME=$1" \
		spacebridge forward --audit "$AUDIT" --keys "$W/key.public"
}

# mint ACCESS [OPTION...]: a capability for the installed execution; options given later count.
mint() {
	local access=$1
	shift
	spacecap mint -k "$W/key" --sandbox s-42 --execution 7 --worker worker-a --substrate kubernetes \
		--pod-uid 0b9f0000-0000-4000-8000-000000000000 --activation act-19 --attempt 1 \
		--caller uid:1000 --purpose control --access "$access" "$@"
}

# mint_at OFFSET ACCESS: one issued at another time.
mint_at() {
	(
		LD_PRELOAD=$(faketime -f +0s printenv LD_PRELOAD)
		export LD_PRELOAD FAKETIME=$1
		mint "$2"
	)
}

# wire ID OP CAP [ARGS] [SANDBOX]: what send writes to forward. Nothing in it is escaped.
wire() {
	printf '{"id":"%s","op":"%s","sandbox":"%s","args":%s,"cap":"%s"}\n' "$1" "$2" "${5:-s-42}" "${4:-"{}"}" "$3"
}

# minted ID OP CAP [ARGS] [ATTEMPTED]: what spacecap mint writes to send; an empty ID leaves it out.
minted() {
	printf '{%s"op":"%s","sandbox":"s-42","args":%s,"caller":"uid:1000","route":%s,"endpoint":"unix:%s",' \
		"${1:+"\"id\":\"$1\","}" "$2" "${4:-"{}"}" "$ROUTE" "$MANAGER"
	printf '"access":["file.*"],"authorized_until":"2030-01-01T00:00:00Z","attempted":%s,"cap":"%s"}\n' "${5:-1}" "$3"
}

# tell: standard input to the manager; its answers, once it has answered all and ended.
tell() {
	socat -t 60 - "UNIX-CONNECT:$MANAGER"
}

# say LINE...: args that make the bridge answer with these lines.
say() {
	jq -nc '{say:$ARGS.positional}' --args "$@"
}

# answer ID: the answer to it among the lines of the last output.
answer() {
	jq -c --arg id "$1" 'select(.id == $id)' <<<"$output"
}

# assert_answer ID JSON: it is exactly that.
assert_answer() {
	jq -se --arg id "$1" --argjson want "$2" 'map(select(.id == $id)) == [{id:$id} + $want]' >/dev/null <<<"$output" ||
		fail "$1 is not $2: $output"
}

assert_refused() {
	assert_answer "$1" "{\"status\":\"refused\",\"decision\":\"$2\",\"reason\":\"$3\",\"hop\":\"${4:-sbx-manager}\"}"
}

# assert_error ID KIND [SENT]: an error answer, whatever its words.
assert_error() {
	local sent=${3:+",\"sent\":$3"}
	jq -se --arg id "$1" --argjson want "{\"status\":\"error\",\"error\":\"$2\"$sent}" \
		'map(select(.id == $id) | (.message | type) == "string", del(.message)) == [true, {id:$id} + $want]' \
		>/dev/null <<<"$output" || fail "$1 is no error $2 $3: $output"
}

# assert_ok ID: it is ok.
assert_ok() {
	jq -se --arg id "$1" 'map(select(.id == $id).status) == ["ok"]' >/dev/null <<<"$output" || fail "$1 is not ok: $output"
}

# bridge_got N: as many requests have reached the bridge.
bridge_got() {
	assert_equal "$(wc -l <"$BRIDGE_LOG")" "$1"
}
