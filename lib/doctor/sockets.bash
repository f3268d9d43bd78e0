# Sockets: who listens there, and what that process may. A part of bin/space-doctor.
# shellcheck shell=bash disable=SC2034,SC2154

declare -A served=() server=() sockets=()
min_files=4096 # descriptors of a server

check_sockets() {
	local line path directory

	for directory in bridge gateway leases; do
		! is_node || directory "$directory" "$run_dir/$directory" 0750 optional || :
	done
	directory run-dir "$run_dir" 0750 required || :
	ask spacebridge sockets "${config[@]}" -o json -- "${set[manager.socket]}" "${set[cache.socket]}" \
		"${set[signer.socket]}" "$run_dir"/{bridge,gateway,leases}
	[ "$code" -eq 0 ] || warn sockets "$words" "spacebridge sockets $run_dir"
	split "$said"
	for line in "${lines[@]}"; do
		take path "$line"
		path=$REPLY
		take state "$line"
		served[$path]=$REPLY
		! take pid "$line" || server[$path]=$REPLY
		case $path in
		"$run_dir"/leases/*) stale_lease "$path" "$line" ;;
		"$run_dir"/bridge/* | "$run_dir"/gateway/*) stale_socket "$path" "$line" ;;
		"$run_dir"/bridge | "$run_dir"/gateway | "$run_dir"/leases) ;;
		*) sockets[$path]=$line ;;
		esac
	done
	! is_node || server manager "${set[manager.socket]}" sbx-manager
	if is_control; then
		server cache "${set[cache.socket]}" 'spacerouted serve'
		server signer "${set[signer.socket]}" 'spacecap agent'
	fi
}
# stale_lease PATH LINE, stale_socket PATH LINE: a line when nobody has it.
stale_lease() {
	[ "${served[$1]}" != stale ] || warn leases "$1: the process that held leases there has ended" \
		"spacestream list$config_words"
}
stale_socket() {
	local directory=${1%/*}

	[ "${served[$1]}" = stale ] || return 0
	take ino "$2"
	local ino=$REPLY
	quote "$directory"
	warn "${directory##*/}" "$1: nobody listens there" "find $REPLY -maxdepth 1 -inum $ino -delete"
}

# open_socket NAME PATH LINE: fails, told, when anybody may connect although nobody was invited. (Who is allowed by uid
# comes through a socket that is open to all, and is turned away by the server.)
open_socket() {
	local mode

	take mode "$3" || return 0
	mode=$REPLY
	[ $((8#$mode & 002)) -ne 0 ] || return 0
	[ "$1" = signer ] || [ -z "${set[$1.allow_uids]}" ] || return 0
	quote "$2"
	warn "$1" "$2 has mode $mode: anybody can connect" "chmod o-rwx $REPLY"
	return 1
}

# server NAME PATH COMMAND: who listens there.
server() {
	local name=$1 path=$2 line=${sockets[$2]:-} start="$3$config_words" uid

	if [ -n "$systemd" ]; then
		start="systemctl restart space-$name.socket"
	fi
	case ${served[$path]:-} in
	served) ;;
	stale)
		bad "$name" "$path: nobody listens there any more" "$start"
		return
		;;
	absent)
		case $name in
		# Without it the key signs; what has units is told with them.
		signer) well signer "$path is not there: no signer" ;;
		*) bad "$name" "$path is not there" "$start" ;;
		esac
		return
		;;
	no-socket)
		quote "$path"
		bad "$name" "$path is no socket" "mv $REPLY $REPLY.old && $start"
		return
		;;
	*)
		warn "$name" "$path: not for this user to see" "sudo space-doctor$config_words"
		return
		;;
	esac
	open_socket "$name" "$path" "$line" || return 0
	take uid "$line" || :
	uid=$REPLY
	if [ "$name" = manager ] && [ -n "$uid" ] && [ "$uid" -ne 0 ] && ! listed "$uid" "${set[manager.uid]}"; then
		setting_to manager uid "$uid"
		bad manager "$path: uid $uid listens there, which is not in [manager] uid: nothing is sent to it" "$REPLY"
		return
	fi
	well "$name" "$path: ${uid:+uid $uid, }${server[$path]:+process ${server[$path]} }listens there"
	[ -z "${server[$path]:-}" ] || open_files "$name" "${server[$path]}"
}

# listed UID UIDS: is it, or its name, among them? None: nobody in particular is asked for.
listed() {
	local one

	[ -n "$2" ] || return 0
	for one in ${2//,/ }; do
		[ "$one" != "$1" ] && [ "$(id -u "$one" 2>/dev/null)" != "$1" ] || return 0
	done
	return 1
}

# open_files NAME PID: the limit of a server; init, which listens for one, has others.
open_files() {
	local soft hard to=65536

	[ "$2" -gt 1 ] || return 0
	read -r soft hard < <(sed -n 's/^Max open files *\([0-9a-z]*\) *\([0-9a-z]*\).*/\1 \2/p' "/proc/$2/limits" 2>/dev/null) ||
		return 0
	[ "$hard" = unlimited ] || [ "$hard" -lt "$min_files" ] || to=$hard:
	case $soft in
	'' | unlimited) ;;
	*)
		if [ "$soft" -lt "$min_files" ]; then
			warn limits "$1, process $2, may open $soft files: each connection takes several" \
				"prlimit --pid $2 --nofile=$to"
		else
			well limits "$1, process $2, may open $soft files"
		fi
		;;
	esac
}
