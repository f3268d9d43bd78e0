# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2154
# spacebridge connect: one stream on standard input and output. The first tests have a manager and a guest that say
# what a test wants (fixtures/frames.py), behind a real cache and signer; the last have the whole path.
load helper
load path

export BATS_VERBOSE_RUN=1

setup() {
	WORLD=$BATS_TEST_TMPDIR
}

teardown() {
	world_end
	stop_all
}

# control SCRIPT...: a control plane, and a manager that takes these scripts, a connection each.
control() {
	mkdir -p "$WORLD"/control/run
	WORLD_LEVEL=$(world_level)
	world_keys
	world_config control
	export SPACE_CONFIG=$WORLD/control.ini
	spacerouted grant --principal "uid:$(id -u)" --sandbox '*' --ops 'exec.*,file.*,tree.*,lease.*' \
		--ports '1-65535/tcp' >/dev/null
	cat >"$WORLD/publish" <<-'END'
		#!/bin/sh
		exec spacerouted publish --sandbox s-42 --execution "$1" --worker worker-a --substrate host \
			--activation "act-$1" --attempt 1 --endpoint "unix:${0%/*}/m.sock" >/dev/null
	END
	chmod +x "$WORLD/publish"
	"$WORLD/publish" 7
	start manager python3 "$ROOT/tests/fixtures/frames.py" "$WORLD/m.sock" "$WORLD/log" "$@"
	start cache spacerouted serve
}

connect() {
	spacebridge connect --sandbox s-42 "$@"
}

# asked: what the manager was asked, an operation each.
asked() {
	jq -r 'select(.op).op' "$WORLD/log" | tr '\n' ' '
}

STALE='answer {"status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}'
DENY='answer {"status":"refused","decision":"deny","reason":"replayed","hop":"sbx-manager"}'
UNSENT='answer {"status":"error","error":"transport","sent":false,"message":"no link"}'
SENT='answer {"status":"error","error":"transport","sent":true,"message":"no link"}'
OKAY='status {"exit":0}'

@test "a port is a stream both ways, with the end of each" {
	control 'open l; mirror'
	head -c 1000000 /dev/urandom >"$WORLD/bytes"
	connect --port 22 <"$WORLD/bytes" >"$WORLD/back"
	cmp "$WORLD/bytes" "$WORLD/back"
	run cat "$WORLD/log"
	assert_output '{"op":"port.connect","args":{"port":22,"protocol":"tcp"}}'
}

@test "a stale route is repaired once, by the rules of the pipeline, before a byte of input goes" {
	control "sh $WORLD/publish 8; $STALE" "open l; input 5; $OKAY" "sh $WORLD/publish 9; $STALE" "sh $WORLD/publish 10; $STALE" \
		"$STALE" "$DENY"
	run -0 connect --port 1 <<<word
	assert_equal "$(jq -r 'select(.input).input' "$WORLD/log")" word
	# The second refusal is the answer, and so is one without a newer route, or a deny.
	run -10 connect --port 1 </dev/null
	assert_output 'spacebridge: connect: s-42: refused by sbx-manager: refresh-route: execution (behind: caller)'
	spacerouted cache drop --all >/dev/null
	run -10 connect --port 1 </dev/null
	run -11 connect --port 1 </dev/null
	assert_output 'spacebridge: connect: s-42: refused by sbx-manager: deny: replayed'
	assert_equal "$(asked)" 'port.connect port.connect port.connect port.connect port.connect port.connect '
}

@test "transport errors are retried by each operation's row" {
	control "$UNSENT" "open l; end; $OKAY" "$SENT" "$UNSENT" "open l; $OKAY" "$SENT" "$SENT" "open l; $OKAY" "$UNSENT" "$UNSENT"
	run -0 connect --port 1 </dev/null
	run -1 connect --port 1 </dev/null
	assert_output 'spacebridge: connect: s-42: transport (perhaps sent): no link'
	run -0 connect tree.get / </dev/null
	run -1 connect tree.get / </dev/null
	run -0 connect exec.attach e-1 </dev/null
	run -1 connect exec.attach e-1 </dev/null
	assert_output 'spacebridge: connect: s-42: transport (not sent): no link'
	assert_equal "$(asked)" "port.connect port.connect port.connect tree.get tree.get tree.get exec.attach exec.attach exec.attach exec.attach "
}

