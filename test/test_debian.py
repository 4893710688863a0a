"""deps/debian against a mirror of the test's own: what is pinned, gone, altered or out of step."""
import hashlib
import lzma
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from needs import system

ROOT = Path(__file__).resolve().parent.parent
OURS = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip()
OTHER = "riscv64" if OURS != "riscv64" else "amd64"

pytestmark = system(shutil.which("apt-get"), "no apt")


def codename():
    return re.search(r"^VERSION_CODENAME=(\S+)", Path("/etc/os-release").read_text(), re.M)[1]


class Mirror:
    """A Debian mirror of few packages in a folder, and lists of pins to fetch from it by."""

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "debian"
        self.debs = {}  # of (package, version, architecture)
        (folder / "deps").mkdir()
        shutil.copy(ROOT / "deps/debian", folder / "deps/debian")
        (folder / "parts").mkdir()
        (folder / "apt.conf").write_text(f'Dir::Etc::sourceparts "{folder}/parts/";\n'
                                         'Dir::Etc::sourcelist "/dev/null";\n')
        self.sources(f"deb [trusted=yes] file:{self.path} {codename()} main\n", "mirror.list")

    def sources(self, text, name):
        shutil.rmtree(self.folder / "parts")
        (self.folder / "parts").mkdir()
        (self.folder / "parts" / name).write_text(text)

    def add(self, package, version="1", architecture=OTHER, text="as it should be\n"):
        tree = self.folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr/share/x").mkdir(parents=True)
        (tree / "usr/share/x" / package).write_text(text)
        control = (f"Package: {package}\nVersion: {version}\nArchitecture: {architecture}\n"
                   "Maintainer: nobody <nobody@localhost>\nDescription: nothing\n")
        (tree / "DEBIAN/control").write_text(control)
        name = f"pool/main/x/{package}_{version.split(':')[-1]}_{architecture}.deb"
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-b", tree, self.path / name],
                       check=True, capture_output=True)
        data = (self.path / name).read_bytes()
        sha256 = hashlib.sha256(data).hexdigest()
        self.debs[package, version, architecture] = (
            self.path / name, sha256,
            control + f"Filename: {name}\nSize: {len(data)}\nSHA256: {sha256}\n")
        return sha256

    def forget(self, *key):
        self.debs.pop(key)[0].unlink()

    def publish(self):
        """The lists of all, and of an older release that has none, and what describes them."""
        self.publish_release("trixie", self.debs)
        self.publish_release("bookworm", {})

    def publish_release(self, release, debs):
        place = self.path / "dists" / release
        shutil.rmtree(place, ignore_errors=True)
        lines = []
        for architecture in (OURS, OTHER):
            name = f"main/binary-{architecture}/Packages.xz"
            text = "\n".join(d[2] for k, d in debs.items() if k[2] in (architecture, "all"))
            (place / name).parent.mkdir(parents=True)
            (place / name).write_bytes(lzma.compress(text.encode()))
            for what, data in ((name, (place / name).read_bytes()), (name[:-3], text.encode())):
                lines.append(f" {hashlib.sha256(data).hexdigest()} {len(data)} {what}\n")
        (place / "Release").write_text(
            f"Origin: Debian\nSuite: {release}\nCodename: {release}\nComponents: main\n"
            f"Architectures: {OURS} {OTHER}\nDate: Sat, 21 Nov 2026 09:15:44 UTC\nSHA256:\n" + "".join(lines))

    def step_out(self):
        """The Release is an older one than the lists."""
        for architecture in (OURS, OTHER):
            path = self.path / f"dists/trixie/main/binary-{architecture}/Packages.xz"
            path.write_bytes(lzma.compress(lzma.decompress(path.read_bytes()) + b"\n\n"))

    def pins(self, names, pins, kind=f"just-{OTHER}"):
        """LIST.in names those of a group, LIST.txt pins `(package, version, architecture, sha256)`."""
        (self.folder / "deps/list.in").write_text(f"# Some.\ngroup {kind} trixie {' '.join(names)}\n")
        if pins is not None:
            (self.folder / "deps/list.txt").write_text(
                "".join(f"group {a} {p} {v} {s}\n" for p, v, a, s in pins))

    def run(self, *args):
        done = subprocess.run([self.folder / "deps/debian", *args], text=True, cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "APT_CONFIG": str(self.folder / "apt.conf")})
        return done.returncode, done.stdout

    def fetch(self):
        """The exit code, what was said, and the files that were fetched."""
        into = self.folder / "got"
        shutil.rmtree(into, ignore_errors=True)
        code, said = self.run("packages", "list", str(into))
        assert not any(p.is_symlink() for p in into.rglob("*"))
        return code, said, sorted(p.name for p in into.rglob("*.deb"))


