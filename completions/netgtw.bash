# bash completion for netgtw; generated from its table by `make completions`
# shellcheck shell=bash
_netgtw_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_netgtw_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_netgtw_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_netgtw_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_netgtw() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case "$verb $prev" in
	" --sandbox" | " -s")
		_netgtw_words "$(_netgtw_sandboxes)"
		return
		;;
	" --listen" | " -l")
		return
		;;
	" --records")
		_netgtw_files -d
		return
		;;
	" --keys")
		_netgtw_files -f
		return
		;;
	" --realm")
		return
		;;
	" --audit")
		_netgtw_files -f
		return
		;;
	" --config" | " -c")
		_netgtw_files -f
		return
		;;
	" --output" | " -o")
		_netgtw_words "json table"
		return
		;;
	" --color")
		_netgtw_words "auto always never"
		return
		;;
	esac
	case $verb in
	"")
		options="--sandbox --listen --http --records --keys --realm --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _netgtw_words "$options" ;;
		*) _netgtw_words "$(_netgtw_sandboxes)" ;;
		esac
		;;
	esac
}
complete -F _netgtw netgtw
