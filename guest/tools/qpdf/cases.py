"""qpdf, compared with Debian's. What it writes holds an id of random bytes, unless that is to
hang on the contents (--deterministic-id) or be the same always (--static-id)."""
from compare import case, stdout_only
from pictures import pdf

PAGES = pdf([[(72, 700, 12, f"Page {n} (of five)"), (72, 680, 9, "More text")] for n in range(1, 6)])
PLAIN = pdf([[(72, 700, 12, "Not compressed")]], compress=False, version="1.3")
BROKEN = PAGES.replace(b"startxref\n", b"startxref\n9")


def q(*args, given=PAGES, **more):
    return case(*args, files={"in.pdf": given, "b.pdf": PLAIN, "note.txt": "attached"}, **more)


def same(*args, **more):
    return q("--deterministic-id", *args, **more)


CASES = {"qpdf": [
    q("--check", "in.pdf"),
    q("--check", "in.pdf", given=BROKEN),
    q("--check", "in.pdf", given=PAGES[:len(PAGES) // 2]),
    q("--check", "in.pdf", given=b"this is no PDF"),
    q("--show-npages", "in.pdf"),
    q("--show-pages", "in.pdf"),
    q("--show-xref", "in.pdf"),
    q("--show-object=trailer", "in.pdf"),
    q("--show-object=5", "--filtered-stream-data", "in.pdf"),
    q("--show-object=6", "--raw-stream-data", "in.pdf"),
    q("--json", "in.pdf"),
    q("--json", "--json-key=pages", "in.pdf"),
    q("--json=1", "in.pdf"),
    q("--json-output", "in.pdf", "out.json"),
    q("--is-encrypted", "in.pdf"),
    q("--requires-password", "in.pdf"),
    same("in.pdf", "out.pdf"),
    same("in.pdf", "-"),
    same("--qdf", "in.pdf", "out.pdf"),
    same("--qdf", "--object-streams=disable", "in.pdf", "out.pdf"),
    same("--object-streams=generate", "in.pdf", "out.pdf"),
    same("--stream-data=uncompress", "in.pdf", "out.pdf"),
    same("--stream-data=compress", "b.pdf", "out.pdf"),
    same("--linearize", "in.pdf", "out.pdf"),
    same("--pages", "in.pdf", "2-4", "--", "in.pdf", "out.pdf"),
    same("--empty", "--pages", "in.pdf", "z-1", "b.pdf", "--", "out.pdf"),
    same("--rotate=+90:1,3", "in.pdf", "out.pdf"),
    same("--split-pages=2", "in.pdf", "part-%d.pdf"),
    same("--overlay", "b.pdf", "--", "in.pdf", "out.pdf"),
    same("--underlay", "b.pdf", "--to=1", "--", "in.pdf", "out.pdf"),
    same("--collate", "--empty", "--pages", "in.pdf", "1-2", "b.pdf", "--", "out.pdf"),
    same("--add-attachment", "note.txt", "--creationdate=D:20240101000000Z", "--moddate=D:20240101000000Z",
         "--", "in.pdf", "out.pdf"),
    same("--min-version=1.7", "--coalesce-contents", "in.pdf", "out.pdf"),
    same("--normalize-content=y", "in.pdf", "out.pdf"),
    same("--flatten-rotation", "in.pdf", "out.pdf"),
    same("--recompress-flate", "--compression-level=9", "in.pdf", "out.pdf"),
    same("--set-page-labels", "1:r", "3:D/1/A-", "--", "in.pdf", "out.pdf"),
    q("--static-id", "--static-aes-iv", "--encrypt", "user", "owner", "128", "--use-aes=y", "--",
      "in.pdf", "out.pdf"),
    q("--static-id", "--allow-weak-crypto", "--encrypt", "user", "owner", "40", "--", "in.pdf", "out.pdf"),
    q("--encrypt", "u", "o", "256", "--", "in.pdf", "out.pdf", normal=stdout_only),
    q("--decrypt", "--password=wrong", "in.pdf", "out.pdf", given=BROKEN),
    q("--replace-input", "--deterministic-id", "in.pdf"),
    same("in.pdf", "out.pdf", given=BROKEN),
    q("--qdf", "in.pdf"),
    q("--pages", "in.pdf", "7", "--", "in.pdf", "out.pdf"),
    q("missing.pdf", "out.pdf"),
    q("--no-such-option", "in.pdf"),
    case("--version"),
    case("--show-crypto", check=lambda r: r.stdout == b"native\n"),
    case("@options", files={"options": "--show-npages\nin.pdf\n", "in.pdf": PAGES}),
]}
