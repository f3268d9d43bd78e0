#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2154
# What earlier versions kept in files is read (tests/fixtures/formats); what only a newer one knows is refused, says so, and
# stays as it is.
load helper

# each_version TEST: in a copy of each version's files, one after the other.
each_version() {
	local from count=0
	for from in "$ROOT"/tests/fixtures/formats/[0-9]*/; do
		cp -a "$from" "$BATS_TEST_TMPDIR/$(basename "$from")"
		cd "$BATS_TEST_TMPDIR/$(basename "$from")" || return
		at=$(<written_at)
		mkdir run state
		printf '[space]\nrealm = test\nworker = worker-a\nstate_dir = %s/state\nrun_dir = %s/run\n[keys]\nroot = %s\n' "$PWD" "$PWD" "$(<root.pub)" >here.ini
		export SPACE_CONFIG=$PWD/here.ini
		"$1"
		count=$((count + 1))
	done
	[ "$count" -gt 0 ]
}

# then_: a command at the time at which the files were written.
then_() { faketime "$(date -u -d "$at" '+%F %T')" env TZ=UTC "$@"; }

setup() {
	export TZ=UTC
	command -v faketime >/dev/null || skip_or_fail faketime
}

records() {
	local file
	mv records state
	run -0 spaceid list
	assert_equal "$(jq -Sc . <<<"$output")" "$(cat state/records/*.json | jq -Sc 'del(.history)')"
	for file in state/records/*.json; do
		run -0 spaceid show --history "$(jq -r .sandbox "$file")"
		assert_equal "$(jq -c '.history | map([.epoch, .version, .effect])' <<<"$output")" "$(jq -c '.history | map([.epoch, .version, .effect])' "$file")"
		run spaceid compare --records state/records < <(jq -c '{selected: {sandbox, route}}' "$file")
		assert_json --arg state "$(jq -r .state "$file")" 'if $state == "retired" then .reason == "retired" else .decision == "match" end'
	done
	# They go on from where they are.
	run -14 spaceid install < <(jq -c '{sandbox, route, owner}' state/records/s-retired.json)
	run -0 spaceid install < <(jq -c '{sandbox, owner, route} | .route.execution += 1' state/records/s-evident.json)
	assert_json '.effect == "replaced" and .epoch == 2'
	run -0 spaceid fence --sandbox s-cut
	assert_json '.effect == "fenced" and .epoch == 2'
	assert_equal "$(jq -c '[.version, .cut_version, (.history | length)]' state/records/s-cut.json)" '[4,3,4]'
}
@test "records of every version are read, with their history, and go on" { each_version records; }

exported() {
	run -0 spaceid import --into taken records.tar
	run -0 spaceid show --records taken/records s-cut
	assert_json '.epoch == 2 and .cut_version == 3'
}
@test "exports of records of every version are read" { each_version exported; }

keys() {
	local id serial
	chmod 600 signer.key
	id=$(spacecap pubkey --id signer.key)
	serial=$(jq .serial keys/manifest.json)
	mv keys keys.serial state
	run -0 then_ spacecap bundle list
	assert_json --argjson serial "$serial" --arg id "$id" '.verified and .serial == $serial and any(.keys[]; .kid == $id and .state == "active") and any(.keys[]; .state == "revoked")'
	run -0 spacecap verify --at "$at" --purpose control --op file.stat - <capability
	run -11 spacecap verify --at "$at" --purpose control --op exec.run - <capability
	run -0 then_ spacecap bundle install ./*.tar.zst
	assert_json '.changed == false'
	mv state/keys aside
	run -0 then_ spacecap bundle install ./*.tar.zst
	assert_json '.changed == true'
	run -0 spacecap mint -k signer.key --sandbox s-1 --execution 1 --worker w --substrate host --activation a --attempt 1 --caller c --purpose control --access ping
}
@test "keys, bundles and capabilities of every version are read" { each_version keys; }

journal() {
	local now
	now=$(date -d "$at" +%s)
	mkdir used
	gunzip -c journal.gz >used/journal
	run -0 "$FIXTURES/once" used $((now + 1)) 1 2 3 4
	assert_output '{"jti":1,"is":"replayed"}
{"jti":2,"is":"replayed"}
{"jti":3,"is":"replayed"}
{"jti":4,"is":"passed"}'
}
@test "journals of used capabilities of every version are read" { each_version journal; }

registry() {
	local revision
	cp registry.db state
	chmod 600 state/registry.db
	spacerouted export >again.jsonl
	run -0 diff registry.jsonl again.jsonl
	revision=$(jq 'select(.kind == "registry").revision' registry.jsonl)
	run -14 spacerouted publish < <(jq -c 'select(.sandbox == "s-43") | {sandbox, route, endpoint}' registry.jsonl)
	run -0 spacerouted publish < <(jq -c 'select(.kind == "route" and .sandbox == "s-42") | {sandbox, route, endpoint} | .route.execution += 1' registry.jsonl)
	assert_json --argjson revision $((revision + 1)) '.effect == "replaced" and .revision == $revision'
	rm state/registry.db*
	run -0 spacerouted import <registry.jsonl
	spacerouted export >again.jsonl
	run -0 diff <(jq -Sc 'del(.revision)' registry.jsonl) <(jq -Sc 'del(.revision)' again.jsonl)
}
@test "registries of every version are read, as files and as lines, and go on" { each_version registry; }

audit() {
	run -0 spaceid explain -o json < <(grep '"id":"r1"' audit.jsonl)
	assert_json '.event.reason == "execution" and .event.behind == "caller" and .selected.route.execution == 6 and .installed.route.execution == 7'
	# What a newer version has to say besides is no hindrance.
	run -0 spaceid explain -o json < <(grep '"id":"d1"' audit.jsonl | jq -c '.colour = "green"')
	assert_json '.event.reason == "access"'
	mv records state
	run -0 spaceid explain -o json --audit audit.jsonl s-cut
	assert_json '.sandbox == "s-cut"'
}
@test "audit lines of every version are explained" { each_version audit; }

configured() {
	sed -i 's/space-\(api\|node\)/root/g' space.ini
	run -0 spaceid -c space.ini config || run -0 spaceid config -c space.ini
}
@test "the configuration that came with every version is read" { each_version configured; }

newest() {
	local dirs=("$ROOT"/tests/fixtures/formats/[0-9]*/)
	cp -a "${dirs[-1]}" "$BATS_TEST_TMPDIR/newer"
	cd "$BATS_TEST_TMPDIR/newer" || return
	mkdir run state
	printf '[space]\nrealm = test\nstate_dir = %s/state\nrun_dir = %s/run\n' "$PWD" "$PWD" >here.ini
	export SPACE_CONFIG=$PWD/here.ini
}
NEWER='of format 9, which a newer version wrote; this one reads [1-8]: upgrade it'

