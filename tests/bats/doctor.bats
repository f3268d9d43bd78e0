# bin/space-doctor: each fault is made, found in these very words, and mended by the command that is told. One machine
# that is control plane and node, healthy before and after each test.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2094,SC2154
load helper
load path

setup_file() {
	export WORLD=$BATS_FILE_TMPDIR SERVERS=$BATS_FILE_TMPDIR
	ulimit -Sn "$(ulimit -Hn)"
	world_make
	stop manager-b
	stop manager-a
	stop cache
	chmod 750 "$WORLD"/a/run "$WORLD/control/run"
	printf '%s\n' '[registry]' "url = sqlite:$WORLD/control/registry.db" '[audit]' "file = $WORLD/audit" >>"$WORLD/a.ini"
	export SPACE_CONFIG=$WORLD/a.ini
	start manager sbx-manager
	start cache spacerouted serve
	world_vmm one
	world_activate s-42 7 a one >/dev/null
	mkdir "$WORLD/tools"
	echo yes >"$WORLD/synchronized"
	printf '%s\n' '#!/bin/sh' "case \"\$*\" in" "'show -p NTPSynchronized --value') cat '$WORLD/synchronized' ;;" \
		"'set-ntp true') echo yes >'$WORLD/synchronized' ;;" 'esac' >"$WORLD/tools/timedatectl"
	chmod +x "$WORLD/tools/timedatectl"
	export PATH=$WORLD/tools:$PATH
}

teardown_file() {
	world_end
	stop_all
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export SPACE_CONFIG=$WORLD/a.ini
	records=$WORLD/a/records run_dir=$WORLD/a/run
}

# finds STATE CHECK MESSAGE MEND [OPTION...]: that, and nothing else that is not well; the command is then in $mend.
finds() {
	local code=0
	mend=$4
	[ "$1" = warning ] || code=1
	run -"$code" --separate-stderr space-doctor -q -o json "${@:5}"
	assert_equal "$output" "$(jq -nc --arg state "$1" --arg check "$2" --arg message "$3" --arg mend "$4" \
		'{check: $check, state: $state, message: $message, mend: $mend}')"
	assert_equal "$stderr" ''
}

# found CHECK: what was found of it, a line each; among other things.
found() {
	run --separate-stderr space-doctor -q -o json
	run jq -r --arg check "$1" 'select(.check == $check) | "\(.state) \(.message); \(.mend)"' <<<"$output"
}

healthy() {
	run -0 --separate-stderr space-doctor -q -o json
	assert_equal "$output$stderr" ''
}

# apply: carries the command out as it was told; what is found next shows whether it mended. mended: it did.
apply() { run -0 bash -c "$mend"; }
mended() {
	apply
	healthy
}

@test "of a healthy machine everything is well, and nothing is changed by looking" {
	local before
	tree() { find "$WORLD/a" "$WORLD/control" ! -name '*-shm' -printf '%p %i %m %u %s %T@\n' | sort; }
	before=$(tree)
	run -0 --separate-stderr space-doctor -o json
	assert_equal "$(tree)" "$before"
	assert_equal "$stderr" ''
	run -0 jq -r 'select(keys == ["check", "message", "state"] and .state == "ok") | .check' <<<"$output"
	run -0 sort -u <<<"$output"
	assert_output 'audit
bridge
cache
capabilities
clock
config
disk
endpoints
guest-keys
kernel
keys
leases
limits
manager
orphans
processes
records
routes
run-dir
signer
signer-key
state-dir
units
used'
	healthy
}

@test "usage: what is no option, no role, no format" {
	local words
	for words in --nothing '--role worker' '-o yaml' '--color often' '--timeout 0' '--timeout x' s-42 --role; do
		# shellcheck disable=SC2086
		run -2 --separate-stderr space-doctor $words
		assert_equal "$output" ''
		[[ $stderr == space-doctor:* ]]
	done
}

@test "the role is what is configured or there, and of another nothing is said" {
	run space-doctor -c "$WORLD/control.ini" -o json
	refute_output --partial '"check":"kernel"'
	assert_output --partial '"check":"signer-key"'
	run -0 space-doctor --role node -o json
	assert_output --partial '"check":"kernel"'
	refute_output --partial '"check":"cache"'
	run -0 space-doctor --role control -o json
	refute_output --partial '"check":"records"'
}

