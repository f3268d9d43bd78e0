#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2154
# spaceid export and import: a mismatch taken away, and looked at elsewhere, without installing anything.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	for s in s-1 s-42; do
		echo '{"sandbox":"'$s'","route":{"execution":7,"worker":"w","substrate":"host","activation":"a","attempt":1},"owner":"op-7","guest":{"id":"g-1"}}'
	done | spaceid install --records records >/dev/null
	mkdir records/guest-keys
	echo secret >records/guest-keys/g-1
}

@test "export takes records byte for byte, what the page said, and who made it; never a guest key" {
	run -0 spaceid export --records records all.tar
	assert_output ""
	run -0 stat -c %a all.tar
	assert_output 600
	run -0 tar tf all.tar
	assert_output "records/s-1.json
records/s-42.json
page.jsonl
manifest.json"
	mkdir unpacked
	tar xf all.tar -C unpacked
	run -0 cmp records/s-42.json unpacked/records/s-42.json
	run -0 cat unpacked/page.jsonl
	assert_line -n 1 '{"sandbox":"s-42","epoch":1,"version":1,"state":"active","pending":false,"writer_dead":false}'
	run -0 cat unpacked/manifest.json
	assert_json '.v == 1 and .records == 2 and (.made_by | startswith("spaceid ")) and (.boot_id | length == 36) and has("host")'
	run ! grep -q secret all.tar
}

@test "export takes a damaged record too, and says what the page knows of it" {
	truncate -s 20 records/s-42.json
	run -0 spaceid export --records records --sandbox s-42 one.tar
	run -0 tar xOf one.tar records/s-42.json
	assert_output "$(cat records/s-42.json)"
	run -3 --separate-stderr spaceid import one.tar
	assert_output ""
	assert_regex "$stderr" '^spaceid: import: records/s-42.json: byte '
}

@test "export writes to standard output, never over a file, and needs a record" {
	spaceid export --records records - >piped.tar
	run -0 spaceid import piped.tar
	assert_equal "${#lines[@]}" 2
	echo precious >file.tar
	run -1 spaceid export --records records file.tar
	assert_output "spaceid: export: file.tar: File exists"
	run -0 cat file.tar
	assert_output precious
	run -1 spaceid export --records records --sandbox s-43 other.tar
	assert_not_exists other.tar
	run -1 bash -c 'spaceid export --records records - >/dev/full'
}

@test "import prints the records, and installs nothing" {
	spaceid export --records records all.tar
	spaceid list --records records >listed
	run -0 spaceid import all.tar
	assert_output "$(cat listed)"
	run -0 spaceid import -o table all.tar
	assert_line --regexp '^s-42 +7 +w +active +[^ ]+Z +a +1 +op-7 +1$'
	run -0 ls -A
	assert_output "all.tar
listed
records"
}

@test "import --into unpacks for other commands, into a new directory only" {
	spaceid export --records records all.tar
	run -0 spaceid import --into look all.tar
	assert_output ""
	run -0 cat look/records/s-42.json
	assert_output "$(cat records/s-42.json)"
	run -0 spaceid show --records look/records s-42
	assert_output "$(spaceid show --records records s-42)"
	jq -c '{selected: {sandbox, route}}' records/s-42.json >selected
	run -0 spaceid compare --records look/records <selected
	run -1 spaceid import --into records all.tar
	assert_output "spaceid: import: records: File exists"
}

@test "import refuses what is no export, whole" {
	tar_of() { rm -f bad.tar && tar cf bad.tar --owner 0 --group 0 "$@"; }
	mkdir -p records2/records && cp records/s-42.json records2/records/
	(cd records2 && ln -s /etc/passwd records/s-1.json && mkdir guest-keys && echo x >guest-keys/g && echo x >records/.lock)
	for member in records/s-1.json guest-keys/g records/.lock; do
		tar_of -C records2 records/s-42.json $member
		run -3 spaceid import bad.tar
		run -3 spaceid import --into look bad.tar
		assert_not_exists look
	done
	tar_of -P -C records2 --transform 's,^,../,' records/s-42.json
	run -3 spaceid import --into look bad.tar
	cp records/s-42.json records2/records/s-9.json
	tar_of -C records2 records/s-9.json
	run -3 --separate-stderr spaceid import bad.tar
	assert_equal "$stderr" "spaceid: import: records/s-9.json: is the record of s-42"
	spaceid export --records records all.tar
	head -c 1000 all.tar >bad.tar
	run -3 spaceid import bad.tar
	head -c 4096 /dev/urandom >bad.tar
	run -3 spaceid import bad.tar
	: >bad.tar
	run -3 spaceid import bad.tar
	run -1 spaceid import missing.tar
}
