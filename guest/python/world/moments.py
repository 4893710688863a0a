"""What modules take from the clock when they are imported, which is when the guest is baked: here it is taken when it is used."""
import logging
import re
import time

from dateutil.parser import parserinfo


class FirstUse:
    """The moment from which on records of logging count: that of the first one."""

    at = None

    def __rsub__(self, moment):
        if self.at is None:
            self.at = moment
        return moment - self.at


def ignore(info, value):
    pass


# Directives of strftime() that the C library has not, and with which it writes nothing at all: what glibc makes of them.
MORE = re.compile(r"%([-_0^#]*)([EO]?[aAbBcCdDeFgGhHIjmMnprRsStTuUVwWxXyYzZ%+]|[kPl])")  # what is none of these stays
HOURS = {"k": ("%H", "_"), "l": ("%I", "_"), "P": ("%p", "")}
strftime = time.strftime


def expanded(flags, directive, moment):
    """What one directive comes to."""
    plain, usual = HOURS.get(directive, (f"%{directive}", ""))
    pad = next((f for f in reversed(flags) if f in "-_0"), usual)
    text = strftime(f"%{pad}{plain[1:]}" if pad and directive != "%" else plain, moment)
    if directive == "P":
        return text.lower()
    return text.upper() if "^" in flags else text.swapcase() if "#" in flags else text


def write_time(format, moment=None, /):
    moment = time.localtime() if moment is None else moment
    text = strftime(format, moment)
    return text or MORE.sub(lambda match: expanded(match[1], match[2], moment), format)


def prepare():
    write_time.__name__ = write_time.__qualname__ = "strftime"
    time.strftime = staticmethod(write_time)
    logging._startTime = FirstUse()
    # A year of two digits is the nearest one.
    parserinfo._year = property(lambda info: time.localtime().tm_year, ignore)
    parserinfo._century = property(lambda info: info._year // 100 * 100, ignore)
