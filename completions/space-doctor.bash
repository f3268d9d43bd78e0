# bash completion for space-doctor; generated from its table by `make completions`
# shellcheck shell=bash
_space-doctor_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_space-doctor_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_space-doctor_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_space-doctor_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_space-doctor() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case "$verb $prev" in
	" --config" | " -c")
		_space-doctor_files -f
		return
		;;
	" --role")
		_space-doctor_words "node control all"
		return
		;;
	" --routes")
		_space-doctor_files -f
		return
		;;
	" --timeout")
		return
		;;
	" --output" | " -o")
		_space-doctor_words "json table"
		return
		;;
	" --color")
		_space-doctor_words "auto always never"
		return
		;;
	esac
	case $verb in
	"")
		options="--config --role --routes --timeout --output --color --quiet --help "
		case $cur in
		-*) _space-doctor_words "$options" ;;
		*) _space-doctor_words "$options" ;;
		esac
		;;
	esac
}
complete -F _space-doctor space-doctor
