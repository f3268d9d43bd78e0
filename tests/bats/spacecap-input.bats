# shellcheck shell=bats disable=SC2154,SC2016
# spacecap and bad input: each gets the documented answer and exit code, in its place, and the rest goes on.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	spacecap keygen -o a.key >/dev/null
	spacecap pubkey a.key >a.pub
	jq -c . >routed <<-'JSON'
		{"id":"r1","op":"ping","sandbox":"s-42","args":{},"caller":"uid:1000",
		 "route":{"execution":7,"worker":"worker-a","substrate":"host","activation":"act-19","attempt":1},
		 "endpoint":"unix:/run/space/manager.sock","access":["ping"],
		 "authorized_until":"2999-01-01T00:00:00Z","attempted":1}
	JSON
	spacecap mint -k a.key <routed >minted
}

# Both filters, with the record each of them takes: `filter NAME` runs it.
filter() {
	case $1 in
	mint) spacecap mint -k a.key ;;
	verify) spacecap verify --keys a.pub ;;
	esac
}

good() {
	case $1 in
	mint) cat routed ;;
	verify) cat minted ;;
	esac
}

# among NAME: a good record, then standard input, then a good record, through the filter; expects exit 3, the good ones
# answered, and as many bad-record answers in between as lines came in, each with its line number.
among() {
	local name=$1 count
	cat >between
	count=$(wc -l <between)
	{ good "$name"; cat between; good "$name"; } >in
	run -3 --separate-stderr filter "$name" <in
	assert_equal "$stderr" ''
	jq -c 'if .status then [.status, .error, .line] else [.id] end' <<<"$output" >got
	{
		echo '["r1"]'
		seq 2 $((count + 1)) | sed 's/.*/["error","bad-record",&]/'
		echo '["r1"]'
	} >expected
	diff expected got | head -n 5
	cmp expected got
}

@test "empty lines are bad records" {
	for name in mint verify; do printf '\n\n\n' | among $name; done
}

@test "a line of 10 MB is one bad record" {
	for name in mint verify; do
		{ head -c 10000000 /dev/zero | tr '\0' x; echo; } | among $name
	done
}

@test "binary noise is a bad record a line" {
	for name in mint verify; do
		head -c 100000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null >noise
		{ cat noise; echo; } | among $name
	done
}

@test "deep nesting is a bad record, and 100,000 levels end no process" {
	for name in mint verify; do
		{
			printf '{"id":"1","op":"ping","sandbox":"s","args":'
			printf '%0.s{"a":' $(seq 16)
			printf '1'
			printf '%0.s}' $(seq 16)
			echo '}'
			head -c 100000 /dev/zero | tr '\0' '['
			echo
		} | among $name
	done
}

@test "duplicate keys, at any depth and however spelt, are a bad record" {
	for name in mint verify; do
		{
			good $name | sed 's/"op":"ping"/"op":"ping","op":"exec.run"/'
			good $name | sed 's/"op":"ping"/"op":"ping","\\u006fp":"exec.run"/'
			good $name | sed 's/"execution":7/"execution":7,"execution":8/'
		} | among $name
	done
}

@test "what JSON allows and the records do not is a bad record" {
	for name in mint verify; do
		{
			echo '[]'
			echo '"text"'
			echo 'null'
			good $name | sed 's/$/ x/'
			good $name | sed 's/"execution":7/"execution":7.0/'
			good $name | sed 's/"execution":7/"execution":7e0/'
			good $name | sed 's/"execution":7/"execution":9007199254740992/'
			good $name | sed 's/uid:1000/uid:\\u0000/'
			good $name | sed 's/uid:1000/\xff/'
		} | among $name
	done
}

@test "half a record at the end of the input is answered and ends the filter" {
	for name in mint verify; do
		{ good $name; good $name | head -c 100; } >in
		run -3 --separate-stderr filter $name <in
		assert_equal "$(jq -c '[.status, .error, .line]' <<<"$output")" $'[null,null,null]\n["error","bad-record",2]'
	done
}

@test "a last line without line feed counts" {
	for name in mint verify; do
		good $name | tr -d '\n' >in
		run -0 --separate-stderr filter $name <in
		assert_json '.id == "r1"'
	done
}

