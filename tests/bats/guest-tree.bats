# spacebridge guest: trees out of the guest and into it, and archives that are meant to do harm.
# shellcheck shell=bats disable=SC2016,SC2154,SC2034
load helper
load guest

# archive PYTHON...: tars made by python's tarfile, $tar, $tar.1, ...; `add(name, data, **fields)` adds an entry.
archive() {
	tar=$BATS_TEST_TMPDIR/archive.tar
	python3 - "$tar" "$@" <<-'PYTHON'
		import io, sys, tarfile
		def add(name, data=b"", **fields):
		    info = tarfile.TarInfo(name)
		    info.size = len(data)
		    for key, value in fields.items():
		        setattr(info, key, value)
		    tar.addfile(info, io.BytesIO(data))
		LINK, SYM, DIR = tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE
		for number, code in enumerate(sys.argv[2:]):
		    tar = tarfile.open(sys.argv[1] + (f".{number}" if number else ""), "w", format=tarfile.PAX_FORMAT)
		    exec(code)
		    tar.close()
	PYTHON
}

# put PATH [FILE]: unpacks there; the status in output.
put() {
	run "$FIXTURES/framed" "$sock" '{"id":"1","op":"tree.put","sandbox":"s-42","args":{"path":"'"$1"'"}}' pump <"${2:-$tar}"
	assert_line --index 0 "$opened"
	output=${lines[1]}
}

# get PATH: packs into $tar.
get() {
	tar=$BATS_TEST_TMPDIR/got.tar
	framed="-o $tar"
	run stream tree.get "$(jq -nc --arg path "$1" '{path:$path}')" end rest
	assert_line --index 0 "$opened"
	output=${lines[1]}
	framed=
}

# workers_end: returns once the agent has no child left.
workers_end() {
	local agent child
	local -a children
	agent=$(cat "$BATS_TEST_TMPDIR/agent.pid")
	read -ra children <"/proc/$agent/task/$agent/children" || true
	for child in "${children[@]}"; do
		await_end "$child"
	done
}

# refused ERRNO WORDS: the last put ended so.
refused() {
	[[ $output == '{"error":"op","errno":"'"$1"'","message":"'*"$2"* ]] || fail "not $1 $2: $output"
}

# look DIR: all there is to know about a tree.
look() {
	(cd "$1" && find . -printf '%P %y %m %U:%G %n %s %l %T@\n' | sed 's/\.[0-9]*$//' | sort)
	python3 -c '
import os, sys
for top, dirs, files in os.walk(os.fsencode(sys.argv[1])):
    for path in sorted([top] + [os.path.join(top, name) for name in files]):
        for name in os.listxattr(path, follow_symlinks=False):
            print(path[len(sys.argv[1]):], name, os.getxattr(path, name, follow_symlinks=False))' "$1"
}

# a_tree DIR: files, modes, links, a long name, a name of bytes, attributes, a sparse file.
a_tree() {
	local long
	long=$(printf 'n%.0s' {1..250})
	mkdir -p "$1/sub/deep" "$1/$long/$long"
	echo hello >"$1/sub/file"
	echo long >"$1/$long/$long/$long"
	: >"$1/"$'b\xffte\nname'
	: >"$1/ünïcode"
	ln "$1/sub/file" "$1/linked"
	ln -s ../file "$1/sub/deep/up"
	mkfifo "$1/fifo"
	truncate -s 50M "$1/sparse"
	printf x | dd of="$1/sparse" bs=1 seek=20000000 conv=notrunc status=none
	chmod 4750 "$1/sub/file"
	chmod 2571 "$1/sub/deep"
	chmod 0500 "$1/sub"
	python3 -c '
import os, sys
os.setxattr(sys.argv[1] + "/sub/file", "user.colour", b"blue")
os.setxattr(sys.argv[1] + "/sub", "user.colour", b"re\0d")' "$1"
	find "$1" -depth -exec touch -h -d '2020-02-03 04:05:06' {} +
}

