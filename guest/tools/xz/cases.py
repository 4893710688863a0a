import lzma

from compare import case, debian

TEXT = "".join(f"line {i} of some text, {i * 7919 % 1000}\n" for i in range(2000)).encode()
PACKED = lzma.compress(TEXT)
ALONE = lzma.compress(TEXT, format=lzma.FORMAT_ALONE)
TWO = lzma.compress(b"one\n") + lzma.compress(b"two\n")

# One thread on both sides: several make other blocks.
REFERENCE = {"xz": debian("xz", "-T1"), "unxz": debian("xz", "-d"), "xzcat": debian("xz", "-cd")}
CASES = {
    "xz": [
        case("-c", stdin=TEXT),
        case("-7c", stdin=TEXT),
        case("-0c", stdin=TEXT),
        case("-9c", stdin=TEXT),
        case("--lzma2=dict=1536MiB", "-c", stdin=TEXT,
             check=lambda r: r.exit == 1 and b"emory" in r.stderr),
        case("-e", "-c", stdin=TEXT),
        case("f", files={"f": TEXT}),
        case("-k", "f", files={"f": TEXT}),
        case("-dc", stdin=PACKED),
        case("-d", "f.xz", files={"f.xz": PACKED}),
        case("-dk", "f.xz", files={"f.xz": PACKED}),
        case("-t", "f.xz", files={"f.xz": PACKED}),
        case("-t", "f.xz", files={"f.xz": PACKED[:-30]}),
        case("-l", "f.xz", files={"f.xz": PACKED}),
        case("-lv", "f.xz", files={"f.xz": TWO}, check=lambda r: r.exit == 0 and b"Streams" in r.stdout),
        case("-dc", stdin=TWO),
        case("-dc", stdin=b"no xz"),
        case("-dc", stdin=ALONE),
        case("--format=lzma", "-c", stdin=TEXT),
        case("-C", "sha256", "-c", stdin=TEXT),
        case("--x86", "--lzma2=preset=4", "-c", stdin=TEXT),
        case("f", files={"f": TEXT, "f.xz": "there"}),
        case("-f", "f", files={"f": TEXT, "f.xz": "there"}),
        case("missing"),
        case("-c", stdin=b""),
        case("--robot", "-l", "f.xz", files={"f.xz": PACKED}),
    ],
    "unxz": [
        case(stdin=PACKED), case("f.xz", files={"f.xz": PACKED}), case("-k", "f.xz", files={"f.xz": PACKED}),
        case("-c", "f.xz", files={"f.xz": PACKED}), case("f.lzma", files={"f.lzma": ALONE}), case("f.txz", files={"f.txz": PACKED}),
        case("f", files={"f": TEXT}), case("-t", "f.xz", files={"f.xz": PACKED[:99]}), case("-f", "f.xz", files={"f.xz": PACKED, "f": ""}),
        case("f.xz", files={"f.xz": PACKED, "f": ""}), case(stdin=TWO), case("missing.xz"),
    ],
    "xzcat": [
        case("f.xz", files={"f.xz": PACKED}), case(stdin=PACKED), case("a.xz", "b.xz", files={"a.xz": PACKED, "b.xz": TWO}),
        case("f.xz", files={"f.xz": PACKED[:200]}), case("f.xz", files={"f.xz": b""}), case("f.xz", files={"f.xz": "text"}),
        case("-f", "f", files={"f": "text\n"}), case("missing.xz"), case("-", stdin=TWO), case("f.lzma", files={"f.lzma": ALONE}),
    ],
}
