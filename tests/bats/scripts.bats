# The manners of the scripts, which are their own tables: help, version, hints, refusals; the same words as the tools'.
# shellcheck shell=bats disable=SC2016,SC2154,SC2086
load helper
load tables

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# expect EXIT STDOUT STDERR COMMAND...: exactly these.
expect() {
	run -"$1" --separate-stderr timeout 60 "${@:4}" </dev/null
	assert_equal "$output" "$2"
	assert_equal "$stderr" "$3"
}

# where SCRIPT VERB: sets `before`, what a message begins with, and `try`, where it sends.
where() {
	before="$1: ${2:+$2: }" try="try: $1 ${2:+help $2}"
	[ -n "$2" ] || try+=--help
}

help_of() {
	local words=${2:+$2 }--help said
	run -0 --separate-stderr "$1" $words
	assert_equal "$stderr" ''
	assert_line --index 0 --regexp "^usage: $1 ${2:+$2 }\\[options\\]"
	sed -n '/^examples:$/,$p' <<<"$output" | grep -qE "^  (.* )?$1( $2|\$)" || fail "$1 $2: no example of its own: $output"
	run -1 grep -E '^.{81}' <<<"$output"
	said=$("$1" $words)
	assert_equal "$("$1" ${2:+$2 }-h)" "$said"
	[ -z "$2" ] || assert_equal "$("$1" help $2)" "$said"
	[ "$("$1" --help | sed -n '/^examples:$/,/^$/p' | grep -c "^  .*$1")" -ge 2 ] || fail "$1: fewer than two examples"
}

@test "--help and -h are the same page, which fits 80 columns and has examples" {
	each_script_verb help_of
	assert_equal "$(sandbox help)" "$(sandbox --help)"
}

@test "a script's version is that of the tools" {
	for script in $SCRIPTS; do
		expect 0 "$script $(spaceid -V | cut -d ' ' -f 2)" '' "$script" --version
		expect 0 "$script $(spaceid -V | cut -d ' ' -f 2)" '' "$script" -V
	done
}

@test "a misspelt verb suggests the verb, and one far from all does not" {
	for verb in activate resume handoff retire status help; do
		wrong=$(swapped "$verb")
		expect 2 '' "sandbox: unknown verb \`$wrong\`; did you mean \`$verb\`?
try: sandbox --help" sandbox "$wrong" s-42
	done
	expect 2 '' "sandbox: unknown verb \`xyzzy-plugh\`
try: sandbox --help" sandbox xyzzy-plugh
	expect 2 '' "sandbox: unknown verb \`retrie\`; did you mean \`retire\`?
try: sandbox --help" sandbox help retrie
	expect 2 '' 'sandbox: which verb?
try: sandbox --help' sandbox
	expect 2 '' 'sandbox: unknown option --verbose; a verb comes first
try: sandbox --help' sandbox --verbose
}

misspelt_options() {
	local before try option
	where "$1" "$2"
	for option in $(options "$1" "$2"); do
		expect 2 '' "${before}unknown option --$(swapped "$option"); did you mean --$option?
$try" "$1" $2 "--$(swapped "$option")"
	done
}

@test "a misspelt option suggests the option" {
	each_script_verb misspelt_options
}

odd_words() {
	local before try
	where "$1" "$2"
	expect 2 '' "${before}unknown option --xyzzy-plugh
$try" "$1" $2 --xyzzy-plugh
	expect 2 '' "${before}unknown option -%
$try" "$1" $2 -%
	expect 2 '' "${before}--config wants a value (FILE)
$try" "$1" $2 --config
	expect 2 '' "${before}-c wants a value (FILE)
$try" "$1" $2 -c
	expect 2 '' "${before}--help takes no value
$try" "$1" $2 --help=yes
	expect 2 '' "${before}unknown option --$(printf 'x%.0s' {1..64})
$try" "$1" $2 "--$(printf 'x%.0s' {1..300})"
}

@test "an unknown option, a value that is missing or not wanted: exit 2, and what to try" {
	each_script_verb odd_words
}

@test "numbers, ids and choices are checked before anything is done" {
	printf '[space]\nworker = w\n' >space.ini
	expect 2 '' 'sandbox: retire: --execution: `07` is no whole number from 1 on
try: sandbox help retire' sandbox retire s-42 --execution 07
	expect 2 '' 'sandbox: handoff: --owner: `a b` is no id
try: sandbox help handoff' sandbox handoff s-42 --owner='a b'
	expect 2 '' 'sandbox: activate: --substrate: `vm` is none of host|kubernetes
try: sandbox help activate' sandbox activate s-42 --substrate vm
	expect 2 '' 'sandbox: activate: --substrate: `host|kubernetes` is none of host|kubernetes
try: sandbox help activate' sandbox activate s-42 --substrate 'host|kubernetes'
	expect 2 '' 'sandbox: activate: --uds-path: `a;b` is empty or has unusual characters
try: sandbox help activate' sandbox activate s-42 --uds-path 'a;b'
	expect 2 '' 'sandbox: status: one sandbox at a time, not also `s-43`
try: sandbox help status' sandbox status s-42 s-43
	expect 2 '' 'sandbox: status: which sandbox?
try: sandbox help status' sandbox status
	expect 2 '' 'sandbox: status: `../s` is no sandbox'"'"'s id
try: sandbox help status' sandbox status -- ../s
	expect 2 '' 'sandbox: activate: --execution is required
try: sandbox help activate' sandbox activate s-42 -c space.ini
	expect 2 '' 'space-doctor: --timeout: `1000` is no whole number from 1 to 999
try: space-doctor --help' space-doctor --timeout 1000
	expect 2 '' 'space-keys: missing argument: BUNDLE
try: space-keys --help' space-keys
	expect 2 '' 'space-keys: `b`: one argument too many
try: space-keys --help' space-keys a b
	expect 2 '' 'node-api: --http is to be the first option
try: node-api --help' node-api --window 2 --http
}

@test "an option is for its verbs alone" {
	expect 2 '' 'sandbox: status: unknown option --prepare
try: sandbox help status' sandbox status s-42 --prepare
	expect 2 '' 'sandbox: retire: unknown option --vmm-pid
try: sandbox help retire' sandbox retire s-42 --vmm-pid 1
}

@test "a letter takes its value in the same word or the next, and flags go together" {
	printf '[space]\nworker = w\nstate_dir = %s\nrun_dir = %s\n' "$PWD/state" "$PWD/run" >space.ini
	mkdir state run
	spacerouted grant -c space.ini --principal uid:0 --sandbox s-42 --ops ping >granted
	run -10 sandbox status s-42 -c space.ini -ojson
	assert_output --partial '"served":false'
	run -10 sandbox status -cspace.ini -o table -- s-42
	assert_output --partial 'not active: activate'
	run space-doctor -qc space.ini -o json
	refute_output --partial '"state":"ok"'
}

lost_help() {
	run -1 bash -c '"$@" >/dev/full 2>&1' - "$1" $2 --help
}

@test "a help that cannot be written makes 1" {
	each_script_verb lost_help
	for script in $SCRIPTS; do
		run -1 bash -c '"$1" --version >/dev/full' - "$script"
	done
}
