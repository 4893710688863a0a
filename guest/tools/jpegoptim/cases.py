"""jpegoptim, compared with Debian's: without loss, the pictures are the same bytes."""
from compare import case, stdout_only
from pictures import jpeg, png

PHOTO = jpeg(width=120, height=80, step=3)
MARKED = jpeg(comment=b"a comment", exif=b"MM\0*\0\0\0\x08\0\0\0\0\0\0")


def optim(*args, picture=PHOTO, **more):
    return case(*args, "in.jpg", files={"in.jpg": picture}, **more)


CASES = {"jpegoptim": [
    optim(),
    optim("-n"),
    optim("-t"),
    optim("-b"),
    optim("-v"),
    optim("-q"),
    optim("-s", picture=MARKED),
    optim("--strip-com", picture=MARKED),
    optim("--strip-exif", picture=MARKED),
    optim("--keep-exif", "--strip-all", picture=MARKED),
    optim(picture=MARKED),
    optim(picture=jpeg(grey=True)),
    optim("--all-progressive"),
    optim("--all-progressive", "-f", picture=jpeg(grey=True)),
    optim("--all-normal"),
    optim("-f", "-f"),
    optim("-T", "60"),
    optim("-m", "50"),
    optim("-m", "90", "-s", picture=MARKED),
    optim("-S", "50%"),
    optim("-S", "2"),
    optim("--stdout"),
    case("--stdin", "--stdout", stdin=PHOTO),
    case("--stdin", "-s", stdin=MARKED),
    case("-d", "out", "in.jpg", files={"in.jpg": PHOTO, "out/": ""}),
    case("-o", "-d", "out", "in.jpg", files={"in.jpg": PHOTO, "out/in.jpg": jpeg()}),
    case("a.jpg", "b.jpg", "c.jpg", files={"a.jpg": PHOTO, "b.jpg": MARKED, "c.jpg": b"none"}),
    optim(picture=PHOTO[:-200]),
    optim(picture=png()),
    optim(picture=b""),
    case("missing.jpg"),
    case("--no-such-option"),
    case("-n", "--files-from=list", files={"a.jpg": PHOTO, "list": "a.jpg\n"}, normal=stdout_only),
]}