@test "what ends without a status was cut: exit 12, and for a port or a tree that is the end" {
	control 'open l1; out half; cut' 'answer {"status":"ok","result":{"state":"cut","reason":"retired","message":"the execution was retired"}}' \
		'open l2; end; cut' "$DENY" 'open l3; raw \x01\0' "$DENY"
	run -12 --separate-stderr connect --port 1 </dev/null
	assert_output half
	assert_equal "$stderr" 'spacebridge: connect: s-42: the stream was cut: retired: the execution was retired'
	run -12 connect --port 1 </dev/null
	assert_output 'spacebridge: connect: s-42: the stream was cut'
	run -12 connect tree.put /x </dev/null
	assert_equal "$(asked)" 'port.connect lease.status port.connect lease.status tree.put lease.status '
}

@test "what is no stream is an error, and nothing of it is repeated" {
	control 'open l; out before; raw \x09\0\0\0\0\0\0\0' 'open l; raw \x01\0\0\0\0\x7f\0\0' 'open l; status {"exit":-1}' \
		'open l; status {"error":"op","errno":"ENOENT","message":"no such thing"}' 'answer {"status":"open"}' 'raw nonsense\n' \
		'answer {"status":"ok","result":{}}'
	run -3 --separate-stderr connect exec.attach e-1 </dev/null
	assert_output before
	assert_equal "$stderr" 'spacebridge: connect: s-42: what came from the guest is no stream'
	run -3 connect exec.attach e-1 </dev/null
	run -3 connect exec.attach e-1 </dev/null
	run -1 connect tree.get /x </dev/null
	assert_output 'spacebridge: connect: s-42: no such thing'
	run -1 connect --port 1 </dev/null
	run -1 connect --port 1 </dev/null
	run -1 connect --port 1 </dev/null
	assert_output 'spacebridge: connect: s-42: transport (perhaps sent): answer: `ok` where a stream was asked'
}

@test "a watch begins again on a newer route, with a resync, whole lines only" {
	control "open l; out {\"n\":1}\n{\"half; sh $WORLD/publish 8; cut" "$STALE" 'open l; out {"n":2}\n; status {"exit":0}' \
		"sh $WORLD/publish 9; $STALE" 'open l; out {"n":3}\n; status {"exit":0}' \
		"sh $WORLD/publish 10; $STALE" 'open l; out {"n":4}\n; status {"exit":0}'
	run -0 --separate-stderr connect file.watch /srv --recursive </dev/null
	assert_output $'{"n":1}\n{"event":"resync","path":"/srv"}\n{"n":2}'
	assert_equal "$stderr" $'spacebridge: connect: s-42: cut; waiting for a newer route (execution)\nspacebridge: connect: s-42: opened again'
	# Repaired before it was open, it has missed something, too.
	run -0 connect file.watch /srv </dev/null
	assert_output $'{"event":"resync","path":"/srv"}\n{"n":3}'
	run -0 connect file.watch $'/\xff' </dev/null
	assert_output $'{"event":"resync","path_data":"L/8="}\n{"n":4}'
	run jq -sc 'map(select(.op == "file.watch").args) | unique' "$WORLD/log"
	assert_output '[{"path":"/srv"},{"path":"/srv","recursive":true},{"path_data":"L/8="}]'
}

@test "an attachment is opened again once, with a capability of its own, and not on the route that was cut" {
	control "open l; out one; sh $WORLD/publish 8; cut" "$DENY" 'open l; input 4; out two; cut' "$DENY"
	run -12 --separate-stderr connect exec.attach e-1 < <(printf abcd)
	assert_output onetwo
	assert_equal "$(asked)" 'exec.attach lease.status exec.attach lease.status '
	assert_line --index 0 onetwo
	assert_equal "$stderr" "spacebridge: connect: s-42: cut; waiting for a newer route
spacebridge: connect: s-42: opened again
spacebridge: connect: s-42: the stream was cut"
}

