# bash completion for spaced-host; generated from its table by `make completions`
# shellcheck shell=bash
_spaced-host_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_spaced-host_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_spaced-host_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_spaced-host_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_spaced-host() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case "$verb $prev" in
	" --sandbox" | " -s")
		_spaced-host_words "$(_spaced-host_sandboxes)"
		return
		;;
	" --listen" | " -l")
		_spaced-host_files -f
		return
		;;
	" --records")
		_spaced-host_files -d
		return
		;;
	" --audit")
		_spaced-host_files -f
		return
		;;
	" --config" | " -c")
		_spaced-host_files -f
		return
		;;
	" --output" | " -o")
		_spaced-host_words "json table"
		return
		;;
	" --color")
		_spaced-host_words "auto always never"
		return
		;;
	esac
	case $verb in
	"")
		options="--sandbox --listen --records --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaced-host_words "$options" ;;
		*) _spaced-host_words "$(_spaced-host_sandboxes)" ;;
		esac
		;;
	esac
}
complete -F _spaced-host spaced-host
