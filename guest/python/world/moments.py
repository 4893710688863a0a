"""What modules take from the clock when they are imported, which is when the guest is baked: here it is taken when it is used."""
import logging
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


def prepare():
    logging._startTime = FirstUse()
    # A year of two digits is the nearest one.
    parserinfo._year = property(lambda info: time.localtime().tm_year, ignore)
    parserinfo._century = property(lambda info: info._year // 100 * 100, ignore)
