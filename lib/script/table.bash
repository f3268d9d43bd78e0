# The command line of a script, by the table that its own first lines are: parsing, --help, hints. The completions
# (src/script-completions) and the tests read the same lines. For bin/sandbox, node-api, space-doctor, space-keys.
#
# The table is laid out as the tools' help: "usage: NAME [VERB] [options] [ARGUMENT]", what it is about, "verbs:",
# "options:" and "options of VERB, VERB:", "examples:", each up to an empty line. A value's placeholder says what it is:
# N, PID and SECONDS are numbers, ID is an id, a|b a choice.
# shellcheck shell=bash disable=SC2034,SC2154

declare -A given=() # by an option's long name; 1 for a flag
arguments=()        # what is no option
verb=''             # where the script has verbs

declare -A table_kinds=() table_letters=()
table=() table_verbs=()
table_name=${self##*/}

# table_read: the lines, and the verbs.
table_read() {
	local line verbs=''

	while IFS= read -r line && [[ $line == '#'* ]]; do
		[[ $line != '#!'* && $line != '# shellcheck '* ]] || continue
		line=${line#\#}
		line=${line# }
		table+=("$line")
		case $line in
		verbs:) verbs=1 ;;
		'') verbs='' ;;
		esac
		[ -z "$verbs" ] || [[ ! $line =~ ^\ \ ([a-z]+)\  ]] || table_verbs+=("${BASH_REMATCH[1]}")
	done <"$self"
}

# table_sections: the lines of all option sections that are the verb's, with one heading.
table_sections() {
	local line mine='' said=''

	for line in "${table[@]}"; do
		case $line in
		options:) [ "$verb" = help ] || mine=1 ;;
		'options of '*) [[ " ${line//[,:]/ } " == *" $verb "* ]] && mine=1 || mine='' ;;
		'') mine='' ;;
		*)
			[ -n "$mine" ] || continue
			[ -n "$said" ] || echo 'options:'
			said=1
			echo "$line"
			;;
		esac
	done
}

# table_options: what the verb takes.
table_options() {
	local line

	while IFS= read -r line; do
		[[ $line =~ ^\ \ (-(.),|\ \ \ )\ --([a-z-]+)(\ ([^ ]+))? ]] || continue
		table_kinds[${BASH_REMATCH[3]}]=${BASH_REMATCH[5]}
		[ -z "${BASH_REMATCH[2]}" ] || table_letters[${BASH_REMATCH[2]}]=${BASH_REMATCH[3]}
	done < <(table_sections)
}

# wrong WORDS: a mistake in the command line; ends as it ends every tool.
wrong() {
	echo "$table_name: ${verb:+$verb: }$1" >&2
	[ -n "$verb" ] && echo "try: $table_name help $verb" >&2 || echo "try: $table_name --help" >&2
	exit 2
}