@test "where what was left off is not kept any more, what is kept comes, and how much is missing is said" {
	# Only who was told where its output begins asks for a place in it: from there on, and anew each time.
	control 'answer {"status":"ok","result":{"session":"e-1"}}' "open l 0; out one; sh $WORLD/publish 8; cut" "$DENY" \
		'answer {"status":"error","error":"op","errno":"ERANGE","message":"of the output bytes 9 to 12 are kept"}' \
		"open l 9; out kept; $OKAY" \
		"open l 100; out one; sh $WORLD/publish 9; cut" "$DENY" "open l 103; out two; $OKAY" \
		"open l 100; out one; sh $WORLD/publish 10; cut" "$DENY" \
		'answer {"status":"error","error":"op","errno":"ERANGE","message":"of the output bytes 0 to 50 are kept"}' \
		"open l 0; out all; $OKAY" \
		"open l; out one; sh $WORLD/publish 11; cut" "$DENY" "open l; out all; $OKAY"
	run -0 --separate-stderr spacestream attach s-42 --exec -- cmd </dev/null
	assert_output onekept
	assert_regex "$stderr" 'waiting for a newer route.*: 6 bytes of output are not kept any more.*attached again'
	run -0 --separate-stderr spacestream attach s-42 e-1 </dev/null
	assert_output onetwo
	assert_regex "$stderr" 'waiting for a newer route.*attached again'
	run -0 --separate-stderr spacestream attach s-42 e-1 </dev/null
	assert_output oneall
	assert_regex "$stderr" 'waiting for a newer route.*some output may be missing or come twice.*attached again'
	run -0 --separate-stderr spacestream attach s-42 e-1 </dev/null
	assert_output oneall
	run jq -c 'select(.op == "exec.attach").args.from' "$WORLD/log"
	assert_output $'null\n3\nnull\nnull\n103\nnull\n103\nnull\nnull\nnull'
}

@test "without a newer route the wait ends in time; a cancelled stream is not waited for" {
	control 'open l; cut' "$DENY" 'open l; cut' 'answer {"status":"ok","result":{"state":"cancelled","message":"by an operator"}}' \
		'open l; cut' "$DENY"
	# What waits too long waits for an hour.
	sed -i 's/^reattach_timeout = .*/reattach_timeout = 3600/' "$WORLD/control.ini"
	run -12 connect --reattach-timeout 1 exec.attach e-1 </dev/null
	assert_line --index 0 'spacebridge: connect: s-42: cut; waiting for a newer route'
	assert_line --index 1 'spacebridge: connect: s-42: the stream was cut'
	run -12 connect exec.attach e-1 </dev/null
	assert_output 'spacebridge: connect: s-42: the stream was cut: by an operator'
	run -12 connect --reattach-timeout 0 exec.attach e-1 </dev/null
	assert_output 'spacebridge: connect: s-42: the stream was cut'
}

@test "a reader that goes away ends it quietly" {
	control 'open l; mirror'
	yes | connect --port 1 3>&- | head -c 1 >/dev/null && codes=${PIPESTATUS[*]}
	assert_equal "$codes" '141 0 0'
}

# stalled SCRIPT...: a port in the background, and $reader, which reads nothing of more than fits in between; the manager has
# said all, and closed its end.
stalled() {
	control "$@"
	mkfifo "$WORLD/out"
	connect --port 1 </dev/null >"$WORLD/out" 2>"$WORLD/err" 3>&- &
	pid=$!
	exec {reader}<"$WORLD/out"
	eventually has "$WORLD/log.closed" closed
}

@test "a cut is seen behind what a stalled reader does not take" {
	stalled "open l; fill 150000; cut" 'answer {"status":"ok","result":{"state":"cut","reason":"retired"}}'
	exits_with 12 "$pid"
	assert_equal "$(cat "$WORLD/err")" 'spacebridge: connect: s-42: the stream was cut: retired'
}

@test "a cut before its reader went away is a cut, and nothing is waited for" {
	stalled "open l; fill 150000; cut" 'answer {"status":"ok","result":{"state":"cut","reason":"retired"}}'
	exec {reader}<&-
	exits_with 12 "$pid"
}

@test "an orderly end behind what a slow reader has not taken yet is no cut, and every byte comes" {
	stalled "open l; fill 150000; $OKAY"
	# Who takes it for a cut does so within half a second.
	mkfifo "$WORLD/never"
	read -r -t 1.2 <>"$WORLD/never" || true
	assert_equal "$(cat <&"$reader" | wc -c):$(cat "$WORLD/err")" 150000:
	exits_with 0 "$pid"
	assert_equal "$(cat "$WORLD/err")" ''
}

@test "output that takes no more ends it with words" {
	control 'open l; mirror'
	run --separate-stderr -1 eval 'echo word | connect --port 1 >/dev/full'
	assert_equal "$stderr" 'spacebridge: connect: s-42: output: No space left on device'
}

