from compare import case

TREE = {"a.txt": "1" * 3000, "b.md": "x\n", "sub/c.txt": "", "sub/deep/d.md": "deep\n", "sub/empty/": "", ".hidden": "h", "A.TXT": "A"}
TIMES = {"a.txt": 1_600_000_000, "b.md": 1_700_000_100, "sub/c.txt": 1_500_000_000}


def any_order(result):
    """Folders are read in an order that no program promises."""
    result.stdout = b"\n".join(sorted(result.stdout.split(b"\n")))
    return result


def find(*args):
    return case(*args, files=TREE, times=TIMES, normal=any_order)


CASES = {
    "find": [
        find(),
        find("."),
        find(".", "-name", "*.md"),
        find(".", "-iname", "*.txt"),
        find("sub", "-type", "f"),
        find(".", "-type", "d"),
        find(".", "-maxdepth", "1"),
        find(".", "-mindepth", "2", "-type", "f"),
        find(".", "-empty"),
        find(".", "-size", "+2k"),
        find(".", "-size", "-2", "-type", "f"),
        find(".", "-size", "3000c"),
        find(".", "-newer", "a.txt", "-type", "f"),
        find(".", "-path", "*deep*"),
        find(".", "-regex", ".*/[ab]\\..*"),
        find(".", "-regextype", "posix-extended", "-regex", ".*\\.(md|txt)"),
        find(".", "(", "-name", "a*", "-o", "-name", "b*", ")", "-print"),
        find(".", "!", "-name", "*.md", "-type", "f"),
        find(".", "-name", "sub", "-prune", "-o", "-type", "f", "-print"),
        find(".", "-type", "f", "-printf", "%p %s %d %f %h %y\\n"),
        find(".", "-type", "f", "-printf", "%TY-%Tm-%Td %P\\n"),
        find("sub/deep", "-type", "f", "-print0"),
        find(".", "-name", "*.txt", "-delete"),
        find("sub", "-depth"),
        find(".", "-newermt", "2020-06-01", "-name", "*.txt"),
        find(".", "-mtime", "+30", "-name", "*.md"),
        find(".", "-quit"),
        find("missing"),
        find(".", "-unknown"),
        find(".", "-name"),
        find("a.txt", "b.md"),
        find("sub/deep", "-type", "f", "-fprint", "out"),
        case(".", "-name", "a.txt", "-exec", "echo", "{}", ";", files=TREE, check=lambda r: r.exit != 0),
        find(".", "-perm", "-400", "-name", "a*"),
    ],
}

CASES["find"].append(case(".", "-empty", files={"a": "", "b": "x"}))
