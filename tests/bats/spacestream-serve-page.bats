# The page of spacestream serve: what is served, and a terminal in Chromium that goes on while its sandbox is resumed as
# another execution. The pictures are kept in build/page/.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2154
load helper
load path

export BATS_VERBOSE_RUN=1

setup_file() { npm_peers; }

setup() {
	WORLD=$BATS_TEST_TMPDIR
	PICTURES=$ROOT/build/page
}

teardown() {
	world_end
	stop_all
}

# free_port: one that nobody listens at.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# stand [OPTION...]: s-42 as execution 7 on worker-a, and the entry, at $URL.
stand() {
	world_make
	spacerouted grant --principal token:person --token-file "$WORLD/token" --sandbox 's-*' \
		--ops 'ping,exec.*,terminal.*,lease.*' >/dev/null
	world_vmm one
	world_activate s-42 7 a one >/dev/null
	URL=http://127.0.0.1:$(free_port)
	start front spacestream serve --listen "tcp:${URL#http://}" "$@"
}

get() { curl -sS --max-time 60 "$@"; }

# browse STEP...: somebody at the page (tests/fixtures/browser.cjs).
browse() { HOME=$WORLD timeout 200 node "$ROOT/tests/fixtures/browser.cjs" "$WORLD/profile" "$URL/" "$@"; }

xterm_made() {
	make -s -C "$ROOT" xterm >/dev/null || skip_or_fail 'xterm.js (npm registry)'
	[ -e "$PEERS/installed" ] || skip_or_fail 'npm package playwright-core (no registry reached)'
	command -v chromium >/dev/null || skip_or_fail chromium
	mkdir -p "$PICTURES"
}

@test "the page and its parts are served as they are, to anybody, and nothing else is" {
	xterm_made
	stand --xterm "$ROOT/build/xterm"
	for part in page.js page.css; do
		get "$URL/page/$part" | cmp - "$ROOT/src/spacestream/page/$part"
	done
	get "$URL/" | cmp - "$ROOT/src/spacestream/page/index.html"
	for part in xterm.js xterm.css addon-fit.js; do
		get "$URL/page/$part" | cmp - "$ROOT/build/xterm/$part"
	done
	run -0 get -I "$URL/"
	assert_line $'HTTP/1.1 200 OK\r'
	assert_line $'Content-Type: text/html; charset=utf-8\r'
	assert_line $'X-Content-Type-Options: nosniff\r'
	assert_line --partial "Content-Security-Policy: default-src 'none'; script-src 'self'; "
	assert_line $"Content-Length: $(stat -c %s "$ROOT/src/spacestream/page/index.html")"$'\r'
	for part in page/ page page/index.html page/../page.js page/LICENSE; do
		run -0 get -o /dev/null -w '%{http_code}' --path-as-is "$URL/$part"
		assert_output 404
	done
	run -0 get -o /dev/null -w '%{http_code}' -X POST -d x "$URL/"
	assert_output 405
	# Kept connections are asked for all of it, and whoever takes a large part slowly has it whole.
	run -0 get --limit-rate 500K -o "$WORLD/slow" "$URL/page/xterm.js" -o /dev/null "$URL/" -w '%{num_connects} '
	assert_output '1 0 '
	cmp "$WORLD/slow" "$ROOT/build/xterm/xterm.js"
}

@test "xterm.js that is asked for and not there ends the server before it listens; without any the page is there" {
	xterm_made
	stand
	run -1 --separate-stderr timeout 60 spacestream serve --listen "unix:$WORLD/other" --xterm "$WORLD/none"
	assert_equal "$stderr" "spacestream: serve: \`make xterm\` gets what belongs there: $WORLD/none/xterm.js: No such file or directory"
	assert_not_exists "$WORLD/other"
	run -0 get -o /dev/null -w '%{http_code}' "$URL/page/xterm.js"
	assert_output 404
	run -0 browse fill sandbox s-42 fill token "$(cat "$WORLD/token")" click open state 'Connected to execution 7, attempt 1\.' \
		type 'echo plain$((40+2))' press Enter shows 'plain42' type 'exit 3' press Enter state 'Ended with 3\.'
}

@test "in Chromium: type, resume the sandbox as another execution under the open page, and go on typing" {
	xterm_made
	stand --xterm "$ROOT/build/xterm"
	mkfifo "$WORLD/on"
	browse fill sandbox s-42 fill token "$(cat "$WORLD/token")" click open state '^Connected to execution 7, attempt 1\.' \
		type 'n=4; echo before$((n+1))' press Enter shows 'before5' picture "$PICTURES/before.png" note "$WORLD/typed" \
		from "$WORLD/on" state '^Connected to execution 8, attempt 1; before that to execution 7, attempt 1\.' \
		type 'echo after$((n+2))' press Enter shows 'before5[^]*after6' picture "$PICTURES/after.png" \
		type 'exit 6' press Enter state 'Ended with 6\.' >"$WORLD/browser" 2>&1 3>&- &
	browser=$!
	eventually test -e "$WORLD/typed"
	guest=$(spaceid show -c "$WORLD/a.ini" s-42 -o json | jq -r .guest.id)
	sandbox resume s-42 --prepare --from-config "$WORLD/a.ini" >/dev/null
	world_resume s-42 8 b one --from-config "$WORLD/a.ini" --guest-key "$WORLD/a/records/guest-keys/$guest" >/dev/null
	echo >"$WORLD/on"
	wait "$browser" || fail "$(cat "$WORLD/browser")"
	# A picture of something.
	[ "$(stat -c %s "$PICTURES/after.png")" -gt 5000 ]
}

@test "what is refused is said on the page: a wrong token, another sandbox, and a session is found again" {
	xterm_made
	stand --xterm "$ROOT/build/xterm"
	run -0 browse fill sandbox s-42 fill token wrong click open state '^deny: unauthorized'
	run -0 browse fill sandbox t-1 fill token "$(cat "$WORLD/token")" click open state '^deny: '
	run -0 browse fill sandbox s-42 fill token "$(cat "$WORLD/token")" click open state '^Connected' type 'm=5' press Enter shows 'm=5'
	run -0 browse fill sandbox s-42 fill token "$(cat "$WORLD/token")" click list state '^1 sessions' press Tab
}
