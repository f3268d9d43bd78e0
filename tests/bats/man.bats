#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2154
# The manual says what the tables, the configuration and the code have, and its examples run.
load helper
load tables
load man

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	man=$ROOT/man
}

teardown() {
	machine_end
	stop_all
}

# page FILE: as it is read, without its bold and underlined.
page() {
	mandoc -Tutf8 -Owidth=200 "$1" | col -b
}

# same WHAT EXPECTED SEEN
same() {
	assert_equal "$1
$3" "$1
$2"
}

# scripts: those that are installed.
scripts() {
	sed -n 's/^SCRIPTS := //p' "$ROOT/Makefile" | tr ' ' '\n'
}

@test "every page is mdoc without a complaint, and there is one for each tool and each script" {
	for tool in $TOOLS; do
		assert_file_exists "$man/$tool.1"
	done
	for script in $(scripts); do
		run -0 find "$man" -name "$script.[18]"
		assert_equal "${#lines[@]}" 1
	done
	run -0 mandoc -Tlint -Wwarning "$man"/*.[1-8]
	assert_output ''
}

@test "the last column of a table has no width of its own, so that groff fills the line" {
	run -0 awk '/^\.Bl -column/ { widths = gsub(/"[^"]*"/, ""); table = FNR; next }
		table && /^\.It / { if (gsub(/ Ta/, "") != widths) print FILENAME ":" table; table = 0 }' "$man"/*.[1-8]
	assert_output ''
}

verb_in_page() {
	local option text=$BATS_TEST_TMPDIR/$1.text
	[ -e "$text" ] || page "$man/$1.1" | tr -s ' \t' ' ' >"$text"
	grep -qE "(^| )$1 $2( |\$)" "$text" || fail "$1(1) does not have the verb $2"
	for option in $(options "$1" "$2"); do
		grep -qE -- "--$option([^a-z-]|\$)" "$text" || fail "$1(1) does not have --$option of $2"
	done
}

# long_options: those that standard input names, but for those that every script has.
long_options() {
	grep -oE -- '--[a-z-]+' | grep -vxE -e '--(config|help|output|version)' | sort -u
}

@test "every option of a script's help is in its page, and no other is" {
	for script in node-api sandbox space-keys space-doctor; do
		same "$script" "$("$script" --help | long_options)" "$(page "$man/$script".[18] | long_options)"
	done
}

@test "every verb and every option of the tables is in the tool's page" {
	each_verb verb_in_page
}

known_options() {
	options "$1" "$2" >>"$BATS_TEST_TMPDIR/$1.options"
}

@test "no page has an option that the tool does not" {
	each_verb known_options
	for tool in $TOOLS; do
		echo version >>"$tool.options"
		# Macros alone: examples are other tools' too.
		same "$tool" '' "$(grep -oE 'Fl (. , )?-[a-z-]+' "$man/$tool.1" | sed 's/.* -//' | sort -u |
			comm -23 - <(sort -u "$tool.options"))"
	done
}

@test "every tool's page lists the exit codes that 01-records has, and no others" {
	for tool in $TOOLS; do
		codes=$(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh /s/^\.It \([0-9]*\)$/\1/p' "$man/$tool.1")
		[ -n "$codes" ] || fail "$tool: no exit codes"
		same "$tool" '' "$(grep -vxE '0|1|2|3|10|11|12|14' <<<"$codes")"
	done
	same records '0 1 2 3 10 11 12 14' \
		"$(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh /s/^\.It \([0-9]*\)$/\1/p' "$man/space-records.5" | paste -sd' ')"
}

# What space.ini(5) says: [section] key = unit (default: value).
page_keys() {
	sed -n -e 's/^\.Ss \(\[[a-z]*\]\)$/section \1/p' \
		-e 's/^\.It Cm \([a-z_]*\) = Ar \(.*\) Pq default : Cm \(.*\)$/\1 = \2 (default: \3)/p' "$man/space.ini.5" |
		awk '/^section/{ section = $2; next } { print section, $0 }'
}

# The same of the table: what derives from a directory is shown as its name.
table_keys() {
	SPACE_CONFIG='' spaceid config -c "$ROOT/tests/fixtures/empty.ini" -o json | jq -r '
		"[\(.section)] \(.key) = \(.unit) (default: \(
			if .value == "" then "empty"
			elif .from == "derived" then .value | sub("/var/lib/space"; "state_dir") | sub("/run/space"; "run_dir")
			elif .key == "cut_timeout" then .value | sub("\\.000$"; "")
			else .value end))"'
}

@test "space.ini(5) has every section and key, with its unit and its default" {
	same keys "$(table_keys)" "$(page_keys)"
}

@test "space-records(5) has every decision and reason of the table" {
	reasons=$(sed -n 's/^    \[SP_REASON_[A-Z_]*\] = {SP_[A-Z_]*, "\(.*\)"},$/\1/p' "$ROOT/lib/record/reason.c")
	[ "$(wc -l <<<"$reasons")" -eq 33 ]
	said=$(sed -n '/^\.Sh REASONS/,/^\.Sh /s/^\.It Cm //p' "$man/space-records.5" | sed 's/ , /\n/g')
	same reasons "$(sort <<<"$reasons")" "$(sort <<<"$said")"
}

@test "space-records(5) has every kind of error" {
	kinds=$(sed -n 's/^    \[SP_ERROR_[A-Z_]*\] = {"\(.*\)", SP_EXIT_.*$/\1/p' "$ROOT/lib/record/reason.c")
	[ "$(wc -l <<<"$kinds")" -eq 8 ]
	said=$(sed -n '/^\.Sh RESULTS/,/^\.Sh /s/^\.It Cm //p' "$man/space-records.5")
	same errors "$kinds" "$said"
}

# name purpose once rebuilt unsent sent, of the operations table in the code.
code_operations() {
	sed -n 's/^    {"\([a-z.]*\)", \([A-Z]*\), \([a-z]*\), \([a-z]*\), \([a-z]*\), \([a-z]*\), \([a-z]*\), [a-z]*},$/\1 \2 \4 \5 \6 \7/p' \
		"$ROOT/lib/record/op.c" |
		sed 's/PORT/service-port/; s/CONTROL/control/; s/ATTACH/attach/; s/MANAGE/manage/'
}

# The same of the page, where a row may name several operations.
page_operations() {
	sed -n '/^\.Sh OPERATIONS/,/^\.El/s/^\.It \([a-z].*\)/\1/p' "$man/space-records.5" |
		sed 's/ (streams*)//; s/ Ta /|/g' | awk -F '|' '
		function yes(word) { return word == "yes" || word == "once" ? "true" : "false" }
		{
			n = split($1, name, /, /)
			for (i = 1; i <= n; i++)
				print name[i], $2, yes($3), yes($4), yes($5), yes($6)
		}'
}

@test "space-records(5) has the operations table of the code" {
	[ "$(code_operations | wc -l)" -eq 24 ]
	same operations "$(code_operations | sort)" "$(page_operations | sort)"
}

@test "spacebridge(1) has every check of the attestation, and no others" {
	machine
	names=$(spacebridge attest --sandbox s-42 --connect | jq -r '.checks[].name | sub("^(bridge|vmm)-"; "")' | sort -u)
	said=$(sed -n '/^\.Ss Checks/,/^\.El/s/^\.It \([a-z].*\) Ta .*/\1/p' "$man/spacebridge.1" | sed 's/ , /\n/g' | sort)
	same checks "$names" "$said"
}

