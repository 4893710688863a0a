"""The power fails at any moment: what was not synced may be gone, or half there.

A run that writes is recorded (power.c); then, for many moments of it, the disk is built
as the failure could have left it, the vault on it opened, and looked at: everything that
was acknowledged is there, nothing is half done.

What a disk keeps without a sync: of a file's writes any, each whole or cut at a sector; of
the names in folders (made, moved, removed) the first few, or any of them. A move is one
thing. A folder's sync keeps its names, a file's sync its bytes and not its name."""
import copy
import json
import os
import random
import struct
import subprocess
from pathlib import Path

import pytest
from crash import Work, difference, read_vault
from wire import Stdio, call, initialize

MOMENTS = int(os.environ.get("CLOCHE_MOMENTS", "80"))
OPERATIONS = 32
SECTOR = 512
(CREATE, WRITE, TRUNCATE, SYNC, SYNC_ALL, RENAME, EXCHANGE, LINK, UNLINK, MKDIR,
 SAID) = range(1, 12)
HEAD = struct.Struct("=IIIIQQ")


def read_log(path):
    bytes, at = path.read_bytes(), 0
    while at < len(bytes):
        what, *sizes, inode, offset = HEAD.unpack_from(bytes, at)
        at += HEAD.size
        parts = []
        for size in sizes:
            parts.append(bytes[at:at + size])
            at += size
        yield what, parts[0].decode(), parts[1].decode(), parts[2], inode, offset


class File:
    def __init__(self, data=b""):
        self.lasting = bytearray(data)
        self.loose = []  # (offset, bytes), or (size, None) for a change of size

    def sync(self):
        for offset, data in self.loose:
            self.apply(self.lasting, offset, data)
        self.loose = []

    @staticmethod
    def apply(to, offset, data):
        if data is None:
            del to[offset:]
            to.extend(bytes(offset - len(to)))
            return
        to.extend(bytes(max(0, offset - len(to))))
        to[offset:offset + len(data)] = data

    def after_failure(self, rng, keep):
        data = bytearray(self.lasting)
        for offset, bytes in self.loose:
            if rng.random() >= keep:
                continue
            if bytes is not None and rng.random() < 0.2:
                bytes = bytes[:rng.randrange(0, len(bytes) + 1, SECTOR)]
            self.apply(data, offset, bytes)
        return data


class Disk:
    """Names and files, as they last and as they are."""

    def __init__(self, root):
        self.files, self.names, self.folders = {}, {}, {""}
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_dir():
                self.folders.add(name)
            else:
                file = self.names[name] = File(path.read_bytes())
                self.files[path.stat().st_ino] = file
        self.now = dict(self.names)
        self.loose = []  # changes of names: (folders that they are in, what, a, b)

    @staticmethod
    def change(names, folders, what, a, b):
        if what == "put":
            names[a] = b
        elif what == "move" and a in names:
            names[b] = names.pop(a)
        elif what == "swap" and a in names and b in names:
            names[a], names[b] = names[b], names[a]
        elif what == "drop":
            names.pop(a, None)
        elif what == "folder":
            folders.add(a)

    def note(self, what, a, b=None):
        places = {os.path.dirname(name) for name in (a, b) if isinstance(name, str)}
        self.loose.append((places, what, a, b))
        self.change(self.now, set(), what, a, b)

    def with_causes(self, wanted):
        """Which changes come with these (by number): no disk has a file moved and not
        made before that."""
        names, chosen = set(), set()
        for i in reversed(range(len(self.loose))):
            _, _, *touched = self.loose[i]
            touched = {name for name in touched if isinstance(name, str)}
            if i in wanted or names & touched:
                chosen.add(i)
                names |= touched
        return chosen

    def sync_names(self, place):
        chosen = self.with_causes({i for i, (places, *_) in enumerate(self.loose)
                                   if place is None or place in places})
        for i, (_, *change) in enumerate(self.loose):
            if i in chosen:
                self.change(self.names, self.folders, *change)
        self.loose = [c for i, c in enumerate(self.loose) if i not in chosen]

    def play(self, what, path, other, data, inode, offset):
        if what == CREATE:
            file = self.files[inode] = File()
            if path:
                self.note("put", path, file)
        elif what == WRITE:
            self.files[inode].loose.append((offset, data))
        elif what == TRUNCATE:
            self.files[inode].loose.append((offset, None))
        elif what == SYNC and inode in self.files and path not in self.folders_now():
            self.files[inode].sync()
        elif what == SYNC:
            self.sync_names(path)
        elif what == SYNC_ALL:
            self.sync_names(None)
            for file in self.files.values():
                file.sync()
        elif what == RENAME:
            self.note("move", path, other)
        elif what == EXCHANGE:
            self.note("swap", path, other)
        elif what == LINK:
            self.note("put", path, self.files[inode])
        elif what == UNLINK:
            self.note("drop", path)
        elif what == MKDIR:
            self.note("folder", path)

    def folders_now(self):
        return self.folders | {a for _, what, a, _ in self.loose if what == "folder"}

    def build(self, to, rng):
        """The disk after a failure now."""
        names, folders = dict(self.names), set(self.folders)
        count = len(self.loose)
        kept = rng.choice([0, rng.randrange(count + 1), count])
        chosen = self.with_causes(rng.choice([
            set(range(kept)), {i for i in range(count) if rng.random() < 0.5}]))
        for i, (_, *change) in enumerate(self.loose):
            if i in chosen:
                self.change(names, folders, *change)
        keep = rng.choice([0, 0, 0.5, 1])
        for folder in sorted(folders):
            if folder and os.path.dirname(folder) in folders:
                (to / folder).mkdir(parents=True, exist_ok=True)
        for name, file in names.items():
            # Shared memory is nobody's after a failure.
            if (to / name).parent.is_dir() and not name.endswith("-shm"):
                (to / name).write_bytes(file.after_failure(rng, keep))


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    library = tmp_path_factory.mktemp("power") / "power.so"
    source = Path(__file__).with_name("power.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"],
                   check=True)
    return library


