#!/bin/sh
# Imports run one way (08-style, Shape): each directory of lib/ includes only itself and those below it, no tool another.
set -eu
cd "$(dirname "$0")/.."
status=0

# includes FILE: the directories that it includes from.
includes() {
	sed -n 's/^#include "\([a-z]*\)\/.*/\1/p' "$1" | sort -u
}

# below DIRECTORY: what its files may include.
below() {
	case $1 in
	base) echo base ;;
	record) echo base record ;;
	token | store | attest | routing) echo base record "$1" ;;
	admit) echo base record token store admit ;;
	lease) echo base record store net lease ;;
	relay) echo base record store net stream lease relay ;;
	bridge) echo base record store attest bridge ;;
	call) echo base record token routing bridge net call ;;
	client) echo base record token routing net call stream cli client ;;
	stream) echo base record net stream ;;
	guest) echo base record store bridge net stream guest ;;
	net) echo base record net ;;
	cli) echo base record cli ;;
	*) echo '' ;;
	esac
}

for file in lib/*/*.[ch]; do
	directory=$(basename "$(dirname "$file")")
	allowed=" $(below "$directory") "
	for include in $(includes "$file"); do
		case $allowed in
		*" $include "*) ;;
		*)
			echo "$file: lib/$directory may not include $include/"
			status=1
			;;
		esac
	done
done
for file in src/*/*.[ch]; do
	tool=$(basename "$(dirname "$file")")
	for include in $(includes "$file"); do
		if [ -d "src/$include" ] && [ "$include" != "$tool" ]; then
			echo "$file: a tool may not include another's files ($include/)"
			status=1
		fi
	done
done
exit "$status"
