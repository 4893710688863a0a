"""Time zones, whose data lies in the library."""
import io
import zoneinfo
from zoneinfo import _common, _tzpath

from . import library

FOLDER = "/lib/tzdata/zoneinfo/"


def load_tzdata(key):
    try:
        return io.BytesIO(library.data[FOLDER + key])
    except KeyError:
        raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}") from None


def available_timezones():
    names = {path[len(FOLDER):] for path in library.data if path.startswith(FOLDER)}
    return {n for n in names if "." not in n and n[:1].isupper() and n not in ("Factory",)} | {"UTC"}


def prepare():
    _common.load_tzdata = load_tzdata
    _tzpath.available_timezones = zoneinfo.available_timezones = available_timezones
    zoneinfo.reset_tzpath(to=())
