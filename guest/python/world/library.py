"""Modules from memory: the standard library and the packages.

The guest has no files of its own. When it is baked, load() reads the compiled library into
a table that is part of the image, from which imports are served later; a page of it is
touched when something on it is imported. Modules that the bake has imported are there as
well, compressed: code may drop one and import it anew.
"""
import importlib.machinery
import importlib.util
import marshal
import os
import sys
import zlib

HEADER = 16  # of a .pyc file
table = {}  # name -> (is_package, bytes)
packed = set()  # names whose bytes are compressed
data = {}  # path -> bytes: what packages read beside their code


def load(root):
    for folder, folders, files in os.walk(root):
        folders.sort()
        within = folder[len(root):].strip("/")
        for file in sorted(files):
            path = f"{folder}/{file}"
            with open(path, "rb") as f:
                content = f.read()
            if not file.endswith(".pyc"):
                data[path] = content
                continue
            parts = [*within.split("/"), file[:-4]] if within else [file[:-4]]
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            if not name or name in sys.modules and name.startswith("_cloche_world"):
                continue
            if name in sys.modules:
                packed.add(name)
                content = zlib.compress(content, 9)
            table[name] = (is_package, content)


def code_of(name):
    content = table[name][1]
    return marshal.loads(memoryview(zlib.decompress(content) if name in packed else content)[HEADER:])


def without_numpy(module):
    """networkx has these in Python, too, and calls what needs numpy."""
    if module.__name__.endswith("pagerank_alg"):
        module._pagerank_scipy = module._pagerank_python
    else:
        module.hits.__wrapped__.orig_func = module._hits_python


ADAPTED = {f"networkx.algorithms.link_analysis.{name}": without_numpy for name in ("pagerank_alg", "hits_alg")}


class Loader:
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(code_of(module.__spec__.name), module.__dict__)
        if module.__spec__.name in ADAPTED:
            ADAPTED[module.__spec__.name](module)

    def get_code(self, name):
        return code_of(name)

    def is_package(self, name):
        return table[name][0]

    def get_source(self, name):
        return None

    def get_data(self, path):
        try:
            return data[path]
        except KeyError:
            raise FileNotFoundError(2, "No such file or directory", path) from None

    def get_resource_reader(self, name):
        from . import resources
        return resources.Reader(name) if self.is_package(name) else None


# A warning about an import is meant for who imports: the frames of the import system do not count.
Loader.exec_module.__code__ = Loader.exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        found = table.get(name)
        if not found:
            return None
        origin = "/lib/" + name.replace(".", "/") + ("/__init__.py" if found[0] else ".py")
        spec = importlib.machinery.ModuleSpec(name, loader, origin=origin, is_package=found[0])
        spec.has_location = True
        if found[0]:
            spec.submodule_search_locations = ["/lib/" + name.replace(".", "/")]
        return spec

    @staticmethod
    def find_distributions(context):
        from . import resources
        return resources.distributions(context)


loader = Loader()


def spare_memory():
    """lzma's own default (6) takes 94 MB of memory to compress, most of what a world has; 3 takes 32."""
    import lzma
    made = lzma.LZMACompressor

    def compressor(format=lzma.FORMAT_XZ, check=-1, preset=None, filters=None):
        return made(format, check, 3 if preset is None and filters is None else preset, filters)

    compressor.__name__ = compressor.__qualname__ = "LZMACompressor"
    lzma.LZMACompressor = compressor


def known():
    """The names that can be imported, without those of parts."""
    names = {n.partition(".")[0] for n in [*table, *sys.modules, *sys.builtin_module_names]}
    return sorted(n for n in names if not n.startswith("_"))


class Nothing:
    """The finder for folders of the library: what these have is in the table."""

    @staticmethod
    def find_spec(name, target=None):
        return None

    @staticmethod
    def invalidate_caches():
        pass


def library_hook(path):
    if path == "/lib" or path.startswith("/lib/"):
        return Nothing
    raise ImportError("not a folder of the library", path=path)


def seal():
    """From now on the library comes from memory. Files are looked for where code has put a folder into sys.path."""
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourcelessFileLoader):
            spec.loader = loader
            module.__loader__ = loader
            module.__cached__ = spec.cached = None
    sys.meta_path.remove(importlib.machinery.PathFinder)
    sys.meta_path += [Finder, importlib.machinery.PathFinder]
    sys.path[:] = []
    sys.path_hooks.insert(0, library_hook)
    sys.path_importer_cache.clear()
    sys.dont_write_bytecode = True
