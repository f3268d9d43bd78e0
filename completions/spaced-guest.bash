# bash completion for spaced-guest; generated from its table by `make completions`
# shellcheck shell=bash
_spaced-guest_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_spaced-guest_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_spaced-guest_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_spaced-guest_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_spaced-guest() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case "$verb $prev" in
	" --listen" | " -l")
		return
		;;
	" --root" | " -r")
		_spaced-guest_files -d
		return
		;;
	" --cid")
		return
		;;
	" --key" | " -k")
		_spaced-guest_files -f
		return
		;;
	" --audit")
		_spaced-guest_files -f
		return
		;;
	" --config" | " -c")
		_spaced-guest_files -f
		return
		;;
	" --output" | " -o")
		_spaced-guest_words "json table"
		return
		;;
	" --color")
		_spaced-guest_words "auto always never"
		return
		;;
	esac
	case $verb in
	"")
		options="--listen --root --cid --key --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaced-guest_words "$options" ;;
		*) _spaced-guest_words "$options" ;;
		esac
		;;
	esac
}
complete -F _spaced-guest spaced-guest
