# Shared by the bats files that run once for each backend of the registry: a file called *-etcd.bats has an etcd of its
# own, and each test its own prefix there; every other file has SQLite.
# shellcheck shell=bash disable=SC2034,SC2154

backend_is_etcd() {
	[[ $BATS_TEST_FILENAME == *-etcd.bats ]]
}

# etcd_address NAME: an address of this file's own on the loopback, so that ports can be the usual ones.
etcd_address() {
	local sum
	sum=$(printf '%s %s' "$1" "$BATS_FILE_TMPDIR" | cksum)
	sum=${sum%% *}
	echo "127.$((1 + sum % 250)).$((1 + sum / 250 % 250)).$((1 + sum / 62500 % 250))"
}

# etcd_start NAME [OPTION...]: a member, from its data if it has any; returns when it listens. Its pid is in NAME.pid of
# the file's directory.
etcd_start() {
	local name=$1 at
	shift
	at=$(etcd_address "$name")
	command -v etcd >/dev/null || skip_or_fail etcd
	etcd --name "$name" --data-dir "$BATS_FILE_TMPDIR/$name" --unsafe-no-fsync --logger zap \
		--listen-client-urls "http://$at:2379" --advertise-client-urls "http://$at:2379" \
		--listen-peer-urls "http://$at:2380" --initial-advertise-peer-urls "http://$at:2380" \
		--initial-cluster "$name=http://$at:2380" "$@" >>"$BATS_FILE_TMPDIR/$name.log" 2>&1 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/$name.pid"
	disown $!
}

# etcd_stop NAME [SIGNAL]
etcd_stop() {
	local pid
	pid=$(cat "$BATS_FILE_TMPDIR/$1.pid")
	kill "-${2:-KILL}" "$pid" 2>/dev/null || true
	await_end "$pid"
}

# etcd_await NAME [CURL OPTION...]: until the member, and a cluster behind it, answers.
etcd_await() {
	local name=$1
	shift
	eventually curl -fsS --max-time 20 "$@" -o /dev/null "http://$(etcd_address "$name"):2379/health" 2>/dev/null ||
		fail "$(tail -n 5 "$BATS_FILE_TMPDIR/$name.log")"
}

backend_begin() {
	backend_is_etcd || return 0
	etcd_start etcd
	etcd_await etcd
}

backend_end() { SERVERS=$BATS_FILE_TMPDIR stop_all; }

# backend_setup: after space_setup. REGISTRY is how messages name the test's registry.
backend_setup() {
	REGISTRY=$DB
	backend_is_etcd || return 0
	PREFIX=t$BATS_TEST_NUMBER
	ETCD=http://$(etcd_address etcd):2379
	REGISTRY=etcd:$ETCD/$PREFIX
	echo "url = $REGISTRY" >>"$SPACE_CONFIG"
	within 10000
}

# etcd_values: each pair of the test's prefix as "key value", a line each.
etcd_values() {
	curl -fsS "$ETCD/v3/kv/range" -d "{\"key\":\"$(printf '%s/' "$PREFIX" | base64)\",\"range_end\":\"$(printf '%s0' "$PREFIX" | base64)\"}" |
		jq -r '.kvs // [] | .[] | (.key | @base64d) + " " + (.value | @base64d)'
}

registry_is_absent() {
	if backend_is_etcd; then
		assert_equal "$(etcd_values)" ''
	else
		assert_not_exists "$DB"
	fi
}

registry_is_sound() {
	if backend_is_etcd; then
		spacerouted list >/dev/null
	else
		assert_equal "$(sqlite3 "$DB" 'PRAGMA integrity_check')" ok
	fi
}

# registry_bytes: all that it keeps.
registry_bytes() {
	if backend_is_etcd; then
		etcd_values
	else
		cat "$STATE"/*
	fi
}

# registry_token_size NAME: of the hash that is kept of a bearer token.
registry_token_size() {
	if backend_is_etcd; then
		etcd_values | sed -n "s/^$PREFIX\/tokens\/$1 \(.*\)/\1=/p" | tr -- -_ +/ | base64 -d | wc -c
	else
		sqlite3 "$DB" "SELECT length(hash) FROM tokens WHERE name = '$1'"
	fi
}

# registry_away, registry_back: it does not answer, and does again.
registry_away() {
	if backend_is_etcd; then
		etcd_stop etcd
	else
		mv "$DB" "$DB.aside"
	fi
}

registry_back() {
	if backend_is_etcd; then
		etcd_start etcd
		etcd_await etcd
	else
		mv "$DB.aside" "$DB"
	fi
}
