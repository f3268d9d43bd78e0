#!/usr/bin/env bats
# shellcheck shell=bash disable=SC2016,SC2154
# What people see: views in a terminal that is narrow, ordinary or wide, their colours, and the README's pictures.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	captures=$ROOT/tests/captures
}

teardown() {
	[ -z "${LIVE:-}" ] || tmux -L "$LIVE" kill-server 2>/dev/null || :
	stop_all
}

# drawn: the picture of standard input, without what surrounds its text.
drawn() { "$captures/svg" 'A & B' | grep '^<text' | sed 's/ xml:space="preserve"//; s/ lengthAdjust="spacingAndGlyphs"//'; }

@test "a picture of a terminal: each part at its column, in its colour" {
	run -0 drawn < <(printf '\033[1mbold\033[0m  <plain>\n\n   \033[32mgood \033[39mé\033[2mdim\n')
	assert_output '<text x="16.0" y="42" textLength="33.6" font-weight="bold">bold</text>
<text x="66.4" y="42" textLength="58.8">&lt;plain&gt;</text>
<text x="41.2" y="80" textLength="33.6" fill="#94c973">good</text>
<text x="83.2" y="80" textLength="8.4">é</text>
<text x="91.6" y="80" textLength="25.2" opacity="0.6">dim</text>'
	run -0 "$captures/svg" 'A & B' <<<x
	assert_equal "${lines[0]}" '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 704 63" width="704" height="63" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#d6dbe1">'
	assert_equal "${lines[1]}" '<title>A &amp; B</title>'
	assert_equal "${lines[2]}" '<rect width="704" height="63" rx="8" fill="#1b1f27"/>'
	assert_equal "${lines[7]}" '</svg>'
	assert_equal "${#lines[@]}" 8
}

@test "what a picture cannot show is an error" {
	run -1 --separate-stderr "$captures/svg" t < <(printf 'a\033[2Kb\n')
	assert_equal "$stderr" "svg: an escape sequence that is no colour: 'a\\x1b[2Kb'"
	run -1 --separate-stderr "$captures/svg" t < <(printf '\033[4munder\n')
	assert_equal "$stderr" 'svg: a sequence that is not understood: 4m'
}

UID_A=0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b
LONG=sandbox-with-a-rather-long-name-0123456789

# store: two records, three routes, two grants; names of which some are long.
store() {
	printf '[space]\nworker = worker-a\nstate_dir = %s\nrun_dir = %s\n' "$PWD" "$PWD" >space.ini
	export SPACE_CONFIG=$PWD/space.ini
	record s-42 7 act-7
	record "$LONG" 12345678 act-0123456789abcdef
	publish s-9 3 worker-b act-3
	publish s-42 7 worker-a act-7
	publish "$LONG" 12345678 worker-in-a-far-region-17 act-0123456789abcdef
	spacerouted retire -s s-9 --execution 3 >/dev/null
	spacerouted grant -p uid:0 -s '*' --ops 'ping,guest.info,file.*,exec.*,tree.*' --ports 1-65535/tcp >/dev/null
	spacerouted grant -p uid:1000 -s 's-*' --ops file.read --until 2030-01-01T00:00:00Z >/dev/null
}
record() {
	printf '{"sandbox":"%s","route":{"execution":%s,"worker":"worker-a","substrate":"kubernetes","pod_uid":"%s","activation":"%s","attempt":1},"owner":"op-%s"}\n' \
		"$1" "$2" "$UID_A" "$3" "$2" | spaceid install >/dev/null
}
publish() {
	spacerouted publish -s "$1" --execution "$2" --worker "$3" --substrate kubernetes --pod-uid "$UID_A" --activation "$4" \
		--attempt 1 --endpoint unix:/run/space/manager.sock >/dev/null
}

# coloured COLUMNS COMMAND [UNTIL]: what a terminal shows, its colours as tmux tells them.
coloured() { "$captures/terminal" "$1" 40 "${@:2}"; }

