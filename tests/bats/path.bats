# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2154
# The whole path with real daemons: what only shows when all parts stand together.
load helper
load path

setup() {
	WORLD=$BATS_TEST_TMPDIR
}

teardown() {
	world_end
	stop_all
}

# stand: s-42 as execution 7 on worker-a.
stand() {
	world_make
	world_vmm one
	world_activate s-42 7 a one >/dev/null
}

# ask OP [ARGS] [SANDBOX] [ID]: an asked record.
ask() {
	printf '{"id":"%s","op":"%s","sandbox":"%s","args":%s}\n' "${4:-r1}" "$1" "${3:-s-42}" "${2:-{\}}"
}

# minted: what stands between mint and send.
minted() {
	ask "$@" | spacerouted route | spacecap mint
}

refused() {
	printf '{"id":"r1","status":"refused","decision":"%s","reason":"%s","hop":"sbx-manager"%s}' "$1" "$2" \
		"${3:+,\"behind\":\"$3\"}"
}

@test "a capability for 7 and one for 8, at workers that serve 7, 8, or 7 no more" {
	stand
	minted ping >"$WORLD/seven"
	sandbox resume s-42 --prepare --from-config "$WORLD/a.ini" >/dev/null
	world_vmm two
	world_resume s-42 8 b two --from-lost >/dev/null
	spacerouted cache drop --all >/dev/null
	minted ping >"$WORLD/eight"
	run -0 spacebridge send <"$WORLD/eight"
	assert_output '{"id":"r1","status":"ok","result":{}}'
	run -10 spacebridge send < <(sed 's|/b/run/|/a/run/|' "$WORLD/eight")
	assert_output "$(refused refresh-route execution receiver)"
	run -10 spacebridge send < <(sed 's|/a/run/|/b/run/|' "$WORLD/seven")
	assert_output "$(refused refresh-route execution caller)"
	sandbox retire s-42 --execution 7 --worker-config "$WORLD/a.ini" >/dev/null
	run -10 spacebridge send <"$WORLD/seven"
	assert_output "$(refused refresh-route retired)"
}

@test "a capability that was used for a command runs nothing twice" {
	stand
	minted exec.run '{"argv":["/bin/sh","-c","echo ran >>runs"],"cwd":"/"}' >"$WORLD/once"
	run -0 spacebridge send <"$WORLD/once"
	run -11 spacebridge send <"$WORLD/once"
	assert_output "$(refused deny replayed)"
	assert_equal "$(cat "$WORLD/guest-one/runs")" ran
}

@test "bytes travel unchanged, as many as a record holds" {
	stand
	head -c 120000 /dev/urandom >"$WORLD/bytes"
	run -0 node-api < <(ask file.write "{\"path\":\"/f\",\"data\":\"$(base64 -w0 <"$WORLD/bytes")\"}")
	assert_output '{"id":"r1","status":"ok","result":{"size":120000}}'
	cmp "$WORLD/bytes" "$WORLD/guest-one/f"
	node-api < <(ask file.read '{"path":"/f"}') | jq -r .result.data | base64 -d >"$WORLD/back"
	cmp "$WORLD/bytes" "$WORLD/back"
	# An asked record of more than 192 KiB is none.
	run -3 node-api < <(ask file.write "{\"path\":\"/f\",\"data\":\"$(head -c 150000 /dev/zero | base64 -w0)\"}")
	assert_json '.error == "bad-record"'
	cmp "$WORLD/bytes" "$WORLD/guest-one/f"
}

@test "sandboxes of one worker are never mixed up" {
	stand
	world_vmm nine
	world_activate s-9 3 a nine >/dev/null
	for ((i = 0; i < 200; i += 2)); do
		ask file.read '{"path":"/etc/hostname"}' s-42 "one $i"
		ask file.read '{"path":"/etc/hostname"}' s-9 "nine $i"
	done >"$WORLD/in"
	node-api --window 64 <"$WORLD/in" >"$WORLD/out"
	run jq -rn '[inputs | (.id | split(" ")[0]) + "\n" == .result.text] | length, all' "$WORLD/out"
	assert_output $'200\ntrue'
}