@test "whoever listens at the endpoint is looked at before he is told anything" {
	[ "$(id -u)" = 0 ] || skip_or_fail 'root, to become another user'
	control
	there=$(mktemp -d /tmp/space-connect-XXXXXX)
	chmod 777 "$there"
	: >"$WORLD/heard"
	setpriv --reuid=4243 --clear-groups "$FIXTURES/bridge" --listen "$there/m.sock" --greeting '' --log /dev/fd/7 7>>"$WORLD/heard" 3>&- &
	impostor=$!
	eventually listens "$there/m.sock"
	stop manager
	rm "$WORLD/m.sock"
	ln -s "$there/m.sock" "$WORLD/m.sock"
	run -1 connect --port 1 </dev/null
	kill "$impostor"
	rm -r "$there"
	assert_output --partial 'uid 4243 listens there, which is none of [manager] uid'
	assert_equal "$(cat "$WORLD/heard")" ''
}

@test "who has no grant learns nothing; a bearer token asks for its owner" {
	control 'open l; end; status {"exit":0}'
	spacerouted revoke --principal "uid:$(id -u)" --sandbox '*' >/dev/null
	spacerouted cache drop --all >/dev/null
	run -11 connect --port 1 </dev/null
	assert_output 'spacebridge: connect: s-42: refused by node-api: deny: unauthorized'
	run -11 spacebridge connect --sandbox s-none --port 1 </dev/null
	spacerouted grant --principal token:ci --sandbox s-42 --ports 22/tcp --token-file "$WORLD/ci" >/dev/null
	run -0 connect --port 22 --token-file "$WORLD/ci" </dev/null
	run -11 connect --port 23 --token-file "$WORLD/ci" </dev/null
	run -11 connect tree.get / --token-file "$WORLD/ci" </dev/null
}

@test "a signer is asked where the key is not at hand" {
	control 'open l; end; status {"exit":0}'
	start signer spacecap agent --listen "$WORLD/signer.sock"
	sed -i 's|^secret = .*|secret = /nonexistent|' "$WORLD/control.ini"
	run -0 connect --port 1 --agent "$WORLD/signer.sock" </dev/null
	run -1 connect --port 1 </dev/null
	assert_output --partial /nonexistent
	stop signer
	run -1 connect --port 1 --agent "$WORLD/signer.sock" </dev/null
	assert_output --partial 'unavailable: '
}

@test "what cannot be asked for is a usage error" {
	control
	while read -r -a words; do
		run -2 connect "${words[@]}" </dev/null
	done <<-'CASES'
		tree.get
		file.read /x
		--port 0
		--port 65536
		--port 1 tree.get
		--port 1 --protocol smtp
		port.connect 1
		tree.get /x --recursive
		tree.get /x --protocol tcp
		--port 1 --agent s --key k
	CASES
	run -2 spacebridge connect --port 1 </dev/null
	run -2 spacebridge connect --sandbox ../x --port 1 </dev/null
	assert_equal "$(cat "$WORLD/log")" ''
}

