"""The files that mypy reads: stubs, which were read when the guest was baked, and the code."""
import errno
import os
import posixpath
import stat

from mypy.fscache import FileSystemCache
from mypy.util import hash_digest


class Files(FileSystemCache):
    """A tree in memory."""

    def __init__(self):
        self.texts = {}
        self.folders = {"/": set()}
        super().__init__()

    def put(self, path, text):
        self.texts[path] = text
        while path != "/":
            folder, name = posixpath.split(path)
            self.folders.setdefault(folder, set()).add(name)
            path = folder

    def put_folder(self, folder, fits):
        """Reads the files below a folder of the system whose names fit."""
        for entry in sorted(os.listdir(folder)):
            path = f"{folder}/{entry}"
            if stat.S_ISDIR(os.stat(path).st_mode):
                self.put_folder(path, fits)
            elif fits(entry):
                with open(path, "rb") as file:
                    self.put(path, file.read())

    def stat_or_none(self, path):
        path = posixpath.normpath(path)
        if path in self.texts:
            mode, size = stat.S_IFREG | 0o444, len(self.texts[path])
        elif path in self.folders:
            mode, size = stat.S_IFDIR | 0o555, 0
        else:
            return None
        return os.stat_result((mode, hash(path), 1, 1, 0, 0, size, 0, 0, 0))

    def listdir(self, path):
        try:
            return sorted(self.folders[posixpath.normpath(path)])
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", path) from None

    def read(self, path):
        try:
            return self.texts[posixpath.normpath(path)]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "there is no such file", path) from None

    def hash_digest(self, path):
        return hash_digest(self.read(path))
