# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2154
# The units under a real systemd: a control plane, a worker, a VMM (the stand-in, as a user of its own, in a network
# namespace and a directory of its own) and the agent of its guest in one booted container. All stands when a test
# begins, and again when it ends.
load helper
load systemd
load man

setup_file() {
	container_possible
	[ -n "$MISSING" ] || container_make
	[ -n "$MISSING" ] || container_configure
	[ -n "$MISSING" ] || container_boot
	[ -z "$MISSING" ] || return 0
	inside systemctl enable --quiet --now space-{signer,cache,manager,node-api,http}.socket space-{keys,prune}.timer \
		space-guest.service vmm.service
	inside systemctl start space-keys.service
	# Each by itself has all that it needs.
	inside systemctl start space-cache.service
	inside systemctl start space-manager.service
	inside systemctl start space-http.service
	inside systemctl enable --quiet --now space-host@s-42.service
	inside spacerouted grant --principal uid:0 --sandbox '*' --ops 'ping,file.*,exec.*' >/dev/null
	inside spacerouted grant --principal token:web --sandbox s-42 --ops 'ping,file.*' --token-file /root/token >/dev/null
	activate
}

setup() {
	[ -z "$MISSING" ] || skip_or_fail "$MISSING"
}

teardown_file() {
	container_end
}

# container_configure: what an operator writes, and the stand-in for a VMM.
container_configure() {
	local etc=$MACHINE/etc/space

	cp -r "$ROOT/tests/systemd/container/." "$MACHINE"
	install -m 755 "$FIXTURES/vmm" "$FIXTURES/talk" "$FIXTURES/framed" "$MACHINE/usr/local/bin"
	# All of its package that a link needs.
	install -m 755 /usr/bin/stunnel4 "$MACHINE/usr/bin"
	mkdir "$etc"
	spacecap keygen -o "$BATS_FILE_TMPDIR/root.key" >/dev/null
	spacecap keygen -o "$etc/signer.key" >/dev/null
	spacecap pubkey "$etc/signer.key" >"$BATS_FILE_TMPDIR/signer.public"
	publish_keys 1
	sed "s|^;root = .*|root = $(spacecap pubkey "$BATS_FILE_TMPDIR/root.key")|; s|^;url = .*|url = /srv/keys.tar.zst|" \
		"$MACHINE/usr/share/doc/space-tools/examples/space.ini" >"$etc/space.ini"
	printf '%s\n' '[bridge]' 'connect_timeout_ms = 20000' '[registry]' 'timeout_ms = 20000' >>"$etc/space.ini"
}

# publish_keys SERIAL: the bundle lies where [keys] url says.
publish_keys() {
	rm -f "$MACHINE/srv/keys.tar.zst"
	spacecap bundle build -k "$BATS_FILE_TMPDIR/root.key" -r space --serial "$1" -o "$MACHINE/srv/keys.tar.zst" \
		"$BATS_FILE_TMPDIR/signer.public" >/dev/null
}

# activate: what runs becomes execution 7 of s-42, in the next attempt.
activate() {
	local attempt

	attempt=$(inside spaceid show s-42 -o json 2>/dev/null | jq .route.attempt)
	inside sandbox activate s-42 --execution 7 --attempt "$((attempt + 1))" --bridge-pid "$(property space-host@s-42 MainPID)" \
		--vmm-pid "$(property vmm MainPID)" --uds-path /run/vm/v.sock --api /run/vm/api.sock >/dev/null
}

# ask OP ARGS [COMMAND...]: a request to s-42, by root or by whom COMMAND makes of him; its answer is in $output.
ask() {
	run -0 inside "${@:3}" talk /run/space-node-api.sock \
		send "{\"id\":\"1\",\"op\":\"$1\",\"sandbox\":\"s-42\",\"args\":$2}\\n" shut all
}

assert_served() {
	ask file.read '{"path":"/etc/debian_version"}'
	assert_json '.status == "ok" and (.result.text | startswith("1"))'
}

