# bash completion for spaceid; generated from its table by `spaceid completions bash`
# shellcheck shell=bash
_spaceid_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_spaceid_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_spaceid_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_spaceid_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_spaceid() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	if [ "$COMP_CWORD" -eq 1 ]; then
		_spaceid_words "compare install retire handoff fence prune show list watch explain export import help config completions --help --version"
		return
	fi
	case $verb in
	*) ;;
	esac
	case "$verb $prev" in
	"compare --selected")
		_spaceid_files -f
		return
		;;
	"compare --installed")
		_spaceid_files -f
		return
		;;
	"compare --use")
		_spaceid_words "open established-control established-gateway"
		return
		;;
	"compare --records")
		_spaceid_files -d
		return
		;;
	"compare --jobs" | "compare -j")
		return
		;;
	"install --if-epoch")
		return
		;;
	"install --audit")
		_spaceid_files -f
		return
		;;
	"install --records")
		_spaceid_files -d
		return
		;;
	"retire --sandbox" | "retire -s")
		_spaceid_words "$(_spaceid_sandboxes)"
		return
		;;
	"retire --execution")
		return
		;;
	"retire --audit")
		_spaceid_files -f
		return
		;;
	"retire --records")
		_spaceid_files -d
		return
		;;
	"handoff --sandbox" | "handoff -s")
		_spaceid_words "$(_spaceid_sandboxes)"
		return
		;;
	"handoff --from")
		return
		;;
	"handoff --owner")
		return
		;;
	"handoff --audit")
		_spaceid_files -f
		return
		;;
	"handoff --records")
		_spaceid_files -d
		return
		;;
	"fence --sandbox" | "fence -s")
		_spaceid_words "$(_spaceid_sandboxes)"
		return
		;;
	"fence --audit")
		_spaceid_files -f
		return
		;;
	"fence --records")
		_spaceid_files -d
		return
		;;
	"prune --routes")
		_spaceid_files -f
		return
		;;
	"prune --older-than")
		return
		;;
	"prune --sandbox" | "prune -s")
		_spaceid_words "$(_spaceid_sandboxes)"
		return
		;;
	"prune --audit")
		_spaceid_files -f
		return
		;;
	"prune --records")
		_spaceid_files -d
		return
		;;
	"show --records")
		_spaceid_files -d
		return
		;;
	"list --records")
		_spaceid_files -d
		return
		;;
	"watch --sandbox" | "watch -s")
		_spaceid_words "$(_spaceid_sandboxes)"
		return
		;;
	"watch --until-epoch")
		return
		;;
	"watch --timeout")
		return
		;;
	"watch --records")
		_spaceid_files -d
		return
		;;
	"explain --sandbox" | "explain -s")
		_spaceid_words "$(_spaceid_sandboxes)"
		return
		;;
	"explain --audit")
		_spaceid_files -f
		return
		;;
	"explain --keys")
		_spaceid_files -f
		return
		;;
	"explain --records")
		_spaceid_files -d
		return
		;;
	"export --sandbox" | "export -s")
		_spaceid_words "$(_spaceid_sandboxes)"
		return
		;;
	"export --records")
		_spaceid_files -d
		return
		;;
	"import --into")
		_spaceid_files -d
		return
		;;
	*" --config" | *" -c")
		_spaceid_files -f
		return
		;;
	*" --output" | *" -o")
		_spaceid_words "json table"
		return
		;;
	*" --color")
		_spaceid_words "auto always never"
		return
		;;
	esac
	case $verb in
	"compare")
		options="--selected --installed --use --records --jobs --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$options" ;;
		esac
		;;
	"install")
		options="--if-epoch --audit --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$options" ;;
		esac
		;;
	"retire")
		options="--sandbox --execution --audit --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$options" ;;
		esac
		;;
	"handoff")
		options="--sandbox --from --owner --audit --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$options" ;;
		esac
		;;
	"fence")
		options="--sandbox --cut --audit --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$options" ;;
		esac
		;;
	"prune")
		options="--routes --no-routes --older-than --sandbox --audit --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$options" ;;
		esac
		;;
	"show")
		options="--history --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$(_spaceid_sandboxes)" ;;
		esac
		;;
	"list")
		options="--records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$options" ;;
		esac
		;;
	"watch")
		options="--sandbox --once --until-epoch --timeout --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$options" ;;
		esac
		;;
	"explain")
		options="--sandbox --audit --keys --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "$(_spaceid_sandboxes)" ;;
		esac
		;;
	"export")
		options="--sandbox --records --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_files -f ;;
		esac
		;;
	"import")
		options="--into --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_files -f ;;
		esac
		;;
	"help")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "compare install retire handoff fence prune show list watch explain export import help config completions " ;;
		esac
		;;
	"config")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "space keys signer registry cache manager bridge guest gateway streams audit" ;;
		esac
		;;
	"completions")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spaceid_words "$options" ;;
		*) _spaceid_words "bash zsh fish" ;;
		esac
		;;
	esac
}
complete -F _spaceid spaceid