@pytest.fixture
def mirror(tmp_path):
    mirror = Mirror(tmp_path)
    sums = [("plain", "1", OTHER, mirror.add("plain")),
            ("libstdc++", "1:2~rc1+b1", OTHER, mirror.add("libstdc++", "1:2~rc1+b1")),
            ("common", "3", "all", mirror.add("common", "3", "all"))]
    mirror.add("unpinned")
    mirror.publish()
    mirror.pins(["plain", "libstdc++"], sums)
    mirror.sums = sums
    return mirror


FILES = ["common_3_all.deb", f"libstdc++_1%3a2~rc1+b1_{OTHER}.deb", f"plain_1_{OTHER}.deb"]
WARNING = "warning: Debian's lists of"


def test_pinned_packages_come_as_they_are_pinned(mirror):
    code, said, files = mirror.fetch()
    assert (code, files) == (0, FILES), said
    assert "warning" not in said


def test_a_mirror_out_of_step_gives_what_is_pinned(mirror):
    mirror.step_out()
    code, said, files = mirror.fetch()
    assert (code, files) == (0, FILES), said
    assert WARNING in said
    for package, version, architecture, sha256 in mirror.sums:
        name = f"{package}_{version.replace(':', '%3a')}_{architecture}.deb"
        assert hashlib.sha256((mirror.folder / "got/group" / name).read_bytes()).hexdigest() == sha256


def test_sources_are_read_in_both_of_their_forms_with_several_mirrors(mirror):
    mirror.step_out()
    nowhere = mirror.folder / "debian-of-nobody"
    mirror.sources(f"# Comment\nTypes: deb\nURIs: file:{nowhere} file:{mirror.path}\n# Other\n"
                   f"Suites: {codename()} {codename()}-updates\nComponents: main contrib\nTrusted: yes\n",
                   "mirror.sources")
    code, said, files = mirror.fetch()
    assert (code, files) == (0, FILES), said


@pytest.mark.parametrize("stepped", [False, True], ids=["in-step", "out-of-step"])
@pytest.mark.parametrize("name, text", [
    ("mirror.list", "deb [ arch={ours} trusted=yes ] copy:{path} {codename} main\n"),
    ("mirror.list", "deb [trusted=yes arch+={ours},i386] copy:{path} {codename} main contrib\n"),
    ("mirror.sources", "Types: deb\nURIs: file:{path}\nSuites: {codename}\nArchitectures: {ours}\n"
                       "Components: main\nTrusted: yes\n"),
], ids=["list", "list-adding", "sources"])
def test_a_source_for_this_architecture_alone_serves_others(mirror, name, text, stepped):
    mirror.add("plain", architecture=OURS)
    mirror.publish()
    mirror.sources(text.format(ours=OURS, path=mirror.path, codename=codename()), name)
    if stepped:
        mirror.step_out()
    code, said, files = mirror.fetch()
    assert (code, files) == (0, FILES), said


def test_a_second_mirror_has_what_the_first_altered(mirror):
    other = mirror.folder / "debian-altered"
    shutil.copytree(mirror.path, other)
    for deb in other.rglob("plain_*.deb"):
        deb.write_bytes(deb.read_bytes() + b"!")
    mirror.step_out()
    shutil.copytree(mirror.path / "dists", other / "dists", dirs_exist_ok=True)
    mirror.sources("".join(f"deb [trusted=yes] file:{p} {codename()} main\n" for p in (other, mirror.path)),
                   "mirror.list")
    code, said, files = mirror.fetch()
    assert (code, files) == (0, FILES), said


@pytest.mark.parametrize("stepped", [False, True], ids=["in-step", "out-of-step"])
def test_another_hash_than_the_pinned_one_ends_it(mirror, stepped):
    package, version, architecture, sha256 = mirror.sums[0]
    mirror.pins(["plain"], [(package, version, architecture, "0" * 64), *mirror.sums[1:]])
    if stepped:
        mirror.step_out()
    code, said, _ = mirror.fetch()
    assert code != 0
    assert "\nwrong hash: plain 1 of Debian\n" in said


def test_a_file_that_is_altered_out_of_step_is_not_taken(mirror):
    mirror.add("plain", text="altered\n")
    mirror.publish()
    mirror.step_out()
    code, said, files = mirror.fetch()
    assert code != 0 and f"plain_1_{OTHER}.deb" not in files
    assert said.splitlines()[-1] == "wrong hash: plain 1 of Debian"


