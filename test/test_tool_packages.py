"""Packages that `cloche tool install` accepts and refuses: ZIPs, manifests and modules by others. A
refusal leaves nothing behind."""
import json
import os
import struct
import subprocess
import zlib

import pytest

from packages import Zip, manifest, module, pack, package

MB = 1 << 20


@pytest.fixture
def install(cloche, tmp_path):
    """Installs bytes; returns the process, and checks that a refusal leaves nothing."""
    def call(data, *options):
        file = tmp_path / "tool.zip"
        file.write_bytes(data)
        before = kept(tmp_path)
        p = subprocess.run([cloche, "tool", "install", *options, str(file)],
                           capture_output=True, text=True)
        if p.returncode:
            assert kept(tmp_path) == before, "a failed install left something"
            assert p.stdout == ""
        return p
    return call


def kept(place):
    folder = place / "data" / "cloche" / "tools"
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*")
                  if p.is_file() and p.name not in ("lock", "changes"))


def refusal(p, code=2):
    assert p.returncode == code, (p.returncode, p.stderr)
    line = p.stderr.splitlines()[-1]
    assert line.startswith("cloche: ")
    return line[len("cloche: "):]


def test_a_package_is_installed_and_listed(cloche, install, tmp_path):
    p = install(package({"license": "MIT"}))
    assert (p.returncode, p.stdout, p.stderr) == (0, "probe 1.0.0\n", "")
    rows = json.loads(subprocess.check_output([cloche, "tool", "list", "--json"]))
    row = next(r for r in rows if r["name"] == "probe")
    assert row["source"] == "user" and row["enabled"] and row["license"] == "MIT"
    assert row["permission"] == "ask", "nobody has allowed it yet"
    records = list((tmp_path / "data/cloche/tools/records").iterdir())
    record = json.loads(records[0].read_text())
    assert set(record) == {"id", "manifest", "wasmBinary", "source", "enabled",
                           "installedAt", "updatedAt"}, "exactly the seed's fields"
    assert records[0].name == record["id"] + ".json"


# ---- the seed's sentences ------------------------------------------------------------

def many(n):
    return {f"file{i}": "x" for i in range(n)}


SENTENCES = [
    (package(more=many(99)), "ZIP contains too many files (max: 100)"),
    (package(more={"../x": ""}), "Invalid file path in ZIP: ../x"),
    (package(more={"a/../x": ""}), "Invalid file path in ZIP: a/../x"),
    (package(more={"/etc/x": ""}), "Invalid file path in ZIP: /etc/x"),
    (package(more={"sub/Manifest.JSON": "{}"}),
     "WASM tool ZIP must contain exactly one manifest.json file"),
    (package(more={"other.WASM": "x"}), "WASM tool ZIP must contain exactly one .wasm file"),
    (pack({"x.wasm": module()}), "WASM tool ZIP is missing manifest.json"),
    (pack({"x-manifest.json": "{}", "x.wasm": module()}),
     "WASM tool ZIP is missing manifest.json"),
    (pack({"manifest.json": json.dumps(manifest())}), "WASM tool ZIP is missing a .wasm file"),
]


@pytest.mark.parametrize("data, sentence", SENTENCES, ids=[s[1] for s in SENTENCES])
def test_the_loader_refuses_in_the_words_of_its_design(install, data, sentence):
    assert refusal(install(data), 1 if "too many" in sentence else 2) == sentence


def test_a_zip_of_more_than_50_mb_is_not_even_read(cloche, tmp_path):
    file = tmp_path / "large.zip"
    with file.open("wb") as f:
        f.truncate(50 * MB + 1)
    p = subprocess.run([cloche, "tool", "install", str(file)], capture_output=True, text=True)
    assert refusal(p, 1) == "ZIP file exceeds maximum size of 50 MB"


def test_a_module_of_more_than_20_mb_is_refused(install):
    wasm = os.urandom(1 * MB) * 21  # does not compress a hundred times
    assert refusal(install(package(wasm=wasm)), 1) == "WASM binary exceeds maximum size of 20 MB"


def test_a_hundred_files_and_their_folders_are_accepted(install):
    more = {**many(98), **{f"folder{i}/": "" for i in range(150)}}
    assert install(package(more=more)).returncode == 0


def test_both_files_may_lie_deep(install):
    deep = {"a/b/c/manifest.json": json.dumps(manifest()), "d/e/probe.wasm": module(),
            "__MACOSX/d/e/._probe.wasm": "attributes"}
    assert install(pack(deep)).returncode == 0


# ---- bombs ---------------------------------------------------------------------------

