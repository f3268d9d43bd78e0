# bash completion for node-api; generated from its table by `make completions`
# shellcheck shell=bash
_node-api_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_node-api_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_node-api_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_node-api_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_node-api() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case "$verb $prev" in
	" --config" | " -c")
		_node-api_files -f
		return
		;;
	" --token-file")
		_node-api_files -f
		return
		;;
	" --agent")
		_node-api_files -f
		return
		;;
	" --window")
		return
		;;
	esac
	case $verb in
	"")
		options="--config --peer --token-file --agent --window --http --help "
		case $cur in
		-*) _node-api_words "$options" ;;
		*) _node-api_words "$options" ;;
		esac
		;;
	esac
}
complete -F _node-api node-api