@test "a tree comes out and goes in again as it was" {
	a_tree "$tree/from"
	mkdir "$tree/to"
	agent
	get from
	assert_json '.exit == 0 and .entries == 13 and .bytes == 52428811'
	# The hole was not sent.
	assert [ "$(stat -c %s "$tar")" -lt 200000 ]
	put to
	assert_output '{"exit":0,"entries":13,"bytes":52428811}'
	diff <(look "$tree/from") <(look "$tree/to")
	diff -r "$tree/from/sub" "$tree/to/sub"
	cmp "$tree/from/sparse" "$tree/to/sparse"
	assert [ "$(stat -c %b "$tree/to/sparse")" -lt 1000 ]
	assert_equal "$(stat -c %i "$tree/to/linked")" "$(stat -c %i "$tree/to/sub/file")"
}

@test "GNU tar and python read what comes out, and what they make goes in" {
	a_tree "$tree/from"
	mkdir "$tree/tar" "$tree/back" "$tree/python"
	agent
	get from
	tar -C "$tree/tar" --warning=no-unknown-keyword --xattrs -xpf "$tar"
	diff <(look "$tree/from") <(look "$tree/tar")
	python3 -c 'import sys, tarfile; print(len(tarfile.open(sys.argv[1]).getmembers()))' "$tar"
	for format in gnu pax; do
		rm -rf "$tree/back"
		mkdir "$tree/back"
		tar -C "$tree/from" --sparse --format=$format --xattrs -cf "$BATS_TEST_TMPDIR/made.tar" . 2>/dev/null ||
			tar -C "$tree/from" --sparse --format=$format -cf "$BATS_TEST_TMPDIR/made.tar" .
		put back "$BATS_TEST_TMPDIR/made.tar"
		assert_json '.exit == 0 and .entries == 13'
		diff -r --no-dereference "$tree/from/sub" "$tree/back/sub"
		cmp "$tree/from/sparse" "$tree/back/sparse"
		assert_exist "$tree/back/ünïcode"
		assert_exist "$tree/back/"$'b\xffte\nname'
	done
}

@test "one file comes out alone, larger than one read gives" {
	head -c 3000000 /dev/urandom >"$tree/big"
	ln -s big "$tree/link"
	agent
	get big
	assert_output '{"exit":0,"entries":1,"bytes":3000000}'
	tar -xOf "$tar" big | cmp - "$tree/big"
	get .
	assert_json '.entries == 3'
	for path in none ../none big/none; do
		ask tree.get "$(jq -nc --arg path "$path" '{path:$path}')"
		assert_json '.status == "error" and (.errno == "ENOENT" or .errno == "ENOTDIR")'
	done
	ask tree.put '{"path":"big"}'
	assert_json '.errno == "ENOTDIR"'
}

@test "what stands there is replaced whole, directories stay, and times and owners are those of the archive" {
	mkdir -p "$tree/to/dir"
	echo old >"$tree/to/file"
	echo kept >"$tree/to/dir/kept"
	agent
	archive '
add("dir", type=DIR, mode=0o711, mtime=1000)
add("dir/new", b"new", mode=0o640, uid=12, gid=34, mtime=2000)
add("file", b"replaced", mode=0o600)
add("made/for/it", b"x")'
	put to
	assert_output '{"exit":0,"entries":4,"bytes":12}'
	assert_equal "$(cat "$tree/to/file" "$tree/to/dir/kept")" 'replacedkept'
	assert_equal "$(stat -c '%a %Y' "$tree/to/dir")" '711 1000'
	[ "$(id -u)" -ne 0 ] || assert_equal "$(stat -c '%a %u %g %Y' "$tree/to/dir/new")" '640 12 34 2000'
	assert_equal "$(cat "$tree/to/made/for/it")" x
	archive 'add("dir", b"a file now")'
	put to
	refused EISDIR 'dir: '
	run find "$tree/to" -name '.sp-*'
	assert_output ''
}