# ssh_world: keys and configuration of an sshd for ourselves, and of an ssh that gets to it by connect.
ssh_world() {
	command -v /usr/sbin/sshd >/dev/null || skip_or_fail sshd
	[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
	ssh-keygen -q -t ed25519 -N '' -f "$WORLD/host"
	ssh-keygen -q -t ed25519 -N '' -f "$WORLD/user"
	printf '%s\n' "HostKey $WORLD/host" "AuthorizedKeysFile $WORLD/user.pub" 'StrictModes no' 'UsePAM no' 'PidFile none' \
		'Subsystem sftp internal-sftp' >"$WORLD/sshd"
	echo "s-42 $(cat "$WORLD/host.pub")" >"$WORLD/known"
	printf '%s\n' "ProxyCommand spacebridge connect -c $WORLD/control.ini --sandbox %h --port %p" "IdentityFile $WORLD/user" \
		"UserKnownHostsFile $WORLD/known" 'IdentitiesOnly yes' 'BatchMode yes' >"$WORLD/ssh"
}

# ssh_through: a command, and 100 MB there and back.
ssh_through() {
	head -c 100000000 /dev/urandom >"$WORLD/bytes"
	run -7 ssh -F "$WORLD/ssh" s-42 'read -r word; echo "got $word"; exit 7' <<<hello
	assert_output 'got hello'
	scp -q -F "$WORLD/ssh" "$WORLD/bytes" "s-42:$WORLD/there"
	cmp "$WORLD/bytes" "$WORLD/there"
	scp -q -F "$WORLD/ssh" "s-42:$WORLD/there" "$WORLD/back"
	cmp "$WORLD/bytes" "$WORLD/back"
}

# stand: the whole path; s-42 as execution 7 on worker-a.
stand() {
	world_make
	spacerouted grant --principal "uid:$(id -u)" --sandbox '*' --ops 'exec.*,file.*,tree.*,terminal.*,lease.*' >/dev/null
	world_vmm one
	world_activate s-42 7 a one >/dev/null
}

@test "ssh and scp of 100 MB reach a real sshd behind the guest, by manager and gateway" {
	ssh_world
	stand
	start gateway netgtw s-42 -c "$WORLD/a.ini"
	start sshd python3 "$ROOT/tests/fixtures/inetd.py" "$WORLD/port" /usr/sbin/sshd -i -f "$WORLD/sshd"
	port=$(cat "$WORLD/port")
	spacerouted grant --principal "uid:$(id -u)" --sandbox s-42 --ports "$port/tcp" >/dev/null
	spacerouted cache drop --all >/dev/null
	echo "Port $port" >>"$WORLD/ssh"
	echo "[s-42]:$port $(cat "$WORLD/host.pub")" >"$WORLD/known"
	ssh_through
	# End of input reaches a service, and its late answer comes back.
	start late python3 "$ROOT/tests/fixtures/inetd.py" "$WORLD/port" sh -c 'cat >/dev/null; echo late'
	port=$(cat "$WORLD/port")
	spacerouted grant --principal "uid:$(id -u)" --sandbox s-42 --ports "$port/tcp" >/dev/null
	spacerouted cache drop --all >/dev/null
	run -0 connect --port "$port" <<<word
	assert_output late
	# Another port is not granted.
	run -11 connect --port $((port == 1 ? 2 : port - 1)) </dev/null
	assert_output 'spacebridge: connect: s-42: refused by node-api: deny: unauthorized'
}

@test "trees go in and out of a guest as tars, whole" {
	stand
	mkdir -p "$WORLD/tree/deep/er" "$WORLD/guest-one/srv" "$WORLD/back"
	head -c 2000000 /dev/urandom >"$WORLD/tree/deep/bytes"
	ln -s bytes "$WORLD/tree/deep/link"
	chmod 750 "$WORLD/tree/deep/er"
	tar -C "$WORLD/tree" -c . | connect tree.put /srv
	diff -r --no-dereference "$WORLD/tree" "$WORLD/guest-one/srv"
	connect tree.get /srv </dev/null | tar -C "$WORLD/back" -x
	diff -r --no-dereference "$WORLD/tree" "$WORLD/back"
	# What takes no input leaves ours to others.
	run bash -c 'while read -r word; do spacebridge connect --sandbox s-42 tree.get /srv >"$0"; echo "$word"; done' \
		"$WORLD/tar" <<<$'one\ntwo'
	assert_output $'one\ntwo'
	mkdir "$WORLD/guest-one/"$'odd\xff'
	connect tree.get $'/odd\xff' >"$WORLD/tar"
	run -2 connect exec.attach $'odd\xff'
	run -1 connect tree.get /none </dev/null
	assert_output --partial 'op ENOENT'
	run -1 connect tree.put /srv < <(head -c 5000 /dev/urandom)
}

@test "a tree that takes long says on a terminal how much has gone, and takes that away again" {
	printf '#!/bin/sh\nn=6000; until grep -q "$1 MiB" "%s/typescript" || [ $((n -= 1)) -eq 0 ]; do sleep 0.01; done\n' \
		"$WORLD" >"$WORLD/seen"
	chmod +x "$WORLD/seen"
	control "open l; fill 3145728; sh $WORLD/seen 3.0; end; $OKAY" "open l; input 2097152; sh $WORLD/seen 2.0; $OKAY"
	run -0 script -qefc "spacebridge connect -s s-42 tree.get /x >$WORLD/out" "$WORLD/typescript"
	assert_equal "$(stat -c %s "$WORLD/out")" 3145728
	run -0 bash -c 'tr "\r" "|" <"$0"' "$WORLD/typescript"
	assert_output --regexp '[|]spacebridge: connect: 3[.]0 MiB([|]spacebridge: connect: 3[.]0 MiB)*[|] +[|]'
	rm "$WORLD/typescript"
	head -c 2097152 /dev/zero >"$WORLD/in"
	run -0 script -qefc "spacebridge connect -s s-42 tree.put /x <$WORLD/in" "$WORLD/typescript"
	run -0 bash -c 'tr "\r" "|" <"$0"' "$WORLD/typescript"
	assert_output --regexp '[|]spacebridge: connect: 2[.]0 MiB([|]spacebridge: connect: 2[.]0 MiB)*[|] +[|]'
}

@test "a watch prints what changes, and after a cut a resync and what changes then" {
	stand
	mkdir "$WORLD/guest-one/srv"
	connect file.watch /srv </dev/null >"$WORLD/events" 2>"$WORLD/err" 3>&- &
	pid=$!
	eventually touched '"create".*/one-' one
	world_activate s-42 7 a one --attempt 2 >/dev/null
	eventually touched '"resync"' two
	eventually touched '"create".*/three-' three
	kill "$pid"
	exits_with 143 "$pid"
	run cat "$WORLD/err"
	assert_output --partial 'spacebridge: connect: s-42: opened again'
}

# touched TEXT NAME: is there an event with TEXT? When the watch stands nobody tells: each time another file is made.
touched() {
	made=$((made + 1))
	: >"$WORLD/guest-one/srv/$2-$made"
	grep -qs "$1" "$WORLD/events"
}

@test "a session is a stream like any other" {
	stand
	session=$(node-api <<<'{"op":"exec.start","sandbox":"s-42","args":{"argv":["sh","-c","read a; echo got $a; exit 5"]}}' |
		jq -r .result.session)
	run -5 connect exec.attach "$session" <<<word
	assert_output 'got word'
	run -1 connect exec.attach none </dev/null
	assert_output 'spacebridge: connect: s-42: op ENOENT: no such session'
}

# minted OP ARGS: a minted record.
minted() {
	printf '{"id":"r1","op":"%s","sandbox":"s-42","args":%s}\n' "$1" "$2" | spacerouted route | spacecap mint
}

# tell JQ-FILTER FILE: the record's own line to the manager, changed; its one line of answer.
tell() {
	"$FIXTURES/talk" "$WORLD/a/run/manager.sock" send "$(jq -c "$1 | {id,op,sandbox,args,cap}" "$2")\n" shut line
}

denied() {
	printf '{"id":"r1","status":"refused","decision":"deny","reason":"%s","hop":"sbx-manager"}' "$1"
}

@test "an attach capability is for one session, once, also after kill -9 of the manager, and runs no operation" {
	stand
	session=$(node-api <<<'{"op":"exec.start","sandbox":"s-42","args":{"argv":["sh","-c","while read a; do :; done"]}}' |
		jq -r .result.session)
	minted exec.attach "{\"session\":\"$session\"}" >"$WORLD/attach"
	run tell '.args.session = "other"' "$WORLD/attach"
	assert_output "$(denied session)"
	for op in ping exec.run exec.list file.read tree.get file.watch lease.list lease.cancel; do
		run tell ".op = \"$op\" | .args = {}" "$WORLD/attach"
		assert_output "$(denied purpose)"
	done
	run tell . "$WORLD/attach"
	assert_json '.status == "open"'
	run tell . "$WORLD/attach"
	assert_output "$(denied replayed)"
	for signal in TERM KILL; do
		stop manager-a "$signal"
		start manager-a sbx-manager -c "$WORLD/a.ini"
		run tell . "$WORLD/attach"
		assert_output "$(denied replayed)"
	done
	# What it refused it has not used up: a fresh one works again.
	minted exec.attach "{\"session\":\"$session\"}" >"$WORLD/attach"
	run tell . "$WORLD/attach"
	assert_json '.status == "open"'
}

@test "capabilities to manage or to control open no attachment, and those to manage no stream at all" {
	stand
	minted lease.list '{}' >"$WORLD/to.manage"
	minted file.read '{"path":"/etc/hostname"}' >"$WORLD/to.control"
	for op in tree.get tree.put file.watch exec.run ping; do
		run tell ".op = \"$op\" | .args = {\"path\":\"/\"}" "$WORLD/to.manage"
		assert_output "$(denied purpose)"
	done
	for kind in manage control; do
		run tell '.op = "exec.attach" | .args = {"session":"x"}' "$WORLD/to.$kind"
		assert_output "$(denied purpose)"
	done
	run tell '.op = "lease.list" | .args = {}' "$WORLD/to.control"
	assert_output "$(denied purpose)"
	run tell . "$WORLD/to.manage"
	assert_output '{"id":"r1","status":"ok","result":{"leases":[],"truncated":false}}'
}
