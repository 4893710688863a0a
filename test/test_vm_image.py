"""The Linux machine's image (guest/vm/image): dpkg's database, programs that run, packages that a
user can add, and reproducible builds.

The machine is our own as a program of this computer (build/vm-native), with the real init.
"""
import filecmp
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import needs
from machine import IMAGE, ROOT, Native

RECIPE = ROOT / "guest/vm/image"

# On a bare machine the image is there before its tests are: ./check makes it.
pytestmark = needs.installed(IMAGE / "root.erofs", by="make vm")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    with Native(tmp_path_factory.mktemp("machine")) as m:
        yield m


def said(machine, command):
    done = machine.exec(command)
    assert done.exit == 0, (command, done)
    return done.stdout.decode()


def pinned():
    lines = (ROOT / "deps/debian-root.txt").read_text().splitlines()
    return {tuple(line.split()[2:4]) for line in lines if line.startswith("root ")}


def fetched():
    """Package and version of each archive that the image is made of."""
    show = ["dpkg-deb", "-W", "--showformat=${Package} ${Version}"]
    archives = (ROOT / "build/deps/vm-root/root").glob("*.deb")
    return {tuple(subprocess.run([*show, a], check=True, capture_output=True, text=True).stdout.split()) for a in archives}


def test_dpkg_lists_exactly_what_was_fetched_and_that_is_what_is_pinned(machine):
    """Debian forgets a version when the next one comes: then its successor was taken, and never another package."""
    told = said(machine, "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'").splitlines()
    there, versions = fetched(), dict(pinned())
    assert {tuple(line.split()[:2]) for line in told} == there
    assert {name for name, _ in there} == set(versions)
    for name, version in sorted(there - pinned()):
        assert subprocess.run(["dpkg", "--compare-versions", version, "gt", versions[name]]).returncode == 0, (name, version)
    assert {line.split()[2] for line in told} == {"ii"}
    assert said(machine, "dpkg --audit") == ""


def test_what_dpkg_misses_is_what_was_left_out(machine):
    """`dpkg -V` compares files with their hashes: none is altered, and none missing but those."""
    sys.path.insert(0, str(RECIPE))
    try:
        spec = importlib.util.spec_from_file_location("debian", RECIPE / "debian.py")
        debian = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(debian)
    finally:
        sys.path.remove(str(RECIPE))
    wanted = debian.Filter((RECIPE / "excluded.conf").read_text())
    packages = "base-files bash libc6 libpython3.13-stdlib python3.13-venv perl-base git"
    for line in machine.exec(f"dpkg -V {packages}").stdout.decode().splitlines():
        kind, path = line.split()[0], line.split()[-1]
        if path == "/usr/lib/python3.13/ensurepip/__init__.py":  # the one of which docs/machine-image.md tells
            continue
        assert kind == "missing" and not wanted.takes(path), line


def test_a_package_is_added_and_removed_with_dpkg(machine):
    said(machine, """set -e; mkdir -p /tmp/p/DEBIAN /tmp/p/usr/bin /tmp/p/usr/share/man/man1
        printf '%s\\n' 'Package: hello-x' 'Version: 1' 'Architecture: riscv64' 'Depends: bash, libc6 (>= 2.36)' \\
            'Maintainer: nobody <nobody@localhost>' 'Description: says hello' >/tmp/p/DEBIAN/control
        printf '#!/bin/sh\\necho configured >/tmp/configured\\n' >/tmp/p/DEBIAN/postinst
        printf '#!/bin/sh\\necho hello\\n' >/tmp/p/usr/bin/hello-x; echo >/tmp/p/usr/share/man/man1/hello-x.1
        chmod 755 /tmp/p/DEBIAN/postinst /tmp/p/usr/bin/hello-x; dpkg-deb -b /tmp/p /tmp/x.deb; dpkg -i /tmp/x.deb""")
    assert said(machine, "hello-x; cat /tmp/configured; dpkg -S /usr/bin/hello-x") == \
        "hello\nconfigured\nhello-x: /usr/bin/hello-x\n"
    assert machine.exec("ls /usr/share/man/man1/hello-x.1").exit != 0
    said(machine, "dpkg -P hello-x")
    assert machine.exec("hello-x").exit == 127


