#!/usr/bin/env python3
"""power.py ROOT [options] -- CMD...: a command whose power fails at every point.

Runs CMD, which changes files below ROOT, under strace, and rebuilds what a disk may hold when the power goes after each of
its calls: what was not synced is there or not, each write and each name by itself, in any order, the last write torn, a
file longer but with zeros where its data would be. A sync of a file says nothing about its name, that of a directory
nothing about its files. Each such directory is put in ROOT's place, and the command of --check looks at it; what it
prints, one JSON object, goes out with {"at": ..., "said": what CMD had printed by then}, a line each.

  --input FILE    CMD's standard input
  --check CMD     a shell command, run in each state of the disk
  --after CMD     first this one is run and killed at each of its changing calls in turn, then CMD, whose power fails when
                  it has ended (with --all: at each of its points too)
  --page NAME     a file below ROOT that is mapped and belongs to one boot: it is marked as of another one
  --drop GLOB     files below ROOT that are mapped and worth nothing after a boot
  --env NAME=VALUE  for CMD alone
  --most N        how many states are looked at for one point (64): the plain ones first, then such as chance picks
"""
import argparse
import fnmatch
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys

CALLS = ("open openat creat close dup dup2 dup3 fcntl lseek read write pwrite64 writev pwritev pwritev2 truncate ftruncate fallocate "
         "rename renameat renameat2 unlink unlinkat rmdir mkdir mkdirat symlink symlinkat link linkat fsync fdatasync "
         "sync syncfs sync_file_range sendfile copy_file_range chdir fchdir mmap io_uring_setup").split()
CHANGES = ("write pwrite64 writev pwritev pwritev2 truncate ftruncate fallocate rename renameat renameat2 unlink unlinkat rmdir mkdir mkdirat "
           "symlink symlinkat link linkat fsync fdatasync open openat creat").split()
SECTOR = 512