# view COLUMNS COMMAND [UNTIL]: without colours, and with all times, ids of leases and our uid alike.
view() {
	coloured "$@" | sed -e 's/\x1b\[[0-9;]*m//g; s/ *$//' -e 's/[0-9-]\{10\}T[0-9:]\{8\}Z/2026-01-01T00:00:00Z/g' \
		-e "s/^[0-9a-f]\{12\} /0123456789ab /; s/  [0-9]* s  */  0 s  /; s/uid:$(id -u) /uid:0 /" |
		sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

# views COMMAND <EXPECTED: in three terminals; in the expectation each begins with its COLUMNS and a colon.
views() {
	local columns seen=''
	for columns in 60 80 132; do
		seen+="$columns:"$'\n'$(view "$columns" "$1")$'\n'
	done
	assert_equal "$seen" "$(cat)"$'\n'
}


# cases: two sides that differ, as compare takes them.
cases() {
	local route='{"execution":7,"worker":"worker-a","substrate":"kubernetes","pod_uid":"'$UID_A'","activation":"act-7","attempt":1}'
	printf '{"selected":{"sandbox":"s-42","route":%s},"installed":{"sandbox":"s-42","route":%s,"state":"active"}}\n' \
		"${route//7,/8,}" "$route" >cases
}

@test "the records of a worker" {
	store
	views 'spaceid list' <<-"END"
		60:
		sandbox                          execution  worker    state
		s-42                             7          worker-a  active
		sandbox-with-a-rather-long-      12345678   worker-a  active
		name-0123456789
		80:
		sandbox                        execution  worker    state   installed
		s-42                           7          worker-a  active  2026-01-01T00:00:00Z
		sandbox-with-a-rather-long-    12345678   worker-a  active  2026-01-01T00:00:00Z
		name-0123456789
		132:
		sandbox                         execution  worker    state   installed             activation            epoch  owner        attempt
		s-42                            7          worker-a  active  2026-01-01T00:00:00Z  act-7                 1      op-7         1
		sandbox-with-a-rather-long-     12345678   worker-a  active  2026-01-01T00:00:00Z  act-0123456789abcdef  1      op-12345678  1
		name-0123456789
	END
}

@test "the routes of the registry" {
	store
	views 'spacerouted list' <<-"END"
		60:
		sandbox              execution  worker               state
		s-42                 7          worker-a             active
		s-9                  3          worker-b             retired
		sandbox-with-a-      12345678   worker-in-a-far-     active
		rather-long-name-               region-17
		0123456789
		80:
		sandbox                   execution  worker                    state    revision
		s-42                      7          worker-a                  active   2
		s-9                       3          worker-b                  retired  4
		sandbox-with-a-rather-    12345678   worker-in-a-far-region-   active   3
		long-name-0123456789                 17
		132:
		sandbox                 execution  worker                  state    revision  activation            endpoint                 attempt
		s-42                    7          worker-a                active   2         act-7                 unix:/run/space/         1
		                                                                                                    manager.sock
		s-9                     3          worker-b                retired  4         act-3                 unix:/run/space/         1
		                                                                                                    manager.sock
		sandbox-with-a-rather-  12345678   worker-in-a-far-        active   3         act-0123456789abcdef  unix:/run/space/         1
		long-name-0123456789               region-17                                                        manager.sock
	END
}

@test "who may do what" {
	store
	views 'spacerouted grants' <<-"END"
		60:
		principal  sandbox  rights              until
		uid:0      *        ping guest.info     -
		                    file.* exec.*
		                    tree.*
		                    port.connect
		                    1-65535/tcp
		uid:1000   s-*      file.read           2026-01-01T00:00:00Z
		80:
		principal  sandbox  rights                        until                 revision
		uid:0      *        ping guest.info file.*        -                     5
		                    exec.* tree.* port.connect
		                    1-65535/tcp
		uid:1000   s-*      file.read                     2026-01-01T00:00:00Z  6
		132:
		principal  sandbox  rights                                                         until                 revision
		uid:0      *        ping guest.info file.* exec.* tree.* port.connect 1-65535/tcp  -                     5
		uid:1000   s-*      file.read                                                      2026-01-01T00:00:00Z  6
	END
}

@test "what is known of a sandbox" {
	store
	views 'spaceid explain s-42' <<-"END"
		60:
		what: s-42: no refusal of it is known here
		installed: execution 7 on worker-a, active, epoch 1
		not seen: audit lines: no file is named (--audit, or [audit]
		          file of the configuration)
		next: nothing is known that stands against it; where its
		      route leads:
		      $ spacerouted resolve s-42
		80:
		what: s-42: no refusal of it is known here
		installed: execution 7 on worker-a, active, epoch 1
		not seen: audit lines: no file is named (--audit, or [audit] file of the
		          configuration)
		next: nothing is known that stands against it; where its route leads:
		      $ spacerouted resolve s-42
		132:
		what: s-42: no refusal of it is known here
		installed: execution 7 on worker-a, active, epoch 1
		not seen: audit lines: no file is named (--audit, or [audit] file of the configuration)
		next: nothing is known that stands against it; where its route leads:
		      $ spacerouted resolve s-42
	END
}

@test "a comparison, side by side" {
	store
	cases
	views 'spaceid compare <cases' <<-"END"
		60:
		               selected               installed
		   sandbox     s-42                   s-42
		   state                              active
		   substrate   kubernetes             kubernetes
		!  execution   8                      7
		   worker      worker-a               worker-a
		   pod_uid     0b9fa3b1-3d4e-4f50-    0b9fa3b1-3d4e-4f50-
		               8a6b-7c8d9e0f1a2b      8a6b-7c8d9e0f1a2b
		   activation  act-7                  act-7
		   attempt     1                      1
		refresh-route: execution (use: open)
		behind: the receiver (selected 8, installed 7)
		next: this worker's record is older than what was selected:
		      the newer execution was not installed here, or runs
		      elsewhere; see both sides
		      $ sandbox status s-42
		80:
		               selected                         installed
		   sandbox     s-42                             s-42
		   state                                        active
		   substrate   kubernetes                       kubernetes
		!  execution   8                                7
		   worker      worker-a                         worker-a
		   pod_uid     0b9fa3b1-3d4e-4f50-8a6b-         0b9fa3b1-3d4e-4f50-8a6b-
		               7c8d9e0f1a2b                     7c8d9e0f1a2b
		   activation  act-7                            act-7
		   attempt     1                                1
		refresh-route: execution (use: open)
		behind: the receiver (selected 8, installed 7)
		next: this worker's record is older than what was selected: the newer execution
		      was not installed here, or runs elsewhere; see both sides
		      $ sandbox status s-42
		132:
		               selected                              installed
		   sandbox     s-42                                  s-42
		   state                                             active
		   substrate   kubernetes                            kubernetes
		!  execution   8                                     7
		   worker      worker-a                              worker-a
		   pod_uid     0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b  0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b
		   activation  act-7                                 act-7
		   attempt     1                                     1
		refresh-route: execution (use: open)
		behind: the receiver (selected 8, installed 7)
		next: this worker's record is older than what was selected: the newer execution was not installed here, or runs elsewhere; see both
		      sides
		      $ sandbox status s-42
	END
}

@test "help in a narrow terminal" {
	run -0 view 60 'spaceid help show'
	assert_output "usage: spaceid show [options] SANDBOX

print one record as stored

options:
      --history                  also the last 32 changes:
                                 when, what, from what to
                                 what
      --records DIR              store of runtime records
                                 (default:
                                 <state_dir>/records)

common options:
  -c, --config FILE              configuration (default:
                                 \$SPACE_CONFIG, then
                                 /etc/space/space.ini)
  -o, --output FORMAT            json or table (default:
                                 table on a terminal)
      --color WHEN               auto, always or never
                                 (NO_COLOR is heeded)
  -v, --verbose                  say more on standard error
  -q, --quiet                    say errors only
  -h, --help                     this text

examples:
  spaceid show s-42
  spaceid show --history s-42
  spaceid show s-42 -o json | jq .route"
}

# live COLUMNS ROWS COMMAND: a terminal of this size, with a shell that runs COMMAND and then says how it ended.
live() {
	# shellcheck disable=SC2016
	tmux -u -L "$LIVE" -f /dev/null new-session -d -x "$1" -y "$2" "$(printf 'exec bash --norc -c %q live %q' \
		'trap : INT; echo before; eval "$1"; echo "ended: $?"; stty -a | grep -o " echo \| icanon "; exec sleep 600' "$3")"
}
screen() { tmux -L "$LIVE" capture-pane -p "$@" | sed 's/ *$//; s/[0-9-]\{10\}T[0-9:]\{8\}Z/2026-01-01T00:00:00Z/g' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'; }
keys() { tmux -L "$LIVE" send-keys "$@"; }
shows() { grep -qE -e "$1" <(screen); }
# shown: the terminal comes to show exactly what is given here.
shown() {
	wanted=$(cat)
	eventually showing
}
showing() { [ "$(screen)" = "$wanted" ]; }
# records FROM TO [EXECUTION]: of sandboxes with these numbers.
records() {
	local route='{"execution":'${3:-1}',"worker":"worker-a","substrate":"host","activation":"act","attempt":1}'
	seq "$1" "$2" | sed "s/.*/{\"sandbox\":\"n-&\",\"route\":$route,\"owner\":\"op\"}/" | spaceid install >/dev/null
}

@test "spaceid watch on a terminal: the records as they are, drawn in place, the last change first" {
	store
	# Whatever its time, it is the later one.
	faketime -f +1h spaceid fence --sandbox s-42 >fenced
	LIVE=live-$$-$BATS_TEST_NUMBER
	live 60 8 'spaceid watch'
	shown <<-"END"
		runtime records, the last change first; q ends
		sandbox                   execution  worker    state   epoch
		s-42                      7          worker-a  active  1
		sandbox-with-a-rather-l…  12345678   worker-a  active  1
	END
	records 1 2
	spaceid retire --sandbox s-42 --execution 7 >retired
	shown <<-"END"
		runtime records, the last change first; q ends
		sandbox                  execution  worker    state    epoch
		s-42                     7          worker-a  retired  2
		n-2                      1          worker-a  active   1
		n-1                      1          worker-a  active   1
		sandbox-with-a-rather-…  12345678   worker-a  active   1
	END
	# More than the screen has room for.
	records 3 9
	shown <<-"END"
		runtime records, the last change first; q ends
		sandbox  execution  worker    state   epoch  change
		n-9      1          worker-a  active  1      installed
		n-8      1          worker-a  active  1      installed
		n-7      1          worker-a  active  1      installed
		n-6      1          worker-a  active  1      installed
		n-5      1          worker-a  active  1      installed
		… 6 more records
	END
	spaceid prune --sandbox s-42 --no-routes --older-than 0 >pruned
	eventually shows '^… 5 more records$'
	# Another size: what was there is drawn anew, and nothing of the old is left.
	tmux -L "$LIVE" resize-window -x 80 -y 5
	shown <<-"END"
		runtime records, the last change first; q ends
		sandbox  execution  worker    state   epoch  change     at
		n-9      1          worker-a  active  1      installed  2026-01-01T00:00:00Z
		n-8      1          worker-a  active  1      installed  2026-01-01T00:00:00Z
		… 8 more records
	END
	tmux -L "$LIVE" resize-window -x 24 -y 3
	shown <<-"END"
		runtime records, the las
		sandb…  execu…  worker
		… 10 more records
	END
	records 1 1 2
	tmux -L "$LIVE" resize-window -x 100 -y 9
	eventually shows '^n-1 +2 .* replaced .* op$'
	# What is left: the terminal as it was, its modes too, and what was shown last.
	keys C-c
	eventually shows '^ echo$'
	run -0 screen -S -

	assert_line 'n-1      2          worker-a  active  2      replaced   2026-01-01T00:00:00Z  op'
	assert_equal "$(screen | tail -n 3)" $'ended: 130\n icanon\n echo'
	assert_equal "$(tmux -L "$LIVE" display-message -p '#{alternate_on} #{cursor_flag} #{wrap_flag}')" '0 1 1'
}

@test "a view that is stopped gives the terminal back, and goes on in it; q and SIGTERM end it" {
	store
	LIVE=live-$$-$BATS_TEST_NUMBER
	tmux -u -L "$LIVE" -f /dev/null new-session -d -x 80 -y 12 'PS1="$ " exec bash --norc'
	eventually shows '^[$]'
	keys 'spaceid watch --sandbox s-42' Enter
	eventually shows '^s-42 +7 '
	run -1 shows "$LONG"
	keys C-z
	eventually shows Stopped
	keys 'stty -a | grep -o " echo "' Enter
	eventually shows '^ echo$'
	keys fg Enter
	shown <<-"END"
		runtime records, the last change first; q ends
		sandbox  execution  worker    state   epoch  change     at
		s-42     7          worker-a  active  1      installed  2026-01-01T00:00:00Z
	END
	keys q
	eventually shows Stopped
	keys clear Enter 'spaceid watch; echo "ended: $?"' Enter
	eventually shows "^${LONG:0:20}"
	tmux -L "$LIVE" list-panes -F '#{pane_pid}' >shell
	pkill -TERM -P "$(cat shell)" -x spaceid
	eventually shows '^ended: 143$'
	keys 'TERM=dumb spaceid watch --timeout 1' Enter
	keys 'spaceid watch --records none; echo "ended: $?"' Enter
	eventually shows 'none: No such file'
}

@test "spacerouted watch on a terminal: the routes as they are, in colours, or without them" {
	store
	LIVE=live-$$-$BATS_TEST_NUMBER
	live 100 7 'spacerouted watch'
	shown <<-"END"
		routes, the last change first; q ends
		sandbox                    execution  worker                     state    revision  changed  attempt
		s-9                        3          worker-b                   retired  4         -        1
		sandbox-with-a-rather-lo…  12345678   worker-in-a-far-region-17  active   3         -        1
		s-42                       7          worker-a                   active   2         -        1
	END
	publish s-42 8 worker-b act-8
	spacerouted retire -s "$LONG" --execution 12345678 >retired
	eventually shows '^sandbox-with.* retired '
	screen -e >seen
	grep -q "^.*$(printf '\033\[0;2m').*sandbox-with-" seen
	grep -q "^.*$(printf '\033\[32m').*s-42  *8  *worker-b" seen
	keys q
	eventually shows '^ended: 0$'
	tmux -L "$LIVE" kill-server
	live 100 7 'NO_COLOR=1 spacerouted watch'
	eventually shows '^s-42 +8 '
	screen -e >seen
	run -1 has_escapes <seen
}

@test "a view is a terminal's: into a pipe go lines, without an escape" {
	store
	start watch spaceid watch -o table
	records 1 1
	await has watch.out n-1
	run -0 cat watch.out
	assert_output 'n-1: installed, epoch 1, version 1, active'
	spacerouted watch -o table --from 0 >routes 2>&1 3>&- &
	echo "$!" >routes.pid
	await has routes s-42
	run -0 head -n 3 routes
	assert_output 'watching what changes after revision 0
s-9: active, execution 3 on worker-b, attempt 1, revision 1
s-42: active, execution 7 on worker-a, attempt 1, revision 2'
	run -1 has_escapes <routes
}

@test "the leases of a node" {
	store
	start lease bash -c 'exec spacestream lease -s s-42 -- sleep 600' </dev/null
	views 'spacestream list' <<-END
		60:
		lease         sandbox  execution  op     caller  age
		0123456789ab  s-42     7          lease  uid:0   0 s
		80:
		lease         sandbox  execution  op     caller  age  kind     in  out
		0123456789ab  s-42     7          lease  uid:0   0 s  control  0   0
		132:
		lease         sandbox  execution  op     caller  age  kind     in  out  role         epoch
		0123456789ab  s-42     7          lease  uid:0   0 s  control  0   0    spacestream  1
	END
}

has_escapes() { grep -q "$(printf '\033')"; }

@test "a decision has its colour on a terminal alone, where nothing says otherwise" {
	cases
	coloured 80 'spaceid compare <cases' >seen
	grep -q "^$(printf '\033\[31m')!  execution" seen
	has_escapes <seen
	coloured 80 'NO_COLOR=1 spaceid compare <cases' >seen
	run -1 has_escapes <seen
	coloured 80 'spaceid compare --color never <cases' >seen
	run -1 has_escapes <seen
	coloured 80 'spaceid compare -o table <cases | cat -v' >seen
	run -1 grep -F '^[' seen
	coloured 80 'spaceid compare -o table --color always <cases | cat -v' >seen
	grep -F '^[[31m' seen
}

# feed COMMAND...: an export of a registry, line by line, until COMMAND does well.
feed() {
	local n=0 route='"worker":"w","substrate":"host","activation":"a","attempt":1}'
	echo '{"kind":"registry","version":1,"revision":7}'
	until "$@"; do
		n=$((n + 1))
		echo "{\"kind\":\"route\",\"sandbox\":\"n-$n\",\"route\":{\"execution\":1,$route,\"endpoint\":\"unix:/m\",\"state\":\"active\",\"revision\":1}"
	done
	echo "{\"kind\":\"end\",\"routes\":$n,\"grants\":0}"
}

@test "long work says how far it is, and takes that away again" {
	store
	mkfifo lines
	feed has typescript routes >lines &
	run -0 script -qefc 'spacerouted import <lines >imported' typescript
	# One line, written over as it goes on, and at the end by spaces.
	run -0 bash -c "sed '1d;\$d' typescript | tr '\r' '\n' | sed 's/ *\$//' | sort -u"
	assert_output --regexp '^'$'\n''(spacerouted: import: [0-9]+ routes'$'\n''?)+$'
	run -0 bash -c "sed '1d;\$d' typescript | tr '\r' '|'"
	assert_output --regexp '[|] +[|]$'
	run -0 tail -n 1 imported
	assert_json '.grants == 0'
}

past() { [ "${EPOCHREALTIME//[.,]/}" -gt "$1" ]; }

@test "long work says nothing into a pipe or a file, and nothing with -q" {
	store
	mkfifo lines quiet
	feed past $((${EPOCHREALTIME//[.,]/} + 1300000)) >lines &
	feed past $((${EPOCHREALTIME//[.,]/} + 1300000)) >quiet &
	spacerouted import --registry "sqlite:$PWD/other.db" <quiet >other 2>quiet.err &
	run -0 script -qefc 'spacerouted import -q <lines >imported' typescript
	run -0 sed '1d;$d' typescript
	assert_output ''
	exits_with 0 $!
	run -0 cat quiet.err
	assert_output ''
}
