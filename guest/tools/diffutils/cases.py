from compare import case

OLD = "".join(f"line {i}\n" for i in range(30))
NEW = OLD.replace("line 5\n", "line five\n").replace("line 20\n", "").replace("line 25\n", "line 25\nadded\n")
FILES = {"old": OLD, "new": NEW, "same": OLD}
# The same times on both sides, so that headers are equal.
TREES = {"a/x": "1\n", "a/y": "same\n", "a/only": "a\n", "a/d/z": "1\n2\n", "b/x": "2\n", "b/y": "same\n", "b/new": "b\n", "b/d/z": "1\n3\n"}

CASES = {
    "diff": [
        case("old", "new", files=FILES),
        case("old", "same", files=FILES),
        case("-u", "old", "new", files=FILES),
        case("-U1", "old", "new", files=FILES),
        case("-c", "old", "new", files=FILES),
        case("-e", "old", "new", files=FILES),
        case("-n", "old", "new", files=FILES),
        case("-q", "old", "new", files=FILES),
        case("-s", "old", "same", files=FILES),
        case("-y", "old", "new", files=FILES),
        case("-y", "-W", "40", "--suppress-common-lines", "old", "new", files=FILES),
        case("-r", "a", "b", files=TREES),
        case("-ru", "a", "b", files=TREES),
        case("-ruN", "a", "b", files=TREES),
        case("-rq", "a", "b", files=TREES),
        case("-r", "-x", "d", "a", "b", files=TREES),
        case("--label", "A", "--label", "B", "-u", "old", "new", files=FILES),
        case("-i", "x", "y", files={"x": "Abc\n", "y": "aBC\n"}),
        case("-w", "x", "y", files={"x": "a b c\n", "y": "abc\n"}),
        case("-b", "x", "y", files={"x": "a  b\n", "y": "a b\n"}),
        case("-B", "x", "y", files={"x": "a\n\nb\n", "y": "a\nb\n"}),
        case("-I", "^#", "x", "y", files={"x": "#1\na\n", "y": "#2\na\n"}),
        case("-u", "x", "y", files={"x": "a\nb", "y": "a\nb\n"}),
        case("-", "new", stdin=OLD, files=FILES),
        case("-N", "missing", "new", files=FILES),
        case("missing", "new", files=FILES),
        case("x", "y", files={"x": b"\0\1\2", "y": b"\0\1\3"}),
        case("-a", "x", "y", files={"x": b"\0\1\2\n", "y": b"\0\1\3\n"}),
        case("--strip-trailing-cr", "x", "y", files={"x": "a\r\n", "y": "a\n"}),
        case("-D", "NEW", "old", "new", files=FILES),
        case("--color=always", "old", "new", files=FILES),
        case("-p", "-u", "x", "y", files={"x": "int f()\n{\n 1;\n 2;\n 3;\n 4;\n}\n", "y": "int f()\n{\n 1;\n 2;\n 3;\n 5;\n}\n"}),
        case("--unchanged-line-format=", "--old-line-format=-%L", "--new-line-format=+%L", "old", "new", files=FILES),
        case("-u", "/dev/null", "new", files=FILES, check=lambda r: r.exit in (1, 2)),
    ],
}

CASES["diff"] += [case("a", "b", files={"a": "", "b": ""}),
                  case("-u", "a", "b", files={"a": "", "b": "x\n"})]
CASES["diff"].append(case("a", "missing", files={"a": ""}, check=lambda r: r.exit == 2 and r.stderr == (
    b"diff: missing: No such file or directory\n")))
