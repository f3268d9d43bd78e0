# Keys: what signs here, and what is verified with. A part of bin/space-doctor.
# shellcheck shell=bash disable=SC2034,SC2154

check_signer() {
	local path=${set[keys.secret]} kid

	quote "$path"
	if [ ! -e "$path" ]; then
		if [ "${served[${set[signer.socket]}]:-}" = served ]; then
			well signer-key "$path is not there; a signer listens"
		else
			bad signer-key "$path is not there: nothing can be signed" "spacecap keygen -o $REPLY"
		fi
		return
	fi
	secret_file signer-key "$path" bad || return 0
	ask spacecap pubkey --id "${config[@]}" "$path"
	if [[ ! $words =~ ^k4\.pid\. ]]; then
		if [ -r "$path" ]; then
			bad signer-key "$words" "mv $REPLY $REPLY.old && spacecap keygen -o $REPLY"
		else
			well signer-key "$path has mode 0600; it is another user's to read"
		fi
		return
	fi
	kid=$words
	if [ -n "$bundle" ] && [[ $bundle != *"\"$kid\""* ]]; then
		bad signer-key "$path has the key $kid, which is not in the installed bundle: whatever it signs is refused as \
unknown-key" "$bundle_mend"
	else
		well signer-key "$path has mode 0600, key $kid"
	fi
}

# seconds TIME: since the epoch, in REPLY.
seconds() {
	REPLY=$(date -d "$1" +%s 2>/dev/null) || REPLY=0
}

# bundle_command SERIAL: how a new bundle comes here, in bundle_mend.
bundle_command() {
	if [ -z "${set[keys.url]}" ]; then
		bundle_mend="spacecap bundle build -k root.key -r ${set[space.realm]} --serial $(($1 + 1)) -o keys.tar.zst signer.pub \
&& spacecap bundle install$config_words keys.tar.zst"
	elif [ -n "$systemd" ]; then
		bundle_mend='systemctl start space-keys.service'
	else
		bundle_mend="space-keys$config_words fetched.tar.zst && spacecap bundle install$config_words fetched.tar.zst"
	fi
}

bundle='' bundle_mend=''
check_keys() {
	local serial issued expires left key

	is_node || [ -e "${set[keys.bundle]}" ] || return 0
	# The highest serial so far, which the next must exceed.
	read -r serial 2>/dev/null <"${set[keys.bundle]}.serial" || serial=''
	take serial "$serial" || REPLY=0
	bundle_command "$REPLY"
	if [ -z "${set[keys.root]}" ]; then
		setting_to keys root "\$(spacecap pubkey root.key)"
		bad keys 'no [keys] root is configured: no bundle can be verified' "$REPLY"
		return
	fi
	directory keys "${set[keys.bundle]}" 0755 optional || :
	ask spacecap bundle list "${config[@]}" -o json
	if [ -z "$said" ]; then
		case $words in
		*'Permission denied'*) warn keys "$words" "sudo space-doctor$config_words" ;;
		*) bad keys "$words" "$bundle_mend" ;;
		esac
		return
	fi
	bundle=$said
	take serial "$said"
	serial=$REPLY
	bundle_command "$serial"
	take issued_at "$said"
	issued=$REPLY
	take expires_at "$said"
	expires=$REPLY
	seconds "$expires"
	left=$(((REPLY - now) / 86400))
	REPLY=${said//\"state\":\"active\"/}
	key=$(((${#said} - ${#REPLY}) / 16))
	seconds "$issued"
	if [[ $said == *'"expired":true'* ]]; then
		bad keys "bundle $serial expired at $expires: every capability is refused" "$bundle_mend"
	elif [ "$key" -eq 0 ]; then
		bad keys "bundle $serial has no active key: every capability is refused" "$bundle_mend"
	elif [ "$REPLY" -gt $((now + skew)) ]; then
		bad clock "bundle $serial was issued at $issued, which is in the future here" 'timedatectl set-ntp true'
	elif [ "$left" -lt 7 ]; then
		warn keys "bundle $serial expires at $expires" "$bundle_mend"
	else
		well keys "bundle $serial, issued at $issued, is good for $left days; active keys: $key"
	fi
}
