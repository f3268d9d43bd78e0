#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2030,SC2031,SC2154,SC2086
# Manners that every verb of every tool has: help, hints, refusals, configuration, colour, lost output.
load helper
load tables

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() { stop_all; }

# expect EXIT STDOUT STDERR COMMAND...: exactly these.
expect() {
	local exit=$1 out=$2 err=$3 status=0
	shift 3
	timeout 60 "$@" >expect.out 2>expect.err </dev/null || status=$?
	if [ "$status" -ne "$exit" ] || [ "$(cat expect.out)" != "$out" ] || [ "$(cat expect.err)" != "$err" ]; then
		fail "$*: $status, not $exit: $(cat expect.out expect.err), not $out$err"
	fi
}

help_of() {
	local tool=$1 verb=$2 word=${2%% *}
	# shellcheck disable=SC2086
	run -0 --separate-stderr "$tool" $verb --help
	assert_equal "$stderr" ''
	assert_line --index 0 --regexp "^usage: $tool $verb \[options\]"
	# At least one example, and it is one of this verb.
	sed -n '/^examples:$/,$p' <<<"$output" | grep -q -- "$tool $word\|$tool $verb" ||
		fail "$tool $verb: no example of its own: $output"
	local said=$output
	run -0 "$tool" help $verb
	assert_equal "$output" "$said"
	run -0 "$tool" $verb -h
	assert_equal "$output" "$said"
}

@test "every verb's --help, -h and help VERB are the same page, with examples of it" {
	each_verb help_of
}

@test "every tool's --help, -h and help are the same page, with verbs, exit codes and where to go on" {
	for tool in $TOOLS; do
		run -0 --separate-stderr "$tool" --help
		assert_equal "$stderr" ''
		assert_line --index 0 "usage: $tool VERB [options] [arguments]"
		assert_line 'examples:'
		assert_line --partial "  $tool "
		assert_line 'exit codes: 0 done, 1 failed, 2 usage or configuration, 3 bad record, key or'
		assert_line "\`$tool help VERB\` says more; man $tool has it all."
		said=$output
		run -0 "$tool" -h
		assert_equal "$output" "$said"
		run -0 "$tool" help
		assert_equal "$output" "$said"
	done
}

@test "every tool says its version, the changelog's" {
	version=$(sed -n 's/^## \([0-9][^ ]*\).*/\1/p' "$ROOT/CHANGELOG.md" | head -n 1)
	[ -n "$version" ]
	for tool in $TOOLS; do
		expect 0 "$tool $version" '' "$tool" -V
		expect 0 "$tool $version" '' "$tool" --version
	done
}

@test "--version -v says the versions of the libraries as well" {
	for tool in $TOOLS; do
		run -0 "$tool" --version -v
		assert_equal "${lines[0]}" "$("$tool" --version)"
		assert_line "glibc: $(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)"
		assert_line "libsodium: $(pkg-config --modversion libsodium)"
		assert_line --regexp '^libarchive: .*[0-9], loaded where it is needed$'
		assert_line "sqlite: $(pkg-config --modversion sqlite3), loaded where it is needed"
		refute_line --partial unknown
	done
	run -0 spacebridge -V --verbose
	assert_line --regexp '^http-parser: 2\.[0-9.]+$'
}

@test "no verb is a usage error" {
	for tool in $TOOLS; do
		expect 2 '' "$tool: which verb?
try: $tool --help" "$tool"
	done
}

misspelt_verb() {
	local tool=$1 first=${2%% *} second=''
	case $2 in *' '*) second=$(swapped "${2#* }") ;; *) first=$(swapped "$first") ;; esac
	expect 2 '' "$tool: unknown verb \`$first\`; did you mean \`$2\`?
try: $tool --help" "$tool" "$first" $second
}

@test "a misspelt verb suggests the verb" {
	each_verb misspelt_verb
}

@test "a verb far from all is told without a suggestion" {
	for tool in $TOOLS; do
		expect 2 '' "$tool: unknown verb \`xyzzy-plugh\`
try: $tool --help" "$tool" xyzzy-plugh
	done
}

misspelt_options() {
	local tool=$1 verb=$2 option wrong
	for option in $(options "$tool" $verb); do
		wrong=$(swapped "$option")
		expect 2 '' "$tool: $verb: unknown option --$wrong; did you mean --$option?
try: $tool help $verb" "$tool" $verb "--$wrong"
	done
}

@test "a misspelt option suggests the option" {
	each_verb misspelt_options
}

unknown_options() {
	expect 2 '' "$1: $2: unknown option --xyzzy-plugh
try: $1 help $2" "$1" $2 --xyzzy-plugh
	expect 2 '' "$1: $2: unknown option -%
try: $1 help $2" "$1" $2 -%
}

