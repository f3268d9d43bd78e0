# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2154
# A control plane and a worker on two hosts, the manager's socket carried over TLS as space-link(7) says: who may speak
# through the link, and what becomes of requests and streams when it breaks. LONG=1: its thousand requests are asked by
# `spacerouted call` instead of node-api.
load helper
load path
load man
load two-hosts

export BATS_TEST_TIMEOUT=300

setup() {
	[ "$(id -u)" -eq 0 ] || skip_or_fail 'root, to make network namespaces,'
	command -v stunnel4 >/dev/null || skip_or_fail stunnel4
	ip netns list >/dev/null 2>&1 || skip_or_fail 'ip netns'
	hosts_make
}

teardown() {
	[ -z "${WORLD:-}" ] || hosts_end
}

# api: node-api on the control plane's host.
api() {
	"${ON_CONTROL[@]}" node-api
}

# ask OP [ARGS] [ID]: an asked record.
ask() {
	printf '{"id":"%s","op":"%s","sandbox":"s-42","args":%s}\n' "${3:-r1}" "$1" "${2:-{\}}"
}

# decided: operations that the manager has decided, as "op decision reason".
decided() {
	jq -r 'select(.op) | "\(.op) \(.decision) \(.reason // "-")"' "$WORLD/manager-b.err"
}

# refused_by END WORDS: callers see a broken link, nothing has reached the manager, and for each attempt this end's log
# has the words: two of what may be repeated; of a command one, or two where the link had ended before it was given any.
refused_by() {
	local before count

	before=$(decided | wc -l)
	run -1 api < <(ask ping)
	assert_json '.status == "error" and .error == "transport" and .id == "r1"'
	run -1 api < <(ask exec.run '{"argv":["/bin/sh","-c","echo ran >>/runs"]}')
	assert_json '.status == "error" and .error == "transport" and .id == "r1"'
	assert_equal "$(decided | wc -l)" "$before"
	count=$(grep -c "$2" "$WORLD/link-$1.log")
	[ "$count" -eq 3 ] || [ "$count" -eq 4 ] || fail "$2: $count times: $(cat "$WORLD/link-$1.log")"
}

served() {
	run -0 api < <(ask file.read '{"path":"/etc/hostname"}')
	assert_output '{"id":"r1","status":"ok","result":{"size":4,"eof":true,"text":"one\n"}}'
}

@test "a request passes, by the link and by nothing else" {
	served
	run -0 api < <(ask exec.run '{"argv":["/bin/echo","there"]}')
	assert_json '.result.stdout.text == "there\n"'
	assert_equal "$(decided)" $'file.read match -\nexec.run match -'
	run -0 "${ON_CONTROL[@]}" spacerouted call < <(ask ping)
	assert_output '{"id":"r1","status":"ok","result":{}}'
	assert_equal "$(decided)" $'file.read match -\nexec.run match -\nping match -'
	# The manager serves the link's user only, and a sender speaks to the link's user only.
	ask ping | spacerouted route | spacecap mint | sed "s|/link/worker-b/|/b/run/|" >"$WORLD/direct"
	run -1 spacebridge send < <(cat "$WORLD/direct")
	assert_json '.error == "transport" and .sent == false and (.message | contains("[manager] allow_uids"))'
	sed -i 's/^uid = .*/uid = 4713/' "$WORLD/control.ini"
	run -1 api < <(ask ping)
	assert_json '.error == "transport" and .sent == false and (.message | contains("none of [manager] uid"))'
	assert_equal "$(decided)" $'file.read match -\nexec.run match -\nping match -'
}

@test "a certificate of another node, of another use, or revoked is refused, at either end" {
	# The control plane's end meets worker-c where worker-b should be.
	stop link-worker
	link_start worker control 's/worker-b\.\(pem\|key\)/worker-c.\1/'
	refused_by control 'CERT: Subject checks failed'
	# It would even were that name right, for the list of the revoked has it.
	stop link-control
	link_start control worker-b 's/^checkHost = .*/checkHost = worker-c/; s/^;CRLfile/CRLfile/'
	refused_by control 'certificate revoked'
	# The worker's end meets a node that is not the control plane; then one that says so, with a certificate for servers.
	stop link-worker
	link_start worker control
	stop link-control
	chown "$LINK_CONTROL_UID" "$WORLD/link/worker-b.key"
	link_start control worker-b 's/control\.\(pem\|key\)/worker-b.\1/'
	refused_by worker 'unsuitable certificate purpose'
	openssl x509 -req -in "$WORLD/link/worker-c.csr" -CA "$WORLD/link/ca.pem" -CAkey "$WORLD/link/ca.key" \
		-extfile <(sed 's/serverAuth/clientAuth/' "$WORLD/link/worker-c.ext") -out "$WORLD/link/worker-c.pem" 2>/dev/null
	chown "$LINK_CONTROL_UID" "$WORLD/link/worker-c.key"
	stop link-control
	link_start control worker-b 's/control\.\(pem\|key\)/worker-c.\1/'
	refused_by worker 'CERT: Subject checks failed'
	stop link-control
	link_start control worker-b
	served
}