# web PATH [OPTION...]: asked over HTTP, by curl out here, at where the socket is seen from here.
web() {
	timeout 120 curl -sS --unix-socket "/proc/$LEADER/root/run/space-http.sock" "${@:2}" "http://x$1"
}

# web_ops OP [OPTION...]: of s-42, by the owner of the token.
web_ops() {
	web /v1/ops -H "Authorization: Bearer $(<"$MACHINE/root/token")" -H 'Content-Type: application/json' \
		-d "{\"op\":\"$1\",\"sandbox\":\"s-42\",\"args\":{}}" "${@:2}"
}

assert_web_served() {
	run -0 web_ops ping
	assert_output '{"status":"ok","result":{}}'
}

# restart_guest: anew, and reached anew: a command is asked for once, and what goes by a link to the old one is lost.
restart_guest() {
	inside systemctl restart space-guest
	assert_served
}

# restarted UNIT COUNT: has it been started again, more often than that, and is it active?
restarted() {
	local now
	now=$(properties "$1" NRestarts ActiveState)
	[ "${now% *}" -gt "$2" ] && [ "${now#* }" = active ]
}

@test "every unit is there, enabled ones are active, and none has failed" {
	run -0 inside systemctl is-system-running --wait
	assert_output running
	run -0 inside systemctl is-active space-{signer,cache,manager,node-api,http}.socket space-{keys,prune}.timer \
		space-guest space-host@s-42 space-cache space-manager space-signer space-http
	run -0 inside systemctl list-unit-files --no-legend 'space*'
	assert_equal "${#lines[@]}" "$(find "$ROOT/lib/systemd" -name 'space-*.*' -type f | wc -l)"
}

# unwell CODE: what the doctor finds, but for the clock, which is the host's.
unwell() {
	run -"$1" inside space-doctor -q
	output=$(grep -v 'clock: it is not synchronized' <<<"$output") || :
}

@test "the doctor says of the clock what the kernel says of it" {
	local state=warning
	# As systemd asks: no error bound below that of a clock that nobody looks after (struct timex, maxerror).
	python3 -c 'import ctypes
t = ctypes.create_string_buffer(512)
ctypes.CDLL(None).adjtimex(t)
raise SystemExit(ctypes.c_long.from_buffer(t, 24).value >= 16000000)' && state=ok
	inside space-doctor -o json >"$BATS_TEST_TMPDIR/found" || :
	assert_equal "$(jq -r 'select(.check == "clock") | .state' "$BATS_TEST_TMPDIR/found")" "$state"
}

@test "the doctor finds all well, and what it is told to find, and what it says mends it" {
	unwell 0
	assert_output ''
	inside systemctl disable --quiet space-signer.socket
	inside systemctl stop space-cache.socket
	run -1 inside space-doctor -q -o json
	run jq -r 'select(.check == "units") | "\(.state) \(.message); \(.mend)"' <<<"$output"
	assert_output 'warning space-signer.socket is disabled: it does not come back after a boot; systemctl enable space-signer.socket
failure space-cache.socket is inactive; systemctl enable --now space-cache.socket'
	inside systemctl enable --quiet space-signer.socket
	inside systemctl enable --now --quiet space-cache.socket
	container_drop_in space-keys-fetch.service '[Service]' 'ExecStart=' 'ExecStart=/bin/false'
	run -1 inside systemctl start space-keys-fetch.service
	unwell 1
	assert_output "failure  units: space-keys-fetch.service has failed: journalctl -u space-keys-fetch.service says why; mend: systemctl \
restart space-keys-fetch.service"
	container_restore space-keys-fetch.service
	inside systemctl restart space-keys-fetch.service
	inside systemctl kill --signal KILL space-host@s-42
	eventually is failed property space-host@s-42 ActiveState
	run -1 inside space-doctor -q -o json
	run -0 jq -r 'select(.check == "processes").mend' <<<"$output"
	assert_output --regexp '^systemctl restart space-host@s-42 && sandbox activate s-42 --execution 7 .* --bridge-pid \$\(systemctl show'
	run -0 inside bash -c "$output"
	inside spacestream list >/dev/null
	unwell 0
	assert_output ''
	assert_served
}

