"""/etc/ld.so.cache, as glibc's ldconfig writes it for RV64 with floating point in registers.

One binary search over it takes the place of a look into each folder. The layout is that of
glibc's sysdeps/generic/dl-cache.h, "new format"; `ldconfig -p` in the machine prints it.
"""
import functools
import re
import struct

FLAGS = 0x1003  # libc6, double-float registers
ELF_HEADER, DYNAMIC, STRTAB, SONAME, LOAD = 64, 2, 5, 14, 1


def soname(data):
    """The name that an ELF file gives itself; None where it has none."""
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < ELF_HEADER:
        return None
    at, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    parts = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(count)]

    def offset(address):
        return next(p[2] + address - p[3] for p in parts if p[0] == LOAD and p[3] <= address < p[3] + p[5])

    tags = {}
    for kind, _, start, _, _, length in parts:
        if kind == DYNAMIC:
            for place in range(start, start + length, 16):
                tag, value = struct.unpack_from("<QQ", data, place)
                tags.setdefault(tag, value)
    if SONAME not in tags:
        return None
    name = offset(tags[STRTAB]) + tags[SONAME]
    return data[name:data.index(b"\0", name)].decode()


def compare(one, other):
    """As the dynamic linker does: a row of digits is a number."""
    for a, b in zip(re.findall(r"\d+|\D", one), re.findall(r"\d+|\D", other)):
        if a.isdigit() and b.isdigit():
            if int(a) != int(b):
                return int(a) - int(b)
        elif a.isdigit() or b.isdigit():
            return 1 if a.isdigit() else -1
        elif a != b:
            return ord(a) - ord(b)
    return len(one) - len(other)


def cache(root, folders):
    """The bytes of the cache for the libraries in these folders, the first of a name winning."""
    found = {}
    for folder in folders:
        for file in sorted((root / folder[1:]).glob("*.so*")):
            if file.is_file() and re.match(r"(lib|ld-).*\.so(\.|$)", file.name):
                name = soname(file.read_bytes())
                if name and (file.parent / name).exists():
                    found.setdefault(name, f"{folder}/{name}")
    names = sorted(found, key=functools.cmp_to_key(compare), reverse=True)
    strings, entries = b"", b""
    start = 48 + 24 * len(names)
    for name in names:
        # The name is the end of its path.
        path = found[name]
        at = start + len(strings)
        entries += struct.pack("<iIIIQ", FLAGS, at + len(path) - len(name), at, 0, 0)
        strings += path.encode() + b"\0"
    return struct.pack("<17s3sIIB3xI12x", b"glibc-ld.so.cache", b"1.1", len(names), len(strings), 2, 0) + \
        entries + strings