# see_also FILE: its SEE ALSO, as names of files.
see_also() {
	sed -n '/^\.Sh SEE ALSO/,$s/^\.Xr \([a-z.-]*\) \([1-8]\).*/\1.\2/p' "$1" | sort
}

# of_scripts: filters names of pages.
of_scripts() {
	grep "$@" -E "^($(scripts | paste -sd'|'))\.[18]\$"
}

@test "each page refers to every other page, and to no page that is not there; pages of scripts to what they concern" {
	pages=$(cd "$man" && printf '%s\n' *.[1-8])
	for file in "$man"/*.[1-8]; do
		name=${file##*/}
		others=$(grep -vxF -e "$name" <<<"$pages")
		said=$(see_also "$file")
		if of_scripts -q <<<"$name"; then
			same "$name" '' "$(comm -23 <(echo "$said") <(echo "$pages"))"
			[[ $said == *space-path.7* ]] || fail "$name: no space-path(7)"
		elif [ "$name" = space-path.7 ]; then
			same "$name" "$others" "$said"
		else
			same "$name" "$(of_scripts -v <<<"$others")" "$(of_scripts -v <<<"$said")"
		fi
	done
}

@test "the examples of spacecap(1) do what they show" {
	machine
	run_examples "$man/spacecap.1"
}