def record(cloche, recorder, root, log):
    """Runs the work under the recorder; the notes before each operation, and at the end."""
    work = Work()
    work.write_first(root)
    disk = Disk(root)
    states = [copy.deepcopy(work.notes)]
    env = os.environ | {"LD_PRELOAD": str(recorder), "POWER_LOG": str(log),
                        "POWER_ROOT": str(root)}
    with Stdio([cloche, "mcp", "--vault", str(root)], env=env) as client:
        client.ask(initialize())
        for n in range(OPERATIONS):
            code = work.next() + "; return 1"
            outcome = client.ask(call("evaluate_note_code", {"code": code}, id=1000 + n))
            assert outcome["result"]["structuredContent"]["success"], outcome
            states.append(copy.deepcopy(work.notes))
            with log.open("ab") as file:  # before the next one is asked for
                file.write(HEAD.pack(SAID, 0, 0, 0, 0, 0))
        client.end()
    return disk, states


def look(cloche, root):
    """Opens the vault, reads all of it, and reports errors."""
    code = ("const rows = await notes.list({limit: 1000}); let n = 0;"
            "for (const row of rows) n += (await notes.history(row.id)).length;"
            "await notes.create({title: 'After', content: 'x'});"
            "await notes.delete('note/After'); return n;")
    run = subprocess.run([cloche, "eval", "--vault", str(root), "-e", code],
                         capture_output=True, text=True, timeout=60)
    outcome = json.loads(run.stdout)
    assert outcome["success"], outcome["error"]


def test_a_power_failure_loses_nothing_that_was_acknowledged(cloche, recorder, tmp_path):
    rng = random.Random(MOMENTS)
    root = (tmp_path / "vault").resolve()
    root.mkdir()
    log = tmp_path / "log"
    disk, states = record(cloche, recorder, root, log)
    records = list(read_log(log))
    assert {SYNC, SYNC_ALL, EXCHANGE, RENAME, LINK, SAID} <= {r[0] for r in records}
    moments = set(rng.sample(range(1, len(records)), min(MOMENTS, len(records) - 1)))
    done = 0
    for i, entry in enumerate(records):
        if entry[0] == SAID:
            done += 1
        else:
            disk.play(*entry)
        if i not in moments:
            continue
        after = tmp_path / f"after-{i}"
        after.mkdir()
        disk.build(after, rng)
        look(cloche, after)
        found, others = read_vault(after)
        possible = states[done:done + 2]
        assert found in possible, (i, done, [difference(found, s) for s in possible])
        assert others == [], i
        subprocess.run(["rm", "-rf", str(after)], check=True)
    # The recorder saw it all: the disk it knows is the disk that there is.
    assert {n: bytes(f.after_failure(random.Random(1), 1)) for n, f in disk.now.items()
            if n.endswith(".md") and not n.startswith(".")} == {
                p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*.md")
                if not p.relative_to(root).as_posix().startswith(".")}
