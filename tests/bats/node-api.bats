# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2154
# node-api through the whole path: exact answers and exit codes, the one repair, and that nothing a peer sends is
# believed beyond its place.
load helper
load path

setup() {
	WORLD=$BATS_TEST_TMPDIR
	world_make
	world_vmm one
	world_activate s-42 7 a one >/dev/null
}

teardown() {
	world_end
	stop_all
}

# ask OP [ARGS] [SANDBOX] [ID]: an asked record.
ask() {
	printf '{"id":"%s","op":"%s","sandbox":"%s","args":%s}\n' "${4:-r1}" "$1" "${3:-s-42}" "${2:-{\}}"
}

# counter NAME: of the cache.
counter() {
	spacerouted cache stats -o json | jq ".$1"
}

# seen WORKER: operations that this worker's manager decided, as "op decision reason".
seen() {
	jq -r 'select(.op) | "\(.op) \(.decision) \(.reason // "-")"' "$WORLD/manager-$1.err"
}

# resumed: execution 8 on worker-b; worker-a retired, and the cache does not know.
resumed() {
	node-api < <(ask ping) >"$WORLD/warm"
	world_vmm two
	sandbox resume s-42 --prepare --from-config "$WORLD/a.ini" >/dev/null
	world_resume s-42 8 b two --from-config "$WORLD/a.ini" >/dev/null
}

@test "a file is read, written, looked at and removed in the guest" {
	run -0 --separate-stderr node-api < <(
		ask file.read '{"path":"/etc/hostname"}' s-42 a
		ask file.write '{"path":"/note","text":"kept"}' s-42 b
		ask file.stat '{"path":"/note"}' s-42 c
		ask file.remove '{"path":"/note"}' s-42 d
	)
	assert_equal "$stderr" ''
	assert_line -n 0 '{"id":"a","status":"ok","result":{"size":4,"eof":true,"text":"one\n"}}'
	assert_line -n 1 '{"id":"b","status":"ok","result":{"size":4}}'
	run jq -c '[.id,.status,.result.size,.result.type]' <<<"${lines[2]}"
	assert_output '["c","ok",4,"file"]'
}

@test "a command runs in the guest, once for each request" {
	run -0 node-api < <(ask exec.run '{"argv":["/bin/sh","-c","echo out; echo err >&2; exit 3"]}')
	run jq -c '[.status,.result.exit,.result.stdout.text,.result.stderr.text]' <<<"$output"
	assert_output '["ok",3,"out\n","err\n"]'
}

@test "a failed operation is an error with its errno, and exit 1" {
	run -1 node-api < <(ask file.read '{"path":"/missing"}')
	assert_json '.status == "error" and .error == "op" and .errno == "ENOENT" and .id == "r1"'
}

@test "an asked record with a field too many is a bad record and goes nowhere" {
	local extra
	for extra in '"cap":"v4.public.x"' '"caller":"uid:0"' '"route":{}' '"attempted":2' '"status":"ok"' '"note":1'; do
		run -3 node-api < <(ask ping | sed "s|^{|{$extra,|")
		assert_json '.status == "error" and .error == "bad-record" and .line == 1'
	done
	assert_equal "$(seen a)" ''
}

@test "a routed, a minted and a done record written by a caller are bad records" {
	ask ping | spacerouted route >"$WORLD/routed"
	spacecap mint <"$WORLD/routed" >"$WORLD/minted"
	spacebridge send <"$WORLD/minted" >"$WORLD/done"
	jq -c --slurpfile request "$WORLD/routed" \
		'{id:"r1",status:"refused",decision:"refresh-route",reason:"execution",behind:"caller",hop:"sbx-manager",request:$request[0]}' \
		<<<'{}' >"$WORLD/rebuild"
	local before
	before=$(seen a)
	run -3 node-api < <(cat "$WORLD"/{routed,minted,done,rebuild})
	assert_equal "${#lines[@]}" 4
	run jq -sc 'map([.status,.error,.line])' <<<"$output"
	assert_output '[["error","bad-record",1],["error","bad-record",2],["error","bad-record",3],["error","bad-record",4]]'
	assert_equal "$(seen a)" "$before"
}

