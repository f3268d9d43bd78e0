# spacebridge guest: file.watch, what happens to files as lines.
# shellcheck shell=bats disable=SC2016,SC2154,SC2034
load helper
load guest

# watch ARGS LAST DO: watches, does DO (shell, in the tree) once that stands, and reads until a line has LAST. The lines
# are in output.
watch() {
	mkfifo "$BATS_TEST_TMPDIR/stands"
	stream file.watch "$1" go "$BATS_TEST_TMPDIR/stands" until "$2" until '\n' >"$BATS_TEST_TMPDIR/lines" &
	local watching=$!
	cat "$BATS_TEST_TMPDIR/stands"
	(cd "$tree" && eval "$3")
	wait "$watching"
	rm "$BATS_TEST_TMPDIR/stands"
	run tail -n +2 "$BATS_TEST_TMPDIR/lines"
}

@test "what happens in a directory comes as lines, in order, with paths as asked for" {
	mkdir "$tree/dir"
	agent
	watch '{"path":"/dir/"}' '"remove"' 'echo a >dir/a; chmod 600 dir/a; mv dir/a dir/b; mkdir dir/sub; : >dir/sub/unseen; rm dir/b'
	assert_output '{"event":"create","path":"/dir/a"}
{"event":"modify","path":"/dir/a"}
{"event":"modify","path":"/dir/a"}
{"event":"rename","path":"/dir/b","from":"/dir/a"}
{"event":"create","path":"/dir/sub"}
{"event":"remove","path":"/dir/b"}'
}

@test "a recursive watch takes new and moved directories along" {
	mkdir -p "$tree/dir/old/deep" "$tree/made/sub"
	: >"$tree/made/sub/file"
	agent
	watch '{"path":"dir","recursive":true}' end '
		: >dir/old/deep/a
		mv dir/old dir/new
		: >dir/new/deep/b
		mv made dir/made
		: >dir/made/sub/c
		mv dir/new out
		: >out/deep/unseen
		rm dir/made/sub/file
		: >dir/end'
	assert_line --index 0 '{"event":"create","path":"dir/old/deep/a"}'
	assert_line --index 1 '{"event":"rename","path":"dir/new","from":"dir/old"}'
	assert_line --index 2 '{"event":"create","path":"dir/new/deep/b"}'
	assert_line --index 3 '{"event":"create","path":"dir/made"}'
	assert_line '{"event":"create","path":"dir/made/sub"}'
	assert_line '{"event":"create","path":"dir/made/sub/c"}'
	assert_line '{"event":"remove","path":"dir/new"}'
	assert_line --index -1 '{"event":"create","path":"dir/end"}'
	refute_line --partial unseen
}

@test "directories that are renamed before the agent has looked at them are watched under their last names" {
	local agent path
	mkdir -p "$tree/dir/taken" "$tree/dir/old/deep"
	agent
	agent=$(cat "$BATS_TEST_TMPDIR/agent.pid")
	mkfifo "$BATS_TEST_TMPDIR/stands"
	stream file.watch '{"path":"dir","recursive":true}' go "$BATS_TEST_TMPDIR/stands" until deep/made/2 \
		go "$BATS_TEST_TMPDIR/stands" until end until '\n' >"$BATS_TEST_TMPDIR/lines" &
	local watching=$!
	cat "$BATS_TEST_TMPDIR/stands"
	# What it finds is what all of this has led to.
	kill -STOP "$agent"
	(
		cd "$tree/dir"
		mkdir a
		mv a b
		mv b c
		: >c/1
		mkdir taken/made
		mv taken given
		mkdir -p taken/made
		mkdir old/deep/made
		: >old/deep/made/2
		mv old new
	)
	kill -CONT "$agent"
	timeout 60 cat "$BATS_TEST_TMPDIR/stands"
	for path in given/made/3 taken/made/4 c/5 new/deep/made/6 end; do
		: >"$tree/dir/$path"
	done
	wait "$watching"
	run cat "$BATS_TEST_TMPDIR/lines"
	for path in c/1 new/deep/made/2 given/made/3 taken/made/4 c/5 new/deep/made/6; do
		assert_line '{"event":"create","path":"dir/'"$path"'"}'
	done
}

@test "a directory that appears with all it holds is told of whole" {
	mkdir -p "$tree/dir" "$tree/made/sub"
	: >"$tree/made/sub/file"
	agent
	watch '{"path":"/dir","recursive":true}' 'sub/file' 'mv made dir/made'
	assert_output '{"event":"create","path":"/dir/made"}
{"event":"create","path":"/dir/made/sub"}
{"event":"create","path":"/dir/made/sub/file"}'
}

