"""ffprobe, on files made by code whose contents are known: Debian's, with the hundreds of
libraries that it needs, is not fetched for a comparison."""
import json

import media
import pictures
from compare import case

WHAT = ("format=format_name,duration:stream=codec_name,width,height,pix_fmt,sample_rate,channels"
        ":format_tags=title:chapter_tags=title")


def says(name, data, *lines):
    wanted = "".join(line + "\n" for line in lines).encode()
    return case("-v", "error", "-of", "compact=nk=1", "-show_entries", WHAT, name,
                files={name: data}, check=lambda r: r.exit == 0 and r.stdout == wanted)


def fails(*args, **more):
    return case(*args, **more, check=lambda r: r.exit == 1 and r.stdout in (b"", b"{\n\n}\n"))


def described(result):
    found = json.loads(result.stdout)
    video, sound, text = found["streams"]
    return (result.exit == 0 and found["format"]["nb_streams"] == 3 and video["width"] == 40 and
            sound["tags"] == {"language": "fre", "title": "Sound"} and
            text["codec_type"] == "subtitle" and found["chapters"][1]["end_time"] == "2.000000")


def out(text):
    return lambda r: r.exit == 0 and r.stdout == text


FILM = media.matroska()

CASES = {"ffprobe": [
    says("a.wav", media.wav(title=b"Beep"), "stream|pcm_s16le|8000|1", "format|wav|1.000000|Beep"),
    says("a.au", media.au(), "stream|pcm_s16be|8000|1", "format|au|1.000000"),
    says("a.aiff", media.aiff(), "stream|pcm_s16be|8000|1", "format|aiff|1.000000"),
    says("a.avi", media.avi(), "stream|mjpeg|40|32|yuvj444p", "format|avi|0.500000"),
    says("a.mkv", FILM, "stream|mjpeg|40|32|yuvj444p", "stream|pcm_s16le|8000|1",
         "stream|subrip|N/A|N/A", "chapter|Part 1", "chapter|Part 2",
         "format|matroska,webm|2.000000|A film"),
    says("a.mov", media.mp4(), "stream|pcm_s16le|8000|1",
         "format|mov,mp4,m4a,3gp,3g2,mj2|2.000000|A sound"),
    says("a.srt", media.SUBTITLES, "stream|subrip|N/A|N/A", "format|srt|N/A"),
    case("-v", "error", "-of", "json", "-show_format", "-show_streams", "-show_chapters", "a.mkv",
         files={"a.mkv": FILM}, check=described),
    case("-v", "error", "-of", "csv=p=0", "-show_entries", "stream=codec_name,pix_fmt", "a.png",
         files={"a.png": pictures.png()}, check=out(b"png,rgb24\n")),
    case("-v", "error", "-of", "csv=p=0", "-show_entries", "stream=codec_name,width,height", "a.gif",
         files={"a.gif": pictures.gif(frames=3)}, check=out(b"gif,24,16\n")),
    case("-v", "error", "-of", "csv=p=0", "-select_streams", "v", "-count_frames", "-show_entries",
         "stream=nb_read_frames", "a.avi", files={"a.avi": media.avi(frames=7)}, check=out(b"7\n")),
    case("-v", "error", "-of", "csv=p=0", "-select_streams", "s", "-show_entries", "packet=pts_time",
         "a.mkv", files={"a.mkv": FILM}, check=out(b"0.000000\n")),
    fails("-v", "error", "a.bin", files={"a.bin": b"this is no media file"}),
    fails("-v", "error", "missing.mkv"),
    fails("-v", "quiet", "-of", "json", "-show_format", "a.mkv", files={"a.mkv": FILM[:40]}),
]}
