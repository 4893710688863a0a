"""Compiles folders of Python into one folder of .pyc files, and copies zone data.

    compile.py OUT FOLDER...

Runs in the build's own CPython, which has hardly a module: only built-in ones are used.
Code files name their module, not a place: /lib/json/decoder.py.
"""
import marshal
import posix
import sys
from _frozen_importlib_external import _code_to_hash_pyc

HASH = b"cloche\0\0"


def read(name):
    fd = posix.open(name, posix.O_RDONLY)
    parts = []
    while part := posix.read(fd, 1 << 20):
        parts.append(part)
    posix.close(fd)
    return b"".join(parts)


def write(name, data):
    fd = posix.open(name, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o644)
    while data:
        data = data[posix.write(fd, data):]
    posix.close(fd)


def make(name):
    try:
        posix.mkdir(name)
    except FileExistsError:
        pass


def copy(source, to, within):
    make(to)
    for entry in sorted(posix.listdir(source)):
        path, there = f"{source}/{entry}", f"{within}/{entry}"
        is_folder = posix.stat(path).st_mode & 0o170000 == 0o040000
        if is_folder and entry != "__pycache__" and not entry.endswith(".dist-info"):
            copy(path, f"{to}/{entry}", there)
        elif entry.endswith(".py"):
            try:
                code = compile(read(path), there, "exec", dont_inherit=True, optimize=0)
            except SyntaxError as error:
                print("not compiled:", there, error, file=sys.stderr)
                continue
            write(f"{to}/{entry}c", _code_to_hash_pyc(code, HASH, checked=False))
        elif within.startswith("/lib/tzdata/zoneinfo") or entry.endswith(".html"):
            if not is_folder:
                write(f"{to}/{entry}", read(path))


for folder in sys.argv[2:]:
    copy(folder, sys.argv[1], "/lib")
