"""Debian packages put into a folder, with a database that dpkg takes for its own.

Nothing of a package is executed, so this works for any architecture and as anybody. What
installing would have done besides unpacking is done here (alternatives, triggers) or in
`root`. Owners are not set: all will be root's.
"""
import fnmatch
import hashlib
import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

ALTERNATIVE = re.compile(r"--install\s+(/\S+)\s+(\S+)\s+(/\S+)\s+(\d+)"
                         r"((?:\s+--slave\s+/\S+\s+\S+\s+/\S+)*)")
SLAVE = re.compile(r"--slave\s+(/\S+)\s+(\S+)\s+(/\S+)")


class Filter:
    """dpkg's path-exclude and path-include: the last that matches a path decides."""

    def __init__(self, text):
        self.rules = [(kind == "exclude", re.compile(fnmatch.translate(pattern)))
                      for kind, pattern in re.findall(r"^path-(exclude|include)=(.*)$", text, re.M)]

    def takes(self, path):
        excluded = False
        for excludes, pattern in self.rules:
            if pattern.match(path):
                excluded = excludes
        return not excluded


class Package:
    def __init__(self, deb):
        self.deb = deb
        with self._tar("--ctrl-tarfile") as tar:
            self.parts = {Path(m.name).name: tar.extractfile(m).read()
                          for m in tar if m.isfile()}
        self.control = self.parts.pop("control").decode().rstrip("\n")
        self.name = self.field("Package")
        # Where a package may be there for several architectures, the database says which.
        same = self.field("Multi-Arch") == "same"
        self.key = f"{self.name}:{self.field('Architecture')}" if same else self.name

    def _tar(self, part):
        data = subprocess.run(["dpkg-deb", part, self.deb], check=True, stdout=subprocess.PIPE).stdout
        return tarfile.open(fileobj=io.BytesIO(data))

    def field(self, name):
        found = re.search(rf"^{name}: (.*)$", self.control, re.M)
        return found[1] if found else ""

    def unpack(self, root, wanted):
        """Puts its files below `root`; returns all their paths, wanted or not."""
        paths = ["/."]
        with self._tar("--fsys-tarfile") as tar:
            for member in tar:
                path = os.path.normpath("/" + member.name)
                if path == "/":
                    continue
                paths.append(path)
                if member.isdir() or wanted.takes(path):
                    put(tar, member, root, path)
        return paths

    def stanza(self):
        """What /var/lib/dpkg/status says of it."""
        lines = self.control.split("\n")
        lines.insert(1, "Status: install ok installed")
        files = [f for f in self.parts.get("conffiles", b"").decode().split("\n") if f.startswith("/")]
        if files:
            lines.append("Conffiles:")
            lines += [f" {f} {self.sum_of(f)}" for f in files]
        return "\n".join(lines) + "\n"

    def sum_of(self, path):
        with self._tar("--fsys-tarfile") as tar:
            return hashlib.md5(tar.extractfile("." + path).read()).hexdigest()


def put(tar, member, root, path):
    # The folder may be a link: /lib is /usr/lib.
    folder = Path(os.path.realpath(f"{root}{os.path.dirname(path)}"))
    if not folder.is_relative_to(os.path.realpath(root)):
        raise ValueError(f"{path} leads out of the root")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / os.path.basename(path)
    if member.isdir():
        target.mkdir(exist_ok=True)
        os.chmod(target, member.mode | 0o700)
        return
    target.unlink(missing_ok=True)
    if member.issym():
        target.symlink_to(member.linkname)
    elif member.islnk():
        os.link(f"{root}/{os.path.normpath(member.linkname)}", target)
    elif member.isfile():
        target.write_bytes(tar.extractfile(member).read())
        os.chmod(target, member.mode | 0o400)
    else:
        raise ValueError(f"{path} is no file, folder or link")


def install(debs, root, wanted):
    """All packages, their database included. Returns the packages."""
    packages = sorted((Package(d) for d in debs), key=lambda p: p.name)
    # base-files first: it has the links from /bin, /lib, /sbin.
    packages.sort(key=lambda p: p.name != "base-files")
    database = root / "var/lib/dpkg"
    info = database / "info"
    for folder in ("info", "alternatives", "triggers", "updates", "parts"):
        (database / folder).mkdir(parents=True, exist_ok=True)
    for package in packages:
        paths = package.unpack(root, wanted)
        (info / f"{package.key}.list").write_text("\n".join(paths) + "\n")
        for name, data in package.parts.items():
            if name in ("shlibs", "symbols", "templates"):  # for who builds packages, for debconf
                continue
            (info / f"{package.key}.{name}").write_bytes(data)
            if name in ("preinst", "postinst", "prerm", "postrm", "config"):
                os.chmod(info / f"{package.key}.{name}", 0o755)
    packages.sort(key=lambda p: p.name)
    (database / "status").write_text("\n".join(p.stanza() for p in packages))
    (info / "format").write_text("1\n")
    for name in ("available", "diversions", "statoverride", "lock", "triggers/Lock", "triggers/Unincorp"):
        (database / name).touch()
    note_triggers(packages, database / "triggers")
    note_alternatives(packages, root)
    return packages


def note_triggers(packages, folder):
    """Which packages want to hear of what: a path is told in File, a name has a file."""
    notes = {}
    for package in packages:
        for line in package.parts.get("triggers", b"").decode().split("\n"):
            words = line.split("#")[0].split()
            if len(words) == 2 and words[0].startswith("interest"):
                noawait = "/noawait" if words[0] == "interest-noawait" else ""
                if words[1].startswith("/"):
                    notes.setdefault("File", []).append(f"{words[1]} {package.key}{noawait}")
                else:
                    notes.setdefault(words[1], []).append(f"{package.key}{noawait}")
    for name, lines in notes.items():
        (folder / name).write_text("".join(f"{line}\n" for line in sorted(lines)))


def note_alternatives(packages, root):
    """What update-alternatives, called by maintainer scripts, would leave."""
    groups = {}
    for package in packages:
        script = package.parts.get("postinst", b"").decode().replace("\\\n", " ")
        for link, name, path, priority, slaves in ALTERNATIVE.findall(script):
            if not (root / path[1:]).exists():
                continue
            slaves = {s_name: (s_link, s_path) for s_link, s_name, s_path in SLAVE.findall(slaves)
                      if (root / s_path[1:]).exists()}
            groups.setdefault((name, link), {})[path] = (int(priority), slaves)
    for (name, link), choices in groups.items():
        names = sorted({s for _, slaves in choices.values() for s in slaves})
        links = {s: slaves[s][0] for _, slaves in choices.values() for s in slaves}
        lines = ["auto", link]
        for slave in names:
            lines += [slave, links[slave]]
        lines.append("")
        for path, (priority, slaves) in sorted(choices.items()):
            lines += [path, str(priority)]
            lines += [slaves[s][1] if s in slaves else "" for s in names]
        (root / "var/lib/dpkg/alternatives" / name).write_text("\n".join(lines) + "\n\n")
        best, (_, slaves) = max(choices.items(), key=lambda c: c[1][0])
        choose(root, name, link, best)
        for slave, (slave_link, path) in slaves.items():
            choose(root, slave, slave_link, path)


def choose(root, name, link, path):
    (root / "etc/alternatives").mkdir(exist_ok=True)
    (root / "etc/alternatives" / name).symlink_to(path)
    (root / link[1:]).symlink_to(f"/etc/alternatives/{name}")
