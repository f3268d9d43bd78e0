# The machine: its kernel, clock, disk and units. A part of bin/space-doctor.
# shellcheck shell=bash disable=SC2034,SC2154

check_kernel() {
	local level missing

	ask spacebridge attest --level "${config[@]}" -o json
	if [ -z "$said" ]; then
		warn kernel "${words:-it was not told}" "spacebridge attest --level$config_words"
		return
	fi
	take level "$said"
	level=$REPLY
	missing=${said#*\"missing\":[}
	missing=${missing%%]*}
	missing=${missing//\"/}
	missing=${missing//,/, }
	take min_level "$said"
	if [ "$code" -eq 0 ]; then
		well kernel "level $level, [bridge] min_level $REPLY"
	elif [ "$level" = none ]; then
		bad kernel "nothing can be proved here, so every bridge is denied: it lacks $missing" \
			"spacebridge attest --level$config_words"
	else
		local asked=$REPLY
		setting_to bridge min_level "$level"
		bad kernel "level $level is below [bridge] min_level $asked, so every bridge is denied: it lacks $missing. \
A newer kernel has it; or be content with less" "$REPLY"
	fi
}

check_clock() {
	local path=${set[audit.file]} later line ntp='' early

	clock_time $((now + skew))
	later=$REPLY
	if [ -f "$path" ] && [ -r "$path" ]; then
		line=$(tail -n 1 -- "$path")
		if take time "$line" && [[ $REPLY > $later ]]; then
			bad clock "the last line of $path is of $REPLY, which is in the future here" 'timedatectl set-ntp true'
		fi
		early=$(tail -n 1000 -- "$path" | grep -c '"reason":"not-yet-valid"') || :
		[ "$early" -eq 0 ] || warn clock "$early of the last 1000 lines of $path refuse capabilities as not-yet-valid: \
this clock, or the control plane's, is wrong" 'timedatectl set-ntp true'
	fi
	if command -v timedatectl >/dev/null; then
		ask timedatectl show -p NTPSynchronized --value
		[ "$code" -ne 0 ] || ntp=$words
	fi
	case $ntp in
	no) warn clock 'it is not synchronized' 'timedatectl set-ntp true' ;;
	yes) well clock 'it is synchronized' ;;
	*) clock_time "$now" && well clock "it says $REPLY; nobody knows of a synchronization" ;;
	esac
}

check_disk() {
	local path size avail inodes free

	for path in "$state_dir" "$run_dir"; do
		[ -d "$path" ] || continue
		read -r size avail inodes free < <(df -k --output=size,avail,itotal,iavail -- "$path" 2>/dev/null |
			tail -n 1) || continue
		[[ $size$avail =~ ^[0-9]+$ ]] || continue
		[[ $inodes$free =~ ^[0-9]+$ ]] || inodes=0
		quote "$path"
		local mend="du -ax $REPLY | sort -n | tail"
		if [ "$avail" -lt 16384 ] || { [ "$inodes" -gt 0 ] && [ "$free" -lt 100 ]; }; then
			bad disk "$path: $((avail / 1024)) MiB and $free files are left: nothing can be installed" "$mend"
		elif [ "$avail" -lt 262144 ] && [ "$avail" -lt $((size / 4)) ] || [ "$free" -lt $((inodes / 50)) ]; then
			warn disk "$path: $((avail / 1024)) MiB and $free files are left" "$mend"
		else
			well disk "$path: $((avail / 1024)) MiB are left"
		fi
	done
}

check_units() {
	local wanted=() unit fields

	if [ -z "$systemd" ]; then
		well units 'no systemd with units of these tools runs here'
		return
	fi
	ask systemctl list-units --all --state=failed --plain --no-legend --no-pager 'space-*'
	while read -r unit _; do
		[ -n "$unit" ] || continue
		quote "$unit"
		bad units "$unit has failed: journalctl -u $unit says why" "systemctl restart $REPLY"
	done <<<"$words"
	! is_control || wanted+=(space-signer.socket space-cache.socket space-node-api.socket)
	! is_node || wanted+=(space-manager.socket)
	! is_node || [ -z "${set[keys.url]}" ] || wanted+=(space-keys.timer)
	for unit in "${wanted[@]}"; do
		ask systemctl show -P LoadState -P ActiveState -P UnitFileState "$unit"
		mapfile -t fields < <(grep . <<<"$words")
		case ${fields[*]} in
		not-found*) well units "$unit is not installed" ;;
		'loaded active enabled'*) well units "$unit is enabled and active" ;;
		'loaded active '*) warn units "$unit is ${fields[2]}: it does not come back after a boot" "systemctl enable $unit" ;;
		*) bad units "$unit is ${fields[1]:-unknown}" "systemctl enable --now $unit" ;;
		esac
	done
}
