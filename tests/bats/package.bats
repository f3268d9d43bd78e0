# shellcheck shell=bats disable=SC2016,SC2154
# The packages: what they are made of, and their life in a booted Debian. From "nothing of space-tools" on, each test
# goes on where the one before it ended.
load helper
load systemd

setup_file() {
	container_possible dpkg-buildpackage dh lintian
	[ -n "$MISSING" ] || packages_make
	[ -n "$MISSING" ] || container_tree
	[ -n "$MISSING" ] || container_prepare
	[ -n "$MISSING" ] || container_boot
	[ -z "$MISSING" ] || return 0
	listing >"$BATS_FILE_TMPDIR/before"
}

setup() {
	[ -z "$MISSING" ] || skip_or_fail "$MISSING"
	DEB=$ROOT/build/deb
	VERSION=$(dpkg-parsechangelog -l "$ROOT/debian/changelog" -S Version)
}

teardown_file() {
	container_end
}

packages_make() {
	if ! DEB_BUILD_OPTIONS='nocheck noautodbgsym parallel=2' make -C "$ROOT" deb >"$BATS_FILE_TMPDIR/deb" 2>&1; then
		tail -n 20 "$BATS_FILE_TMPDIR/deb" >&2
		return 1
	fi
}

# container_prepare: the packages, and, as there is no VSOCK in a container, another socket for the agent.
container_prepare() {
	local unit=$MACHINE/etc/systemd/system/space-guest.service.d

	mkdir -p "$unit"
	printf '%s\n' '[Service]' ExecStart= \
		'ExecStart=/usr/bin/spaced-guest-static --cid 3 --listen unix:/run/space-guest/agent.sock' >"$unit/container.conf"
	install -m 755 "$FIXTURES/talk" "$MACHINE/usr/local/bin"
	cp "$ROOT"/build/deb/*.deb "$MACHINE/srv"
}

# listing: all that there is in the machine, but for what runs, what dpkg and systemd write about everything, and users.
listing() {
	(cd "$MACHINE" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp -o -path ./srv \
		-o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/tmp -o -path ./root \) -prune -o \
		-printf '%p %y %m %U\n' | grep -vE '^\./etc/(passwd|group|shadow|gshadow|subuid|subgid|\.pwd\.lock)-? ' | sort)
}

# units STATE: those of ours that are in this state of being enabled.
units() {
	inside systemctl list-unit-files --no-legend --state "$1" 'space*' | awk '{ print $1 }'
}

# active: those of ours that do something.
active() {
	inside systemctl list-units --no-legend --plain --state active 'space-*' | awk '{ print $1 }' | sort
}

@test "lintian finds nothing to say" {
	run -0 lintian --allow-root --fail-on error,warning,info "$DEB"/*.changes
	assert_output ''
}

@test "the version is that of the changelog" {
	assert_equal "$VERSION" "$(spacecap --version | cut -d ' ' -f 2)"
}

@test "the packages hold together what make install brings" {
	local place=$BATS_TEST_TMPDIR/place package

	make -s -C "$ROOT" install "DESTDIR=$place" PREFIX=/usr UNITDIR=/lib/systemd/system \
		ZSHDIR=/usr/share/zsh/vendor-completions >/dev/null
	for package in tools guest; do
		dpkg-deb --fsys-tarfile "$DEB/space-${package}_"*.deb | tar -t | grep -v '/$'
	done | sed 's|^\.||; s|\.gz$||' | grep -vE '^/usr/share/(lintian|doc/.*/(changelog|copyright|README.Debian)$)' |
		sort >"$BATS_TEST_TMPDIR/packed"
	(cd "$place" && find . -type f | sed 's|^\.||'
		printf '%s\n' /etc/space/space.ini /lib/systemd/system/space-guest.service.d/10-sandbox.conf) |
		sort >"$BATS_TEST_TMPDIR/installed"
	run -0 diff "$BATS_TEST_TMPDIR/installed" "$BATS_TEST_TMPDIR/packed"
}

