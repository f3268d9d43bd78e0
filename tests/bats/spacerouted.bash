# Shared by the bats files of spacerouted: a configuration of its own, and routes in short.
# shellcheck shell=bash disable=SC2034,SC2154

# space_setup: a configuration whose state, run directory and registry lie in the test's own directory.
space_setup() {
	STATE=$BATS_TEST_TMPDIR/state
	RUN=$BATS_TEST_TMPDIR/run
	DB=$STATE/registry.db
	mkdir -p "$STATE" "$RUN"
	export SPACE_CONFIG=$BATS_TEST_TMPDIR/space.ini
	# [registry] last: tests add to it. So long only a busy machine takes.
	printf '[space]\nstate_dir = %s\nrun_dir = %s\n[registry]\ntimeout_ms = 60000\n' "$STATE" "$RUN" >"$SPACE_CONFIG"
	ME=uid:$(id -u)
}

# within MILLISECONDS: the registry has so long to answer, from now on.
within() { sed -i "s/^timeout_ms = .*/timeout_ms = $1/" "$SPACE_CONFIG"; }

# route_json EXECUTION [ATTEMPT]: a route on substrate host.
route_json() {
	printf '{"execution":%s,"worker":"worker-a","substrate":"host","activation":"act-%s","attempt":%s}' \
		"$1" "$1" "${2:-1}"
}

# publication SANDBOX EXECUTION [ATTEMPT]: a line for publish.
publication() {
	printf '{"sandbox":"%s","route":%s,"endpoint":"unix:/run/%s"}\n' "$1" "$(route_json "$2" "${3:-1}")" "$2"
}

# route_flags EXECUTION [ATTEMPT]: the same as flags, in FLAGS.
route_flags() {
	FLAGS=(--execution "$1" --worker worker-a --substrate host --activation "act-$1" --attempt "${2:-1}")
}

publish() {
	publication "$@" | spacerouted publish
}

# cache VERB SANDBOX [OPTION...]: as the caller that this process is.
cache() {
	local verb=$1 sandbox=$2
	shift 2
	spacerouted cache "$verb" --caller "$ME" --sandbox "$sandbox" "$@"
}

# reject SANDBOX EXECUTION [ATTEMPT]
reject() {
	local FLAGS
	route_flags "$2" "${3:-1}"
	cache reject "$1" "${FLAGS[@]}"
}

# counter NAME: of the cache, now.
counter() {
	spacerouted cache stats -o json | jq ".$1"
}

# asked OP SANDBOX [ID] [ARGS]: an asked record.
asked() {
	printf '{"id":"%s","op":"%s","sandbox":"%s","args":%s}\n' "${3:-r1}" "$1" "$2" "${4:-{\}}"
}

# gives STATUS CMD...: does it end so? Leaves $output.
gives() {
	local wanted=$1
	shift
	run "$@"
	[ "$status" -eq "$wanted" ]
}

# gives_json FILTER CMD...: is this true of what it prints? Leaves $output.
gives_json() {
	local filter=$1
	shift
	run "$@"
	is_json "$filter" <<<"$output"
}