@test "a request goes through the socket of node-api to the guest, and is answered" {
	assert_served
}

@test "the caller is whoever connects" {
	ask file.read '{"path":"/etc/debian_version"}' runuser -u daemon --
	assert_output '{"id":"1","status":"refused","decision":"deny","reason":"unauthorized","hop":"node-api"}'
}

@test "the owner of a token is served over HTTP, by a process that has but the way to cache, signer and manager" {
	inside systemctl stop space-http.service
	assert_web_served
	run -0 web /v1/ops -w '%{http_code}' -d '{}' -H 'Content-Type: application/json'
	assert_output $'{"status":"refused","decision":"deny","reason":"unauthorized","hop":"node-api"}\n401'
	run -0 web_ops exec.list -w '%{http_code}'
	assert_output $'{"status":"refused","decision":"deny","reason":"unauthorized","hop":"node-api"}\n403'
	assert_confined space-http 0000000000000000
	run -1 seen_by space-http touch /run/written
	run -0 seen_by space-http stat -c %a /var/lib/space /home
	assert_output $'0\n0'
	run -0 inside stat -c '%U %a' "$(process space-http)" /run/space-http.sock
	assert_output $'space-api 555\nroot 666'
}

# web_tls: as web_ops, in the machine's network.
web_tls() {
	timeout 120 nsenter --target "$LEADER" --net curl -sS --cacert "$BATS_TEST_TMPDIR/web.pem" -d '{"op":"ping","sandbox":"s-42","args":{}}' \
		-H "Authorization: Bearer $(<"$MACHINE/root/token")" -H 'Content-Type: application/json' https://127.0.0.1:8443/v1/ops
}

@test "with two drop-ins HTTP is served over TLS, and to nobody by packets from elsewhere" {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=web -addext subjectAltName=IP:127.0.0.1 \
		-keyout "$BATS_TEST_TMPDIR/web.key" -out "$BATS_TEST_TMPDIR/web.pem" 2>/dev/null
	cp "$BATS_TEST_TMPDIR"/web.{pem,key} "$MACHINE/etc/space"
	inside chown space-api /etc/space/web.key
	inside chmod 600 /etc/space/web.key
	container_drop_in space-http.socket '[Socket]' ListenStream= ListenStream=127.0.0.1:8443
	container_drop_in space-http.service '[Service]' ExecStart= \
		'ExecStart=/usr/bin/node-api --http --agent /run/space/signer.sock --tls-cert /etc/space/web.pem --tls-key /etc/space/web.key'
	inside systemctl stop space-http.service
	inside systemctl restart space-http.socket
	run -0 web_tls
	assert_output '{"status":"ok","result":{}}'
	assert_equal "$(property space-http IPAddressDeny | tr " " "\n" | sort)" $'0.0.0.0/0\n::/0'
	inside systemctl stop space-http.service
	container_restore space-http.socket
	container_restore space-http.service
	inside rm /etc/space/web.pem /etc/space/web.key
	inside systemctl restart space-http.socket
	inside systemctl start space-http.service
	assert_web_served
}

@test "the first request starts signer, cache and manager" {
	inside systemctl stop space-{signer,cache,manager}.service
	run -3 inside systemctl is-active space-{signer,cache,manager}.service
	assert_output $'inactive\ninactive\ninactive'
	assert_served
	run -0 inside systemctl is-active space-{signer,cache,manager}.service
}

@test "signer, cache, manager, HTTP and agent are started again after kill -9" {
	local unit before=()

	for unit in space-{signer,cache,manager,http,guest}; do
		before+=("$(property "$unit" NRestarts)")
		inside systemctl kill --signal KILL "$unit"
	done
	for unit in space-{signer,cache,manager,http,guest}; do
		eventually restarted "$unit" "${before[0]}"
		before=("${before[@]:1}")
	done
	assert_served
	assert_web_served
}

