"""exiftool, compared with Debian's, which is the same version, run by Debian's perl."""
import re
import struct
import zlib

from compare import REFERENCES, case, debian


def native():
    root = REFERENCES.resolve()
    command, _ = debian("perl")()
    libraries = [root / "usr/share/perl5", *root.glob("usr/share/perl/5*"), *root.glob("usr/lib/*/perl/5*"),
                 *root.glob("usr/lib/*/perl-base")]
    return [*command, str(root / "usr/bin/exiftool")], {"PERL5LIB": ":".join(map(str, libraries))}


REFERENCE = {"exiftool": native}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0)) +
       chunk(b"tEXt", b"Author\0Ada") + chunk(b"tIME", struct.pack(">HBBBBB", 2020, 1, 2, 3, 4, 5)) +
       chunk(b"IDAT", zlib.compress(b"\0\1\2\3\4\5\6")) + chunk(b"IEND", b""))


def jpeg():
    """One of 8 by 8 pixels with EXIF: Make, Orientation, a date and a place."""
    entries = [(0x010f, 2, 6, b"Cloche"), (0x0112, 3, 1, 6), (0x0132, 2, 20, b"2021:02:03 04:05:06\0")]
    at, head, tail = 8 + 2 + 12 * len(entries) + 4, b"", b""
    for tag, kind, count, value in entries:
        if isinstance(value, bytes):
            head += struct.pack("<HHII", tag, kind, count, at + len(tail))
            tail += value + b"\0" * (len(value) % 2)
        else:
            head += struct.pack("<HHIHH", tag, kind, count, value, 0)
    tiff = b"II*\0" + struct.pack("<IH", 8, len(entries)) + head + b"\0\0\0\0" + tail
    exif = b"Exif\0\0" + tiff
    frame = struct.pack(">BHHBBBB", 8, 8, 8, 1, 1, 0x11, 0)
    return (b"\xff\xd8\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + b"\xff\xfe\0\7hello"
            b"\xff\xdb\0\x43\0" + bytes([1] * 64) + b"\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame +
            b"\xff\xda\0\x08\1\1\0\0\x3f\0" + b"\x15\xff\xd9")


JPEG = jpeg()
GIF = b"GIF89a\2\0\1\0\x80\0\0\0\0\0\xff\xff\xff!\xfe\5hello\0,\0\0\0\0\2\0\1\0\0\2\2\x44\n\0;"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"><title>T</title></svg>\n'
XMP = ('<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
       'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
       'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator><rdf:Seq><rdf:li>Ada</rdf:li></rdf:Seq></dc:creator>'
       '</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>\n')
FILES = {"a.jpg": JPEG, "b.png": PNG, "c.gif": GIF, "d.svg": SVG, "e.xmp": XMP}
# Of the file, not of what is in it.
OWN = re.compile(rb'^.*(File ?(Modify|Access|Inode ?Change|Creation) ?Date|File ?Permissions|Directory).*\n', re.M | re.I)


def plain(result):
    result.stdout = OWN.sub(b"", result.stdout)


def exif(*args, stdin=""):
    return case(*args, stdin=stdin, files=FILES, normal=plain)


CASES = {"exiftool": [
    exif("a.jpg"), exif("-s", "b.png"), exif("-G", "-s", "c.gif"), exif("d.svg"), exif("-j", "e.xmp"),
    exif("-j", "-G1", "a.jpg", "b.png"), exif("-n", "-Orientation", "a.jpg"), exif("-Make", "-ImageSize", "-T", "a.jpg", "b.png"),
    exif("-s3", "-CreateDate", "-ModifyDate", "a.jpg"), exif("-d", "%Y-%m", "-ModifyDate", "a.jpg"),
    exif("-csv", "-Make", "-FileType", "a.jpg", "b.png"), exif("-X", "-Make", "a.jpg"), exif("-b", "-Comment", "a.jpg"),
    exif("-p", "$FileName: $ImageWidth", "a.jpg"), exif("-if", "$Make", "-FileName", "a.jpg", "b.png"),
    exif("-r", "-FileType", "-ext", "png", "."), exif("-overwrite_original", "-Artist=Ada Lovelace", "a.jpg"),
    exif("-Artist=Ada", "a.jpg"), exif("-overwrite_original", "-all=", "a.jpg"),
    exif("-overwrite_original", "-XMP:Title=Tïtle", "b.png"), exif("-overwrite_original", "-tagsfromfile", "a.jpg", "-XMP:Make<Make", "b.png"),
    exif("-overwrite_original", "-Orientation#=1", "-Make=", "a.jpg"), exif("-FileType", "-", stdin=SVG),
    exif("missing.jpg"), exif("-NoSuchTag", "a.jpg"), exif("-ver"), exif("-d", "%A %e %B %y, %I:%M %p %j", "-ModifyDate", "-s3", "a.jpg"), exif("-validate", "-warning", "-a", "a.jpg"),
    exif("-filename=new.jpg", "a.jpg"),
]}
