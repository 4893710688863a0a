from compare import case

LINES = "banana\napple\nCherry\napple\n10\n9\n2\n"
TABLE = "ann,34,paris\nbob,5,rome\ncyd,100,oslo\nbob,5,rome\n"
WORDS = "the quick brown fox\njumps over  the lazy dog\n\n\tindented line\nlast without newline"
MANY = "".join(f"{i % 17} line {i * 7919 % 1000} {'abcdef'[i % 6]}\n" for i in range(3000))
BYTES = bytes(range(256)) * 4
# Sixteen bytes are counted at once: words over their ends, every kind of white space, letters
# of several bytes.
BLOCKS = {f"{n}{i}": "ab c\n" * 3 + "x" * n + end + "last word\v\f\r\t\0\x7f" * 9
          for n in range(17) for i, end in enumerate(["\n", " ", "y", "\u00e9", "\u6f22 "])}
VERSIONS = "v1.10\nv1.9\nv1.2.3\nv2.0-rc1\nv2.0\nfile10.txt\nfile9.txt\n"
SIZES = "1K\n512\n2G\n3M\n1.5K\n-4K\n"
MONTHS = "Mar 3\nJan 1\ndec 25\nFeb 2\n"
TREE = {"a/one": "1" * 5000, "a/b/two": "2" * 100, "a/b/three": "", ".hidden": "h", "z": "last\n"}


# What true and false do not look at.
ANYTHING = [(), ("x",), ("x", "y"), ("-x",), ("--", "x"), ("--unknown",), ("",), ("-",), ("0",), ("1", "2", "3")]


def any_order(result):
    """Folders are read in an order that no program promises."""
    result.stdout = b"\n".join(sorted(result.stdout.split(b"\n")))
    return result


def no_folder_size(result):
    """What a folder's size is differs between file systems."""
    result.stdout = b"\n".join(line for line in result.stdout.split(b"\n") if b"directory" not in line)
    return result


SUMS = {"one": "first file\n", "two": BYTES, "empty": ""}


def sums(name):
    """The cases that all checksum programs share."""
    return [
        case(stdin="hello"),
        case(stdin=""),
        case("one", "two", "empty", files=SUMS),
        case("--tag", "one", "two", files=SUMS),
        case("-b", "one", "-", stdin="x", files=SUMS),
        case("-z", "one", "two", files=SUMS),
        case("missing", "one", files=SUMS),
        case("strange\nname", "back\\slash", files={"strange\nname": "a", "back\\slash": "b"}),
        case("-c", "list", files={**SUMS, "list": LISTS[name]}),
        case("--check", "--quiet", "list", files={**SUMS, "list": LISTS[name]}),
        case("--check", "--status", "list", files={**SUMS, "one": "changed", "list": LISTS[name]}),
        case("--check", "--ignore-missing", "list", files={"two": BYTES, "list": LISTS[name]}),
        case("-c", "list", files={**SUMS, "list": "no checksum\n"}),
        case(stdin=MANY * 20),
    ]


def listing(name):
    import hashlib
    make = getattr(hashlib, {"md5sum": "md5", "sha256sum": "sha256", "sha512sum": "sha512",
                             "sha1sum": "sha1", "b2sum": "blake2b"}[name])
    return "".join(f"{make(as_bytes(SUMS[f])).hexdigest()}  {f}\n" for f in SUMS)


def as_bytes(text):
    return text.encode() if isinstance(text, str) else text


LISTS = {name: listing(name) for name in ("md5sum", "sha256sum", "sha512sum", "sha1sum", "b2sum")}

