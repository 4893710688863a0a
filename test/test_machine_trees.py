"""Large trees in a mount, beside the same on the host: a tree of the shape of kernel headers is unpacked, cloned and removed.

As many files as CLOCHE_TREE_FILES says (600; 15,000 in `make deep`).
"""
import hashlib
import io
import os
import random
import stat
import subprocess
import tarfile

import pytest

from conftest import ROOT
from machine_doors import needs_image

pytestmark = needs_image

CLOCHE = str(ROOT / "build" / "cloche")
FILES = int(os.environ.get("CLOCHE_TREE_FILES", "600"))
TIMEOUT = 120 + FILES // 10


def headers(count):
    """A tar archive: deep folders, small files, scripts, symbolic and hard links, odd names, times with fractions."""
    chance, out, folders, files = random.Random(19), io.BytesIO(), ["linux-headers"], []
    at = lambda: 1_000_000_000 + chance.randrange(700_000_000) + chance.randrange(1_000_000) / 1e6
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def put(name, kind, mode, data=b"", target=""):
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.size, info.linkname, info.mtime = kind, mode, len(data), target, at()
            tar.addfile(info, io.BytesIO(data))

        put(folders[0], tarfile.DIRTYPE, 0o755)
        for i in range(count // 15):
            name = f"{chance.choice(folders[-40:])}/{chance.choice(['arch', 'include', 'asm', 'drivers', 'uapi', 'é-ö'])}{i}"
            if name.count("/") < 12:
                folders.append(name)
                put(name, tarfile.DIRTYPE, chance.choice([0o755, 0o755, 0o700, 0o555]))
        for i in range(count):
            name = f"{chance.choice(folders)}/{chance.choice(['linux', 'Kconfig', 'Makefile', '.cmd', 'a b', '-x', 'n' * 180])}{i}.h"
            kind = chance.randrange(40)
            if kind < 2 and files:
                put(name, tarfile.SYMTYPE, 0o777, target=os.path.relpath(chance.choice(files), os.path.dirname(name)))
            elif kind == 2:
                put(name, tarfile.SYMTYPE, 0o777, target=chance.choice(["/usr/src/none", "../" * 9 + "x", "t" * 200]))
            elif kind == 3 and files:
                put(name, tarfile.LNKTYPE, 0o644, target=chance.choice(files))
            else:
                size = chance.choice([0, 1, 300, 900, 2500, 4096, 4097, 20_000])
                put(name, tarfile.REGTYPE, chance.choice([0o644, 0o644, 0o644, 0o755, 0o600, 0o444]), chance.randbytes(size))
                files.append(name)
    return out.getvalue()


def seen(root):
    """Every name with its kind, mode, time, links, and bytes or target. Names of one file are named together."""
    rows, names = {}, {}
    for folder, inner, files in os.walk(os.fsencode(root)):
        for name in inner + files:
            path = os.path.join(folder, name)
            st, key = os.lstat(path), os.path.relpath(path, os.fsencode(root))
            what = (os.readlink(path) if stat.S_ISLNK(st.st_mode) else
                    hashlib.sha256(open(path, "rb").read()).hexdigest() if stat.S_ISREG(st.st_mode) else None)
            rows[key] = [stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode), st.st_mtime_ns, what]
            if stat.S_ISREG(st.st_mode):
                names.setdefault((st.st_dev, st.st_ino), []).append(key)
    for same in names.values():
        for key in same:
            rows[key].append(sorted(same))
    return rows


def run(command, *mounts):
    words = [word for m in mounts for word in ("--mount", m)]
    done = subprocess.run([CLOCHE, "vm", "exec", *words, command], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The archive in a folder, and the same unpacked by the host's tar."""
    place = tmp_path_factory.mktemp("trees")
    (place / "in").mkdir()
    (place / "in" / "t.tar").write_bytes(headers(FILES))
    (place / "host").mkdir()
    subprocess.run(["tar", "--delay-directory-restore", "-xpf", place / "in" / "t.tar", "-C", place / "host"], check=True)
    yield place
    subprocess.run(["chmod", "-R", "u+rwx", place], check=False)


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    differ = {key: (ours[key], theirs[key]) for key in ours if ours[key] != theirs[key]}
    assert not differ, (len(differ), list(differ.items())[:3])


def test_a_tree_that_is_unpacked_in_a_mount_is_as_on_the_host(tree):
    (tree / "mount").mkdir()
    told = run("tar --delay-directory-restore -xpf /in/t.tar -C /out && cd /out && find . | wc -l && find . -type f | xargs -d '\\n' cat | sha256sum",
               f"{tree}/in:/in:ro", f"{tree}/mount:/out:links")
    assert_same(seen(tree / "mount"), seen(tree / "host"))
    assert int(told.split()[0]) == len(seen(tree / "host")) + 1
    run("rm -rf /out/linux-headers", f"{tree}/mount:/out")
    assert os.listdir(tree / "mount") == []


def test_a_tree_that_is_written_back_from_an_overlay_is_as_on_the_host(tree, tmp_path):
    (tree / "over").mkdir()
    done = subprocess.run([CLOCHE, "vm", "exec", "--mount", f"{tree}/in:/in:ro", "--mount", f"{tree}/over:/out:overlay:links",
                           "--changes", "apply", "tar --delay-directory-restore -xpf /in/t.tar -C /out"], capture_output=True, text=True, timeout=TIMEOUT,
                          stdin=subprocess.DEVNULL, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    ours, theirs = seen(tree / "over"), seen(tree / "host")
    for row in [*ours.values(), *theirs.values()]:
        del row[4:]  # names of one file are files of their own there
    assert_same(ours, theirs)


def test_a_tree_is_cloned_in_a_mount_as_it_is(tree):
    (tree / "git").mkdir()
    told = run("""set -e; cd /git; tar -xf /in/t.tar; cd linux-headers; chmod -R u+w .; git init -q .; git config core.quotePath off
        git add -A; git -c user.name=a -c user.email=a@b commit -qm one; git status --porcelain | wc -l
        git clone -q --no-hardlinks /git/linux-headers /git/copy; cd /git/copy; git fsck --full --strict 2>&1 | grep -v dangling || true
        git status --porcelain | wc -l; git ls-files | wc -l""", f"{tree}/in:/in:ro", f"{tree}/git:/git:links")
    assert told.split()[:2] == ["0", "0"]
    rows = [{key: (row[0], row[1] & 0o100, row[3]) for key, row in seen(tree / "git" / name).items()
             if row[0] != stat.S_IFDIR and not key.startswith(b".git/")} for name in ("linux-headers", "copy")]
    assert rows[0] == rows[1] and int(told.split()[2]) == len(rows[0])