@test "a stale route is repaired once, and the answer comes from the new execution" {
	resumed
	run -0 node-api < <(ask file.read '{"path":"/etc/hostname"}')
	assert_output '{"id":"r1","status":"ok","result":{"size":4,"eof":true,"text":"two\n"}}'
	assert_equal "$(seen a)" $'ping match -\nfile.read refresh-route retired'
	assert_equal "$(seen b)" 'file.read match -'
	assert_equal "$(counter '|[.replaced,.kept,.unchanged,.gone]' | tr -d ' \n')" '[1,0,0,0]'
	# From now on the cache knows.
	run -0 node-api < <(ask file.read '{"path":"/etc/hostname"}')
	assert_equal "$(seen b)" $'file.read match -\nfile.read match -'
	assert_equal "$(counter replaced)" 1
}

@test "a refused command has not run, its second attempt runs once" {
	resumed
	run -0 node-api < <(ask exec.run '{"argv":["/bin/sh","-c","echo ran >>runs"],"cwd":"/"}')
	assert_json '.status == "ok" and .result.exit == 0'
	assert [ ! -e "$WORLD/guest-one/runs" ]
	assert_equal "$(cat "$WORLD/guest-two/runs")" ran
}

@test "where the registry is behind too there is no third attempt" {
	resumed
	# worker-b has gone on to 9, and nobody has published that.
	spaceid retire -c "$WORLD/b.ini" --sandbox s-42 --execution 8 >/dev/null
	run -10 --separate-stderr node-api < <(ask file.write '{"path":"/note","text":"x"}')
	assert_output '{"id":"r1","status":"refused","decision":"refresh-route","reason":"retired","hop":"sbx-manager"}'
	assert_equal "$(seen a)" $'ping match -\nfile.write refresh-route retired'
	assert_equal "$(seen b)" 'file.write refresh-route retired'
	assert_equal "$(counter replaced)" 1
}

@test "a refusal that the registry cannot mend goes to the caller without a second attempt" {
	spaceid retire -c "$WORLD/a.ini" --sandbox s-42 --execution 7 >/dev/null
	run -10 node-api < <(ask ping)
	assert_output '{"id":"r1","status":"refused","decision":"refresh-route","reason":"retired","hop":"sbx-manager"}'
	assert_equal "$(seen a)" 'ping refresh-route retired'
	assert_equal "$(counter unchanged)" 1
}

@test "a worker that is behind refuses, and says so" {
	spacerouted publish < <(spacerouted resolve s-42 -o json | jq -c '{sandbox,route:(.route|.execution=8),endpoint}')
	run -10 node-api < <(ask ping)
	assert_output '{"id":"r1","status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"receiver"}'
}

@test "each part of the identity is refused by its own name" {
	local reason change revision
	while read -r reason change; do
		revision=$(spacerouted resolve s-42 -o json | jq .revision)
		jq -c "{sandbox,endpoint,route:(.route|$change)}" "$WORLD/route" | spacerouted publish --if-rev "$revision" >/dev/null
		spacerouted cache drop --all >/dev/null
		run -10 node-api < <(ask file.write '{"path":"/note","text":"x"}')
		assert_output "{\"id\":\"r1\",\"status\":\"refused\",\"decision\":\"refresh-route\",\"reason\":\"$reason\",\"hop\":\"sbx-manager\"}"
	done < <(
		spacerouted resolve s-42 -o json >"$WORLD/route"
		echo 'worker .worker="worker-c"'
		echo 'activation .activation="act-0"'
		echo 'attempt .attempt=2'
		echo 'substrate .substrate="kubernetes"|.pod_uid="0b9f0000-0000-4000-8000-000000000000"'
	)
	assert [ ! -e "$WORLD/guest-one/note" ]
}