CASES = {name: sums(name) for name in LISTS}
CASES |= {
    "cut": [
        case("-d,", "-f2", stdin=TABLE),
        case("-d,", "-f1,3", "t", files={"t": TABLE}),
        case("-d,", "-f2-", "--output-delimiter=|", stdin=TABLE),
        case("-d,", "-f-2", "--complement", stdin=TABLE),
        case("-c1-3,5", stdin=WORDS),
        case("-c", "3-", stdin=WORDS),
        case("-b", "2", "-n", stdin="héllo\n"),
        case("-f2", stdin="a\tb\tc\nno tabs\n"),
        case("-s", "-f2", stdin="a\tb\tc\nno tabs\n"),
        case("-f0", stdin="a\n"),
        case("-d", "xy", "-f1", stdin="a\n"),
        case("-z", "-f1", "-d:", stdin="a:b\0c:d\0"),
        case("-f1", "missing"),
        case("-d ", "-f2", stdin=MANY),
    ],
    "sort": [
        case(stdin=LINES),
        case("-r", "f", files={"f": LINES}),
        case("-n", stdin=LINES),
        case("-f", stdin=LINES),
        case("-u", stdin=LINES),
        case("-k2", "-t,", stdin=TABLE),
        case("-t,", "-k2,2n", "-k1,1r", stdin=TABLE),
        case("-t,", "-k2nr", "-s", stdin=TABLE),
        case("-V", stdin=VERSIONS),
        case("-h", stdin=SIZES),
        case("-M", stdin=MONTHS),
        case("-g", stdin="1e3\n5\nnan\n-inf\n2.5e-3\n"),
        case("-c", stdin=LINES),
        case("-C", stdin="a\nb\n"),
        case("-m", "x", "y", files={"x": "a\nc\n", "y": "b\nd\n"}),
        case("-o", "f", "f", files={"f": LINES}),
        case("-k1.2,1.3", stdin=LINES),
        case("-b", "-k2", stdin="x   b\nx a\n"),
        case("-d", stdin="b-a\nba\nb a\n"),
        case("-i", stdin="b\x01a\nba\n"),
        case("-z", stdin="b\0a\0"),
        case("-R", "--random-source=f", "f", files={"f": LINES * 10}),
        case("--parallel=1", "-k2,2", "-k1n", stdin=MANY),
        case("-S", "1M", "-n", "-k3", stdin=MANY * 100),
        case("-us", "-k1,1n", stdin=MANY),
        case("missing"),
        case("-k0", stdin="a\n"),
        case("--files0-from=list", files={"list": "x\0y", "x": "2\n", "y": "1\n"}),
    ],
    "uniq": [
        case(stdin="a\na\nb\na\n"),
        case("-c", stdin="a\na\nb\n"),
        case("-d", stdin="a\na\nb\n"),
        case("-D", stdin="a\na\nb\n"),
        case("-u", stdin="a\na\nb\n"),
        case("-i", stdin="a\nA\nb\n"),
        case("-f1", stdin="1 a\n2 a\n3 b\n"),
        case("-s2", stdin="1 a\n2 a\n3 b\n"),
        case("-w1", "-c", stdin="ab\nac\nb\n"),
        case("--group=both", stdin="a\na\nb\n"),
        case("in", files={"in": "a\na\n"}),
        case("-z", stdin="a\0a\0b\0"),
        case("missing"),
    ],
    "tr": [
        case("a-z", "A-Z", stdin=WORDS),
        case("-d", "aeiou", stdin=WORDS),
        case("-s", " ", stdin=WORDS),
        case("-s", "a-z", stdin="aabbcc dd\n"),
        case("-cd", "[:alnum:]\\n", stdin=WORDS),
        case("[:upper:]", "[:lower:]", stdin="HELLO World\n"),
        case("-c", "a-z\n", "_", stdin="ab1c d\n"),
        case("-t", "abc", "x", stdin="aabbcc\n"),
        case("\\n", " ", stdin=WORDS),
        case("\\000-\\037", "?", stdin=BYTES),
        case("[=a=]b", "[x*2]", stdin="abc\n"),
        case("a", stdin="a\n"),
        case("a-c", "", stdin="abc\n"),
        case("[a*", "x", stdin="[a*\n"),
    ],
    "wc": [
        case(stdin=WORDS),
        case("-l", stdin=WORDS),
        case("-w", "a", "b", files={"a": WORDS, "b": LINES}),
        case("-c", "a", files={"a": WORDS}),
        case("-m", stdin="héllo\n"),
        case("-L", stdin=WORDS),
        case("-lwc", "a", "missing", files={"a": LINES}),
        case(*BLOCKS, files=BLOCKS),
        case("-lmw", *BLOCKS, files=BLOCKS),
        case("a", "b", "-", stdin="x\n", files={"a": WORDS, "b": ""}),
        case("--total=only", "a", "b", files={"a": WORDS, "b": LINES}),
        case("--files0-from=-", stdin="a\0b\0", files={"a": "1\n", "b": "2 3\n"}),
        case("-l", stdin=MANY * 50),
        case("-c", stdin=BYTES),
        case("d", files={"d/": ""}),
    ],
    "head": [
        case(stdin=MANY),
        case("-n3", stdin=MANY),
        case("-n", "-2990", stdin=MANY),
        case("-c5", stdin=MANY),
        case("-c", "-5", stdin="hello world\n"),
        case("-5", stdin=MANY),
        case("a", "b", files={"a": LINES, "b": WORDS}),
        case("-q", "-n1", "a", "b", files={"a": LINES, "b": WORDS}),
        case("-v", "-n1", "a", files={"a": LINES}),
        case("-n0", stdin=LINES),
        case("-c", "1K", stdin=MANY),
        case("-z", "-n1", stdin="a\0b\0"),
        case("missing"),
        case("-n", "x", stdin="a\n"),
    ],
    "tail": [
        case(stdin=MANY),
        case("-n3", stdin=MANY),
        case("-n", "+2998", stdin=MANY),
        case("-c5", stdin=MANY),
        case("-c", "+5", stdin="hello world\n"),
        case("-n3", "a", files={"a": MANY}),
        case("-c", "1000", "a", files={"a": MANY}),
        case("a", "b", files={"a": LINES, "b": WORDS}),
        case("-q", "-n1", "a", "b", files={"a": LINES, "b": WORDS}),
        case("-v", "-n1", "a", files={"a": LINES}),
        case("-n0", stdin=LINES),
        case("-2", stdin=LINES),
        case("-z", "-n1", stdin="a\0b\0"),
        case("missing"),
    ],
    "base64": [
        case(stdin=BYTES),
        case("-w0", stdin=BYTES),
        case("-w", "10", stdin="hello world, hello world"),
        case("-d", stdin="aGVsbG8gd29ybGQ=\n"),
        case("-d", stdin="aGVs\nbG8g\nd29y\nbGQ=\n"),
        case("-d", stdin="not base64!"),
        case("-di", stdin="aG*Vs bG8="),
        case("-d", stdin="aGVsbG8"),
        case("f", files={"f": BYTES}),
        case("--decode", "f", files={"f": "AAECAw=="}),
        case(stdin=""),
        case("missing"),
        case("-w0", stdin=MANY * 10),
    ],
    "du": [
        case("-b", "f", files={"f": "x" * 5000}),
        case("-a", "--apparent-size", "-b", files=TREE, normal=any_order),
        case("-s", "--apparent-size", "a", files=TREE),
        case("-sh", "a/one", files=TREE),
        case("-ac", "a/one", "z", files=TREE),
        case("-h", "--apparent-size", "a/one", "a/b/two", files=TREE),
        case("-d1", "-b", "--apparent-size", files=TREE, normal=any_order),
        case("-ab", "--exclude=two", "a", files=TREE, normal=any_order),
        case("-B", "1", "a/one", "z", files=TREE),
        case("-k", "a/one", files=TREE),
        case("-m", "a/one", files=TREE),
        case("-0bs", "a", files=TREE),
        case("-bt", "200", "-a", "a", files=TREE, normal=any_order),
        case("missing"),
    ],
    "stat": [
        case("-c", "%n %s %F", "f", "d", files={"f": "12345", "d/": ""}, normal=no_folder_size),
        case("-c", "%Y", "f", files={"f": "x"}),
        case("-c", "%y", "f", files={"f": "x"}, times={"f": 1_600_000_000}),
        case("-c", "%a %A %f", "f", files={"f": "x"}),
        case("-c", "%a %A", "d", files={"d/": ""}),
        case("--printf", "%s\\t%n\\n", "f", files={"f": "x" * 70000}),
        case("-c", "%b %B", "f", files={"f": "x" * 10000}),
        case("-c", "%h %t %T", "f", files={"f": ""}),
        case("-c", "%F", "f", "d", files={"f": "", "d/": ""}),
        case("-c", "%N", "f", files={"f": ""}),
        case("-c", "%10s|%-10s|", "f", files={"f": "abc"}),
        case("-Lc", "%s", "f", files={"f": "abc"}),
        case("missing"),
        case("-c", "%n %s", "f", "missing", files={"f": "abc"}),
        case("f", files={"f": "abc"}, check=lambda r: r.exit == 0 and b"Size: 3" in r.stdout and b"0644" in r.stdout),
    ],
    "touch": [
        case("new"),
        case("-c", "new"),
        case("a", "b", "d/c", files={"d/": ""}),
        case("missing/c"),
        case("-d", "2024-02-29 12:34:56", "f", files={"f": "x"}, check=lambda r: r.exit == 0),
        case("-r", "f", "g", files={"f": "x"}),
        case("-t", "202402291200.30", "f"),
        case("-t", "209913321200", "f"),
        case("-d", "nonsense", "f"),
        case("-a", "f", files={"f": "x"}),
        case("-m", "-d", "@86400", "f", files={"f": "x"}),
        case(),
        case("-d", "yesterday", "f"),
    ],
    "truncate": [
        case("-s5", "f", files={"f": "1234567"}),
        case("-s", "10", "f", files={"f": "123"}),
        case("-s", "+3", "f", files={"f": "123"}),
        case("-s", "-2", "f", files={"f": "123"}),
        case("-s", "1K", "f"),
        case("-s", "%4", "f", files={"f": "12345"}),
        case("-s", "/4", "f", files={"f": "12345"}),
        case("-s", "<4", "f", files={"f": "12345"}),
        case("-s", ">4", "f", files={"f": "12"}),
        case("-r", "g", "f", files={"f": "12", "g": "12345678"}),
        case("-c", "-s5", "f"),
        case("-s0", "a", "b", files={"a": "1", "b": "2"}),
        case("-s", "x", "f"),
        case("f"),
    ],
    "ls": [
        case(files=TREE),
        case("-a", files=TREE),
        case("-1", "a", files=TREE),
        case("-R", files=TREE),
        case("-F", files=TREE),
        case("-r", files=TREE),
        case("-S", "-1", "a/b", files=TREE),
        case("-t", "-1", files={"old": "", "new": "", "mid": ""}, times={"old": 1, "new": 3, "mid": 2}),
        case("-d", "a", "z", files=TREE),
        case("-lgGo", "--time-style=long-iso", "z", files=TREE),
        case("-A", "-m", files=TREE),
        case("-v", "-1", files={"f10": "", "f9": ""}),
        case("missing"),
    ],
    "cat": [
        case(stdin=WORDS), case("a", "b", files={"a": "1\n", "b": "2\n"}), case("-n", stdin=WORDS),
        case("-b", stdin=WORDS), case("-A", stdin=BYTES), case("-s", stdin="a\n\n\n\nb\n"),
        case("-", "a", stdin="in\n", files={"a": "1\n"}), case("missing", "a", files={"a": "1\n"}),
        case("-E", stdin=WORDS), case("-T", stdin=WORDS), case(stdin=BYTES * 500),
    ],
    "echo": [
        case("a", "b"), case("-n", "a"), case("-e", "a\\tb\\n\\x41\\0101"), case("-E", "a\\n"), case(),
        case("-e", "a\\c", "b"), case("--", "x"), case("-x"), case("-ne", "\\u00e9"), case("a  b"),
    ],
    "printf": [
        case("%s\\n", "a", "b"), case("%05d|%-5d|%+d\\n", "42", "42", "42"), case("%x %X %o\\n", "255", "255", "8"),
        case("%.3f %e %g\\n", "3.14159", "1234.5", "0.0001"), case("%c%c\\n", "abc", "d"), case("%b", "a\\tb\\n"),
        case("%q\\n", "a b'c"), case("%%\\n"), case("%d\\n", "x"), case("%5s|%-5s|\\n", "ab", "ab"), case("\\x41\\n"),
        case("%s %d\\n", "a", "1", "b"), case("%*d\\n", "5", "42"),
    ],
    "true": [case(*args) for args in ANYTHING],
    "false": [case(*args) for args in ANYTHING],
    "mkdir": [case("a"), case("-p", "a/b/c"), case("a/b"), case("-v", "a"), case("a", files={"a/": ""}),
              case("-p", "a", files={"a/": ""}), case("a", "b", "c"), case("f", files={"f": ""}), case(),
              case("-m", "700", "a")],
    "rmdir": [case("a", files={"a/": ""}), case("a", files={"a/f": ""}), case("-p", "a/b", files={"a/b/": ""}),
              case("missing"), case("-v", "a", files={"a/": ""}), case("a", "b", files={"a/": "", "b/": ""}),
              case("f", files={"f": ""}), case(), case("--ignore-fail-on-non-empty", "a", files={"a/f": ""}), case("-p", "a/b", files={"a/b/": "", "a/f": ""})],
    "rm": [case("z", files=TREE), case("a", files=TREE), case("-r", "a", files=TREE), case("-f", "missing"),
           case("missing"), case("-rv", "a/b/two", files=TREE), case("-d", "e", files={"e/": ""}),
           case("-rf", "a", "z", ".hidden", files=TREE), case("-f"), case("-i", "z", stdin="y\n", files=TREE)],
    "cp": [case("z", "y", files=TREE), case("-r", "a", "c", files=TREE), case("a", "c", files=TREE),
           case("z", "a", files=TREE), case("-t", "a", "z", ".hidden", files=TREE), case("-n", "z", "a/one", files=TREE),
           case("missing", "x"), case("-v", "z", "y", files=TREE), case("-a", "a", "c", files=TREE),
           case("-u", "z", "a/one", files=TREE, times={"z": 1}), case("--parents", "a/b/two", "d", files={**TREE, "d/": ""}),
           case("-b", "z", "a/one", files=TREE)],
    "mv": [case("z", "y", files=TREE), case("a", "c", files=TREE), case("z", "a", files=TREE), case("-n", "z", "a/one", files=TREE),
           case("missing", "x"), case("-v", "z", "y", files=TREE), case("-b", "z", "a/one", files=TREE),
           case("-t", "a", "z", files=TREE), case("a", "a/b", files=TREE), case("z", "z", files=TREE)],
    "tac": [case(stdin=LINES), case("f", "g", files={"f": "1\n2\n", "g": "3\n4"}), case("-s", ",", stdin="a,b,c"),
            case("-b", "-s", ",", stdin="a,b,c"), case("-r", "-s", "[0-9]", stdin="a1b2c"), case(stdin=MANY * 20),
            case(stdin=""), case("missing"), case(stdin="a"), case("f", files={"f": MANY})],
    "nl": [case(stdin=WORDS), case("-ba", stdin=WORDS), case("-w3", "-s: ", stdin=WORDS), case("-nrz", stdin=WORDS),
           case("-v10", "-i5", stdin=LINES), case("-bp^a", stdin=LINES), case("-nln", stdin=LINES),
           case(stdin="a\n\\:\\:\nb\n"), case("f", files={"f": LINES}), case("missing")],
    "paste": [case("a", "b", files={"a": "1\n2\n3\n", "b": "x\ny\n"}), case("-s", stdin=LINES), case("-d,", "-s", stdin=LINES),
              case("-d", ",;", "a", "b", "a", files={"a": "1\n2\n", "b": "x\ny\n"}), case("-", "-", stdin=LINES),
              case("-d", "\\n", "a", "b", files={"a": "1\n", "b": "2\n"}), case("-z", stdin="a\0b\0"), case("missing"),
              case("-sd", "", stdin=LINES), case("a", "-", stdin="z\n", files={"a": "1\n2\n"})],
    "join": [case("a", "b", files={"a": "1 x\n2 y\n", "b": "1 p\n3 q\n"}), case("-t,", "a", "b", files={"a": "1,x\n", "b": "1,y\n"}),
             case("-a1", "-a2", "-e-", "-o0,1.2,2.2", "a", "b", files={"a": "1 x\n2 y\n", "b": "1 p\n3 q\n"}),
             case("-v1", "a", "b", files={"a": "1 x\n2 y\n", "b": "1 p\n"}), case("-1", "2", "-2", "1", "a", "b", files={"a": "x 1\n", "b": "1 p\n"}),
             case("--header", "a", "b", files={"a": "k v\n1 x\n", "b": "k w\n1 p\n"}), case("-i", "a", "b", files={"a": "A 1\n", "b": "a 2\n"}),
             case("a", "b", files={"a": "2 x\n1 y\n", "b": "1 p\n2 q\n"}), case("a", "-", stdin="1 p\n", files={"a": "1 x\n"}), case("a", "missing", files={"a": ""})],
    "comm": [case("a", "b", files={"a": "1\n2\n", "b": "2\n3\n"}), case("-12", "a", "b", files={"a": "1\n2\n", "b": "2\n3\n"}),
             case("-3", "a", "b", files={"a": "1\n2\n", "b": "2\n3\n"}), case("--total", "a", "b", files={"a": "1\n2\n", "b": "2\n3\n"}),
             case("--output-delimiter=,", "a", "b", files={"a": "1\n2\n", "b": "2\n3\n"}), case("a", "b", files={"a": "2\n1\n", "b": "1\n"}),
             case("--nocheck-order", "a", "b", files={"a": "2\n1\n", "b": "1\n"}), case("-", "b", stdin="1\n", files={"b": "1\n"}),
             case("-z", "a", "b", files={"a": "1\0", "b": "1\0"}), case("a", "missing", files={"a": ""})],
    "fold": [case("-w10", stdin=WORDS), case("-sw10", stdin=WORDS), case("-bw5", stdin=WORDS), case(stdin="x" * 200), case("f", files={"f": "y" * 100}),
             case("-w0", stdin="a"), case("-w3", stdin="a\tb\n"), case("-c", "-w2", stdin="hello\n"), case("missing"), case("-w20", stdin=MANY)],
    "fmt": [case(stdin=WORDS), case("-w20", stdin=WORDS * 3), case("-u", stdin=WORDS), case("-s", "-w20", stdin=WORDS), case("-t", stdin=WORDS),
            case("-c", stdin=WORDS), case("-p", "> ", stdin="> a\n> b\n"), case("f", files={"f": WORDS}), case("missing"), case("-w", "10", stdin=MANY)],
    "expand": [case(stdin="\ta\tb\n"), case("-t4", stdin="\ta\tb\n"), case("-i", stdin="\ta\tb\n"), case("-t", "2,6,10", stdin="\ta\tb\tc\n"), case("f", files={"f": "a\tb\n"}),
               case("-t", "+3", stdin="\ta\n"), case("-t0", stdin="\ta\n"), case("missing"), case(stdin="a\bb\tc\n"), case("-4", stdin="\tx\n")],
    "unexpand": [case(stdin="        a   b\n"), case("-a", stdin="        a       b\n"), case("-t4", stdin="    a    b\n"), case("--first-only", "-t4", stdin="    a    b\n"), case("f", files={"f": " " * 16}),
                 case("-t", "2,8", stdin="        a\n"), case("missing"), case("-a", stdin=WORDS), case(stdin=""), case("-t0", stdin=" ")],
    "seq": [case("5"), case("2", "5"), case("1", "2", "9"), case("-s,", "5"), case("-w", "8", "11"), case("-f", "%03g", "3"), case("5", "-1", "1"),
            case("0.1", "0.1", "0.5"), case("x"), case("1e3"), case("10000"), case("3", "1"), case("-f", "%.2f|", "1", "3")],
    "basename": [case("a/b.txt"), case("a/b.txt", ".txt"), case("/"), case("a/b/"), case("-a", "x/y", "z/w"), case("-s", ".c", "a.c", "b.c"), case(""), case(), case("-z", "a/b"), case("//"), case("a", "b", "c")],
    "dirname": [case("a/b"), case("a"), case("/"), case("/a"), case("a/b/"), case("a//b"), case("x/y", "z"), case("-z", "a/b"), case(""), case()],
    "realpath": [case("-m", "/x/../y"), case("--relative-to=a", "a/b/two", files=TREE), case("--relative-base=/x", "-m", "/x/y", "/z"), case("missing/x"), case("-s", "-m", "/a/./b"),
                 case("-e", "missing"), case("-z", "-m", "/a"), case("-m", "--relative-to=/a/b", "/a/c"), case(), case("-q", "missing/x")],
    "tee": [case("f", stdin=WORDS), case("-a", "f", stdin="b\n", files={"f": "a\n"}), case(stdin="x"), case("a", "b", stdin=BYTES), case("missing/x", stdin="a"), case("d", stdin="a", files={"d/": ""}),
            case("-p", "f", stdin="x"), case("f", stdin=MANY * 10), case("-", stdin="x"), case("f", stdin="")],
    "sleep": [case("0"), case("0.01"), case("x"), case("0s", "0m"), case(), case("-1"), case("0x"), case("0.0", "x"), case("0d"), case("--unknown")],
    "date": [case("-d", "2024-02-28 + 1 day", "+%F"), case("-d", "@86400", "+%F %T"), case("-d", "2024-01-31 12:00 + 1 month", "+%c"), case("-u", "-d", "2024-02-29T01:02:03Z", "-R"),
             case("-d", "next monday", "-r", "f", files={"f": ""}), case("-d", "2024-02-29", "+%j %U %u %a %b %s"), case("-d", "nonsense"), case("-r", "f", "+%s", files={"f": ""}), case("--iso-8601=seconds", "-d", "@0"),
             case("-d", "12/25/2023 5pm", "+%I %p"), case("-f", "f", "+%F", files={"f": "2024-01-01\n1 jan 2025\n"}), case("--rfc-3339=ns", "-d", "@1.5"), case("+%N%%", "-d", "@1.25")],
    "split": [case("-l2", stdin=LINES), case("-b10", stdin=WORDS), case("-n3", "f", files={"f": MANY}), case("-d", "-l3", "f", "p_", files={"f": LINES}), case("-a1", "-l1", stdin="1\n2\n"), case("-C20", stdin=WORDS),
              case("-nl/2", "f", files={"f": LINES}), case("--additional-suffix=.txt", "-l4", stdin=LINES), case("-l0", stdin="a"), case("missing"), case("-x", "-l1", stdin=LINES)],
    "od": [case(stdin=WORDS), case("-c", stdin=BYTES), case("-tx1", "-An", stdin=BYTES), case("-tx1z", stdin=WORDS), case("-td4", stdin=BYTES), case("-tfD", stdin=BYTES[:64]), case("-j3", "-N5", stdin=WORDS), case("-v", stdin="\0" * 100),
           case(stdin="\0" * 100), case("-Ax", "-tu2", stdin=BYTES), case("f", files={"f": BYTES}), case("missing"), case("-w4", "-tx1", stdin=BYTES[:20])],
    "numfmt": [case("--to=iec", "1048576"), case("--from=iec", "1M"), case("--to=si", "1500000"), case("--from=si", "--to=iec", "2G"), case("--field=2", "--to=iec", stdin="a 2048\nb 1000000\n"), case("--format=%.2f", "--to=iec", "1500"),
               case("--suffix=B", "--to=iec", "4096"), case("--grouping", "1000"), case("x"), case("--padding=10", "5"), case("--to=iec-i", "--round=up", "1500"), case("--header", "--to=si", stdin="n\n1000\n"), case("-d,", "--field=1", "--to=si", stdin="5000,x\n")],
    "shuf": [case("--random-source=f", "-i", "1-10", files={"f": BYTES}), case("-e", "x"), case("--random-source=f", "-n2", "g", files={"f": BYTES, "g": LINES}), case("-n0", stdin=LINES), case("-i", "5-5"), case("-i", "5-1"), case(stdin=""), case("missing"),
             case("--random-source=f", "-rn5", "-i", "1-3", files={"f": BYTES}), case("-e", "-n0", "x", "y")],
    "cksum": [case(stdin="hello"), case("one", "two", files=SUMS), case("-a", "sha256", "one", files=SUMS), case("-a", "md5", "--untagged", "one", files=SUMS), case("-a", "bsd", "one", files=SUMS), case("-a", "sysv", "one", files=SUMS),
              case("-a", "sm3", "one", files=SUMS), case("-a", "crc", "two", files=SUMS), case("-a", "blake2b", "-l", "128", "one", files=SUMS), case("-a", "sha256", "--base64", "one", files=SUMS), case("missing"), case("-a", "x", "one", files=SUMS)],
    "base32": [case(stdin=BYTES), case("-w0", stdin=BYTES), case("-d", stdin="NBSWY3DP\n"), case("-d", stdin="!"), case("-di", stdin="NB*SWY3DP"), case("f", files={"f": "x"}), case(stdin=""), case("missing"), case("-d", stdin="NBSWY3D"), case("-w5", stdin="hello world")],
    "factor": [case("360"), case("1"), case("18446744073709551615"), case(stdin="12 13\n97\n"), case("x"), case("-h", "72"), case("0"), case("999999999989"), case("-5"), case("2", "3")],
    "expr": [case("2", "+", "3"), case("7", "%", "3"), case("length", "abc"), case("substr", "abcdef", "2", "3"), case("abc", ":", "a\\(.*\\)"), case("index", "abc", "c"), case("1", "=", "2"), case("2", "*", "(", "3", ")"), case("a", "|", "b"), case("0", "|", "0"), case("1", "/", "0"), case()],
    "test": [case("-f", "f", files={"f": ""}), case("-d", "f", files={"f": ""}), case("1", "-lt", "2"), case("a", "=", "b"), case("-z", ""), case("!", "-e", "missing"), case("-s", "f", files={"f": ""}), case("a", "-a", ""), case("a", "-ot", "b", files={"a": "", "b": ""}, times={"a": 1}), case("x", "y", "z")],
    "tsort": [case(stdin="a b\nb c\n"), case(stdin="a b\nb a\n"), case(stdin="a a\n"), case(stdin="a\n"), case("f", files={"f": "x y z y\n"}), case(stdin=""), case("missing"), case(stdin="a b c d b c\n"), case("-", stdin="1 2\n"), case(stdin="3 1 2 3\n")],
    "csplit": [case("f", "3", files={"f": LINES}), case("f", "/apple/", "{*}", files={"f": LINES}), case("-sf", "p", "f", "/9/", files={"f": LINES}), case("-n1", "f", "2", "4", files={"f": LINES}), case("f", "%Cherry%", files={"f": LINES}), case("f", "/none/", files={"f": LINES}),
               case("-k", "f", "/none/", files={"f": LINES}), case("-z", "f", "/banana/", "{*}", files={"f": LINES}), case("f", "/apple/+1", files={"f": LINES}), case("missing", "1")],
    "readlink": [case("f", files={"f": ""}), case("missing"), case("-m", "/a/../b"), case("-f", "/"), case("-n", "-m", "/x"), case("-e", "missing"), case("-z", "-m", "/a"), case("-m", "/a//b/."), case(), case("-q", "missing")],
    "env": [case("-i"), case("-0", "-i"), case("-i", "A=1", "B=2"), case("-i", "A=b c"), case("-u", "HOME", "-i", "X=1"), case("-i", "--", "A=1"), case("-i", "A="), case("--ignore-environment"), case("-i", "Z=1", "A=2"), case("-i", "-0", "A=1", "B=2")],
}

