# bash completion for spaced-guest-static; generated from its table by `make completions`
# shellcheck shell=bash
_spaced-guest-static_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_spaced-guest-static_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_spaced-guest-static_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_spaced-guest-static_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_spaced-guest-static() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case "$verb $prev" in
	" --listen" | " -l")
		return
		;;
	" --root" | " -r")
		_spaced-guest-static_files -d
		return
		;;
	" --cid")
		return
		;;
	" --key" | " -k")
		_spaced-guest-static_files -f
		return
		;;
	" --max-sessions")
		return
		;;
	" --max-tree-mib")
		return
		;;
	" --max-tree-entries")
		return
		;;
	esac
	case $verb in
	"")
		options="--listen --root --cid --key --max-sessions --max-tree-mib --max-tree-entries --help --version --verbose "
		case $cur in
		-*) _spaced-guest-static_words "$options" ;;
		*) _spaced-guest-static_words "$options" ;;
		esac
		;;
	esac
}
complete -F _spaced-guest-static spaced-guest-static
