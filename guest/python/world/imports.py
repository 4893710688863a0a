"""What is imported when the guest is baked, so that code finds it at once."""
import abc, argparse, array, ast, asyncio, base64, bisect, bz2, calendar, cmath, codecs, collections, colorsys
import configparser, contextlib, copy, csv, dataclasses, datetime, decimal, difflib, email.utils, enum, fnmatch
import fractions, functools, glob, graphlib, gzip, hashlib, heapq, hmac, html, html.parser, inspect, io, itertools
import json, keyword, linecache, locale, logging, lzma, math, mimetypes, numbers, operator, os, pathlib, pickle
import pprint, queue, random, re, secrets, shlex, shutil, sqlite3, statistics, string, stringprep, struct, tarfile
import tempfile, textwrap, time, timeit, tokenize, tomllib, traceback, types, typing, unicodedata, urllib.parse
import urllib.request, uuid, warnings, weakref, xml.etree.ElementTree, zipfile, zlib, zoneinfo
import attr, attrs, bs4, dateutil.parser, dateutil.relativedelta, dateutil.rrule, frontmatter, jinja2, markdown_it
import tabulate, yaml

WARM = (
    "1+1",
    "print('x')\n[1, 2]",
    "import json, re\njson.dumps({'a': [1, 2, {'b': re.findall(r'\\w+', 'a b c')}]})",
    "1/0",
    "import asyncio\nawait asyncio.sleep(0)\n3",
    "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 2\nP(1)",
    "x =",
    "def main():\n    return {'a': 1}\n",
    "return [i for i in range(3)]",
    "missing",
)
