from compare import case

TEXT = "one two three\nfour five six\nseven eight nine\n\nten\n"
LOG = "".join(f"2024-01-{i % 28 + 1:02} user{i} GET /path/{i * 7}?q=a&b={i}\n" for i in range(500))

CASES = {
    "sed": [
        case("s/o/0/", stdin=TEXT),
        case("s/o/0/g", stdin=TEXT),
        case("s/e/E/2", stdin=TEXT),
        case("s/E/x/Ig", stdin=TEXT),
        case("-E", "s/([a-z]+) ([a-z]+)/\\2 \\1/", stdin=TEXT),
        case("s/\\(t\\)\\(w\\)/\\2\\1/", stdin=TEXT),
        case("-n", "2p", stdin=TEXT),
        case("-n", "2,3p", stdin=TEXT),
        case("-n", "/five/,/nine/p", stdin=TEXT),
        case("-n", "$=", stdin=TEXT),
        case("/^$/d", stdin=TEXT),
        case("1!G;h;$!d", stdin=TEXT),
        case("-i", "s/one/ONE/", "f", files={"f": TEXT}),
        case("-i.bak", "s/one/ONE/", "f", "g", files={"f": TEXT, "g": "one\n"}),
        case("-s", "-n", "1p", "f", "g", files={"f": TEXT, "g": "one\n"}),
        case("-e", "s/a/b/", "-e", "s/b/c/", stdin="aab\n"),
        case("-f", "script", "f", files={"script": "# comment\ns/o/0/g\n2a\\\nadded\n", "f": TEXT}),
        case("2i\\before", stdin=TEXT),
        case("2c changed", stdin=TEXT),
        case("$a end", stdin=TEXT),
        case("y/abc/xyz/", stdin="aabbcc\n"),
        case("s/.*/\\U&/", stdin=TEXT),
        case("-E", "s/(^| )([a-z])/\\1\\u\\2/g", stdin=TEXT),
        case("N;P;D", stdin=TEXT),
        case(":a;N;$!ba;s/\\n/,/g", stdin=TEXT),
        case("0~2d", stdin=TEXT),
        case("2q", stdin=TEXT),
        case("2q5", stdin=TEXT),
        case("-n", "l", stdin="a\tb\\\x01\n"),
        case("s/a/b/w out", stdin="a\nc\n"),
        case("r g", "f", files={"f": "1\n", "g": "2\n"}),
        case("-z", "s/\\n/;/g", stdin=TEXT),
        case("s|/path/\\([0-9]*\\)|<\\1>|", stdin=LOG),
        case("-E", "s/user([0-9]+).*b=([0-9]+)$/\\2:\\1/;/5/d", stdin=LOG),
        case("s/x*/-/g", stdin="abxc\n"),
        case("s/\\bf/F/;s/\\w*$/[&]/", stdin=TEXT),
        case("/two/{s/one/1/;s/three/3/}", stdin=TEXT),
        case("--debug", "-n", "p", stdin="a\n"),
        case("s/a", stdin="a\n"),
        case("p", "missing"),
        case("2{n;d}", stdin=TEXT),
        case("/seven/,+1d", stdin=TEXT),
        case("e", stdin="echo a\n", check=lambda r: r.exit != 0),
    ],
}

CASES["sed"].append(case("p", stdin=""))
