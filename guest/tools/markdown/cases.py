"""markdown is cmark-gfm, compared with Debian's."""
from compare import case, debian

REFERENCE = {"markdown": debian("cmark-gfm")}

DOC = """Title
=====

## Section *two* <b>raw</b>

A paragraph with **bold**, _italic_, `code`, [link](http://example.com "t"), ![img](a.png)\\
hard break, &copy; & < > "quotes" -- dashes... 'x'

* one
* two
    1. nested
    2. again

> quote
> > deeper

```c
int main(void) { return 0; }
```

    indented

***

<div onclick="x()">html <script>y</script></div>

[ref]: /url 'title'
See [ref] and [missing]. <javascript:alert(1)> [bad](javascript:x)
"""
GFM = """| a | b |
|:--|--:|
| 1 | `x|y` |

~~gone~~ www.example.com and user@example.com

- [x] done
- [ ] not

<title>no</title> A note.[^1]

[^1]: The note.
"""
ALL = [x for name in ("table", "strikethrough", "autolink", "tagfilter", "tasklist") for x in ("-e", name)]

CASES = {"markdown": [
    case(stdin=DOC),
    case("in.md", files={"in.md": DOC}),
    case("a.md", "b.md", files={"a.md": "# a\n", "b.md": "b\n"}),
    case("--unsafe", stdin=DOC),
    case("--smart", stdin=DOC),
    case("--hardbreaks", stdin="a\nb\n"),
    case("--nobreaks", stdin="a\nb\n"),
    case("--sourcepos", stdin=DOC),
    case("-t", "xml", stdin=DOC),
    case("-t", "man", stdin=DOC),
    case("-t", "commonmark", "--width", 40, stdin=DOC),
    case("-t", "plaintext", stdin=DOC),
    case("-t", "latex", stdin=DOC),
    case(*ALL, stdin=GFM),
    case(*ALL, "--footnotes", "--unsafe", stdin=GFM),
    case("-e", "table", "--table-prefer-style-attributes", stdin=GFM),
    case("-e", "table", "-t", "xml", stdin=GFM),
    case("--github-pre-lang", stdin=DOC),
    case("--full-info-string", stdin="```c extra\nx\n```\n"),
    case("--validate-utf8", stdin=b"a\xff\xc3b\n"),
    case(stdin=b"nul \0 here\n"),
    case(stdin="[" * 5000 + "a" + "](b)" * 5000),
    case(stdin="> " * 3000 + "x\n"),
    case("--strikethrough-double-tilde", "-e", "strikethrough", stdin="~a~ ~~b~~\n"),
    case("--list-extensions"),
    case("missing.md"),
    case("-e", "nothing", stdin="x"),
    case("-t", "nothing", stdin="x"),
    case("--no-such-option"),
    case("--version"),
]}
