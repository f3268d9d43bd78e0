#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2154,SC2016
# The bills of materials: of a tool by itself, and of all that is built.
load helper

TOOLS='spacecap spaceid spacebridge spacestream spacerouted'

# needed PROGRAM: the libraries that it is linked to, by the names that the bills have.
needed() {
	readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\.so.*\]/\1/p' |
		sed 's/^libc$/glibc/; s/^libm$/glibc/; s/^libhttp_parser$/http-parser/; s/^lib\(jansson\|inih\|wslay\)$/\1/' | sort -u
}

@test "a tool's bill has every library that it is linked to, and those that it loads, with their versions" {
	[ -z "${SANITIZE:-}" ] || skip_or_fail "a plain build"
	for tool in $TOOLS; do
		run -0 "$tool" -V -v -o json
		assert_json --arg tool "$tool" --arg version "$("$tool" -V | cut -d ' ' -f 2)" '.bomFormat == "CycloneDX" and .specVersion == "1.5" and
			.metadata.component == {type: "application", "bom-ref": $tool, name: $tool, version: $version}'
		assert_json '.dependencies == [{ref: .metadata.component.name, dependsOn: [.components[]."bom-ref"]}]'
		assert_json '[.. | ."bom-ref"? // empty] | . == unique or (sort == (unique | sort))'
		assert_equal "$(jq -r '.components[] | select(.scope == "required").name' <<<"$output" | sort)" "$(needed "$(command -v "$tool")")"
		assert_json --arg sodium "$(pkg-config --modversion libsodium)" --arg sqlite "$(pkg-config --modversion sqlite3)" \
			--arg curl "$(pkg-config --modversion libcurl)" --arg openssl "$(pkg-config --modversion libcrypto)" \
			'[.components[] | {(.name): .version}] | add | .libsodium == $sodium and .sqlite == $sqlite and .curl == $curl and .openssl == $openssl'
		assert_json 'all(.components[]; .purl == "pkg:generic/\(.name)" + (if .version then "@" + .version else "" end))'
		assert_json '.components[] | select(.name == "curl") | .scope == "optional" and any(.components[]; .name == "zlib" and (.version | test("^1\\.")))'
	done
	run -0 spacecap --version --verbose --output=json
	assert_json '.bomFormat == "CycloneDX"'
	run -0 spacecap -V -ojson
	assert_output "{\"name\":\"spacecap\",\"version\":\"$(spacecap -V | cut -d ' ' -f 2)\"}"
	run -0 spacecap -V -o table -v
	assert_line --regexp '^libsodium: [0-9.]+$'
	for word in -x -o --output=xml verify; do
		run -2 --separate-stderr spacecap -V $word
		assert_equal "$stderr" $'spacecap: -V takes -v, and -o json or -o table\ntry: spacecap --help'
	done
}

@test "make sbom makes one bill of all programs, the same each time" {
	[ -z "${SANITIZE:-}" ] || skip_or_fail "a plain build"
	for n in 1 2; do
		"$ROOT/lib/sbom/make" 7.8 "$ROOT"/build/bin/spacecap "$ROOT"/build/bin/spacestream "$ROOT"/build/bin/spaced-guest-static >"$BATS_TEST_TMPDIR/$n"
	done
	cmp "$BATS_TEST_TMPDIR/1" "$BATS_TEST_TMPDIR/2"
	run -0 jq -c . "$BATS_TEST_TMPDIR/1"
	assert_json '.bomFormat == "CycloneDX" and .metadata.component.version == "7.8"'
	assert_json --arg hash "$(sha256sum "$ROOT/build/bin/spacestream" | cut -d ' ' -f 1)" \
		'.metadata.component.components[1] | .name == "spacestream" and .hashes == [{alg: "SHA-256", content: $hash}]'
	# Each once, each with its version, also those that do not say it; what the static one has inside by itself.
	assert_json '[.components[]."bom-ref"] | sort == unique'
	assert_json 'all(.components[]; .version)'
	assert_json --arg version "$(pkg-config --modversion libarchive)" '.components[] | select(."bom-ref" == "libarchive@static") | .version == $version and .scope == "required"'
	assert_json '.components[] | select(.name == "@xterm/xterm") | .purl == "pkg:npm/%40xterm/xterm@\(.version)"'
	assert_json '(.components | map(."bom-ref")) as $known | (.metadata.component.components | map(."bom-ref")) as $programs |
		all(.dependencies[]; (.ref == "space-tools" or any($programs[]; . == .)) and all(.dependsOn[]; . as $ref | any($known[], $programs[]; . == $ref)))'
	assert_json '.dependencies[0] == {ref: "space-tools", dependsOn: ["spacecap", "spacestream", "spaced-guest-static"]}'
}

@test "the static agent says which libraries are inside" {
	[ -z "${SANITIZE:-}" ] || skip_or_fail "a plain build"
	run -0 spaced-guest-static -V -v
	assert_line -n 0 "$(spaced-guest-static -V)"
	assert_line "libsodium: $(pkg-config --modversion libsodium)"
	assert_line "libarchive: $(pkg-config --modversion libarchive)"
	assert_line "jansson: $(pkg-config --modversion jansson)"
	run -0 spaced-guest-static --verbose -V
	assert_output "$(spaced-guest-static -V)"
}