def deflated(size):
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b"".join(c.compress(bytes(MB)) for _ in range(size // MB)) + c.flush()


def with_entry(data, file, packed, size, crc=0):
    """The ZIP with one more deflated file of that many bytes, whatever is true."""
    z = Zip(data)
    head = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, crc, len(packed), size, len(file), 0)
    row = b"PK\1\2" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0,
                                                                len(z.body))
    z.body += b"PK\3\4" + head + file.encode() + packed
    z.rows.append(bytearray(row) + file.encode())
    return z.bytes()


def test_a_bomb_of_42_kb_is_refused_before_it_expands(install):
    small = deflated(40 * MB)
    bomb = with_entry(package(), "zeros", small, 4 << 30 - 1 & 0xfffffff0)
    assert len(bomb) < 43_000
    assert "would expand to" in refusal(install(bomb), 1)


def test_a_bomb_that_lies_about_its_size_is_stopped_while_it_expands(install):
    bomb = with_entry(package(), "zeros", deflated(40 * MB), 1000)
    assert "it holds more bytes than the ZIP says" in refusal(install(bomb))


def test_what_expands_more_than_a_hundred_times_is_refused(install):
    assert "more than 100 times its own size" in refusal(
        install(package(more={"zeros": bytes(10 * MB)})), 1)


def test_what_expands_to_more_than_200_mb_is_refused(install):
    part = deflated(60 * MB) + os.urandom(3 * MB)
    data = package()
    for i in range(4):
        data = with_entry(data, f"part{i}", part, 60 * MB)
    assert "at most 200 MB are accepted" in refusal(install(data), 1)


# ---- what two readers could understand differently ------------------------------------

def changed(change, data=None):
    z = Zip(data or package(more={"notes.txt": "some notes"}))
    result = change(z)
    return z.bytes() if result is None else result


def rename(z, file, other):
    assert len(file) == len(other)
    row, at = z.row(file), z.local(file) + 30
    row[46:46 + len(file)] = other
    z.body[at:at + len(file)] = other


def overlapping(z):
    """The bytes of one file are another file, header included."""
    text = b"inside"
    head = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, zlib.crc32(text), 6, 6, 5, 0)
    inner = b"PK\3\4" + head + b"inner" + text
    outer = Zip(package(more={"notes.txt": inner}, method=0))
    row = b"PK\1\2" + struct.pack("<H", 20) + head + struct.pack(
        "<HHHII", 0, 0, 0, 0, outer.local("notes.txt") + 30 + 9)
    outer.rows.append(bytearray(row + b"inner"))
    return outer.bytes()


def two_directories(z):
    first = z.bytes()
    other = Zip(package({"name": "other"}))
    z.body = bytearray(first)
    for row in other.rows:
        struct.pack_into("<I", row, 42, struct.unpack_from("<I", row, 42)[0] + len(first))
    z.body += other.body
    z.rows = other.rows


def commented(z):
    z.tail += b"PK\5\6" + bytes(18)
    struct.pack_into("<H", z.tail, 20, 22)


ODD = {
    "encrypted": (lambda z: z.both("notes.txt", "<H", 8, 6, 1), "is encrypted"),
    "symbolic link": (lambda z: struct.pack_into("<I", z.row("notes.txt"), 38,
                                                 0o120777 << 16), "is a symbolic link"),
    "device": (lambda z: struct.pack_into("<I", z.row("notes.txt"), 38, 0o020644 << 16),
               "is not a regular file"),
    "backslash": (lambda z: rename(z, "notes.txt", rb"note\.txt"), "Invalid file path in ZIP"),
    "NUL": (lambda z: rename(z, "notes.txt", b"notes\0txt"), "Invalid file path in ZIP"),
    "escape": (lambda z: rename(z, "notes.txt", b"notes\x1btxt"), "Invalid file path in ZIP"),
    "drive": (lambda z: rename(z, "notes.txt", b"C:tes.txt"), "Invalid file path in ZIP"),
    "unknown method": (lambda z: z.both("notes.txt", "<H", 10, 8, 12), "is compressed in a way"),
    "another name inside": (lambda z: z.row("notes.txt").__setitem__(46, ord("N")),
                            "differs from its directory entry"),
    "another size inside": (lambda z: struct.pack_into("<I", z.row("notes.txt"), 24, 9),
                            "differs from its directory entry"),
    "outside": (lambda z: struct.pack_into("<I", z.row("notes.txt"), 42, 1 << 30),
                "is not where the directory says"),
    "too long": (lambda z: z.both("notes.txt", "<I", 20, 18, 1 << 30), "reaches beyond"),
    "overlapping": (overlapping, "overlaps another"),
    "two directories": (two_directories, "there is data between its files"),
    "end in a comment": (commented, "not a ZIP archive that can be used"),
    "data behind": (lambda z: z.bytes() + b"more", "data after its end"),
    "data before": (lambda z: b"#!/bin/sh\n" + z.bytes(), "its directory is not where"),
    "data between": (lambda z: z.body.extend(b"hidden"), "data between its files"),
    "cut off": (lambda z: z.bytes()[:-10], "not a ZIP archive that can be used"),
    "fewer than it says": (lambda z: z.bytes(count=9), "its directory is damaged"),
    "more than it says": (lambda z: z.bytes(count=1), "its directory has more in it"),
    "several volumes": (lambda z: struct.pack_into("<H", z.tail, 4, 1), "several volumes"),
    "zip64": (lambda z: struct.pack_into("<I", z.row("notes.txt"), 24, 0xffffffff), "zip64"),
    "zip64 end": (lambda z: z.bytes(count=0xffff), "zip64"),
    "wrong sum": (lambda z: z.both("notes.txt", "<I", 16, 14, 7), "cannot be expanded"),
    "damaged data": (lambda z: z.body.__setitem__(z.local("probe.wasm") + 45, 0xff),
                     "'probe.wasm' cannot be expanded"),
    "not a ZIP": (lambda z: b"hello", "not a ZIP archive that can be used"),
    "empty": (lambda z: b"", "not a ZIP archive that can be used"),
}


