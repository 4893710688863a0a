"""fs in an evaluation: files in memory, and the folders that the policy mounts."""

import json
import os
import subprocess

import pytest

from wire import Stdio, call


@pytest.fixture
def run(cloche, tmp_path):
    """Evaluates code that has files, in a server of its own; returns the whole answer."""
    (tmp_path / "vault").mkdir()
    with Stdio([cloche, "mcp", "--vault", str(tmp_path / "vault")]) as client:

        def evaluate(code, **arguments):
            reply = client.ask(call("evaluate_note_code", {
                "code": code, "enableFileSystem": True, **arguments}))
            return reply["result"]["structuredContent"]

        yield evaluate


def test_there_is_no_fs_unless_it_is_asked_for(run):
    assert run("typeof fs", enableFileSystem=False)["result"] == "undefined"
    assert run("typeof fs")["result"] == "object"
    assert run("fs.readFile('/a')", enableFileSystem=False)["errorDetails"]["name"] == \
        "ReferenceError"


def test_files_are_written_and_read(run):
    answer = run("""
        await fs.writeFile('/a.txt', 'hé😀');
        await fs.appendFile('/a.txt', new TextEncoder().encode('!'));
        await fs.promises.writeFile('b', new Uint8Array([0, 127, 128, 255]).subarray(1));
        fs.writeFileSync('/c', 'aGk', 'base64');
        fs.writeFileSync('/d', 'ff00', { encoding: 'hex' });
        fs.writeFileSync('/e', new ArrayBuffer(2));
        return {
          text: await fs.readFile('/a.txt', 'utf8'),
          sync: fs.readFileSync('a.txt', { encoding: 'utf-8' }),
          bytes: [...await fs.readFile('/b')],
          isBytes: fs.readFileSync('/b') instanceof Uint8Array,
          base64: fs.readFileSync('/b', 'base64'), hex: fs.readFileSync('/b', 'hex'),
          latin1: fs.readFileSync('/b', 'latin1'),
          c: fs.readFileSync('/c', 'utf8'), d: [...fs.readFileSync('/d')],
          e: fs.statSync('/e').size,
          bad: fs.readFileSync('/b', 'utf8'),
        };""")["result"]
    assert answer == {
        "text": "hé😀!", "sync": "hé😀!", "bytes": [127, 128, 255], "isBytes": True,
        "base64": "f4D/", "hex": "7f80ff", "latin1": "\x7f\x80\xff", "c": "hi", "d": [255, 0],
        "e": 2, "bad": "\x7f\ufffd\ufffd"}


def test_folders_are_made_listed_and_removed(run):
    answer = run("""
        const made = await fs.mkdir('/x/y/z', { recursive: true });
        const again = await fs.mkdir('/x/y', { recursive: true });
        fs.writeFileSync('/x/f', '1');
        fs.writeFileSync('/x/y/g', '1');
        const entries = await fs.readdir('/x', { withFileTypes: true });
        const all = fs.readdirSync('/x', { recursive: true });
        const root = fs.readdirSync('/', { recursive: true });
        const deep = fs.readdirSync('x', { recursive: true, withFileTypes: true });
        await fs.rename('/x/y', '/w');
        await fs.copyFile('/w/g', '/g');
        const moved = fs.readdirSync('/w');
        await fs.rm('/w', { recursive: true });
        await fs.rm('/none', { force: true });
        await fs.unlink('/g');
        return [made, again ?? null, entries.map((e) => [e.name, e.parentPath, e.isFile(), e.isDirectory()]),
                all, root, deep.map((e) => e.parentPath + '/' + e.name), moved, fs.readdirSync('/')];""")
    assert answer["success"], answer["error"]
    assert answer["result"] == [
        "/x", None, [["f", "/x", True, False], ["y", "/x", False, True]],
        ["f", "y", "y/g", "y/z"], ["x", "x/f", "x/y", "x/y/g", "x/y/z"],
        ["x/f", "x/y", "x/y/g", "x/y/z"], ["g", "z"], ["x"]]


