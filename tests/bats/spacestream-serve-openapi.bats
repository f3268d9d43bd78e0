# spacestream serve: GET /v1/openapi.json is what is implemented. Every status that it has is caused, and what comes is
# judged by its schemas (fixtures/openapi.mjs); the manager and the guest say what is needed for that (fixtures/frames.py).
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
load helper
load path
load front

export BATS_VERBOSE_RUN=1

setup_file() { npm_peers; }

setup() {
	WORLD=$BATS_TEST_TMPDIR
	AT=$WORLD/http
	[ -e "$PEERS/installed" ] || skip_or_fail 'npm package ajv (no registry reached)'
}

teardown() {
	world_end
	stop_all
}

# see ROUTE METHOD PATH ARG...: asks, as get does, and keeps what came. A stream that stays open is left alone after 1 s.
see() {
	local route=$1 method=$2 said
	said=$(get "$3" -X "$method" -o "$WORLD/body" -w '%{http_code} %{content_type}' "${@:4}" 2>"$WORLD/err") || :
	[ -n "$said" ] || fail "$*: $(<"$WORLD/err")"
	keep "$route" "$method" "$said"
}

# keep ROUTE METHOD 'STATUS TYPE': the body is in $WORLD/body.
keep() {
	jq -Rsc --arg route "$1" --arg method "${2,,}" --arg said "$3" '
		{route: $route, method: $method, status: ($said | split(" ")[0] | tonumber), type: ($said | split(" ")[1:] | join(" ")), body: .}
	' <"$WORLD/body" >>"$WORLD/seen"
	: >"$WORLD/body"
}

# see_raw ROUTE METHOD: a request that does not end, in standard input.
see_raw() {
	timeout 120 socat -t 0.1 - "UNIX-CONNECT:$AT" < <(cat; exec tail -f /dev/null) | tr -d '\r' >"$WORLD/raw"
	sed '1,/^$/d' "$WORLD/raw" >"$WORLD/body"
	keep "$1" "$2" "$(sed -n '1s/^HTTP[^ ]* \([0-9]*\) .*/\1/p' "$WORLD/raw") $(sed -n 's/^Content-Type: //p' "$WORLD/raw")"
}

head_of() { printf '%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n' "$1" "$(<"$WORLD/token")" && printf '%s\r\n' "${@:2}" ''; }

answer() { printf 'answer {"status":"error","error":"%s",%s"message":"m"}' "$1" "${2-}"; }

# What the way to a sandbox may answer; `on_the_way ROUTE METHOD PATH ARG...` sees all of it.
WAY=("answer {\"status\":\"refused\",\"decision\":\"deny\",\"reason\":\"replayed\",\"hop\":\"sbx-manager\"}"
	'answer {"status":"refused","decision":"refresh-route","reason":"execution","hop":"sbx-manager","behind":"caller"}'
	"$(answer op '"errno":"ENOENT",')" "$(answer too-large)" "$(answer overloaded)" "$(answer unavailable)" "$(answer internal)"
	"$(answer transport '"sent":true,')" "$(answer timeout '"sent":true,')")
