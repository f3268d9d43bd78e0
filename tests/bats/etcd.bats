#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2034,SC2153,SC2154
# What only a cluster has: TLS with certificates, members that fail, a history that is compacted.

load helper
load spacerouted
load backend

setup() {
	space_setup
	BATS_FILE_TMPDIR=$BATS_TEST_TMPDIR # each test has members of its own
}

teardown() {
	backend_end
	stop_all
}

# answers FILE N: are there so many lines by now?
answers() {
	[ "$(grep -c . "$1")" -ge "$2" ]
}

# certificates: an authority, a server's certificate for each member named, a client's, and a stranger's.
certificates() {
	local name
	cd "$BATS_TEST_TMPDIR" || return
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
		-keyout authority.key -out authority.pem 2>/dev/null
	cp authority.pem stranger-authority.pem
	for name in "$@" client; do
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -keyout "$name.key" -out "$name.csr" 2>/dev/null
		printf 'subjectAltName = IP:%s\nextendedKeyUsage = serverAuth, clientAuth\n' "$(etcd_address "$name")" >"$name.ext"
		openssl x509 -req -in "$name.csr" -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile "$name.ext" -out "$name.pem" 2>/dev/null
	done
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=stranger \
		-keyout stranger.key -out stranger.pem 2>/dev/null
	chmod 600 ./*.key
}

@test "https with a client's certificate; without it, with a stranger's, or at a stranger's server nothing is said" {
	certificates one
	at=$(etcd_address one)
	etcd_start one --listen-client-urls "https://$at:2379" --advertise-client-urls "https://$at:2379" \
		--cert-file one.pem --key-file one.key --client-cert-auth --trusted-ca-file authority.pem
	eventually curl -fsS -o /dev/null --cacert authority.pem --cert client.pem --key client.key "https://$at:2379/health" 2>/dev/null
	settings() {
		printf '[space]\nstate_dir = %s\nrun_dir = %s\n[registry]\nurl = etcd:https://%s:2379\ntls_ca = %s\n' "$STATE" "$RUN" "$at" "$PWD/$1"
		echo 'timeout_ms = 60000'
		[ -z "${2:-}" ] || printf 'tls_cert = %s\ntls_key = %s\n' "$PWD/$2.pem" "$PWD/$2.key"
	}
	settings authority.pem client >"$SPACE_CONFIG"
	run -0 publish s-42 7
	assert_json '.effect == "replaced" and .revision == 1'
	start cache spacerouted serve
	spacerouted grant -p "$ME" -s '*' --ops ping >/dev/null
	run -0 cache get s-42 --op ping
	assert_json '.effect == "filled" and .route.execution == 7'
	for case in 'authority.pem' 'authority.pem stranger' 'stranger.pem client'; do
		# shellcheck disable=SC2086 # words
		settings $case >"$SPACE_CONFIG"
		run -1 spacerouted resolve s-42
		assert_output --partial "registry etcd:https://$at:2379: "
	done
	chmod 644 client.key
	settings authority.pem client >"$SPACE_CONFIG"
	run -3 spacerouted resolve s-42
	assert_output --partial 'client.key'
}

# three MEMBER...: starts a cluster of them and sets URL.
three() {
	local name cluster=''
	URL=etcd:http://
	for name in "$@"; do
		cluster=$cluster${cluster:+,}$name=http://$(etcd_address "$name"):2380
		URL=$URL$(etcd_address "$name"):2379,
	done
	URL=${URL%,}/space
	for name in "$@"; do etcd_start "$name" --initial-cluster "$cluster" --heartbeat-interval 100 --election-timeout 1500; done
	for name in "$@"; do etcd_await "$name"; done
}

# leader: the name of the member that leads. Now and then none does, when the machine is busy.
leader() { eventually leader_now; }
leader_now() {
	local name
	for name in one two three; do
		curl -fsS --max-time 10 "http://$(etcd_address "$name"):2379/v3/maintenance/status" -d '{}' 2>/dev/null |
			is_json '.leader == .header.member_id' && echo "$name" && return
	done
	return 1
}

@test "a cluster of three serves on when a member dies, be it the leader or the first in the list, and when it is back" {
	three one two three
	echo "url = $URL" >>"$SPACE_CONFIG"
	spacerouted grant -p "$ME" -s '*' --ops ping >/dev/null
	publish s-42 1 >/dev/null
	start cache spacerouted serve
	cache get s-42 --op ping
	spacerouted watch >"$BATS_TEST_TMPDIR/watch" 3>&- &
	echo $! >"$BATS_TEST_TMPDIR/watch.pid"
	disown $!
	eventually answers "$BATS_TEST_TMPDIR/watch" 1
	execution=1
	leads=$(leader)
	for victim in one "$leads"; do
		etcd_stop "$victim"
		execution=$((execution + 1))
		run -0 publish s-42 "$execution"
		assert_json '.effect == "replaced"'
		run -0 spacerouted resolve s-42
		assert_json ".route.execution == $execution"
		# The watch of each goes on with another member: nothing is missed.
		eventually gives_json ".effect == \"hit\" and .route.execution == $execution" cache get s-42 --op ping
		eventually answers "$BATS_TEST_TMPDIR/watch" "$execution"
		etcd_start "$victim" --initial-cluster-state existing --heartbeat-interval 100 --election-timeout 1500
		etcd_await "$victim"
	done
	assert_equal "$(tail -n +2 "$BATS_TEST_TMPDIR/watch" | jq -c .route.execution | xargs)" '2 3'
	# Two of three: nobody can say what is true, and nobody does.
	etcd_stop two
	etcd_stop three
	within 1000
	run -1 spacerouted resolve s-42
	run -1 publish s-42 9
	assert_output --partial 'spacerouted: publish: registry etcd:http://'
}

@test "after a compaction watch says that it cannot resume, and lists everything" {
	etcd_start one
	etcd_await one
	echo "url = etcd:http://$(etcd_address one):2379" >>"$SPACE_CONFIG"
	for n in 1 2 3; do publish s-1 $n; done
	now=$(curl -fsS "http://$(etcd_address one):2379/v3/kv/range" -d '{"key":"eA=="}' | jq -r .header.revision)
	curl -fsS "http://$(etcd_address one):2379/v3/kv/compaction" -d "{\"revision\":\"$now\",\"physical\":true}"
	spacerouted watch --from 1 >"$BATS_TEST_TMPDIR/watch" 3>&- &
	echo $! >"$BATS_TEST_TMPDIR/watch.pid"
	disown $!
	eventually answers "$BATS_TEST_TMPDIR/watch" 3
	assert_equal "$(jq -c '[.event, .from, .sandbox, .revision]' "$BATS_TEST_TMPDIR/watch")" '["watching",null,null,1]
["resync",1,null,3]
[null,null,"s-1",3]'
	publish s-1 4
	eventually answers "$BATS_TEST_TMPDIR/watch" 4
}

@test "watch says once that no member answers, and once that one does again" {
	etcd_start one
	etcd_await one
	echo "url = etcd:http://$(etcd_address one):2379" >>"$SPACE_CONFIG"
	# After so long it is said.
	within 3000
	publish s-1 1
	spacerouted watch >"$BATS_TEST_TMPDIR/watch" 2>"$BATS_TEST_TMPDIR/watch.err" 3>&- &
	echo $! >"$BATS_TEST_TMPDIR/watch.pid"
	disown $!
	eventually answers "$BATS_TEST_TMPDIR/watch" 1
	for round in 1 2; do
		etcd_stop one
		eventually answers "$BATS_TEST_TMPDIR/watch.err" $((2 * round - 1))
		etcd_start one
		etcd_await one
		eventually answers "$BATS_TEST_TMPDIR/watch.err" $((2 * round))
		eventually gives 0 publish s-1 $((round + 1))
		eventually answers "$BATS_TEST_TMPDIR/watch" $((round + 1))
	done
	away='spacerouted: watch: the registry does not answer; what changes is told when it does'
	back='spacerouted: watch: the registry answers again'
	assert_equal "$(cat "$BATS_TEST_TMPDIR/watch.err")" "$(printf '%s\n' "$away" "$back" "$away" "$back")"
	assert_equal "$(jq -c '[.event, .revision]' "$BATS_TEST_TMPDIR/watch" | xargs)" '[watching,1] [null,2] [null,3]'
}

@test "a cache leaves the member that hangs with its watch, and misses nothing" {
	three one two three
	echo "url = $URL" >>"$SPACE_CONFIG"
	publish s-42 1
	spacerouted grant -p "$ME" -s 's-*' --ops ping
	spacerouted grant -p uid:4711 -s 's-*' --ops ping
	# So long it waits for a watch to begin.
	within 6000
	start cache spacerouted serve
	eventually gives 0 cache get s-42
	eventually gives 0 spacerouted cache get --caller uid:4711 -s s-42
	kill -STOP "$(cat "$BATS_TEST_TMPDIR/one.pid")"
	eventually gives 0 publish s-42 2
	eventually gives 0 spacerouted revoke -p uid:4711
	executes() { [ "$(cache get s-42 | jq "$1")" = "$2" ]; }
	eventually executes .route.execution 2
	eventually gives 11 spacerouted cache get --caller uid:4711 -s s-42
	[ "$(counter expired)" -eq 0 ]
}

@test "a member that hangs costs its share of the time limit, no more" {
	three one two three
	echo "url = $URL" >>"$SPACE_CONFIG"
	publish s-42 1
	# Where it led, the other two elect a leader first.
	within 12000
	kill -STOP "$(cat "$BATS_TEST_TMPDIR/one.pid")"
	run -0 spacerouted resolve s-42
	assert_json '.route.execution == 1'
}