def test_what_a_path_is(run):
    answer = run("""
        const before = Date.now();
        fs.writeFileSync('/f', 'abc');
        const s = await fs.stat('/f');
        await fs.truncate('/f', 1);
        fs.accessSync('/f', fs.constants.W_OK);
        return [s.size, s.isFile(), s.isDirectory(), s.mtime instanceof Date,
                s.mtimeMs >= before - 1000, fs.lstatSync('/').isDirectory(), fs.existsSync('/f'),
                await fs.exists('/g'), fs.statSync('/g', { throwIfNoEntry: false }) ?? 'none',
                fs.readFileSync('/f', 'utf8')];""")["result"]
    assert answer == [3, True, False, True, True, True, True, False, "none", "a"]


@pytest.mark.parametrize(
    "code, errno",
    [
        ("fs.readFileSync('/none')", "ENOENT"),
        ("fs.writeFileSync('/no/f', '')", "ENOENT"),
        ("fs.readFileSync('/')", "EISDIR"),
        ("fs.writeFileSync('/d', '')", "EISDIR"),
        ("fs.unlinkSync('/d')", "EISDIR"),
        ("fs.rmSync('/d')", "EISDIR"),
        ("fs.readdirSync('/f')", "ENOTDIR"),
        ("fs.readFileSync('/f/x')", "ENOTDIR"),
        ("fs.mkdirSync('/f/x', { recursive: true })", "ENOTDIR"),
        ("fs.mkdirSync('/d')", "EEXIST"),
        ("fs.mkdirSync('/f', { recursive: true })", "EEXIST"),
        ("fs.writeFileSync('/f', '', { flag: 'wx' })", "EEXIST"),
        ("fs.copyFileSync('/f', '/f2', fs.constants.COPYFILE_EXCL); "
         "fs.copyFileSync('/f', '/f2', fs.constants.COPYFILE_EXCL)", "EEXIST"),
        ("fs.rmdirSync('/d')", "ENOTEMPTY"),
        ("fs.renameSync('/d', '/d/e/x')", "EINVAL"),
        ("fs.writeFileSync('/' + 'n'.repeat(256), '')", "ENAMETOOLONG"),
        ("fs.writeFileSync('/big', 'x'.repeat(33 * 2 ** 20))", "ENOSPC"),
        ("for (let i = 0; i < 33; i++) fs.appendFileSync('/big', 'x'.repeat(2 ** 20))", "ENOSPC"),
        ("fs.truncateSync('/f', 2 ** 40)", "ENOSPC"),
        ("for (let i = 0; i < 5001; i++) fs.writeFileSync('/d/' + i, '')", "ENOSPC"),
    ],
)
def test_failures_have_nodes_codes(run, code, errno):
    setup = "fs.mkdirSync('/d/e', { recursive: true }); fs.writeFileSync('/f', 'x');"
    caught = ("catch (e) { return [e.code, e instanceof Error, "
              "e.message.startsWith(e.code + ': '), typeof e.path, typeof e.syscall] }")
    answer = run(f"{setup} try {{ {code} }} {caught}")
    assert answer["result"] == [errno, True, True, "string", "string"], answer
    awaited = code.replace("Sync(", "(")
    if ";" not in code:
        answer = run(f"{setup} try {{ await {awaited} }} {caught}")
        assert answer["result"][0] == errno


@pytest.mark.parametrize(
    "code, words",
    [
        ("fs.readFileSync(5)", "a path must be a string"),
        ("fs.readFileSync('a\\0b')", "NUL"),
        ("fs.writeFileSync('/f', {a: 1})", "JSON.stringify"),
        ("fs.readFileSync('/f', 'utf99')", "utf99"),
        ("fs.writeFileSync('/f', '', {flag: 'q'})", "'q'"),
        ("fs.truncateSync('/f', -1)", "whole number"),
    ],
)
def test_wrong_arguments_are_told_in_words(run, code, words):
    assert words in run(code)["error"]


def test_an_error_knows_its_line(run):
    details = run("const a = 1;\n\nawait fs.readFile('/none');")["errorDetails"]
    assert details["message"] == "ENOENT: no such file or directory, open '/none'"
    assert details["line"] == 3


