"""importlib.resources and importlib.metadata over the library, which is no folder."""
import importlib.metadata
import importlib.resources.abc
import io

from . import library

METADATA = ".dist-info/METADATA"


class File(importlib.resources.abc.Traversable):
    """What a package has beside its code; its modules are not seen."""

    def __init__(self, path):
        self.path = path

    @property
    def name(self):
        return self.path.rpartition("/")[2]

    def __repr__(self):
        return f"{type(self).__name__}({self.path!r})"

    def __str__(self):
        return self.path

    def is_file(self):
        return self.path in library.data

    def is_dir(self):
        return library.table.get(self.path[len("/lib/"):].replace("/", "."), (False,))[0] or \
            any(path.startswith(self.path + "/") for path in library.data)

    def iterdir(self):
        start = len(self.path) + 1
        names = {path[start:].partition("/")[0] for path in library.data if path.startswith(self.path + "/")}
        return (File(f"{self.path}/{name}") for name in sorted(names))

    def joinpath(self, *names):
        parts = [part for name in names for part in str(name).split("/")]
        if any(part in ("", ".", "..") for part in parts):
            raise ValueError(f"not a name within a package: {'/'.join(map(str, names))!r}")
        return File("/".join([self.path, *parts]))

    def open(self, mode="r", *args, **options):
        file = io.BytesIO(library.loader.get_data(self.path))
        return file if "b" in mode else io.TextIOWrapper(file, *args, **options)


class Reader(importlib.resources.abc.TraversableResources):
    def __init__(self, package):
        self.package = package

    def files(self):
        return File("/lib/" + self.package.replace(".", "/"))


class Distribution(importlib.metadata.Distribution):
    """A package of the library, of which there is the beginning of METADATA."""

    def __init__(self, folder):
        self.folder = folder

    def read_text(self, filename):
        content = library.data.get(self.folder + filename)
        return content and content.decode()

    def locate_file(self, path):
        return File(f"/lib/{path}")


def distributions(context):
    """Those of the name that is asked for, or all."""
    plain = importlib.metadata.Prepared.normalize
    for path in library.data:
        name = path[len("/lib/"):].partition("-")[0]
        if path.endswith(METADATA) and (context.name is None or plain(name) == plain(context.name)):
            yield Distribution(path[:-len("METADATA")])
