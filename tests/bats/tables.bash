# The tools' verbs and options, read from their own help. For the tests that hold for each of them.
# shellcheck shell=bash disable=SC2034

TOOLS='spacecap spaceid spacerouted spacebridge spacestream'

# Those scripts that are a table themselves; the roles' words are spacebridge's.
SCRIPTS='sandbox node-api space-doctor space-keys'
ROLES='sbx-manager spaced-host spaced-guest netgtw'
# The agent without libraries, where the build has it.
STATIC=$([ -z "${SANITIZE:-}" ] && echo spaced-guest-static) || :

# verbs TOOL: its verbs, a line each; some are two words.
verbs() {
	"$1" --help | sed -n '/^verbs:$/,/^$/s/^  \([a-z].\{15\}\) .*/\1/p' | sed 's/ *$//'
}

# options TOOL VERB: the long names of all its options, the common ones too. VERB is empty where there are none.
options() {
	local tool=$1 words=(--help)
	shift
	# shellcheck disable=SC2206
	[ -z "$*" ] || words=(help $@)
	"$tool" "${words[@]}" | sed -n '/^examples:$/q; s/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p'
}

# each_verb COMMAND...: COMMAND... TOOL VERB, for all of them. Behind `||` a failure inside COMMAND would end nothing.
each_verb() {
	local tool verb
	for tool in $TOOLS; do
		while read -r verb; do
			"$@" "$tool" "$verb"
		done < <(verbs "$tool")
	done
}

# each_script_verb COMMAND...: the same of the scripts.
each_script_verb() {
	local script verb
	for script in $SCRIPTS; do
		while read -r verb; do
			[ "$verb" = help ] || "$@" "$script" "$verb"
		done < <(verbs "$script" | grep . || echo)
	done
}

# swapped WORD: misspelt, as fingers do it: its first two different neighbours have changed places.
swapped() {
	local word=$1 i
	for ((i = 0; i < ${#word} - 1; i++)); do
		[ "${word:i:1}" = "${word:i+1:1}" ] && continue
		printf %s "${word:0:i}${word:i+1:1}${word:i:1}${word:i+2}"
		return
	done
}
