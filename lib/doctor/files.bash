# Directories and files: are they there, and whose to change? A part of bin/space-doctor.
# shellcheck shell=bash disable=SC2034,SC2154

# directory CHECK PATH MODE NEED: MODE is the most that it may have, NEED a word: required or optional.
directory() {
	local check=$1 path=$2 mode=$3 seen excess make

	quote "$path"
	make="install -d -m $mode $REPLY"
	case $path in
	/var/lib/space* | /run/space*) [ -z "$systemd" ] || make='systemd-tmpfiles --create space.conf' ;;
	esac
	if ! seen=$(stat -L -c '%a %F' -- "$path" 2>&1); then
		case $seen in
		*'Permission denied'*) warn "$check" "$path: not for this user to see" "sudo space-doctor$config_words" ;;
		*)
			[ "$4" = required ] || return 0
			bad "$check" "$path is not there" "$make"
			;;
		esac
		return 1
	fi
	if [ "${seen#* }" != directory ]; then
		bad "$check" "$path is a ${seen#* }, not a directory" "mv $REPLY $REPLY.old && install -d -m $mode $REPLY"
		return 1
	fi
	printf -v seen %04o "$((8#${seen%% *}))"
	excess=$((8#$seen & 0777 & ~8#$mode))
	# Where nobody can take away what is another's, a group may write.
	[ $((8#$seen & 01002)) -ne $((01000)) ] || excess=0
	if [ "$excess" -eq 0 ]; then
		well "$check" "$path has mode $seen"
	elif [ $((excess & 022)) -ne 0 ]; then
		bad "$check" "$path has mode $seen: others can change what is in it" "chmod $mode $REPLY"
	else
		warn "$check" "$path has mode $seen, more than $mode" "chmod $mode $REPLY"
	fi
}

# files CHECK DIRECTORY WHAT WORDS MENDING CONDITION...: a failure when find's CONDITION is true of any file there.
files() {
	local check=$1 directory=$2 what=$3 words=$4 mending=$5 found

	shift 5
	found=$(find "$directory" -mindepth 1 -maxdepth 1 "$@" -printf . 2>/dev/null) || :
	[ -n "$found" ] || return 0
	quote "$directory"
	local command="find $REPLY -mindepth 1 -maxdepth 1" word
	for word; do
		quote "$word"
		command+=" $REPLY"
	done
	bad "$check" "${#found} $what in $directory $words" "$command $mending"
}

owner() { stat -c %u -- "$1" 2>/dev/null || echo 0; }

check_state() {
	local uid

	directory state-dir "$state_dir" 0755 required || return 0
	if is_node && [ -d "$records" ]; then
		directory records "$records" 0750 required || return 0
		uid=$(owner "$records")
		files records "$records" file 'can be written by others' '-exec chmod go-w {} +' -name '*.json' -type f -perm /022
		files records "$records" entry 'is no regular file' -delete -name '*.json' ! -type f
		files records "$records" file "is not of its owner, uid $uid" "-exec chown -h $uid {} +" -type f ! -uid "$uid"
		directory guest-keys "$records/guest-keys" 0711 optional || :
		files guest-keys "$records/guest-keys" file 'can be read by others' '-exec chmod 600 {} +' -type f ! -name '.*' -perm /077
		directory used "$state_dir/used" 0700 optional || :
	fi
	if is_control && [ -n "$registry" ] && [ -e "$registry" ]; then
		secret_file registry "$registry" warn || :
	fi
	audit_file
}

# secret_file CHECK PATH SAY: a regular file that is its owner's alone; SAY tells what else it is.
secret_file() {
	local seen

	quote "$2"
	if ! seen=$(stat -c '0%a %F' -- "$2" 2>&1); then
		warn "$1" "$2: not for this user to see" "sudo space-doctor$config_words"
		return 1
	fi
	case $seen in
	*'regular'*) ;;
	*)
		bad "$1" "$2 is a ${seen#* }, no regular file" "ls -l $REPLY"
		return 1
		;;
	esac
	if [ $((${seen%% *} & 077)) -ne 0 ]; then
		"$3" "$1" "$2 has mode ${seen%% *}: it is to be its user's alone" "chmod 600 $REPLY"
		return 1
	fi
}

audit_file() {
	local path=${set[audit.file]} mode

	[ -n "$path" ] || return 0
	quote "${path%/*}"
	if [ ! -d "${path%/*}" ]; then
		bad audit "${path%/*} is not there: nothing is written down" "install -d -m 0750 $REPLY"
		return
	fi
	[ -e "$path" ] || return 0
	quote "$path"
	mode=$(stat -c 0%a -- "$path") || return 0
	if [ ! -f "$path" ]; then
		bad audit "$path is no regular file" "mv $REPLY $REPLY.old"
	elif [ $((mode & 002)) -ne 0 ]; then
		bad audit "$path has mode $mode: anybody can change it" "chmod o-w $REPLY"
	else
		well audit "$path has mode $mode"
	fi
}