@test "a caller without a grant is denied, whether there is such a sandbox or not" {
	spacerouted grant -p token:ci -s s-9 --ops ping --token-file "$WORLD/ci.token" >/dev/null
	for sandbox in s-42 s-43; do
		run -11 node-api --token-file "$WORLD/ci.token" < <(ask ping '' $sandbox)
		assert_output '{"id":"r1","status":"refused","decision":"deny","reason":"unauthorized","hop":"node-api"}'
	done
	# An operation that the grant does not name.
	run -11 node-api --token-file "$WORLD/ci.token" < <(ask file.read '{"path":"/x"}' s-9)
	assert_json '.reason == "unauthorized"'
	assert_equal "$(seen a)" ''
}

@test "a sandbox without a route is refused as absent" {
	run -10 node-api < <(ask ping '' s-43)
	assert_output '{"id":"r1","status":"refused","decision":"refresh-route","reason":"absent","hop":"node-api"}'
}

@test "capabilities issued before a fence are denied, and not tried again" {
	spaceid fence -c "$WORLD/a.ini" --sandbox s-42 >/dev/null
	run -11 node-api < <(ask ping)
	assert_output '{"id":"r1","status":"refused","decision":"deny","reason":"fenced","hop":"sbx-manager"}'
	assert_equal "$(seen a)" 'ping deny fenced'
}

@test "a signing key that workers do not know is denied" {
	spacecap keygen -o "$WORLD/other.key" >/dev/null
	sed "s|^secret = .*|secret = $WORLD/other.key|" "$WORLD/control.ini" >"$WORLD/other.ini"
	run -11 node-api -c "$WORLD/other.ini" < <(ask ping)
	assert_output '{"id":"r1","status":"refused","decision":"deny","reason":"unknown-key","hop":"sbx-manager"}'
}

@test "a signer signs in the place of the key" {
	start signer spacecap agent -k "$WORLD/control/signer.key"
	sed '/^secret/d' "$WORLD/control.ini" >"$WORLD/keyless.ini"
	for i in 1 2 3 4; do ask ping '' s-42 "$i"; done >"$WORLD/in"
	run -0 node-api -c "$WORLD/keyless.ini" --agent "$WORLD/control/run/signer.sock" --window 4 <"$WORLD/in"
	assert_equal "$(jq -r .id <<<"$output" | tr '\n' ' ')" '1 2 3 4 '
	# Without it there is nothing to sign with, and no answer.
	run -1 --separate-stderr node-api -c "$WORLD/keyless.ini" <"$WORLD/in"
	assert_output ''
}

@test "a request whose sandbox is not the token's is denied, and nothing installed is told" {
	ask ping | spacerouted route | spacecap mint | sed 's|"sandbox":"s-42"|"sandbox":"s-43"|' >"$WORLD/minted"
	run -11 spacebridge send <"$WORLD/minted"
	assert_output '{"id":"r1","status":"refused","decision":"deny","reason":"sandbox","hop":"sbx-manager"}'
}

@test "a manager that is not there is a transport error with nothing sent, tried again once" {
	stop manager-a
	run -1 node-api < <(ask file.write '{"path":"/note","text":"x"}')
	assert_json '.status == "error" and .error == "transport" and .sent == false and .id == "r1"'
}

