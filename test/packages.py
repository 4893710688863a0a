"""Packages of tools for tests: modules made byte by byte, and ZIPs, valid or not."""
import io
import json
import struct
import zipfile


def leb(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def name(text):
    return leb(len(text)) + text.encode()


def section(number, rows):
    body = leb(len(rows)) + b"".join(rows)
    return bytes([number]) + leb(len(body)) + body


TYPES = {"i": b"\x7f", "I": b"\x7e", "f": b"\x7d", "F": b"\x7c"}


def kind(text):
    """"iI:i" as a function's type."""
    return b"\x60" + b"".join(leb(len(side)) + b"".join(TYPES[c] for c in side)
                              for side in text.split(":"))


def module(imports=(), body=b"\x0b", start="_start", padding=0, pages=1):
    """A command: exports memory and a function without arguments, with `body`. `imports`: (module,
    name, type). `padding`: bytes of an ignored section. `pages`: of memory."""
    types = [kind(":")] + [kind(t) for _, _, t in imports]
    code = b"\0" + body
    text = b"\0asm\1\0\0\0" + section(1, types)
    if imports:
        text += section(2, [name(m) + name(n) + b"\0" + leb(i + 1)
                            for i, (m, n, _) in enumerate(imports)])
    text += section(3, [b"\0"]) + section(5, [b"\0" + leb(pages)])
    exports = [name("memory") + b"\2\0"]
    if start:
        exports.append(name(start) + b"\0" + leb(len(imports)))
    text += section(7, exports) + section(10, [leb(len(code)) + code])
    if padding:
        body = name("padding") + bytes((i * 2654435761 >> 13) & 255 for i in range(padding))
        text += b"\0" + leb(len(body)) + body
    return text


def manifest(**changes):
    """The required fields, and no more; None removes one."""
    whole = {
        "name": "probe", "version": "1.0.0", "description": "Does nothing.",
        "parameters": {"type": "object", "properties": {}},
        "returns": {"type": "string", "description": "Nothing"},
        "execution": {"argStyle": "cli", "fileAccess": "none"},
        "category": "test",
    }
    whole.update(changes)
    return {k: v for k, v in whole.items() if v is not None}


def pack(files, method=zipfile.ZIP_DEFLATED, **of_info):
    """{name: bytes or text} as a ZIP's bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for file, content in files.items():
            info = zipfile.ZipInfo(file, (2026, 1, 1, 0, 0, 0))
            info.compress_type = method
            info.external_attr = of_info.get("attr", 0o100644) << 16
            z.writestr(info, content)
    return out.getvalue()


def package(changes=None, wasm=None, more=None, **of_zip):
    """A tool's ZIP."""
    files = {"manifest.json": json.dumps(manifest(**(changes or {}))),
             "probe.wasm": module() if wasm is None else wasm}
    files.update(more or {})
    return pack(files, **of_zip)


class Zip:
    """A ZIP in parts, so that a test can change any field of it."""

    def __init__(self, data):
        self.end = data.rindex(b"PK\5\6")
        self.tail = bytearray(data[self.end:])
        size, at = struct.unpack_from("<II", self.tail, 12)
        self.body = bytearray(data[:at])
        self.rows = []
        while at < self.end:
            lengths = struct.unpack_from("<HHH", data, at + 28)
            row = bytearray(data[at:at + 46 + sum(lengths)])
            self.rows.append(row)
            at += len(row)

    def row(self, file):
        return next(r for r in self.rows if r[46:].startswith(file.encode()))

    def local(self, file):
        """The position of its local header."""
        return struct.unpack_from("<I", self.row(file), 42)[0]

    def both(self, file, code, central, local, value):
        struct.pack_into(code, self.row(file), central, value)
        struct.pack_into(code, self.body, self.local(file) + local, value)

    def bytes(self, count=None):
        directory = b"".join(self.rows)
        tail = bytearray(self.tail)
        count = len(self.rows) if count is None else count
        struct.pack_into("<HHII", tail, 8, count, count, len(directory), len(self.body))
        return bytes(self.body) + directory + bytes(tail)