# The same for what is tried once more when it may have been sent.
AGAIN=("${WAY[@]:0:7}" "${WAY[7]}" "${WAY[7]}" "${WAY[8]}" "${WAY[8]}")
on_the_way() {
	local n
	for ((n = 0; n < ${#WAY[@]}; n++)); do
		see "$@"
	done
}

# common ROUTE METHOD PATH ARG...: what is answered before the way.
common() {
	see "$1" "$2" "${3/s-42/-}" "${@:4}"
	TOKEN=/dev/null see "$@"
}

UPGRADE=(-H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==')
OPS=/v1/ops
PING='{"op":"ping","sandbox":"s-42","args":{}}'

see_ops() {
	local json=(-H 'Content-Type: application/json') big
	see "$OPS" POST "$OPS" "${json[@]}" -d "$PING"
	on_the_way "$OPS" POST "$OPS" "${json[@]}" -d "${PING/ping/file.write}"
	printf '%s\n' "$PING" x '{"op":"tree.get","sandbox":"s-42","args":{}}' >"$WORLD/lines"
	see "$OPS" POST "$OPS?window=2" -H 'Content-Type: application/x-ndjson' --data-binary "@$WORLD/lines"
	see "$OPS" POST "$OPS" "${json[@]}" -d x
	TOKEN=/dev/null see "$OPS" POST "$OPS" "${json[@]}" -d "$PING"
	see "$OPS" POST "$OPS" -d "$PING"
	see "$OPS" POST "$OPS" "${json[@]}" -d "$PING" -H 'Expect: tea'
	head -c 200000 /dev/zero | tr '\0' ' ' >"$WORLD/big"
	see "$OPS" POST "$OPS" "${json[@]}" --data-binary "@$WORLD/big"
	head_of "POST $OPS" 'Content-Length: 9' 'Content-Type: application/json' | see_raw "$OPS" POST
}

ATTACH='/v1/sandboxes/{id}/sessions/{session}/attach' WATCH='/v1/sandboxes/{id}/watch'
see_streams() {
	local at=/v1/sandboxes/s-42/sessions/e-1/attach
	common "$ATTACH" GET "$at" "${UPGRADE[@]}"
	see "$ATTACH" GET "$at?from=x" "${UPGRADE[@]}"
	see "$ATTACH" GET "$at"
	on_the_way "$ATTACH" GET "$at" "${UPGRADE[@]}"
	see "$ATTACH" GET "$at" "${UPGRADE[@]}" -m 1
	at='/v1/sandboxes/s-42/watch?path=/'
	common "$WATCH" GET "$at"
	see "$WATCH" GET "$at&x=y"
	see "$WATCH" GET "$at" "${UPGRADE[@]}" -H 'Origin: http://elsewhere'
	see "$WATCH" GET "$at" "${UPGRADE[@]/13/12}"
	on_the_way "$WATCH" GET "$at"
	see "$WATCH" GET "$at"
	see "$WATCH" GET "$at" "${UPGRADE[@]}" -m 1
}

TREE='/v1/sandboxes/{id}/tree'
see_trees() {
	local method at='/v1/sandboxes/s-42/tree?path=/'
	for method in GET PUT; do
		common "$TREE" "$method" "$at"
		see "$TREE" "$method" "$at&path=/"
		see "$TREE" "$method" "$at" -H 'Expect: tea'
		on_the_way "$TREE" "$method" "$at"
		see "$TREE" "$method" "$at"
	done
	head_of "PUT $at" 'Content-Length: 9' | see_raw "$TREE" PUT
}

PORT='/v1/sandboxes/{id}/ports/{port}/{rest}'
see_ports() {
	local method at=/v1/sandboxes/s-42/ports/8080/
	for method in GET HEAD POST PUT PATCH DELETE OPTIONS TRACE; do
		set --
		[ "$method" != HEAD ] || set -- -I
		common "$PORT" "$method" "$at" "$@"
		printf '%s\r\n' "$method $at HTTP/1.1" 'X: a' ' b' '' | see_raw "$PORT" "$method"
		on_the_way "$PORT" "$method" "$at" "$@"
		see "$PORT" "$method" "$at" "$@"
	done
	see "$PORT" GET "$at" "${UPGRADE[@]}" -m 1
	for method in POST PUT PATCH DELETE OPTIONS TRACE; do
		head_of "$method $at" 'Content-Length: 9' | see_raw "$PORT" "$method"
	done
}

# see_full: the same when all that this caller may have is in use.
see_full() {
	local method
	see "$ATTACH" GET /v1/sandboxes/s-42/sessions/e-1/attach "${UPGRADE[@]}"
	see "$WATCH" GET '/v1/sandboxes/s-42/watch?path=/'
	see "$OPS" POST "$OPS" -H 'Content-Type: application/json' -d "$PING"
	for method in GET PUT; do
		see "$TREE" "$method" '/v1/sandboxes/s-42/tree?path=/'
	done
	see "$PORT" HEAD /v1/sandboxes/s-42/ports/8080/ -I
	for method in GET POST PUT PATCH DELETE OPTIONS TRACE; do
		see "$PORT" "$method" /v1/sandboxes/s-42/ports/8080/
	done
}

@test "the description is OpenAPI 3.1, has the routes of the table and no others, and what is answered is as it says" {
	local port='open l; input 9; out HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi; hold' file='open l; input 0; status {"exit":0,"entries":1,"bytes":2}'
	local ops=('answer {"status":"ok","result":{}}' "${WAY[@]}" 'answer {"status":"ok","result":{}}') ports=() n
	for ((n = 0; n < 8; n++)); do
		ports+=("${WAY[@]}" "$port")
	done
	FRONT='--timeout 1 --idle-timeout 1' control "${ops[@]}" "${AGAIN[@]}" 'open l 0; status {"exit":0}' "${AGAIN[@]}" 'open l; out {"event":"closed","code":1000,"message":"m"}\n; status {"exit":0}' \
		'open l; hold' "${WAY[@]}" 'open l; out tar; status {"exit":0}' "${WAY[@]}" "$file" 'open l; hold' "${ports[@]}" \
		'open l; input 9; out HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n; end; status {"exit":0}' \
		'open l; hold' 'open l; hold' 'open l; hold' 'open l; hold' 'open l; hold' 'open l; hold' 'open l; hold' 'open l; hold'
	for path in / /v1/openapi.json /healthz /metrics; do
		see "$path" GET "$path"
		see "$path" HEAD "$path" -I
	done
	for path in page.js page.css none; do
		see '/page/{name}' GET "/page/$path"
		see '/page/{name}' HEAD "/page/$path" -I
	done
	get /v1/openapi.json >"$WORLD/document"
	see_ops
	see_streams
	see_trees
	see_ports
	stop front
	front --streams 1 --inflight 1
	get_exec '/v1/sandboxes/s-42/watch?path=/' >"$WORLD/one" 3>&- &
	get_exec '/v1/sandboxes/s-42/tree?path=/' >"$WORLD/other" 3>&- &
	eventually counted space_http_streams 1
	eventually counted space_http_operations_in_flight 1
	see_full
	run -0 node "$ROOT/tests/fixtures/openapi.mjs" "$ROOT" "$WORLD/document" "$WORLD/seen"
	assert_output --regexp '^[0-9]+ answers, 0 wrong$'
}
