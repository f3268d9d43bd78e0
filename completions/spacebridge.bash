# bash completion for spacebridge; generated from its table by `spacebridge completions bash`
# shellcheck shell=bash
_spacebridge_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_spacebridge_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_spacebridge_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_spacebridge_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_spacebridge() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	if [ "$COMP_CWORD" -eq 1 ]; then
		_spacebridge_words "attest connect forward gateway guest host send sockets help config completions --help --version"
		return
	fi
	case $verb in
	*) ;;
	esac
	case "$verb $prev" in
	"attest --sandbox" | "attest -s")
		_spacebridge_words "$(_spacebridge_sandboxes)"
		return
		;;
	"attest --records")
		_spacebridge_files -d
		return
		;;
	"attest --pid" | "attest -p")
		return
		;;
	"attest --bridge-pid")
		return
		;;
	"attest --bridge")
		_spacebridge_files -f
		return
		;;
	"attest --vmm-pid")
		return
		;;
	"attest --vsock")
		_spacebridge_files -f
		return
		;;
	"attest --cid")
		return
		;;
	"attest --api")
		_spacebridge_files -f
		return
		;;
	"attest --record")
		_spacebridge_files -f
		return
		;;
	"attest --evidence")
		_spacebridge_files -f
		return
		;;
	"attest --check")
		_spacebridge_files -f
		return
		;;
	"attest --guest-key")
		_spacebridge_files -f
		return
		;;
	"connect --sandbox" | "connect -s")
		_spacebridge_words "$(_spacebridge_sandboxes)"
		return
		;;
	"connect --port" | "connect -p")
		return
		;;
	"connect --protocol")
		_spacebridge_words "tcp http websocket tls"
		return
		;;
	"connect --reattach-timeout")
		return
		;;
	"connect --token-file")
		_spacebridge_files -f
		return
		;;
	"connect --agent")
		_spacebridge_files -f
		return
		;;
	"connect --key" | "connect -k")
		_spacebridge_files -f
		return
		;;
	"connect --passphrase-file")
		_spacebridge_files -f
		return
		;;
	"connect --cache")
		_spacebridge_files -f
		return
		;;
	"forward --listen" | "forward -l")
		_spacebridge_files -f
		return
		;;
	"forward --records")
		_spacebridge_files -d
		return
		;;
	"forward --keys")
		_spacebridge_files -f
		return
		;;
	"forward --realm")
		return
		;;
	"forward --audit")
		_spacebridge_files -f
		return
		;;
	"gateway --sandbox" | "gateway -s")
		_spacebridge_words "$(_spacebridge_sandboxes)"
		return
		;;
	"gateway --listen" | "gateway -l")
		return
		;;
	"gateway --records")
		_spacebridge_files -d
		return
		;;
	"gateway --keys")
		_spacebridge_files -f
		return
		;;
	"gateway --realm")
		return
		;;
	"gateway --audit")
		_spacebridge_files -f
		return
		;;
	"guest --listen" | "guest -l")
		return
		;;
	"guest --root" | "guest -r")
		_spacebridge_files -d
		return
		;;
	"guest --cid")
		return
		;;
	"guest --key" | "guest -k")
		_spacebridge_files -f
		return
		;;
	"guest --audit")
		_spacebridge_files -f
		return
		;;
	"host --sandbox" | "host -s")
		_spacebridge_words "$(_spacebridge_sandboxes)"
		return
		;;
	"host --listen" | "host -l")
		_spacebridge_files -f
		return
		;;
	"host --records")
		_spacebridge_files -d
		return
		;;
	"host --audit")
		_spacebridge_files -f
		return
		;;
	"send --window" | "send -w")
		return
		;;
	"send --timeout-ms")
		return
		;;
	*" --config" | *" -c")
		_spacebridge_files -f
		return
		;;
	*" --output" | *" -o")
		_spacebridge_words "json table"
		return
		;;
	*" --color")
		_spacebridge_words "auto always never"
		return
		;;
	esac
	case $verb in
	"attest")
		options="--sandbox --connect --records --pid --all --level --enroll --bridge-pid --bridge --vmm-pid --vsock --cid --api --record --evidence --check --guest-key --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_words "$options" ;;
		esac
		;;
	"connect")
		options="--sandbox --port --protocol --recursive --reattach-timeout --token-file --agent --key --passphrase-file --cache --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_files -f ;;
		esac
		;;
	"forward")
		options="--listen --records --keys --realm --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_words "$options" ;;
		esac
		;;
	"gateway")
		options="--sandbox --listen --http --records --keys --realm --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_words "$(_spacebridge_sandboxes)" ;;
		esac
		;;
	"guest")
		options="--listen --root --cid --key --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_words "$options" ;;
		esac
		;;
	"host")
		options="--sandbox --listen --records --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_words "$(_spacebridge_sandboxes)" ;;
		esac
		;;
	"send")
		options="--window --keep-request --timeout-ms --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_words "$options" ;;
		esac
		;;
	"sockets")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_files -f ;;
		esac
		;;
	"help")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_words "attest connect forward gateway guest host send sockets help config completions " ;;
		esac
		;;
	"config")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_words "space keys signer registry cache manager bridge guest gateway streams audit" ;;
		esac
		;;
	"completions")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacebridge_words "$options" ;;
		*) _spacebridge_words "bash zsh fish" ;;
		esac
		;;
	esac
}
complete -F _spacebridge spacebridge
