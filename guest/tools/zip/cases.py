import io
import zipfile

from compare import case

TREE = {"d/a": "first\n" * 100, "d/b/c": bytes(range(256)) * 8, "top": "t\n", "x.log": "log\n"}
TEXT = "".join(f"line {i}, {i * 7919 % 1000}\n" for i in range(3000))


def old():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr(zipfile.ZipInfo("top", (2023, 1, 1, 0, 0, 0)), "old\n")
        z.writestr(zipfile.ZipInfo("keep", (2023, 1, 1, 0, 0, 0)), "k\n")
    return out.getvalue()


def entries(result):
    """Modes are the file system's; all else of the archive is compared."""
    for name, data in result.files.items():
        if name.endswith(".zip") and data:
            with zipfile.ZipFile(io.BytesIO(data)) as z:
                result.files[name] = sorted(
                    (e.filename, e.file_size, e.compress_size, e.compress_type, e.date_time, z.read(e))
                    for e in z.infolist())
    return result


def any_order(result):
    result.stdout = b"\n".join(sorted(result.stdout.split(b"\n")))
    return entries(result)


CASES = {
    "zip": [
        case("out.zip", "top", files=TREE, normal=entries),
        case("-r", "out.zip", "d", files=TREE, normal=any_order),
        case("-r", "out.zip", ".", "-x", "*.log", files=TREE, normal=any_order),
        case("-j", "out.zip", "d/a", "top", files=TREE, normal=entries),
        case("-9", "out.zip", "f", files={"f": TEXT}, normal=entries),
        case("-1", "out.zip", "f", files={"f": TEXT}, normal=entries),
        case("-0", "out.zip", "f", files={"f": TEXT}, normal=entries),
        case("-q", "out.zip", "f", files={"f": TEXT}, normal=entries),
        case("out.zip", "top", files={**TREE, "out.zip": old}, normal=entries),
        case("-d", "out.zip", "keep", files={"out.zip": old}, normal=entries),
        case("-u", "out.zip", "top", files={**TREE, "out.zip": old}, normal=entries),
        case("-m", "out.zip", "top", files=TREE, normal=entries),
        case("-D", "-r", "out.zip", "d", files=TREE, normal=any_order),
        case("-X", "out.zip", "top", files=TREE, normal=entries),
        case("out.zip", "missing", files=TREE),
        case("-T", "out.zip", files={"out.zip": old}, check=lambda r: True),
        case("-sf", "out.zip", files={"out.zip": old}),
        case("-z", "out.zip", stdin="a comment\n", files={"out.zip": old}, normal=entries),
        case("-@", "out.zip", stdin="top\nd/a\n", files=TREE, normal=entries),
        case("out.zip", "-", stdin="from stdin", normal=lambda r: sizes(r)),
        case("broken.zip", "top", files={**TREE, "broken.zip": "no archive"}),
    ],
}


def sizes(result):
    """Standard input has the time of now."""
    result = entries(result)
    result.files = {n: [e[:4] for e in v] for n, v in result.files.items()}
    return result
