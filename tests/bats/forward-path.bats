# The standing path with nothing in it but the real roles: send, manager, bridge, VMM stand-in, guest.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2119,SC2120
load helper
load manager

setup() {
	make_worker
	mkdir -p "$W/tree/etc"
	echo the-guest >"$W/tree/etc/hostname"
	start_guest
	start_machine
	install_real
	start_manager
}

teardown() {
	stop_all
}

start_guest() {
	start guest spacebridge guest --listen "unix:$W/run/agent.sock" --root "$W/tree" --cid 42
}

# The VMM and its bridge.
start_machine() {
	start vmm "$FIXTURES/vmm" --uds "$W/run/v.sock" --guest "$W/run/agent.sock" --cid 42
	start bridge spacebridge host --sandbox s-42 --audit "$W/host.audit"
}

# install_real [JQ-FILTER]: the record, with what is enrolled of bridge, VMM and guest.
install_real() {
	local record
	record=$(jq -c "${1:-.}" <<<"{\"sandbox\":\"s-42\",\"route\":$ROUTE,\"owner\":\"op-1\"}")
	spacebridge attest --enroll --sandbox s-42 --bridge-pid "$(cat "$BATS_TEST_TMPDIR/bridge.pid")" \
		--vmm-pid "$(cat "$BATS_TEST_TMPDIR/vmm.pid")" --vsock "$W/run/v.sock" --cid 42 --record - <<<"$record" |
		spaceid install
}

@test "files are read and written and commands run in the guest" {
	files=$(mint 'file.*,ping')
	{
		minted ping ping "$files"
		minted read file.read "$files" '{"path":"/etc/hostname"}'
		minted write file.write "$files" '{"path":"/new","text":"one\u00e9\n"}'
		minted back file.read "$files" '{"path":"/new"}'
		minted none file.read "$files" '{"path":"/none"}'
		minted run exec.run "$(mint exec.run)" '{"argv":["cat","/proc/self/comm"]}'
	} >"$W/in"
	run spacebridge send <"$W/in"
	assert_failure 1
	assert_answer ping '{"status":"ok","result":{}}'
	assert_answer read '{"status":"ok","result":{"size":10,"eof":true,"text":"the-guest\n"}}'
	assert_answer write '{"status":"ok","result":{"size":6}}'
	assert_answer back '{"status":"ok","result":{"size":6,"eof":true,"text":"oneé\n"}}'
	assert_equal "$(answer none | jq -r '"\(.error) \(.errno)"')" 'op ENOENT'
	assert_equal "$(answer run | jq -r .result.stdout.text)" cat
	assert_equal "$(printf 'oneé\n')" "$(cat "$W/tree/new")"
}

@test "the largest read passes, whatever its bytes" {
	head -c 131072 /dev/urandom >"$W/tree/noise"
	head -c 131072 /dev/zero | tr '\0' 'a' >"$W/tree/text"
	cap=$(mint 'file.*')
	run spacebridge send --window 2 < <(minted noise file.read "$cap" '{"path":"/noise"}'; minted text file.read "$cap" '{"path":"/text"}')
	assert_success
	assert_equal "$(answer noise | jq -r .result.data | base64 -d | sha256sum)" "$(sha256sum <"$W/tree/noise")"
	assert_equal "$(answer text | jq -j .result.text | sha256sum)" "$(sha256sum <"$W/tree/text")"
}

@test "a thousand reads in flight come back whole and in order" {
	for i in {1..1000}; do printf '%s' "$i" >"$W/tree/f$i"; done
	cap=$(mint 'file.*')
	for i in {1..1000}; do minted "r$i" file.read "$cap" "{\"path\":\"/f$i\"}"; done >"$W/in"
	run spacebridge send --window 200 <"$W/in"
	assert_success
	assert_equal "$(jq -r '"\(.id) \(.result.text)"' <<<"$output")" "$(for i in {1..1000}; do echo "r$i $i"; done)"
}

@test "a resumed execution is served over a link of its own, and the old capability is told so" {
	old=$(mint 'file.*')
	run spacebridge send < <(minted a file.stat "$old" '{"path":"/etc"}')
	assert_ok a
	stop bridge
	stop vmm
	stop guest
	start_guest
	start_machine
	install_real '.route.execution = 8'
	run spacebridge send < <(minted a file.stat "$old" '{"path":"/etc"}'
		minted b file.stat "$(mint 'file.*' --execution 8)" '{"path":"/etc"}')
	assert_failure 10
	assert_answer a '{"status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}'
	assert_ok b
}

@test "when the VMM is gone nothing passes, and the bridge's word is given as the bridge's" {
	cap=$(mint 'file.*')
	run spacebridge send < <(minted a file.stat "$cap" '{"path":"/etc"}')
	assert_ok a
	stop vmm KILL
	# What goes by the link before the bridge has seen that is lost, and said to be.
	refused() {
		run spacebridge send < <(minted a file.stat "$cap" '{"path":"/etc"}')
		[ "$status" -eq 11 ] || assert_error a transport true
		[ "$status" -eq 11 ]
	}
	eventually refused
	assert_refused a deny listener-replaced spaced-host
}

@test "a bridge that was started anew is not the recorded one" {
	cap=$(mint 'file.*')
	run spacebridge send < <(minted a file.stat "$cap" '{"path":"/etc"}')
	assert_ok a
	# The inode stays taken: with it free again the new socket may get it, and its pid tells.
	ln "$W/run/bridge/s-42.sock" "$W/run/kept"
	stop bridge
	start bridge spacebridge host --sandbox s-42 --audit "$W/host.audit"
	run spacebridge send < <(minted a file.stat "$cap" '{"path":"/etc"}')
	assert_failure 11
	assert_refused a deny listener-replaced
}