# Nothing is an input, too.
for tool, args in {"sort": [], "uniq": ["-c"], "cut": ["-c1"], "tr": ["a", "b"], "wc": [],
                   "head": [], "tail": [], "md5sum": [], "sha256sum": [], "sha512sum": [],
                   "base64": [], "tac": [], "nl": [], "fold": [], "od": [], "paste": [],
                   "expand": [], "fmt": [], "shuf": [], "tsort": [], "split": []}.items():
    CASES[tool].append(case(*args, stdin=""))
CASES["sort"].append(case("-m", "a", "b", files={"a": "", "b": ""}))
CASES["sort"].append(case("-c", "a", files={"a": ""}))

# Where a file is hangs on where it runs; in Wasm that is /work, in a tree of its own.
CASES["realpath"] += [case("two", files={"two": ""}, check=lambda r: r.stdout == b"/work/two\n"),
                      case("a/../two", files={"a/b": "", "two": ""}, check=lambda r: r.stdout == b"/work/two\n")]
CASES["readlink"] += [case("-f", "two", files={"two": ""}, check=lambda r: r.stdout == b"/work/two\n"),
                      case("-f", "..", check=lambda r: r.stdout == b"/\n")]
CASES["ls"] += [case("/", files={"mine": ""}, check=lambda r: r.stdout.split() == [b"tmp", b"work"]),
                case("..", files={"mine": ""}, check=lambda r: r.stdout.split() == [b"tmp", b"work"])]
# A mode is a file's, whatever this tool may do with it.
CASES["stat"].append(case("-c", "%a %U %n", "f", files={"f": ""},
                          check=lambda r: r.stdout == b"644 user f\n"))
CASES["test"].append(case("-w", "f", files={"f": ""}))
