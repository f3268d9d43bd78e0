# Routes, against the records of this worker and who listens for it. A part of bin/space-doctor.
# shellcheck shell=bash disable=SC2034,SC2154

# check_routes: against the records where this machine is a node, and against who listens where it is a control plane.
declare -A routes=()
check_routes() {
	local line sandbox all

	if [ -n "$routes_file" ]; then
		if [ ! -f "$routes_file" ] || ! said=$(grep '^{' -- "$routes_file"); then
			bad routes "$routes_file: no list of routes" "spacerouted list -o json >$routes_file"
			return
		fi
	elif ! is_control && [ -z "$registry_here" ]; then
		well routes 'the registry is elsewhere: --routes takes a list of its routes'
		return
	else
		ask spacerouted list "${config[@]}" -o json
		if [ "$code" -ne 0 ]; then
			case $words in
			*'Permission denied'* | *'unable to open'*) warn routes "$words" "sudo space-doctor$config_words" ;;
			*'no registry at'*) well routes "$words" ;;
			*) bad routes "$words" "spacerouted list$config_words" ;;
			esac
			return
		fi
	fi
	all=$(grep '"state":"active"' <<<"$said") || :
	split "$all"
	for line in "${lines[@]}"; do
		take sandbox "$line" || continue
		[[ $REPLY =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] || continue
		sandbox=$REPLY
		take worker "$line" || continue
		[ -n "${set[space.worker]}" ] && [ "$REPLY" != "${set[space.worker]}" ] || routes[$sandbox]=$line
	done
	! is_node || compare_routes
	! is_node || orphans
	! is_control || endpoints "$all"
}

# compare_routes: those to this worker with what it serves.
compare_routes() {
	local line sandbox differing=0 execution

	[ ${#routes[@]} -gt 0 ] || return 0
	input=$(printf '%s\n' "${routes[@]}" |
		sed -n 's/^{\("sandbox":"[^"]*","route":{[^}]*}\).*/{"selected":{\1}}/p')
	if [ -d "$records" ]; then
		ask spaceid compare --records "$records" "${config[@]}" -o json
	else
		said=${input//'}}}'/'}},"decision":"refresh-route","reason":"absent"}'} code=10
	fi
	input=''
	split "$said"
	for line in "${lines[@]}"; do
		[[ $line == *'"decision":"refresh-route"'* ]] || continue
		differing=1
		take sandbox "$line"
		sandbox=$REPLY
		take execution "$line"
		execution=$REPLY
		take reason "$line"
		case $REPLY:$line in
		absent:*) unserved "$sandbox" "$execution" 'has no record of it' ;;
		retired:*) unserved "$sandbox" "$execution" 'has retired it' ;;
		*'"behind":"caller"'*) republish "$sandbox" "$execution" "$REPLY" ;;
		*) unserved "$sandbox" "$execution" "has another one ($REPLY)" ;;
		esac
	done
	case $code in
	0 | 10) [ "$differing" -ne 0 ] || well routes "${#routes[@]} to this worker, which serves them" ;;
	*) warn routes "${words:-they could not be compared}" "spaceid list$config_words" ;;
	esac
}
unserved() {
	bad routes "$1: execution $2 is routed to this worker, which $3" \
		"spacerouted retire$config_words --sandbox $1 --execution $2"
}

# republish SANDBOX EXECUTION REASON: the worker is ahead: what it serves takes the route.
republish() {
	local line=${active[$1]:-} command="spacerouted publish$config_words --sandbox $1" name

	[ -n "$line" ] || { unserved "$1" "$2" "has another one ($3)" && return; }
	for name in execution worker substrate pod_uid activation attempt; do
		! take "$name" "$line" || command+=" --${name/_/-} $REPLY"
	done
	take execution "$line"
	local here=$REPLY
	take endpoint "${routes[$1]}"
	quote "$REPLY"
	bad routes "$1: execution $2 is routed to this worker, which serves execution $here ($3)" "$command --endpoint $REPLY"
}

# orphans: active records that no route leads to.
orphans() {
	local sandbox left=0

	for sandbox in "${!active[@]}"; do
		[ -z "${routes[$sandbox]:-}" ] || continue
		left=1
		retire_here "$sandbox"
		warn orphans "$sandbox: it has an active record here, and no route leads to it" "$REPLY"
	done
	[ "$left" -ne 0 ] || well orphans 'every active record has its route'
}

# endpoints ROUTES: does somebody listen at each?
endpoints() {
	local paths path line missing=0

	mapfile -t paths < <(sed -n 's/.*"endpoint":"unix:\([^"\\]*\)".*/\1/p' <<<"$1" | sort -u)
	[ ${#paths[@]} -gt 0 ] || return 0
	ask spacebridge sockets "${config[@]}" -o json -- "${paths[@]:0:1000}"
	split "$said"
	for line in "${lines[@]}"; do
		take path "$line" || continue
		path=$REPLY
		take state "$line"
		case $REPLY in
		served) continue ;;
		hidden) warn endpoints "$path: not for this user to see" "sudo space-doctor$config_words" ;;
		*)
			local word=$REPLY name=${path%/*} mend
			quote "${name##*/}"
			mend="systemctl restart space-link@$REPLY"
			quote "$path"
			[[ $path == */space-link/* ]] || mend="sbx-manager --listen $REPLY"
			[ "$path" != "${set[manager.socket]}" ] || mend="sbx-manager$config_words"
			bad endpoints "$path: routes lead there, and nobody listens ($word)" "$mend"
			;;
		esac
		missing=1
	done
	[ "$missing" -ne 0 ] || well endpoints "somebody listens at each of ${#paths[@]}"
}
