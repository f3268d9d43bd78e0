# bash completion for sbx-manager; generated from its table by `make completions`
# shellcheck shell=bash
_sbx-manager_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_sbx-manager_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_sbx-manager_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_sbx-manager_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_sbx-manager() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case "$verb $prev" in
	" --listen" | " -l")
		_sbx-manager_files -f
		return
		;;
	" --records")
		_sbx-manager_files -d
		return
		;;
	" --keys")
		_sbx-manager_files -f
		return
		;;
	" --realm")
		return
		;;
	" --audit")
		_sbx-manager_files -f
		return
		;;
	" --config" | " -c")
		_sbx-manager_files -f
		return
		;;
	" --output" | " -o")
		_sbx-manager_words "json table"
		return
		;;
	" --color")
		_sbx-manager_words "auto always never"
		return
		;;
	esac
	case $verb in
	"")
		options="--listen --records --keys --realm --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _sbx-manager_words "$options" ;;
		*) _sbx-manager_words "$options" ;;
		esac
		;;
	esac
}
complete -F _sbx-manager sbx-manager