@test "an unknown option is exit 2" {
	each_verb unknown_options
}

odd_values() {
	expect 2 '' "$1: $2: --output: \`nonsense\` is none of json|table
try: $1 help $2" "$1" $2 --output nonsense
	expect 2 '' "$1: $2: --color: \`nonsense\` is none of auto|always|never
try: $1 help $2" "$1" $2 --color=nonsense
	expect 2 '' "$1: $2: --verbose takes no value
try: $1 help $2" "$1" $2 --verbose=yes
	expect 2 '' "$1: $2: --config wants a value (FILE)
try: $1 help $2" "$1" $2 --config
}

@test "an option's odd value is exit 2" {
	each_verb odd_values
}

# Where nothing else is wrong, output that cannot be written makes 1.
lost() {
	local status=0
	timeout 60 "$@" >/dev/full 2>lost.err </dev/null || status=$?
	if [ "$status" -ne 1 ] || ! grep -q 'standard output: No space left on device$' lost.err; then
		fail "$* >/dev/full: $status $(cat lost.err)"
	fi
	status=0
	timeout 60 "$@" >&- 2>lost.err </dev/null || status=$?
	if [ "$status" -ne 1 ] || ! grep -q 'standard output: Bad file descriptor$' lost.err; then
		fail "$* >&-: $status $(cat lost.err)"
	fi
}

lost_help() {
	lost "$1" $2 --help
}

@test "help that cannot be written is exit 1 with a message" {
	each_verb lost_help
	for tool in $TOOLS; do
		lost "$tool" --help
		lost "$tool" --version
		lost "$tool" config
		lost "$tool" config -o table
		lost "$tool" completions zsh
	done
}

# answer FILTER...: a filter has to answer a bad line, and cannot.
answer() {
	local status=0
	timeout 60 "$@" >/dev/full 2>lost.err <<<'{' || status=$?
	if [ "$status" -ne 1 ] || ! grep -q 'standard output: No space left on device$' lost.err; then
		fail "$* >/dev/full: $status $(cat lost.err)"
	fi
	# A reader that has gone is the end, and no error of the filter's.
	{ timeout 60 "$@" <<<'{' 2>gone.err && status=0 || status=$?; } | true
	run -0 cat gone.err
	assert_output ''
}

@test "answers that cannot be written are exit 1 with a message" {
	mkdir state run
	printf '[space]\nstate_dir = %s\nrun_dir = %s\n' "$PWD/state" "$PWD/run" >space.ini
	export SPACE_CONFIG=$PWD/space.ini
	spacecap keygen -o key
	spacecap pubkey key >key.pub
	spaceid install >/dev/null <<-END
		{"sandbox":"s-42","route":{"execution":7,"worker":"w","substrate":"host","activation":"a","attempt":1},"owner":"o"}
	END
	spacerouted publish --sandbox s-42 --execution 7 --worker w --substrate host --activation a --attempt 1 \
		--endpoint unix:/m >/dev/null
	spacerouted grant -p uid:0 -s s-42 --ops ping >/dev/null
	answer spacecap mint -k key
	answer spacecap verify --keys key.pub
	answer spaceid compare
	answer spacerouted publish
	answer spacebridge send
	lost spacecap pubkey key
	mint=(spacecap mint -k key --sandbox s-42 --execution 7 --worker w --substrate host --activation a --attempt 1
		--caller x --purpose control --access ping)
	lost "${mint[@]}"
	lost spacecap inspect "$("${mint[@]}")"
	lost spaceid list
	lost spaceid show s-42
	lost spacerouted resolve s-42
	lost spacerouted list
	lost spacerouted grants
}

@test "a configuration that is named and missing is exit 2" {
	for tool in $TOOLS; do
		expect 2 '' "$tool: config: $PWD/absent.ini: No such file or directory" "$tool" config -c "$PWD/absent.ini"
		SPACE_CONFIG=$PWD/absent.ini \
			expect 2 '' "$tool: config: $PWD/absent.ini: No such file or directory" "$tool" config
	done
}