@test "an unknown authority is refused at either end, and so is no certificate" {
	local node

	mkdir "$WORLD/link/other"
	cp "$WORLD/link/ca.pem" "$WORLD/link/ca.key" "$WORLD/link/other"
	(cd "$WORLD/link/other" && MACHINE=$WORLD run_examples "$ROOT/man/space-link.7") >/dev/null
	for node in control worker-b; do
		cp "$WORLD/link/other/$node.pem" "$WORLD/link/other-$node.pem"
		cp "$WORLD/link/other/$node.key" "$WORLD/link/other-$node.key"
	done
	chown "$LINK_CONTROL_UID" "$WORLD/link/other-control.key"
	chown "$LINK_WORKER_UID" "$WORLD/link/other-worker-b.key"
	stop link-control
	link_start control worker-b 's/control\.\(pem\|key\)/other-control.\1/'
	refused_by worker 'certificate verify failed'
	stop link-control
	link_start control worker-b '/^cert = /d; /^key = /d'
	refused_by worker 'peer did not return a certificate'
	stop link-control
	stop link-worker
	link_start control worker-b
	link_start worker control 's/worker-b\.\(pem\|key\)/other-worker-b.\1/'
	refused_by control 'certificate verify failed'
	stop link-worker
	link_start worker control
	served
}

# thousand: exec.run that leaves its number in the guest, and file.read, in turns. Those from 301 to 316 and from 701 to
# 716 are commands that have run and then wait at a gate, so that the link is cut with their answers outstanding.
thousand() {
	local i

	for ((i = 1; i <= 1000; i++)); do
		if [ $(((i - 1) % 400)) -ge 300 ] && [ $(((i - 1) % 400)) -lt 316 ] && [ "$i" -lt 800 ]; then
			ask exec.run "{\"argv\":[\"/bin/sh\",\"-c\",\"echo $i >>runs; echo >there; read go <gate\"],\"cwd\":\"/\"}" "$i"
		elif [ $((i % 2)) -eq 0 ]; then
			ask exec.run "{\"argv\":[\"/bin/sh\",\"-c\",\"echo $i >>runs\"],\"cwd\":\"/\"}" "$i"
		else
			ask file.read '{"path":"/etc/hostname"}' "$i"
		fi
	done
}

# answers_until N: takes answers up to number N.
answers_until() {
	while [ "$taken" -lt "$1" ] && read -r -u "$answers" line; do
		echo "$line" >>"$WORLD/out"
		taken=$((taken + 1))
	done
}

# at_the_gate: all sixteen have run and wait.
at_the_gate() {
	local i

	for ((i = 0; i < 16; i++)); do
		read -r -u "$there"
	done
}

# numbers FILTER: of the answers that it selects.
numbers() {
	jq -r "select($1) | .id" "$WORLD/out" | sort
}

# cut_twice COMMAND...: what asks, on the control plane's host.
cut_twice() {
	local taken=0 there gate answers line

	mkfifo "$WORLD"/guest-one/{gate,there} "$WORLD"/{answers,rest}
	exec {there}<>"$WORLD/guest-one/there" {gate}<>"$WORLD/guest-one/gate"
	thousand >"$WORLD/in"
	"${ON_CONTROL[@]}" "$@" --window 16 < <(
		head -n 716 "$WORLD/in"
		read -r <"$WORLD/rest"
		tail -n +717 "$WORLD/in"
	) >"$WORLD/answers" 2>"$WORLD/api.err" 3>&- &
	pid=$!
	exec {answers}<"$WORLD/answers"
	# The cable is pulled; the first answer after that is that time is up. Then it is put back.
	answers_until 300
	at_the_gate
	cable down
	answers_until 301
	cable up
	answers_until 316
	printf 'go\n%.0s' {1..16} >&"$gate"
	# The link's end at the worker dies, with the connection. The rest is asked when it is back.
	answers_until 700
	at_the_gate
	stop link-worker KILL
	link_start worker control
	answers_until 716
	printf 'go\n%.0s' {1..16} >&"$gate"
	echo >"$WORLD/rest"
	answers_until 1001
	exec {answers}<&-
	code=0
	wait "$pid" || code=$?
	assert_equal "$code $(cat "$WORLD/api.err")" '1 '

	# Each is answered once, in order.
	assert_equal "$(jq -r .id "$WORLD/out")" "$(seq 1000)"
	# What waited at the gate has run, and its answer was lost: an error that says so, and no second time.
	run jq -sc '[.[300:316], .[700:716]] | map(map([.status, .error, .sent]) | unique)' "$WORLD/out"
	assert_output '[[["error","timeout",true]],[["error","transport",true]]]'
	# Nothing else ended otherwise than well or by the link, and reading, which is repeated, ended well after a cut
	# connection.
	run jq -sc 'map(select(.status != "ok" and .error != "timeout" and .error != "transport"))' "$WORLD/out"
	assert_output '[]'
	run jq -sc '.[716:] | map(del(.result, .id)) | unique' "$WORLD/out"
	assert_output '[{"status":"ok"}]'
	# A command that ended well ran once; one that was not sent, not at all; no other more than once.
	sort "$WORLD/guest-one/runs" >"$WORLD/runs"
	assert_equal "$(uniq -d "$WORLD/runs")" ''
	assert_equal "$(comm -13 "$WORLD/runs" <(numbers '.status == "ok" and .result.exit == 0'))" ''
	assert_equal "$(comm -12 "$WORLD/runs" <(numbers '.sent == false'))" ''
	# No capability was spent on a third attempt.
	run jq -n '[inputs | select(.op == "file.read")] | length' "$WORLD/manager-b.err"
	assert [ "$output" -le $((2 * 484)) ]
}

