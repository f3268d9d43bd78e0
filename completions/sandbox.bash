# bash completion for sandbox; generated from its table by `make completions`
# shellcheck shell=bash
_sandbox_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_sandbox_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_sandbox_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_sandbox_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_sandbox() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	if [ "$COMP_CWORD" -eq 1 ]; then
		_sandbox_words "activate resume handoff retire status help --help --version"
		return
	fi
	case $verb in
	*) ;;
	esac
	case "$verb $prev" in
	"activate --execution")
		return
		;;
	"activate --vmm-pid")
		return
		;;
	"activate --uds-path")
		_sandbox_files -f
		return
		;;
	"activate --activation")
		return
		;;
	"activate --attempt")
		return
		;;
	"activate --substrate")
		_sandbox_words "host kubernetes"
		return
		;;
	"activate --pod-uid")
		return
		;;
	"activate --endpoint")
		return
		;;
	"activate --bridge-pid")
		return
		;;
	"activate --cid")
		return
		;;
	"activate --api")
		_sandbox_files -f
		return
		;;
	"activate --guest-key")
		_sandbox_files -f
		return
		;;
	"activate --owner")
		return
		;;
	"activate --config" | "activate -c")
		_sandbox_files -f
		return
		;;
	"activate --worker-config")
		_sandbox_files -f
		return
		;;
	"activate --from-config")
		_sandbox_files -f
		return
		;;
	"activate --worker-run")
		return
		;;
	"activate --from-run")
		return
		;;
	"activate --output" | "activate -o")
		_sandbox_words "json table"
		return
		;;
	"resume --execution")
		return
		;;
	"resume --vmm-pid")
		return
		;;
	"resume --uds-path")
		_sandbox_files -f
		return
		;;
	"resume --activation")
		return
		;;
	"resume --attempt")
		return
		;;
	"resume --substrate")
		_sandbox_words "host kubernetes"
		return
		;;
	"resume --pod-uid")
		return
		;;
	"resume --endpoint")
		return
		;;
	"resume --bridge-pid")
		return
		;;
	"resume --cid")
		return
		;;
	"resume --api")
		_sandbox_files -f
		return
		;;
	"resume --guest-key")
		_sandbox_files -f
		return
		;;
	"resume --owner")
		return
		;;
	"resume --config" | "resume -c")
		_sandbox_files -f
		return
		;;
	"resume --worker-config")
		_sandbox_files -f
		return
		;;
	"resume --from-config")
		_sandbox_files -f
		return
		;;
	"resume --worker-run")
		return
		;;
	"resume --from-run")
		return
		;;
	"resume --output" | "resume -o")
		_sandbox_words "json table"
		return
		;;
	"handoff --owner")
		return
		;;
	"handoff --from")
		return
		;;
	"handoff --config" | "handoff -c")
		_sandbox_files -f
		return
		;;
	"handoff --worker-config")
		_sandbox_files -f
		return
		;;
	"handoff --from-config")
		_sandbox_files -f
		return
		;;
	"handoff --worker-run")
		return
		;;
	"handoff --from-run")
		return
		;;
	"handoff --output" | "handoff -o")
		_sandbox_words "json table"
		return
		;;
	"retire --execution")
		return
		;;
	"retire --config" | "retire -c")
		_sandbox_files -f
		return
		;;
	"retire --worker-config")
		_sandbox_files -f
		return
		;;
	"retire --from-config")
		_sandbox_files -f
		return
		;;
	"retire --worker-run")
		return
		;;
	"retire --from-run")
		return
		;;
	"retire --output" | "retire -o")
		_sandbox_words "json table"
		return
		;;
	"status --config" | "status -c")
		_sandbox_files -f
		return
		;;
	"status --worker-config")
		_sandbox_files -f
		return
		;;
	"status --from-config")
		_sandbox_files -f
		return
		;;
	"status --worker-run")
		return
		;;
	"status --from-run")
		return
		;;
	"status --output" | "status -o")
		_sandbox_words "json table"
		return
		;;
	esac
	case $verb in
	"activate")
		options="--execution --vmm-pid --uds-path --activation --attempt --substrate --pod-uid --endpoint --bridge-pid --cid --api --guest-key --owner --config --worker-config --from-config --worker-run --from-run --output --help "
		case $cur in
		-*) _sandbox_words "$options" ;;
		*) _sandbox_words "$(_sandbox_sandboxes)" ;;
		esac
		;;
	"resume")
		options="--prepare --from-lost --execution --vmm-pid --uds-path --activation --attempt --substrate --pod-uid --endpoint --bridge-pid --cid --api --guest-key --owner --config --worker-config --from-config --worker-run --from-run --output --help "
		case $cur in
		-*) _sandbox_words "$options" ;;
		*) _sandbox_words "$(_sandbox_sandboxes)" ;;
		esac
		;;
	"handoff")
		options="--owner --from --config --worker-config --from-config --worker-run --from-run --output --help "
		case $cur in
		-*) _sandbox_words "$options" ;;
		*) _sandbox_words "$(_sandbox_sandboxes)" ;;
		esac
		;;
	"retire")
		options="--execution --config --worker-config --from-config --worker-run --from-run --output --help "
		case $cur in
		-*) _sandbox_words "$options" ;;
		*) _sandbox_words "$(_sandbox_sandboxes)" ;;
		esac
		;;
	"status")
		options="--config --worker-config --from-config --worker-run --from-run --output --help "
		case $cur in
		-*) _sandbox_words "$options" ;;
		*) _sandbox_words "$(_sandbox_sandboxes)" ;;
		esac
		;;
	"help")
		options=""
		case $cur in
		-*) _sandbox_words "$options" ;;
		*) _sandbox_words "activate resume handoff retire status help " ;;
		esac
		;;
	esac
}
complete -F _sandbox sandbox