@pytest.mark.parametrize("command, beginning", [
    ("python3 -m pip --version", "pip 2"),
    ("python3 -c 'import ssl, sqlite3, ctypes, curses, lzma, zlib, readline; print(1 + 1)'", "2\n"),
    ("python3 -m venv --without-pip /tmp/v && /tmp/v/bin/python -c 'import sys; print(sys.prefix)'", "/tmp/v\n"),
    # pip is there, as if it had installed itself, and leaves nothing when it goes.
    ("python3 -m venv /tmp/w && cd /tmp/w && bin/pip --version && bin/pip uninstall -qy pip && "
     "test -z \"$(find . -path '*pip*')\"", "pip 25.1.1 from /tmp/w/lib/python3.13/site-packages/pip "),
    ("ls /usr/share/python-wheels", "pip-"),
    # Without a network it says so, and does not try for a minute.
    ("python3 -m pip install nothing-of-this-name 2>&1 | grep -c 'failure in name resolution'", "1\n"),
    ("python3 -c 'import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 100)'", "True"),
    ("python3 -c 'import json; print(json.__cached__)'", "/usr/lib/python3.13/json/__pycache__/"),
    ("cd $(mktemp -d) && git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m hi "
     "&& git log --format=%s%d", "hi (HEAD -> main)"),
    ("locale -k charmap", 'charmap="UTF-8"'),
    ("awk -W version 2>&1 | head -1", "GNU Awk"),
    ("readlink -f $(which vi) $(which pager) $(which editor)", "/usr/bin/vim.tiny\n/usr/bin/less\n/usr/bin/nano\n"),
    ("echo 2^10 | bc", "1024"),
    ("perl -MJSON::PP -MPOSIX -e 'print encode_json([floor(1.5)])'", "[1]"),
    ("openssl version -d; ls -L /etc/ssl/certs/*.0 | wc -l", "OPENSSLDIR"),
    ("su _apt -s /bin/sh -c 'id -un'", "_apt"),
    ("apt-get install -s --no-download jq 2>&1 | tail -1", "0 upgraded, 0 newly installed"),
    ("apt-get update --print-uris | cut -d\\' -f2", "https://deb.debian.org/debian/dists/trixie/InRelease\n"),
    ("ls /usr/share/keyrings/debian-archive-keyring.pgp", "/usr/share"),
    ("useradd -m someone && su someone -c 'cd; pwd'", "/home/someone"),
    ("su nobody -s /bin/sh -c 'id -un'", "nobody"),
    ("jq -n '[1,2]|add'; tree --version; make --version | head -1; nano --version | head -1", "3\n"),
    ("stat -c %a:%U /tmp /var/tmp /etc/shadow /root | tr '\\n' ' '", "1777:root 1777:root 640:root 700:root"),
])
def test_what_one_expects_in_a_shell(machine, command, beginning):
    assert said(machine, command).startswith(beginning)


def test_the_linker_knows_what_ldconfig_finds(machine):
    said(machine, "ldconfig -p | sort >/tmp/ours; ldconfig; ldconfig -p | sort >/tmp/theirs")
    lines = said(machine, "diff /tmp/ours /tmp/theirs | grep '^[<>]' || true").splitlines()
    # The dynamic linker itself, and what says who made the cache.
    assert all(line.startswith((">", "< 1")) and "lib/riscv64" not in line for line in lines), lines


def test_no_byte_of_the_image_is_written(machine):
    assert "ro" in said(machine, "cat /sys/block/vda/ro").replace("1\n", "ro")
    said(machine, "echo x >>/etc/hostname; rm /usr/bin/jq; mkdir /usr/share/new")


def test_the_image_takes_at_most_135_mb_of_disk(tmp_path):
    """With the emulator, as it is compiled for this computer; 132 MB, and room for Debian's next versions."""
    bake = [ROOT / "build/cloche-bake", "--own", "--ahead", ROOT / "build/guest/vm.bare.wasm", tmp_path]
    subprocess.run(bake, check=True)
    files = [IMAGE / name for name in ("Image", "root.erofs", "disk.ext4", "machine-512.mem")]
    blocks = [f.stat().st_blocks for f in [*files, *tmp_path.iterdir()]]
    assert len(blocks) == 6 and sum(blocks) * 512 <= 135_000_000, blocks


def tree_of(image, at):
    """Each name of an erofs image: its kind, mode, times, and bytes or target."""
    usr = ROOT / "build/deps/vm-root/tools/usr"
    loader = next(usr.resolve().glob("lib/*-linux-gnu/ld-linux-*.so.*"))
    subprocess.run([loader, "--library-path", loader.parent, usr / "bin/fsck.erofs", f"--extract={at}", image],
                   check=True, stdout=subprocess.DEVNULL)
    told = {}
    for path in sorted(at.rglob("*")):
        is_a = path.lstat()
        what = os.readlink(path) if path.is_symlink() else hashlib.sha256(path.read_bytes()).digest() if path.is_file() else None
        told[path.relative_to(at)] = (is_a.st_mode, is_a.st_mtime_ns, what)
    shutil.rmtree(at)
    return told


def test_root_and_disk_are_made_the_same_again(tmp_path):
    """mkfs.erofs once packed the same tree otherwise, 5.8 MB smaller: then the trees are compared."""
    for name, program in (("root.erofs", ["root", ROOT / "build/guest/vm-init"]), ("disk.ext4", ["disk"])):
        subprocess.run([RECIPE / program[0], *program[1:], tmp_path / name], check=True)
        same = filecmp.cmp(tmp_path / name, IMAGE / name, shallow=False)
        assert same or name == "root.erofs", name
        if not same:
            assert tree_of(tmp_path / name, tmp_path / "made") == tree_of(IMAGE / name, tmp_path / "there")
    shutil.rmtree(tmp_path)
