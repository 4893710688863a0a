"""cloche vm cp, and machines that the terminal keeps (--keep)."""
import os
import subprocess

import pytest

from conftest import ROOT
from machine_doors import needs_image
from wire import Stdio, call, structured

pytestmark = needs_image
CLOCHE = str(ROOT / "build" / "cloche")


@pytest.fixture
def here(tmp_path, monkeypatch):
    place = tmp_path / "here"
    (place / "dir" / "in").mkdir(parents=True)
    (place / "one").write_text("one\n")
    (place / "one").chmod(0o751)
    (place / "dir" / "in" / "it's").write_bytes(b"\0\xff")
    (place / "dir" / ".hidden").touch()
    (place / "dir" / "link").symlink_to("in")
    monkeypatch.chdir(place)
    return place


def vm(*words, code=0):
    done = subprocess.run([CLOCHE, "vm", *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def tools(here):
    vm("snapshot", "tools", "--", "true")


def test_files_go_into_a_snapshot_and_out_of_it(tools, here):
    vm("cp", "one", "tools:/root/")
    vm("cp", here / "one", "tools:/root/a/b")
    assert vm("exec", "--from", "tools", "cd /root; cat one a/b; stat -c %a one a/b; ls /mnt") == "one\none\n751\n751\n"
    vm("cp", "tools:/root/a/b", ".")
    vm("cp", "tools:/root/one", "two")
    assert (here / "b").read_text() == (here / "two").read_text() == "one\n"
    assert (here / "b").stat().st_mode & 0o777 == 0o751
    assert sorted(os.listdir(here)) == ["b", "dir", "one", "two"]


def test_folders_are_copied_whole_with_links_and_names(tools, here):
    vm("cp", "dir", "tools:/root")
    vm("cp", "dir/", "tools:/root/new")
    vm("cp", "one", "tools:/root/new/in")
    shown = vm("exec", "--from", "tools", "cd /root; find dir new | sort; readlink dir/link")
    assert shown.split() == ["dir", "dir/.hidden", "dir/in", "dir/in/it's", "dir/link", "new", "new/.hidden", "new/in",
                             "new/in/it's", "new/in/one", "new/link", "in"]
    vm("cp", "tools:/root/new", "out")
    assert (here / "out/in/it's").read_bytes() == b"\0\xff" and os.readlink(here / "out/link") == "in"
    (here / "into").mkdir()
    vm("cp", "tools:/root/dir", "into")
    assert (here / "into/dir/in/it's").exists()
    assert "into/dir" in vm("cp", "tools:/root/dir", "into", code=1)
    assert os.listdir(here / "into") == ["dir"]


def test_large_files_are_whole(tools, here):
    data = os.urandom(1 << 20) * 20
    (here / "large").write_bytes(data)
    vm("cp", "large", "tools:/root/large")
    vm("cp", "tools:/root/large", "back")
    assert (here / "back").read_bytes() == data


@pytest.mark.parametrize("words, says", [
    (("none", "tools:/x"), "No such file"), (("tools:/none", "x"), "No such file"), (("one", "two"), "NAME:/PATH"),
    (("tools:/a", "tools:/b"), "NAME:/PATH"), (("one", "none:/x"), "no machine is saved"),
    (("one", "tools:/proc/x"), "in the machine"), (("tools:/dev/null", "x"), "not permitted"),
    (("tools:/root/.bashrc", "none/x"), "No such file"), (("one",), "SOURCE"),
    (("--caller", "nobody", "one", "tools:/x"), "no such caller")], ids=str)
def test_what_cannot_be_copied_is_said_and_changes_nothing(tools, here, words, says):
    before = vm("snapshots")
    done = subprocess.run([CLOCHE, "vm", "cp", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode != 0 and says in done.stderr, done.stderr
    assert vm("snapshots") == before
    assert sorted(os.listdir(here)) == ["dir", "one"]


def test_a_machine_of_the_terminal_is_kept_and_found_again(here):
    vm("exec", "--keep", "dev", "echo kept >/root/f; exit 3", code=3)
    assert vm("exec", "--keep", "dev", "--", "cat", "/root/f") == "kept\n"
    vm("cp", "one", "dev:/root")
    assert vm("exec", "--keep", "dev", "ls /root") == "f\none\n"
    vm("cp", "dev:/root/f", "f")
    assert (here / "f").read_text() == "kept\n"
    assert "machine" in vm("snapshots")
    for other in (("--mount", f"{here}:/h"), ("--save", "x")):
        assert "--keep" in vm("exec", "--keep", "dev", *other, "--", "true", code=2)
    vm("snapshots", "--delete", "dev")
    assert vm("exec", "--keep", "dev", "ls /root") == ""


def test_machines_that_agents_keep_are_copied_from_and_into(here, vault):
    with Stdio([CLOCHE, "mcp", "--vault", str(vault)]) as agent:
        structured(agent.ask(call("vm_start", {"keep": True, "name": "dev"})))
        structured(agent.ask(call("vm_exec", {"machine": "dev", "command": "echo plot >/root/plot"})))
        structured(agent.ask(call("vm_snapshot", {"machine": "dev", "name": "shot"})))
        structured(agent.ask(call("vm_stop", {"machine": "dev"})))
        caller, = {line.split()[3] for line in vm("snapshots").splitlines()[1:]}
        vm("cp", "--caller", caller, "dev:/root/plot", ".")
        assert (here / "plot").read_text() == "plot\n"
        vm("cp", "--caller", caller, "one", "dev:/root")
        vm("cp", "--caller", caller, "one", "shot:/root/two")
        assert "no such caller" in vm("cp", "dev:/root/plot", "x", code=1)
        said = structured(agent.ask(call("vm_exec", {"machine": "dev", "command": "ls /root"})))
        assert said["stdout"] == "one\nplot\n"
        # While it runs, it is read as it was last frozen, and not written.
        assert "dev" in vm("cp", "--caller", caller, "one", "dev:/root/three", code=1)
        vm("cp", "--caller", caller, "dev:/root/one", "again")
        machine = structured(agent.ask(call("vm_restore", {"name": "shot"})))["machine"]
        said = structured(agent.ask(call("vm_exec", {"machine": machine, "command": "ls /root"})))
        assert said["stdout"] == "plot\ntwo\n"
