import io
import zipfile

from compare import case

TEXT = "".join(f"line {i}, {i * 7919 % 1000}\n" for i in range(3000))


def archive(**entries):
    def make():
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            for name, data in (entries or {"top": "t\n", "d/a": TEXT, "d/b": bytes(range(256))}).items():
                info = zipfile.ZipInfo(name, (2023, 11, 14, 22, 13, 20))
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o100644 << 16
                z.writestr(info, data)
        return out.getvalue()
    return make


A = {"a.zip": archive()}

CASES = {
    "unzip": [
        case("a.zip", files=A),
        case("-l", "a.zip", files=A),
        case("-v", "a.zip", files=A),
        case("-t", "a.zip", files=A),
        case("-p", "a.zip", "d/a", files=A),
        case("-c", "a.zip", "top", files=A),
        case("-d", "to", "a.zip", files=A),
        case("-j", "a.zip", files=A),
        case("-o", "a.zip", files={**A, "top": "there"}),
        case("-n", "a.zip", files={**A, "top": "there"}),
        case("-q", "a.zip", files=A),
        case("-qq", "a.zip", "d/*", files=A),
        case("a.zip", "-x", "top", files=A),
        case("-Z1", "a.zip", files=A),
        case("-Z", "a.zip", files=A),
        case("-C", "-l", "a.zip", "TOP", files=A),
        case("a.zip", "missing", files=A),
        case("missing.zip"),
        case("a.zip", files={"a.zip": "no archive"}),
        case("-t", "a.zip", files={"a.zip": lambda: archive()()[:-60]}),
        case("-t", "a.zip", files={"a.zip": lambda: archive()().replace(b"top", b"t\xffp", 1)}),
        case("a.zip", files={"a.zip": archive(**{"../outside": "x"})}),
        case("a.zip", files={"a.zip": archive(**{"/etc/outside": "x"})}),
        case("-L", "a.zip", files={"a.zip": archive(UPPER="x")}),
        case("-a", "a.zip", files={"a.zip": archive(f="a\r\nb\r\n")}),
    ],
}
