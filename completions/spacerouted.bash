# bash completion for spacerouted; generated from its table by `spacerouted completions bash`
# shellcheck shell=bash
_spacerouted_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_spacerouted_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_spacerouted_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_spacerouted_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_spacerouted() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	if [ "$COMP_CWORD" -eq 1 ]; then
		_spacerouted_words "publish retire resolve list watch export import grant revoke grants serve cache route repair call help config completions --help --version"
		return
	fi
	case $verb in
	cache)
		if [ "$COMP_CWORD" -eq 2 ]; then
			_spacerouted_words "get reject renew drop stats dump "
			return
		fi
		verb="$verb ${COMP_WORDS[2]}"
		;;
	*) ;;
	esac
	case "$verb $prev" in
	"publish --registry")
		return
		;;
	"publish --audit")
		_spacerouted_files -f
		return
		;;
	"publish --sandbox" | "publish -s")
		_spacerouted_words "$(_spacerouted_sandboxes)"
		return
		;;
	"publish --execution")
		return
		;;
	"publish --worker")
		return
		;;
	"publish --substrate")
		_spacerouted_words "kubernetes host"
		return
		;;
	"publish --pod-uid")
		return
		;;
	"publish --activation")
		return
		;;
	"publish --attempt")
		return
		;;
	"publish --endpoint")
		return
		;;
	"publish --if-rev")
		return
		;;
	"retire --registry")
		return
		;;
	"retire --audit")
		_spacerouted_files -f
		return
		;;
	"retire --sandbox" | "retire -s")
		_spacerouted_words "$(_spacerouted_sandboxes)"
		return
		;;
	"retire --execution")
		return
		;;
	"resolve --registry")
		return
		;;
	"list --registry")
		return
		;;
	"watch --registry")
		return
		;;
	"watch --from")
		return
		;;
	"export --registry")
		return
		;;
	"import --registry")
		return
		;;
	"import --audit")
		_spacerouted_files -f
		return
		;;
	"grant --registry")
		return
		;;
	"grant --audit")
		_spacerouted_files -f
		return
		;;
	"grant --principal" | "grant -p")
		return
		;;
	"grant --sandbox" | "grant -s")
		_spacerouted_words "$(_spacerouted_sandboxes)"
		return
		;;
	"grant --ops")
		return
		;;
	"grant --ports")
		return
		;;
	"grant --until")
		return
		;;
	"grant --token-file")
		_spacerouted_files -f
		return
		;;
	"revoke --registry")
		return
		;;
	"revoke --audit")
		_spacerouted_files -f
		return
		;;
	"revoke --principal" | "revoke -p")
		return
		;;
	"revoke --sandbox" | "revoke -s")
		_spacerouted_words "$(_spacerouted_sandboxes)"
		return
		;;
	"grants --registry")
		return
		;;
	"grants --principal" | "grants -p")
		return
		;;
	"grants --sandbox" | "grants -s")
		_spacerouted_words "$(_spacerouted_sandboxes)"
		return
		;;
	"serve --listen" | "serve -l")
		_spacerouted_files -f
		return
		;;
	"serve --registry")
		return
		;;
	"serve --audit")
		_spacerouted_files -f
		return
		;;
	"cache get --cache")
		_spacerouted_files -f
		return
		;;
	"cache get --caller")
		return
		;;
	"cache get --sandbox" | "cache get -s")
		_spacerouted_words "$(_spacerouted_sandboxes)"
		return
		;;
	"cache get --op")
		return
		;;
	"cache get --port")
		return
		;;
	"cache get --protocol")
		_spacerouted_words "tcp http websocket tls"
		return
		;;
	"cache get --token-file")
		_spacerouted_files -f
		return
		;;
	"cache reject --cache")
		_spacerouted_files -f
		return
		;;
	"cache reject --caller")
		return
		;;
	"cache reject --sandbox" | "cache reject -s")
		_spacerouted_words "$(_spacerouted_sandboxes)"
		return
		;;
	"cache reject --execution")
		return
		;;
	"cache reject --worker")
		return
		;;
	"cache reject --substrate")
		_spacerouted_words "kubernetes host"
		return
		;;
	"cache reject --pod-uid")
		return
		;;
	"cache reject --activation")
		return
		;;
	"cache reject --attempt")
		return
		;;
	"cache renew --cache")
		_spacerouted_files -f
		return
		;;
	"cache renew --caller")
		return
		;;
	"cache renew --sandbox" | "cache renew -s")
		_spacerouted_words "$(_spacerouted_sandboxes)"
		return
		;;
	"cache renew --token-file")
		_spacerouted_files -f
		return
		;;
	"cache drop --cache")
		_spacerouted_files -f
		return
		;;
	"cache drop --caller")
		return
		;;
	"cache drop --sandbox" | "cache drop -s")
		_spacerouted_words "$(_spacerouted_sandboxes)"
		return
		;;
	"cache stats --cache")
		_spacerouted_files -f
		return
		;;
	"cache dump --cache")
		_spacerouted_files -f
		return
		;;
	"route --cache")
		_spacerouted_files -f
		return
		;;
	"route --token-file")
		_spacerouted_files -f
		return
		;;
	"route --window" | "route -w")
		return
		;;
	"route --jobs" | "route -j")
		return
		;;
	"repair --cache")
		_spacerouted_files -f
		return
		;;
	"repair --window" | "repair -w")
		return
		;;
	"call --token-file")
		_spacerouted_files -f
		return
		;;
	"call --agent")
		_spacerouted_files -f
		return
		;;
	"call --key" | "call -k")
		_spacerouted_files -f
		return
		;;
	"call --passphrase-file")
		_spacerouted_files -f
		return
		;;
	"call --cache")
		_spacerouted_files -f
		return
		;;
	"call --window" | "call -w")
		return
		;;
	*" --config" | *" -c")
		_spacerouted_files -f
		return
		;;
	*" --output" | *" -o")
		_spacerouted_words "json table"
		return
		;;
	*" --color")
		_spacerouted_words "auto always never"
		return
		;;
	esac
	case $verb in
	"publish")
		options="--registry --audit --sandbox --execution --worker --substrate --pod-uid --activation --attempt --endpoint --if-rev --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"retire")
		options="--registry --audit --sandbox --execution --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"resolve")
		options="--registry --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$(_spacerouted_sandboxes)" ;;
		esac
		;;
	"list")
		options="--registry --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"watch")
		options="--registry --from --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"export")
		options="--registry --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"import")
		options="--registry --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"grant")
		options="--registry --audit --principal --sandbox --ops --ports --until --token-file --rotate --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"revoke")
		options="--registry --audit --principal --sandbox --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"grants")
		options="--registry --principal --sandbox --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"serve")
		options="--listen --registry --audit --warm --no-watch --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"cache get")
		options="--cache --caller --sandbox --op --port --protocol --token-file --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"cache reject")
		options="--cache --caller --sandbox --execution --worker --substrate --pod-uid --activation --attempt --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"cache renew")
		options="--cache --caller --sandbox --token-file --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"cache drop")
		options="--cache --caller --sandbox --all --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"cache stats")
		options="--cache --prometheus --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"cache dump")
		options="--cache --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"route")
		options="--cache --peer --token-file --window --jobs --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"repair")
		options="--cache --window --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"call")
		options="--peer --token-file --agent --key --passphrase-file --cache --window --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "$options" ;;
		esac
		;;
	"help")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "publish retire resolve list watch export import grant revoke grants serve cache route repair call help config completions " ;;
		esac
		;;
	"config")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "space keys signer registry cache manager bridge guest gateway streams audit" ;;
		esac
		;;
	"completions")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacerouted_words "$options" ;;
		*) _spacerouted_words "bash zsh fish" ;;
		esac
		;;
	esac
}
complete -F _spacerouted spacerouted
