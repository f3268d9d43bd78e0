# The promise to streams, at the gateway: what a change of the record cuts, and that nothing else is touched.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2119,SC2154
load helper
load gateway

FLOOD=$ROOT/tests/fixtures/flood.py

# flood_service: it floods whoever connects, and takes his flood into service.1, service.2, ...
flood_service() {
	start_vmm
	install
	F=$BATS_TEST_TMPDIR/floods
	mkdir "$F"
	mkfifo "$F/service.go"
	start service python3 "$FLOOD" service "$F/port" "$F/service.go" "$F/service"
	PORT=$(cat "$F/port")
}

# flooding NAME SOCKET LINE [framed]: a client that does so too, until its stream ends; it takes what comes into NAME.in.
flooding() {
	mkfifo "$F/$1.go"
	python3 "$FLOOD" client "$2" "$3" "$F/$1.go" "$F/$1.in" "${@:4}" 2>"$F/$1.err" 3>&- &
	echo $! >"$BATS_TEST_TMPDIR/$1.pid"
}

# ended NAME: its stream has.
ended() {
	wait "$(cat "$BATS_TEST_TMPDIR/$1.pid")" || fail "$1: $(cat "$F/$1.err")"
}

# holds BYTES FILE...: each of them, or more.
holds() {
	local file
	for file in "${@:2}"; do
		[ "$(stat -c %s "$F/$file" 2>/dev/null || echo 0)" -ge "$1" ] || return 1
	done
}

# change FILTER EFFECT: a record so changed is installed; as soon as the answer is there, all send what can be told from before.
change() {
	enroll "$1"
	install_again | tee --output-error=warn "$F"/*.go >"$W/installed"
	assert_equal "$(jq -r .effect "$W/installed")" "$2"
}

# level FILE: the highest in it; all numbers are there, each once and in order.
level() { python3 "$FLOOD" judge "$F/$1" | jq .highest; }

# reached LEVEL FILE: so far. Its last whole number says so.
reached() {
	local size
	size=$(($(stat -c %s "$F/$2") / 8 * 8))
	[ "$(od -An -t u1 -j $((size - 8)) -N 1 "$F/$2")" -ge "$1" ]
}

@test "another attempt loses no byte, and after install has returned none moves on an old stream, direct or by the manager" {
	flood_service
	start_gateway
	start_manager
	flooding direct "$GATEWAY" "$(line tcp "$(mint tcp)")"
	await holds 200000 direct.in service.1
	flooding managed "$MANAGER" "$(wire tcp "$(mint tcp)")" framed
	await holds 200000 managed.in service.2
	change '.attempt = 2' attempt-only
	for file in direct.in managed.in service.1 service.2; do
		await reached 1 "$file"
	done
	change '.execution = 8' replaced
	ended direct
	ended managed
	for file in direct.in managed.in service.1 service.2; do
		assert_equal "$file $(level "$file")" "$file 1"
	done
	eventually is $'execution\nexecution' jq -r 'select(.note | strings | contains(" cut: ")) | .reason' "$AUDIT"
}

@test "a gateway stopped in the middle of a move makes install exit 1, naming it; once it goes on it moves nothing more" {
	command -v strace >/dev/null || skip_or_fail strace
	flood_service
	sed -i '$a [streams]\ncut_timeout = 0.3' "$W/etc/space.ini"
	start gateway strace -f -y -o "$F/trace" -e trace=splice,write,writev -e inject=splice:signal=STOP:when=2 \
		spacebridge gateway s-42 --keys "$W/key.public" --audit "$AUDIT"
	holder=$(pgrep -P "$STARTED")
	echo "$holder" >"$BATS_TEST_TMPDIR/holder.pid"
	flooding direct "$GATEWAY" "$(line tcp "$(mint tcp)")"
	await grep -q -e '--- stopped by SIGSTOP' "$F/trace"
	enroll '.execution = 8'
	run -1 --separate-stderr install_again
	assert_json '.error == "timeout" and .sent == true'
	assert_equal "$stderr" "spaceid: install: s-42: pid $holder still in the middle of an old move after 300 ms (stopped?); the new record is in force; the same command again waits again"
	echo | tee "$F"/*.go
	kill -CONT "$holder"
	ended direct
	run -0 install_again
	assert_json '.effect == "none" and .epoch == 2'
	for file in direct.in service.1; do
		assert_equal "$file $(level "$file")" "$file 0"
	done
	# Nothing that is a stream's, also of what was sent before, but for the one move that it was stopped in: the kernel
	# resumes the call, and what that has read may still be written.
	call=$(grep -B 1 -e '--- SIGSTOP' "$F/trace" | head -n 1)
	sed -n '/--- SIGCONT/,$p' "$F/trace" >"$F/after"
	assert_equal "$(grep -E 'splice\([0-9]+<socket' "$F/after" | grep -vF "${call%% = *}")" ''
	assert [ "$(grep -cE '(splice\([0-9]+<pipe|(write|writev)\([0-9]+<socket)' "$F/after")" -le 1 ]
}
