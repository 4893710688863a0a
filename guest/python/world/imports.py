"""What is imported when the guest is baked, so that code finds it at once."""
import abc, argparse, array, ast, asyncio, base64, bisect, bz2, calendar, cmath, codecs, collections, colorsys
import configparser, contextlib, copy, csv, dataclasses, datetime, decimal, difflib, email.utils, enum, fnmatch
import fractions, functools, glob, graphlib, gzip, hashlib, heapq, hmac, html, html.parser, importlib.metadata
import importlib.resources, inspect, io, itertools
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
    """
import re
from dataclasses import asdict, dataclass, field
@dataclass
class Task:
    title: str
    done: bool = False
    words: list[str] = field(default_factory=list)
tasks = [Task(m[2], m[1] == 'x', m[2].split()) for m in re.finditer(r'(?m)^- \\[( |x)\\] (.*)$', '- [x] a b\\n- [ ] c')]
[repr(tasks[0] == tasks[1]), *map(asdict, tasks)]
""",
    """
import collections, datetime, itertools, json
rows = json.loads('[{"day": "2026-01-02", "n": 3, "tags": ["a"]}, {"day": "2026-01-05", "n": 1.5, "tags": []}]')
days = [datetime.date.fromisoformat(r['day']) for r in rows]
by = collections.defaultdict(list)
for r in sorted(rows, key=lambda r: (-r['n'], r['day'])):
    by[len(r['tags'])].append(r)
counts = collections.Counter(itertools.chain.from_iterable(r['tags'] for r in rows))
print(f"{sum(r['n'] for r in rows):.2f} {max(days):%Y-%m-%d}", counts.most_common(1))
json.dumps({str(k): v for k, v in by.items()}, indent=2)
""",
    """
import re
text = '# Title\\n\\nSome *text*, [[a link]] and https://example.org/x.\\n'
pattern = re.compile(r'\\[\\[([^\\]|]+)', re.IGNORECASE)
[pattern.findall(text), re.sub(r'\\s+', ' ', text).strip(), re.split(r'[.,;] ', text), bool(re.search('^#', text))]
""",
)
