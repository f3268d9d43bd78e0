#!/usr/bin/env bats
# shellcheck shell=bash
# The models (tests/model): true of all their states, false without any of their guards, and about code that is there.
load helper

setup_file() { command -v spin >/dev/null || export MISSING=spin; }
setup() { [ -z "${MISSING:-}" ] || skip_or_fail "$MISSING"; }

holds() { run -0 "$ROOT/tests/model/run" "$1" && assert_line --regexp 'holds in all of [0-9]{5,} states$'; }

@test "install, lease, cut: no move outlives a change that has returned, and each guard is needed" { holds cut; }
@test "fill, reject, watch: no old route comes back into the cache, and each guard is needed" { holds cache; }
@test "a capability is passed once, whatever is killed or loses its power, and each guard is needed" { holds once; }

# stands_for FILE: what the model says that its steps stand for, a line for each: path, name.
stands_for() {
	tr '\n' ' ' <"$1" | grep -oE '(lib|src)/[a-z_/]+\.[ch]: [a-z_]+(, *([*] *)?[a-z_]+)*' | tr -d ',*' | tr ':' ' ' |
		awk '{ for (i = 2; i <= NF; i++) print $1, $i }'
}

@test "what the steps of the models stand for is in the code" {
	local model path name count=0

	unset MISSING
	for model in "$ROOT"/tests/model/*.pml; do
		while read -r path name; do
			count=$((count + 1))
			grep -qE "^([a-z].*[ *]$name\($|[a-z].*[ *]$name\(.*[^;]$|(struct|enum) $name \{)" "$ROOT/$path" || fail "${model##*/}: $name is not in $path"
		done < <(stands_for "$model")
	done
	[ "$count" -gt 60 ]
}