@test "a mistake in the configuration is told with the place to edit" {
	sed '$a[nonsense]' "$WORLD/a.ini" >bad.ini
	run -1 space-doctor -c bad.ini -o json
	assert_json --argjson line "$(wc -l <bad.ini)" '. == {check: "config", state: "failure", mend: "${EDITOR:-vi} +\($line) bad.ini",
		message: "spacebridge: config: bad.ini:\($line): section: no such section; space.ini(5) lists them"}'
	run -1 space-doctor -c none.ini -o json
	assert_json '.message == "spacebridge: config: none.ini: No such file or directory"'
	mkfifo fifo
	run -1 space-doctor -c fifo -o json
	assert_json '.message == "spacebridge: config: fifo: not a regular file" and .mend == "ls -l fifo"'
	[ "$(id -u)" = 0 ] || skip_or_fail root
	install -m 600 "$WORLD/a.ini" own.ini
	run -1 setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search --reuid 65534 --regid 65534 \
		--clear-groups "$ROOT/bin/space-doctor" -c "$PWD/own.ini" -o json
	assert_json --arg file "$PWD/own.ini" '.message == "spacebridge: config: \($file): Permission denied" and .mend == "sudo space-doctor -c \($file)"'
}

@test "tools of several versions, and one that is missing" {
	local tool
	mkdir tools
	ln -s "${SPACE_BIN:-$ROOT/build/bin}"/* tools
	rm tools/spaceid
	printf '%s\n' '#!/bin/sh' '[ "$1" != -V ] || { echo spaceid 9.9; exit; }' "exec '${SPACE_BIN:-$ROOT/build/bin}/spaceid' \"\$@\"" >tools/spaceid
	chmod +x tools/spaceid
	SPACE_BIN=$PWD/tools finds warning config "the tools are of several versions: spaceid is 9.9, spacebridge is $(spacebridge -V | cut -d " " -f 2)" 'apt-get install space-tools'
	rm tools/spaceid
	PATH=/usr/bin:/bin SPACE_BIN=$PWD/tools run -1 "$ROOT/bin/space-doctor" -q -o json
	assert_json '. == {check: "config", state: "failure", message: "spaceid is not in PATH", mend: "apt-get install space-tools"}'
}

@test "a kernel that can prove less than is asked for" {
	unshare --pid --fork true 2>/dev/null || skip_or_fail 'the right to make a pid namespace'
	run unshare --pid --fork "$ROOT/bin/space-doctor" -q -o json
	run jq -c 'select(.check == "kernel")' <<<"$output"
	assert_json '. == {check: "kernel", state: "failure", mend: "spacebridge attest --level",
		message: "nothing can be proved here, so every bridge is denied: it lacks /proc of this pid namespace"}'
	# A kernel before 6.5, as this one can play it: it has no SO_PEERPIDFD, whoever asks.
	older() { "$FIXTURES/older-kernel" "$@"; }
	local lacks
	lacks=$(older spacebridge attest --level -o json | jq -r '.missing | join(", ")')
	[[ ", $lacks," == *", SO_PEERPIDFD,"* ]] || fail "$lacks"
	sed -i 's/^min_level = .*/min_level = full/' "$WORLD/a.ini"
	run -1 older space-doctor -q -o json
	run jq -r 'select(.check == "kernel") | "\(.state) \(.message); \(.mend)"' <<<"$output"
	assert_output "failure level launch-pidfd is below [bridge] min_level full, so every bridge is denied: it lacks $lacks. A \
newer kernel has it; or be content with less; sed -i '/^\\[bridge\\]/,/^\\[/s|^min_level *=.*|min_level = launch-pidfd|' $WORLD/a.ini"
	run -0 bash -c "${output#*; or be content with less; }"
	run -0 spacebridge config -o json
	assert_line '{"section":"bridge","key":"min_level","value":"launch-pidfd","unit":"level","from":"file"}'
	run -0 older space-doctor -o json
	run jq -r 'select(.check == "kernel") | "\(.state) \(.message)"' <<<"$output"
	assert_output 'ok level launch-pidfd, [bridge] min_level launch-pidfd'
	sed -i "s/^min_level = .*/min_level = $(world_level)/" "$WORLD/a.ini"
	healthy
}

