#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2086,SC2154
# The committed completions are the generated ones, and the three shells offer with them what the tables have.
load helper
load tables

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	completions=$ROOT/completions
}

teardown() { stop_all; }

# store: sandboxes that can be offered: two in the store, one of them and a third in the registry.
store() {
	local sandbox
	mkdir state run
	printf '[space]\nstate_dir = %s\nrun_dir = %s\n' "$PWD/state" "$PWD/run" >space.ini
	export SPACE_CONFIG=$PWD/space.ini
	for sandbox in s-42 s-43; do
		echo "{\"sandbox\":\"$sandbox\",\"route\":{\"execution\":7,\"worker\":\"w\",\"substrate\":\"host\",\"activation\":\"a\",\"attempt\":1},\"owner\":\"o\"}"
	done | spaceid install >/dev/null
	for sandbox in s-43 s-50; do
		spacerouted publish --sandbox "$sandbox" --execution 7 --worker w --substrate host --activation a \
			--attempt 1 --endpoint unix:/m >/dev/null
	done
}

# bash_offers TOOL WORD...: what the function offers for the last of the words.
bash_offers() {
	# shellcheck source=/dev/null
	bash -c '. "$1/$2.bash"; COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2)); "_$2"; printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$completions" "$@"
}

zsh_offers() {
	timeout 60 zsh "$BATS_TEST_DIRNAME/zsh-complete.zsh" "$completions" "$1"
}

fish_offers() {
	HOME=$BATS_TEST_TMPDIR timeout 60 fish --no-config -c "source $completions/${1%% *}.fish; complete -C '$1'" | cut -f 1
}

# all three offer exactly these words, in whatever order: offered LINE WORD...
offered() {
	local line=$1 want words
	want=$(printf '%s\n' "${@:2}" | sort)
	read -ra words <<<"$line"
	[ "${line% }" = "$line" ] || words+=('')
	assert_equal "bash: $(bash_offers "${words[@]}" | sort)" "bash: $want"
	assert_equal "zsh: $(zsh_offers "$line" | sort)" "zsh: $want"
	assert_equal "fish: $(fish_offers "$line" | sort)" "fish: $want"
}

@test "the committed completions are the generated ones" {
	for tool in $TOOLS; do
		run -0 diff "$completions/$tool.bash" <("$tool" completions bash)
		run -0 diff "$completions/_$tool" <("$tool" completions zsh)
		run -0 diff "$completions/$tool.fish" <("$tool" completions fish)
	done
	for script in $SCRIPTS $ROLES $STATIC; do
		made() { "$script" --help | "$ROOT/build/script-completions" "$script" "$1"; }
		run -0 diff "$completions/$script.bash" <(made bash)
		run -0 diff "$completions/_$script" <(made zsh)
		run -0 diff "$completions/$script.fish" <(made fish)
	done
}

@test "there are completions for each tool and each installed script, and no others" {
	for tool in $TOOLS $SCRIPTS $ROLES spaced-guest-static; do
		printf '%s\n' "_$tool" "$tool.bash" "$tool.fish"
	done | sort >wanted
	run -0 diff wanted <(find "$completions" -type f -printf '%f\n' | sort)
	assert_equal "$(sed -n 's/^SCRIPTS := //p' "$ROOT/Makefile" | tr ' ' '\n' | sort)" \
		"$(printf '%s\n' $SCRIPTS $ROLES | sort)"
}

@test "each shell takes its completions without a word" {
	for tool in $TOOLS $SCRIPTS $ROLES; do
		run -0 shellcheck "$completions/$tool.bash"
		run -0 bash -n "$completions/$tool.bash"
		run -0 zsh -n "$completions/_$tool"
		run -0 fish --no-config -n "$completions/$tool.fish"
		assert_output ''
	done
}

all_verbs() {
	local words
	words=$(verbs "$1" | sed 's/ .*//' | sort -u)
	# bash also offers the tool's own two options.
	assert_equal "$(bash_offers "$1" '' | sort)" "$(printf '%s\n--help\n--version' "$words" | sort)"
	assert_equal "$(zsh_offers "$1 " | sort)" "$words"
	assert_equal "$(fish_offers "$1 " | sort)" "$words"
}

@test "every tool's verbs are offered, and no other word" {
	for tool in $TOOLS sandbox; do
		all_verbs "$tool"
	done
}

all_options() {
	local words
	words=$(options "$1" "$2" | sed 's/^/--/' | sort)
	# shellcheck disable=SC2086
	assert_equal "$(bash_offers "$1" $2 -- | sort)" "$words"
	assert_equal "$(fish_offers "$1 $2 --" | sort)" "$words"
}

