#!/usr/bin/env bats
# shellcheck shell=bats disable=SC2016,SC2154
# Requests in flight: as many as the window says and no more, answered in order, none lost, and a slow one keeps no
# other from being done.
load helper
load spacerouted
load sides

setup() {
	sides_setup
	mkfifo "$W/tell" "$W/go"
}

teardown() {
	stop_all
	kill "${SERVER:-}" 2>/dev/null || true
}

# slow_cache WINDOW REPLY: in the cache's place. Takes so many questions, notes what it was asked, tells, and answers
# when it may; those after them at once.
slow_cache() {
	cat >"$W/slow" <<-SCRIPT
		for ((n = 0; n < $1; n++)); do
			IFS= read -r line && echo "\$line" >>"$W/asked" || exit
		done
		if read -r -t 0; then echo more >>"$W/asked"; fi
		echo >"$W/tell"
		timeout 60 head -n 1 "$W/go" >/dev/null || exit
		for ((n = 0; n < $1; n++)); do echo '$2'; done
		while IFS= read -r line; do
			echo "\$line" >>"$W/asked"
			echo '$2'
		done
	SCRIPT
	socat "UNIX-LISTEN:$RUN/cache.sock" "EXEC:bash $W/slow" 3>&- &
	SERVER=$!
	eventually [ -S "$RUN/cache.sock" ]
}

# filters VERB: the input through it with a window of 8, while the cache is slow.
filters() {
	local code=0
	spacerouted "$1" --window 8 <"$W/in" >"$W/out" 3>&- &
	local pid=$!
	from "$W/tell"
	assert_equal "$(wc -l <"$W/asked")" 8
	assert_equal "$(cat "$W/out")" ''
	go_on
	wait "$pid" || code=$?
	assert_equal "$code" 0
	assert_equal "$(wc -l <"$W/asked")" 40
	# In order, each with its own.
	assert_equal "$(jq -r '.id + .sandbox' "$W/out" | xargs)" "$(for n in {1..40}; do echo "r${n}s-$n"; done | xargs)"
}

go_on() { echo >"$W/go"; }

@test "route has as many questions out as its window says, and answers in order" {
	slow_cache 8 '{"status":"ok","effect":"hit","route":'"$(route_json 7)"',"endpoint":"unix:/m","revision":1,"access":["ping"],"ports":[],"expires":"2099-01-01T00:00:00Z"}'
	for n in {1..40}; do asked ping "s-$n" "r$n"; done >"$W/in"
	filters route
	assert_equal "$(jq -r .sandbox "$W/asked" | xargs)" "$(seq -f s-%g 40 | xargs)"
}

@test "repair has as many questions out as its window says, and answers in order" {
	slow_cache 8 '{"status":"ok","effect":"replaced","route":'"$(route_json 8)"',"endpoint":"unix:/m","revision":2}'
	for n in {1..40}; do
		printf '{"id":"r%s","status":"refused","decision":"refresh-route","reason":"retired","hop":"m","request":{"id":"r%s","op":"ping","sandbox":"s-%s","args":{},"caller":"%s","route":%s,"endpoint":"unix:/m","access":["ping"],"authorized_until":"2099-01-01T00:00:00Z","attempted":1}}\n' \
			"$n" "$n" "$n" "$ME" "$(route_json 7)"
	done >"$W/in"
	filters repair
	assert_equal "$(jq .attempted "$W/out" | sort -u)" 2
}

# slow_first COMMAND...: the first of 40 is held while those behind it are done, up to a window of 16.
slow_first() {
	{
		asked ping s-same-1 r1 '{"hold":true}'
		for n in {2..40}; do asked file.write s-same-1 "r$n"; done
	} >"$W/in"
	world
	"$@" --window 16 <"$W/in" >"$W/out" 3>&- &
	local pid=$! code=0
	eventually has_lines 16 "$W/a.log"
	assert_equal "$(wc -l <"$W/a.log")" 16
	assert_equal "$(cat "$W/out")" ''
	kill -USR1 "$(cat "$W/a.pid")"
	wait "$pid" || code=$?
	assert_equal "$code" 0
	assert_equal "$(jq -r .id "$W/out" | xargs)" "$(seq -f r%g 40 | xargs)"
	assert_equal "$(wc -l <"$W/a.log")" 40
}

# has_lines COUNT FILE: at the least.
has_lines() { [ "$(wc -l <"$2")" -ge "$1" ]; }

@test "a slow request keeps those behind it from being answered, not from being done, up to the window" {
	slow_first node-api
	slow_first spacerouted call
}

@test "second attempts of a whole window do not take the place of one that is slow" {
	configure '[manager]' 'timeout_ms = 30000'
	{
		asked ping s-same-1 slow '{"hold":true}'
		seq 4095 | awk '{ printf "{\"id\":\"r%d\",\"op\":\"file.write\",\"sandbox\":\"s-same-1\",\"args\":{\"key\":\"k%d\",\"turns\":[{\"say\":[\"%s\"]},{}]}}\n", $1, $1,
			"{\\\"id\\\":\\\"$ID\\\",\\\"status\\\":\\\"error\\\",\\\"error\\\":\\\"transport\\\",\\\"sent\\\":false,\\\"message\\\":\\\"m\\\"}" }'
	} >"$W/in"
	world
	spacerouted call --window 4096 <"$W/in" >"$W/out" 3>&- &
	local pid=$! code=0
	eventually has_lines 8191 "$W/a.log"
	kill -USR1 "$(cat "$W/a.pid")"
	wait "$pid" || code=$?
	assert_equal "$code" 0
	assert_equal "$(jq -r .status "$W/out" | sort | uniq -c | xargs)" '4096 ok'
	assert_equal "$(head -n 1 "$W/out" | jq -r .id)" slow
}