@test "what is missing is named, with the key that names it and the command that makes it" {
	printf '[space]\nstate_dir = %s\nrun_dir = %s\n[keys]\nsecret = %s/signer.key\n' "$PWD" "$PWD" "$PWD" >space.ini
	export SPACE_CONFIG=$PWD/space.ini
	key="$PWD/signer.key: No such file or directory ([keys] secret; --key names another, spacecap keygen makes one)"
	expect 1 '' "spacecap: mint: $key" spacecap mint
	expect 1 '' "spacecap: agent: $key" spacecap agent
	expect 1 '' "spacerouted: call: $key" spacerouted call
	expect 1 '' "spacecap: mint: other.key: No such file or directory" spacecap mint -k other.key
	expect 1 '' "spacerouted: cache stats: $PWD/cache.sock: No such file or directory; no cache serves there (spacerouted serve)" \
		spacerouted cache stats
	expect 1 '' "spacecap: mint: signer.sock: No such file or directory; no signer serves there (spacecap agent)" \
		spacecap mint --agent signer.sock --sandbox s --execution 1 --worker w --substrate host --activation a --attempt 1 \
		--caller uid:1 --purpose control --access ping
	expect 1 '' "spacecap: bundle list: $PWD/keys: no bundle is installed there (spacecap bundle install FILE)" \
		spacecap bundle list
	expect 2 '' "spacestream: list: \`x/..\` is no sandbox's id
try: spacestream help list" spacestream list --sandbox x/..
}

@test "a configuration that may not be read is exit 2" {
	[ "$(id -u)" -eq 0 ] || skip_or_fail 'root, to become somebody else'
	echo '[space]' >secret.ini
	chmod 600 secret.ini
	chmod 755 . "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
	# The tools may lie where nobody can go.
	cp "$(command -v spaceid)" .
	expect 2 '' "spaceid: config: $PWD/secret.ini: Permission denied" \
		setpriv --reuid=65534 --regid=65534 --clear-groups ./spaceid config -c "$PWD/secret.ini"
}

# no_wait TOOL VERB: a configuration that is a FIFO, directory or device neither blocks nor passes.
no_wait() {
	local file status words
	for file in fifo directory /dev/zero; do
		words="$file: not a regular file"
		status=0
		timeout 60 "$1" $2 -c "$file" >odd.out 2>odd.err </dev/null || status=$?
		[ "$status" -ne 124 ] || fail "$1 $2 -c $file: waits"
		# Verbs that want no configuration, or something else first, say so.
		if grep -q "$words" odd.err; then
			[ "$status" -eq 2 ] || fail "$1 $2 -c $file: $status"
			echo "$1 $2" >>odd
		fi
	done
}

@test "a configuration that is a FIFO, a directory or a device is exit 2 at once" {
	mkfifo fifo
	mkdir directory
	: >odd
	each_verb no_wait
	for tool in $TOOLS; do
		for file in fifo directory /dev/zero; do
			expect 2 '' "$tool: config: $file: not a regular file" "$tool" config -c "$file"
		done
	done
	# The check above must have met verbs that read it.
	for verb in 'spaceid list' 'spacerouted list' 'spacecap bundle list' 'spacebridge forward'; do
		grep -qx "$verb" odd || fail "$verb did not read its configuration"
	done
}

@test "a key that is a FIFO does not block" {
	mkfifo fifo
	expect 1 '' 'spacecap: pubkey: fifo: not a regular file' spacecap pubkey fifo
}

escapes() {
	! grep -q "$(printf '\033')" <<<"$1"
}

# on_terminal COMMAND...: its output as a terminal gets it.
on_terminal() {
	script -qec "$*" /dev/null </dev/null
}

@test "colour is for terminals, unless NO_COLOR or --color say otherwise" {
	printf '[space]\nrealm = r\n' >space.ini
	command -v script >/dev/null || skip_or_fail script
	for tool in $TOOLS; do
		escapes "$("$tool" config -c space.ini)" || fail "$tool: colour in a pipe"
		escapes "$("$tool" config -c space.ini -o table)" || fail "$tool: colour in a pipe"
		escapes "$("$tool" config -c space.ini -o table --color never)"
		run ! escapes "$("$tool" config -c space.ini -o table --color always)"
		run ! escapes "$(NO_COLOR=1 "$tool" config -c space.ini -o table --color always)"
		run ! escapes "$(on_terminal "$tool" config -c space.ini)"
		escapes "$(NO_COLOR=1 on_terminal "$tool" config -c space.ini)" || fail "$tool: NO_COLOR"
		run ! escapes "$(NO_COLOR='' on_terminal "$tool" config -c space.ini)"
		escapes "$(on_terminal "$tool" config -c space.ini --color never)" || fail "$tool: --color never"
	done
}

