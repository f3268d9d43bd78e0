#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2119,SC2120
# spaceid's changes through the command line: each row of the tables of 03-identity with its exact line and exit
# code, and what it leaves in the record.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	printf '[space]\nworker = worker-a\n' >space.ini
}

# rec EXECUTION [ATTEMPT [OWNER [WORKER [ACTIVATION [MORE]]]]]: a record to install
rec() {
	printf '{"sandbox":"s-42","route":{"execution":%s,"worker":"%s","substrate":"%s","activation":"%s","attempt":%s},"owner":"%s"%s}\n' \
		"$1" "${4:-worker-a}" "${SUBSTRATE:-kubernetes\",\"pod_uid\":\"0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b}" \
		"${5:-act-19}" "${2:-1}" "${3:-op-7}" "${6:-}"
}
install() { spaceid install --records records "$@"; }
given() { rec "$@" | install >/dev/null; }
stored() { jq -c "$1" records/s-42.json; }

effect() { assert_output "{\"sandbox\":\"s-42\",\"changed\":true,\"epoch\":$2,\"effect\":\"$1\"}"; }
none() { assert_output "{\"sandbox\":\"s-42\",\"changed\":false,\"epoch\":$1,\"effect\":\"none\"}"; }
conflict() { assert_output "{\"sandbox\":\"s-42\",\"changed\":false,\"conflict\":\"$1\"}"; }

@test "row 1: install --if-epoch conflicts with another epoch, and 0 means no record" {
	run -14 install --if-epoch 1 < <(rec 7)
	conflict "the epoch is not the one of --if-epoch"
	assert_not_exists records/s-42.json
	run -0 install --if-epoch 0 < <(rec 7)
	effect installed 1
	run -14 install --if-epoch 0 < <(rec 8)
	conflict "the epoch is not the one of --if-epoch"
	run -14 install --if-epoch 2 < <(rec 8)
	conflict "the epoch is not the one of --if-epoch"
	run -0 install --if-epoch 1 < <(rec 8)
	effect replaced 2
}

@test "row 1 comes before row 2" {
	given 7
	run -14 install -c space.ini --if-epoch 2 < <(rec 8 1 op-7 worker-b)
	conflict "the epoch is not the one of --if-epoch"
}

@test "row 2: install refuses a route of another worker than the configured one" {
	run -14 install -c space.ini < <(rec 7 1 op-7 worker-b)
	conflict "the route is for another worker than this one"
	run -0 install -c space.ini < <(rec 7)
	effect installed 1
	run -14 install -c space.ini --if-epoch 1 < <(rec 8 1 op-7 worker-b)
	conflict "the route is for another worker than this one"
	# Not set: any worker.
	run -0 install < <(rec 8 1 op-7 worker-b)
	effect replaced 2
}

@test "row 3: the first install is epoch 1, as plain JSON that a person can read" {
	run -0 install < <(rec 7 1 op-7 worker-a act-19 ',"bridge":{"pid":7}')
	effect installed 1
	assert_equal "$(stored 'del(.installed_at, .history)')" '{"v":1,"sandbox":"s-42","route":{"execution":7,"worker":"worker-a","substrate":"kubernetes","pod_uid":"0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b","activation":"act-19","attempt":1},"epoch":1,"version":1,"state":"active","owner":"op-7","bridge":{"pid":7}}'
	assert_equal "$(stored '.installed_at | fromdate | (now - . < 60)')" true
}

@test "row 4: install never goes back to a lower execution, nor to a retired one, whatever --if-epoch" {
	given 7
	run -14 install < <(rec 6)
	conflict "a higher execution is installed"
	run -14 install --if-epoch 1 < <(rec 6)
	conflict "a higher execution is installed"
	spaceid retire --records records --sandbox s-42 --execution 7 >/dev/null
	run -14 install < <(rec 7)
	conflict "this execution is retired"
	run -14 install --if-epoch 2 < <(rec 7 2)
	conflict "this execution is retired"
}

@test "row 5: a higher execution replaces, also a retired one, and old evidence and fence are gone" {
	given 7 1 op-7 worker-a act-19 ',"bridge":{"pid":7}'
	spaceid fence --records records --sandbox s-42 --cut >/dev/null
	assert_equal "$(stored '.fenced_at != null and .cut_version == 2')" true
	run -0 install < <(rec 8 1 op-8 worker-b act-20)
	effect replaced 2
	assert_equal "$(stored '[.epoch, .version, .owner, .bridge, .fenced_at, .cut_version]')" '[2,3,"op-8",null,null,null]'
	spaceid retire --records records --sandbox s-42 --execution 8 >/dev/null
	run -0 install < <(rec 9)
	effect replaced 4
	assert_equal "$(stored .state)" '"active"'
}