def test_of_a_version_that_is_gone_the_current_one_is_taken_with_a_warning(mirror):
    mirror.forget("plain", "1", OTHER)
    mirror.add("plain", "2")
    mirror.publish()
    code, said, files = mirror.fetch()
    assert (code, files) == (0, [*FILES[:2], f"plain_2_{OTHER}.deb"]), said
    assert "\nwarning: plain 1 is gone: " in said


def test_when_all_versions_are_gone_the_current_ones_are_taken(mirror):
    for package, version, architecture, _ in mirror.sums:
        mirror.forget(package, version, architecture)
        mirror.add(package, "9", architecture)
    mirror.publish()
    code, said, files = mirror.fetch()
    assert (code, files) == (0, ["common_9_all.deb", f"libstdc++_9_{OTHER}.deb", f"plain_9_{OTHER}.deb"]), said
    assert said.count("is gone: ") == 3


def test_of_a_version_that_is_gone_out_of_step_none_is_taken(mirror):
    mirror.forget("plain", "1", OTHER)
    mirror.add("plain", "2")
    mirror.publish()
    mirror.step_out()
    code, said, files = mirror.fetch()
    assert code != 0 and f"plain_2_{OTHER}.deb" not in files
    assert said.splitlines()[-1].startswith("plain 1 is pinned, and gone; ")


def test_a_file_that_is_not_where_the_list_says_is_named(mirror):
    mirror.step_out()
    mirror.debs["plain", "1", OTHER][0].unlink()
    code, said, _ = mirror.fetch()
    assert code != 0
    assert said.splitlines()[-1].startswith("plain 1 cannot be had from copy:")


@pytest.mark.parametrize("stepped", [False, True], ids=["in-step", "out-of-step"])
@pytest.mark.parametrize("pin", [None, "", "abc", "0" * 63 + "G"], ids=["none", "empty", "short", "no-hash"])
def test_a_package_without_a_pin_is_refused(mirror, pin, stepped):
    mirror.pins(["plain", "unpinned"], [*mirror.sums, *([("unpinned", "1", OTHER, pin)] if pin is not None else [])])
    if stepped:
        mirror.step_out()
    code, said, files = mirror.fetch()
    assert code != 0 and files == []
    assert said.splitlines()[-1] == ("unpinned is not pinned: dev/pins machine" if pin is None else
                                     "no sha256 is pinned of unpinned 1: dev/pins machine")


@pytest.mark.parametrize("pins", [True, False], ids=["pinned", "not-pinned"])
def test_a_mirror_without_lists_is_told(mirror, pins):
    if not pins:
        mirror.pins(["plain"], None)
        (mirror.folder / "deps/list.txt").unlink()
    shutil.rmtree(mirror.path / "dists")
    code, said, files = mirror.fetch()
    assert code != 0 and files == []
    if pins:
        assert said.splitlines()[-1] == f"no list of Debian's packages of {OTHER} can be had"


def test_a_list_without_pins_takes_todays_and_only_by_signed_lists(mirror):
    (mirror.folder / "deps/list.txt").unlink()
    code, said, files = mirror.fetch()
    assert (code, files) == (0, FILES[1:]), said
    mirror.step_out()
    code, said, files = mirror.fetch()
    assert code != 0 and files == [] and WARNING not in said


def test_native_packages_of_another_machine_are_todays_and_only_by_signed_lists(mirror):
    mirror.add("mine", architecture=OURS)
    mirror.publish()
    mirror.pins(["mine"], [("mine", "0", OTHER, "0" * 64)], kind="native")
    code, said, files = mirror.fetch()
    assert (code, files) == (0, [f"mine_1_{OURS}.deb"]), said
    mirror.step_out()
    code, said, files = mirror.fetch()
    assert code != 0 and files == []


def test_pins_are_made_by_signed_lists_only(mirror):
    code, said = mirror.run("pins", "list")
    made = [line for line in said.splitlines() if re.fullmatch(r"group \S+ \S+ \S+ [0-9a-f]{64}", line)]
    assert code == 0
    assert made == [f"group {a} {p} {v} {s}" for p, v, a, s in sorted(mirror.sums[:2])]
    mirror.step_out()
    code, said = mirror.run("pins", "list")
    assert code != 0 and "group " not in said


def test_a_root_is_a_group_unpacked(mirror):
    mirror.step_out()
    into = mirror.folder / "roots"
    code, said = mirror.run("roots", "list", str(into))
    assert code == 0, said
    assert sorted(p.name for p in (into / "group/usr/share/x").iterdir()) == ["common", "libstdc++", "plain"]
    assert os.readlink(into / "group/lib") == "usr/lib"
    assert not list(into.rglob("*.deb"))
