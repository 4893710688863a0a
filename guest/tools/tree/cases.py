from compare import case

TREE = {"a.txt": "1" * 3000, "b.md": "x\n", "sub/c.txt": "", "sub/deep/d.md": "deep\n", "sub/empty/": "", ".hidden": "h"}


def tree(*args, **kw):
    return case(*args, files=TREE, **kw)


CASES = {
    "tree": [
        tree(), tree("sub"), tree("-a"), tree("-d"), tree("-f"), tree("-L", "1"), tree("-P", "*.md"), tree("-P", "*.md", "--prune"),
        tree("-I", "sub"), tree("-i"), tree("-if", "--noreport"), tree("--noreport"), tree("-r"), tree("--dirsfirst"), tree("-F"),
        tree("-J", "--noreport"), tree("-X", "--noreport"), tree("-s", "-P", "*.txt", "--noreport", "-L", "1", "-I", "sub"), tree("-Q"), tree("missing"),
        tree("-t", "-L", "1"), tree("--charset=ascii"), tree("-C", "-L", "1"), tree("-n"), tree("--filelimit", "2"), tree("-U", "-d", "-L", "1"), tree("--unknown"),
    ],
}