@test "row 6: the same route under another owner is a conflict, with --if-epoch too" {
	given 7
	run -14 install < <(rec 7 1 op-8)
	conflict "another owner has this route; that is a handoff"
	run -14 install --if-epoch 1 < <(rec 7 1 op-8)
	conflict "another owner has this route; that is a handoff"
}

@test "row 7: evidence where there was none is added, and the epoch stays" {
	given 7 1 op-7 worker-a act-19 ',"bridge":{"pid":7}'
	run -0 install < <(rec 7 1 op-7 worker-a act-19 ',"bridge":{"pid":7},"vmm":{"pid":8}')
	effect evidence 1
	assert_equal "$(stored '[.epoch, .version, .bridge.pid, .vmm.pid]')" '[1,2,7,8]'
	run -0 install < <(rec 7 1 op-7 worker-a act-19 ',"guest":{"id":"g"}')
	effect evidence 1
	assert_equal "$(stored '[.version, .bridge.pid, .vmm.pid, .guest.id]')" '[3,7,8,"g"]'
}

@test "row 8: other evidence than recorded is a conflict, even beside new evidence" {
	given 7 1 op-7 worker-a act-19 ',"bridge":{"pid":7}'
	run -14 install < <(rec 7 1 op-7 worker-a act-19 ',"bridge":{"pid":9}')
	conflict "other evidence than recorded for this route"
	run -14 install --if-epoch 1 < <(rec 7 1 op-7 worker-a act-19 ',"bridge":{"pid":9},"vmm":{"pid":8}')
	conflict "other evidence than recorded for this route"
	assert_equal "$(stored '[.version, .bridge.pid, .vmm]')" '[1,7,null]'
}

@test "row 9: the same record again changes nothing and exits 0" {
	given 7
	cp records/s-42.json before
	run -0 install < <(rec 7)
	none 1
	run -0 install --if-epoch 1 < <(rec 7)
	none 1
	run -0 cmp before records/s-42.json
}

@test "row 10: an attempt alone moves the epoch; a lower one needs --if-epoch; old evidence goes, the fence stays" {
	given 7 2 op-7 worker-a act-19 ',"bridge":{"pid":7}'
	spaceid fence --records records --sandbox s-42 >/dev/null
	run -0 install < <(rec 7 3)
	effect attempt-only 2
	assert_equal "$(stored '[.bridge, .fenced_at != null]')" '[null,true]'
	run -14 install < <(rec 7 2)
	conflict "a higher attempt is installed"
	run -0 install --if-epoch 2 < <(rec 7 2)
	effect attempt-only 3
}

@test "rows 11 and 12: any other change of the same execution needs --if-epoch" {
	given 7 1 op-7 worker-a act-19 ',"bridge":{"pid":7}'
	run -14 install < <(rec 7 2 op-7 worker-a act-20)
	conflict "the same execution is installed with another route"
	run -0 install --if-epoch 1 < <(rec 7 2 op-7 worker-a act-20)
	effect replaced 2
	assert_equal "$(stored '[.route.activation, .bridge]')" '["act-20",null]'
}

@test "install answers every line in its place and exits 14 when one conflicts" {
	run -14 install < <(rec 7 && rec 8 && rec 6 && rec 8)
	assert_line -n 0 '{"sandbox":"s-42","changed":true,"epoch":1,"effect":"installed"}'
	assert_line -n 1 '{"sandbox":"s-42","changed":true,"epoch":2,"effect":"replaced"}'
	assert_line -n 2 '{"sandbox":"s-42","changed":false,"conflict":"a higher execution is installed"}'
	assert_line -n 3 '{"sandbox":"s-42","changed":false,"epoch":2,"effect":"none"}'
	assert_equal "${#lines[@]}" 4
}