@test "directories and files that others can change or read" {
	chmod 777 "$records"
	finds failure records "$records has mode 0777: others can change what is in it" "chmod 0750 $records"
	apply
	chmod 755 "$records"
	finds warning records "$records has mode 0755, more than 0750" "chmod 0750 $records"
	apply
	chmod 755 "$run_dir"
	finds warning run-dir "$run_dir has mode 0755, more than 0750" "chmod 0750 $run_dir"
	apply
	chmod 666 "$records/s-42.json"
	finds failure records "1 file in $records can be written by others" \
		"find $records -mindepth 1 -maxdepth 1 -name '*.json' -type f -perm /022 -exec chmod go-w {} +"
	mended
	chmod 640 "$records"/guest-keys/[0-9a-f]*
	found guest-keys
	assert_output "failure 1 file in $records/guest-keys can be read by others; \
find $records/guest-keys -mindepth 1 -maxdepth 1 -type f '!' -name '.*' -perm /077 -exec chmod 600 {} +"
	mend=${output#*; }
	mended
}

@test "signer key, registry and audit file that others can use" {
	local key=$WORLD/control/signer.key
	chmod 640 "$key"
	finds failure signer-key "$key has mode 0640: it is to be its user's alone" "chmod 600 $key"
	apply
	chmod 644 "$WORLD/control/registry.db"
	finds warning registry "$WORLD/control/registry.db has mode 0644: it is to be its user's alone" "chmod 600 $WORLD/control/registry.db"
	apply
	chmod 666 "$WORLD/audit"
	finds failure audit "$WORLD/audit has mode 0666: anybody can change it" "chmod o-w $WORLD/audit"
	mended
}

@test "a signing key that is not there, none, or not of the bundle" {
	local key=$WORLD/control/signer.key other
	mv "$key" key.away
	finds failure signer-key "$key is not there: nothing can be signed" "spacecap keygen -o $key"
	run -0 bash -c "$mend"
	other=$(spacecap pubkey --id "$key")
	spacecap pubkey "$key" >signer.pub
	cp "$WORLD/root.key" root.key
	found signer-key
	assert_output "failure $key has the key $other, which is not in the installed bundle: whatever it signs is refused as \
unknown-key; spacecap bundle build -k root.key -r test --serial 2 -o keys.tar.zst signer.pub && spacecap bundle install keys.tar.zst"
	mend=${output#*; }
	mended
	# A higher serial makes good what other tests have.
	mv key.away "$key"
	spacecap pubkey "$key" >signer.pub
	spacecap bundle build -k root.key -r test --serial 3 -o back.tar.zst signer.pub >back
	spacecap bundle install back.tar.zst >back
	mv "$key" key.away
	ln -s "$PWD/key.away" "$key"
	finds failure signer-key "$key is a symbolic link, no regular file" "ls -l $key"
	rm "$key"
	mv key.away "$key"
}

@test "verification keys that are missing, expire soon, have expired or are not of our root" {
	local keys=$WORLD/a/keys end
	cp "$WORLD/root.key" root.key
	spacecap pubkey "$WORLD/control/signer.key" >signer.pub
	mv "$keys" away
	mv "$WORLD/a/keys.serial" away.serial
	found keys
	assert_output "failure spacecap: bundle list: $keys: no bundle is installed there (spacecap bundle install FILE); spacecap bundle \
build -k root.key -r test --serial 1 -o keys.tar.zst signer.pub && spacecap bundle install keys.tar.zst"
	mend=${output#*; }
	apply
	rm -r "$keys" "$WORLD/a/keys.serial"
	mv away "$keys"
	mv away.serial "$WORLD/a/keys.serial"
	spacecap bundle build -k root.key -r test --serial 10 --life 500000 -o soon.tar.zst signer.pub >built
	spacecap bundle install soon.tar.zst >built
	end=$(spacecap bundle list -o json | jq -r .expires_at)
	finds warning keys "bundle 10 expires at $end" "spacecap bundle build -k root.key -r test --serial 11 -o keys.tar.zst \
signer.pub && spacecap bundle install keys.tar.zst"
	rm -f keys.tar.zst
	apply
	faketime -f -1h spacecap bundle build -k root.key -r test --serial 12 --life 60 -o short.tar.zst signer.pub >built
	faketime -f -1h spacecap bundle install short.tar.zst >built
	end=$(spacecap bundle list -o json | jq -r .expires_at)
	rm keys.tar.zst
	finds failure keys "bundle 12 expired at $end: every capability is refused" "spacecap bundle build -k root.key -r test --serial 13 \
-o keys.tar.zst signer.pub && spacecap bundle install keys.tar.zst"
	mended
	sed "s/^root = .*/root = $(spacecap pubkey "$WORLD/control/signer.key")/" "$WORLD/a.ini" >other.ini
	SPACE_CONFIG=$PWD/other.ini found keys
	assert_output "failure spacecap: bundle list: bundle: not signed by a root key that is trusted here; spacecap bundle build \
-k root.key -r test --serial 14 -o keys.tar.zst signer.pub && spacecap bundle install keys.tar.zst"
	sed "/^root = /d" "$WORLD/a.ini" >none.ini
	SPACE_CONFIG=$PWD/none.ini found keys
	assert_output "failure no [keys] root is configured: no bundle can be verified; printf '\n[%s]\n%s = %s\n' keys root \
\"\$(spacecap pubkey root.key)\" >>$PWD/none.ini"
	bash -c "${output#*; }"
	export SPACE_CONFIG=$PWD/none.ini
	healthy
	sed "/^root = /aurl = $PWD/keys.tar.zst" "$WORLD/a.ini" >url.ini
	faketime -f -1h spacecap bundle build -k root.key -r test --serial 14 --life 60 -o short2.tar.zst signer.pub >built
	faketime -f -1h spacecap bundle install short2.tar.zst >built
	spacecap bundle build -k root.key -r test --serial 15 -o offered signer.pub >built
	mv offered keys.tar.zst
	export SPACE_CONFIG=$PWD/url.ini
	found keys
	[[ $output == *'; space-keys fetched.tar.zst && spacecap bundle install fetched.tar.zst' ]] || fail "$output"
	mend=${output#*; }
	mended
}

@test "a bundle from the future" {
	cp "$WORLD/root.key" root.key
	spacecap pubkey "$WORLD/control/signer.key" >signer.pub
	faketime -f +1h spacecap bundle build -k root.key -r test --serial 20 -o later.tar.zst signer.pub >built
	faketime -f +1h spacecap bundle install --audit "$PWD/audit" later.tar.zst >built
	finds failure clock "bundle 20 was issued at $(spacecap bundle list -o json | jq -r .issued_at), which is in the future here" \
		'timedatectl set-ntp true'
	spacecap bundle build -k root.key -r test --serial 21 -o now.tar.zst signer.pub >built
	spacecap bundle install now.tar.zst >built
	healthy
}

@test "a manager that has ended leaves a socket and a lease; one that was never there, and what is no socket" {
	local manager=$run_dir/manager.sock lease pid
	pid=$(cat "$WORLD/manager.pid")
	lease=$(echo "$run_dir"/leases/sbx-manager.*)
	stop manager KILL
	run -1 space-doctor -q -o json
	run jq -r '"\(.check): \(.state) \(.message); \(.mend)"' <<<"$output"
	assert_output "leases: warning $lease: the process that held leases there has ended; spacestream list
manager: failure $manager: nobody listens there any more; sbx-manager
endpoints: failure $manager: routes lead there, and nobody listens (stale); sbx-manager"
	run -0 spacestream list
	rm "$manager"
	finds_two "$manager is not there" "$manager: routes lead there, and nobody listens (absent)"
	touch "$manager"
	run -1 space-doctor -q -o json
	run jq -r 'select(.check == "manager") | "\(.message); \(.mend)"' <<<"$output"
	assert_output "$manager is no socket; mv $manager $manager.old && sbx-manager"
	mv "$manager" "$manager.old"
	rm "$manager.old"
	start manager sbx-manager
	healthy
}
finds_two() {
	run -1 space-doctor -q -o json
	run jq -r '.message' <<<"$output"
	assert_output "$1
$2"
}

@test "a cache that has ended" {
	stop cache KILL
	finds failure cache "$run_dir/cache.sock: nobody listens there any more" 'spacerouted serve'
	rm "$run_dir/cache.sock"
	finds failure cache "$run_dir/cache.sock is not there" 'spacerouted serve'
	start cache spacerouted serve
	healthy
}

@test "sockets that anybody can connect to, and those that nobody has" {
	local socket=$run_dir/manager.sock inode
	chmod 666 "$socket"
	# Who is allowed by uid comes in by such a one.
	cp "$WORLD/a.ini" allowed.ini
	printf '%s\n' '[manager]' 'allow_uids = 12345' >>allowed.ini
	SPACE_CONFIG=$PWD/allowed.ini healthy
	finds warning manager "$socket has mode 0666: anybody can connect" "chmod o-rwx $socket"
	apply
	mkdir -m 750 "$run_dir/gateway"
	start leaver "$FIXTURES/bridge" --listen "$run_dir/gateway/"$'x\e[31m $(touch oops).sock'
	stop leaver KILL
	inode=$(stat -c %i "$run_dir"/gateway/x*)
	finds warning gateway "$run_dir/gateway/x?[31m \$(touch oops).sock: nobody listens there" \
		"find $run_dir/gateway -maxdepth 1 -inum $inode -delete"
	mended
	assert_file_not_exists oops
	cp "$WORLD/a.ini" $'x\e[31m\302\233.ini'
	run space-doctor -c $'x\e[31m\302\233.ini' -o json
	assert_line -n 0 '{"check":"config","state":"ok","message":"x?[31m?.ini is understood"}'
	rmdir "$run_dir/gateway"
}

@test "a manager of a user that nobody sends to" {
	[ "$(id -u)" = 0 ] || skip_or_fail root
	printf '%s\n' '[manager]' 'uid = 12345' >>"$WORLD/a.ini"
	# Root may be anybody's manager.
	healthy
	sed '$d' "$WORLD/a.ini" | sed '$d' >"$WORLD/a.new"
	cat "$WORLD/a.new" >"$WORLD/a.ini"
	cp "$WORLD/a.ini" m.ini
	mkdir -m 777 open
	chmod 755 .
	printf '%s\n' '[manager]' "socket = $PWD/open/m.sock" "uid = 12345" >>m.ini
	start other python3 -c '
import os, signal, socket
n = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); n.connect(os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1))
os.setgid(54321); os.setuid(54321); os.chdir("open")
s = socket.socket(socket.AF_UNIX); s.bind("m.sock"); os.chmod("m.sock", 0o660); s.listen(1)
n.send(b"READY=1"); signal.pause()'
	export SPACE_CONFIG=$PWD/m.ini
	found manager
	assert_output "failure $PWD/open/m.sock: uid 54321 listens there, which is not in [manager] uid: nothing is sent to it; \
sed -i '/^\\[manager\\]/,/^\\[/s|^uid *=.*|uid = 54321|' $PWD/m.ini"
	bash -c "${output#*; }"
	found manager
	assert_output ''
	stop other KILL
}

@test "a server that may open few files" {
	local pid hard
	pid=$(cat "$WORLD/cache.pid")
	hard=$(ulimit -Hn)
	prlimit --pid "$pid" --nofile=512:
	finds warning limits "cache, process $pid, may open 512 files: each connection takes several" "prlimit --pid $pid --nofile=$hard:"
	mended
}

@test "a record that cannot be read, and what is none" {
	echo '{' >"$records/s-40.json"
	finds failure records "spaceid: list: $records: s-40.json: byte 2: string or '}' expected near end of file: nothing of it is served \
until it is activated anew" "rm $records/s-40.json"
	mended
	ln -s s-42.json "$records/x.json"
	found records
	assert_line -n 0 "failure 1 entry in $records is no regular file; \
find $records -mindepth 1 -maxdepth 1 -name '*.json' '!' -type f -delete"
	mend=${lines[0]#*; }
	apply
	assert_file_exists "$records/s-42.json"
	[ "$(id -u)" = 0 ] || skip_or_fail root
	chown 54321 "$records/s-42.json"
	finds failure records "1 file in $records is not of its owner, uid 0" \
		"find $records -mindepth 1 -maxdepth 1 -type f '!' -uid 0 -exec chown -h 0 {} +"
	mended
}

# record_of SANDBOX: one with the processes of s-42, installed.
record_of() {
	spaceid show s-42 -o json | jq -c --arg s "$1" '{sandbox: $s, route, owner, bridge, vmm}' | "${@:2}" spaceid install >installed
}

@test "a record without a route, and a route whose worker has no record, has retired it or another one" {
	record_of s-50
	finds warning orphans 's-50: it has an active record here, and no route leads to it' 'spaceid retire --sandbox s-50 --execution 7'
	apply
	publish() {
		spacerouted publish --sandbox "$1" --execution "$2" --worker "${3:-worker-a}" --substrate host --activation act-7 --attempt 1 \
			--endpoint "unix:$run_dir/manager.sock" >published
	}
	publish s-50 7
	finds failure routes 's-50: execution 7 is routed to this worker, which has retired it' 'spacerouted retire --sandbox s-50 --execution 7'
	apply
	publish s-51 3
	finds failure routes 's-51: execution 3 is routed to this worker, which has no record of it' \
		'spacerouted retire --sandbox s-51 --execution 3'
	mended
	# One that leads to another worker is not ours.
	publish s-52 3 worker-b
	healthy
	record_of s-53
	publish s-53 6
	finds failure routes 's-53: execution 6 is routed to this worker, which serves execution 7 (execution)' "spacerouted publish \
--sandbox s-53 --execution 7 --worker worker-a --substrate host --activation act-7 --attempt 1 --endpoint unix:$run_dir/manager.sock"
	apply
	publish s-53 8
	found routes
	assert_output "failure s-53: execution 8 is routed to this worker, which has another one (execution); spacerouted retire --sandbox \
s-53 --execution 8"
	bash -c "${output#*; }"
	finds warning orphans 's-53: it has an active record here, and no route leads to it' 'spaceid retire --sandbox s-53 --execution 7'
	mended
}

@test "on a node whose registry is elsewhere the routes come from a list" {
	sed '/^url = /d' "$WORLD/a.ini" >node.ini
	run space-doctor --role node -c node.ini -o json
	run jq -r 'select(.check == "routes" or .check == "orphans") | "\(.state) \(.message)"' <<<"$output"
	assert_output 'ok the registry is elsewhere: --routes takes a list of its routes'
	spacerouted list -o json >list
	run -0 space-doctor --role node -c node.ini --routes list -q
	assert_output ''
	spacerouted list -o json | jq -c '.state = "retired"' >list
	run -0 space-doctor --role node -c node.ini --routes list -q
	assert_output 'warning  orphans: s-42: it has an active record here, and no route leads to it; mend: spaceid retire -c node.ini --sandbox s-42 --execution 7'
	echo nothing >list
	run -1 space-doctor --role node -c node.ini --routes list -q
	assert_output 'failure  routes: list: no list of routes; mend: spacerouted list -o json >list'
}

@test "a route that leads to where nobody listens" {
	spacerouted publish --sandbox s-60 --execution 7 --worker worker-c --substrate host --activation act-7 --attempt 1 \
		--endpoint unix:/run/space-link/worker-c/manager.sock >published
	finds failure endpoints '/run/space-link/worker-c/manager.sock: routes lead there, and nobody listens (absent)' \
		'systemctl restart space-link@worker-c'
	spacerouted retire --sandbox s-60 --execution 7 >published
	healthy
}

@test "a guest's key that no record has" {
	local keys=$records/guest-keys inode
	install -m 600 /dev/null "$keys/left"
	# Of late it may be that of an execution whose snapshot is being taken.
	healthy
	touch -d '2 days ago' "$keys/left"
	inode=$(stat -c %i "$keys/left")
	finds warning guest-keys "$keys has the key of a guest that no record has: left" "find $keys -maxdepth 1 -inum $inode -delete"
	mended
	assert_file_not_exists "$keys/left"
	# Those of an enrollment that is under way are somebody's.
	echo left >"$keys/.tried.s-90"
	install -m 600 /dev/null "$keys/left"
	touch -d '2 days ago' "$keys/left"
	healthy
	rm "$keys/left" "$keys/.tried.s-90"
}

@test "a clock that is behind: a record, an audit line and capabilities from the future" {
	record_of s-70 faketime -f +1h
	run -1 space-doctor -q -o json
	run jq -r 'select(.check == "clock") | "\(.state) \(.message); \(.mend)"' <<<"$output"
	assert_output "failure the record of s-70 was installed at $(spaceid show s-70 -o json | jq -r .installed_at), which is in the \
future here; timedatectl set-ntp true
failure the last line of $WORLD/audit is of $(tail -n 1 "$WORLD/audit" | jq -r .time), which is in the future here; timedatectl set-ntp true"
	spaceid retire --sandbox s-70 --execution 7 >retired
	found clock
	assert_output --partial 'the record of s-70'
	rm "$records/s-70.json"
	# A manager whose clock is behind refuses what is signed now, where its keys are old enough.
	cp "$WORLD/root.key" root.key
	spacecap pubkey "$WORLD/control/signer.key" >signer.pub
	faketime -f -2h spacecap bundle build -k root.key -r test --serial 30 -o old.tar.zst signer.pub >built
	spacecap bundle install old.tar.zst >built
	stop manager
	start manager env "LD_PRELOAD=$(faketime -f +0s printenv LD_PRELOAD)" FAKETIME=-1h sbx-manager
	run -11 env SPACE_CONFIG="$WORLD/a.ini" node-api <<<'{"op":"ping","sandbox":"s-42","args":{}}'
	assert_json '.decision == "deny" and .reason == "not-yet-valid"'
	stop manager
	start manager sbx-manager
	spacecap bundle build -k root.key -r test --serial 31 -o new.tar.zst signer.pub >built
	spacecap bundle install new.tar.zst >built
	finds warning clock "1 of the last 1000 lines of $WORLD/audit refuse capabilities as not-yet-valid: this clock, or the control \
plane's, is wrong" 'timedatectl set-ntp true'
	: >"$WORLD/audit"
	# All of this machine is behind: what others have dated is in the future.
	spaceid fence --sandbox s-42 >fenced
	run -1 faketime -f -1h space-doctor -q -o json
	run jq -r 'select(.check == "clock") | "\(.state) \(.message)"' <<<"$output"
	assert_line --partial 'failure bundle '
	assert_line "failure the record of s-42 was installed at $(spaceid show s-42 -o json | jq -r .installed_at), which is in the future here"
	assert_line "failure the last line of $WORLD/audit is of $(tail -n 1 "$WORLD/audit" | jq -r .time), which is in the future here"
	echo no >"$WORLD/synchronized"
	finds warning clock 'it is not synchronized' 'timedatectl set-ntp true'
	mended
}

@test "a full disk" {
	unshare --mount true 2>/dev/null || skip_or_fail 'the right to make a mount namespace'
	mkdir small
	sed "s|^state_dir = .*|state_dir = $PWD/small|" "$WORLD/a.ini" >small.ini
	full() {
		unshare --mount bash -c "mount -t tmpfs -o $1 small small && mkdir -m 750 small/records && $2
			'$ROOT/bin/space-doctor' -c small.ini --role node -q -o json" | jq -r 'select(.check == "disk") | "\(.state) \(.message); \(.mend)"'
	}
	run -0 full size=100m 'head -c 95M /dev/zero >small/fill;'
	assert_output --regexp "^failure $PWD/small: 4 MiB and [0-9]+ files are left: nothing can be installed; du -ax $PWD/small \| sort -n \| tail$"
	run -0 full size=400m 'head -c 320M /dev/zero >small/fill;'
	assert_output --regexp "^warning $PWD/small: 79 MiB and [0-9]+ files are left; du -ax"
	run -0 full size=400m,nr_inodes=90 ''
	assert_output --regexp "^failure $PWD/small: (399|400) MiB and [0-9]+ files are left: nothing can be installed"
	run -0 full size=400m ''
	assert_output ''
}

# other_user: s-71 is served by a VMM of another user, in a directory of his. retire_other: not any more.
other_user() {
	his=$(mktemp -d)
	chmod 755 "$his"
	chown 54321:54321 "$his"
	install -m 755 "$FIXTURES/vmm" "$his"
	mkdir "$his/root"
	start other-guest spaced-guest --listen "unix:$his/guest.sock" --root "$his/root" --cid 9 --key "$WORLD/other.key"
	chmod 666 "$his/guest.sock"
	start other-vmm setpriv --reuid 54321 --regid 54321 --clear-groups "$his/vmm" --uds "$his/v.sock" \
		--guest "$his/guest.sock" --cid 9 --api "$his/api.sock"
	sandbox activate s-71 --execution 7 --vmm-pid "$STARTED" --uds-path "$his/v.sock" --api "$his/api.sock" >activated
}
retire_other() {
	sandbox retire s-71 --execution 7 >retired
	stop other-vmm
	stop other-guest
	rm -r "$his"
}

@test "a manager that cannot look into other users' VMMs" {
	[ "$(id -u)" = 0 ] || skip_or_fail root
	local pid
	stop manager
	start manager setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace sbx-manager
	pid=$(cat "$WORLD/manager.pid")
	run -0 space-doctor -o json
	run jq -r 'select(.check == "capabilities") | .message' <<<"$output"
	assert_output "manager, process $pid, lacks CAP_SYS_PTRACE and has only VMMs of its own user"
	other_user
	found capabilities
	assert_output "failure manager, process $pid of uid 0, lacks CAP_SYS_PTRACE: it cannot look into the VMM of s-71, uid 54321; \
kill $pid && sbx-manager"
	stop manager
	start manager sbx-manager
	found capabilities
	assert_output ''
	retire_other
	healthy
}

@test "on a terminal: colours, 80 columns, and commands that can be copied" {
	local plain
	at_terminal() {
		TERM=xterm python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' space-doctor "$@" </dev/null | tr -d '\r'
	}
	rm -f "$WORLD"/no.ini
	sed "s|^bundle = .*||; /^root = /aurl = http://keys.example.org/some/where/keys.tar.zst\nbundle = $WORLD/none" "$WORLD/a.ini" >"$WORLD/no.ini"
	chmod 755 "$run_dir"
	run at_terminal -q -c "$WORLD/no.ini"
	[[ ${lines[0]} == $'\e[1;31mfailure\e[0m  keys         spacecap: bundle list:'* ]] || fail "${lines[0]}"
	assert_line --partial $'\e[33mwarning\e[0m  run-dir      '
	# shellcheck disable=SC2001
	plain=$(sed $'s/\e\\[[0-9;]*m//g' <<<"$output")
	# What has no blank is not broken.
	run grep -vE '[^ ]{45}|^.{0,80}$' <<<"$plain"
	assert_output ''
	assert_equal "$(grep -cE '^ {22}[^ ]' <<<"$plain")" "$(grep -cE '^ {22}' <<<"$plain")"
	run -0 sed -n '/^  mend: space-keys/,/[^\\]$/p' <<<"$plain"
	assert_equal "$(tr -d '\\\n' <<<"${output#  mend: }" | tr -s ' ')" \
		"space-keys -c $WORLD/no.ini fetched.tar.zst && spacecap bundle install -c $WORLD/no.ini fetched.tar.zst"
	# A terminal of 50 columns: its lines are broken there, and as before a word alone may be longer.
	run "$ROOT/tests/captures/terminal" 50 60 "'$ROOT/bin/space-doctor' -q"
	assert_line '                      has mode 0755, more than'
	assert_line '                      0750'
	NO_COLOR=1 run at_terminal -q
	refute_output --partial $'\e['
	run at_terminal -q --color never
	refute_output --partial $'\e['
	run space-doctor -q --color always
	assert_output $'\e[33mwarning\e[0m'"  run-dir: $run_dir has mode 0755, more than 0750; mend: chmod 0750 $run_dir"
	run space-doctor -q -o table
	assert_line -n 0 --partial 'warning  run-dir      '
	chmod 750 "$run_dir"
	rm "$WORLD/no.ini"
}

@test "who may not see something is told so, and the rest is looked at" {
	[ "$(id -u)" = 0 ] || skip_or_fail root
	local mine
	mine=$(mktemp -d)
	chmod 755 "$mine"
	cp "$WORLD/a.ini" "$mine/space.ini"
	sed -i "s|^state_dir = .*|state_dir = $mine|; s|^run_dir = .*|run_dir = $mine/run|; s|^secret = .*|secret = $mine/signer.key|
		s|^url = .*|url = sqlite:$mine/registry.db|; s|^file = .*|file = $mine/audit|" "$mine/space.ini"
	chmod 644 "$mine/space.ini"
	cp -a "$WORLD/a/records" "$WORLD/a/keys" "$WORLD/a/keys.serial" "$WORLD/control/signer.key" "$mine"
	cp "$WORLD/control/registry.db" "$mine"
	mkdir -m 750 "$mine/run"
	# The tools need not be anybody's to reach.
	run setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search --reuid 65534 --regid 65534 \
		--clear-groups env SPACE_CONFIG="$mine/space.ini" "$ROOT/bin/space-doctor" -q -o json
	rm -r "$mine"
	run -0 jq -r '"\(.check) \(.state) \(.mend)"' <<<"$output"
	assert_output 'guest-keys warning sudo space-doctor
bridge warning sudo space-doctor
gateway warning sudo space-doctor
leases warning sudo space-doctor
manager warning sudo space-doctor
cache warning sudo space-doctor
signer warning sudo space-doctor
records warning sudo space-doctor
routes warning sudo space-doctor'
}

@test "a tool that does not answer is not waited for, and what was not looked at is not well" {
	mkdir tools
	ln -s "${SPACE_BIN:-$ROOT/build/bin}"/* tools
	rm tools/spacerouted
	printf '%s\n' '#!/bin/sh' "[ \"\$1\" != list ] || { echo \$\$ >'$PWD/asked'; kill -STOP \$\$; }" \
		"exec '${SPACE_BIN:-$ROOT/build/bin}/spacerouted' \"\$@\"" >tools/spacerouted
	chmod +x tools/spacerouted
	SPACE_BIN=$PWD/tools finds failure routes 'spacerouted: no answer within 1 s' 'spacerouted list' --timeout 1
	assert_file_exists asked
	# What a tool of another version might say.
	rm tools/spacerouted tools/spacecap
	ln -s "${SPACE_BIN:-$ROOT/build/bin}/spacerouted" tools
	printf '%s\n' '#!/bin/sh' '[ "$1" != bundle ] || { echo "{\"nothing\":1}"; exit; }' \
		"exec '${SPACE_BIN:-$ROOT/build/bin}/spacecap' \"\$@\"" >tools/spacecap
	chmod +x tools/spacecap
	SPACE_BIN=$PWD/tools finds failure doctor 'it ended before it had looked at all' "bash -x $ROOT/bin/space-doctor"
}

@test "a bridge that has ended is enrolled anew; of a VMM that has ended the record is retired" {
	local bridge note=$run_dir/bridge/s-42.pid vmm why
	bridge=$(cut -d ' ' -f 1 "$note")
	vmm=$(cat "$WORLD/vmm-one.pid")
	kill -KILL "$bridge"
	await_end "$bridge"
	run -1 --separate-stderr space-doctor -q -o json
	run jq -r '"\(.check) \(.state) \(.message)"' <<<"$output"
	assert_equal "${#lines[@]}" 3
	assert_line -n 1 "leases warning $run_dir/leases/spaced-host.$bridge.sock: the process that held leases there has ended"
	assert_line -n 0 "bridge warning $run_dir/bridge/s-42.sock: nobody listens there"
	[[ ${lines[2]} == 'processes failure s-42: its bridge is not as enrolled: bridge-process: '* ]] || fail "${lines[2]}"
	found processes
	mend=${output#*; }
	assert_equal "$mend" "sandbox activate s-42 --execution 7 --activation act-7 --attempt 2 --owner act-7 --vmm-pid $vmm \
--uds-path $WORLD/vmm-one.sock --cid 3 --api $WORLD/api-one.sock"
	run -0 bash -c "$mend"
	run -0 spacestream list
	stop vmm-one KILL
	run -1 --separate-stderr space-doctor -q -o json
	run jq -r 'select(.check == "processes") | "\(.state) \(.message); \(.mend)"' <<<"$output"
	[[ $output == 'failure s-42: its VMM is not as enrolled: vmm-process: '*'; spaceid retire --sandbox s-42 --execution 7' ]] ||
		fail "$output"
	run -0 bash -c "${output##*; }"
	finds failure routes 's-42: execution 7 is routed to this worker, which has retired it' 'spacerouted retire --sandbox s-42 --execution 7'
	mended
	world_end
}