@test "a bridge that was killed does not come back; a new one is refused until it is enrolled" {
	inside systemctl kill --signal KILL space-host@s-42
	eventually is failed property space-host@s-42 ActiveState
	ask ping '{}'
	assert_output '{"id":"1","status":"refused","decision":"deny","reason":"listener-replaced","hop":"sbx-manager"}'
	inside systemctl start space-host@s-42
	ask ping '{}'
	assert_output '{"id":"1","status":"refused","decision":"deny","reason":"listener-replaced","hop":"sbx-manager"}'
	activate
	assert_served
}

@test "a server reloads when it is told to, and goes on" {
	local unit before

	assert_served
	for unit in space-{signer,cache,manager,http,guest} space-host@s-42; do
		before=$(property "$unit" MainPID)
		inside systemctl reload "$unit"
		until [ "$(property "$unit" SubState)" != reload ]; do :; done
		assert_equal "$unit $(property "$unit" SubState) $(property "$unit" MainPID)" "$unit running $before"
	done
	assert_served
}

# pings UNIT: when it was last heard of, in a watched unit.
pings() {
	property "$1" WatchdogTimestampMonotonic
}

@test "a server whose loop hangs is killed and, but for a bridge, started again" {
	local unit last before=() units=(space-{signer,cache,manager,http} space-host@s-42)

	for unit in "${units[@]}"; do
		container_drop_in "$unit.service" '[Service]' WatchdogSec=3s
	done
	inside systemctl restart "${units[@]}"
	activate
	for unit in "${units[@]}"; do
		last=$(pings "$unit")
		eventually is_not "$last" pings "$unit"
	done
	assert_served
	for unit in "${units[@]}"; do
		before+=("$(property "$unit" NRestarts)")
		inside systemctl kill --signal STOP "$unit"
	done
	for unit in space-{signer,cache,manager,http}; do
		eventually restarted "$unit" "${before[0]}"
		before=("${before[@]:1}")
	done
	eventually is failed property space-host@s-42 ActiveState
	assert_equal "$(property space-host@s-42 Result)" watchdog
	for unit in "${units[@]}"; do
		container_restore "$unit.service"
	done
	inside systemctl restart "${units[@]}"
	activate
	assert_served
}

# seen_by UNIT COMMAND...: what root sees, or may do, where this unit's process is.
seen_by() {
	inside nsenter --target "$(property "$1" MainPID)" --mount -- "${@:2}"
}

# assert_confined UNIT CAPABILITIES: it has exactly these, can get no others, and writes nothing outside of its own.
assert_confined() {
	local unit=$1 set place

	for set in CapPrm CapEff CapBnd; do
		assert_equal "$unit $set $(status "$unit" "$set")" "$unit $set $2"
	done
	assert_equal "$unit $(status "$unit" CapInh)" "$unit $(status "$unit" CapAmb)"
	assert_equal "$unit $(status "$unit" NoNewPrivs) $(status "$unit" Seccomp)" "$unit 1 2"
	for place in /etc /usr /boot; do
		run -1 seen_by "$unit" touch "$place/written"
		assert_output --partial 'Read-only file system'
	done
}

# namespaces KIND /proc/PID...: in how many they are.
namespaces() {
	local kind=$1 pids=("${@:2}")

	inside readlink "${pids[@]/%//ns/$kind}" | sort -u | wc -l
}

@test "signer and cache have no capability and write nowhere else" {
	assert_confined space-signer 0000000000000000
	assert_confined space-cache 0000000000000000
	run -0 namespaces net /proc/1 "$(process space-signer)"
	assert_output 2
	run -1 seen_by space-signer touch /var/lib/space/written
	run -0 seen_by space-cache stat -c %a /var/lib/space/records /var/lib/space/keys /home
	assert_output $'0\n0\n0'
	run -0 inside sh -c 'cd /proc && stat -c %U $(pidof spacecap) $(pidof spacerouted)'
	assert_output $'space-signer\nspace-cache'
}