@test "retire takes down the execution it names and no other, and leaves a tombstone" {
	run -14 spaceid retire --records records --sandbox s-42 --execution 7
	conflict "no record"
	assert_not_exists records
	given 7
	run -14 spaceid retire --records records --sandbox s-42 --execution 6
	conflict "another execution is installed"
	run -14 spaceid retire --records records --sandbox s-42 --execution 8
	conflict "another execution is installed"
	run -0 spaceid retire --records records --sandbox s-42 --execution 7
	effect retired 2
	assert_equal "$(stored '[.state, .epoch, .version, .route.execution]')" '["retired",2,2,7]'
	run -0 spaceid retire --records records --sandbox s-42 --execution 7
	none 2
	run -14 spaceid retire --records records --sandbox s-42 --execution 6
	conflict "another execution is installed"
}

@test "handoff changes the owner of an active kubernetes record, and nothing else" {
	run -14 spaceid handoff --records records --sandbox s-42 --from op-7 --owner op-8
	conflict "no record"
	given 7 1 op-7 worker-a act-19 ',"bridge":{"pid":7}'
	stored 'del(.owner, .version, .history)' >before
	run -0 spaceid handoff --records records --sandbox s-42 --from op-7 --owner op-8
	effect handoff 1
	assert_equal "$(stored '[.owner, .version]')" '["op-8",2]'
	run -0 diff before <(stored 'del(.owner, .version, .history)')
	run -14 spaceid handoff --records records --sandbox s-42 --from op-7 --owner op-8
	conflict "another owner has this route"
	run -0 spaceid handoff --records records --sandbox s-42 --from op-8 --owner op-8
	none 1
	spaceid retire --records records --sandbox s-42 --execution 7 >/dev/null
	run -14 spaceid handoff --records records --sandbox s-42 --from op-8 --owner op-9
	conflict "the record is retired"
}

@test "handoff refuses substrate host" {
	SUBSTRATE=host given 7
	run -14 spaceid handoff --records records --sandbox s-42 --from op-7 --owner op-8
	conflict "substrate host has no handoff"
}

@test "fence marks the time, and with --cut the version, of an active record only" {
	run -14 spaceid fence --records records --sandbox s-42
	conflict "no record"
	given 7
	run -0 spaceid fence --records records --sandbox s-42
	effect fenced 1
	assert_equal "$(stored '[.epoch, .version, .cut_version, (.fenced_at | fromdate | (now - . < 60))]')" '[1,2,null,true]'
	run -0 spaceid fence --records records --sandbox s-42 --cut
	effect fenced 1
	assert_equal "$(stored '[.epoch, .version, .cut_version]')" '[1,3,3]'
	spaceid retire --records records --sandbox s-42 --execution 7 >/dev/null
	run -14 spaceid fence --records records --sandbox s-42 --cut
	conflict "the record is retired"
}

@test "show prints a record as stored, and exits 1 where there is none" {
	given 7
	run -0 spaceid show --records records s-42
	assert_output "$(stored 'del(.history)')"
	run -0 spaceid show --records records s-42 -o table
	assert_line --regexp '^route.execution +7$'
	assert_line --regexp '^owner +op-7$'
	run -1 spaceid show --records records s-43
	assert_output "spaceid: show: s-43: no record in records"
	run -2 spaceid show --records records ../s-42
	run -1 spaceid show --records nowhere s-42
}

@test "show exits 3 for a record that is damaged, and names the file" {
	given 7
	truncate -s 20 records/s-42.json
	run -3 spaceid show --records records s-42
	assert_output --partial "records: s-42.json: "
}

@test "list prints every record in order, and goes on after one that is damaged" {
	(rec 7 && rec 7 | sed s/s-42/a-1/ && rec 7 | sed s/s-42/b-1/) | install >/dev/null
	echo damaged >records/b-1.json
	echo ignored >records/note.txt
	run -3 --separate-stderr spaceid list --records records
	assert_equal "$(jq -r .sandbox <<<"$output" | tr '\n' ' ')" "a-1 s-42 "
	# shellcheck disable=SC2154
	assert_equal "${stderr%%: byte*}" "spaceid: list: records: b-1.json"
	rm records/b-1.json
	run -0 spaceid list --records records -o table
	assert_line -n 0 --regexp '^sandbox +execution +worker'
	assert_line -n 2 --regexp '^s-42 +7 +worker-a +active +[^ ]+Z +act-19 +1 +op-7 +1$'
}

@test "the store of the configuration is state_dir/records" {
	printf '[space]\nstate_dir = %s/state\n' "$PWD" >space.ini
	run -0 spaceid install -c space.ini < <(rec 7)
	assert_exists state/records/s-42.json
	SPACE_CONFIG=space.ini run -0 spaceid show s-42
}