def test_nothing_outlives_the_evaluation(run):
    assert run("fs.writeFileSync('/f', 'x'); 1")["success"]
    assert run("fs.existsSync('/f')")["result"] is False
    assert run("fs.writeFileSync('/f', 'x'); 1", session="s")["success"]
    assert run("fs.existsSync('/f')", session="s")["result"] is False
    assert run("typeof fs", session="s", enableFileSystem=False)["result"] == "undefined"
    assert run("globalThis === undefined && typeof fs", session="s")["result"] == "object"


def test_the_host_is_not_there(run, tmp_path):
    for path in ("/etc/passwd", "../../../etc/passwd", str(tmp_path), "/proc/self/environ"):
        assert run(f"fs.existsSync({json.dumps(path)})")["result"] is False


def test_deep_folders_are_removed_and_listed(run):
    answer = run("""
        let path = '';
        for (let i = 0; i < 800; i++) path += '/d';
        fs.mkdirSync(path, { recursive: true });
        const listed = fs.readdirSync('/', { recursive: true }).length;
        fs.rmSync('/d', { recursive: true });
        return [listed, fs.readdirSync('/').length];""")
    assert answer["result"] == [800, 0]


# ---- mounts -----------------------------------------------------------------


@pytest.fixture
def mounted(tmp_path):
    """A folder that the user's policy mounts twice; the setting is in place."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "f.txt").write_text("text")
    (folder / ".hidden").write_text("h")
    (tmp_path / "secret").write_text("s")
    (folder / "out").symlink_to("../secret")
    policy = tmp_path / "config" / "cloche" / "policy.json"
    policy.parent.mkdir(parents=True)
    policy.write_text(json.dumps({"mounts": [
        {"guest": "/ro", "host": str(folder)},
        {"guest": "/rw", "host": str(folder), "mode": "rw"},
    ]}))
    policy.chmod(0o600)
    return folder


def test_the_policy_s_folders_are_there(mounted, run):
    answer = run("""
        fs.writeFileSync('/rw/new.txt', 'written');
        fs.writeFileSync('/memory', 'm');
        const text = fs.readFileSync('/ro/f.txt', 'utf8');
        const codes = [];
        for (const act of [() => fs.writeFileSync('/ro/x', ''), () => fs.unlinkSync('/ro/f.txt'),
                           () => fs.readFileSync('/rw/out'), () => fs.readFileSync('/rw/.hidden'),
                           () => fs.writeFileSync('/rw/.x', ''), () => fs.renameSync('/memory', '/rw/m'),
                           () => fs.rmSync('/rw', { recursive: true })])
          try { act(); codes.push('done') } catch (e) { codes.push(e.code) }
        return [text, codes];""")
    assert answer["success"], answer["error"]
    text, codes = answer["result"]
    assert text == "text"
    assert codes[:6] == ["EROFS", "EROFS", "ENOENT", "ENOENT", "EACCES", "EXDEV"]
    assert (mounted.parent / "secret").read_text() == "s"
    assert (mounted / ".hidden").read_text() == "h"


def test_a_read_only_scope_writes_to_no_mount(mounted, run, tmp_path):
    policy = tmp_path / "config" / "cloche" / "policy.json"
    policy.write_text(json.dumps({**json.loads(policy.read_text()), "readOnly": True}))
    answer = run("""
        fs.writeFileSync('/memory', 'm');
        try { fs.writeFileSync('/rw/x', ''); return 'written' } catch (e) { return e.code }""")
    assert answer["result"] == "EROFS", answer
    assert not (mounted / "x").exists()


def test_the_policy_may_say_no(run, tmp_path):
    policy = tmp_path / "config" / "cloche" / "policy.json"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text(json.dumps({"fileSystem": False}))
    policy.chmod(0o600)
    assert run("1")["errorDetails"]["type"] == "PermissionDenied"
    policy.unlink()
    assert run("1")["success"]


@pytest.mark.parametrize("level", ["limited", "zero"])
def test_levels_below_full_have_no_files(cloche, level):
    done = subprocess.run([cloche, "eval", "--files", "--level", level, "-e", "typeof fs"],
                          capture_output=True, text=True)
    assert json.loads(done.stdout)["errorDetails"]["type"] == "PermissionDenied"