@test "nothing of an archive lands outside, whatever it names" {
	mkdir "$tree/to" "$tree/outside"
	echo secret >"$tree/outside/secret"
	ln -s ../outside "$tree/to/was-there"
	agent
	local -a errnos words codes
	while IFS='|' read -r errno word python; do
		errnos+=("$errno")
		words+=("$word")
		codes+=("add('before', b'b'); $python; add('after', b'a')")
	done <<-'CASES'
		EINVAL|absolute|add('/etc/evil', b'x')
		EINVAL|leads out|add('../outside/evil', b'x')
		EINVAL|leads out|add('a/../../outside/evil', b'x')
		EINVAL|leads out|add('a/..', type=DIR)
		EXDEV|leads out|add('sym', type=SYM, linkname='/etc/passwd')
		EXDEV|leads out|add('sym', type=SYM, linkname='../outside')
		EXDEV|leads out|add('d/sym', type=SYM, linkname='../../outside')
		EXDEV|leads out|add('d/up', type=SYM, linkname='..'); add('d/sym', type=SYM, linkname='up/../outside')
		ELOOP|sym/evil|add('d/x', b'x'); add('sym', type=SYM, linkname='d'); add('sym/evil', b'x')
		ELOOP|was-there/evil|add('was-there/evil', b'x')
		ELOOP|was-there/a/evil|add('was-there/a/evil', b'x')
		ELOOP|was-there|add('was-there', type=DIR)
		EXDEV|leads out|add('hard', type=LINK, linkname='/etc/passwd')
		EXDEV|leads out|add('hard', type=LINK, linkname='../outside/secret')
		ELOOP|hard|add('hard', type=LINK, linkname='was-there/secret')
		ENOENT|hard|add('hard', type=LINK, linkname='none')
		EXDEV|leads out|add('d/e/sym', type=SYM, linkname='../../x'); add('hard', type=LINK, linkname='d/e/sym')
		EXDEV|leads out|add('hard', type=LINK, linkname='was-there')
		EPERM|device|add('null', type=tarfile.CHRTYPE, devmajor=1, devminor=3)
		EPERM|device|add('disk', type=tarfile.BLKTYPE, devmajor=8, devminor=0)
	CASES
	assert_equal "${#codes[@]}" 20
	archive '' "${codes[@]}"
	for i in "${!codes[@]}"; do
		put to "$tar.$((i + 1))"
		refused "${errnos[i]}" "${words[i]}"
		assert_equal "$(<"$tree/to/before")" b
		assert_not_exist "$tree/to/after"
		rm "$tree/to/before"
	done
	run find "$tree/outside" -printf '%P '
	assert_output ' secret '
	assert_equal "$(stat -c %h "$tree/outside/secret")" 1
	run find "$tree" -name '.sp-*'
	assert_output ''
}

@test "links that stay inside are made, and lead where they say" {
	mkdir "$tree/to"
	agent
	archive '
add("a/b/file", b"x")
add("a/b/up", type=SYM, linkname="../b/file")
add("dangling", type=SYM, linkname="no/where")
add("a/hard", type=LINK, linkname="a/b/up")
add("a/b/file", type=LINK, linkname="./a//b/file")'
	put to
	assert_output '{"exit":0,"entries":5,"bytes":1}'
	assert_equal "$(cat "$tree/to/a/b/up")" x
	assert_equal "$(readlink "$tree/to/a/hard" "$tree/to/dangling")" $'../b/file\nno/where'
}

@test "a bomb stops at its limit: bytes, holes and entries" {
	mkdir "$tree/to"
	printf '[guest]\nmax_tree_mib = 1\nmax_tree_entries = 3\n' >"$BATS_TEST_TMPDIR/space.ini"
	SPACE_CONFIG=$BATS_TEST_TMPDIR/space.ini agent
	archive 'add("a", bytes(1 << 20)); add("b", b"x")'
	put to
	refused EFBIG 'b: the files are larger than 1048576 bytes'
	assert_not_exist "$tree/to/b"
	truncate -s 8E "$BATS_TEST_TMPDIR/hole" 2>/dev/null || truncate -s 8T "$BATS_TEST_TMPDIR/hole"
	tar -C "$BATS_TEST_TMPDIR" --sparse -cf "$BATS_TEST_TMPDIR/hole.tar" hole
	put to "$BATS_TEST_TMPDIR/hole.tar"
	refused EFBIG 'hole: the files are larger'
	archive 'for i in range(4): add(str(i))'
	put to
	refused EFBIG '3: more than 3 entries'
}