@test "a newer version's record is refused, and no change touches it" {
	newest
	mv records state
	jq -c '.v = 9 | .colour = "green"' state/records/s-cut.json >changed
	cp changed state/records/s-cut.json
	run -3 --separate-stderr spaceid show s-cut
	assert_regex "$stderr" "^spaceid: show: $PWD/state/records: s-cut.json: record: $NEWER$"
	run -3 --separate-stderr spaceid list
	assert_equal "$(jq -rs 'map(.sandbox) | join(" ")' <<<"$output")" 's-evident s-retired'
	assert_regex "$stderr" "^spaceid: list: $PWD/state/records: s-cut.json: record: $NEWER$"
	run -3 spaceid install < <(jq -c '{sandbox, owner, route} | .route.execution = 99' changed)
	assert_output --regexp "record: $NEWER"
	run -3 spaceid retire --sandbox s-cut --execution 4
	run -3 spaceid fence --sandbox s-cut
	run spaceid prune --no-routes --older-than 0
	cmp changed state/records/s-cut.json
	run -0 spaceid fence --sandbox s-evident
}

@test "a newer version's registry is refused and left alone" {
	newest
	cp registry.db state
	chmod 600 state/registry.db
	sqlite3 state/registry.db 'PRAGMA user_version = 9'
	run -2 --separate-stderr spacerouted list
	assert_regex "$stderr" "^spacerouted: list: registry $PWD/state/registry.db: $NEWER$"
	run -2 spacerouted publish < <(jq -c 'select(.sandbox == "s-44") | {sandbox, route, endpoint}' registry.jsonl)
	assert_equal "$(sqlite3 state/registry.db 'PRAGMA user_version')" 9
	rm state/registry.db
	run -3 spacerouted import < <(jq -c 'if .kind == "registry" then .version = 9 | .colour = "green" else . end' registry.jsonl)
	assert_line --regexp "registry: $NEWER"
	run -0 spacerouted list
	assert_output ''
}

@test "a newer version's journal of used capabilities is refused and left alone" {
	newest
	mkdir used
	{ printf 'SPUSED9\n' && gunzip -c journal.gz | tail -c +9; } >used/journal
	cp used/journal was
	run -1 "$FIXTURES/once" used 1000 1
	assert_output --regexp "^once: used/journal: $NEWER$"
	cmp used/journal was
}

@test "a newer version's bundle is refused, though the root has signed it" {
	newest
	command -v openssl >/dev/null || skip_or_fail openssl
	openssl genpkey -algorithm ed25519 -out root.pem
	printf '[keys]\nroot = k4.public.%s\n' "$(openssl pkey -in root.pem -pubout -outform DER | tail -c 32 | base64 | tr '+/' '-_' | tr -d '=')" >>here.ini
	for version in 1 9; do
		jq -c --argjson version $version '.version = $version | .expires_at = "2099-01-01T00:00:00Z" | if $version == 9 then .colour = "green" else . end' \
			keys/manifest.json | tr -d '\n' >manifest.json
		openssl pkeyutl -sign -inkey root.pem -rawin -in manifest.json -out manifest.sig
		tar --zstd -cf "$version.tar.zst" manifest.json manifest.sig
	done
	run -3 --separate-stderr spacecap bundle install 9.tar.zst
	assert_regex "$stderr" "^spacecap: bundle install: manifest: $NEWER$"
	run -0 spacecap bundle install 1.tar.zst
	run -3 spacecap bundle verify 9.tar.zst
	run -0 spacecap bundle list
	assert_json '.verified'
}