@test "the examples of spaceid(1) do what they show" {
	machine
	run_examples "$man/spaceid.1"
}

@test "the examples of spacerouted(1) do what they show" {
	machine
	run_examples "$man/spacerouted.1"
}

@test "the examples of spacebridge(1) do what they show" {
	machine
	run_examples "$man/spacebridge.1"
}

@test "the examples of spacestream(1) do what they show" {
	machine
	run_examples "$man/spacestream.1"
}

@test "the examples of space.ini(5) do what they show" {
	machine
	run_examples "$man/space.ini.5"
}

@test "the examples of space-records(5) do what they show" {
	machine
	run_examples "$man/space-records.5"
}

@test "the examples of space-path(7) do what they show" {
	machine
	run_examples "$man/space-path.7"
}

@test "the examples of space-link(7) do what they show" {
	run_examples "$man/space-link.7"
}

@test "the examples of node-api(1) do what they show" {
	machine
	run_examples "$man/node-api.1"
}

@test "the examples of sandbox(8) do what they show" {
	machine
	run_examples "$man/sandbox.8"
}

@test "the examples of space-doctor(8) do what they show" {
	machine
	run_examples "$man/space-doctor.8"
}

@test "the examples of space-keys(8) do what they show" {
	machine
	run_examples "$man/space-keys.8"
}

# with_examples: the pages that show commands among their examples, by name.
with_examples() {
	local file
	for file in "$man"/*.[1-8]; do
		! examples "$file" | grep -q '^\$ ' || echo "${file##*/}"
	done
}

@test "no page's examples escape the tests above, and the tools' pages all have some" {
	same pages "$(with_examples)" "$(sed -n 's/^\trun_examples "$man\/\(.*\)"$/\1/p' "$BATS_TEST_FILENAME" | sort)"
	for tool in $TOOLS; do
		with_examples | grep -qxF "$tool.1" || fail "$tool(1): no examples"
	done
	# A command that stands elsewhere than in a block of its own is none that run_examples sees.
	run -1 awk '/^\.Sh /{ on = $2 == "EXAMPLES" } /^\.Bd -literal/{ block = 1 } /^\.Ed/{ block = 0 }
		/^\$ / && !(on && block) { print FILENAME ": " $0; bad = 1 } END { exit !bad }' "$man"/*.[1-8]
}

# limit NAME: its value in lib/base/limits.h.
limit() {
	echo $(($(printf '#include "base/limits.h"\n%s\n' "$1" | gcc -E -P -I"$ROOT/lib" - | tail -n 1 | sed 's/LL\|u//g')))
}

@test "the README's limits are those of the code" {
	while read -r names row; do
		want=''
		for name in ${names//,/ }; do
			want+=${want:+ }$(limit "SP_$name")
		done
		# The numbers of the row's right column, in order.
		same "$row" "$want" "$(grep -F "| $row |" "$ROOT/README.md" | cut -d '|' -f 3 | grep -oE '[0-9]+' | paste -sd' ')"
	done <<-END
		LINE_MAX,ASKED_MAX one line; an asked record
		JSON_DEPTH_MAX,INT_MAX nesting of JSON; integers
		CAP_LIFE_MAX,SKEW_MAX life of a capability; clock difference forgiven
		TOKEN_MAX size of a capability
		READ_MAX,EXEC_OUTPUT_MAX one \`file.read\`; output of one command
		WINDOW_MAX requests in flight in one filter
		VMM_CONNECTIONS connections of one VMM
		LEASES_MAX,LEASES_ENDED streams open in one process; ended ones it remembers
		ID_MAX ids
	END
}

@test "the README's example does what it shows, and the files it names are there" {
	command=$(sed -n 's/^    \$ \(bin\/demo.*\)/\1/p' "$ROOT/README.md")
	[ -n "$command" ]
	cd "$ROOT"
	TMPDIR=$BATS_TEST_TMPDIR run -0 bash -c "$command"
	assert_output "$(sed -n '/^    \$ bin\/demo/{n;s/^    //p;}' "$ROOT/README.md")"
	while read -r file; do
		assert_exists "$file"
	done < <(grep -oP '(?<![/\w])(bin|tests|man|lib|completions|doc)/[a-z0-9_./-]*' README.md | sed 's/[./]*$//' | sort -u)
}
