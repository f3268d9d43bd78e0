# What is asked of the tools, and what is made of their answers; the configuration comes first. A part of bin/space-doctor.
# shellcheck shell=bash disable=SC2034,SC2154

text='"(([^"\\]|\\.)*)"'

# split TEXT: its lines in `lines`. (A loop of read would cost a system call for each byte.)
split() {
	local IFS=$'\n'

	# shellcheck disable=SC2206
	lines=($1)
}

# clock_time SECONDS: REPLY is that time, as records have it.
clock_time() {
	TZ=UTC0 printf -v REPLY '%(%FT%TZ)T' "$1"
}

# ask COMMAND...: with $input as its standard input; sets code, said (its lines of JSON), words (all others).
input=''
ask() {
	local all json=() other=()

	code=0
	all=$(timeout --foreground -k 1 "$patience" "$@" 2>&1 <<<"$input") || code=$?
	split "$all"
	for all in "${lines[@]}"; do
		case $all in
		'{'*) json+=("$all") ;;
		*) other+=("$all") ;;
		esac
	done
	local IFS=$'\n'
	said="${json[*]}" words="${other[*]}"
	case $code in
	124 | 137) words="$1: no answer within $patience s" ;;
	esac
}

# take NAME LINE: REPLY is its first member of that name, text or number; fails without one.
take() {
	if [[ $2 =~ \"$1\":$text ]]; then
		printf -v REPLY %b "${BASH_REMATCH[1]}"
	elif [[ $2 =~ \"$1\":([a-z0-9]+) ]]; then
		REPLY=${BASH_REMATCH[1]}
	else
		REPLY=''
		return 1
	fi
}

declare -A set=() from=()
settings() {
	local line

	split "$1"
	for line in "${lines[@]}"; do
		take section "$line"
		local section=$REPLY
		take key "$line"
		local key=$section.$REPLY
		take value "$line" || :
		set[$key]=$REPLY
		take from "$line"
		from[$key]=$REPLY
	done
}

# setting_to SECTION KEY VALUE: REPLY is the command that sets it; a VALUE may be $(a command).
setting_to() {
	local command=''

	# shellcheck disable=SC2016
	[[ $3 != '$('* ]] || command=1
	quote "$file"
	if [ "${from[$1.$2]:-}" = file ]; then
		REPLY="sed -i '/^\\[$1\\]/,/^\\[/s|^$2 *=.*|$2 = ${command:+\'}$3${command:+\'}|' $REPLY"
	elif [ -n "$command" ]; then
		REPLY="printf '\\n[%s]\\n%s = %s\\n' $1 $2 \"$3\" >>$REPLY"
	else
		REPLY="printf '\\n[%s]\\n%s = %s\\n' $1 $2 '$3' >>$REPLY"
	fi
}

# find_systemd: does it run here, with the units of these tools?
systemd=''
find_systemd() {
	[ -d /run/systemd/system ] && command -v systemctl >/dev/null || return 0
	ask systemctl show -P LoadState space-manager.socket space-signer.socket
	[[ $words != *loaded* ]] || systemd=1
}
is_node() { [ "$role" != control ]; }
is_control() { [ "$role" != node ]; }

check_config() {
	local tool version='' mixed=''

	file=${config[1]:-${SPACE_CONFIG:-/etc/space/space.ini}}
	quote "$file"
	config_words=${config[1]:+" -c $REPLY"}
	for tool in spacebridge spacecap spaceid spacerouted spacestream; do
		if ! command -v "$tool" >/dev/null; then
			bad config "$tool is not in PATH" 'apt-get install space-tools'
			return 1
		fi
		words=$("$tool" -V 2>&1) || :
		version=${version:-${words#* }}
		[ "${words#* }" = "$version" ] || mixed="$tool is ${words#* }, spacebridge is $version"
		ask "$tool" config "${config[@]}" -o json
		if [ "$code" -ne 0 ]; then
			local at=''
			[[ ! $words =~ :([0-9]+):\  ]] || at="+${BASH_REMATCH[1]} "
			case $words in
			*'Permission denied') bad config "$words" "sudo space-doctor$config_words" ;;
			*'not a regular file') bad config "$words" "ls -l $REPLY" ;;
			*) bad config "$words" "\${EDITOR:-vi} $at$REPLY" ;;
			esac
			return 1
		fi
	done
	settings "$said"
	state_dir=${set[space.state_dir]} run_dir=${set[space.run_dir]} records=$state_dir/records
	skew=${set[keys.max_skew]}
	[ -z "$mixed" ] || warn config "the tools are of several versions: $mixed" 'apt-get install space-tools'
	if [ -e "$file" ]; then
		well config "$file is understood"
	else
		well config "$file is not there: every setting has its default"
	fi
}

registry_file() {
	REPLY=''
	case ${set[registry.url]} in
	sqlite:*) REPLY=${set[registry.url]#sqlite:} ;;
	/*) REPLY=${set[registry.url]} ;;
	esac
}

find_role() {
	local node='' control=''

	registry_file
	registry=$REPLY registry_here=''
	[ -n "$registry" ] && [ ! -e "$registry" ] || registry_here=1
	[ -z "$role" ] || return 0
	[ -z "${set[space.worker]}" ] && [ ! -d "$records" ] || node=1
	[ ! -e "${set[keys.secret]}" ] || control=1
	[ -z "$registry_here" ] || control=1
	case $node$control in
	1) [ -n "$node" ] && role=node || role=control ;;
	*) role=all ;;
	esac
}
