# What is said: one finding a line, for people or programs. A part of bin/space-doctor.
# shellcheck shell=bash disable=SC2034,SC2154

failed=0
declare -A told=()
lines_max=50 # of one check

# clean VALUE: REPLY is it without what a terminal would obey.
clean() {
	REPLY=${1//[$'\001'-$'\037\177']/?}
	REPLY=${REPLY//$'\302'[$'\200'-$'\237']/?}
}
json_string() {
	REPLY=${1//\\/\\\\}
	REPLY=${REPLY//\"/\\\"}
}

# units TEXT: what must not be torn, a line each: words, and what is between single quotes.
units() {
	local left=$1 unit=''

	while [[ $left =~ ^(\'[^\']*\'|[^\ \']+|\'|\ )(.*) ]]; do
		left=${BASH_REMATCH[2]}
		if [ "${BASH_REMATCH[1]}" = ' ' ]; then
			echo "$unit"
			unit=''
		else
			unit+=${BASH_REMATCH[1]}
		fi
	done
	echo "$unit"
}

# The columns that lines are broken at: 80, in a narrower terminal its own, down to where nothing is left to break.
columns=80
fit_terminal() {
	local rows wide screen

	[ -n "$terminal" ] || return 0
	exec {screen}<&1
	read -r rows wide < <(stty size <&"$screen" 2>/dev/null) || :
	exec {screen}<&-
	[ "${rows:-0}" -gt 0 ] && [ "$wide" -lt "$columns" ] || return 0
	[ "$wide" -gt 40 ] && columns=$wide || columns=40
}

# wrap FIRST REST END TEXT: broken into lines of that many columns, the later ones after REST, all but the last before END.
wrap() {
	local line=$1 fresh=1 unit

	while IFS= read -r unit; do
		if [ -z "$fresh" ] && [ $((${#line} + ${#unit} + ${#3} + 1)) -gt "$columns" ]; then
			echo "$line$3"
			line=$2 fresh=1
		fi
		[ -n "$fresh" ] || line+=' '
		line+=$unit fresh=''
	done < <(units "$4")
	echo "$line"
}

paint() {
	local code

	case $1 in
	ok) code=32 ;;
	warning) code=33 ;;
	failure) code='1;31' ;;
	esac
	[ -z "$color" ] && REPLY=$1 || REPLY=$'\033'"[${code}m$1"$'\033[0m'
}

# print STATE CHECK MESSAGE [MEND]
print() {
	local state=$1 check=$2 message=$3 mend=${4:-} shown

	if [ "$output" = json ]; then
		json_string "$message"
		message=$REPLY
		json_string "$mend"
		echo "{\"check\":\"$check\",\"state\":\"$state\",\"message\":\"$message\"${mend:+,\"mend\":\"$REPLY\"}}"
		return
	fi
	paint "$state"
	if [ "$output" != table ] && [ -z "$terminal" ]; then
		echo "$REPLY  $check: $message${mend:+; mend: $mend}"
		return
	fi
	shown=$(wrap "$(printf '%-7s  %-12s ' "$state" "$check")" "$(printf '%22s' '')" '' "$message")
	echo "$REPLY${shown:${#state}}"
	[ -z "$mend" ] || wrap '  mend: ' '    ' " \\" "$mend"
}

# tell STATE CHECK MESSAGE [MEND]: one finding.
tell() {
	local state=$1 check=$2 message mend

	[ "$state" != failure ] || failed=1
	[ "$state" != ok ] || [ -z "$quiet" ] || return 0
	told[$check]=$((${told[$check]:-0} + 1))
	[ "${told[$check]}" -le "$lines_max" ] || return 0
	clean "$3"
	message=$REPLY
	clean "${4:-}"
	mend=$REPLY
	print "$state" "$check" "$message" "$mend"
}
well() { tell ok "$@"; }
warn() { tell warning "$@"; }
bad() { tell failure "$@"; }

# quote WORD: as the shell reads it, in REPLY.
quote() {
	REPLY=$1
	case $1 in
	'' | *[[:cntrl:]\']*) printf -v REPLY %q "$1" ;;
	*[!A-Za-z0-9@%+=:,./_-]*) REPLY="'$1'" ;;
	esac
}

# more: how many findings were not told, of checks that have too many.
more() {
	local check

	for check in "${!told[@]}"; do
		[ "${told[$check]}" -le "$lines_max" ] || print warning "$check" "$((told[$check] - lines_max)) more of these"
	done
}
