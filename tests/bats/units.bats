# shellcheck shell=bats disable=SC2016,SC2154
# The units as files: what systemd itself says about them, where they are installed, and what they name. That they do
# their work is shown by systemd.bats.
load helper

setup_file() {
	PREFIX=$BATS_FILE_TMPDIR/prefix
	UNITS=$PREFIX/lib/systemd/system
	export PREFIX UNITS
	make -s -C "$ROOT" install "PREFIX=$PREFIX" >/dev/null
}

@test "every unit passes systemd-analyze verify" {
	cd "$UNITS"
	run -0 systemd-analyze verify --man=no ./*.{service,socket,path,timer}
	assert_output ''
}

# exposed_below LIMIT UNIT...: by the judgement of systemd, which gives no sandboxing at all 96.
exposed_below() {
	local limit=$1 unit

	shift
	for unit; do
		run -0 systemd-analyze security --offline=yes --threshold=$((limit - 1)) "$UNITS/$unit"
	done
}

@test "attesting roles are exposed below 5, all others below 3" {
	local unit services=()

	exposed_below 50 space-manager.service space-host@.service space-gateway@.service
	for unit in "$UNITS"/*.service; do
		case ${unit##*/} in
		space-manager.* | space-host@* | space-gateway@*) ;;
		*) services+=("${unit##*/}") ;;
		esac
	done
	assert_equal "${#services[@]}" 11
	exposed_below 30 "${services[@]}"
}

@test "every unit that belongs to the path is there, and no other" {
	run -0 find "$UNITS" -maxdepth 1 -type f -printf '%f\n'
	assert_equal "$(sort <<<"$output")" "$(printf 'space-%s\n' {cache,signer,manager,gateway@,http}.{service,socket} \
		host@.service guest.service node-api@.service node-api.socket records.{path,service} {keys,prune}.{timer,service} \
		keys-fetch.service routes.service link@.service | sort)"
}

@test "a server that hangs is ended by systemd; in a guest, whose clock may leap, none is" {
	local unit watched=()

	for unit in "$UNITS"/*.service; do
		! grep -q '^WatchdogSec=30s$' "$unit" || watched+=("${unit##*/}")
	done
	assert_equal "${watched[*]}" \
		'space-cache.service space-gateway@.service space-host@.service space-http.service space-manager.service space-signer.service'
	# All others that say READY=1.
	run -0 grep -lx Type=notify "$UNITS"/*.service
	assert_equal "${#lines[@]}" $((${#watched[@]} + 2))
	run -0 grep -c '^WatchdogSignal=SIGKILL$' "$UNITS/space-.service.d/10-sandbox.conf"
}

@test "sockets listen where the tools look for them by default" {
	local role unit

	for role in signer cache manager; do
		run -0 spaceid config -o json
		unit=$(sed -n 's/^ListenStream=//p' "$UNITS/space-$role.socket")
		assert_json -s --arg role "$role" --arg path "$unit" \
			'map(select(.section == $role and .key == "socket").value) == [$path]'
	done
	run -0 grep -c "agent $(sed -n 's/^ListenStream=//p' "$UNITS/space-signer.socket")\$" "$UNITS/space-node-api@.service"
}

@test "the example of space.ini is a configuration, and names users that there will be" {
	local user users ini=$PREFIX/share/doc/space-tools/examples/space.ini

	users=$(grep -v '^;' "$ini" | grep -o 'space-[a-z]*' | sort -u)
	assert_equal "$users" $'space-api\nspace-node'
	while read -r user; do
		run -0 grep -c "^u $user " "$PREFIX/lib/sysusers.d/space.conf"
	done <<<"$users"
	sed 's/space-[a-z]*/4711/g; s/^;\(url\)/\1/' "$ini" >"$BATS_TEST_TMPDIR/space.ini"
	run -0 spaceid config -c "$BATS_TEST_TMPDIR/space.ini" -o json
	assert_json -s 'map(select(.from == "file")) | length == 7'
}

# listing DIRECTORY: all that is in there, directories too.
listing() {
	(cd "$1" && find . -printf '%p %y %m\n' | sort)
}

