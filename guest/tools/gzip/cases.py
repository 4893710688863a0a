import gzip

from compare import case, debian

TEXT = "".join(f"line {i} of some text, {i * 7919 % 1000}\n" for i in range(2000)).encode()
NOISE = bytes((i * i * 31 + i // 7) & 255 for i in range(20000))
PACKED = gzip.compress(TEXT, mtime=0)
TWO = gzip.compress(b"one\n", mtime=0) + gzip.compress(b"two\n", mtime=0)
DAMAGED = PACKED[:-20] + bytes(20)

# Natively these are scripts that run gzip.
REFERENCE = {"gunzip": debian("gzip", "-d"), "zcat": debian("gzip", "-cd")}
CASES = {
    "gzip": [
        case("-c", stdin=TEXT),
        case("-9c", stdin=TEXT),
        case("-1c", stdin=TEXT),
        case("-nc", "f", files={"f": TEXT}),
        case("-nk", "f", files={"f": TEXT}),
        case("-n", "f", files={"f": NOISE}),
        case("-dc", stdin=PACKED),
        case("-d", "f.gz", files={"f.gz": PACKED}),
        case("-dk", "f.gz", files={"f.gz": PACKED}),
        case("-t", "f.gz", files={"f.gz": PACKED}),
        case("-t", "f.gz", files={"f.gz": DAMAGED}),
        case("-l", "f.gz", files={"f.gz": PACKED}),
        case("-dc", stdin=TWO),
        case("-dc", stdin=b"no gzip"),
        case("-dc", stdin=PACKED[:100]),
        case("-n", "f", files={"f": TEXT, "f.gz": "there"}),
        case("-nf", "f", files={"f": TEXT, "f.gz": "there"}),
        case("-nS", ".z", "f", files={"f": TEXT}),
        case("-nr", "d", files={"d/a": TEXT, "d/b": "x"}),
        case("-c", stdin=b""),
        case("missing"),
        case("-nv", "f", files={"f": TEXT}),
        case("-c", "--rsyncable", stdin=TEXT * 10),
    ],
    "gunzip": [
        case(stdin=PACKED),
        case("f.gz", files={"f.gz": PACKED}),
        case("-k", "f.gz", files={"f.gz": PACKED}),
        case("-c", "f.gz", files={"f.gz": PACKED}),
        case("f.tgz", files={"f.tgz": PACKED}),
        case("-t", "f.gz", files={"f.gz": DAMAGED}),
        case("f", files={"f": TEXT}),
        case("-l", "f.gz", files={"f.gz": PACKED}),
        case("f.gz", files={"f.gz": PACKED, "f": "there"}),
        case("-f", "f.gz", files={"f.gz": PACKED, "f": "there"}),
        case("-r", "d", files={"d/a.gz": PACKED}),
        case(stdin=TWO),
    ],
    "zcat": [
        case("f.gz", files={"f.gz": PACKED}),
        case(stdin=PACKED),
        case("f", files={"f.gz": PACKED}),
        case("a.gz", "b.gz", files={"a.gz": PACKED, "b.gz": TWO}),
        case("f.gz", files={"f.gz": DAMAGED}),
        case("f.gz", files={"f.gz": b""}),
        case("f.gz", files={"f.gz": "text"}),
        case("-f", "f", files={"f": "text\n"}),
        case("missing.gz"),
        case("-", stdin=TWO),
    ],
}

CASES["gzip"].append(case("-n", stdin=""))
