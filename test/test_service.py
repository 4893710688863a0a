"""`cloche service`: the unit that it writes, and what it asks systemd for."""
import os
import shutil
import subprocess

import pytest

from conftest import folders_in


@pytest.fixture
def service(tmp_path, cloche):
    """With a systemctl of the test's own, which notes its words."""
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "systemctl").write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path}/asked"\n[ ! -e "{tmp_path}/broken" ]\n')
    (bin / "systemctl").chmod(0o755)
    (tmp_path / 'my "50% $notes').mkdir()
    env = {**os.environ, **folders_in(tmp_path), "PATH": f"{bin}:{os.environ['PATH']}"}

    def run(*words, code=0, **more):
        done = subprocess.run([cloche, "service", *words], capture_output=True, text=True, timeout=60, env={**env, **more})
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stderr
    run.unit = tmp_path / "config" / "systemd" / "user" / "cloche.service"
    run.asked = lambda: (tmp_path / "asked").read_text().splitlines() if (tmp_path / "asked").exists() else []
    run.place = tmp_path
    return run


def test_it_is_installed_started_shown_and_removed(service):
    notes = service.place / 'my "50% $notes'
    assert "not installed" in service("status", code=1)
    assert "starts with your session" in service("install", "--vault", str(notes), "--listen", "127.0.0.1:7777")
    unit = service.unit.read_text()
    line = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    assert line.endswith(f'serve --vault "{service.place}/my \\"50%% $$notes" --listen "127.0.0.1:7777"')
    assert service.asked() == ["--user daemon-reload", "--user enable cloche.service", "--user restart cloche.service"]
    service("status")
    assert service.asked()[-1] == "--user status --no-pager cloche.service"
    assert service("remove") == "removed\n"
    assert not service.unit.exists()
    assert service.asked()[-2:] == ["--user disable --now cloche.service", "--user daemon-reload"]
    assert "not installed" in service("remove", code=1)


def test_its_unit_is_one_for_systemd(service):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("this system: systemd-analyze is not there")
    service("install", "--vault", str(service.place))
    done = subprocess.run(["systemd-analyze", "verify", "--user", str(service.unit)], capture_output=True, text=True)
    assert "cloche.service" not in done.stderr, done.stderr


def test_printing_writes_nothing(service):
    assert "[Install]" in service("install", "--print")
    assert not service.unit.exists() and service.asked() == []


def test_what_is_wrong_is_said(service):
    assert "No such file" in service("install", "--vault", "/nowhere/at/all", code=2)
    assert not service.unit.exists()
    assert "cloche service" in service("remove", "--listen", "x", code=2)
    (service.place / "broken").touch()
    assert "systemctl --user daemon-reload failed" in service("install", code=1)
    assert "needs systemd" in service("install", code=1, PATH="/nowhere")
