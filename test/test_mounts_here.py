"""The file server of machines' mounts against the host's own file system: the same operations, chosen at
random, on a folder and on its mount, with the same results. This computer's kernel stands for the
machine's: it mounts the folder by /dev/fuse (build/cloche-fuse-here), so no machine is needed."""
import ctypes
import errno
import functools
import itertools
import operator
import os
import random
import shutil
import sqlite3
import subprocess
import time

import pytest

import needs
from conftest import ROOT

HERE = ROOT / "build" / "cloche-fuse-here"
pytestmark = [needs.installed(HERE, by="make conformance"),
              needs.system(os.geteuid() == 0 and os.access("/dev/fuse", os.W_OK), "no right to mount by /dev/fuse")]
SECONDS = float(os.environ.get("CLOCHE_FSX_SECONDS", "10"))


class Mount:
    def __init__(self, host, *how):
        self.at = host + ".mnt"
        os.makedirs(self.at, exist_ok=True)
        self.server = subprocess.Popen([HERE, host, self.at, *how], stdout=subprocess.PIPE, text=True)
        number = self.server.stdout.readline().strip()
        assert number, "it was not mounted"
        self.path = os.path.join(self.at, number)

    def kill(self):
        self.server.kill()
        self.server.wait()
        subprocess.run(["umount", "-l", self.at], check=True)

    def close(self):
        subprocess.run(["umount", "-l", self.at], check=False)
        try:
            self.server.wait(120)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()


@pytest.fixture
def mounted(tmp_path):
    host = str(tmp_path / "host")
    os.mkdir(host)
    mounts = []

    def make(*how):
        mounts.append(Mount(host, *how))
        return host, mounts[-1].path

    make.mounts = mounts
    yield make
    for m in mounts:
        m.close()


def outcome(f, *a):
    """What a call answers, or its errno."""
    try:
        return f(*a)
    except OSError as e:
        return errno.errorcode[e.errno]


SIZE_MAX = 300_000


class File:
    """One of fsx's: the same file here and there, open the same way, changed the same way."""

    def __init__(self, roots, name, r):
        self.paths = [os.path.join(root, name) for root in roots]
        self.r = r
        self.open()

    def open(self):
        self.fds = [os.open(p, os.O_RDWR | os.O_CREAT, 0o644) for p in self.paths]

    def both(self, f, *a):
        answers = [outcome(f, fd, *a) for fd in self.fds]
        assert answers[0] == answers[1], (f.__name__, a[:2])
        return answers[0]

    def at(self):
        return self.r.randrange(SIZE_MAX), self.r.choice((1, 7, 100, 4096, 5000, 65536, 140_000))

    def step(self):
        offset, n = self.at()
        what = self.r.randrange(12)
        if what < 4:
            bytes_ = self.r.randbytes(n)
            self.both(lambda fd: os.pwrite(fd, bytes_, offset))
        elif what < 8:
            self.both(lambda fd: os.pread(fd, n, offset))
        elif what == 8:
            self.both(os.ftruncate, offset)
        elif what == 9:
            self.both(lambda fd: os.fstat(fd).st_size)
        elif what == 10:
            for fd in self.fds:
                os.close(fd)
            self.open()
        else:
            import mmap
            size = os.fstat(self.fds[0]).st_size
            if size:
                place = self.r.randrange(size)
                bytes_ = self.r.randbytes(min(1000, size - place))
                for fd in self.fds:
                    with mmap.mmap(fd, size) as m:
                        m[place:place + len(bytes_)] = bytes_
                        m.flush()

    def end(self):
        for fd in self.fds:
            os.fsync(fd)
            os.close(fd)


@pytest.mark.parametrize("how", ["plain", "overlay"])
def test_a_file_is_the_same_as_on_the_host(mounted, tmp_path, how):
    own = str(tmp_path / "own")
    os.mkdir(own)
    _, there = mounted(*(["overlay"] if how == "overlay" else []))
    seed = int(os.environ.get("CLOCHE_SEED", "7"))
    r = random.Random(seed)
    f, until, steps = File([own, there], "file", r), time.monotonic() + SECONDS / 2, 0
    while time.monotonic() < until or steps < 300:
        f.step()
        steps += 1
    f.end()
    assert open(os.path.join(own, "file"), "rb").read() == open(os.path.join(there, "file"), "rb").read()