@test "every verb's options are offered, and no others" {
	each_verb all_options
	each_script_verb all_options
	# One zsh a tool is enough: the lists come from the same table.
	for line in 'spacecap mint' 'spacecap bundle build' 'spaceid list' 'spacerouted cache get' 'spacebridge send'; do
		# shellcheck disable=SC2046,SC2086
		assert_equal "$(zsh_offers "$line --" | sort)" "$(options ${line%% *} "${line#* }" | sed 's/^/--/' | sort)"
	done
	assert_equal "$(zsh_offers 'sandbox resume --' | sort)" "$(options sandbox resume | sed 's/^/--/' | sort)"
	assert_equal "$(zsh_offers 'space-doctor --' | sort)" "$(options space-doctor '' | sed 's/^/--/' | sort)"
}

@test "a role offers what it hands on to spacebridge" {
	while read -r role verb; do
		assert_equal "$(bash_offers "$role" -- | sort)" "$(options spacebridge "$verb" | sed 's/^/--/' | sort)"
		assert_equal "$(fish_offers "$role --" | sort)" "$(options spacebridge "$verb" | sed 's/^/--/' | sort)"
	done <<-END
		sbx-manager forward
		spaced-host host
		spaced-guest guest
		netgtw gateway
	END
	assert_equal "$(zsh_offers 'netgtw --' | sort)" "$(options spacebridge gateway | sed 's/^/--/' | sort)"
	offered 'netgtw --color a' always auto
	[ -n "$STATIC" ] || return 0
	offered 'spaced-guest-static --max' --max-sessions --max-tree-mib --max-tree-entries
}

@test "a script's verbs, its options' choices and sandboxes from the store are offered" {
	store
	offered 'sandbox re' resume retire
	offered 'sandbox help s' status
	offered 'sandbox status ' s-42 s-43 s-50
	offered 'sandbox activate s-5' s-50
	offered 'sandbox resume s-42 --sub' --substrate
	offered 'sandbox resume s-42 --substrate ' host kubernetes
	offered 'sandbox status -o ' json table
	offered 'spaced-host s-4' s-42 s-43
	offered 'netgtw ' s-42 s-43 s-50
	offered 'space-doctor --role ' all control node
	offered 'node-api --tok' --token-file
	mkdir only
	cd only
	touch in.file
	offered 'space-keys ' in.file
	offered 'node-api --token-file in' in.file
	offered 'node-api --window ' ''
}

@test "a verb's beginning is completed" {
	offered 'spaceid sh' show
	offered 'spacecap ver' verify
	offered 'spacecap bundle re' revoke
	offered 'spacerouted cache d' drop dump
}

@test "the second word of a verb is offered" {
	offered 'spacecap bundle ' build install list revoke verify
	offered 'spacerouted cache ' drop dump get reject renew stats
}

@test "an option's beginning is completed" {
	offered 'spaceid retire --exec' --execution
	offered 'spacecap bundle list --ro' --root
}

@test "an option's choices are offered, by its long name and its letter" {
	offered 'spacecap mint --purpose ' attach control manage service-port
	offered 'spaceid list --output ' json table
	offered 'spaceid list -o ' json table
	offered 'spaceid config --color a' always auto
}

@test "a letter that is the verb's own does not offer the common option's choices" {
	mkdir only
	cd only
	touch key.file
	offered 'spacecap keygen -o k' key.file
}

@test "sandboxes are offered, from the store and the registry, where one is wanted" {
	store
	offered 'spaceid retire --sandbox ' s-42 s-43 s-50
	offered 'spaceid retire --sandbox s-5' s-50
	offered 'spaceid show ' s-42 s-43 s-50
	offered 'spacerouted resolve s-4' s-42 s-43
	offered 'spacebridge attest --sandbox s-43' s-43
}

@test "sections of the configuration are offered where one is wanted" {
	offered 'spaceid config ke' keys
	offered 'spacestream config s' signer space streams
}

@test "leases are offered where one is wanted" {
	store
	start lease bash -c 'exec spacestream lease -s s-42 -- sleep 600' </dev/null
	lease=$(spacestream list -o json | jq -r .lease)
	offered 'spacestream cancel ' "$lease"
	offered "spacestream cancel ${lease:0:4}" "$lease"
}

@test "without a store no sandbox is offered and nothing is said" {
	offered 'spaceid show ' ''
	run --separate-stderr bash_offers spaceid show ''
	assert_equal "$stderr" ''
}

@test "files and directories are offered where they are wanted" {
	mkdir only
	cd only
	mkdir in.directory
	touch in.file 'in spaces'
	run -0 bash_offers spaceid list --config in
	assert_equal "$(sort <<<"$output")" "$(printf '%s\n' in.directory in.file 'in spaces' | sort)"
	run -0 bash_offers spaceid list --records in
	assert_output in.directory
	run -0 bash_offers spacecap pubkey in.f
	assert_output in.file
	run -0 fish_offers 'spaceid list --config in.f'
	assert_output in.file
	run -0 fish_offers 'spaceid list --records in'
	assert_output in.directory/
	run -0 zsh_offers 'spaceid list --config in.f'
	assert_output in.file
}

@test "where a value is anybody's guess nothing is offered" {
	touch file
	run -0 bash_offers spaceid retire --execution ''
	assert_output ''
	run -0 fish_offers 'spaceid retire --execution '
	assert_output ''
	run -0 zsh_offers 'spaceid retire --execution '
	assert_output ''
}

@test "help offers the verbs, completions the shells" {
	run -0 bash_offers spaceid help sh
	assert_output show
	offered 'spaceid completions ' bash fish zsh
}

@test "an interactive bash completes a verb, an option, its value and a sandbox at the tab key" {
	store
	cat >rc <<-END
		PS1=
		bind 'set bell-style none' 'set enable-bracketed-paste off'
		. $completions/spaceid.bash
		ran() { printf 'ran:%s:\n' "\$*"; }
		complete -F _spaceid ran
	END
	run -0 script -qec "bash --noprofile --rcfile rc -i" /dev/null < <(
		printf 'ran ret\t--sand\ts-5\t--outp\tta\t\nran list --output=js\t\nexit\n'
	)
	assert_output --partial 'ran:retire --sandbox s-50 --output table:'
	assert_output --partial 'ran:list --output=json:'
}

@test "an interactive bash completes a script's words at the tab key" {
	store
	cat >rc <<-END
		PS1=
		bind 'set bell-style none' 'set enable-bracketed-paste off'
		. $completions/sandbox.bash
		ran() { printf 'ran:%s:\n' "\$*"; }
		complete -F _sandbox ran
	END
	run -0 script -qec "bash --noprofile --rcfile rc -i" /dev/null < <(printf 'ran sta\ts-5\t-o ta\t\nexit\n')
	assert_output --partial 'ran:status s-50 -o table:'
}
