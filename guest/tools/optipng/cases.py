"""optipng, compared with Debian's: the pictures by their pixels, which must be what they were."""
from compare import case
from pictures import gif, palette_png, png, png_pixels


def pixels_stay(before):
    """Every PNG afterwards shows the same; its bytes need not be zlib's of the day."""
    def normal(result):
        for name, data in list(result.files.items()):
            if data and data.startswith(b"\x89PNG") and data.endswith(b"IEND\xaeB`\x82"):
                shown = png_pixels(data)
                assert before is None or shown == before, name
                result.files[name] = (len(data) // 16, shown)
    return normal


def opti(*args, picture=None, name="in.png", whole=True, **more):
    picture = picture or png()
    same = png_pixels(picture) if whole else None
    return case("-quiet", *args, name, files={name: picture}, normal=pixels_stay(same), **more)


CASES = {"optipng": [
    opti(),
    opti("-o0"),
    opti("-o1"),
    opti("-o5"),
    opti("-out", "out.png"),
    opti("-strip", "all", picture=png(text={"Author": "nobody", "Comment": "long " * 50})),
    opti(picture=png(text={"Author": "nobody"})),
    opti(picture=palette_png()),
    opti("-nc", "-np", picture=palette_png()),
    opti("-nx", picture=palette_png()),
    opti(picture=png(channels=4)),
    opti(picture=png(channels=1)),
    opti(picture=png(channels=2)),
    case("-quiet", "-i1", "in.png", "-out", "out.png", files={"in.png": png()}, normal=lambda r: setattr(
        r, "files", {k: v[28] for k, v in r.files.items()})),
    opti("-zc9", "-zm8", "-zs0", "-f0-5"),
    opti("-keep"),
    opti("-backup", "-force", picture=palette_png()),
    opti("-simulate"),
    opti("-clobber", "-dir", "out", picture=png(width=90, height=70)),
    opti(picture=gif(), name="in.gif", whole=False),
    opti("-fix", picture=png()[:-30], whole=False),
    opti(picture=png()[:60], whole=False),
    opti(picture=b"this is no picture", whole=False),
    case("-quiet", "missing.png"),
    case("-v", "in.png", files={"in.png": png()}, normal=pixels_stay(png_pixels(png()))),
    case("-o9x", "in.png", files={"in.png": png()}),
    case("-quiet", "a.png", "b.png", files={"a.png": png(), "b.png": palette_png()}, normal=pixels_stay(None)),
]}
