# Runtime records, the processes that they name, and the keys of their guests. A part of bin/space-doctor.
# shellcheck shell=bash disable=SC2034,SC2154

declare -A active=() guests=()
records_count=0 records_code=0
check_records() {
	local line later

	if [ ! -d "$records" ]; then
		well records "$records is not there: nothing was ever installed"
		return
	fi
	ask spaceid list "${config[@]}" -o json
	[ "$code" -ne 124 ] || bad records "$words" "spaceid list$config_words"
	split "$words"
	for line in "${lines[@]}"; do
		case $line in
		'') ;;
		*'Permission denied'*) warn records "$line" "sudo space-doctor$config_words" ;;
		*)
			if [[ $line =~ :\ ([A-Za-z0-9][A-Za-z0-9._-]*\.json):\  ]]; then
				quote "$records/${BASH_REMATCH[1]}"
				bad records "$line: nothing of it is served until it is activated anew" "rm $REPLY"
			else
				bad records "$line" "spaceid list$config_words"
			fi
			;;
		esac
	done
	clock_time $((now + skew))
	later=$REPLY
	take_records "$said"
	records_code=$code
	[ "$code" -ne 0 ] || well records "$records_count in $records, ${#active[@]} active"
	check_processes
	check_capabilities
}

# take_records LINES: `active` and `guests`. (The shell's own expressions are slow in long lines, and there may be many.)
take_records() {
	local facts n fields

	# shellcheck disable=SC2001
	split "$(sed 's/^{"v":[0-9]*,"sandbox":"\([^"]*\)",.*,"version":[0-9]*,"state":"\([a-z]*\)",.*"installed_at":"\([^"]*\)".*/\1 \2 \3/
		t
		s/.*/- - -/' <<<"$1")"
	facts=("${lines[@]}")
	split "$(sed -n 's/.*"guest":{"id":"\([^"]*\)".*/\1/p' <<<"$1")"
	for n in "${lines[@]}"; do
		guests[$n]=1
	done
	split "$1"
	for ((n = 0; n < ${#lines[@]}; n++)); do
		read -ra fields <<<"${facts[n]}"
		[ "${fields[1]}" != active ] || active[${fields[0]}]=${lines[n]}
		[[ ${fields[2]} > $later ]] || continue
		bad clock "the record of ${fields[0]} was installed at ${fields[2]}, which is in the future here" \
			'timedatectl set-ntp true'
	done
	records_count=${#lines[@]}
}

# part NAME LINE: REPLY is what follows this member.
part() {
	REPLY=${2#*"\"$1\":"}
}

# activate_anew SANDBOX: REPLY is the command that enrolls what runs now.
activate_anew() {
	local line=${active[$1]} execution attempt activation owner vmm api='' bridge=''

	take execution "$line"
	execution=$REPLY
	take attempt "$line"
	attempt=$((REPLY + 1))
	take activation "$line"
	activation=$REPLY
	take owner "$line"
	owner=$REPLY
	part vmm "$line"
	vmm=$REPLY
	part api "$vmm"
	[ "$REPLY" = "$vmm" ] || ! take path "$REPLY" || { quote "$REPLY" && api=" --api $REPLY"; }
	case $line in
	*'"cgroup":"'*"/space-host@"*)
		bridge=" --bridge-pid \$(systemctl show -P MainPID space-host@$1)"
		;;
	esac
	take uds_path "$vmm"
	quote "$REPLY"
	local uds=$REPLY cid
	take cid "$vmm"
	cid=$REPLY
	take pid "$vmm"
	local pid=$REPLY run=''
	[ -n "$registry_here$config_words" ] || run=" --worker-run 'ssh ${set[space.worker]}'"
	REPLY="${bridge:+systemctl restart space-host@$1 && }sandbox activate $1${config_words:+ --worker-config${config_words# -c}}$run\
 --execution $execution --activation $activation --attempt $attempt --owner $owner\
 --vmm-pid $pid --uds-path $uds --cid $cid$api$bridge"
}

# retire_here SANDBOX: REPLY is the command that ends what its record serves.
retire_here() {
	take execution "${active[$1]}"
	REPLY="spaceid retire$config_words --sandbox $1 --execution $REPLY"
}

# check_processes: those of each active record.
check_processes() {
	local line sandbox reason denied=0

	[ ${#active[@]} -gt 0 ] || return 0
	ask spacebridge attest --all "${config[@]}" -o json
	[ "$code" -ne 124 ] || bad processes "$words" "spacebridge attest --all$config_words"
	split "$said"
	for line in "${lines[@]}"; do
		[[ $line == *'"decision":"deny"'* ]] || continue
		denied=1
		take sandbox "$line"
		sandbox=$REPLY
		[ -n "${active[$sandbox]:-}" ] || continue
		take reason "$line"
		reason=$REPLY
		take message "$line" || :
		# The first check that failed is often called as the reason is.
		local why=${REPLY#"$reason: "}
		[[ $why == "$reason: "* ]] || why=$REPLY
		case $reason:$why in
		evidence-unavailable:*) warn processes "$sandbox: $why" "spacebridge attest --sandbox $sandbox$config_words" ;;
		vmm-* | *": vmm-"*)
			retire_here "$sandbox"
			bad processes "$sandbox: its VMM is not as enrolled: $why" "$REPLY"
			;;
		*)
			activate_anew "$sandbox"
			bad processes "$sandbox: its bridge is not as enrolled: $why" "$REPLY"
			;;
		esac
	done
	[ "$denied" -ne 0 ] || [ "$code" -ne 0 ] || well processes "those of ${#active[@]} records are as enrolled"
}

# check_capabilities: has the manager what it takes to look into processes of other users?
check_capabilities() {
	local pid=${server[${set[manager.socket]}]:-0} eff uid sandbox

	[ "$pid" -gt 1 ] || return 0
	eff=$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null) || return 0
	[ -n "$eff" ] || return 0
	if [ $((16#$eff >> 19 & 1)) -eq 1 ]; then
		well capabilities "manager, process $pid, has CAP_SYS_PTRACE"
		return
	fi
	uid=$(stat -c %u "/proc/$pid") || return 0
	for sandbox in "${!active[@]}"; do
		part vmm "${active[$sandbox]}"
		take uid "$REPLY"
		if [ "$REPLY" != "$uid" ]; then
			local mend="kill $pid && sbx-manager$config_words"
			[ -z "$systemd" ] || mend='systemctl revert space-manager.service && systemctl restart space-manager.service'
			bad capabilities "manager, process $pid of uid $uid, lacks CAP_SYS_PTRACE: it cannot look into the VMM of \
$sandbox, uid $REPLY" "$mend"
			return
		fi
	done
	well capabilities "manager, process $pid, lacks CAP_SYS_PTRACE and has only VMMs of its own user"
}

check_guest_keys() {
	local directory=$records/guest-keys name inode tried

	[ -d "$directory" ] || return 0
	if [ ! -r "$directory" ]; then
		warn guest-keys "$directory: not for this user to see" "sudo space-doctor$config_words"
		return
	fi
	# The guest of a record that cannot be read is not known.
	[ "$records_code" -eq 0 ] || return 0
	tried=$(find "$directory" -maxdepth 1 -type f -name '.tried.*' -size -8k -exec cat {} + 2>/dev/null) || :
	quote "$directory"
	# A predecessor's key goes with its snapshot, which takes its time.
	while read -r inode name; do
		[ -z "${guests[$name]:-}" ] || continue
		[[ $'\n'$tried$'\n' != *$'\n'"$name"$'\n'* ]] || continue
		warn guest-keys "$directory has the key of a guest that no record has: $name" \
			"find $REPLY -maxdepth 1 -inum $inode -delete"
	done < <(find "$directory" -mindepth 1 -maxdepth 1 -type f -mmin +1440 ! -name '.*' \
		! -name '*[!A-Za-z0-9._-]*' -printf '%i %f\n' 2>/dev/null)
}