# distance WORD NAME: letters off, in REPLY; neighbours that changed places are one, a beginning too.
distance() {
	local a=$1 b=$2 i j cost least before last now

	REPLY=1
	[[ ${#a} -le 1 || ${#b} -le ${#a} || $b != "$a"* ]] || return 0
	for ((j = 0; j <= ${#b}; j++)); do now[j]=$j; done
	for ((i = 1; i <= ${#a}; i++)); do
		before=("${last[@]-}") last=("${now[@]}")
		now=("$i")
		for ((j = 1; j <= ${#b}; j++)); do
			[ "${a:i-1:1}" = "${b:j-1:1}" ] && cost=0 || cost=1
			least=$((last[j - 1] + cost))
			[ $((last[j] + 1)) -ge "$least" ] || least=$((last[j] + 1))
			[ $((now[j - 1] + 1)) -ge "$least" ] || least=$((now[j - 1] + 1))
			if [ "$i" -gt 1 ] && [ "$j" -gt 1 ] && [ "${a:i-2:2}" = "${b:j-1:1}${b:j-2:1}" ] &&
				[ $((before[j - 2] + 1)) -lt "$least" ]; then
				least=$((before[j - 2] + 1))
			fi
			now[j]=$least
		done
	done
	REPLY=${now[${#b}]}
}

# hint WORD OPEN CLOSE NAME...: "; did you mean" the nearest of these, in REPLY; nothing when none is near.
hint() {
	local word=${1:0:63} open=$2 close=$3 name best='' least=3

	shift 3
	for name; do
		distance "$word" "$name"
		[ "$REPLY" -ge "$least" ] || least=$REPLY best=$name
	done
	REPLY=${best:+; did you mean $open$best$close?}
}

# table_value OPTION VALUE: is it what the placeholder says?
table_value() {
	local kind=${table_kinds[$1]} value=${2:0:64}

	case $kind in
	*'|'*) [[ "|$kind|" == *"|$2|"* && $2 != *'|'* ]] || wrong "--$1: \`$value\` is none of $kind" ;;
	N | PID | SECONDS) [[ $2 =~ ^[1-9][0-9]{0,14}$ ]] || wrong "--$1: \`$value\` is no whole number from 1 on" ;;
	ID) [[ $2 =~ ^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$ ]] || wrong "--$1: \`$value\` is no id" ;;
	esac
	given[$1]=$2
}

# table_long WORD [NEXT]: sets `used`, the words that it took.
table_long() {
	local option=${1#--} value=''

	option=${option%%=*}
	used=1
	if [ -z "$option" ] || [ -z "${table_kinds[$option]+known}" ]; then
		hint "$option" -- '' "${!table_kinds[@]}"
		wrong "unknown option --${option:0:64}$REPLY"
	elif [ -z "${table_kinds[$option]}" ]; then
		[[ $1 != *=* ]] || wrong "--$option takes no value"
		given[$option]=1
	elif [[ $1 == *=* ]]; then
		table_value "$option" "${1#*=}"
	else
		[ $# -gt 1 ] || wrong "--$option wants a value (${table_kinds[$option]})"
		used=2
		table_value "$option" "$2"
	fi
}

# table_short WORD [NEXT]: the same of -a, -abc, -k VALUE and -kVALUE.
table_short() {
	local letters=${1#-} letter option

	used=1
	while [ -n "$letters" ]; do
		letter=${letters:0:1} letters=${letters:1}
		option=${table_letters[$letter]-}
		[ -n "$option" ] || wrong "unknown option -$letter"
		if [ -z "${table_kinds[$option]}" ]; then
			given[$option]=1
			continue
		fi
		[ -n "$letters" ] || [ $# -gt 1 ] || wrong "-$letter wants a value (${table_kinds[$option]})"
		[ -n "$letters" ] || used=2
		table_value "$option" "${letters:-${2-}}"
		return
	done
}

# table_help: all of it, or what is the verb's. Nothing is done when it cannot be written.
table_help() {
	local line text='' mine=''

	if [ -z "$verb" ]; then
		printf '%s\n' "${table[@]}" || exit 1
		exit 0
	fi
	for line in "${table[@]}"; do
		case $line in
		"  $verb "*)
			mine=1
			text+=${line#"  $verb"}$'\n'
			;;
		'                   '*) [ -z "$mine" ] || text+=$line$'\n' ;;
		*) [ -z "$mine" ] || break ;;
		esac
	done
	# shellcheck disable=SC2001
	printf '%s\n\n%s\n\n%s\n\nexamples:\n%s\n' "${table[0]/VERB/$verb}" "$(sed 's/^ *//' <<<"${text%$'\n'}")" \
		"$(table_sections)" "$(table_examples)" || exit 1
	exit 0
}

# table_examples: the verb's.
table_examples() {
	local line more=''

	for line in "${table[@]}"; do
		if [ -n "$more" ] || [[ $line == "  $table_name $verb "* ]]; then
			echo "$line"
			[[ $line == *\\ ]] && more=1 || more=''
		fi
	done
}

# table_verb WORD: sets the verb.
table_verb() {
	case " ${table_verbs[*]} " in
	*" $1 "*) verb=$1 ;;
	*)
		[[ $1 != -* ]] || wrong "unknown option ${1:0:64}; a verb comes first"
		hint "$1" '`' '`' "${table_verbs[@]}"
		wrong "unknown verb \`${1:0:64}\`$REPLY"
		;;
	esac
}

# table_parse WORD...: sets verb, given and arguments; answers what asks for help or the version, and ends.
table_parse() {
	local used version

	table_read
	case ${1-} in
	-h | --help) table_help ;;
	-V | --version)
		version=$(spaceid -V)
		echo "$table_name ${version#* }" || exit 1
		exit 0
		;;
	esac
	if [ ${#table_verbs[@]} -gt 0 ]; then
		[ $# -gt 0 ] || wrong 'which verb?'
		if [ "$1" = help ]; then
			[ $# -eq 1 ] || table_verb "$2"
			table_help
		fi
		table_verb "$1"
		shift
	fi
	table_options
	while [ $# -gt 0 ]; do
		used=1
		case $1 in
		--)
			arguments+=("${@:2}")
			break
			;;
		--*) table_long "$@" ;;
		-?*) table_short "$@" ;;
		*) arguments+=("$1") ;;
		esac
		shift "$used"
	done
	[ -z "${given[help]-}" ] || table_help
}