@test "config prints one section, and suggests one for what is none" {
	for tool in $TOOLS; do
		run -0 "$tool" config guest
		assert_equal "$(jq -r .section <<<"$output" | sort -u)" guest
		assert_equal "$output" "$("$tool" config | grep '"section":"guest"')"
		run -0 "$tool" config -o table guest
		refute_line --partial '[space]'
		expect 2 '' "$tool: config: \`gusts\`: no such section; did you mean [guest]?
try: $tool help config" "$tool" config gusts
		expect 2 '' "$tool: config: \`xyzzy-plugh\`: no such section; space.ini(5) lists them
try: $tool help config" "$tool" config xyzzy-plugh
	done
}

@test "on a terminal config is a table, in a pipe JSON lines; -o chooses" {
	command -v script >/dev/null || skip_or_fail script
	for tool in $TOOLS; do
		run -0 "$tool" config
		assert_line --index 0 --regexp '^\{"section":"space","key":"realm","value":"space",'
		assert_json .key
		run -0 "$tool" config -o table
		assert_line --index 0 --regexp '^key +value +unit +from$'
		run -0 on_terminal "$tool" config --color never
		assert_line --index 0 --regexp '^key +value +unit +from'
		run -0 on_terminal "$tool" config -o json
		assert_line --index 0 --regexp '^\{"section":"space"'
	done
}

# fits: standard input has no line that an ordinary terminal would break.
fits() {
	! LC_ALL=C.UTF-8 grep -n '.\{81\}'
}

help_fits() {
	"$1" help $2 | fits >wide || fail "$1 help $2: $(cat wide)"
}

@test "no line of any help is wider than 80 columns" {
	each_verb help_fits
	for tool in $TOOLS; do
		"$tool" --help | fits >wide || fail "$tool --help: $(cat wide)"
	done
}

# examples_of TOOL VERB: a line each; what help breaks for want of room is put together.
examples_of() {
	"$1" help $2 | sed -n '/^examples:$/,$s/^  //p' | sed -e ':a' -e '/\\$/N' -e 's/ *\\\n */ /' -e 'ta'
}

# What an example gives to ssh is run here.
SSH='ssh() {
	local command=${2#ProxyCommand=}
	command=${command//%h/s-42}
	eval "${command//%p/22}"
}'

# try_example TOOL VERB LINE: as far as the command line: without a configuration no tool does more than read it.
try_example() {
	local name code=0
	rm -rf tried
	mkdir tried
	while read -r name; do
		mkdir -p "tried/$(dirname "$name")"
		: >"tried/$name"
	done < <(grep -oE '<[a-z0-9./-]+' <<<"$3" | tr -d '<')
	SPACE_CONFIG=$PWD/absent.ini timeout 60 bash -c "cd tried; $SSH; ${3#... | }" \
		>tried.out 2>tried.err </dev/null || code=$?
	if [ "$code" -eq 124 ] || grep -qE '^try: |syntax error' tried.err; then
		fail "$1 help $2: $3: $code $(cat tried.err)"
	fi
	echo "$1 $2" >>tried.examples
}

try_examples() {
	local line
	while read -r line; do
		[[ $line == *"$1 ${2%% *}"* || $line == *"| $1"* ]] || fail "$1 help $2: no example of it: $line"
		try_example "$1" "$2" "$line"
	done < <(examples_of "$1" "$2")
}

@test "every example of every help is a command line that its verb takes" {
	each_verb try_examples
	# Two at least of each.
	run -0 bash -c 'sort tried.examples | uniq -c | grep "^ *1 "; true'
	assert_output ''
	run -0 sort -u tried.examples
	assert_equal "${#lines[@]}" "$(for tool in $TOOLS; do verbs "$tool"; done | wc -l)"
}

no_escapes() {
	escapes "$("$1" help $2)" || fail "$1 help $2: escape codes"
}

@test "no help has an escape code" {
	each_verb no_escapes
	for tool in $TOOLS; do
		escapes "$("$tool" --help)"
	done
}

@test "what an argument says cannot move the terminal's cursor" {
	for tool in $TOOLS; do
		expect 2 '' "$tool: unknown verb \`?[2Jx??\`
try: $tool --help" "$tool" "$(printf '\033[2Jx\302\233')"
		expect 2 '' "$tool: config: unknown option --?]0;x?
try: $tool help config" "$tool" config "$(printf -- '--\033]0;x\a')"
	done
}

@test "a value may begin with a dash, and -- ends the options" {
	expect 2 '' 'spaceid: show: `--sandbox`: one argument too many
try: spaceid help show' spaceid show -- s-42 --sandbox
	expect 2 '' "spaceid: config: -x: No such file or directory" spaceid config -c -x
}

@test "no tool is linked with the libraries that are slow to load" {
	for tool in $TOOLS; do
		run -0 ldd "$(command -v "$tool")"
		refute_output --partial libarchive
		refute_output --partial libcurl
	done
}