@test "what is no archive, or ends in the middle, is refused, with nothing half made" {
	mkdir "$tree/to"
	agent
	put to <(head -c 100000 /dev/urandom)
	refused EINVAL ''
	archive 'add("one", b"1"); add("two", bytes(100000))'
	put to <(head -c 50000 "$tar")
	refused EINVAL 'two: '
	put to <(gzip -c "$tar")
	refused EINVAL ''
	run ls -A "$tree/to"
	assert_output one
	put to /dev/null
	assert_output '{"exit":0,"entries":0,"bytes":0}'
}

# on_disk KIB: the agent on a disk of that size, which is gone with it.
on_disk() {
	local apart=(--mount)
	[ "$(id -u)" -eq 0 ] || apart+=(--user --map-root-user)
	unshare "${apart[@]}" mount -t tmpfs space "$tree" 2>/dev/null || skip_or_fail 'the right to mount'
	start agent unshare "${apart[@]}" sh -c 'mount -t tmpfs -o "size=$1k" space "$2" && exec spacebridge guest --listen "$3" --root "$2"' \
		- "$1" "$tree" "unix:$sock"
}

@test "a disk that is full ends it at the entry that does not fit, with nothing half made, and what was there stays" {
	on_disk 256
	ask file.mkdir '{"path":"to"}'
	ask file.write '{"path":"to/big","text":"old"}'
	archive 'add("one", bytes(1000)); add("big", bytes(1 << 20)); add("after", b"a")'
	put to
	refused ENOSPC 'big: '
	ask file.list '{"path":"to"}'
	assert_json '[.result.entries[] | [.name, .size]] | sort == [["big", 3], ["one", 1000]]'
	# What it had taken is free again.
	archive 'add("fits", bytes(100000))'
	put to
	assert_output '{"exit":0,"entries":1,"bytes":100000}'
}

@test "a cut leaves the files that were whole, and no trace of the others" {
	mkdir "$tree/to"
	mkfifo "$tree/to/fifo"
	agent
	archive 'add("one", b"1"); add("two", bytes(5000000)); add("three", b"3")'
	stream tree.put '{"path":"to"}' raw "$(printf '\\x00\\x00\\x00\\x00\\x00\\x00\\x60\\x00')$(head -c 24576 "$tar" | od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g')" >/dev/null
	workers_end
	run ls -A "$tree/to"
	assert_output $'fifo\none'
}

@test "a tree that nobody reads stalls nobody else, and a cut ends its worker" {
	mkfifo "$tree/stalled" "$tree/go"
	truncate -s 100M "$tree/big"
	printf x | dd of="$tree/big" bs=1M seek=99 conv=notrunc status=none
	yes | head -c 30000000 >"$tree/full"
	agent
	stream tree.get '{"path":"full"}' go "$tree/stalled" wait "$tree/go" >/dev/null &
	local stalled=$!
	cat "$tree/stalled"
	get big
	assert_json '.exit == 0'
	echo >"$tree/go"
	wait "$stalled"
	workers_end
}

@test "the static agent has trees too" {
	[ -x "$ROOT/build/bin/spaced-guest-static" ] || skip_or_fail 'the static agent'
	a_tree "$tree/from"
	mkdir "$tree/to"
	start agent spaced-guest-static --listen "unix:$sock" --root "$tree"
	get from
	assert_json '.exit == 0 and .entries == 13'
	put to
	assert_json '.exit == 0 and .entries == 13'
	diff <(look "$tree/from") <(look "$tree/to")
}
