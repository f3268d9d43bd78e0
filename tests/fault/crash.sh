#!/usr/bin/env bash
# crash.sh HOW WHAT OPERATION: ends one change early in every way, and looks at what every disk then holds: the old state
# or the new one, whole; the new one once the change had said that it was done; the same command then does its work, and
# nothing that was passed is passed again. WHAT and OPERATION are those of common.bash. HOW:
#   kill   the change is killed at each of its system calls
#   power  its power goes at every point (tests/fault/power.py)
#   after  it is killed at each call that changes something, and repeated; then the power goes
# LONG=1: more states of the disk for each point; with `after` at every point of the repetition, not at its end alone.
# NOSYNC=WHAT: the change's syncs do nothing (tests/preload/nosync.c), which must show.
# Prints how many states it looked at.
# shellcheck disable=SC2016,SC2154
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
how=$1 what=$2 operation=$3
. "$root/tests/fault/common.bash"
[ -z "${LONG:-}" ] || MOST=512
"prepare_$what" "$operation"
change=$(printf '%q ' "${command[@]}")
export bin fixtures scratch disk store input operation change

# What looks at a disk: prints "died", what is there, and what the change and others then make of it.
case $what in
store)
	listed() { [ ! -d "$store" ] || "$bin/spaceid" list --records "$store" -o json 2>"$scratch/err" | paste -sd, && [ ! -s "$scratch/err" ] || echo '"unreadable"'; }
	look() {
		local died status
		died=$(listed)
		bash -c "$change" <"$input" >"$scratch/out" 2>"$scratch/err"
		status=$?
		printf '{"died":[%s],"status":%s,"after":[%s],"left":"%s"}\n' "$died" $status "$(listed)" "$(cd "$store" && echo .[!.]* *)"
	}
	export -f listed
	# A handoff that was in force already is a conflict when it is repeated (03-identity).
	rules='def plain: map(if type == "object" then del(.installed_at, .fenced_at) else . end);
	def moved: plain | map(if type == "object" then del(.version, .cut_version) else . end);
	(.died | plain) == ($new | plain) or ((.died | plain) == ($old | plain) and .said == ""),
	(.after | moved) == ($new | moved),
	.status == 0 or ($operation == "handoff" and .status == 14),
	(.left | test("^.lock .page .slots( s-1.json)?( s-42.json)?$"))'
	;;
bundle)
	installed() {
		local serial
		serial=$("$bin/spacecap" bundle list -o json 2>"$scratch/err" | jq .serial)
		! grep -qvE 'no bundle is installed' "$scratch/err" || serial='"unreadable"'
		echo "${serial:-null}"
	}
	install_again() { "$bin/spacecap" bundle install "$scratch/$1.tzst" >"$scratch/out" 2>"$scratch/err" && echo 0 || echo $?; }
	look() {
		printf '{"died":%s,"lower":%s,"status":%s,"then":%s,"after":%s,"left":"%s"}\n' "$(installed)" "$(install_again 6)" "$(install_again 8)" \
			"$(install_again 7)" "$(installed)" "$(cd "$store" && for file in json sig; do cmp keys/manifest.$file keys/current/manifest.$file; done 2>&1
				find . -mindepth 1 -printf '%P\n' | sed 's/v8-[^/]*/v8/' | sort | paste -sd' ')"
	}
	export -f installed install_again
	# Nothing below what was in force, or had been told to be, comes back; nothing is left over.
	rules='.died == $new or (.died == $old and .said == ""),
	.lower == 14 or .died == null,
	.status == 0 and .then == 14 and .after == $new,
	.left == "keys keys.serial keys/.lock keys/current keys/manifest.json keys/manifest.sig keys/v8 keys/v8/manifest.json keys/v8/manifest.sig"'
	;;