@test "a command in the guest gets no capability, no other user, no namespace, no writable system" {
	assert_confined space-guest 0000000000000000
	ask exec.run '{"argv":["/bin/sh","-c","id -un; grep ^CapBnd /proc/self/status; unshare --user true; touch /etc/x; su root"]}'
	assert_json '.status == "ok" and .result.stdout.text == "space-guest\nCapBnd:\t0000000000000000\n"'
	assert_json '.result.stderr.text | contains("unshare failed: Operation not permitted") and
		contains("/etc/x'\''") and contains("Read-only file system")'
	assert_json '.result.exit != 0'
}

@test "the drop-in that the agent's unit shows makes commands in the guest root's" {
	local lines=()

	readarray -t lines < <(sed -n 's/^#   //p' "$ROOT/lib/systemd/space-guest.service")
	container_drop_in space-guest.service "${lines[@]}"
	restart_guest
	ask exec.run '{"argv":["/bin/sh","-c","id -un; chown daemon /root && stat -c %U /root; chown root /root"]}'
	assert_json '.result.stdout.text == "root\ndaemon\n" and .result.exit == 0'
	container_restore space-guest.service
	restart_guest
	ask exec.run '{"argv":["/usr/bin/id","-un"]}'
	assert_json '.result.stdout.text == "space-guest\n"'
}

@test "manager and bridge hold what attestation needs and nothing more" {
	local vmm manager host

	# CAP_SYS_PTRACE, CAP_SYS_ADMIN, and CAP_DAC_READ_SEARCH or CAP_DAC_OVERRIDE.
	assert_confined space-manager 0000000000280004
	assert_confined space-host@s-42 0000000000280002
	run -1 seen_by space-manager touch /run/written /var/lib/space/keys/written
	run -1 seen_by space-host@s-42 touch /run/written /var/lib/space/used/written
	run -0 inside sh -c 'cd /proc && stat -c %U $(pidof spacebridge) | sort | uniq -c | xargs'
	assert_output '1 space-guest 2 space-node'
	vmm=$(process vmm) manager=$(process space-manager) host=$(process space-host@s-42)
	run -0 namespaces net "$vmm" "$manager" "$host"
	assert_output 3
	run -0 namespaces user /proc/1 "$vmm" "$manager" "$host"
	assert_output 1
	inside systemctl restart space-manager
	assert_served
}

