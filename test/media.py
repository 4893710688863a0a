"""Small media files for the tools' cases, made by code: WAV, AIFF, AU, AVI, FLV, Matroska, MP4."""
import struct

from pictures import jpeg


def tone(rate=8000, seconds=1, channels=1):
    """A square wave, 16 bits little-endian."""
    return b"".join(struct.pack("<h", 9000 if n // 20 % 2 else -9000) * channels
                    for n in range(rate * seconds))


def riff(kind, *chunks):
    body = kind + b"".join(name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
                           for name, data in chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav(rate=8000, seconds=1, channels=1, title=None):
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    info = [(b"LIST", b"INFOINAM" + struct.pack("<I", len(title)) + title + b"\0" * (len(title) % 2))] \
        if title else []
    return riff(b"WAVE", (b"fmt ", form), *info, (b"data", tone(rate, seconds, channels)))


def au(rate=8000, seconds=1):
    data = b"".join(struct.pack(">h", 100) for _ in range(rate * seconds))
    return b".snd" + struct.pack(">IIIII", 24, len(data), 3, rate, 1) + data


def aiff(rate=8000, seconds=1):
    data = b"".join(struct.pack(">h", 100) for _ in range(rate * seconds))
    extended = struct.pack(">HQ", 16383 + rate.bit_length() - 1, rate << (64 - rate.bit_length()))
    common = struct.pack(">HIH", 1, rate * seconds, 16) + extended
    body = b"AIFF" + b"COMM" + struct.pack(">I", len(common)) + common + \
        b"SSND" + struct.pack(">III", len(data) + 8, 0, 0) + data
    return b"FORM" + struct.pack(">I", len(body)) + body


def avi(width=40, height=32, frames=5, rate=10):
    """Motion JPEG."""
    picture = jpeg(width, height)
    picture += b"\0" * (len(picture) % 2)
    head = struct.pack("<14I", 1000000 // rate, 0, 0, 0x10, frames, 0, 1, len(picture), width, height,
                       0, 0, 0, 0)
    stream = b"vidsMJPG" + struct.pack("<IHHIIIIIIIIhhhh", 0, 0, 0, 0, 1, rate, 0, frames,
                                       len(picture), 0, 0, 0, 0, width, height)
    form = struct.pack("<IiiHH4sIiiII", 40, width, height, 1, 24, b"MJPG", len(picture), 0, 0, 0, 0)

    def piece(name, data):
        return name + struct.pack("<I", len(data)) + data

    def group(kind, data):
        return piece(b"LIST", kind + data)
    lists = group(b"hdrl", piece(b"avih", head) +
                  group(b"strl", piece(b"strh", stream) + piece(b"strf", form)))
    movie = group(b"movi", b"".join(piece(b"00dc", picture) for _ in range(frames)))
    body = b"AVI " + lists + movie
    return b"RIFF" + struct.pack("<I", len(body)) + body


# --- Matroska -------------------------------------------------------------------------------

def element(name, data):
    if isinstance(data, int):
        data = data.to_bytes(max(1, (data.bit_length() + 7) // 8), "big")
    elif isinstance(data, float):
        data = struct.pack(">d", data)
    elif isinstance(data, str):
        data = data.encode()
    return bytes.fromhex(name) + struct.pack(">Q", len(data) | 1 << 56) + data


def matroska(title="A film", rate=8000):
    """A picture in PNG a second, sound in PCM, subtitles, chapters and tags."""
    head = element("1A45DFA3", element("4282", "matroska") + element("4287", 4) + element("4285", 2))
    info = element("1549A966", element("2AD7B1", 1000000) + element("4489", 2000.0) +
                   element("7BA9", title) + element("4D80", "cases") + element("5741", "cases"))
    tracks = element(
        "1654AE6B",
        element("AE", element("D7", 1) + element("73C5", 1) + element("83", 1) + element("86", "V_MJPEG") +
                element("22B59C", "eng") + element("E0", element("B0", 40) + element("BA", 32))) +
        element("AE", element("D7", 2) + element("73C5", 2) + element("83", 2) +
                element("86", "A_PCM/INT/LIT") + element("22B59C", "fre") + element("536E", "Sound") +
                element("E1", element("B5", float(rate)) + element("9F", 1) + element("6264", 16))) +
        element("AE", element("D7", 3) + element("73C5", 3) + element("83", 17) +
                element("86", "S_TEXT/UTF8")))
    chapters = element("1043A770", element("45B9", b"".join(
        element("B6", element("73C4", n + 1) + element("91", n * 10**9) + element("92", (n + 1) * 10**9) +
                element("80", element("85", f"Part {n + 1}") + element("437C", "eng")))
        for n in range(2))))
    blocks = b""
    for second in range(2):
        when = struct.pack(">h", second * 1000)
        blocks += element("A3", b"\x81" + when + b"\x80" + jpeg(40, 32))
        blocks += element("A3", b"\x82" + when + b"\x80" + tone(rate, 1))
    blocks += element("A0", element("A1", b"\x83\0\0\0" + b"Hello") + element("9B", 1500))
    return head + element("18538067", info + tracks + chapters +
                          element("1F43B675", element("E7", 0) + blocks))


# --- MP4 ------------------------------------------------------------------------------------

def box(name, *parts):
    body = b"".join(parts)
    return struct.pack(">I", len(body) + 8) + name + body


def full(name, *parts, flags=0):
    return box(name, struct.pack(">I", flags), *parts)


MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def mp4(rate=8000, seconds=2, title="A sound"):
    """Sound in PCM, as QuickTime has it, with a title."""
    data = tone(rate, seconds)
    entry = box(b"sowt", b"\0" * 6, struct.pack(">HHHIHHHHI", 1, 0, 0, 0, 1, 16, 0, 0, rate << 16))
    table = box(b"stbl", full(b"stsd", struct.pack(">I", 1), entry),
                full(b"stts", struct.pack(">III", 1, rate * seconds, 1)),
                full(b"stsc", struct.pack(">IIII", 1, 1, rate * seconds, 1)),
                full(b"stsz", struct.pack(">II", 2, rate * seconds)),
                full(b"stco", struct.pack(">II", 1, 40)))
    media = box(b"mdia", full(b"mdhd", struct.pack(">IIIIHH", 0, 0, rate, rate * seconds, 0x15C7, 0)),
                full(b"hdlr", b"mhlrsoun" + b"\0" * 12 + b"\0"),
                box(b"minf", full(b"smhd", b"\0" * 4),
                    box(b"dinf", full(b"dref", struct.pack(">I", 1), full(b"url ", flags=1))), table))
    track = box(b"trak", full(b"tkhd", struct.pack(">IIIII", 0, 0, 1, 0, 1000 * seconds), b"\0" * 8,
                              struct.pack(">HHHH", 0, 0, 0x100, 0), MATRIX, b"\0" * 8, flags=3), media)
    name = box(b"udta", box(b"\xa9nam", struct.pack(">HH", len(title), 0x15C7), title.encode()))
    movie = box(b"moov", full(b"mvhd", struct.pack(">IIIIIH", 0, 0, 1000, 1000 * seconds, 0x10000, 0x100),
                              b"\0" * 10, MATRIX, b"\0" * 24, struct.pack(">I", 2)), track, name)
    return box(b"ftyp", b"qt  ", struct.pack(">I", 0x200), b"qt  ", b"qt  ", b"qt  ") + \
        box(b"mdat", data) + movie


SUBTITLES = "1\n00:00:01,000 --> 00:00:02,500\nHello\n\n2\n00:00:03,000 --> 00:00:04,000\nBye\n"
