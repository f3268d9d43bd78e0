# Shared by the scripts that kill commands, or take away their power: where they work, and the changes they make. Sourced
# after $root is set. What is on $disk may be killed. Each prepare_... leaves in $base what there is before the change, in $command and $input the change of
# its copy in $store.
# shellcheck shell=bash disable=SC2034,SC2154
bin=${SPACE_BIN:-$root/build/bin} fixtures=$root/build/fixtures
export SPACE_CONFIG=$root/tests/fixtures/empty.ini
scratch=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)" "$(basename "$0" .sh).XXXXXX")
trap 'rm -rf "$scratch"' EXIT
disk=$scratch/disk
store=$disk/store base=$scratch/base input=$scratch/input
: >"$input"
mkdir "$disk"

record() {
	printf '{"sandbox":"s-42","route":{"execution":%s,"worker":"w","substrate":"kubernetes","pod_uid":"0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b","activation":"a","attempt":%s},"owner":"op-7"%s}\n' "$@"
}
install_in() { record "$2" "$3" "$4" | "$bin/spaceid" install --records "$1" >"$scratch/out" || exit 1; }
retire_in() { "$bin/spaceid" retire --sandbox s-42 --execution "$2" --records "$1" >"$scratch/out" || exit 1; }
prune_in() { "$bin/spaceid" prune --no-routes --older-than 0 --records "$1" >"$scratch/out" || exit 1; }

# A store with another sandbox in it, so that the change finds page and slots as they are in daily life.
prepare_store() {
	record 1 1 '' | sed s/s-42/s-1/ | "$bin/spaceid" install --records "$base" >"$scratch/out" || exit 1
	command=("$bin/spaceid" install --records "$store")
	case $1 in
	create) rm -rf "$base" && record 7 1 '' >"$input" ;;
	install) record 7 1 '' >"$input" ;;
	replace) install_in "$base" 7 1 '' && record 8 1 '' >"$input" ;;
	attempt) install_in "$base" 7 1 '' && record 7 2 '' >"$input" ;;
	evidence) install_in "$base" 7 1 '' && record 7 1 ',"bridge":{"pid":7}' >"$input" ;;
	retire) install_in "$base" 7 1 '' && command=("$bin/spaceid" retire --sandbox s-42 --execution 7 --records "$store") ;;
	fence) install_in "$base" 7 1 '' && command=("$bin/spaceid" fence --sandbox s-42 --cut --records "$store") ;;
	handoff) install_in "$base" 7 1 '' && command=("$bin/spaceid" handoff --sandbox s-42 --from op-7 --owner op-8 --records "$store") ;;
	reinstall)
		install_in "$base" 7 1 ''
		retire_in "$base" 7
		prune_in "$base"
		record 8 1 '' >"$input"
		;;
	prune)
		install_in "$base" 7 1 ''
		retire_in "$base" 7
		command=("$bin/spaceid" prune --no-routes --older-than 0 --records "$store")
		;;
	*) exit 2 ;;
	esac
}

# The state directory of a worker, with a bundle of keys in force, or none yet, and a newer one to be installed.
prepare_bundle() {
	local serial
	store=$disk/state
	mkdir "$base"
	"$bin/spacecap" keygen -o "$scratch/root.key" >"$scratch/out" && "$bin/spacecap" keygen -o "$scratch/a.key" >"$scratch/out" || exit 1
	"$bin/spacecap" pubkey "$scratch/a.key" >"$scratch/a.pub" || exit 1
	printf '[space]\nrealm = prod\nstate_dir = %s\n[keys]\nroot = %s\n' "$store" "$("$bin/spacecap" pubkey "$scratch/root.key")" >"$scratch/space.ini"
	export SPACE_CONFIG=$scratch/space.ini
	for serial in 6 7 8; do
		"$bin/spacecap" bundle build -k "$scratch/root.key" --serial "$serial" -o "$scratch/$serial.tzst" "$scratch/a.pub" >"$scratch/out" || exit 1
	done
	command=("$bin/spacecap" bundle install "$scratch/8.tzst")
	case $1 in
	first) ;;
	next)
		cp -a "$base" "$store"
		"$bin/spacecap" bundle install "$scratch/7.tzst" >"$scratch/out" || exit 1
		rm -r "$base"
		mv "$store" "$base"
		;;
	*) exit 2 ;;
	esac
}

route() { printf '{"sandbox":"%s","route":{"execution":%s,"worker":"w","substrate":"host","activation":"a","attempt":1},"endpoint":"unix:/m"}\n' "$@"; }

# The state directory of a control plane, with a registry of routes, or none yet.
prepare_registry() {
	local n
	store=$disk/state
	mkdir "$base"
	printf '[space]\nstate_dir = %s\n' "$store" >"$scratch/space.ini"
	export SPACE_CONFIG=$scratch/space.ini
	command=("$bin/spacerouted" publish)
	route s-42 8 >"$input"
	if [ "$1" != create ]; then
		cp -a "$base" "$store"
		{ route s-1 1 && route s-42 7; } | "$bin/spacerouted" publish >"$scratch/out" || exit 1
		rm -r "$base"
		mv "$store" "$base"
	fi
	case $1 in
	create | replace) ;;
	many) for ((n = 100; n < 104; n++)); do route "s-$n" 8; done >"$input" ;;
	retire) command=("$bin/spacerouted" retire --sandbox s-42 --execution 7) ;;
	*) exit 2 ;;
	esac
}

# A journal of used capabilities, or none yet, and some that are used (tests/fixtures/once).
prepare_journal() {
	store=$disk/used
	command=("$fixtures/once" "$store" 1000 2:1100 3:1100+4:1100)
	case $1 in
	create) ;;
	use) "$fixtures/once" "$base" 1000 1:1100 >"$scratch/out" || exit 1 ;;
	# Full of live ones: it grows.
	grow) "$fixtures/once" "$base" 1000 fill:4094:1100 1:1100 >"$scratch/out" || exit 1 ;;
	# Full of those that have expired: a new one takes its place.
	replace)
		"$fixtures/once" "$base" 1000 fill:4093:1010 9:1010 1:1100 >"$scratch/out" || exit 1
		command=("$fixtures/once" "$store" 1050 2:1100 3:1100+4:1100)
		;;
	*) exit 2 ;;
	esac
}