# port_capability: for the guest's port 7070.
port_capability() {
	local options=()

	readarray -t options < <(inside spaceid show s-42 -o json | jq -r '.route | to_entries[] |
		"--" + (.key | gsub("_"; "-")), (.value | tostring)')
	spacecap mint -k "$MACHINE/etc/space/signer.key" --realm space --sandbox s-42 "${options[@]}" --caller uid:0 \
		--purpose service-port --port 7070 --protocol tcp
}

@test "the gateway of a sandbox serves a port of its guest, to who connects there and through the manager" {
	local gateway=space-gateway@s-42 request

	inside systemctl start port.socket "$gateway.socket" "$gateway.service"
	assert_confined "$gateway" 0000000000280002
	run -1 seen_by "$gateway" touch /run/written /var/lib/space/keys/written
	run -0 inside talk /run/space/gateway/s-42.sock \
		send "{\"cap\":\"$(port_capability)\",\"port\":7070,\"protocol\":\"tcp\"}\\n" line \
		send 'hello\n' expect 'hello\n' shut end
	assert_json '.status == "open"'
	request="{\"id\":\"1\",\"op\":\"port.connect\",\"sandbox\":\"s-42\",\"args\":{\"port\":7070,\"protocol\":\"tcp\"}"
	run -0 inside runuser -u space-api -- framed /run/space/manager.sock "$request,\"cap\":\"$(port_capability)\"}" \
		send 'hello\n' until 'hello\n' end rest
	assert_line --index 0 --partial '"status":"open"'
	assert_line --index 1 hello
	assert_line --index 2 '{"exit":0}'
	# Nobody is told by packets from elsewhere; its socket is systemd's, and stays when the service goes.
	# systemd keeps them as a set.
	assert_equal "$(property "$gateway" IPAddressDeny | tr " " "\n" | sort)" $'0.0.0.0/0\n::/0'
	inside systemctl kill --signal KILL "$gateway.service"
	until [ "$(property "$gateway" NRestarts) $(property "$gateway" ActiveState)" = '1 active' ]; do :; done
	run -0 inside talk /run/space/gateway/s-42.sock \
		send "{\"cap\":\"$(port_capability)\",\"port\":7070,\"protocol\":\"tcp\"}\\n" line shut end
	assert_json '.status == "open"'
	inside systemctl stop "$gateway.socket" "$gateway.service" port.socket
	assert_served
}

@test "a VMM that was started again is refused" {
	inside systemctl restart vmm
	ask ping '{}'
	assert_output '{"id":"1","status":"refused","decision":"deny","reason":"listener-replaced","hop":"spaced-host"}'
	activate
	assert_served
}

@test "a caller's pipeline is confined, and callers above MaxConnections are turned away" {
	local unit

	container_drop_in space-node-api.socket '[Socket]' MaxConnections=1
	inside systemctl restart space-node-api.socket
	mkfifo "$MACHINE/srv/held" "$MACHINE/srv/until"
	inside talk /run/space-node-api.sock send '{"op":"ping","sandbox":"s-42","args":{}}\n' line go /srv/held \
		wait /srv/until 3>&- >"$BATS_TEST_TMPDIR/answer" &
	timeout 60 head -n 1 "$MACHINE/srv/held"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/answer")" '{"status":"ok","result":{}}'
	unit=$(inside systemctl list-units --plain --no-legend 'space-node-api@*' | cut -d ' ' -f 1)
	assert_confined "$unit" 0000000000000000
	run -0 seen_by "$unit" stat -c %a /var/lib/space /home
	assert_output $'0\n0'
	run -0 inside talk /run/space-node-api.sock end
	echo >"$MACHINE/srv/until"
	wait $!
	container_restore space-node-api.socket
	inside systemctl restart space-node-api.socket
	assert_served
}

# link_configure: both ends of a link on this one machine, with certificates as in space-link(7).
link_configure() {
	local place=$MACHINE/etc/space/link examples=$MACHINE/usr/share/doc/space-tools/examples

	(
		cd "$place" || exit
		run_examples "$ROOT/man/space-link.7"
		rm ./*.csr ./*.ext ca.key
	)
	sed 's/192\.0\.2\.2/127.0.0.1/' "$examples/link-control.conf" >"$place/worker-b.conf"
	sed 's/192\.0\.2\.2/127.0.0.1/' "$examples/link-worker.conf" >"$place/control.conf"
	inside systemd-tmpfiles --create
}

# served_at SOCKET: is published of s-42.
served_at() {
	inside spacerouted resolve -o json s-42 | jq -c --arg at "unix:$1" '{sandbox, route, endpoint: $at}' |
		inside spacerouted publish >/dev/null
}

# soon_served: as soon as the cache has heard of it, and the link is up.
soon_served() {
	local end=$((SECONDS + 60))

	until ask ping '{}' && [ "$output" = '{"id":"1","status":"ok","result":{}}' ]; do
		[ "$SECONDS" -lt "$end" ] || fail "$output"
	done
}

@test "a link carries the manager's socket, by a user of its own who is confined" {
	link_configure
	inside systemctl start space-link@control space-link@worker-b
	assert_confined space-link@control 0000000000000000
	assert_confined space-link@worker-b 0000000000000000
	inside sed -i.without '/^\[manager\]/,/^$/s/space-node\|space-api/space-link/' /etc/space/space.ini
	inside systemctl restart space-manager
	ask ping '{}'
	assert_json '.error == "transport" and (.message | contains("none of [manager] uid"))'
	served_at /run/space-link/worker-b/manager.sock
	soon_served
	inside systemctl kill -s KILL space-link@worker-b
	soon_served
	run -0 inside stat -c '%U:%G %a' /run/space-link/worker-b /run/space-link/worker-b/manager.sock
	assert_output $'space-link:space-api 750\nspace-link:space-api 770'
	inside mv /etc/space/space.ini.without /etc/space/space.ini
	inside systemctl stop space-link@control space-link@worker-b
	inside systemctl restart space-manager
	served_at /run/space/manager.sock
	soon_served
}

# record SANDBOX: another runtime record.
record() {
	local route='{"execution":3,"worker":"worker-a","substrate":"host","activation":"a","attempt":1}'

	echo "{\"sandbox\":\"$1\",\"owner\":\"op\",\"route\":$route}" | inside spaceid install >/dev/null
}

# tombstone SANDBOX: what is left of it.
tombstone() {
	inside spaceid retire --sandbox "$1" --execution 3 >/dev/null
}

@test "the hook runs for each change of a record" {
	local hook=$MACHINE/etc/space/record-changed

	mkfifo -m 666 "$MACHINE/srv/changes"
	printf '%s\n' '#!/bin/sh' 'cat >/srv/changes' >"$hook"
	chmod 755 "$hook"
	inside systemctl start space-records.path
	assert_equal "$(property space-records.service ActiveState)" inactive
	record s-7
	exec 4<>"$MACHINE/srv/changes"
	read -r -t 60 -u 4 line
	assert_equal "$line" '{"gap":true}'
	tombstone s-7
	until [[ $line == *retired* ]]; do
		read -r -t 60 -u 4 line
	done
	run -0 jq -c '[.sandbox, .effect]' <<<"$line"
	assert_output '["s-7","retired"]'
	inside systemctl stop space-records.path
	eventually is inactive property space-records.service ActiveState
	rm "$hook"
}

# elapse TIMER: soon, and once.
elapse() {
	container_drop_in "$1" '[Timer]' OnActiveSec= OnUnitInactiveSec= OnCalendar= OnActiveSec=1ms AccuracySec=1ms \
		RandomizedDelaySec=0
	inside systemctl restart "$1"
}

@test "the timer of the keys fetches and installs the bundle that is offered" {
	publish_keys 2
	elapse space-keys.timer
	serial() { inside spacecap bundle list -o json /var/lib/space/keys | jq -s '.[0].serial'; }
	eventually is 2 serial
	assert_served
	publish_keys 1
	run -1 inside systemctl start space-keys.service
	assert_equal "$(property space-keys ExecMainStatus)" 14
	inside systemctl reset-failed space-keys
}

@test "the timer of pruning takes away what has no route, by the list of routes" {
	record s-8
	tombstone s-8
	container_drop_in space-prune.service '[Service]' ExecStart= \
		'ExecStart=/usr/bin/spaceid prune --routes /run/space-routes/list --older-than 0'
	elapse space-prune.timer
	pruned() { ! inside spaceid show s-8 >/dev/null 2>&1; }
	eventually pruned
	run -1 inside spaceid show s-8
	assert_output --partial 'no record'
	assert_served
}

@test "nothing is pruned without a list of routes" {
	container_drop_in space-routes.service '[Service]' ExecStart= ExecStart=/bin/false
	record s-9
	tombstone s-9
	run -1 inside systemctl start space-prune.service
	assert_output --partial dependency
	inside spaceid show s-9 >/dev/null
	container_restore space-routes.service
	inside systemctl reset-failed space-routes
}

@test "a unit that stops takes away none of the directories that others share" {
	inside systemctl stop space-{signer,cache,manager,node-api,http}.socket space-{signer,cache,manager,http}.service
	run -0 inside stat -c '%n %U:%G %a' /run/space /run/space/{bridge,leases} /var/lib/space /var/lib/space/{records,keys,used}
	assert_output "/run/space root:space 750
/run/space/bridge space-node:space 750
/run/space/leases space-node:space 750
/var/lib/space root:space-cache 1771
/var/lib/space/records space-node:space-node 750
/var/lib/space/keys root:root 755
/var/lib/space/used space-node:space-node 700"
	run -0 inside find /run /run/space -maxdepth 1 -type s -path '/run/space*'
	assert_output ''
	inside systemctl start space-{signer,cache,manager,node-api,http}.socket
	assert_served
	assert_web_served
}