@pytest.mark.parametrize("change, why", ODD.values(), ids=ODD.keys())
def test_an_odd_zip_is_refused(install, change, why):
    assert why in refusal(install(changed(change)))


@pytest.mark.parametrize("more", [{"Notes": "", "notes": ""}, {"a/b": "", "A/B": ""},
                                  {"a": "", "a/": ""}], ids=str)
def test_names_that_differ_in_case_alone_are_refused(install, more):
    assert "is there twice, or differs only in case" in refusal(install(package(more=more)))


def test_a_name_that_is_there_twice_is_refused(install):
    z = Zip(package(more={"notes.txt": "1", "notes.bak": "2"}))
    rename(z, "notes.bak", b"notes.txt")
    assert "is there twice" in refusal(install(z.bytes()))


def test_fifty_damaged_packages_are_refused_or_installed_whole(cloche, install, tmp_path):
    import random
    whole = package(more={"notes.txt": "some notes"})
    for seed in range(50):
        r = random.Random(seed)
        data = bytearray(whole)
        for _ in range(r.randint(1, 8)):
            at = r.randrange(len(data))
            if r.random() < .3:
                del data[at:at + r.randint(1, 40)]
            else:
                data[at] = r.randrange(256)
        p = install(bytes(data), "--update")
        assert p.returncode in (0, 1, 2), p.stderr
        assert "broken assumption" not in p.stderr
        if p.returncode == 0:
            assert subprocess.run([cloche, "tool", "run", "probe"]).returncode == 0


# ---- manifests -------------------------------------------------------------------------

def parameter(**p):
    return {"parameters": {"type": "object", "properties": {
        "x": {"type": "string", "description": "", **p}}}}


EXECUTION = {"argStyle": "cli", "fileAccess": "none"}
WRONG = [
    ({"name": "Probe"}, "name is"),
    ({"name": "a" * 65}, "name is"),
    ({"name": "a--b"}, "name is"),
    ({"version": 1}, "version is 1; a string of at most 64 characters is accepted"),
    ({"description": None}, "description is missing"),
    ({"parameters": {"type": "array", "properties": {}}}, 'parameters.type is "array"; "object"'),
    ({"parameters": {"type": "object"}}, "parameters.properties is missing"),
    (parameter(type="str"),
     'parameters.properties.x.type is "str"; "string", "number", "boolean" or "array" is accepted'),
    (parameter(enum=[1]), "parameters.properties.x.enum[0] must be a string"),
    (parameter(default=3), "parameters.properties.x.default is 3"),
    (parameter(enum=["a"], default="b"), 'parameters.properties.x.default is "b"; "a" is accepted'),
    (parameter(type="array", items={"type": "number"}, default=["1"]), "x.default is"),
    (parameter(flag="i"), "parameters.properties.x.flag is"),
    (parameter(position=0), "parameters.properties.x.position is 0; a whole number from 1"),
    (parameter(flag="-i", position=1), "x has a flag and a position"),
    ({"parameters": {"type": "object", "properties": {}, "required": ["y"]}},
     'parameters.required[0] is "y"'),
    ({"parameters": {"type": "object", "properties": {"a b": {"type": "string",
                                                              "description": ""}}}},
     "parameters.properties.a b is not a valid name for it"),
    ({"returns": {"type": "number", "description": ""}}, "returns.type is"),
    ({"execution": {**EXECUTION, "argStyle": "shell"}},
     'execution.argStyle is "shell"; "cli", "json" or "positional" is accepted'),
    ({"execution": {**EXECUTION, "fileAccess": "all"}}, "execution.fileAccess is"),
    ({"execution": {**EXECUTION, "memoryLimit": (1 << 30) + 1}},
     "execution.memoryLimit is 1073741825; a whole number from 65536 to 1073741824"),
    ({"execution": {**EXECUTION, "timeout": 300_001}},
     "execution.timeout is 300001; a whole number from 1 to 300000 is accepted"),
    ({"execution": {**EXECUTION, "timeout": 0}}, "execution.timeout is 0"),
    ({"category": 5}, "category is 5"),
    ({"author": None, "license": 1}, "license is 1"),
]