@test "no input is no output and exit 0" {
	for name in mint verify; do
		run -0 --separate-stderr filter $name </dev/null
		assert_output ''
	done
}

@test "a full disk ends every verb with exit 1 and says so" {
	run -1 --separate-stderr bash -c 'spacecap mint -k a.key <routed >/dev/full'
	assert_equal "$stderr" 'spacecap: mint: standard output: No space left on device'
	run -1 --separate-stderr bash -c 'spacecap verify --keys a.pub <minted >/dev/full'
	assert_equal "$stderr" 'spacecap: verify: standard output: No space left on device'
	local verb
	for verb in 'pubkey a.key' '--help' 'help mint' 'inspect -- '"$(jq -r .cap minted)" 'config'; do
		run -1 --separate-stderr bash -c "spacecap $verb >/dev/full"
		[[ $stderr == *'No space left on device' ]]
	done
}

@test "a closed output ends a filter quietly" {
	for name in mint verify; do
		for _ in $(seq 2000); do good $name; done >in
		# shellcheck disable=SC2016
		run --separate-stderr bash -c "$(declare -f filter); set -o pipefail; filter $name <in | head -n 1 | jq -r .id; exit \${PIPESTATUS[0]}"
		[ "$status" -eq 0 ] || [ "$status" -eq 141 ]
		assert_output r1
		assert_equal "$stderr" ''
		run -1 --separate-stderr bash -c "$(declare -f filter); filter $name <in >&-"
	done
}

@test "an answer comes before the next question is asked" {
	local answer pid
	for name in mint verify; do
		coproc FILTER { filter $name; }
		pid=$FILTER_PID
		good $name >&"${FILTER[1]}"
		read -r -t 60 answer <&"${FILTER[0]}"
		good $name >&"${FILTER[1]}"
		read -r -t 60 answer <&"${FILTER[0]}"
		is_json '.id == "r1"' <<<"$answer"
		eval "exec ${FILTER[1]}>&-"
		wait "$pid"
	done
}

@test "a missing, an unreadable and a wrong configuration are exit 2 and touch nothing" {
	local verb
	printf '[space]\nrealms = x\n' >wrong.ini
	: >shut.ini
	chmod 000 shut.ini
	for verb in 'mint -k a.key' 'verify --keys a.pub' 'agent -k a.key --listen s.sock' 'bundle list' \
		'bundle install x' 'bundle build -k a.key --serial 1 -o new a.pub'; do
		run -2 --separate-stderr bash -c "timeout 60 spacecap $verb -c none.ini <routed"
		assert_output ''
		run -2 --separate-stderr bash -c "timeout 60 spacecap $verb -c wrong.ini <routed"
		[[ $stderr == *'wrong.ini:2'* ]]
		run -2 bash -c "timeout 60 spacecap $verb -c . <routed"
		if [ "$(id -u)" -ne 0 ]; then
			run -2 bash -c "timeout 60 spacecap $verb -c shut.ini <routed"
		fi
	done
	assert_not_exist s.sock
	assert_not_exist new
}

@test "a misspelt verb or option is exit 2 and gets a hint" {
	run -2 --separate-stderr spacecap mnit
	[[ $stderr == *'did you mean `mint`'* ]]
	run -2 --separate-stderr spacecap mint --reelm x
	[[ $stderr == *'did you mean --realm'* ]]
	run -2 spacecap
	run -2 spacecap bundle
	run -2 spacecap bundle instal x
	run -2 spacecap inspect
	run -2 spacecap inspect a b
}

@test "a token or key whose text is hostile moves no terminal" {
	run -3 --separate-stderr spacecap inspect -- $'v4.public.\e[2J\a'
	run ! grep $'\e' <<<"$output$stderr"
	run -2 --separate-stderr spacecap verify --keys a.pub --purpose $'\e[2J' -- x
	run ! grep $'\e' <<<"$output$stderr"
	# The claims of a token that anybody made, shown on a terminal.
	local payload token
	payload=$(printf '{"iss":"\\u001b[2J","sub":"\\u0007"}' | { cat; head -c 64 /dev/zero; } | base64 -w0 | tr '+/' '-_' | tr -d =)
	token="v4.public.$payload"
	run -0 --separate-stderr spacecap inspect -o table -- "$token"
	run ! grep $'[\e\a]' <<<"$output"
}