@test "a rebuilt watch begins with resync" {
	agent
	watch '{"path":"/","resync":true,"recursive":true}' create ': >new'
	assert_output '{"event":"resync","path":"/"}
{"event":"create","path":"/new"}'
}

@test "one file is watched too, and its end is the watch's" {
	echo a >"$tree/file"
	agent
	mkfifo "$BATS_TEST_TMPDIR/stands"
	stream file.watch '{"path":"file"}' go "$BATS_TEST_TMPDIR/stands" until modify rest >"$BATS_TEST_TMPDIR/lines" &
	local watching=$!
	cat "$BATS_TEST_TMPDIR/stands"
	echo b >>"$tree/file"
	rm "$tree/file"
	wait "$watching"
	run cat "$BATS_TEST_TMPDIR/lines"
	assert_line --index 1 '{"event":"modify","path":"file"}'
	assert_line --index -2 '{"event":"remove","path":"file"}'
	assert_line --index -1 '{"error":"op","errno":"ENOENT","message":"watch: the path is no more"}'
}

@test "a directory that is renamed or removed ends its watch" {
	agent
	for what in 'mv dir elsewhere' 'rmdir dir'; do
		mkdir "$tree/dir"
		watch '{"path":"dir"}' 'remove' "$what"
		assert_output '{"event":"remove","path":"dir"}'
	done
}

@test "names that are no UTF-8 come in base64" {
	agent
	watch '{"path":"/"}' path_data ': >$'"'"'\xff'"'"
	assert_output '{"event":"create","path_data":"L/8="}'
}

@test "events that the kernel has dropped are an overflow, then all is looked at again, then resync" {
	local limit
	limit=$(cat /proc/sys/fs/inotify/max_queued_events)
	[ "$limit" -le 100000 ] || skip_or_fail 'a kernel queue that can be filled'
	mkdir -p "$tree/dir/sub" "$tree/other"
	agent
	mkfifo "$BATS_TEST_TMPDIR/stands" "$BATS_TEST_TMPDIR/go"
	stream file.watch '{"path":"/dir","recursive":true}' go "$BATS_TEST_TMPDIR/stands" wait "$BATS_TEST_TMPDIR/go" \
		until resync go "$BATS_TEST_TMPDIR/stands" until 'sub/late' until '\n' >"$BATS_TEST_TMPDIR/lines" &
	local watching=$!
	cat "$BATS_TEST_TMPDIR/stands"
	# The reader does not read: its socket fills, then the kernel's queue.
	python3 -c '
import os, sys
os.chdir(sys.argv[1])
for i in range(int(sys.argv[2]) // 2 + 20000):
    os.close(os.open("dir/sub/file", os.O_CREAT | os.O_WRONLY))
    os.unlink("dir/sub/file")' "$tree" "$limit"
	mkdir "$tree/dir/sub/new"
	# Other streams do not notice.
	ask ping
	echo >"$BATS_TEST_TMPDIR/go"
	cat "$BATS_TEST_TMPDIR/stands"
	: >"$tree/dir/sub/new/late"
	: >"$tree/dir/sub/late"
	wait "$watching"
	run grep -v -e '"path":"/dir/sub/file"' "$BATS_TEST_TMPDIR/lines"
	assert_output "$opened"'
{"event":"overflow","path":"/dir"}
{"event":"resync","path":"/dir"}
{"event":"create","path":"/dir/sub/new/late"}
{"event":"create","path":"/dir/sub/late"}'
}

@test "what cannot be watched is refused in one line, and links lead nowhere" {
	mkdir "$tree/dir" "$BATS_TEST_TMPDIR/outside"
	ln -s "$BATS_TEST_TMPDIR/outside" "$tree/dir/out"
	agent
	ask file.watch '{"path":"none"}'
	assert_json '.errno == "ENOENT"'
	ask file.watch '{"path":"dir/out"}'
	assert_json '.errno == "ENOENT"'
	ask file.watch '{"path":"dir","recursive":1}'
	assert_json '.errno == "EINVAL"'
	watch '{"path":"dir","recursive":true}' end ': >../outside/unseen; : >dir/end'
	assert_output '{"event":"create","path":"dir/end"}'
}

@test "more directories than may be watched are refused" {
	mkdir "$tree/many"
	(cd "$tree/many" && seq 1 8200 | xargs mkdir)
	agent
	ask file.watch '{"path":"many","recursive":true}'
	assert_json '.errno == "ENOSPC"'
	watch '{"path":"many"}' create ': >many/new'
	assert_output '{"event":"create","path":"many/new"}'
}

@test "a watch sends nothing but its end of input" {
	agent
	run stream file.watch '{"path":"/"}' send 'x' rest
	assert_output "$opened"$'\n{"error":"bad-record","message":"frame: this operation takes none of its type"}'
}