@test "files of the store have the modes that keep their promises" {
	(umask 0; given 7)
	run -0 stat -c '%n %a' records records/.lock records/.page records/.slots records/s-42.json
	assert_output "records 750
records/.lock 600
records/.page 644
records/.slots 660
records/s-42.json 640"
}

@test "another uid reads what it may and changes nothing" {
	command -v setpriv >/dev/null || skip_or_fail setpriv
	[ "$(id -u)" = 0 ] || skip_or_fail "root, to become another uid,"
	chmod 755 .
	given 7
	chmod 755 records
	chmod 644 records/s-42.json
	local other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	run -0 "${other[@]}" spaceid compare --records records < <(jq -c '{selected: {sandbox, route}}' records/s-42.json)
	assert_json '.decision == "match"'
	run -1 "${other[@]}" spaceid retire --records records --sandbox s-42 --execution 7
	assert_output "spaceid: retire: records: only uid 0 changes records here"
	run -1 "${other[@]}" spaceid install --records records < <(rec 8)
	assert_output "spaceid: install: records: only uid 0 changes records here"
	assert_equal "$(stored .route.execution)" 7
}

@test "prune takes old tombstones of sandboxes without a route, and nothing else" {
	(rec 7 && rec 7 | sed s/s-42/s-1/ && rec 7 | sed s/s-42/s-2/ && rec 7 | sed s/s-42/s-3/) | install >/dev/null
	for s in s-42 s-1 s-2; do spaceid retire --records records --sandbox $s --execution 7 >/dev/null; done
	printf '{"sandbox":"s-1","state":"active"}\n{"sandbox":"s-2","state":"retired"}\n{"sandbox":"s-3"}\n' >routes
	run -0 spaceid prune --records records --routes routes
	assert_output "" # too young, all of them
	run -0 spaceid prune --records records --routes routes --older-than 0
	assert_output '{"sandbox":"s-2","changed":true,"epoch":2,"effect":"pruned"}
{"sandbox":"s-42","changed":true,"epoch":2,"effect":"pruned"}'
	assert_exists records/s-1.json
	assert_exists records/s-3.json
	assert_not_exists records/s-42.json
	run -14 spaceid prune --records records --routes - --older-than 0 --sandbox s-1 <routes
	assert_output '{"sandbox":"s-1","changed":false,"conflict":"the sandbox still has a route"}'
	run -14 spaceid prune --records records --no-routes --older-than 0 --sandbox s-3
	assert_output '{"sandbox":"s-3","changed":false,"conflict":"there is no tombstone"}'
	run -0 spaceid prune --records records --no-routes --older-than 0
	assert_output '{"sandbox":"s-1","changed":true,"epoch":2,"effect":"pruned"}'
}

@test "prune without a list of routes, or with one that may be cut short, takes nothing" {
	given 7
	spaceid retire --records records --sandbox s-42 --execution 7 >/dev/null
	run -2 spaceid prune --records records --older-than 0
	run -2 spaceid prune --records records --older-than 0 --routes routes --no-routes
	run -1 spaceid prune --records records --older-than 0 --routes missing
	: >routes
	run -3 spaceid prune --records records --older-than 0 --routes routes
	assert_output "spaceid: prune: routes: lists no route at all; if no sandbox has one any more, say --no-routes"
	printf '{"sandbox":"s-1"}\n{"sandbox":"s-4' >routes
	run -3 spaceid prune --records records --older-than 0 --routes routes
	printf '{"name":"s-1"}\n' >routes
	run -3 spaceid prune --records records --older-than 0 --routes routes
	assert_exists records/s-42.json
}

@test "prune takes the guest's key along, and those that were tried" {
	given 7 1 op-7 worker-a act-19 ',"guest":{"id":"g-1"}'
	mkdir records/guest-keys
	install_key() { (umask 077 && echo AAAA >"records/guest-keys/$1"); }
	install_key g-1
	install_key g-2
	install_key g-3
	printf 'g-3\ng-4\n' >records/guest-keys/.tried.s-42
	spaceid retire --records records --sandbox s-42 --execution 7 >/dev/null
	run -0 spaceid prune --records records --no-routes --older-than 0
	run -0 ls -A records/guest-keys
	assert_output g-2
}