class File:
    """What is seen, what is on the disk, and the changes in between: functions from bytes to bytes."""

    def __init__(self, data=b"", link=None):
        self.seen = self.disk = data
        self.link = link
        self.pending = []

    def change(self, kind, function, size=0):
        self.seen = function(self.seen)
        self.pending.append((kind, function, size))

    def sync(self):
        self.disk, self.pending = self.seen, []

    def states(self):
        """What the disk may hold of it, the plainest first."""
        def made(functions):
            data = self.disk
            for function in functions:
                data = function(data)
            return data

        functions = [function for _, function, _ in self.pending]
        yield self.disk
        yield self.seen
        if self.pending and self.pending[-1][0] == "write":
            kind, function, size = self.pending[-1]
            for keep in {size // 2, size // 2 // SECTOR * SECTOR, 1} - {0}:
                yield torn(made(functions[:-1]), function, keep)
            yield zeroed(made(functions[:-1]), function)
        for n in range(len(functions)):
            yield made(functions[:n] + functions[n + 1:])
            yield made(functions[n:n + 1])


def write(offset, data):
    def function(old):
        return old[:offset].ljust(offset, b"\0") + data + old[offset + len(data):]
    function.offset, function.data = offset, data
    return function


def torn(old, function, keep):
    return write(function.offset, function.data[:keep])(old)


def zeroed(old, function):
    """Its length came to the disk, its data did not."""
    new = function(old)
    return old + b"\0" * (len(new) - len(old))


class Directory:
    def __init__(self):
        self.seen, self.disk, self.pending = {}, {}, []

    def change(self, function):
        function(self.seen)
        self.pending.append(function)

    def sync(self):
        self.disk, self.pending = dict(self.seen), []

    def states(self):
        def made(functions):
            names = dict(self.disk)
            try:
                for function in functions:
                    function(names)
            except KeyError:  # a name that never came to the disk cannot be renamed there
                return None
            return names

        count = len(self.pending)
        order = [(), tuple(range(count))]
        if count <= 5:
            order += [subset for n in range(1, count) for subset in itertools.combinations(range(count), n)]
        else:
            order += [tuple(range(n)) for n in range(1, count)] + [tuple(m for m in range(count) if m != n) for n in range(count)]
        for subset in order:
            names = made([self.pending[n] for n in subset])
            if names is not None:
                yield names


def load(path):
    """The tree at path, all of it on the disk."""
    tree = Directory()
    for name in os.listdir(path):
        inner = os.path.join(path, name)
        if os.path.islink(inner):
            tree.seen[name] = File(link=os.readlink(inner))
        elif os.path.isdir(inner):
            tree.seen[name] = load(inner)
        elif os.path.isfile(inner):
            with open(inner, "rb") as file:
                tree.seen[name] = File(file.read())
    tree.sync()
    return tree


class Kernel:
    """One process' calls, applied to the tree below root."""

    def __init__(self, tree, root, cwd):
        self.tree, self.root, self.cwd = tree, root, cwd
        self.fds = {}

    def find(self, path):
        """(directory, name) of a path below root; (None, None) elsewhere."""
        path = os.path.normpath(path)
        if path == self.root:
            return None, ""
        if not path.startswith(self.root + "/"):
            return None, None
        at = self.tree
        parts = path[len(self.root) + 1:].split("/")
        for part in parts[:-1]:
            at = at.seen.get(part)
            if isinstance(at, File) and at.link:
                at, last = self.node(os.path.join(os.path.dirname(path), at.link)), None
            if not isinstance(at, Directory):
                return None, None
        return at, parts[-1]

    def node(self, path):
        directory, name = self.find(path)
        if name == "":
            return self.tree
        return directory.seen.get(name) if directory else None

    def path(self, at, name):
        if name.startswith("/"):
            return name
        base = self.cwd if at == "AT_FDCWD" else self.fds.get(int(at), {"path": "/nowhere"})["path"]
        return os.path.normpath(os.path.join(base, name))

    def call(self, name, args, result):
        if result < 0:
            return False
        handler = getattr(self, "do_" + {"pwritev2": "pwritev"}.get(name, name).replace("renameat2", "renameat"), None)
        return bool(handler and handler(args, result))

    def do_open(self, args, result):
        return self.do_openat(["AT_FDCWD"] + args, result)

    def do_creat(self, args, result):
        return self.do_openat(["AT_FDCWD", args[0], "O_WRONLY|O_CREAT|O_TRUNC"], result)

    def do_openat(self, args, result):
        path, flags = self.path(args[0], text(args[1])), args[2].split("|")
        node, changed = self.node(path), False
        while isinstance(node, File) and node.link and "O_NOFOLLOW" not in flags:
            path = os.path.normpath(os.path.join(os.path.dirname(path), node.link))
            node = self.node(path)
        if node is None and "O_CREAT" in flags:
            directory, name = self.find(path)
            if directory:
                node = file = File()
                directory.change(lambda names: names.__setitem__(name, file))
                changed = True
        elif "O_TRUNC" in flags and isinstance(node, File) and node.seen:
            node.change("truncate", lambda old: b"")
            changed = True
        self.fds[result] = {"path": path, "node": node, "at": 0}
        return changed

    def do_chdir(self, args, result):
        self.cwd = self.path("AT_FDCWD", text(args[0]))

    def do_close(self, args, result):
        self.fds.pop(int(args[0]), None)

    def do_dup(self, args, result):
        self.fds[result] = self.fds.get(int(args[0]), {"path": "/nowhere", "node": None, "at": 0})

    do_dup2 = do_dup3 = do_dup

    def do_fcntl(self, args, result):
        if args[1].startswith("F_DUPFD"):
            self.do_dup(args, result)

    def do_lseek(self, args, result):
        if int(args[0]) in self.fds:
            self.fds[int(args[0])]["at"] = result

    def do_read(self, args, result):
        if int(args[0]) in self.fds:
            self.fds[int(args[0])]["at"] += result

    def file(self, fd):
        node = self.fds.get(int(fd), {}).get("node")
        return node if isinstance(node, File) else None

    def put(self, fd, offset, data):
        file = self.file(fd)
        if file is None or not data:
            return False
        file.change("write", write(offset, data), len(data))
        return True

    def do_write(self, args, result):
        if int(args[0]) not in self.fds:
            return False
        at = self.fds[int(args[0])]
        at["at"] += result
        return self.put(args[0], at["at"] - result, data(args[1])[:result])

    def do_pwrite64(self, args, result):
        return self.put(args[0], int(args[3]), data(args[1])[:result])

    def do_writev(self, args, result):
        if self.file(args[0]) is not None:
            raise SystemExit("power.py: writev to a file: not understood")

    do_pwritev = do_sendfile = do_copy_file_range = do_writev

    def do_io_uring_setup(self, args, result):
        raise SystemExit("power.py: io_uring: not understood")

    def resize(self, file, size):
        file.change("truncate", lambda old: old[:size].ljust(size, b"\0"))
        return True

    def do_ftruncate(self, args, result):
        file = self.file(args[0])
        return file is not None and self.resize(file, int(args[1]))

    def do_truncate(self, args, result):
        node = self.node(self.path("AT_FDCWD", text(args[0])))
        return isinstance(node, File) and self.resize(node, int(args[1]))

    def do_fallocate(self, args, result):
        file = self.file(args[0])
        end = int(args[2]) + int(args[3])
        return file is not None and args[1] == "0" and len(file.seen) < end and self.resize(file, end)

    def do_fsync(self, args, result):
        node = self.fds.get(int(args[0]), {}).get("node")
        if node is not None:
            node.sync()
        return node is not None

    do_fdatasync = do_fsync

    def do_sync(self, args, result):
        raise SystemExit("power.py: sync: not understood")

    do_syncfs = do_sync_file_range = do_sync

    def do_renameat(self, args, result):
        source, old = self.find(self.path(args[0], text(args[1])))
        target, new = self.find(self.path(args[2], text(args[3])))
        if not source and not target:
            return False
        if source is not target:
            raise SystemExit("power.py: a rename between directories: not understood")
        source.change(lambda names: names.__setitem__(new, names.pop(old)))
        return True

    def do_rename(self, args, result):
        return self.do_renameat(["AT_FDCWD", args[0], "AT_FDCWD", args[1]], result)

    def do_unlinkat(self, args, result):
        directory, name = self.find(self.path(args[0], text(args[1])))
        if not directory:
            return False
        directory.change(lambda names: names.pop(name))
        return True

    def do_unlink(self, args, result):
        return self.do_unlinkat(["AT_FDCWD"] + args, result)

    do_rmdir = do_unlink

    def make(self, at, name, node):
        directory, name = self.find(self.path(at, text(name)))
        if directory:
            directory.change(lambda names: names.__setitem__(name, node))
        return bool(directory)

    def do_mkdirat(self, args, result):
        return self.make(args[0], args[1], Directory())

    def do_mkdir(self, args, result):
        return self.make("AT_FDCWD", args[0], Directory())

    def do_symlinkat(self, args, result):
        return self.make(args[1], args[2], File(link=text(args[0])))

    def do_symlink(self, args, result):
        return self.make("AT_FDCWD", args[1], File(link=text(args[0])))

    def do_linkat(self, args, result):
        return self.make(args[2], args[3], self.node(self.path(args[0], text(args[1]))))

    def do_link(self, args, result):
        return self.make("AT_FDCWD", args[1], self.node(self.path("AT_FDCWD", text(args[0]))))


def data(word):
    return bytes.fromhex(word.strip('"').replace("\\x", ""))


def text(word):
    return data(word).decode()


LINE = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+|\?)")
ARGUMENT = re.compile(r'"[^"]*"|\[.*?\]|\{.*?\}|[^, ]+')


