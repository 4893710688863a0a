"""ag, compared with Debian's: one worker, and in the order of lines where there are several
files, for a folder's order is the file system's."""
from compare import case

TEXT = "".join(f"line {n} {'needle' if n % 7 == 3 else 'hay'} {'Needle' if n == 20 else 'x'}\n"
               for n in range(1, 60))
TREE = {"a.txt": TEXT, "src/b.c": "int needle = 1;\nint other;\n", "src/c.py": "needle = 'x'\n",
        "build/d.txt": "needle in build\n", ".hidden": "needle hidden\n", "src/e.log": "needle log\n",
        "bin.dat": b"\0\1needle\0", ".gitignore": "build/\n*.log\n", "empty": ""}


def lines(result):
    result.stdout = b"\n".join(sorted(result.stdout.split(b"\n")))


def ag(*args, **more):
    return case("--workers=1", *args, **more)


def tree(*args):
    return ag("--nogroup", *args, files=TREE, normal=lines)


CASES = {"ag": [
    ag("needle", "a.txt", files=TREE),
    ag("--numbers", "needle", "a.txt", files=TREE),
    ag("Needle", "a.txt", files=TREE),
    ag("-i", "NEEDLE", "a.txt", files=TREE),
    ag("-s", "needle", "a.txt", files=TREE),
    ag("-v", "hay", "a.txt", files=TREE),
    ag("-c", "needle", "a.txt", files=TREE),
    ag("-o", r"line \d+ n\w+", "a.txt", files=TREE),
    ag("-w", "line 1", "a.txt", files=TREE),
    ag("-Q", "l.ne", "a.txt", files=TREE),
    ag("-A", "1", "needle", "a.txt", files=TREE),
    ag("-B", "2", "needle", "a.txt", files=TREE),
    ag("-C", "1", "line 2[0-3]", "a.txt", files=TREE),
    ag("-m", "2", "needle", "a.txt", files=TREE),
    ag("--column", "needle", "a.txt", files=TREE),
    ag("--vimgrep", "needle", "a.txt", files=TREE),
    ag("--ackmate", "needle", "a.txt", files=TREE),
    ag("--filename", "--nogroup", "needle", "src/b.c", files=TREE),
    ag("--color", "needle", "src/b.c", files=TREE),
    ag(r"^line (\d)\1 ", "a.txt", files=TREE),
    ag(r"(?<=line )3\d(?! needle)", "a.txt", files=TREE),
    ag(r"hay x\nline 4", "a.txt", files=TREE),
    ag(r"\bl\p{L}+\b", "a.txt", files=TREE),
    ag("no such thing", "a.txt", files=TREE),
    ag("(", "a.txt", files=TREE),
    ag("needle", "missing.txt", files=TREE),
    ag("needle", stdin=TEXT),
    ag("-c", "needle", stdin=TEXT),
    tree("needle", "."),
    tree("--hidden", "needle", "."),
    tree("-u", "needle", "."),
    tree("-t", "needle", "."),
    tree("-l", "needle", "."),
    tree("-L", "needle", "."),
    tree("-G", r"\.(c|py)$", "needle", "."),
    tree("-g", "src", "."),
    tree("--cc", "needle", "."),
    tree("--python", "needle", "src"),
    tree("--ignore", "*.py", "needle", "."),
    tree("--depth", "0", "needle", "."),
    tree("-n", "needle", "."),
    tree("-c", "needle", "."),
    tree("--search-binary", "needle", "."),
    case("--version", check=lambda r: r.exit == 0 and r.stdout.startswith(b"ag version 2.2.0")),
    ag("--list-file-types"),
    ag("--no-such-option", "x"),
]}
