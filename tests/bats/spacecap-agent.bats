# shellcheck shell=bats disable=SC2154,SC2016,SC2119,SC2120
# spacecap agent: the signer that node-api asks, and mint --agent, which asks it.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	spacecap keygen -o a.key >/dev/null
	spacecap pubkey a.key >a.pub
	cat >space.ini <<-INI
		[space]
		realm = prod
		name = cp-1
		state_dir = $PWD
		run_dir = $PWD
	INI
	export SPACE_CONFIG=$PWD/space.ini
}

teardown() { stop_all; }

routed() {
	jq -c "${1:-.}" <<-'JSON'
		{"id":"r1","op":"file.read","sandbox":"s-42","args":{"path":"/etc/hostname"},"caller":"uid:1000",
		 "route":{"execution":7,"worker":"worker-a","substrate":"host","activation":"act-19","attempt":1},
		 "endpoint":"unix:/run/space/manager.sock","access":["file.*","exec.run","exec.attach","port.connect"],
		 "authorized_until":"2999-01-01T00:00:00Z","attempted":1}
	JSON
}

agent() {
	start agent spacecap agent --listen s.sock -k a.key "$@"
}

# ask LINE...: what the signer answers to raw lines on one connection.
ask() {
	command -v socat >/dev/null || skip_or_fail socat
	printf '%s\n' "$@" | socat -t 60 - UNIX-CONNECT:s.sock
}

# audit [JQ]: the signer's audit lines, which go to standard error by default.
audit() {
	jq -c "${1:-.}" agent.err
}

@test "mint --agent gives what mint with the key gives" {
	agent
	run -0 --separate-stderr spacecap mint --agent s.sock < <(routed)
	assert_equal "$(jq -c 'del(.cap)' <<<"$output")" "$(routed)"
	run -0 --separate-stderr spacecap verify --keys a.pub --realm prod <<<"$output"
	assert_json '.claims.iss == "cp-1" and .claims.access == ["file.*"] and .claims.caller == "uid:1000"'
}

