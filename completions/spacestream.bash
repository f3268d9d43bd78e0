# bash completion for spacestream; generated from its table by `spacestream completions bash`
# shellcheck shell=bash
_spacestream_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_spacestream_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_spacestream_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_spacestream_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_spacestream() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	if [ "$COMP_CWORD" -eq 1 ]; then
		_spacestream_words "attach lease relay list cancel serve help config completions --help --version"
		return
	fi
	case $verb in
	*) ;;
	esac
	case "$verb $prev" in
	"attach --cwd")
		return
		;;
	"attach --detach-key")
		return
		;;
	"attach --reattach-timeout")
		return
		;;
	"attach --token-file")
		_spacestream_files -f
		return
		;;
	"attach --agent")
		_spacestream_files -f
		return
		;;
	"attach --key" | "attach -k")
		_spacestream_files -f
		return
		;;
	"attach --passphrase-file")
		_spacestream_files -f
		return
		;;
	"attach --cache")
		_spacestream_files -f
		return
		;;
	"lease --sandbox" | "lease -s")
		_spacestream_words "$(_spacestream_sandboxes)"
		return
		;;
	"lease --kind")
		_spacestream_words "control gateway"
		return
		;;
	"lease --expect")
		return
		;;
	"lease --records")
		_spacestream_files -d
		return
		;;
	"relay --sandbox" | "relay -s")
		_spacestream_words "$(_spacestream_sandboxes)"
		return
		;;
	"relay --kind")
		_spacestream_words "control gateway"
		return
		;;
	"relay --expect")
		return
		;;
	"relay --records")
		_spacestream_files -d
		return
		;;
	"list --sandbox" | "list -s")
		_spacestream_words "$(_spacestream_sandboxes)"
		return
		;;
	"cancel --sandbox" | "cancel -s")
		_spacestream_words "$(_spacestream_sandboxes)"
		return
		;;
	"serve --listen" | "serve -l")
		return
		;;
	"serve --tls-cert")
		_spacestream_files -f
		return
		;;
	"serve --tls-key")
		_spacestream_files -f
		return
		;;
	"serve --inflight")
		return
		;;
	"serve --streams")
		return
		;;
	"serve --reattach-timeout")
		return
		;;
	"serve --origin")
		return
		;;
	"serve --timeout")
		return
		;;
	"serve --idle-timeout")
		return
		;;
	"serve --xterm")
		_spacestream_files -d
		return
		;;
	"serve --agent")
		_spacestream_files -f
		return
		;;
	"serve --key" | "serve -k")
		_spacestream_files -f
		return
		;;
	"serve --passphrase-file")
		_spacestream_files -f
		return
		;;
	"serve --cache")
		_spacestream_files -f
		return
		;;
	*" --config" | *" -c")
		_spacestream_files -f
		return
		;;
	*" --output" | *" -o")
		_spacestream_words "json table"
		return
		;;
	*" --color")
		_spacestream_words "auto always never"
		return
		;;
	esac
	case $verb in
	"attach")
		options="--terminal --exec --cwd --detach-key --reattach-timeout --token-file --agent --key --passphrase-file --cache --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacestream_words "$options" ;;
		*) _spacestream_words "$(_spacestream_sandboxes)" ;;
		esac
		;;
	"lease")
		options="--sandbox --kind --expect --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacestream_words "$options" ;;
		*) _spacestream_files -f ;;
		esac
		;;
	"relay")
		options="--sandbox --kind --expect --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacestream_words "$options" ;;
		*) _spacestream_files -f ;;
		esac
		;;
	"list")
		options="--sandbox --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacestream_words "$options" ;;
		*) _spacestream_words "$options" ;;
		esac
		;;
	"cancel")
		options="--sandbox --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacestream_words "$options" ;;
		*) _spacestream_words "$(_spacestream_leases)" ;;
		esac
		;;
	"serve")
		options="--listen --tls-cert --tls-key --inflight --streams --reattach-timeout --origin --timeout --idle-timeout --xterm --agent --key --passphrase-file --cache --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacestream_words "$options" ;;
		*) _spacestream_words "$options" ;;
		esac
		;;
	"help")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacestream_words "$options" ;;
		*) _spacestream_words "attach lease relay list cancel serve help config completions " ;;
		esac
		;;
	"config")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacestream_words "$options" ;;
		*) _spacestream_words "space keys signer registry cache manager bridge guest gateway streams audit" ;;
		esac
		;;
	"completions")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacestream_words "$options" ;;
		*) _spacestream_words "bash zsh fish" ;;
		esac
		;;
	esac
}
complete -F _spacestream spacestream
