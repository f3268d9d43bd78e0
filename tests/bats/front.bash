# The entry over HTTP before a control plane, with the owner of a token who asks; behind it a manager that says what a
# test wants, or the worlds of path.bash. $WORLD and $AT, the entry's socket, are the test's.
# shellcheck shell=bash disable=SC2034,SC2154

# front [OPTION...]: the entry; the token's owner may use it for all that tests ask.
front() {
	[ -e "$WORLD/token" ] || spacerouted grant --principal token:token --token-file "$WORLD/token" --sandbox '*' \
		--ops 'ping,exec.*,terminal.*,file.*,tree.*,lease.*' --ports '1-65535/http,1-65535/websocket' >/dev/null
	start front spacestream serve --listen "unix:$AT" "$@"
}

# control SCRIPT...: a control plane, a manager that takes these scripts, a connection each, and the entry with $FRONT.
control() {
	mkdir -p "$WORLD"/control/run
	WORLD_LEVEL=$(world_level)
	world_keys
	world_config control
	export SPACE_CONFIG=$WORLD/control.ini
	cat >"$WORLD/publish" <<-'END'
		#!/bin/sh
		exec spacerouted publish --sandbox s-42 --execution "$1" --worker worker-a --substrate host \
			--activation "act-$1" --attempt 1 --endpoint "unix:${0%/*}/m.sock" >/dev/null
	END
	chmod +x "$WORLD/publish"
	"$WORLD/publish" 7
	start manager python3 "$ROOT/tests/fixtures/frames.py" "$WORLD/m.sock" "$WORLD/log" "$@"
	start cache spacerouted serve
	# shellcheck disable=SC2086
	front ${FRONT:-}
}

DENY='answer {"status":"refused","decision":"deny","reason":"replayed","hop":"sbx-manager"}'
STALE='answer {"status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}'

# get PATH ARG...: curl, as the owner of the token in $TOKEN; get_exec: in the place of this shell, so that it is what a
# signal to a background job is for.
get() { (get_exec "$@"); }
get_exec() { exec timeout 120 curl -sS --unix-socket "$AT" -H "Authorization: Bearer $(<"${TOKEN:-$WORLD/token}")" "${@:2}" "http://x$1"; }

# raw: the bytes of standard input, and what comes back until the other side ends; raw_open: ours does not end.
raw() { timeout 120 socat -t 120 - "UNIX-CONNECT:$AT"; }
raw_open() { timeout 120 socat -t 0.1 - "UNIX-CONNECT:$AT"; }

# counted NAME NUMBER: does /metrics say so?
counted() { [ "$(get /metrics | grep "^$1 ")" = "$1 $2" ]; }
