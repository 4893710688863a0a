import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib

from compare import case, debian


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png():
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(bytes(20))) + chunk(b"IEND", b""))


def tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as t:
        t.addfile(tarfile.TarInfo("x"))
    return out.getvalue()


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr(zipfile.ZipInfo("x"), "y")
    return out.getvalue()


KINDS = {
    "text": "plain text\nwith lines\n", "utf8": "naïve café ☕\n", "latin": b"caf\xe9\n", "empty": "",
    "crlf": "a\r\nb\r\n", "long": "x" * 5000 + "\n", "utf16": "text\n".encode("utf-16"), "png": png, "tar": tar,
    "gz": lambda: gzip.compress(b"x", mtime=0), "xz": lambda: lzma.compress(b"x"), "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "gif": b"GIF89a\x02\x00\x03\x00\x80\x00\x00", "jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x01\x00\x48\x00\x48\x00\x00\xff\xd9",
    "sh": "#!/bin/sh\necho\n", "python": "#!/usr/bin/env python3\nimport os\n", "json": '{"a": [1, 2]}\n', "html": "<!DOCTYPE html>\n<html><body></body></html>\n",
    "xml": '<?xml version="1.0"?>\n<a/>\n', "svg": '<svg xmlns="http://www.w3.org/2000/svg"></svg>\n', "c": "#include <stdio.h>\nint main(void) { return 0; }\n",
    "wasm": b"\0asm\1\0\0\0", "sqlite": b"SQLite format 3\0\x10\0\1\1\0" + bytes(84), "data": bytes(range(256)),
    "csv": "a,b,c\n1,2,3\n4,5,6\n", "webp": b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0" + bytes(24), "elf": b"\x7fELF\2\1\1" + bytes(9) + b"\2\0\x3e\0\1\0\0\0" + bytes(40),
    "mbr": bytes(510) + b"\x55\xaa", "wav": b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x44\xac\0\0\x88\x58\1\0\2\0\x10\0data\0\0\0\0",
}

# Where its database is, in the folder of the references.
REFERENCE = {"file": debian("file", env={"MAGIC": "ROOT/usr/lib/file/magic.mgc"})}
CASES = {
    "file": [case(name, files={name: contents}) for name, contents in KINDS.items()] + [
        # Debian has changed how this one's date is printed.
        case("zip", files={"zip": zipped}, check=lambda r: r.stdout.startswith(b"zip: Zip archive data, made by v2.0")),
        case("-b", "png", files={"png": png}),
        case("-i", "utf8", "png", files={"utf8": KINDS["utf8"], "png": png}),
        case("--mime-type", "json", files={"json": KINDS["json"]}),
        case("--mime-encoding", "latin", files={"latin": KINDS["latin"]}),
        case("--extension", "png", files={"png": png}),
        case("-", stdin=b"%PDF-1.4\n"),
        case("-b", "-", stdin="text"),
        case("d", files={"d/": ""}),
        case("missing"),
        case("-f", "list", files={"list": "text\npng\n", "text": "t\n", "png": png}),
        case("-k", "sh", files={"sh": KINDS["sh"]}),
        case("-0", "text", files={"text": "t\n"}),
        case("-N", "text", "empty", files={"text": "t\n", "empty": ""}),
        case("-F", " ->", "text", files={"text": "t\n"}),
        case("-E", "missing"),
    ],
}