@test "an impostor on the bridge's path gets nothing, while the bridge lives and after it has died" {
	stand
	node-api < <(ask ping) >/dev/null
	start impostor "$FIXTURES/bridge" --listen "$WORLD/a/run/bridge/impostor.sock" --log "$WORLD/stolen"
	mv "$WORLD/a/run/bridge/impostor.sock" "$WORLD/a/run/bridge/s-42.sock"
	# The link that was proven stays the one it was.
	run -0 node-api < <(ask file.read '{"path":"/etc/hostname"}')
	assert_json '.result.text == "one\n"'
	# A new one is not made to the impostor.
	stop manager-a
	start manager-a sbx-manager -c "$WORLD/a.ini"
	run -11 node-api < <(ask ping)
	assert_output "$(refused deny listener-replaced)"
	kill -KILL "$(world_bridges)"
	run -11 node-api < <(ask ping)
	assert_output "$(refused deny listener-replaced)"
	assert_equal "$(cat "$WORLD/stolen" 2>/dev/null)" ''
	# What mends it is the next attempt.
	rm "$WORLD/a/run/bridge/s-42.sock"
	world_activate s-42 7 a one --attempt 2 >/dev/null
	run -0 node-api < <(ask ping)
	assert_output '{"id":"r1","status":"ok","result":{}}'
}

@test "an answer of an execution that was retired meanwhile is not passed back, nor asked for again" {
	stand
	mkfifo "$WORLD/guest-one/gate"
	node-api < <(ask exec.run '{"argv":["/bin/sh","-c","echo started >>log; read go <gate"],"cwd":"/"}') >"$WORLD/out" 3>&- &
	# It has started when somebody reads from the gate.
	exec {gate}>"$WORLD/guest-one/gate"
	spaceid retire -c "$WORLD/a.ini" --sandbox s-42 --execution 7 >/dev/null
	echo go >&"$gate"
	exec {gate}>&-
	wait "$!" || true
	output=$(cat "$WORLD/out")
	assert_json '.status == "error" and .error == "transport" and .sent == true and .id == "r1"'
	assert_equal "$(cat "$WORLD/guest-one/log")" started
}

@test "keys rotate without a failed request; a revoked one is denied" {
	stand
	minted ping >"$WORLD/old"
	spacecap keygen -o "$WORLD/new.key" >/dev/null
	spacecap pubkey "$WORLD/new.key" >"$WORLD/new.public"
	bundle 2 "$WORLD/new.public" "$WORLD/signer.public"
	sed -i "s|^secret = .*|secret = $WORLD/new.key|" "$WORLD/control.ini"
	minted ping >"$WORLD/new"
	until spacebridge send <"$WORLD/new" >"$WORLD/out"; do
		grep -q unknown-key "$WORLD/out"
	done
	run -0 spacebridge send <"$WORLD/old"
	bundle 3 "$WORLD/new.public" "$WORLD/signer.public,revoked"
	while spacebridge send <"$WORLD/old" >"$WORLD/out"; do :; done
	assert_equal "$(cat "$WORLD/out")" "$(refused deny revoked-key)"
	run -0 spacebridge send <"$WORLD/new"
}

# bundle SERIAL KEY...: built, and installed on worker-a.
bundle() {
	spacecap bundle build -k "$WORLD/root.key" -r test --serial "$1" -o "$WORLD/keys-$1.tar.zst" "${@:2}" >/dev/null
	spacecap bundle install -c "$WORLD/a.ini" "$WORLD/keys-$1.tar.zst" >/dev/null
}

@test "socket paths longer than the kernel takes work everywhere" {
	WORLD=$BATS_TEST_TMPDIR/a-directory-whose-name-is-long-enough-that-with-a-socket-below-it-107-bytes-are-far-from-enough
	mkdir "$WORLD"
	# helper.bash keeps pid files in its own place; the stand-in for a VMM takes no long path to the guest.
	ln -s "$BATS_TEST_TMPDIR/vmm-one.pid" "$WORLD"
	WORLD_AGENTS=$BATS_TEST_TMPDIR
	stand
	run -0 node-api < <(ask file.read '{"path":"/etc/hostname"}')
	assert_json '.result.text == "one\n"'
}

@test "no capability and no key is in what anybody logs" {
	stand
	ask exec.run '{"argv":["/bin/true"]}' >"$WORLD/in"
	node-api -c "$WORLD/control.ini" <"$WORLD/in" >"$WORLD/out" 2>&1
	minted ping | sed 's|"cap":"v4.public.....|"cap":"v4.public.AAAA|' | spacebridge send >"$WORLD/out2" 2>&1 || true
	run -1 grep -rlE 'v4\.public\.|k4\.secret' "$WORLD"/*.err "$WORLD"/*.out "$WORLD"/out* "$WORLD"/a/run/bridge/s-42.log
}