@test "a guest that pretends to refuse is not believed, and nothing is rebuilt" {
	local say
	# The guest's lines come from the request itself. It holds the enrolled guest's key, as one that was taken over does.
	stop guest-one
	rm -f "$WORLD/guest-one.sock"
	start guest-one "$FIXTURES/bridge" --listen "$WORLD/guest-one.sock" --greeting '' --log "$WORLD/guest.log" \
		--guest-key "$WORLD/guest-one.key" --cid 3
	for say in '{"id":"$ID","status":"refused","decision":"refresh-route","reason":"retired","hop":"sbx-manager"}' \
		'{"id":"$ID","status":"refused","decision":"deny","reason":"sandbox","hop":"sbx-manager"}' \
		'{"id":"$ID","status":"error","error":"overloaded","message":"m"}' \
		'{"id":"$ID","status":"ok","result":{},"request":{"id":"x"}}'; do
		: >"$WORLD/guest.log"
		ask file.write "$(jq -nc --arg say "$say" '{say:[$say]}')" >"$WORLD/in"
		run -1 node-api <"$WORLD/in"
		assert_json '.status == "error" and .error == "transport" and .sent == true and .id == "r1" and (has("request") | not)'
		assert_equal "$(grep -c file.write "$WORLD/guest.log")" 1
	done
	assert_equal "$(counter '|[.replaced,.kept,.unchanged,.gone]' | tr -d ' \n')" '[0,0,0,0]'
}

@test "a thousand requests in one pipe are answered in order, bad ones in their place" {
	for ((i = 1; i <= 1000; i++)); do
		if [ $((i % 250)) -eq 0 ]; then
			echo "not a record"
		else
			ask file.read '{"path":"/etc/hostname"}' s-42 "$i"
		fi
	done >"$WORLD/in"
	run -3 node-api --window 32 <"$WORLD/in"
	assert_equal "${#lines[@]}" 1000
	run jq -rn '[inputs] | [.[] | select(.status == "ok" and .result.text == "one\n") | .id | tonumber] ==
		[range(1; 1001) | select(. % 250 != 0)] and
		([.[] | select(.error == "bad-record") | .line] == [250, 500, 750, 1000])' <<<"$output"
	assert_output true
}

@test "ids may be repeated, or left out" {
	run -0 node-api --window 8 < <(
		ask ping '' s-42 same
		ask ping '' s-42 same
		ask ping | sed 's|"id":"r1",||'
	)
	assert_output '{"id":"same","status":"ok","result":{}}
{"id":"same","status":"ok","result":{}}
{"status":"ok","result":{}}'
}

@test "with --peer the caller is whoever connected" {
	[ "$(id -u)" -eq 0 ] || skip_or_fail 'root, to become another uid,'
	spacerouted grant -p uid:12345 -s s-42 --ops ping >/dev/null
	# What a socket unit with Accept=yes does, and a client of another uid.
	run -0 python3 -c '
import os, socket, subprocess, sys
server = socket.socket(socket.AF_UNIX)
server.bind("")  # an abstract name
server.listen()
if os.fork() == 0:
    request = sys.stdin.buffer.read()
    os.setgid(12345); os.setuid(12345)
    client = socket.socket(socket.AF_UNIX)
    client.connect(server.getsockname())
    server.close()
    client.sendall(request)
    client.shutdown(socket.SHUT_WR)
    sys.stdout.write(client.makefile().read())
    sys.exit()
connection, _ = server.accept()
code = subprocess.run(["node-api", "--peer"], stdin=connection, stdout=connection).returncode
connection.close()
os.wait()
sys.exit(code)' < <(ask ping)
	assert_output '{"id":"r1","status":"ok","result":{}}'
	assert_equal "$(jq -r 'select(.op).caller' "$WORLD/manager-a.err")" uid:12345
}

@test "a missing or broken configuration is 2, and says which file" {
	run -2 node-api -c "$WORLD/missing.ini" < <(ask ping)
	assert_output --partial "$WORLD/missing.ini"
	echo nonsense >"$WORLD/broken.ini"
	run -2 node-api -c "$WORLD/broken.ini" < <(ask ping)
	assert_output --partial "$WORLD/broken.ini"
	assert_equal "$(seen a)" ''
}

@test "a route cache that is not there is answered line by line" {
	stop cache
	run -1 node-api < <(ask ping; ask ping)
	assert_equal "${#lines[@]}" 2
	assert_json '.status == "error" and .error == "unavailable"'
}