def calls(path):
    """(number, name, arguments, result) of each call in strace's file; those not returned from have result None."""
    counts = {}
    with open(path) as lines:
        for line in lines:
            found = LINE.match(line)
            if not found:
                if "unfinished" in line or "resumed" in line:
                    raise SystemExit("power.py: several threads: not understood: " + line)
                continue
            name, arguments, result = found.group(2), ARGUMENT.findall(found.group(3)), found.group(4)
            counts[name] = counts.get(name, 0) + 1
            yield counts[name], name, arguments, None if result == "?" else int(result, 0)


class Run:
    def __init__(self, options):
        self.options = options
        self.root = os.path.abspath(options.root)
        self.base = self.root + ".base"
        self.trace = self.root + ".trace"
        self.said = self.root + ".said"
        self.seen = set()
        self.random = random.Random(1)
        shutil.rmtree(self.base, ignore_errors=True)
        shutil.copytree(self.root, self.base, symlinks=True)

    def fresh(self):
        shutil.rmtree(self.root)
        shutil.copytree(self.base, self.root, symlinks=True)

    def strace(self, command, *more):
        with open(self.options.input or "/dev/null") as standard_input, open(self.said, "w") as said:
            return subprocess.run(["strace", "-f", "-qq", "-xx", "-s", "16777216", "-e", "signal=none", "-e", "trace=" + ",".join("?" + name for name in CALLS),
                                   *(word for env in self.options.env for word in ("-E", env)), *more, "-o", self.trace, *command], stdin=standard_input, stdout=said).returncode

    def play(self, kernel, said=b""):
        """Applies the trace; yields after each change: the call, and what had been printed."""
        for number, name, arguments, result in calls(self.trace):
            if result is None:
                return
            if name == "write" and arguments[0] == "1" and result > 0 and 1 not in kernel.fds:
                said += data(arguments[1])[:result]
                yield "said", said.decode()
            elif kernel.call(name, arguments, result):
                yield "%s %d" % (name, number), said.decode()

    def build(self, names, path, picks):
        """Puts a directory's state there, with the states picked for what is below it."""
        os.mkdir(path)
        for name, node in names.items():
            inner = os.path.join(path, name)
            if isinstance(node, Directory):
                self.build(picks.get(id(node), node.disk), inner, picks)
            elif node.link is not None:
                os.symlink(node.link, inner)
            else:
                with open(inner, "wb") as file:
                    file.write(picks.get(id(node), node.disk))
                os.chmod(inner, self.mode(inner))

    def mode(self, path):
        return 0o644 if path.endswith("/.page") else 0o660 if path.endswith("/.slots") else 0o600

    def combinations(self, tree):
        """The states of the whole tree, each as what is picked for every part of it that has several."""
        parts = []

        def walk(node):
            if node.pending:
                states = []
                for state in node.states():
                    if state not in states:
                        states.append(state)
                parts.append((id(node), states))
            if isinstance(node, Directory):
                for inner in {id(n): n for n in list(node.disk.values()) + list(node.seen.values())}.values():
                    walk(inner)

        walk(tree)
        total = 1
        for _, states in parts:
            total *= len(states)
        most = self.options.most
        if total <= most:
            for chosen in itertools.product(*(range(len(states)) for _, states in parts)):
                yield {key: states[n] for (key, states), n in zip(parts, chosen)}
            return
        plain = list(itertools.islice(itertools.product(*(range(min(2, len(states))) for _, states in parts)), most // 2))
        for _ in range(most - len(plain)):
            plain.append(tuple(self.random.randrange(len(states)) for _, states in parts))
        for chosen in plain:
            yield {key: states[n] for (key, states), n in zip(parts, chosen)}

    def of_another_boot(self):
        if self.options.page:
            page = os.path.join(self.root, self.options.page)
            if os.path.exists(page) and os.path.getsize(page) >= 24:
                with open(page, "r+b") as file:
                    file.seek(16)
                    file.write(b"another!")
        for directory, _, names in os.walk(self.root):
            for name in names:
                if any(fnmatch.fnmatch(name, glob) for glob in self.options.drop):
                    os.unlink(os.path.join(directory, name))

    def digest(self):
        digest = hashlib.blake2b()
        for directory, inner, names in os.walk(self.root):
            inner.sort()
            for name in sorted(names) + inner:
                path = os.path.join(directory, name)
                digest.update(path.encode() + b"\0")
                if os.path.islink(path):
                    digest.update(os.readlink(path).encode() + b"\0")
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        digest.update(file.read() + b"\0")
        return digest.hexdigest()

    def fail(self, at, said, tree):
        for picks in self.combinations(tree):
            shutil.rmtree(self.root)
            self.build(picks.get(id(tree), tree.disk), self.root, picks)
            self.of_another_boot()
            key = (self.digest(), said)
            if key in self.seen:
                continue
            self.seen.add(key)
            checked = subprocess.run(["bash", "-c", self.options.check], stdout=subprocess.PIPE, text=True, check=False)
            try:
                state = json.loads(checked.stdout)
            except ValueError:
                state = {"unread": checked.stdout}
            print(json.dumps({"at": at, "said": said, **state}))

    def once(self):
        tree = load(self.base)
        self.fresh()
        if self.strace(self.options.command) != 0:
            raise SystemExit("power.py: the command failed")
        kernel = Kernel(tree, self.root, os.getcwd())
        self.fail("start", "", tree)
        for at, said in self.play(kernel):
            self.fail(at, said, tree)

    def after_a_death(self):
        self.fresh()
        first = ["bash", "-c", "exec " + self.options.after]
        self.strace(first)
        numbers = [(number, name) for number, name, _, _ in calls(self.trace) if name in CHANGES]
        changing = set()
        kernel = Kernel(load(self.base), self.root, os.getcwd())
        for number, name, arguments, result in calls(self.trace):
            if result is not None and kernel.call(name, arguments, result):
                changing.add((number, name))
        for number, name in [n for n in numbers if n in changing]:
            self.fresh()
            tree = load(self.base)
            self.strace(first, "-e", "inject=%s:signal=SIGKILL:when=%d" % (name, number))
            at, said = "killed at %s %d" % (name, number), ""
            for _, said in self.play(Kernel(tree, self.root, os.getcwd())):
                pass
            self.strace(self.options.command)
            for point, said in self.play(Kernel(tree, self.root, os.getcwd()), said.encode()):
                if self.options.all:
                    self.fail("%s, then %s" % (at, point), said, tree)
            self.fail(at + ", then the end", said, tree)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--input")
    parser.add_argument("--check", required=True)
    parser.add_argument("--after")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--page")
    parser.add_argument("--drop", action="append", default=[])
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--most", type=int, default=64)
    parser.add_argument("command", nargs="+")
    run = Run(parser.parse_args())
    run.after_a_death() if run.options.after else run.once()


main()
