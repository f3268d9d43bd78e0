#!/usr/bin/env bats
# shellcheck shell=bash
# Changes that end early: killed at any system call, or with the power (tests/fault/crash.sh). spaceid-crash.bats has what is
# the store's own.
load helper

setup_file() {
	command -v strace >/dev/null || export MISSING=strace
	command -v sqlite3 >/dev/null || export MISSING=sqlite3
}
setup() { [ -z "${MISSING:-}" ] || skip_or_fail "$MISSING"; }

# survives HOW WHAT OPERATION... [LONG OPERATION...]: the latter where there is time for the long form.
survives() {
	local operation
	for operation in "${@:3}"; do
		if [ "$operation" = LONG ]; then
			[ -n "${LONG:-}" ] || return 0
			continue
		fi
		run -0 "$ROOT/tests/fault/crash.sh" "$1" "$2" "$operation"
		assert_output --regexp "^$1 $2 $operation: [0-9]+ states$"
	done
}

@test "a bundle's installation survives a kill at every system call" { survives kill bundle first next; }
@test "a publication survives a kill at every system call" { survives kill registry create replace LONG many retire; }
@test "the journal of used capabilities survives a kill at every system call" { survives kill journal create use grow replace; }

@test "every change of a record survives a loss of power at every point" {
	survives power store create install replace attempt evidence retire fence handoff reinstall prune
}
@test "a bundle's installation survives a loss of power at every point" { survives power bundle first next; }
@test "a publication survives a loss of power at every point" { survives power registry replace LONG create many retire; }
@test "the journal survives a loss of power at every point, and nothing is passed twice" { survives power journal create use grow replace; }

@test "a change of a record that was killed and repeated survives a loss of power" {
	survives after store create replace prune LONG install attempt evidence retire fence handoff reinstall
}
@test "a bundle's installation that was killed and repeated survives a loss of power" { survives after bundle next LONG first; }
@test "a publication that was killed and repeated survives a loss of power" { survives after registry replace LONG create many retire; }
@test "the journal of a server that was killed and started anew survives a loss of power" { survives after journal create replace LONG use grow; }

@test "a sync that is not made shows" {
	local what sync
	while read -r sync what; do
		# shellcheck disable=SC2086
		MOST=2 NOSYNC=$sync run -1 "$ROOT/tests/fault/crash.sh" power $what
		assert_line 'not as it must be:'
	done <<-'CASES'
		file store replace
		directory store replace
		directory store create
		file bundle next
		directory bundle next
		file registry replace
		file journal use
		directory journal replace
		directory journal create
	CASES
}