@test "answers come in the order of the records, with many in flight" {
	agent
	seq 500 | while read -r n; do echo "$n"; done >numbers
	routed | jq -c --slurpfile n numbers '. as $r | $n[] | . as $i | $r | .id = "r\($i)" | .sandbox = "s-\($i % 7)"' >in
	run -0 --separate-stderr spacecap mint --agent s.sock --window 64 <in
	diff <(jq -r .id <in) <(jq -r .id <<<"$output")
	diff <(jq -r .sandbox <in) <(jq -r '.cap | split(".")[2] | gsub("-";"+") | gsub("_";"/") | .[:80] | @base64d |
		capture("\"sub\":\"(?<s>[^\"]*)\"").s' <<<"$output")
}

@test "refusals and bad records of the signer are those of the filter" {
	agent
	run -11 --separate-stderr spacecap mint --agent s.sock < <(routed '.authorized_until = "2020-01-01T00:00:00Z"')
	assert_output '{"id":"r1","status":"refused","decision":"deny","reason":"unauthorized","hop":"signer"}'
	run -11 --separate-stderr spacecap mint --agent s.sock < <(routed '.op = "ping"')
	assert_output '{"id":"r1","status":"refused","decision":"deny","reason":"access","hop":"signer"}'
	run -3 --separate-stderr spacecap mint --agent s.sock < <(
		routed 'del(.access)'
		echo '{"id":"x","status":"ok","result":{}}'
		echo nonsense
	)
	assert_equal "$(jq -c '[.status, .error, .line]' <<<"$output")" \
		$'["error","bad-record",1]\n["ok",null,null]\n["error","bad-record",3]'
}

@test "the signer never sees what a request carries besides what a capability is made from" {
	agent
	command -v strace >/dev/null || skip_or_fail strace
	routed '.op = "file.write" | .args = {path: "/etc/motd", text: "private"}' >in
	strace -f -s 100000 -e trace=write,sendto,sendmsg -o trace spacecap mint --agent s.sock <in >out
	run grep -c private trace
	# Once: on standard output, as it came.
	assert_output 1
	assert_equal "$(jq -r .args.text out)" private
}

@test "one token from flags, of each purpose, comes from the signer too" {
	agent
	flags() {
		spacecap mint --agent s.sock --sandbox s-1 --execution 1 --worker w --substrate host --activation a \
			--attempt 1 --caller c "$@"
	}
	run -0 --separate-stderr spacecap verify --keys a.pub --realm prod --purpose control --op file.read -- \
		"$(flags --purpose control --access 'file.*,ping' --ttl 10)"
	assert_json '.claims.access == ["file.*", "ping"] and
		((.claims.exp | fromdate) - (.claims.iat | fromdate)) <= 10'
	run -0 spacecap verify --keys a.pub --realm prod --purpose control --op exec.run -- \
		"$(flags --purpose control --access exec.run)"
	run -0 spacecap verify --keys a.pub --realm prod --purpose attach --session x -- \
		"$(flags --purpose attach --session x)"
	run -0 spacecap verify --keys a.pub --realm prod --purpose service-port --port 80 --protocol tcp -- \
		"$(flags --purpose service-port --port 80 --protocol tcp)"
	run -0 spacecap verify --keys a.pub --realm prod --purpose manage --op lease.list -- \
		"$(flags --purpose manage --access 'lease.*')"
	run -2 flags --purpose control --access 'terminal.*'
}

@test "what the signer has for itself cannot be given with --agent" {
	local option
	for option in '-k a.key' '-P pass' '--realm prod' '--iss cp' '--audit a' '--ttl 5'; do
		run -2 --separate-stderr bash -c "spacecap mint --agent s.sock $option </dev/null"
		[[ $stderr == *"is the signer's own: not with --agent"* ]]
	done
}

@test "without a signer each record is answered as unavailable, and a token from flags fails" {
	run -1 --separate-stderr spacecap mint --agent none.sock < <(
		routed
		routed '.id = "r2"'
	)
	assert_equal "$(jq -c '[.id, .status, .error]' <<<"$output")" \
		$'["r1","error","unavailable"]\n["r2","error","unavailable"]'
	run -1 --separate-stderr spacecap mint --agent none.sock --sandbox s-1 --execution 1 --worker w --substrate host \
		--activation a --attempt 1 --caller c --purpose control --access ping
	assert_output ''
}

@test "a signer that ends between records is found again when it is back" {
	agent
	coproc MINT { spacecap mint --agent s.sock; }
	local answer
	routed >&"${MINT[1]}"
	read -r answer <&"${MINT[0]}"
	is_json .cap <<<"$answer"
	stop agent
	routed >&"${MINT[1]}"
	read -r answer <&"${MINT[0]}"
	is_json '.error == "unavailable"' <<<"$answer"
	agent
	routed >&"${MINT[1]}"
	read -r answer <&"${MINT[0]}"
	is_json .cap <<<"$answer"
}

@test "of a false signer's answer only a token or a deny is believed" {
	command -v socat >/dev/null || skip_or_fail socat
	false_signer() {
		rm -f s.sock
		printf '%s\n' "$1" >answer
		socat UNIX-LISTEN:s.sock "SYSTEM:read -r line; cat answer" 3>&- &
		echo $! >false.pid
		eventually listens s.sock
		run --separate-stderr spacecap mint --agent s.sock < <(routed)
		wait "$(cat false.pid)" || true
		rm -f false.pid
	}
	false_signer '{"id":"other","cap":"v4.public.x","op":"exec.run","caller":"root","extra":1}'
	assert_equal "$(jq -c 'del(.cap)' <<<"$output")" "$(routed)"
	false_signer '{"id":"other","status":"refused","decision":"deny","reason":"unauthorized","hop":"elsewhere"}'
	assert_output '{"id":"r1","status":"refused","decision":"deny","reason":"unauthorized","hop":"signer"}'
	local answer
	for answer in '{"id":"r1","status":"ok","result":{"text":"x"}}' 'nonsense' '{}' '{"cap":7}' '[]' \
		'{"status":"refused","decision":"refresh-route","reason":"execution","hop":"h"}' \
		'{"status":"refused","decision":"deny","reason":"execution","hop":"h"}' \
		'{"status":"error","error":"transport","sent":true,"message":"m"}'; do
		false_signer "$answer"
		assert_json '.id == "r1" and .status == "error" and .error == "unavailable"'
	done
}

@test "a peer of another uid is turned away with a reason, and asked nothing" {
	[ "$(id -u)" -eq 0 ] || skip_or_fail root
	echo '[signer]
allow_uids = 12345' >>space.ini
	agent
	run -11 --separate-stderr spacecap mint --agent s.sock < <(routed)
	assert_output '{"id":"r1","status":"refused","decision":"deny","reason":"unauthorized","hop":"signer"}'
	run audit '[.role, .decision, .reason, .note, .sandbox]'
	assert_output '["signer","deny","unauthorized","uid 0 is not in [signer] allow_uids",null]'
}

@test "peers of another uid who say nothing are let go, and so are those above their number" {
	[ "$(id -u)" -eq 0 ] || skip_or_fail root
	echo '[signer]
allow_uids = 12345' >>space.ini
	agent
	run -0 "$FIXTURES/crowd" s.sock 0 '' ''
	assert_output '0 answered, one more: dropped'
	run -0 "$FIXTURES/crowd" s.sock 500 '' ''
	assert_output '500 answered, one more: dropped'
}

@test "a listed uid is served" {
	echo "[signer]
allow_uids = 12345 $(id -u)" >>space.ini
	agent
	run -0 --separate-stderr spacecap mint --agent s.sock < <(routed)
	assert_json '.cap | startswith("v4.public.")'
}

@test "every decision is an audit line with what was decided, and no secret or token" {
	agent
	spacecap mint --agent s.sock < <(
		routed
		routed '.id = "r2"'
		routed '.id = "r3" | .op = "ping"'
	) >out || true
	stop agent
	run audit '[.role, .id, .op, .decision, .reason, .note]'
	assert_output '["signer","r1","file.read","match",null,null]
["signer","r2","file.read","match",null,"reused"]
["signer","r3","ping","deny","access",null]'
	run audit "select(.kid == \"$(spacecap pubkey --id a.key)\") | .jti"
	assert_equal "$(sort -u <<<"$output" | wc -l)" 1
	run ! grep -E 'v4\.public|k4\.secret' agent.err
	start agent spacecap agent --listen s.sock -k a.key --audit audit
	spacecap mint --agent s.sock < <(routed) >out
	assert_equal "$(wc -l <audit)" 1
}

@test "raw lines get one line each, bad ones too" {
	agent
	run -0 ask "$(routed)" nonsense '' '{"a":1,"a":2}' "$(head -c 300000 /dev/zero | tr '\0' x)" '[]' "$(routed '.id = "last"')"
	assert_equal "$(jq -c '[.id, .error, .line]' <<<"$output")" '["r1",null,null]
[null,"bad-record",2]
[null,"bad-record",3]
[null,"bad-record",4]
[null,"bad-record",5]
[null,"bad-record",6]
["last",null,null]'
}

@test "a client that asks and never reads is not served without end, and others are" {
	command -v socat >/dev/null || skip_or_fail socat
	agent
	# 3 MiB of questions, no answer read: the signer stops reading from it.
	routed '.id = ("x" * 128)' >one
	coproc DEAF { socat -u - UNIX-CONNECT:s.sock; }
	for _ in $(seq 3000); do cat one; done | timeout 1 cat >&"${DEAF[1]}" || true
	run -0 --separate-stderr timeout 60 spacecap mint --agent s.sock < <(routed)
	assert_json '.cap | startswith("v4.public.")'
	kill "$DEAF_PID"
}

@test "the key is locked in memory, and the process cannot be read by its own user" {
	agent
	run -0 awk '/^VmLck/ { print ($2 > 0) }' "/proc/$STARTED/status"
	assert_output 1
	# /proc/PID belongs to root once a process is not dumpable.
	if [ "$(id -u)" -ne 0 ]; then
		assert_equal "$(stat -c %u "/proc/$STARTED")" 0
	fi
	start other strace -D -e trace=prctl -o trace spacecap agent --listen other.sock -k a.key
	eventually has trace 'prctl(PR_SET_DUMPABLE, SUID_DUMP_DISABLE) = 0'
}

@test "a new key in the key's file is used at once; a broken one is said and the old one stays" {
	agent
	spacecap keygen -o b.key >/dev/null
	local kid
	kid=$(spacecap pubkey --id b.key)
	mv b.key a.key
	signs() { spacecap mint --agent s.sock < <(routed) | jq -r .cap | spacecap inspect - | grep -q "$kid"; }
	eventually signs
	(umask 077 && echo broken >c.key)
	mv c.key a.key
	eventually has agent.err 'the key before stays in use'
	run -0 --separate-stderr spacecap mint --agent s.sock < <(routed)
	assert_json '.cap | startswith("v4.public.")'
}

@test "SIGHUP reads the configuration again" {
	agent
	sed -i 's/cp-1/cp-2/' space.ini
	kill -HUP "$STARTED"
	issued() {
		spacecap mint --agent s.sock < <(routed '.attempted = 2') | jq -r .cap | spacecap inspect - |
			is_json '.claims.iss == "cp-2"'
	}
	eventually issued
	echo 'nonsense = 1' >>space.ini
	kill -HUP "$STARTED"
	run -0 --separate-stderr spacecap mint --agent s.sock --config "$ROOT/tests/fixtures/empty.ini" < <(routed)
	assert_json '.cap | startswith("v4.public.")'
}

@test "SIGTERM ends it with its answers written, its socket gone and exit 0" {
	agent
	run -0 --separate-stderr spacecap mint --agent s.sock < <(routed)
	stop agent
	assert_not_exist s.sock
}

@test "a second signer on the same socket is refused; a dead one's socket is taken over" {
	agent
	run -1 --separate-stderr timeout 60 spacecap agent --listen s.sock -k a.key
	assert_equal "$stderr" 'spacecap: agent: s.sock: another process listens there'
	stop agent KILL
	assert_exist s.sock
	agent
	run -0 spacecap mint --agent s.sock < <(routed)
}

@test "it takes its socket from the service manager" {
	command -v systemd-socket-activate >/dev/null || skip_or_fail systemd-socket-activate
	systemd-socket-activate -l "$PWD/s.sock" -E SPACE_CONFIG -E PATH spacecap agent -k a.key 3>&- 2>activated.err &
	echo $! >activate.pid
	eventually listens "$PWD/s.sock"
	run -0 --separate-stderr spacecap mint --agent s.sock < <(routed)
	assert_json '.cap | startswith("v4.public.")'
	stop activate
	# The socket is the service manager's: it stays.
	assert_exist s.sock
}
