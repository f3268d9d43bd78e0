# Attestors that are in the wrong place, without rights, or on a kernel that lacks something (04-bridge, Kernel levels);
# see attacks.bats.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2119,SC2120,SC2154
load helper
load attack

setup() {
	world
	served
	fresh
}

teardown() {
	stop_all
	rows_stand
}

@test "attestor without the right to look" {
	as_root
	fresh setpriv --bounding-set=-all --inh-caps=-all
	caught evidence-unavailable bridge-process sbx-manager
	fresh
	served
}

@test "attestor in another pid namespace" {
	as_root
	run --separate-stderr unshare --pid --fork --mount-proc spacebridge attest --sandbox s-42 --connect
	assert_failure 11
	assert_json '.reason == "evidence-unavailable" and .checks[-1].name == "vmm-peer-credentials" and (.checks[-1].ok | not)'
	run --separate-stderr unshare --pid --fork spacebridge attest --sandbox s-42 --connect
	assert_failure 11
	assert_json '.reason == "evidence-unavailable" and .checks[0].name == "bridge-level" and .level == "none"'
	matrix evidence-unavailable bridge-peer-credentials attest
}

@test "attestor in another user namespace" {
	run --separate-stderr unshare --user --map-root-user spacebridge attest --sandbox s-42 --connect
	assert_failure 11
	assert_json '.reason == "evidence-unavailable" and ([.checks[] | select(.ok | not)][0].name) == "bridge-process"'
	matrix evidence-unavailable bridge-process attest
}

# bridge_apart: a bridge in network and mount namespaces of its own, where it cannot say READY=1.
bridge_apart() {
	stop host
	rm -f "$BRIDGE"
	unshare --net --mount spacebridge host --sandbox s-42 --audit "$W/host.audit" 3>&- &
	HOST=$!
	echo "$HOST" >"$BATS_TEST_TMPDIR/host.pid"
	eventually grep -qs " 00010000 .* $BRIDGE\$" "/proc/$HOST/net/unix"
}

@test "attestor in another network namespace" {
	as_root
	run --separate-stderr unshare --net spacebridge attest --sandbox s-42 --connect
	assert_success # sockets are found in whose namespace they are
	bridge_apart
	again
	fresh
	served
	run --separate-stderr unshare --net env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK=netns,getfd \
		spacebridge attest --sandbox s-42 --connect
	assert_failure 11
	assert_json '.reason == "evidence-unavailable" and ([.checks[] | select(.ok | not)][0].name) == "bridge-listener"'
	matrix evidence-unavailable bridge-listener attest
}

@test "attestor in another mount namespace, something else at the path" {
	as_root
	mkdir "$W/elsewhere"
	run --separate-stderr unshare --mount sh -c 'mount --bind "$1" "$2" && exec spacebridge attest --sandbox s-42 --connect' \
		- "$W/elsewhere" "$W/run/bridge"
	assert_failure 11
	assert_json '.reason == "listener-replaced" and ([.checks[] | select(.ok | not)][0].name) == "bridge-path"'
	matrix listener-replaced bridge-path attest
}

@test "kernel without a facility, one after the other" {
	local lack check level
	while read -r lack check level; do
		fresh env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK="$lack"
		caught evidence-unavailable "$check" sbx-manager
		run --separate-stderr env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK="$lack" \
			spacebridge attest --sandbox s-42 --connect
		assert_failure 11
		assert_json --arg level "$level" '.level == $level and .reason == "evidence-unavailable"'
	done <<-'END'
		pidfd_open bridge-level none
		peerpidfd bridge-level launch-pidfd
		pidfs bridge-level pidfd
		pagemap bridge-level none
		sockdiag bridge-level none
		diagpeer bridge-level none
		cookie bridge-level none
		proc bridge-level none
		openat2 bridge-path full
	END
}

@test "kernel without a facility that min_level allows to be missing" {
	local lack level
	while read -r lack level; do
		sed -i "s/^min_level.*/min_level = $level/" "$W/space.ini"
		run --separate-stderr env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK="$lack" \
			spacebridge attest --sandbox s-42
		assert_success
		assert_json --arg level "$level" '.level == $level and .decision == "match"'
		stop host
		start_host env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK="$lack"
		again
		fresh env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK="$lack"
		served
		assert_equal "$(tail -n 1 "$W/host.audit" | jq -r .note)" "$level"
	done <<-'END'
		pidfs pidfd
		peerpidfd launch-pidfd
		peerpidfd,pidfs launch-pidfd
	END
}

@test "rights that are only for speed make no difference" {
	fresh env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK=getfd,netns,unixfile
	served
	run --separate-stderr env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK=getfd,netns \
		spacebridge attest --sandbox s-42 --connect
	assert_success
	enroll >"$W/as-it-is"
	for lack in getfd unixfile; do
		enroll_lacking "$lack" >"$W/by-sock-diag"
		run diff "$W/as-it-is" "$W/by-sock-diag"
		assert_success
	done
}

# enroll_lacking FACILITY
enroll_lacking() {
	LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK="$1" enroll
}

# succeeded LACK yes|no: the check that tells a process from one that follows it in all that is seen of it, the first one
# looked at while it lived or not.
succeeded() {
	run env LD_PRELOAD="$ROOT/build/preload/lack.so" SP_LACK="$1" "$FIXTURES/attacks" successor "$W/successor" "$2"
	assert_success
}

@test "VMM's pid reused in the same tick, its listener leaked, where pidfds have no inodes" {
	as_root
	for lack in pidfs peerpidfd,pidfs; do
		succeeded "$lack" yes # the pidfd of the first look is kept
		assert_output vmm-process
		succeeded "$lack" no # what level `full` is for
		assert_output match
	done
	succeeded '' no
	assert_output vmm-process
	matrix vmm-process vmm-process attest
}
