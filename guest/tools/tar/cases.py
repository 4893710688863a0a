import io
import tarfile

from compare import case, debian, stdout_only

TREE = {"d/a": "first\n" * 100, "d/b/c": bytes(range(256)), "d/empty/": "", "top": "t\n"}
SAME = ("--owner=0", "--group=0", "--numeric-owner", "--mode=a=r,u+wX", "--sort=name")


def archive(mode, names=("d/a", "d/b/c", "long" * 40)):
    def make():
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=mode) as t:
            for name in names:
                data = TREE.get(name, "x")
                data = data.encode() if isinstance(data, str) else data
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime, entry.mode = len(data), 1_700_000_000, 0o644
                entry.uname = entry.gname = "root"
                t.addfile(entry, io.BytesIO(data))
        return out.getvalue()
    return make


def made(*args):
    """An archive is made; what is in it is read by Python, for compressors' bytes may differ."""
    return case("-cf", *args, files=TREE, normal=contents)


def contents(result):
    for name, data in result.files.items():
        if name.startswith("out") and data:
            with tarfile.open(fileobj=io.BytesIO(data)) as t:
                result.files[name] = [(m.name, m.type, m.size, m.mtime, t.extractfile(m).read() if m.isfile() else b"")
                                      for m in t.getmembers()]
    return result


PLAIN, GZ, XZ, BZ2 = (archive(m) for m in ("w", "w:gz", "w:xz", "w:bz2"))

REFERENCE = {"tar": debian("tar", runs=("bzip2", "gzip", "xz"))}

CASES = {
    "tar": [
        case("-cf", "out.tar", *SAME, "d", "top", files=TREE, normal=contents),
        case("-cf", "-", *SAME, "top", files=TREE),
        case("-cf", "-", *SAME, "--format=ustar", "d/a", files=TREE),
        case("-cf", "-", *SAME, "--format=gnu", "d/a", "top", files=TREE),
        made("out.tar.gz", "-z", *SAME, "d"),
        made("out.tar.xz", "-J", *SAME, "d"),
        made("out.tar.bz2", "-j", *SAME, "d"),
        made("out.tgz", "-a", *SAME, "d"),
        made("out.tar", *SAME, "--exclude=b", "d"),
        made("out.tar", *SAME, "-C", "d", "a"),
        made("out.tar", *SAME, "--transform=s/^d/e/", "d"),
        case("-czvf", "out.tgz", *SAME, "d", files=TREE, normal=contents),
        case("-tf", "a", files={"a": PLAIN}),
        case("-tvf", "a", files={"a": PLAIN}),
        case("-tzf", "a", files={"a": GZ}),
        case("-tf", "a.tar.gz", files={"a.tar.gz": GZ}),
        case("-tvJf", "a", files={"a": XZ}),
        case("-tjf", "a", files={"a": BZ2}),
        case("-xf", "a", files={"a": PLAIN}),
        case("-xzf", "a", files={"a": GZ}),
        case("-xf", "a", files={"a": XZ}),
        case("-xf", "a", files={"a": BZ2}),
        case("-xzf", "-", stdin=GZ()),
        case("-xvf", "a", "d/a", files={"a": PLAIN}),
        case("-xf", "a", "--strip-components=1", files={"a": PLAIN}),
        case("-xf", "a", "-C", "to", files={"a": PLAIN, "to/": ""}),
        case("-xOf", "a", "d/a", files={"a": GZ}),
        case("-xf", "a", "--wildcards", "*/c", files={"a": PLAIN}),
        case("-xf", "a", "missing", files={"a": PLAIN}),
        case("-xkf", "a", files={"a": PLAIN, "d/a": "kept"}),
        case("-rf", "out", *SAME, "top", files={**TREE, "out": archive("w", ("d/a",))}, normal=contents),
        case("--delete", "-f", "out", "d/a", files={"out": PLAIN}, normal=contents),
        case("-df", "a", files={"a": PLAIN, "d/a": "changed"},
             check=lambda r: r.exit == 1 and b"d/a: Size differs" in r.stdout),
        case("-tf", "a", files={"a": "no archive"}),
        case("-tzf", "a", files={"a": GZ()[:-30]}, normal=stdout_only),
        case("-tf", "missing"),
        case("-xf", "a", files={"a": archive("w", ("../outside",))}),
        case("-cf", "out", "missing"),
        case("--version", check=lambda r: r.exit == 0 and b"GNU tar" in r.stdout),
        case("-I", "zstd", "-cf", "out", "top", files=TREE, check=lambda r: r.exit == 2 and b"compressor" in r.stderr),
    ],
}
