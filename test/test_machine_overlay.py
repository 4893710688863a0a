"""Changes of overlays, written to their folders: cloche vm exec --changes, vm.exec with apply, vm.apply."""
import json
import os
import re
import subprocess

import pytest

from conftest import ROOT
from machine_doors import needs_image
from wire import Stdio, call, structured

pytestmark = needs_image

CLOCHE = str(ROOT / "build" / "cloche")
WORK = "echo two >a; mkdir -p d/e; echo x >d/e/x; rm gone; mv b moved"


@pytest.fixture
def env(tmp_path):
    return {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("a", "b", "gone"):
        (tmp_path / "folder" / name).write_text("one\n")
    return tmp_path / "folder"


def files(folder):
    return {str(f.relative_to(folder)): f.read_text() for f in sorted(folder.rglob("*")) if f.is_file()}


BEFORE = {"a": "one\n", "b": "one\n", "gone": "one\n"}
AFTER = {"a": "two\n", "moved": "one\n", "d/e/x": "x\n"}


def cloche(env, *words, code=0):
    done = subprocess.run([CLOCHE, *words], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def overlay(env, folder, changes, command=WORK, code=0):
    return cloche(env, "vm", "exec", "--mount", f"{folder}:/w:overlay", "--changes", changes, "--cwd", "/w", command, code=code)


# ---- a person ---------------------------------------------------------------------------


def test_a_person_sees_what_changed(env, folder):
    assert overlay(env, folder, "show").splitlines() == ["- gone", "- b", "~ a", "+ d/", "+ moved", "+ d/e/", "+ d/e/x"]
    assert files(folder) == BEFORE
    assert "nothing changed" in overlay(env, folder, "show", "cat a >/dev/null")
    assert "show, keep or apply" in overlay(env, folder, "all", "true", code=2)


def test_a_person_writes_what_changed_where_the_command_succeeded(env, folder):
    assert "nothing was written" in overlay(env, folder, "apply", WORK + "; exit 3", code=3)
    assert files(folder) == BEFORE
    assert "7 changes in /w are written" in overlay(env, folder, "apply")
    assert files(folder) == AFTER and not (folder / ".cloche").exists()
    assert "vm apply" in cloche(env, "audit")


def test_changes_are_kept_looked_at_and_written_later(env, folder):
    kept = re.search(r"cloche vm apply (\w{16})", overlay(env, folder, "keep"))[1]
    assert f"{kept}  20" in cloche(env, "vm", "changes") and files(folder) == BEFORE
    listed = cloche(env, "vm", "changes", kept)
    assert "+ d/e/x" in listed and cloche(env, "vm", "apply", kept, "--dry-run") == listed
    assert f"7 changes are written to {folder}" in cloche(env, "vm", "apply", kept)
    assert files(folder) == AFTER
    assert "no changes are kept" in cloche(env, "vm", "changes")
    assert "no changes are kept as" in cloche(env, "vm", "apply", kept, code=1)


def test_kept_changes_are_refused_where_the_folder_was_changed(env, folder):
    kept = re.search(r"cloche vm apply (\w{16})", overlay(env, folder, "keep"))[1]
    (folder / "a").write_text("mine\n")
    (folder / "moved").write_text("mine\n")
    assert "! a\n! moved\n" in cloche(env, "vm", "apply", kept, "--dry-run", code=1)
    assert "a and 1 more were changed" in cloche(env, "vm", "apply", kept, code=1)
    assert files(folder) == {**BEFORE, "a": "mine\n", "moved": "mine\n"}
    cloche(env, "vm", "changes", kept, "--remove")
    assert "no changes are kept" in cloche(env, "vm", "changes")


def test_modes_times_links_and_all_names_are_written(env, folder):
    command = r"""chmod 755 a; touch -d '2001-02-03 04:05:06.789012345 UTC' b; ln -s a link; printf x >"$(printf '\377\n ')"; chmod 600 gone"""
    done = cloche(env, "vm", "exec", "--mount", f"{folder}:/w:overlay:links", "--changes", "apply", "--cwd", "/w", command)
    assert "5 changes" in done
    assert [oct((folder / n).stat().st_mode & 0o777) for n in ("a", "gone")] == ["0o755", "0o600"]
    assert (folder / "b").stat().st_mtime_ns == 981173106789012345
    assert os.readlink(folder / "link") == "a" and b"\xff\n " in os.listdir(os.fsencode(folder))


# ---- agents -------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path, env, folder):
    vault = tmp_path / "vault"
    for place in (vault, tmp_path / "config" / "cloche"):
        place.mkdir(parents=True)
    policy = {"mounts": [{"guest": "/data", "host": str(folder), "mode": "rw"}, {"guest": "/fixed", "host": str(folder)}],
              "vm": {"permission": "always"}}
    (tmp_path / "config" / "cloche" / "policy.json").write_text(json.dumps(policy))

    def evaluate(code):
        done = subprocess.run([CLOCHE, "eval", "--vault", str(vault), "--timeout", "30000", "-e", code], env=env,
                              capture_output=True, text=True)
        print(done.stdout, done.stderr)
        return json.loads(done.stdout)

    evaluate.vault = vault
    return evaluate


def test_code_writes_what_a_command_changed(server, folder):
    got = server(f"""const at = (apply) => ({{cwd: '/w', mounts: [{{mount: '/data', at: '/w', mode: 'overlay', apply}}]}});
        const told = await vm.exec('{WORK}', at(false)), written = await vm.exec('{WORK}; false', at(true));
        return [told, written, (await vm.exec('true', at(true))).applied];""")["result"]
    change = {"at": "/w", "mount": "/data", "created": ["d/", "moved", "d/e/", "d/e/x"], "changed": ["a"], "deleted": ["gone", "b"]}
    assert got[0]["applied"] == [{**change, "applied": False, "conflicts": []}]
    assert got[1]["applied"] == [{**change, "applied": True}] and got[1]["exitCode"] == 1
    assert got[2] == [{"at": "/w", "mount": "/data", "applied": True, "created": [], "changed": [], "deleted": []}]
    assert files(folder) == AFTER


def test_an_overlay_that_stays_is_written_when_the_code_says_so(server, folder):
    got = server(f"""const m = await vm.start({{mounts: [{{mount: '/data', at: '/w', mode: 'overlay'}}]}}), at = {{machine: m.machine, at: '/w'}};
        await vm.exec('cd /w; {WORK}', {{machine: m.machine}});
        const seen = await vm.apply({{...at, dryRun: true}}), before = await vm.exec('cat /w/a; pwd', {{machine: m.machine}});
        const done = await vm.apply(at), none = await vm.apply({{...at, dryRun: true}});
        const after = await vm.exec('cd /w; cat a; echo three >a; cat a', {{machine: m.machine}});
        return [seen, before.stdout, done, none, after.stdout, (await vm.apply(at)).changed];""")["result"]
    assert got[0]["conflicts"] == [] and got[0]["applied"] is False and got[0]["changed"] == ["a"]
    assert got[1] == "two\n/w\n" and got[2]["applied"] is True and got[2]["deleted"] == ["gone", "b"]
    assert got[3]["created"] == got[3]["changed"] == [] and got[4:] == ["two\nthree\n", ["a"]]
    assert files(folder) == {**AFTER, "a": "three\n"}


def test_what_was_changed_on_the_host_is_a_conflict_and_the_overlay_stays(server, folder):
    got = server("""const m = await vm.start({mounts: [{mount: '/data', at: '/w', mode: 'overlay'}, '/data']}), at = {machine: m.machine, at: '/w'};
        await vm.exec('echo two >/w/a; echo n >/w/new; echo theirs >/data/a', {machine: m.machine});
        let refused; try { await vm.apply(at); } catch (e) { refused = [e.name, e.message]; }
        const seen = await vm.apply({...at, dryRun: true}), still = await vm.exec('cat /w/a /w/new', {machine: m.machine});
        const one = await vm.exec('echo mine >/x/a; echo theirs again >/data/a', {machine: m.machine,
            mounts: [{mount: '/data', at: '/x', mode: 'overlay', apply: true}]});
        return [refused, seen.conflicts, still.stdout, one];""")["result"]
    assert got[0][0] == "Conflict" and "/w: a was changed on the host" in got[0][1]
    assert got[1] == ["a"] and got[2] == "two\nn\n"
    assert got[3]["success"] is False and got[3]["errorDetails"]["type"] == "Conflict"
    assert got[3]["applied"][0]["conflicts"] == ["a"] and got[3]["applied"][0]["applied"] is False
    assert files(folder) == {**BEFORE, "a": "theirs again\n"}


@pytest.mark.parametrize("mount, part", [
    ("{mount: '/fixed', mode: 'overlay', apply: true}", "read-only by the policy"), ("{mount: '/data', apply: true}", "an overlay"),
    ("{mount: '/data', mode: 'rw', apply: true}", "an overlay"), ("{mount: '/vault', mode: 'overlay', apply: true}", "mode: 'rw'"),
    ("{files: {}, at: '/d', apply: true}", "an overlay"), ("{mount: '/data', mode: 'overlay', apply: 'yes'}", "apply")],
    ids=["fixed", "usual", "rw", "vault", "files", "word"])
def test_what_may_not_be_written_is_refused_before_the_command(server, folder, mount, part):
    got = server(f"try {{ await vm.exec('true', {{mounts: [{mount}]}}); return 'ran'; }} catch (e) {{ return e.message; }}")
    assert part in got["result"]


def test_a_folder_that_the_policy_gives_read_only_is_only_looked_at(server, folder):
    got = server("""const m = await vm.start({mounts: [{mount: '/fixed', at: '/w', mode: 'overlay'}]}), at = {machine: m.machine, at: '/w'};
        await vm.exec('echo two >/w/a', {machine: m.machine});
        const refused = async (o) => { try { await vm.apply(o); return 'applied'; } catch (e) { return e.message; } };
        return [(await vm.apply({...at, dryRun: true})).changed, await refused(at), await refused({...at, at: '/none'}),
                await refused({machine: m.machine}), await refused({...at, force: true})];""")["result"]
    assert got[0] == ["a"] and "read-only by the policy" in got[1] and "no overlay stays at '/none'" in got[2]
    assert "at is missing" in got[3] and "force" in got[4]
    assert files(folder) == BEFORE


def test_a_command_that_is_stopped_has_written_nothing(server, folder):
    got = server("""const r = await vm.exec('echo two >/w/a; sleep 100', {timeoutMs: 3000,
        mounts: [{mount: '/data', at: '/w', mode: 'overlay', apply: true}]}); return [r.timedOut, r.applied ?? null];""")["result"]
    assert got == [True, None] and files(folder) == BEFORE


def test_an_overlay_of_a_person_is_written_only_if_they_said_so(env, server, folder):
    words = [CLOCHE, "mcp", "--vault", str(server.vault), "--mount", f"{folder}:/over:overlay", "--mount", f"{folder}:/may:overlay:apply"]
    with Stdio(words, env=env) as agent:
        ask = lambda name, **arguments: agent.ask(call(name, arguments))["result"]
        refused = ask("vm_exec", command="true", mounts=[{"mount": "/over", "mode": "overlay", "apply": True}])
        assert "a person adds ':apply'" in json.dumps(refused)
        machine = structured({"result": ask("vm_start", mounts=["/over", "/may"])})["machine"]
        ask("vm_exec", command="echo two >/over/b; echo two >/may/a", machine=machine)
        assert "a person adds ':apply'" in json.dumps(ask("vm_apply", machine=machine, at="/over"))
        assert structured({"result": ask("vm_apply", machine=machine, at="/may")})["changed"] == ["a"]
    assert files(folder) == {**BEFORE, "a": "two\n"}


def test_each_path_that_is_written_is_in_the_record(env, server, folder):
    server(f"await vm.exec('{WORK}', {{cwd: '/w', mounts: [{{mount: '/data', at: '/w', mode: 'overlay', apply: true}}]}});")
    records = [json.loads(line) for line in cloche(env, "audit", "--json", "--vault", str(server.vault)).splitlines()]
    written = [row for r in records for row in r.get("written", [])]
    assert {(w["path"], w["change"]) for w in written} == {("a", "changed"), ("d/", "created"), ("d/e/", "created"), ("d/e/x", "created"),
                                                          ("moved", "created"), ("gone", "deleted"), ("b", "deleted")}
    assert all(w["mount"] == "/data" for w in written) and all(("hash" in w) == (w["path"] in ("a", "d/e/x", "moved")) for w in written)


def test_a_mount_that_ends_where_a_writing_died_is_whole(env, folder):
    """The next use of a mount completes what was recorded; test/crash of each system call is in writeback_test.c."""
    for name in range(200):
        (folder / f"f{name}").write_text("one\n")
    kept = re.search(r"cloche vm apply (\w{16})", overlay(env, folder, "keep", "for f in *; do echo two >$f; done"))[1]
    for ms in range(2, 60, 6):
        subprocess.run(["timeout", "-s", "KILL", f"{ms / 1000}", CLOCHE, "vm", "apply", kept], env=env, capture_output=True)
        cloche(env, "vm", "exec", "--mount", f"{folder}:/w:ro", "true")
        seen = {f.read_text() for f in folder.iterdir() if f.is_file()}
        assert len(seen) == 1, ms
        if seen == {"two\n"}:
            break
