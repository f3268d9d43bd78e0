# bash completion for spacecap; generated from its table by `spacecap completions bash`
# shellcheck shell=bash
_spacecap_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_spacecap_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_spacecap_sandboxes() {
	{ spaceid list -o json; spacerouted list -o json; } 2>/dev/null |
		sed -n 's/.*"sandbox":"\([^"]*\)".*/\1/p' | sort -u
}
_spacecap_leases() {
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\([^"]*\)".*/\1/p'
}
_spacecap() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options
	COMPREPLY=()
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	if [ "$COMP_CWORD" -eq 1 ]; then
		_spacecap_words "keygen pubkey mint verify inspect agent bundle help config completions --help --version"
		return
	fi
	case $verb in
	bundle)
		if [ "$COMP_CWORD" -eq 2 ]; then
			_spacecap_words "build verify install list revoke "
			return
		fi
		verb="$verb ${COMP_WORDS[2]}"
		;;
	*) ;;
	esac
	case "$verb $prev" in
	"keygen --out" | "keygen -o")
		_spacecap_files -f
		return
		;;
	"keygen --passphrase-file" | "keygen -P")
		_spacecap_files -f
		return
		;;
	"pubkey --passphrase-file" | "pubkey -P")
		_spacecap_files -f
		return
		;;
	"mint --key" | "mint -k")
		_spacecap_files -f
		return
		;;
	"mint --passphrase-file" | "mint -P")
		_spacecap_files -f
		return
		;;
	"mint --realm" | "mint -r")
		return
		;;
	"mint --iss" | "mint -i")
		return
		;;
	"mint --jobs" | "mint -j")
		return
		;;
	"mint --agent" | "mint -a")
		_spacecap_files -f
		return
		;;
	"mint --window")
		return
		;;
	"mint --ttl" | "mint -t")
		return
		;;
	"mint --audit")
		_spacecap_files -f
		return
		;;
	"mint --sandbox")
		_spacecap_words "$(_spacecap_sandboxes)"
		return
		;;
	"mint --execution")
		return
		;;
	"mint --worker")
		return
		;;
	"mint --substrate")
		_spacecap_words "kubernetes host"
		return
		;;
	"mint --pod-uid")
		return
		;;
	"mint --activation")
		return
		;;
	"mint --attempt")
		return
		;;
	"mint --caller")
		return
		;;
	"mint --purpose")
		_spacecap_words "control attach service-port manage"
		return
		;;
	"mint --access")
		return
		;;
	"mint --session")
		return
		;;
	"mint --port")
		return
		;;
	"mint --protocol")
		_spacecap_words "tcp http websocket tls"
		return
		;;
	"verify --keys" | "verify -K")
		_spacecap_files -f
		return
		;;
	"verify --root")
		return
		;;
	"verify --realm" | "verify -r")
		return
		;;
	"verify --jobs" | "verify -j")
		return
		;;
	"verify --purpose")
		_spacecap_words "control attach service-port manage"
		return
		;;
	"verify --op")
		return
		;;
	"verify --session")
		return
		;;
	"verify --port")
		return
		;;
	"verify --protocol")
		_spacecap_words "tcp http websocket tls"
		return
		;;
	"verify --at")
		return
		;;
	"verify --skew")
		return
		;;
	"inspect --at")
		return
		;;
	"agent --listen" | "agent -l")
		_spacecap_files -f
		return
		;;
	"agent --key" | "agent -k")
		_spacecap_files -f
		return
		;;
	"agent --passphrase-file" | "agent -P")
		_spacecap_files -f
		return
		;;
	"agent --realm" | "agent -r")
		return
		;;
	"agent --iss" | "agent -i")
		return
		;;
	"agent --ttl" | "agent -t")
		return
		;;
	"agent --audit")
		_spacecap_files -f
		return
		;;
	"bundle build --key" | "bundle build -k")
		_spacecap_files -f
		return
		;;
	"bundle build --passphrase-file" | "bundle build -P")
		_spacecap_files -f
		return
		;;
	"bundle build --out" | "bundle build -o")
		_spacecap_files -f
		return
		;;
	"bundle build --realm" | "bundle build -r")
		return
		;;
	"bundle build --serial" | "bundle build -s")
		return
		;;
	"bundle build --life" | "bundle build -t")
		return
		;;
	"bundle verify --root")
		return
		;;
	"bundle verify --realm" | "bundle verify -r")
		return
		;;
	"bundle install --directory" | "bundle install -d")
		_spacecap_files -d
		return
		;;
	"bundle install --root")
		return
		;;
	"bundle install --realm" | "bundle install -r")
		return
		;;
	"bundle install --audit")
		_spacecap_files -f
		return
		;;
	"bundle list --root")
		return
		;;
	"bundle list --realm" | "bundle list -r")
		return
		;;
	"bundle revoke --key" | "bundle revoke -k")
		_spacecap_files -f
		return
		;;
	"bundle revoke --passphrase-file" | "bundle revoke -P")
		_spacecap_files -f
		return
		;;
	"bundle revoke --out" | "bundle revoke -o")
		_spacecap_files -f
		return
		;;
	"bundle revoke --kid")
		return
		;;
	"bundle revoke --audit")
		_spacecap_files -f
		return
		;;
	*" --config" | *" -c")
		_spacecap_files -f
		return
		;;
	*" --output" | *" -o")
		_spacecap_words "json table"
		return
		;;
	*" --color")
		_spacecap_words "auto always never"
		return
		;;
	esac
	case $verb in
	"keygen")
		options="--out --passphrase-file --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_words "$options" ;;
		esac
		;;
	"pubkey")
		options="--id --passphrase-file --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_files -f ;;
		esac
		;;
	"mint")
		options="--key --passphrase-file --realm --iss --jobs --agent --window --ttl --audit --sandbox --execution --worker --substrate --pod-uid --activation --attempt --caller --purpose --access --session --port --protocol --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_words "$options" ;;
		esac
		;;
	"verify")
		options="--keys --root --realm --jobs --purpose --op --session --port --protocol --at --skew --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_words "$options" ;;
		esac
		;;
	"inspect")
		options="--at --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_words "$options" ;;
		esac
		;;
	"agent")
		options="--listen --key --passphrase-file --realm --iss --ttl --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_words "$options" ;;
		esac
		;;
	"bundle build")
		options="--key --passphrase-file --out --realm --serial --life --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_files -f ;;
		esac
		;;
	"bundle verify")
		options="--root --realm --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_files -f ;;
		esac
		;;
	"bundle install")
		options="--directory --root --realm --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_files -f ;;
		esac
		;;
	"bundle list")
		options="--root --realm --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_files -f ;;
		esac
		;;
	"bundle revoke")
		options="--key --passphrase-file --out --kid --audit --config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_files -f ;;
		esac
		;;
	"help")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_words "keygen pubkey mint verify inspect agent bundle help config completions " ;;
		esac
		;;
	"config")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_words "space keys signer registry cache manager bridge guest gateway streams audit" ;;
		esac
		;;
	"completions")
		options="--config --output --color --verbose --quiet --help "
		case $cur in
		-*) _spacecap_words "$options" ;;
		*) _spacecap_words "bash zsh fish" ;;
		esac
		;;
	esac
}
complete -F _spacecap spacecap
