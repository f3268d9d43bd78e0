# The pipeline of node-api and `spacerouted call` side by side, before managers that say what a request's args tell them
# (tests/fixtures/bridge). For spacerouted-call.bats.
# shellcheck shell=bash disable=SC2034,SC2119,SC2120,SC2154,SC2153

sides_setup() {
	W=$BATS_TEST_TMPDIR
	RUN=$W/run
	ME=uid:$(id -u)
	mkdir "$RUN"
	spacecap keygen -o "$W/key" >/dev/null
	configure
}

# configure [LINE...]: the configuration, with these lines at its end.
configure() {
	export SPACE_CONFIG=$W/space.ini
	printf '%s\n' '[space]' "state_dir = $W/state" "run_dir = $W/run" '[keys]' "secret = $W/key" "$@" >"$SPACE_CONFIG"
}

# publications STATE|STATE... EXECUTION ATTEMPT SOCKET: of the sandboxes s-STATE-N of the input.
publications() {
	jq -Rrc --arg s "$1" --argjson r "$(route_json "$2" "$3")" --arg e "unix:$W/$4" '
		fromjson? | .sandbox? | strings | select(test("^s-(\($s))-")) | {sandbox: ., route: $r, endpoint: $e}' "$W/in" | sort -u
}

# world: registry, cache and managers as they are when a run begins: the cache has execution 7 of every sandbox, and the
# registry has gone on.
world() {
	local name
	for name in cache a b; do
		[ ! -e "$W/$name.pid" ] || stop "$name"
	done
	rm -rf "$W/state" "$W"/*.log
	mkdir "$W/state"
	spacerouted grant -p "$ME" -s 's-*' --ops 'ping,guest.info,file.*,exec.*,tree.*,lease.*' --ports 8080/http
	{
		publications 'same|stale|gone|attempt|elsewhere' 7 1 a
		publications refused 7 1 nobody
		publications severed 7 1 severed
	} | spacerouted publish
	start cache spacerouted serve --no-watch
	spacerouted route --window 64 <"$W/in" || :
	{
		publications stale 8 1 b
		publications attempt 7 2 a
		publications elsewhere 7 1 b
	} | spacerouted publish
	for name in $(publications gone 7 1 a | jq -r .sandbox); do
		spacerouted retire -s "$name" --execution 7
	done
	for name in a b; do
		start "$name" "$FIXTURES/bridge" --listen "$W/$name" --greeting '' --log "$W/$name.log"
	done
	ln -sf a "$W/severed" # tests/preload/sever.c
	then_world
} >"$W/world.out"

# What a test does to each world besides.
then_world() { :; }

# one NAME COMMAND...: runs it on the input, and keeps what came of it as NAME.WHAT.
one() {
	local name=$1 code=0
	shift
	LD_PRELOAD=$ROOT/build/preload/sever.so SP_SEVER=$W/severed "$@" <"$W/in" >"$W/$name.answers" 2>"$W/$name.stderr" || code=$?
	echo "$code" >"$W/$name.code"
	# What the managers got; each attempt has another number and another capability.
	cat "$W/a.log" "$W/b.log" >"$W/$name.log"
	jq -c 'del(.id, .cap)' "$W/$name.log" | sort >"$W/$name.requests"
	{
		spacerouted cache stats -o json | jq -c '[.entries, .replaced, .kept, .unchanged, .gone]'
		spacerouted cache dump -o json | jq -c 'del(.expires)' | sort
	} >"$W/$name.cache" 2>&1
}

# run_both [OPTION...]: standard input through each, with these options, each in a world of its own: nothing differs.
run_both() {
	local what
	cat >"$W/in"
	world
	one pipeline node-api "$@"
	world
	one call spacerouted call "$@"
	for what in answers code requests cache stderr; do
		diff "$W/pipeline.$what" "$W/call.$what" || fail "they differ in their $what"
	done
	assert_equal "$(wc -l <"$W/call.answers")" "$(grep -c '' "$W/in")"
}