def tree_of(root):
    """Names, kinds, permissions, sizes and links of all that is there."""
    out = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            s = os.lstat(path)
            kind = s.st_mode >> 12
            data = os.readlink(path) if kind == 10 else open(path, "rb").read() if kind == 8 else b""
            out[os.path.relpath(path, root)] = (kind, s.st_mode & 0o777, s.st_nlink if kind == 8 else 0, data)
    return out


def test_names_are_the_same_as_on_the_host(mounted, tmp_path):
    own = str(tmp_path / "own")
    os.mkdir(own)
    host, there = mounted("links")
    r = random.Random(int(os.environ.get("CLOCHE_SEED", "7")))
    names = ["a", "b", "c", "d/x", "d/y", "d", "e", "e/z", "caf\udce9", "e/q/r", "e/q"]

    def write(path, data):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
        try:
            return os.write(fd, data)
        finally:
            os.close(fd)

    def do(root, step):
        what, one, two, data = step
        one, two = os.path.join(root, one), os.path.join(root, two)
        actions = {
            "write": lambda: write(one, data),
            "mkdir": lambda: os.mkdir(one, 0o750),
            "rmdir": lambda: os.rmdir(one),
            "unlink": lambda: os.unlink(one),
            "rename": lambda: os.rename(one, two),
            "link": lambda: os.link(one, two, follow_symlinks=False),
            "symlink": lambda: os.symlink("target", one),
            "chmod": lambda: os.chmod(one, 0o600 + data[0] % 64),
            "truncate": lambda: os.truncate(one, data[0]),
            "times": lambda: os.utime(one, ns=(123_456_789_012, 987_654_321_098)),
            "list": lambda: sorted(os.listdir(one)),
            "mtime": lambda: os.stat(one).st_mtime_ns if os.stat(one).st_mtime_ns == 987_654_321_098 else 0,
            "exists": lambda: os.path.lexists(one),
        }
        return outcome(actions[what])

    kinds = ["write", "write", "mkdir", "rmdir", "unlink", "rename", "rename", "link", "symlink", "chmod",
             "truncate", "times", "list", "mtime", "exists"]
    until, steps = time.monotonic() + SECONDS / 2, 0
    while time.monotonic() < until or steps < 500:
        step = (r.choice(kinds), r.choice(names), r.choice(names), r.randbytes(r.randrange(1, 50)))
        assert do(own, step) == do(there, step), step
        steps += 1
    assert tree_of(own) == tree_of(there) == tree_of(host)


# ---- each operation on each kind of name, as pjdfstest's cases are ------------------------------------

KINDS = ["file", "hard", "dir", "full", "full/in", "tofile", "todir", "tofull", "tofull/in", "dangling", "loop", "loop/x",
         "missing", "missing/x", "file/x", "file/", "dir/", "missing/", "tofile/", "todir/", "dangling/", "dir/.", "dir/..",
         ".", "..", "", "n" * 255, "n" * 256, "p/" * 2100 + "x", "dir/../file", "file/../file", "todir/../file", "full/./in",
         "dir//x", "longlink/x"]
FLAGS = ["RDONLY", "WRONLY", "WRONLY|CREAT", "RDWR|CREAT|EXCL", "WRONLY|TRUNC", "RDWR|CREAT|TRUNC", "RDONLY|NOFOLLOW",
         "RDONLY|DIRECTORY", "RDONLY|CREAT|DIRECTORY", "WRONLY|APPEND", "PATH|NOFOLLOW"]


def build_kinds(root):
    os.makedirs(os.path.join(root, "dir"))
    os.mkdir(os.path.join(root, "full"))
    for name in ("file", "full/in"):
        with open(os.path.join(root, name), "w") as f:
            f.write("text")
    os.link(os.path.join(root, "file"), os.path.join(root, "hard"))
    for name, target in (("tofile", "file"), ("todir", "dir"), ("tofull", "full"), ("dangling", "nothing"), ("loop", "loop"),
                         ("longlink", "a/" * 500)):
        os.symlink(target, os.path.join(root, name))