registry)
	published() {
		"$bin/spacerouted" list -o json 2>"$scratch/err" | jq -sc 'map({(.sandbox): [.route.execution, .revision, .state]}) | add // {}'
		! grep -qv 'no registry at' "$scratch/err" || echo ',"unreadable"'
	}
	look() {
		local died status
		died=$(published)
		bash -c "$change" <"$input" >"$scratch/out" 2>"$scratch/err"
		status=$?
		printf '{"died":%s,"status":%s,"after":%s,"whole":"%s"}\n' "$died" $status "$(published)" "$(sqlite3 "$store/registry.db" 'PRAGMA integrity_check')"
	}
	export -f published
	# Of several each by itself. Revisions only rise.
	rules='(.said | split("\n") | map(select(. != "") | fromjson.sandbox)) as $told |
	.status == 0 and .whole == "ok",
	(.died as $died | all(($new | keys)[]; . as $s | ($died[$s] == $old[$s] and all($told[]; . != $s or $old[$s] == $new[$s])) or
		($died[$s] != null and $died[$s][0] == $new[$s][0] and $died[$s][1] > ($old[$s][1] // 0)))),
	(.after | map_values([.[0], .[2]])) == ($new | map_values([.[0], .[2]])),
	(.died as $died | all(.after | to_entries[]; .value[1] >= ($died[.key][1] // 0)))'
	;;
journal)
	once() { "$fixtures/once" "$store" "$@" 2>&1 | paste -sd,; }
	# The same ones again; those that had been used before, with the clock set back; the same ones again.
	look() { printf '{"died":[%s],"set_back":[%s],"after":[%s]}\n' "$(bash -c "$change" | paste -sd,)" "$(once 1000 9:1010 1:1100)" "$(bash -c "$change" | paste -sd,)"; }
	export -f once
	rules='(.said | split("\n") | map(select(. != "") | fromjson | select(.is == "passed").jti)) as $passed |
	(.died | length) == 3 and all(.died[]; .is == "replayed" or (.is == "passed" and (.jti as $jti | all($passed[]; . != $jti)))),
	(.after | length) == 3 and all(.after[]; .is == "replayed"),
	(.set_back | length) == 2 and all(.set_back[]; .is == "replayed" or .is == "expired" or
		(.is == "passed" and ($operation == "create" or ($operation != "replace" and .jti == 9))))'
	;;
esac
export -f look

fresh() {
	rm -rf "$disk"
	cp -a "$scratch/was" "$disk"
}

# What tells one state of the disk from another, but for names that chance picks.
digest() {
	(cd "$disk" && find . -printf '%P %l %s\n' | sed 's/v8-[0-9a-f]*/v8/g' | sort && find . -type f -print0 | sort -z | xargs -0r cat) | sha1sum
}

# places: on entry of which calls it is killed: of each from the first that names the disk (LONG), else of each that follows
# one which changed something, as in between the disk stays as it is.
places() {
	strace -f -qq -e signal=none -o "$scratch/trace" "${command[@]}" <"$input" >"$scratch/out" || exit 1
	awk -v disk="$disk" -v all="${LONG:-}" 'NR == 1 { next }
		index($0, disk) && !first { first = NR }
		first && (all || NR == first || changed) { print NR - 1 }
		{ changed = /^[0-9]+ +(write|pwrite64|ftruncate|fallocate|rename(at2?)?|unlink(at)?|mkdir(at)?|rmdir|symlink(at)?|open(at)?\(.*O_CREAT.*)/ && !/ = -1 / }
		END { print NR }' "$scratch/trace"
}

kill_everywhere() {
	local place said state
	declare -A looked=()
	for place in $(places); do
		fresh
		"$fixtures/killat" "$place" -- "${command[@]}" <"$input" >"$scratch/told" 2>"$scratch/err"
		said=$(cat "$scratch/told")
		state=$(digest)$said
		[ -z "${looked[$state]:-}" ] || continue
		looked[$state]=1
		said=$said at="call $place" jq -Rc '. as $line | (try fromjson catch {unread: $line}) + {at: env.at, said: env.said}' < <(look | paste -sd' ')
	done
}

[ ! -d "$base" ] || cp -a "$base" "$store"
cp -a "$disk" "$scratch/was"
state=$(look) || exit 1
old=$(jq -c .died <<<"$state") new=$(jq -c .after <<<"$state")
fresh
options=(--input "$input" --check look)
[ "$what" != store ] || options+=(--page store/.page)
[ "$what" != registry ] || options+=(--drop '*-shm')
[ -z "${NOSYNC:-}" ] || options+=(--env "LD_PRELOAD=$root/build/preload/nosync.so" --env "SP_NOSYNC=$NOSYNC")
case $how in
kill) kill_everywhere >"$scratch/seen" || exit 1 ;;
power) python3 "$root/tests/fault/power.py" "$disk" "${options[@]}" --most "${MOST:-12}" -- "${command[@]}" >"$scratch/seen" || exit 1 ;;
after)
	python3 "$root/tests/fault/power.py" "$disk" "${options[@]}" ${LONG:+--all} --most "${MOST:-4}" --after "$change" -- "${command[@]}" >"$scratch/seen" || exit 1
	;;
*) exit 2 ;;
esac

wrong=$(jq -c --arg operation "$operation" --argjson old "$old" --argjson new "$new" "[if .unread then false else $rules end] as \$holds | select(all(\$holds[]; .) | not) | {holds: \$holds} + ." "$scratch/seen") || exit 1
if [ -n "$wrong" ]; then
	printf '%s %s: old %s\nnew %s\nnot as it must be:\n%s\n' "$what" "$operation" "$old" "$new" "$(head -n 3 <<<"$wrong")"
	exit 1
fi
echo "$how $what $operation: $(wc -l <"$scratch/seen") states"