@test "a thousand requests over a link that is cut twice: each is answered once and runs as often as the table says" {
	if [ -z "${LONG:-}" ]; then
		cut_twice node-api
	else
		cut_twice spacerouted call
	fi
}

@test "a stream is cut with the link, and attached again once, to the same session" {
	local sooner='s/TCP_KEEPIDLE=.*/TCP_KEEPIDLE=1/; s/TCP_KEEPINTVL=.*/TCP_KEEPINTVL=1/'

	# What space-link(7) says of a dead network, but sooner.
	"${ON_CONTROL[@]}" sysctl -qw net.ipv4.tcp_retries2=4
	"${ON_WORKER[@]}" sysctl -qw net.ipv4.tcp_retries2=4
	stop link-worker
	stop link-control
	link_start worker control "$sooner"
	link_start control worker-b "$sooner"
	mkfifo "$WORLD/in" "$WORLD/out"
	"${ON_CONTROL[@]}" spacestream attach s-42 --exec -- \
		sh -c 'i=0; while read -r word; do i=$((i+1)); echo "$i $word"; done' <"$WORLD/in" >"$WORLD/out" 2>"$WORLD/err" 3>&- &
	pid=$!
	exec {in}>"$WORLD/in" {out}<"$WORLD/out"
	echo before >&"$in"
	read -r -u "$out" line
	assert_equal "$line" '1 before'
	# Noticed at both ends: by keep-alive, or where something is on its way by its repetition.
	cable down
	eventually has "$WORLD/err" 'waiting for a newer route'
	ended_there() { ! grep -q sbx-manager < <("${ON_WORKER[@]}" spacestream list -c "$WORLD/b.ini" -o json); }
	eventually ended_there
	hosts_activate 2
	cable up
	eventually has "$WORLD/err" 'attached again'
	echo after >&"$in"
	read -r -u "$out" line
	assert_equal "$line" '2 after'
	# A second cut is the end. The session goes on.
	stop link-worker KILL
	exits_with 12 "$pid"
	assert_equal "$(cat <&"$out")" ''
	run cat "$WORLD/err"
	assert_line -n 0 'spacestream: attach: s-42: cut from execution 7; waiting for a newer route'
	assert_line -n 1 'spacestream: attach: s-42: attached again: execution 7 attempt 2, before 7 attempt 1'
	assert_line -n 2 --regexp '^spacestream: attach: s-42: session [0-9a-f]{32} was cut'
	link_start worker control
	run -0 api < <(ask exec.list)
	session=$(jq -r '.result.sessions[0].session' <<<"$output")
	run -0 "${ON_CONTROL[@]}" spacestream attach s-42 "$session" </dev/null
	assert_output $'1 before\n2 after'
}

@test "new certificates count after a reload, which cuts nothing" {
	local in out line before

	mkfifo "$WORLD/in" "$WORLD/out"
	api <"$WORLD/in" >"$WORLD/out" 3>&- &
	pid=$!
	exec {in}>"$WORLD/in" {out}<"$WORLD/out"
	ask ping >&"$in"
	read -r -u "$out" line
	# The worker has another name from now on; nobody new comes in, until the control plane knows.
	cp "$WORLD/link/worker-c.pem" "$WORLD/link/worker-b.pem"
	cat "$WORLD/link/worker-c.key" >"$WORLD/link/worker-b.key"
	before=$(grep -c 'Configuration successful' "$WORLD/link-worker.log")
	kill -HUP "$(cat "$WORLD/link-worker.pid")"
	eventually is_not "$before" grep -c 'Configuration successful' "$WORLD/link-worker.log"
	refused_by control 'CERT: Subject checks failed'
	ask ping >&"$in"
	read -r -u "$out" line
	assert_equal "$line" '{"id":"r1","status":"ok","result":{}}'
	exec {in}>&-
	wait "$pid"
}