@test "make dist packs the same bytes from other directories, times and permissions" {
	local copy=$BATS_TEST_TMPDIR/copy tarball

	make -s -C "$ROOT" dist
	tarball=$(echo "$ROOT"/build/space-tools-*.tar.gz)
	mkdir "$copy"
	(umask 077 && tar -xzmf "$tarball" -C "$copy" --strip-components 1 && chmod -R go= "$copy")
	make -s -C "$copy" dist
	cmp "$tarball" "$copy/build/${tarball##*/}"
	run -0 tar -tzf "$tarball"
	assert_line --regexp '/debian/rules$'
	refute_line --regexp '/(build|\.git)/'
}

@test "the tools' code is the same from another directory, and no directory is named in them" {
	local tool other=$BATS_TEST_TMPDIR/other built=$BATS_TEST_TMPDIR/built

	[ -z "${SANITIZE:-}" ]
	for tool in "$ROOT"/build/bin/*; do
		run -1 grep -c "$ROOT" "$tool" "$DEB"/space-tools-*/build/bin/"${tool##*/}"
		objcopy -S -R .note.gnu.build-id "$tool" "$built"
		objcopy -S -R .note.gnu.build-id "$DEB"/space-tools-*/build/bin/"${tool##*/}" "$other"
		cmp "$built" "$other"
	done
	[ -n "${LONG:-}" ] || return 0
	mkdir "$BATS_TEST_TMPDIR/copy"
	tar -xzf "$ROOT"/build/space-tools-*.tar.gz -C "$BATS_TEST_TMPDIR/copy" --strip-components 1
	make -s -j2 -C "$BATS_TEST_TMPDIR/copy" all
	for tool in "$ROOT"/build/bin/*; do
		cmp "$tool" "$BATS_TEST_TMPDIR/copy/build/bin/${tool##*/}"
	done
}

@test "nothing of space-tools is enabled or started by its installation; the agent of space-guest is" {
	inside sh -c 'dpkg -i /srv/*.deb' >"$BATS_TEST_TMPDIR/dpkg"
	assert_equal "$(units enabled)" space-guest.service
	assert_equal "$(active)" space-guest.service
	assert_equal "$(property space-guest MainPID)" "$(inside pidof spaced-guest-static)"
	assert_equal "$(inside stat -c '%a %U' /etc/space/space.ini /var/lib/space/records /run/space/leases)" \
		$'644 root\n750 space-node\n750 space-node'
	# A conffile, and a configuration as it is.
	assert_equal "$(inside dpkg-query -W -f '${Conffiles}' space-tools | awk '{ print $1 }' | xargs)" /etc/space/space.ini
	inside spaceid config >/dev/null
}

# commands NUMBER: this indented block of what the package says about itself.
commands() {
	awk -v want="$1" '/^    /{ if (!within++) n++; if (n == want) print; next } { within = 0 }' \
		"$ROOT/debian/space-tools.README.Debian"
}

# served: a request passes cache, signer and manager, where there is no such sandbox.
assert_served() {
	run -0 inside talk /run/space-node-api.sock send '{"op":"ping","sandbox":"s-42","args":{}}\n' shut all
	assert_output '{"status":"refused","decision":"refresh-route","reason":"absent","hop":"sbx-manager"}'
}

# The same over HTTP, whose caller has no token; its socket is seen from out here.
assert_web_served() {
	local at=/proc/$LEADER/root/run/space-http.sock

	run -0 timeout 120 curl -sS --unix-socket "$at" http://x/healthz
	assert_output '{"status":"ok"}'
	run -0 timeout 120 curl -sS --unix-socket "$at" -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' \
		-H "Authorization: Bearer space-token:token:$(head -c 32 /dev/zero | base64 | tr -d =)" \
		-d '{"op":"ping","sandbox":"s-42","args":{}}' http://x/v1/ops
	assert_output 403
}

