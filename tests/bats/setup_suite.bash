# What bats runs once around all files: at the end the matrix of the attacks that were performed.
# shellcheck shell=bash

setup_suite() { :; }

teardown_suite() {
	[ -e "$BATS_RUN_TMPDIR/matrix" ] || return 0
	{
		printf '# %-66s %-12s %-24s %s\n' attack hop 'caught by' reason
		sort -u "$BATS_RUN_TMPDIR/matrix" | sed 's/^/# /'
	} >&3
}
