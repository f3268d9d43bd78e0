# One machine that is control plane and worker, as the manual's examples have it: s-42 is served as execution 7. And
# what runs the examples. For man.bats.
# shellcheck shell=bash disable=SC2034,SC2154

# What the pages say, where it lies here.
PLACES=(/etc/space /var/lib/space /run/space)

# here TEXT: the places of the pages become those of this test.
here() {
	local text=$1 place
	for place in "${PLACES[@]}"; do
		text=${text//$place/$MACHINE$place}
	done
	printf %s "$text"
}

# machine: all of it, standing; the tests' working directory is its operator's.
machine() {
	local place
	MACHINE=$BATS_TEST_TMPDIR/m
	WORLD=$MACHINE
	for place in "${PLACES[@]}"; do
		mkdir -p "$MACHINE$place"
	done
	mkdir -p "$MACHINE/home" "$MACHINE/guest/etc"
	cd "$MACHINE/home" || return
	export SPACE_CONFIG=$MACHINE/etc/space/space.ini
	{
		machine_keys
		machine_config
		spacecap bundle build -k root.key -r space --serial 1 -o 1.tar.zst signer.pub
		spacecap bundle install 1.tar.zst
		spacerouted grant --principal "uid:$(id -u)" --sandbox s-42 --ops 'ping,guest.info,file.*,exec.*,tree.*'
	} >/dev/null
	start cache spacerouted serve
	start manager sbx-manager
	machine_guest
	sandbox activate s-42 --execution 7 --vmm-pid "$(cat "$BATS_TEST_TMPDIR/vmm.pid")" \
		--uds-path "$MACHINE/run/vmm.sock" --api "$MACHINE/run/api.sock" >/dev/null
	spaceid show s-42 | jq '{sandbox,route,owner}' >record.json
}

machine_keys() {
	spacecap keygen -o "$MACHINE/etc/space/signer.key"
	spacecap pubkey "$MACHINE/etc/space/signer.key" >signer.pub
	spacecap keygen -o root.key
}

machine_config() {
	local level
	level=$(spacebridge attest --pid $$ | jq -r .level)
	printf '%s\n' '[space]' 'worker = worker-a' "state_dir = $MACHINE/var/lib/space" "run_dir = $MACHINE/run/space" \
		'[keys]' "secret = $MACHINE/etc/space/signer.key" "root = $(spacecap pubkey root.key)" \
		'[bridge]' "min_level = $level" 'connect_timeout_ms = 20000' '[audit]' "file = $MACHINE/var/lib/space/audit.jsonl" >"$SPACE_CONFIG"
}

machine_guest() {
	echo seven >"$MACHINE/guest/etc/hostname"
	start guest spaced-guest --listen "unix:$MACHINE/run/guest.sock" --root "$MACHINE/guest" --cid 3
	start vmm "$FIXTURES/vmm" --uds "$MACHINE/run/vmm.sock" --guest "$MACHINE/run/guest.sock" --cid 3 \
		--api "$MACHINE/run/api.sock"
}

machine_end() {
	local note
	for note in "$BATS_TEST_TMPDIR"/m/run/space/bridge/*.pid; do
		[ ! -e "$note" ] || kill -KILL "$(cut -d ' ' -f 1 "$note")" 2>/dev/null || true
	done
}

# examples PAGE: the lines of the literal blocks in its EXAMPLES, as they are printed.
examples() {
	awk '/^\.Sh /{ on = $2 == "EXAMPLES" } on && /^\.Bd -literal/{ block = 1; next } /^\.Ed/{ block = 0 } block' "$1" |
		sed 's/\\e/\\/g; s/\\&//g'
}

# matches OUTPUT EXPECTED: `...` in what is expected stands for anything.
matches() {
	local pattern=${2//\\/\\\\}
	pattern=${pattern//\*/\\*}
	pattern=${pattern//\?/\\?}
	pattern=${pattern//\[/\\[}
	pattern=${pattern//\]/\\]}
	# shellcheck disable=SC2053
	[[ $1 == ${pattern//.../*} ]]
}

# run_example COMMAND EXPECTED: in this very shell, so that one example can build on another. Where nothing is expected
# it must do well; where something is, that is what it prints, and the next example may ask for $?.
run_example() {
	local said code=0
	eval "(exit $EXAMPLE_CODE)
$(here "$1")" >"$BATS_TEST_TMPDIR/said" 2>&1 </dev/null 3>&- || code=$?
	said=$(<"$BATS_TEST_TMPDIR/said")
	EXAMPLE_CODE=$code
	EXAMPLES_RUN=$((EXAMPLES_RUN + 1))
	if [ -z "$2" ]; then
		[ "$code" -eq 0 ] || fail "$1: $code: $said"
	else
		matches "$said" "$(here "$2")" || fail "$1: $said
not: $2"
	fi
}

# run_examples PAGE: all of them; `> ` continues a command.
run_examples() {
	local line command='' expected=''
	EXAMPLE_CODE=0
	EXAMPLES_RUN=0
	while IFS= read -r line; do
		case $line in
		'$ '*)
			[ -z "$command" ] || run_example "$command" "$expected"
			command=${line#\$ }
			expected=''
			;;
		'>' | '> '*)
			line=${line#>}
			command+=$'\n'${line# }
			;;
		*) expected+=${expected:+$'\n'}$line ;;
		esac
	done < <(examples "$1")
	[ -z "$command" ] || run_example "$command" "$expected"
	[ "$EXAMPLES_RUN" -gt 0 ] || fail "$1: no example"
}
