"""cwebp, dwebp and gif2webp, compared with Debian's, byte for byte."""
import functools
import subprocess

from compare import case, debian
from pictures import gif, jpeg, palette_png, png


@functools.cache
def webp(*args, picture=png):
    """A WebP picture, made by the native cwebp."""
    command, env = debian("cwebp")()
    return subprocess.run([*command, "-quiet", *args, "-o", "-", "--", "-"], input=picture(),
                          env=env, stdout=subprocess.PIPE, check=True).stdout


def alpha():
    return png(channels=4)


def c(*args, picture=png, name="in.png"):
    return case("-quiet", *args, name, "-o", "out.webp", files={name: picture})


def d(*args, made=(), picture=png, to="out.png"):
    return case("-quiet", *args, "in.webp", "-o", to, files={"in.webp": lambda: webp(*made, picture=picture)})


def g(*args, frames=3, **more):
    return case("-quiet", *args, "in.gif", "-o", "out.webp", files={"in.gif": gif(frames=frames, **more)})


CASES = {
    "cwebp": [
        c(),
        c("-q", "20"),
        c("-q", "95", "-m", "6"),
        c("-m", "0"),
        c("-lossless"),
        c("-lossless", "-z", "9"),
        c("-near_lossless", "40"),
        c("-lossless", "-exact", picture=alpha),
        c("-alpha_q", "50", picture=alpha),
        c("-noalpha", picture=alpha),
        c("-lossless", picture=palette_png),
        c("-preset", "photo", "-q", "60"),
        c("-preset", "icon", picture=palette_png),
        c("-size", "300"),
        c("-psnr", "38"),
        c("-crop", "4", "4", "20", "16"),
        c("-resize", "20", "0"),
        c("-resize", "80", "60", "-lossless"),
        c("-sharp_yuv"),
        c("-f", "60", "-sharpness", "5", "-strong"),
        c("-segments", "2", "-pass", "3", "-af"),
        c("-jpeg_like", picture=lambda: jpeg(width=100, height=70), name="in.jpg"),
        c(picture=jpeg, name="in.jpg"),
        c(picture=lambda: jpeg(grey=True), name="grey.jpg"),
        c(picture=lambda: b"P6\n4 2\n255\n" + bytes(range(24)), name="in.ppm"),
        c("-s", "4", "4", picture=lambda: bytes(range(24)), name="in.yuv"),
        c("-blend_alpha", "0x808080", picture=alpha),
        c("-metadata", "all", picture=lambda: jpeg(exif=b"MM\0*\0\0\0\x08\0\0\0\0\0\0"), name="in.jpg"),
        case("-quiet", "-o", "-", "--", "-", stdin=png()),
        case("-q", "80", "-print_psnr", "-short", "in.png", "-o", "out.webp", files={"in.png": png()}),
        c(picture=lambda: png()[:70]),
        c(picture=lambda: b"no picture"),
        case("missing.png", "-o", "out.webp"),
        case("-version"),
    ],
    "dwebp": [
        d(),
        d(made=("-lossless",)),
        d(made=("-lossless",), picture=alpha),
        d(picture=alpha),
        d("-pam", to="out.pam", picture=alpha),
        d("-ppm", to="out.ppm"),
        d("-bmp", to="out.bmp"),
        d("-tiff", to="out.tiff", picture=alpha),
        d("-pgm", to="out.pgm"),
        d("-yuv", to="out.yuv"),
        d("-nofancy"),
        d("-nofilter"),
        d("-dither", "50"),
        d("-alpha_dither", picture=alpha),
        d("-crop", "3", "5", "20", "10"),
        d("-resize", "20", "15"),
        d("-scale", "10", "8"),
        d("-flip"),
        d("-alpha", to="out.pgm", picture=alpha),
        d("-incremental"),
        case("-quiet", "-o", "-", "--", "-", stdin=b"RIFF\x04\0\0\0WEBP"),
        case("-quiet", "in.webp", "-o", "out.png", files={"in.webp": lambda: webp()[:100]}),
        case("-quiet", "in.webp", "-o", "out.png", files={"in.webp": png()}),
        case("missing.webp", "-o", "out.png"),
        case("-version"),
    ],
    "gif2webp": [
        g(),
        g(frames=1),
        g("-lossy"),
        g("-lossy", "-q", "30", "-m", "6"),
        g("-mixed"),
        g("-min_size"),
        g("-kmin", "1", "-kmax", "2"),
        g("-q", "90", "-m", "2"),
        g("-loop_compatibility"),
        g(transparent=True),
        g("-f", "40", "-lossy", delay=0),
        g(frames=8, width=60, height=50),
        case("-quiet", "-o", "-", "--", "-", stdin=gif(frames=2)),
        case("-quiet", "in.gif", "-o", "out.webp", files={"in.gif": gif(frames=2)[:900]}),
        case("-quiet", "in.gif", "-o", "out.webp", files={"in.gif": b"GIF89a"}),
        case("missing.gif", "-o", "out.webp"),
        case("-version"),
    ],
}