def shown(s):
    """What is the same on every file system."""
    kind = s.st_mode >> 12
    return s.st_mode, s.st_size if kind != 4 else 0, s.st_nlink if kind == 8 else 0


def opened(path, flags):
    fd = os.open(path, flags, 0o640)
    try:
        return shown(os.fstat(fd))
    finally:
        os.close(fd)


def renamed(flags):
    libc = ctypes.CDLL(None, use_errno=True)

    def rename(one, two):
        if libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(two), flags):
            raise OSError(ctypes.get_errno(), "renameat2")

    return rename


OF_ONE = {
    "stat": lambda p: shown(os.stat(p)), "lstat": lambda p: shown(os.lstat(p)), "readlink": os.readlink, "rmdir": os.rmdir,
    "unlink": os.unlink, "mkdir": lambda p: os.mkdir(p, 0o751), "chmod": lambda p: os.chmod(p, 0o604),
    "truncate": lambda p: os.truncate(p, 2), "list": lambda p: sorted(os.listdir(p)), "symlink": lambda p: os.symlink("t", p),
    "long symlink": lambda p: os.symlink("t" * 4095, p), "empty symlink": lambda p: os.symlink("", p),
    "times": lambda p: os.utime(p, ns=(1_000_000_001, 2_000_000_002)), "chown": lambda p: os.chown(p, 0, 0),
    "times of a link": lambda p: os.utime(p, ns=(1_000_000_001, 2_000_000_002), follow_symlinks=False),
    **{flags: lambda p, how=functools.reduce(operator.or_, (getattr(os, "O_" + f) for f in flags.split("|"))): opened(p, how)
       for flags in FLAGS}}
OF_TWO = {
    "rename": os.rename, "link": lambda a, b: os.link(a, b, follow_symlinks=False), "RENAME_NOREPLACE": renamed(1),
    "link of what a link leads to": lambda a, b: os.link(a, b, follow_symlinks=True), "RENAME_EXCHANGE": renamed(2),
    "RENAME with an unknown flag": renamed(8)}
CASES = [(what, (name,)) for what in OF_ONE for name in KINDS]
PAIRS = [(what, names) for what in OF_TWO for names in itertools.product(KINDS, KINDS)]


def test_each_operation_on_each_kind_of_name_is_as_on_the_host(mounted, tmp_path, monkeypatch):
    """All of one name, and a part of those of two, or all (CLOCHE_FSX_SECONDS of an hour)."""
    host, there = mounted("links")
    own = tmp_path / "own"
    chosen = PAIRS if SECONDS >= 3600 else random.Random(int(os.environ.get("CLOCHE_SEED", "7"))).sample(PAIRS, 500)
    for number, (what, names) in enumerate(CASES + chosen):
        roots = [os.path.join(root, str(number)) for root in (own, there)]
        answers = []
        for root in roots:
            build_kinds(root)
            monkeypatch.chdir(root)
            answers.append(outcome((OF_ONE | OF_TWO)[what], *names))
        monkeypatch.chdir(tmp_path)
        label = what, [name[:30] for name in names]
        assert answers[0] == answers[1], label
        assert tree_of(roots[0]) == tree_of(roots[1]) == tree_of(os.path.join(host, str(number))), label
        for root in roots:
            shutil.rmtree(root)


