from compare import case

TEXT = "alpha beta\nAlpha Gamma\nbeta123\n\nthe end. of it\nfoo.bar@example.com\nline with tab\there\nlast alpha"
TREE = {"a.txt": "hello world\nsecond line\n", "sub/b.md": "Hello again\nnothing\nhello\n",
        "sub/c.py": "print('hello')\n", "sub/deep/d.txt": "no match\n", "bin": b"hello\0world\n"}
MANY = "".join(f"{i} {'abc' * (i % 5)} value={i * 37 % 1000}\n" for i in range(5000))


def any_order(result):
    """Folders are read in an order that no program promises."""
    result.stdout = b"\n".join(sorted(result.stdout.split(b"\n")))
    return result


CASES = {
    "grep": [
        case("alpha", stdin=TEXT),
        case("-i", "ALPHA", stdin=TEXT),
        case("-n", "beta", "f", files={"f": TEXT}),
        case("-v", "a", stdin=TEXT),
        case("-c", "a", stdin=TEXT),
        case("-rniE", "hel+o", ".", files=TREE, normal=any_order),
        case("-rl", "hello", files=TREE, normal=any_order),
        case("-rL", "hello", files=TREE, normal=any_order),
        case("-r", "hello", "--include=*.txt", ".", files=TREE, normal=any_order),
        case("-r", "hello", "--exclude-dir=sub", ".", files=TREE, normal=any_order),
        case("-rh", "hello", "sub", files=TREE, normal=any_order),
        case("-rc", "hello", "sub", files=TREE, normal=any_order),
        case("-P", r"\d{3}(?=\n|$)", stdin=TEXT),
        case("-oP", r"(?<=value=)\d+", stdin=MANY),
        case("-P", r"(\w)\1", stdin=TEXT),
        case("-oP", r"\b\p{Lu}\w+", stdin=TEXT),
        case("-P", "(", stdin=TEXT),
        case("-oE", "[a-z]+@[a-z.]+", stdin=TEXT),
        case("-ob", "alpha", stdin=TEXT),
        case("-A1", "beta", stdin=TEXT),
        case("-B1", "-n", "end", stdin=TEXT),
        case("-C1", "tab", stdin=TEXT),
        case("-A1", "-B1", "--no-group-separator", "alpha", stdin=TEXT),
        case("-w", "alpha", stdin=TEXT),
        case("-x", "beta123", stdin=TEXT),
        case("-F", ".", stdin=TEXT),
        case("-F", "-e", "foo.", "-e", "end", stdin=TEXT),
        case("-f", "patterns", "f", files={"patterns": "alpha\nend\n", "f": TEXT}),
        case("-m2", "a", stdin=TEXT),
        case("-q", "alpha", stdin=TEXT),
        case("-q", "nothing", stdin=TEXT),
        case("-s", "x", "missing"),
        case("-H", "alpha", "f", files={"f": TEXT}),
        case("hello", "bin", files=TREE),
        case("-a", "hello", "bin", files=TREE),
        case("-E", "^(alpha|beta)", stdin=TEXT),
        case(r"\(a\)l.*\1", stdin=TEXT),
        case("-E", "(a|b){2,3}c", stdin=MANY),
        case("-E", "[[:digit:]]+ [a-c]*$", stdin=MANY),
        case("--color=always", "alpha", stdin=TEXT),
        case("-z", "a", stdin="a\0b\0"),
        case("-nT", "beta", stdin=TEXT),
        case("[", stdin=TEXT),
        case("-E", "a{1", stdin="a{1\n"),
        case("-e", "", stdin=TEXT),
        case("value=9[0-9]*$", stdin=MANY),
        case("-Z", "-l", "alpha", "f", files={"f": TEXT}),
        case("--label=x", "-H", "alpha", stdin=TEXT),
    ],
}

CASES["grep"].append(case("x", stdin=""))
# It names itself.
CASES["grep"].append(case("x", "missing", check=lambda r: r.exit == 2 and r.stderr == (
    b"grep: missing: No such file or directory\n")))
