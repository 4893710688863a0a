"""Folders of this computer in a machine: cloche vm --mount, and mounts of the policy and the vault."""
import json
import os
import re
import sqlite3
import subprocess

import pytest

from conftest import ROOT, policy_in
from machine_doors import needs_image
from wire import Stdio, call, structured

pytestmark = needs_image


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"

CLOCHE = str(ROOT / "build" / "cloche")


def run(command, *mounts, code=0, **more):
    words = [CLOCHE, "vm", "exec"]
    for m in mounts:
        words += ["--mount", m]
    done = subprocess.run([*words, command], capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_a_folder_is_read_and_written(folder):
    (folder / "a").write_text("from the host")
    out = run("cat /work/a; echo from the machine > /work/b; mkdir /work/d; mv /work/b /work/d/c; ls /work",
              f"{folder}:/work")
    assert out == "from the hosta\nd\n"
    assert (folder / "d" / "c").read_text() == "from the machine\n"


def test_several_are_mounted_each_as_it_says(folder):
    for name in ("ro", "rw", "over"):
        (folder / name).mkdir()
        (folder / name / "f").write_text(name)
    out = run("""for d in ro rw over; do echo "new" > /m/$d/f 2>/dev/null; cat /m/$d/f; echo; done; touch /m/ro/x 2>&1;
                 rm /m/over/f; ls /m/over | wc -l""",
              f"{folder}/ro:/m/ro:ro", f"{folder}/rw:/m/rw", f"{folder}/over:/m/over:overlay")
    assert out == "ro\nnew\n\nnew\n\ntouch: cannot touch '/m/ro/x': Read-only file system\n0\n"
    assert [(folder / n / "f").read_text() for n in ("ro", "rw", "over")] == ["ro", "new\n", "over"]


def test_a_link_leads_nowhere_outside(folder):
    (folder / "in").mkdir()
    (folder / "secret").write_text("secret")
    (folder / "in" / "up").symlink_to("../secret")
    (folder / "in" / "absolute").symlink_to(folder / "secret")
    (folder / "in" / "host").symlink_to("/proc/self/root/etc/hostname")
    out = run("cd /work; cat up absolute 2>&1; cat host | head -c 6; ln -s x y 2>&1; mkfifo p 2>&1; mknod n c 1 3 2>&1;"
              "chmod 4755 . 2>&1; cat ../secret /work/../secret 2>&1; ls -A /work/.. | grep -c secret",
              f"{folder}/in:/work", code=1)
    assert "secret\n" not in out.replace("No such file", "") or "No such file or directory" in out
    assert out.count("No such file or directory") == 4
    assert out.count("Operation not permitted") == 4
    assert "cloche" in out and out.endswith("0\n")


def test_what_is_no_mount_is_said(folder):
    for wrong in (str(folder), f"{folder}:relative", f"{folder}/none:/work", f"{folder}:/proc", f"{folder}:/"):
        done = subprocess.run([CLOCHE, "vm", "exec", "--mount", wrong, "--", "true"], capture_output=True, text=True)
        assert done.returncode != 0 and "--mount" in done.stderr or "nothing is mounted" in done.stderr, wrong


def test_files_of_all_kinds_of_names_sizes_and_times(folder):
    out = run(r"""cd /work; python3 - <<'E'
import os, mmap
for n in (b'\xff\xfe', 'é'.encode(), b'x' * 255, b' ', b'a\nb', b'-rf'):
    open(n, 'wb').write(b'1')
os.utime('é', ns=(1_123_456_789, 2_987_654_321))
assert os.stat('é').st_mtime_ns == 2_987_654_321
with open('sparse', 'wb') as f:
    f.truncate(4 << 30); f.seek((4 << 30) - 1); f.write(b'!')
s = os.stat('sparse'); assert s.st_size == 4 << 30 and s.st_blocks < 1000, s
f = os.open('gone', os.O_RDWR | os.O_CREAT); os.unlink('gone'); os.write(f, b'abc'); os.fsync(f)
assert os.fstat(f).st_size == 3 and os.pread(f, 9, 1) == b'bc'
with open('map', 'w+b') as f:
    f.truncate(10000)
    m = mmap.mmap(f.fileno(), 10000); m[5000:5005] = b'hello'; m.flush(); m.close()
try: os.setxattr('map', 'user.x', b'1'); print('xattr')
except OSError as e: print(e.errno)
f = os.open('direct', os.O_RDWR | os.O_CREAT | os.O_DIRECT)
b = mmap.mmap(-1, 8192); b[:] = b'd' * 8192; assert os.writev(f, [b]) == 8192
print(os.statvfs('.').f_bsize, len(os.listdir(b'.')))
E""", f"{folder}:/work")
    assert out == "95\n4096 9\n"
    assert (folder / "map").read_bytes()[5000:5005] == b"hello"
    assert (folder / "direct").read_bytes() == b"d" * 8192
    assert os.path.exists(os.path.join(os.fsencode(folder), b"\xff\xfe"))


def test_git_tar_and_sqlite_work_in_a_mount(folder):
    out = run("""cd /work && git init -q . && for i in $(seq 50); do echo $i > f$i; done && git add . &&
        git -c user.name=x -c user.email=x@example.org commit -qm one && git status --porcelain && git clone -q . copy &&
        tar cf /tmp/t.tar .git && mkdir out && tar xf /tmp/t.tar -C out && diff -r .git out/.git && python3 - <<'E'
import sqlite3
db = sqlite3.connect('db', isolation_level=None)
print(db.execute('pragma journal_mode=wal').fetchone()[0])
db.execute('create table t (n)'); db.executemany('insert into t values (?)', [(i,) for i in range(1000)])
print(db.execute('select count(*) from t').fetchone()[0], db.execute('pragma integrity_check').fetchone()[0])
E""", f"{folder}:/work")
    assert out == "wal\n1000 ok\n"
    assert len(os.listdir(folder / "copy")) == 51


# Commits for ever, and says after each how many there are.
COMMITS = """
import sqlite3, sys
db = sqlite3.connect('/work/db', isolation_level=None)
db.execute('pragma journal_mode=wal'), db.execute('pragma synchronous=full')
db.execute('create table if not exists t (n)')
while True:
    db.execute('insert into t values (1)')
    print(db.execute('select count(*) from t').fetchone()[0], flush=True)
"""


@pytest.mark.parametrize("end", ["server", "machine"])
def test_what_was_committed_is_there_when_the_machine_or_its_server_is_killed(folder, end):
    """sqlite's WAL: also what was committed last is there, and the database is sound."""
    (folder / "commits.py").write_text(COMMITS)
    there = 0
    for commits in (1, 2, 30):
        with subprocess.Popen([CLOCHE, "vm", "exec", "--mount", f"{folder}:/work", "--", "bash", "-c",
                               "python3 /work/commits.py & read; echo b >/proc/sysrq-trigger; sleep 100"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            for _ in range(commits):
                said = int(process.stdout.readline())
            if end == "server":
                process.kill()
            else:
                process.stdin.write(b"now\n")
                process.stdin.close()
            said = max([said, *map(int, process.stdout.read().rpartition(b"\n")[0].split())])
        db = sqlite3.connect(folder / "db")
        assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
        there, before = db.execute("select count(*) from t").fetchone()[0], there
        db.close()
        assert there >= said >= before + commits


WRITES = """
import os, sys
root, who = sys.argv[1:]
for i in range(60):
    path = os.path.join(root, f'{who}{i}')
    with open(path + '.tmp', 'w') as f:
        f.write(who * 1000)
    os.rename(path + '.tmp', path)
    fd = os.open(os.path.join(root, 'log'), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, (who + chr(10)).encode())
    os.close(fd)
    assert len(os.listdir(root)) > i
"""


def test_two_machines_and_the_host_write_one_folder(folder, tmp_path):
    """Each makes, appends to and renames files of its own; all of them are there in the end."""
    (tmp_path / "writes.py").write_text(WRITES)
    runs = [subprocess.Popen(["python3", tmp_path / "writes.py", folder, "h"])]
    runs += [subprocess.Popen([CLOCHE, "vm", "exec", "--mount", f"{folder}:/work", "--", "python3", "-c", WRITES, "/work", who],
                              stdin=subprocess.DEVNULL) for who in "ab"]
    assert [r.wait(300) for r in runs] == [0, 0, 0]
    for who in "hab":
        for i in range(60):
            assert (folder / f"{who}{i}").read_text() == who * 1000
    assert sorted((folder / "log").read_text().split()) == sorted("hab" * 60)


# ---- agents ---------------------------------------------------------------------


@pytest.fixture
def server(tmp_path):
    """cloche eval over a vault, with a policy that mounts two folders."""
    vault, data, config = tmp_path / "vault", tmp_path / "shown", tmp_path / "config"
    for folder in (vault, data, config / "cloche"):
        folder.mkdir(parents=True)
    (vault / "one.md").write_text("# One\n")
    (data / "f").write_text("data")
    policy = {"mounts": [{"guest": "/data", "host": str(data), "mode": "rw"},
                         {"guest": "/fixed", "host": str(data)}], "vm": {"permission": "always"}}
    (config / "cloche" / "policy.json").write_text(json.dumps(policy))
    (config / "cloche" / "policy.json").chmod(0o600)
    env = {**os.environ, "XDG_CONFIG_HOME": str(config), "XDG_STATE_HOME": str(tmp_path / "state")}

    def evaluate(code):
        done = subprocess.run([CLOCHE, "eval", "--vault", str(vault), "--timeout", "30000", "-e", code], env=env,
                              capture_output=True, text=True)
        print(done.stdout, done.stderr)
        return json.loads(done.stdout)

    evaluate.vault, evaluate.data = vault, data
    return evaluate


def test_code_mounts_what_the_policy_names(server):
    got = server("""const r = await vm.exec('cat /data/f; echo more >> /data/f; cat /in/f; touch /in/x 2>&1; touch /o/x; ls /o',
        {mounts: ['/data', {mount: '/fixed', at: '/in'}, {mount: '/data', at: '/o', mode: 'overlay'}]});
        const after = await vm.exec('ls /data /in /o');
        return [r.stdout, after.stdout, after.stderr];""")["result"]
    assert got[0] == "datadatamore\ntouch: cannot touch '/in/x': Read-only file system\nf\nx\n"
    assert "f" not in got[1].split()
    assert (server.data / "f").read_text() == "datamore\n" and os.listdir(server.data) == ["f"]


@pytest.mark.parametrize("mounts, part", [
    ("['/etc']", "no mount '/etc'"), ("['/home']", "no mount"), ("[{mount: '/fixed', mode: 'rw'}]", "read-only by the policy"),
    ("[{mount: '/data', at: '/proc/x'}]", "nothing is mounted at"), ("[{mount: '/data', at: '../x'}]", "nothing is mounted at"),
    ("[{mount: '/data', host: '/etc'}]", "does not accept 'host'"), ("'/data'", "a list"), ("[7]", "mounts has"),
    ("['/data', '/data']", "mounted already"), ("[{mount: '/data', mode: 'x'}]", "the mode 'x'")],
    ids=["etc", "home", "rw", "place", "relative", "host", "text", "number", "twice", "mode"])
def test_what_the_policy_does_not_name_is_refused(server, mounts, part):
    got = server(f"try {{ await vm.exec('true', {{mounts: {mounts}}}); return 'ran'; }} catch (e) {{ return e.message; }}")
    assert part in got["result"]


def test_a_query_s_results_are_mounted_and_what_came_out_is_told(server):
    got = server(r"""const files = {};
        for (const n of await notes.list()) files[n.id + '.md'] = (await notes.get(n.id)).content;
        const r = await vm.exec('cat *.md; cat note/*.md >/out/all; printf "\\0\\377" >/out/d.bin; mkdir -p /out/a/b; echo deep >/out/a/b/c;' +
            'echo x >none', {cwd: '/in', mounts: [{files, at: '/in', mode: 'ro'}, {files: {old: 'o', same: 's'}, at: '/out'}]});
        const after = await vm.exec('ls -A /in /out');
        return [Object.keys(files), r, after.stdout.split('\n').filter((n) => n && !n.startsWith('/'))];""")["result"]
    assert got[0] == ["note/one.md"]
    told = {f["name"]: f.get("text", f.get("bytes")) for f in got[1]["files"]}
    assert told == {"/out/all": "# One\n", "/out/d.bin": [0, 255], "/out/a/b/c": "deep\n"}
    assert "Read-only" in got[1]["stderr"] and got[2] == []


@pytest.mark.parametrize("mount, part", [
    ("{files: {}}", "'at'"), ("{files: {}, at: '/d', mount: '/data'}", "no 'mount'"), ("{files: 3, at: '/d'}", "an object"),
    ("{files: {'../x': ''}, at: '/d'}", '".."'), ("{files: {'/x': ''}, at: '/d'}", "relative"), ("{files: {'x/': ''}, at: '/d'}", "no name"),
    ("{files: {x: 3}, at: '/d'}", "number"), ("{files: {a: '', 'a/b': ''}, at: '/d'}", "Not a directory"),
    ("{files: {}, at: '/proc/x'}", "nothing is mounted at"), ("{files: {['n'.repeat(300)]: ''}, at: '/d'}", "name too long")],
    ids=["nowhere", "both", "number", "above", "absolute", "folder", "contents", "within", "place", "long"])
def test_what_is_no_folder_in_memory_is_refused(server, mount, part):
    got = server(f"try {{ await vm.exec('true', {{mounts: [{mount}]}}); return 'ran'; }} catch (e) {{ return e.message; }}")
    assert part in got["result"]


def test_a_folder_in_memory_tells_no_more_than_an_answer_has_room_for(server):
    got = server(r"""const at = {cwd: '/out', mounts: [{files: {}, at: '/out'}]};
        const many = await vm.exec('for i in $(seq 1100); do echo $i >$i; done', at);
        const large = await vm.exec('head -c 9000000 /dev/zero >a; head -c 7000000 /dev/zero | tr "\\0" "\\"" >b; echo >c', at);
        return [many.files.length, many.filesLeftOut, large.files.map((f) => [f.name, f.size, (f.text ?? f.bytes ?? '').length])];""")["result"]
    assert got[:2] == [1000, 100]
    assert sorted(got[2]) == [["/out/a", 9000000, 0], ["/out/b", 7000000, 7000000], ["/out/c", 1, 1]]


def test_a_folder_in_memory_ends_with_its_command(server):
    got = server(r"""const out = {files: {}, at: '/out'}, at = {cwd: '/out', mounts: [out]};
        const over = await vm.exec('echo x >f', {cwd: '/out', mounts: [{...out, mode: 'overlay'}]});
        const full = await vm.exec('truncate -s 300M f; ls', at);
        const stopped = await vm.exec('echo x >f; sleep 100', {...at, timeoutMs: 2000});
        let started; try { await vm.start({mounts: [out]}); } catch (e) { started = e.message; }
        return [over.files ?? null, full.stderr, stopped.timedOut, stopped.files ?? null, started];""")["result"]
    assert got[0] is None and "No space left" in got[1] and got[2:4] == [True, None] and "by a command" in got[4]


def test_a_mounted_vault_changes_as_one_and_at_once(server):
    got = server("""const r = await vm.exec('cat one.md; echo "# Two" > two.md; echo more >> one.md; ls -A',
            {cwd: '/vault', mounts: [{mount: '/vault', mode: 'rw'}]});
        return [r, await notes.search('Two'), (await notes.get('one')).content];""")["result"]
    r = got[0]
    assert r["stdout"] == "# One\none.md\ntwo.md\n" and r["changed"] is True
    assert r["vault"] == {"created": ["two.md"], "changed": ["one.md"]}
    assert "two" in json.dumps(got[1]) and got[2].endswith("more\n")
    assert (server.vault / "two.md").read_text() == "# Two\n"


def test_a_vault_is_read_only_unless_it_is_said(server):
    got = server("return (await vm.exec('echo x > /vault/new.md', {mounts: ['/vault']})).stderr;")["result"]
    assert "Read-only file system" in got
    assert os.path.exists(server.vault / "new.md") is False


def test_a_command_that_is_stopped_changes_no_note(server):
    got = server("""const r = await vm.exec('echo x > /vault/new.md; sleep 100', {timeoutMs: 3000,
        mounts: [{mount: '/vault', mode: 'rw'}]}); return [r.timedOut, r.changed];""")["result"]
    assert got[0] is True and len(got) == 2 and not got[1]
    assert not os.path.exists(server.vault / "new.md")


def test_a_machine_may_have_mounts_for_as_long_as_it_is_there(server):
    got = server("""const m = await vm.start({ramMB: 512, mounts: ['/data', {mount: '/fixed', at: '/in'}]});
        const at = {machine: m.machine};
        const one = await vm.exec('echo x > /data/g; cat /in/g', at), two = await vm.exec('rm /data/g; ls /in', at);
        let refused; try { await vm.start({mounts: ['/vault']}); } catch (e) { refused = e.message; }
        return [one.stdout, two.stdout, refused];""")["result"]
    assert got[:2] == ["x\n", "f\n"] and "by a command" in got[2]


def test_a_machine_is_not_used_where_its_mounts_are_not_given(server):
    (server.vault / ".cloche").mkdir(exist_ok=True)
    code = """const m = await vm.start({mounts: ['/data']});
        return (await vm.exec('ls /data', {machine: m.machine})).stdout;"""
    assert server(code)["result"] == "f\n"
    (server.vault / ".cloche" / "policy.json").write_text('{"mounts": [{"guest": "/fixed", "host": "/x"}]}')
    assert "no mount '/data'" in json.dumps(server(code))


def test_a_fork_has_the_mounts_of_its_machine(server):
    got = server("""const m = await vm.start({ramMB: 512, mounts: ['/data', {mount: '/fixed', at: '/in'},
            {mount: '/data', at: '/over', mode: 'overlay'}]});
        await vm.exec('echo mine > /over/f; exec 9</data/f; cd /data', {machine: m.machine, session: 's'});
        const c = await vm.fork({machine: m.machine});
        const child = {machine: c.machine, session: 's'};
        const seen = await vm.exec('cat /over/f; echo x > /data/g; echo y > /over/h; touch /in/x', child);
        const past = await vm.exec('cat <&9; ls .; cat /data/f', child);
        const parent = await vm.exec('cat /over/f /data/g; ls /over', {machine: m.machine});
        await vm.stop({machine: m.machine});
        const alone = await vm.exec('cat /data/f /in/g', child);
        return [seen, past, parent, alone].map(r => [r.stdout, r.stderr]);""")["result"]
    assert got[0][0] == "data" and "Read-only" in got[0][1]
    assert got[1][0] == "data" and got[1][1].count("Stale file handle") == 2
    assert got[2] == ["mine\nx\nf\ng\n", ""]
    assert got[3] == ["datax\n", ""]
    assert sorted(os.listdir(server.data)) == ["f", "g"]


def test_a_fork_has_other_mounts_where_they_are_given(server):
    got = server("""const m = await vm.start({ramMB: 512, mounts: ['/data']});
        const c = await vm.fork({machine: m.machine, mounts: [{mount: '/fixed', at: '/data'}, {mount: '/data', at: '/more'}]});
        return (await vm.exec('touch /data/x; cat /more/f', {machine: c.machine}));""")["result"]
    assert got["stdout"] == "data" and "Read-only" in got["stderr"]


def test_a_command_s_mounts_are_not_those_of_a_fork(server):
    got = server("""const m = await vm.start({ramMB: 512});
        const at = {machine: m.machine};
        const long = vm.exec('cat f; touch begun; while [ ! -e end ]; do sleep 0.1; done', {...at, cwd: '/data', mounts: ['/data']});
        const beside = {...at, session: 'b'};
        while (!(await vm.exec('ls /data', beside)).stdout.includes('begun'));
        const c = await vm.fork(at);
        const there = await vm.exec('ls /data; touch /data/of-the-copy', {machine: c.machine});
        await vm.exec('touch /x/end', {...beside, mounts: [{mount: '/data', at: '/x'}]});
        return [there.stdout, (await long).stdout];""")["result"]
    assert got == ["", "data"]
    assert sorted(os.listdir(server.data)) == ["begun", "end", "f"]


def test_a_snapshot_has_places_for_mounts_and_no_mount(server):
    got = server("""const m = await vm.start({ramMB: 512, mounts: ['/data']});
        await vm.exec('echo kept > /root/k; cat /data/f', {machine: m.machine});
        await vm.snapshot({name: 'with', machine: m.machine});
        await vm.stop({machine: m.machine});
        const bare = await vm.restore({name: 'with'});
        const one = await vm.exec('ls -A /data; cat /root/k', {machine: bare.machine});
        await vm.stop({machine: bare.machine});
        const again = await vm.restore({name: 'with', mounts: [{mount: '/fixed', at: '/data'}]});
        const two = await vm.exec('cat /data/f; umount /data; ls -A /data', {machine: again.machine});
        return [one, two].map(r => [r.stdout, r.stderr]);""")["result"]
    assert got == [["kept\n", ""], ["data", ""]]


def test_a_kept_machine_has_no_mount_of_a_command_that_its_freezing_ended(server):
    got = server("""const at = {machine: 'dev'};
        await vm.start({keep: true, name: 'dev'});
        const long = vm.exec('touch begun; sleep 100', {...at, cwd: '/data', mounts: ['/data']}).catch(e => e.message);
        while (!(await vm.exec('ls /data', {...at, session: 'b'})).stdout.includes('begun'));
        await vm.stop(at);
        await vm.start({keep: true, name: 'dev'});
        const r = await vm.exec('ls -A /data && echo empty', at);
        return [await long, r.stdout, r.stderr];""")["result"]
    assert "frozen" in json.dumps(got[0]) and got[1:] == ["empty\n", ""]


def agent_with(vault, *mounts):
    return Stdio([CLOCHE, "mcp", "--vault", str(vault), *[word for m in mounts for word in ("--mount", m)]])


def test_a_server_of_one_client_has_mounts_of_its_person(vault, folder, tmp_path):
    (folder / "a").write_text("from the host\n")
    with agent_with(vault, f"{folder}:/data", f"{folder}:/over:overlay") as agent:
        def refusal(**arguments):
            return agent.ask(call("vm_exec", {"command": "true", **arguments}))["result"]["content"][0]["text"]

        exec_ = lambda command, *mounts: structured(agent.ask(call("vm_exec", {"command": command, "mounts": mounts})))
        assert exec_("cat /data/a; echo b >/data/b", "/data")["stdout"] == "from the host\n"
        assert exec_("cat /data/b", {"mount": "/data", "mode": "ro"})["stdout"] == "b\n"
        assert exec_("rm /over/a; ls /over", "/over")["stdout"] == "b\n"
        assert exec_("echo >/over/c", {"mount": "/over", "mode": "ro"})["exitCode"] != 0
        assert "overlay" in refusal(mounts=[{"mount": "/over", "mode": "rw"}])
        assert "no mount '/none'" in refusal(mounts=["/none"])
        # Only machines have them.
        got = structured(agent.ask(call("evaluate_note_code", {"code": "return await fs.promises.readdir('/data')",
                                                               "enableFileSystem": True})))
        assert not got["success"]
    assert sorted(f.name for f in folder.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("policy, command, part", [
    ({"readOnly": True}, "touch /data/x", "Read-only|readOnly|denied"), ({"fileSystem": False}, "ls /data", "fileSystem")],
    ids=["readOnly", "fileSystem"])
def test_the_policy_holds_for_mounts_of_a_person(vault, folder, tmp_path, policy, command, part):
    policy_in(tmp_path, policy)
    with agent_with(vault, f"{folder}:/data") as agent:
        result = agent.ask(call("vm_exec", {"command": command, "mounts": ["/data"]}))["result"]
        assert re.search(part, result["content"][0]["text"])
    assert not list(folder.iterdir())


def test_no_mount_of_a_person_leads_to_our_own_folders(vault, folder, tmp_path):
    config = policy_in(tmp_path, {})
    with agent_with(vault, f"{tmp_path}:/data") as agent:
        result = agent.ask(call("vm_exec", {"command": "ls", "mounts": ["/data"]}))["result"]
        assert "settings" in result["content"][0]["text"], config


def test_a_server_does_not_start_with_what_is_no_mount(vault):
    done = subprocess.run([CLOCHE, "mcp", "--vault", str(vault), "--mount", "relative"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "--mount" in done.stderr
