"""Small pictures and documents for the tools' cases, generated: PNG, JPEG, GIF, PDF."""
import math
import struct
import zlib


def pixels(width, height, channels=3):
    """A smooth picture with an edge and a little noise; always the same."""
    rows = []
    for y in range(height):
        row = []
        for x in range(width):
            inside = (x - width / 2) ** 2 + (y - height / 2) ** 2 < (min(width, height) / 3) ** 2
            noise = (x * 7919 + y * 104729) % 5
            colour = (x * 255 // width, y * 255 // height, 200 if inside else 40 + noise,
                      255 if inside else x * 255 // width)
            row.append(colour[:channels] if channels > 1 else colour[0])
        rows.append(row)
    return rows


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(
        ">I", zlib.crc32(kind + data))


PNG_KINDS = {1: 0, 3: 2, 2: 4, 4: 6}


def png(width=40, height=30, channels=3, level=1, text=None, depth=8, interlace=False):
    """`text`: {keyword: value}, as tEXt chunks."""
    raw = b""
    for row in pixels(width, height, channels):
        flat = row if channels == 1 else [v for colour in row for v in colour]
        raw += b"\0" + (bytes(flat) if depth == 8 else b"".join(bytes((v, v)) for v in flat))
    notes = b"".join(chunk(b"tEXt", k.encode() + b"\0" + v.encode())
                     for k, v in (text or {}).items())
    header = struct.pack(">IIBBBBB", width, height, depth, PNG_KINDS[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + notes +
            chunk(b"IDAT", zlib.compress(raw, level)) + chunk(b"IEND", b""))


def palette_png(width=32, height=32):
    """Few colours, stored as RGB: an optimiser can make a palette."""
    raw = b"".join(b"\0" + b"".join(bytes(((x // 8) * 60, (y // 8) * 60, 0)) for x in range(width))
                   for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(raw, 1)) + chunk(b"IEND", b""))


def png_pixels(data):
    """(width, height, rows of RGBA) of a PNG without interlacing, of 1 to 8 bits a sample: the
    decoded pixels, however they were stored."""
    at, idat, palette, alpha = 8, b"", None, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, _ = struct.unpack(">IIBBBBB", body)
        elif kind == b"PLTE":
            palette = [body[i:i + 3] for i in range(0, size, 3)]
        elif kind == b"tRNS":
            alpha = body
        elif kind == b"IDAT":
            idat += body
        at += 12 + size
    per = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    bits, raw = per * depth, zlib.decompress(idat)
    stride, step = (width * bits + 7) // 8, max(1, bits // 8)
    rows, before = [], bytes(stride)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:][:stride])
        for i in range(stride):
            a = line[i - step] if i >= step else 0
            b, c = before[i], before[i - step] if i >= step else 0
            near = min((a, b, c), key=lambda v: abs(a + b - c - v))
            line[i] = (line[i] + (0, a, b, (a + b) // 2, near)[kind]) & 255
        before = bytes(line)
        samples = list(line) if depth == 8 else [
            line[i * depth // 8] >> (8 - depth - i * depth % 8) & ((1 << depth) - 1)
            for i in range(width * per)]
        scale = 255 // ((1 << depth) - 1)
        row = []
        for x in range(width):
            s = samples[x * per:(x + 1) * per]
            if colour == 3:
                row.append((*palette[s[0]], alpha[s[0]] if s[0] < len(alpha) else 255))
                continue
            s = [v * scale for v in s]
            row.append((*s[:3], s[3] if per == 4 else 255) if per > 2
                       else (s[0], s[0], s[0], s[1] if per == 2 else 255))
        rows.append(row)
    return width, height, rows


# --- JPEG: baseline, grey or colour without subsampling, the standard's own tables -----------

ZIGZAG = sorted(range(64), key=lambda i: (i // 8 + i % 8, (i // 8 if (i // 8 + i % 8) % 2 else i % 8)))
DC = bytes((0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0)), bytes(range(12))
# Every (run, size), all codes of 8 bits: larger than need be, which leaves something to gain.
AC_VALUES = bytes([0, 0xF0] + [r << 4 | s for r in range(16) for s in range(1, 11)])
AC = bytes((0, 0, 0, 0, 0, 0, 0, 128, 34, 0, 0, 0, 0, 0, 0, 0)), AC_VALUES


def codes(table):
    counts, values = table
    found, code, at = {}, 0, 0
    for length, n in enumerate(counts, 1):
        for _ in range(n):
            found[values[at]] = (code, length)
            code, at = code + 1, at + 1
        code <<= 1
    return found


class Bits:
    def __init__(self):
        self.word, self.n, self.out = 0, 0, bytearray()

    def put(self, value, length):
        self.word, self.n = self.word << length | value, self.n + length
        while self.n >= 8:
            byte = self.word >> (self.n - 8) & 255
            self.out += bytes((byte, 0)) if byte == 255 else bytes((byte,))
            self.n -= 8
        self.word &= (1 << self.n) - 1

    def signed(self, value):
        size = abs(value).bit_length()
        self.put(value if value > 0 else value + (1 << size) - 1, size)


COS = [[math.cos((2 * x + 1) * u * math.pi / 16) * (math.sqrt(.125) if u == 0 else .5)
        for x in range(8)] for u in range(8)]


def transform(block):
    half = [[sum(block[y][x] * COS[u][x] for x in range(8)) for u in range(8)] for y in range(8)]
    return [[sum(half[y][u] * COS[v][y] for y in range(8)) for u in range(8)] for v in range(8)]


def segment(marker, data):
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def jpeg(width=40, height=32, grey=False, step=6, comment=None, exif=None):
    """`step`: of quantisation, for all frequencies. `comment`, `exif`: bytes of their segments."""
    dc, ac, bits = codes(DC), codes(AC), Bits()
    rows, parts = pixels(width, height), 1 if grey else 3
    last = [0] * parts
    for by in range(0, height, 8):
        for bx in range(0, width, 8):
            for part in range(parts):
                block = []
                for y in range(by, by + 8):
                    line = []
                    for x in range(bx, bx + 8):
                        r, g, b = rows[min(y, height - 1)][min(x, width - 1)]
                        luma = .299 * r + .587 * g + .114 * b
                        line.append((luma - 128, (b - luma) * .564, (r - luma) * .713)[part])
                    block.append(line)
                found = [c for line in transform(block) for c in line]
                quantised = [round(found[ZIGZAG[i]] / step) for i in range(64)]
                change, last[part] = quantised[0] - last[part], quantised[0]
                bits.put(*dc[abs(change).bit_length()])
                if change:
                    bits.signed(change)
                run = 0
                for value in quantised[1:]:
                    if value == 0:
                        run += 1
                        continue
                    while run > 15:
                        bits.put(*ac[0xF0])
                        run -= 16
                    bits.put(*ac[run << 4 | abs(value).bit_length()])
                    bits.signed(value)
                    run = 0
                if run:
                    bits.put(*ac[0])
    bits.put(127, 7)
    frame = struct.pack(">BHHB", 8, height, width, parts) + b"".join(
        bytes((i + 1, 0x11, 0)) for i in range(parts))
    scan = bytes((parts,)) + b"".join(bytes((i + 1, 0)) for i in range(parts)) + b"\0\x3f\0"
    extra = segment(0xE1, b"Exif\0\0" + exif) if exif else b""
    extra += segment(0xFE, comment) if comment else b""
    return (b"\xff\xd8" + segment(0xE0, b"JFIF\0\1\1\1\0\x48\0\x48\0\0") + extra +
            segment(0xDB, b"\0" + bytes([step] * 64)) + segment(0xC0, frame) +
            segment(0xC4, b"\0" + DC[0] + DC[1]) + segment(0xC4, b"\x10" + AC[0] + AC[1]) +
            segment(0xDA, scan) + bytes(bits.out) + b"\xff\xd9")


# --- GIF -----------------------------------------------------------------------------------

def gif(width=24, height=16, frames=1, delay=10, transparent=False):
    """Uncompressed codes of 8 bits a pixel, with a clear code before the table fills."""
    colours = b"".join(bytes((i * 16, 255 - i * 16, (i * 40) % 256)) for i in range(16)) + \
        bytes(3 * 240)
    out = b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0) + colours
    if frames > 1:
        out += b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"
    for frame in range(frames):
        out += b"\x21\xf9\x04" + struct.pack("<BHBB", 9 if transparent else 8, delay, 0, 0)
        out += b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x08"
        word, n, data = 0, 0, bytearray()
        codes_out = []
        for i in range(width * height):
            if i % 100 == 0:
                codes_out.append(256)
            codes_out.append((i % width + i // width + frame) // 3 % 16)
        for code in [*codes_out, 257]:
            word, n = word | code << n, n + 9
            while n >= 8:
                data.append(word & 255)
                word, n = word >> 8, n - 8
        data.append(word & 255)
        for i in range(0, len(data), 255):
            out += bytes((len(data[i:i + 255]),)) + bytes(data[i:i + 255])
        out += b"\0"
    return out + b"\x3b"


# --- PDF -----------------------------------------------------------------------------------

def pdf(pages, title="A title", compress=True, version="1.4"):
    """Pages of text: a list of lists of (x, y, size, text), in Helvetica."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"",
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
               b"<< /Title (" + title.encode("latin-1") + b") /Producer (cases) >>"]
    kids = []
    for lines in pages:
        text = b"".join(b"BT /F1 %d Tf %d %d Td (%s) Tj ET\n" % (
            size, x, y, s.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(")
            .replace(b")", b"\\)")) for x, y, size, s in lines)
        packed = zlib.compress(text, 6) if compress else text
        kids.append(len(objects) + 1)
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
                       b"/Resources << /Font << /F1 3 0 R >> >> >>" % (len(objects) + 2))
        objects.append(b"<< /Length %d%s >>\nstream\n" % (
            len(packed), b" /Filter /FlateDecode" if compress else b"") + packed + b"\nendstream")
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(kids), b" ".join(b"%d 0 R" % k for k in kids))
    out, places = b"%%PDF-%s\n%%\xe2\xe3\xcf\xd3\n" % version.encode(), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % p for p in places)
    return out + b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1, start)