def test_a_change_of_the_host_is_seen_within_a_second(mounted):
    host, there = mounted()
    path = os.path.join(host, "note")
    open(path, "w").write("one")
    assert open(os.path.join(there, "note")).read() == "one"
    open(path, "w").write("three")
    assert open(os.path.join(there, "note")).read() == "three"  # an open file is looked at anew
    os.rename(path, path + "2")
    deadline = time.monotonic() + 10
    while os.path.exists(os.path.join(there, "note")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(os.path.join(there, "note"))
    assert os.path.exists(os.path.join(there, "note2"))


def test_a_large_folder_and_a_large_file(mounted):
    host, there = mounted()
    for i in range(10_000):
        open(os.path.join(host, f"{i:05}"), "w").close()
    assert sorted(os.listdir(there)) == [f"{i:05}" for i in range(10_000)]
    for entry in os.scandir(there):
        assert entry.is_file()
    with open(os.path.join(there, "large"), "wb") as f:
        f.truncate(4 << 30)
        f.seek((4 << 30) - 5)
        f.write(b"end")
    s = os.stat(os.path.join(there, "large"))
    assert s.st_size == 4 << 30 and s.st_blocks * 512 < 1 << 20
    with open(os.path.join(there, "large"), "rb") as f:
        assert os.lseek(f.fileno(), 0, os.SEEK_DATA) > 4_000_000_000
        f.seek((4 << 30) - 5)
        assert f.read() == b"end\0\0"


def test_git_and_tar_work_in_a_mount(mounted, tmp_path):
    _, there = mounted()
    work = os.path.join(there, "work")
    env = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": "/dev/null"}

    def git(*words):
        return subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c",
                               "safe.directory=*", "-C", work, *words], env=env, check=True, text=True,
                              capture_output=True).stdout

    os.mkdir(work)
    git("init", "-q", ".")
    for i in range(200):
        open(os.path.join(work, f"f{i}"), "w").write(str(i))
    git("add", ".")
    git("commit", "-qm", "one")
    assert git("status", "--porcelain") == ""
    git("clone", "-q", work, os.path.join(there, "copy"))
    assert sorted(os.listdir(os.path.join(there, "copy"))) == sorted(os.listdir(work))
    subprocess.run(["tar", "-C", there, "-cf", str(tmp_path / "t.tar"), "work"], check=True)
    os.mkdir(os.path.join(there, "out"))
    subprocess.run(["tar", "-C", os.path.join(there, "out"), "-xf", str(tmp_path / "t.tar")], check=True)
    before, after = tree_of(work), tree_of(os.path.join(there, "out", "work"))
    assert {k: (a, b, d) for k, (a, b, _, d) in before.items()} == \
        {k: (a, b, d) for k, (a, b, _, d) in after.items()}  # git links objects of a clone


def test_what_was_synced_is_on_the_host_when_the_server_is_killed(mounted):
    """sqlite's WAL: what was committed is there, and the database is sound."""
    for turn in range(4):
        host, there = mounted()
        path = os.path.join(there, "db")
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute("create table if not exists t (n integer)")
        before = db.execute("select count(*) from t").fetchone()[0]
        for n in range(25 * (turn + 1)):
            db.execute("insert into t values (?)", (n,))
        mounted.mounts.pop().kill()
        try:
            db.close()
        except sqlite3.Error:
            pass
        own = sqlite3.connect(os.path.join(host, "db"))
        assert own.execute("pragma integrity_check").fetchone()[0] == "ok"
        assert own.execute("select count(*) from t").fetchone()[0] == before + 25 * (turn + 1)
        own.close()


def test_two_mounts_and_the_host_write_one_folder(mounted):
    """Each makes, appends to and renames files of its own; all of them are there in the end."""
    host, one = mounted()
    _, two = host, Mount(host + "/../host")
    program = """
import os, sys
root, who = sys.argv[1:]
for i in range(100):
    path = os.path.join(root, f"{who}{i}")
    with open(path + ".tmp", "w") as f:
        f.write(who * 1000)
    os.rename(path + ".tmp", path)
    fd = os.open(os.path.join(root, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, (who + "\\n").encode())
    os.close(fd)
"""
    try:
        runs = [subprocess.Popen(["python3", "-c", program, root, who])
                for root, who in ((host, "h"), (one, "a"), (two.path, "b"))]
        assert [r.wait(120) for r in runs] == [0, 0, 0]
    finally:
        two.close()
    for who in "hab":
        for i in range(100):
            assert open(os.path.join(host, f"{who}{i}")).read() == who * 1000
    assert sorted(open(os.path.join(host, "log")).read().split()) == sorted("hab" * 100)


def test_a_read_only_mount_is_not_changed(mounted):
    host, there = mounted("ro")
    open(os.path.join(host, "f"), "w").write("text")
    for change in (lambda: open(os.path.join(there, "f"), "a"), lambda: os.mkdir(os.path.join(there, "d")),
                   lambda: os.unlink(os.path.join(there, "f")), lambda: os.chmod(os.path.join(there, "f"), 0o777)):
        assert outcome(change) == "EROFS"
    shutil.copy(os.path.join(there, "f"), host + ".copy")
    assert open(host + ".copy").read() == "text"
