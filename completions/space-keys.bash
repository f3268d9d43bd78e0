# bash completion for space-keys; generated from its table by `make completions`
# shellcheck shell=bash
_space-keys_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_space-keys_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_space-keys_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_space-keys_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_space-keys() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case "$verb $prev" in
	" --config" | " -c")
		_space-keys_files -f
		return
		;;
	esac
	case $verb in
	"")
		options="--config --help "
		case $cur in
		-*) _space-keys_words "$options" ;;
		*) _space-keys_files -f ;;
		esac
		;;
	esac
}
complete -F _space-keys space-keys