@test "what README.Debian says makes services that serve" {
	local route='{"execution":7,"worker":"worker-a","substrate":"host","activation":"a","attempt":1}'

	inside sh -ec "cd /root && $(commands 1)"
	inside sh -ec 'sed -i "s|^;root = .*|root = $(spacecap pubkey /root/root.key)|" /etc/space/space.ini'
	inside sh -ec "cd /root && $(commands 2)"
	inside sh -ec "$(commands 3)" 2>&1
	inside sh -ec "$(commands 4)"
	inside sh -ec "$(commands 5)" 2>&1
	inside spacerouted grant --principal uid:0 --sandbox s-42 --ops ping >/dev/null
	echo "{\"sandbox\":\"s-42\",\"route\":$route,\"endpoint\":\"unix:/run/space/manager.sock\"}" |
		inside spacerouted publish >/dev/null
	assert_served
	assert_web_served
	run -0 inside systemctl is-active space-{signer,cache,manager,http}.service
	run -0 inside systemctl is-system-running --wait
	assert_output running
}

# pids: of the services.
pids() {
	property space-signer MainPID
	property space-cache MainPID
	property space-manager MainPID
	property space-http MainPID
	property space-guest MainPID
}

@test "an upgrade restarts what runs, enables nothing, and keeps configuration and state" {
	local enabled package before

	for package in tools guest; do
		dpkg-deb -R "$DEB/space-${package}_"*.deb "$BATS_TEST_TMPDIR/$package"
		sed -i "s/^Version: .*/&+1/" "$BATS_TEST_TMPDIR/$package/DEBIAN/control"
		dpkg-deb -b -Znone "$BATS_TEST_TMPDIR/$package" "$MACHINE/srv/later-$package.deb" >/dev/null
	done
	enabled=$(units enabled)
	before=$(pids)
	inside md5sum /etc/space/space.ini /etc/space/signer.key >"$BATS_TEST_TMPDIR/sums"
	inside sh -c 'dpkg -i /srv/later-*.deb' >"$BATS_TEST_TMPDIR/dpkg"
	assert_equal "$(inside dpkg-query -W -f '${Version}' space-tools)" "$VERSION+1"
	inside md5sum -c --quiet <"$BATS_TEST_TMPDIR/sums"
	assert_equal "$(units enabled)" "$enabled"
	assert_served
	assert_web_served
	run -1 grep -xF "$before" <(pids)
	run -0 inside systemctl is-active space-{signer,cache,manager,http,guest}.service
}

@test "removal stops all and keeps configuration and state" {
	inside systemctl start space-gateway@s-42.socket
	[ "$(active | wc -l)" -ge 10 ]
	inside dpkg -r space-tools space-guest space-doc >"$BATS_TEST_TMPDIR/dpkg"
	assert_equal "$(active)" ''
	run -0 inside find /run -name '*.sock' -path '*/space*'
	assert_output ''
	run -0 inside sh -c 'for exe in /proc/[0-9]*/exe; do readlink "$exe" || true; done'
	refute_line --partial space
	inside stat /etc/space/space.ini /etc/space/signer.key /var/lib/space/registry.db /var/lib/space/keys >/dev/null
	run -1 inside stat /usr/bin/spacecap
}

@test "a purge leaves nothing but users, and what an administrator put into /etc/space" {
	inside touch /etc/space/record-changed
	inside dpkg -P space-tools space-guest space-doc >"$BATS_TEST_TMPDIR/dpkg" 2>&1
	assert_equal "$(inside ls /etc/space)" record-changed
	inside rm -r /etc/space
	run -0 diff "$BATS_FILE_TMPDIR/before" <(listing)
	run -2 inside ls -d /run/space /run/space-guest
	run -1 inside sh -c 'dpkg -l | grep space-'
}
