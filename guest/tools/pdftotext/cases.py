"""pdftotext, compared with Debian's."""
from compare import case
from pictures import pdf

COLUMNS = [(72, 700 - 14 * n, 10, f"left column {n}") for n in range(8)] + \
    [(320, 700 - 14 * n, 10, f"right column {n}") for n in range(8)] + [(200, 760, 20, "A Heading")]
TABLE = [(x, 600 - 16 * n, 10, f"{name} {n}") for n in range(6)
         for x, name in ((72, "cell"), (220, "value"), (380, "note"))]
SPECIAL = [(72, 500, 12, "Größe, café (naïve) \\ — “quoted” … €5"), (72, 480, 12, "hyphen-"),
           (72, 466, 12, "ated word and a very   wide   gap")]
DOC = pdf([COLUMNS, TABLE, SPECIAL, []], title="Report of \xfcber 4 pages")


def text(*args, given=DOC, out="-"):
    return case(*args, "in.pdf", *([out] if out else []), files={"in.pdf": given})


CASES = {"pdftotext": [
    text(),
    text(out=None),
    text(out="out.txt"),
    text("-layout"),
    text("-layout", "-fixed", "5"),
    text("-raw"),
    text("-f", "2", "-l", "3"),
    text("-f", "3", "-l", "9"),
    text("-f", "9"),
    text("-nopgbrk"),
    text("-nodiag"),
    text("-eol", "dos"),
    text("-eol", "mac", "-nopgbrk"),
    text("-enc", "Latin1"),
    text("-enc", "ASCII7"),
    text("-enc", "UTF-16"),
    text("-enc", "nothing"),
    text("-listenc"),
    text("-htmlmeta"),
    text("-bbox"),
    text("-bbox-layout"),
    text("-tsv"),
    text("-x", "60", "-y", "100", "-W", "200", "-H", "200"),
    text("-cropbox"),
    text("-colspacing", "0.3"),
    text("-q", given=DOC[:len(DOC) // 2]),
    text(given=DOC.replace(b"startxref\n", b"startxref\n8")),
    text(given=b"this is no PDF"),
    text(given=b""),
    text("-upw", "secret"),
    text(given=pdf([COLUMNS], compress=False, version="1.2")),
    case("-", "-", stdin=DOC),
    case("missing.pdf", "-"),
    case("-no-such-option"),
    case("-v", check=lambda r: b"25.03" in r.stderr),
]}