@test "uninstall takes away all that install has brought, and nothing else" {
	local place=$BATS_TEST_TMPDIR/place before

	mkdir -p "$place/usr/bin" "$place/usr/lib/systemd/system"
	touch "$place/usr/bin/sh" "$place/usr/lib/systemd/system/other.service"
	before=$(listing "$place")
	make -s -C "$ROOT" install "DESTDIR=$place" PREFIX=/usr >/dev/null
	[ -e "$place/usr/lib/systemd/system/space-manager.service" ]
	[ -e "$place/usr/share/doc/space-tools/examples/link-worker.conf" ]
	run -0 grep '^ExecStart=' "$place/usr/lib/systemd/system/space-signer.service"
	assert_output 'ExecStart=/usr/bin/spacecap agent'
	run -1 grep -r '@bindir@' "$place/usr/lib/systemd"
	make -s -C "$ROOT" uninstall "DESTDIR=$place" PREFIX=/usr >/dev/null
	assert_equal "$(listing "$place")" "$before"
}

@test "uninstall leaves an empty prefix the directories that every system has there" {
	local place=$BATS_TEST_TMPDIR/local before

	mkdir -p "$place"/{bin,lib,share/{man,doc}}
	before=$(listing "$place")
	make -s -C "$ROOT" install "PREFIX=$place" >/dev/null
	make -s -C "$ROOT" uninstall "PREFIX=$place" >/dev/null
	assert_equal "$(listing "$place")" "$before"
}

@test "every page and every script is installed, and the guest's agent within 2 MiB" {
	run -0 find "$PREFIX/share/man" -type f -printf '%f\n'
	assert_equal "$(sort <<<"$output")" "$(cd "$ROOT/man" && printf '%s\n' *.[1-8] | sort)"
	run -0 find "$PREFIX/bin" -type f -printf '%f %m\n'
	assert_equal "$(sort <<<"$output")" "$(printf '%s 755\n' space{cap,id,bridge,stream,routed} spaced-guest-static \
		node-api sbx-manager spaced-host spaced-guest netgtw sandbox space-keys space-doctor | sort)"
	[ "$(stat -c %s "$PREFIX/bin/spaced-guest-static")" -le 2097152 ]
}

# keys URL [CODE]: runs space-keys with this [keys] url; what it fetched is then in $BUNDLE.
keys() {
	BUNDLE=$BATS_TEST_TMPDIR/bundle
	printf '%s\n' '[keys]' "url = $1" >"$BATS_TEST_TMPDIR/space.ini"
	run "-${2:-0}" space-keys -c "$BATS_TEST_TMPDIR/space.ini" "$BUNDLE"
}

serve() {
	start http "$ROOT/tests/fixtures/http-files.py" "$1" "$BATS_TEST_TMPDIR/port"
	HTTP=http://127.0.0.1:$(cat "$BATS_TEST_TMPDIR/port")
}

teardown() {
	stop_all
}

@test "space-keys fetches the bundle from a file or by HTTP, for others to read" {
	echo 'the bundle' >"$BATS_TEST_TMPDIR/keys.tar.zst"
	serve "$BATS_TEST_TMPDIR"
	for url in "$BATS_TEST_TMPDIR/keys.tar.zst" "file://$BATS_TEST_TMPDIR/keys.tar.zst" "$HTTP/keys.tar.zst"; do
		rm -f "$BUNDLE"
		(umask 077 && keys "$url")
		assert_equal "$(stat -c %a "$BATS_TEST_TMPDIR/bundle") $(cat "$BATS_TEST_TMPDIR/bundle")" '644 the bundle'
	done
}

@test "space-keys leaves no bundle, not even an old one, where it fetched none" {
	local url

	serve "$BATS_TEST_TMPDIR"
	head -c 1048577 /dev/zero >"$BATS_TEST_TMPDIR/large"
	for url in "$BATS_TEST_TMPDIR/none" "$BATS_TEST_TMPDIR/large" "$HTTP/none" "$HTTP/large"; do
		echo old >"$BATS_TEST_TMPDIR/bundle"
		keys "$url" 1
		assert_line --partial ': not fetched'
		run -0 find "$BATS_TEST_TMPDIR" -name 'bundle*'
		assert_output ''
	done
	echo old >"$BATS_TEST_TMPDIR/bundle"
	keys 'ftp://example.org/keys' 2
	assert_output "space-keys: [keys] url: \`ftp://example.org/keys\` is neither http, https nor a file"
}

@test "space-keys has nothing to do without [keys] url" {
	echo old >"$BATS_TEST_TMPDIR/bundle"
	keys ''
	assert_output 'space-keys: [keys] url is empty: nothing to fetch'
	assert_not_exist "$BATS_TEST_TMPDIR/bundle"
}