@pytest.mark.parametrize("changes, why", WRONG, ids=[w[1][:40] for w in WRONG])
def test_a_wrong_field_is_named_with_what_would_be_accepted(install, changes, why):
    assert why in refusal(install(package(changes)))


def test_all_that_is_wrong_is_told_at_once(install):
    p = install(package({"version": 1, "category": None, "returns": "text",
                         "execution": {"argStyle": 1, "fileAccess": 2, "timeout": "3"}}))
    refusal(p)
    for field in ("version", "category", "returns", "execution.argStyle",
                  "execution.fileAccess", "execution.timeout"):
        assert any(line.strip().startswith(field + " ") for line in p.stderr.splitlines()), field


def test_unknown_fields_are_left_out_with_a_warning(cloche, install):
    p = install(package({"icon": "x.png", "execution": {**EXECUTION, "sudo": True}}))
    assert p.returncode == 0
    assert "warning: icon is not known, and left out" in p.stderr
    assert "warning: execution.sudo is not known, and left out" in p.stderr
    shown = json.loads(subprocess.check_output([cloche, "tool", "show", "probe", "--json"]))
    assert "icon" not in shown["manifest"] and shown["manifest"]["execution"] == EXECUTION


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"name": "a", "name": "b"}',
                                  "[" * 5000, "\xff\xfe", "\ufeff{}"], ids=ascii)
def test_what_is_no_manifest_is_refused(install, text):
    assert "manifest" in refusal(install(pack({"manifest.json": text, "x.wasm": module()})))


def test_nothing_in_a_manifest_moves_the_terminals_cursor(cloche, install):
    evil = "\x1b[2J\r\u202egnp.\u200b\nfake line"
    p = install(package({"description": evil, "author": evil, "license": evil,
                         "category": evil[:8], "version": evil, evil: 1}))
    assert p.returncode == 0
    for words in ("list",), ("show", "probe"):
        told = subprocess.check_output([cloche, "tool", *words], text=True)
        for sign in "\x1b\r\u202e\u200b":
            assert sign not in told and sign not in p.stderr
        assert not any(line.startswith("fake") for line in told.splitlines())


def test_the_published_schema_is_what_the_program_checks_by(cloche, install):
    """An invalid manifest gets a line for each field the schema demands."""
    from pathlib import Path
    schema = json.loads(Path("docs/tool-manifest.schema.json").read_text())
    p = install(pack({"manifest.json": "{}", "x.wasm": module()}))
    for field in schema["required"]:
        assert f"  {field} is missing" in p.stderr


# ---- modules ---------------------------------------------------------------------------

WASI = "wasi_snapshot_preview1"
MODULES = {
    "not Wasm": (b"\x7fELF" + bytes(100), "not a Wasm module"),
    "cut off": (module()[:-3], "not a Wasm module"),
    "another's import": (module([("env", "system", "i:i")]), "`env::system`"),
    "unknown function": (module([(WASI, "fd_fly", ":i")]), f"`{WASI}::fd_fly`"),
    "wrong type": (module([(WASI, "proc_exit", "I:")]), f"`{WASI}::proc_exit`"),
    "no start": (module(start=None), "exports no function _start"),
    "start of another type": (module([(WASI, "proc_exit", "i:")], start="run"),
                              "exports no function _start"),
}


@pytest.mark.parametrize("wasm, why", MODULES.values(), ids=MODULES.keys())
def test_a_module_that_cannot_run_here_is_refused(install, wasm, why):
    assert why in refusal(install(package(wasm=wasm)))


def test_a_module_of_wasis_own_imports_is_accepted(install):
    imports = [(WASI, "proc_exit", "i:"), (WASI, "fd_write", "iiii:i"),
               (WASI, "random_get", "ii:i")]
    assert install(package(wasm=module(imports))).returncode == 0
