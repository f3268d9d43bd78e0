#!/usr/bin/env bash
# store-kill.sh OPERATION [STEPS]: kills one change of the record store at every system call, or with STEPS at
# every STEPSth instruction between the last fsync and the publication, and checks after each death that a
# reader sees the old record or the new one, whole; that neither epoch nor version went back; that the same
# command then does its work; and that nothing is left behind. Prints how many deaths it survived.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
operation=$1 steps=${2:-}
. "$root/tests/fault/common.bash"
prepare_store "$operation"

fresh() {
	rm -rf "$store"
	[ ! -d "$base" ] || cp -a "$base" "$store"
}
look() { "$fixtures/storecheck" "$store" s-42 2>"$scratch/look.err" || echo '{"record":null,"page":null}'; }

fresh
old=$(look)
mapfile -t calls < <("$fixtures/killat" -c -- "${command[@]}" <"$input")
new=$(look)

# Where to die: from the first look at the store on, or between the last fsync (74) and what follows it.
places=()
for ((n = 1; n <= ${#calls[@]}; n++)); do
	case ${calls[n - 1]} in
	73 | 83) first=${first:-$n} ;; # flock, mkdir
	74) last_sync=$n ;;
	esac
done
if [ -n "$steps" ]; then
	for ((s = 0; s < 1200; s += steps)); do places+=("$last_sync:$s"); done
else
	for ((n = first - 3; n <= ${#calls[@]}; n++)); do places+=("$n"); done
fi

deaths=0
for place in "${places[@]}"; do
	fresh
	"$fixtures/killat" "$place" -- "${command[@]}" <"$input" >"$scratch/out" 2>"$scratch/err"
	status=$?
	[ $status = 137 ] || { [ $status = 0 ] && continue; }
	died=$(look)
	"${command[@]}" <"$input" >"$scratch/out" 2>"$scratch/err"
	status=$?
	after=$(look)
	left=$(cd "$store" && echo .[!.]* *)
	printf '{"place":"%s","call":%s,"status":%s,"left":"%s","died":%s,"after":%s}\n' \
		"$place" "${calls[${place%%:*} - 1]}" $status "$left" "$died" "$after" >>"$scratch/seen"
	deaths=$((deaths + 1))
done

# What must hold of the states after the death and after the repetition. Judged all at once: jq is slow to start.
# A handoff that was in force already is a conflict when it is repeated (03-identity).
# shellcheck disable=SC2016
rules='
def plain: if type == "object" then del(.installed_at, .fenced_at) else . end;
def moved: plain | if type == "object" then del(.version, .cut_version) else . end;
def epoch: if . == null or .state == "absent" then 0 else .epoch end;
def version: if . == null then 0 else .version end;
def agrees: if .record == null then (.page == null or .page.state == "absent")
	else .page != null and .record.epoch == .page.epoch and .record.version == .page.version and .record.state == .page.state end;
def whole($old; $new): .died.record | plain | . == ($old.record | plain) or . == ($new.record | plain);
def onward($old): .died.page == "unavailable" or
	((.died.page.state == "absent" or (.died.page | epoch) >= ($old.page | epoch)) and (.died.page | version) >= ($old.page | version) and
	(.after.page.state == "absent" or (.after.page | epoch) >= (.died.page | epoch)) and (.after.page | version) >= (.died.page | version));
def told: if .died.page | type == "object" and .unsettled then .died.page.dead == .died.page.pending
	else .died.page == "unavailable" or (.died | agrees) end;
def repeated($new): (.after.record | moved) == ($new.record | moved) and
	(.after.record == null or .after.record.version == $new.record.version or
	(.after.record.version == $new.record.version + 1 and .after.record.fenced_at != null));
def settled: (.after | agrees) and (.after.page == null or (.after.page.pending or .after.page.unsettled | not));
def clean: .left == ".lock .page .slots s-1.json s-42.json" or .left == ".lock .page .slots s-42.json" or
	(.after.record == null and .left == ".lock .page .slots s-1.json");
def done($new): .status == 0 or ($operation == "handoff" and .status == 14 and .died.record.owner == $new.record.owner);
select((whole($old; $new) and onward($old) and told and repeated($new) and settled and clean and done($new)) | not)'

wrong=$(jq -c --arg operation "$operation" --argjson old "$old" --argjson new "$new" "$rules" "$scratch/seen") || exit 1
if [ -n "$wrong" ]; then
	printf '%s: old %s\nnew %s\nnot as it must be:\n%s\n' "$operation" "$old" "$new" "$(head -n 3 <<<"$wrong")"
	exit 1
fi
echo "$operation: $deaths deaths"
