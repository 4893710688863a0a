"""Compares the command-line tools with the same programs run natively.

guest/tools/PACKAGE/cases.py says what is compared:

    from compare import case, debian

    REFERENCE = {"jq": debian("jq")}          # left out: debian(TOOL) for each tool
    CASES = {"jq": [
        case(".a[]", "in.json", files={"in.json": '{"a": [1, 2]}'}),
        case("-r", ".x", stdin='{"x": "y"}'),
        case("-i", "s/a/b/", "f", files={"f": "a"}),
        case("--version", check=lambda r: r.exit == 0 and b"jq" in r.stdout),
    ]}

A case runs in a folder that holds its files, natively and in Wasm, where the folder is
mounted at /work. Standard output, exit code and all files afterwards must be equal. So must
standard error where the package says what of it is compared, as ERRORS = function(text,
folder): text. A case that has a `check` needs no native program.
"""
import functools
import hashlib
import importlib.util
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "guest" / "tools"
DEPS = ROOT / "build" / "deps"
REFERENCES = DEPS / "references"
# One locale and zone on both sides, whatever the environment.
ENV = {"LC_ALL": "C", "TZ": "UTC", "HOME": "/nonexistent", "COLUMNS": "80"}
SECONDS = 60  # limit of one run


@dataclass
class Result:
    exit: int
    stdout: bytes
    stderr: bytes
    files: dict  # name: bytes, None for a folder
    folder: str = ""  # in which it ran, as it saw that


@dataclass
class Case:
    args: tuple
    stdin: bytes = b""
    files: dict = field(default_factory=dict)
    env: dict = field(default_factory=dict)
    normal: object = None  # Result -> Result: takes out what may differ
    check: object = None  # Result -> bool, instead of a native program
    times: dict = field(default_factory=dict)  # name: seconds since 1970


def as_bytes(text):
    return text.encode() if isinstance(text, str) else text


def case(*args, stdin=b"", files=None, env=None, normal=None, check=None, times=None):
    """`files`: {name: contents}; a name that ends in "/" is an empty folder; contents may be a
    function that makes them. `normal(result)` changes or returns a Result before it is compared.
    `times`: {name: seconds} sets files' modification times; else all have the same."""
    return Case(tuple(str(a) for a in args), as_bytes(stdin), dict(files or {}), dict(env or {}),
                normal, check, dict(times or {}))


def stdout_only(result):
    """For `normal`: files are not compared."""
    result.files = {}
    return result


# --- native programs -------------------------------------------------------------------

def debian(program, *args, env=None, runs=()):
    """A program of deps/debian-references.txt, run by the loader that came with it. `runs`:
    programs of the same list that it runs itself; it finds no others."""
    def command():
        own = {k: v.replace("ROOT", str(REFERENCES.resolve())) for k, v in (env or {}).items()}
        if runs:
            own["PATH"] = path_with(tuple(runs))
        return [*loaded(program), *args], own
    return command


def loaded(program):
    """The command line of a program of the references; fails if it is missing."""
    root = REFERENCES.resolve()
    binary = root / "usr" / "bin" / program
    if not binary.exists():
        raise FileNotFoundError(f"the reference's {program} is missing: deps/debian-references.txt "
                                "names its package, and deps/fetch test brings it")
    # The paths of loader and libraries depend on the architecture.
    loader = next(root.glob("usr/lib64/ld-linux-*.so.*"), None) or \
        next(root.glob("usr/lib/ld-linux-*.so.*"))
    libraries = ":".join(str(p.parent) for p in root.glob("usr/lib/*/libc.so.6"))
    return [str(loader), "--argv0", program, "--library-path", libraries, str(binary)]


@functools.cache
def path_with(programs):
    """A folder for $PATH with these programs of the references."""
    folder = tempfile.TemporaryDirectory(prefix="cloche-path-")
    KEPT_FOLDERS.append(folder)
    for name in programs:
        script = Path(folder.name) / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(loaded(name))} "$@"\n')
        script.chmod(0o755)
    return folder.name


KEPT_FOLDERS = []  # until this process ends


def program(*command, env=None):
    """A program named by its path, or by a function that returns its path."""
    return lambda: ([str(c() if callable(c) else c) for c in command], dict(env or {}))


def node(script):
    """A command line of the npm packages that tools are made of, run by node."""
    return lambda: ([str(DEPS / "node"), str(DEPS / "npm-tools" / "node_modules" / script)], {})


def go(package, what):
    """The Go program `what` of guest/tools/PACKAGE/go.mod, built for this machine and kept."""
    def command():
        folder = PACKAGES / package
        key = hashlib.sha256(what.encode() + (folder / "go.sum").read_bytes()).hexdigest()[:16]
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cloche-build"
        binary = cache / "references" / f"{what.rsplit('/', 1)[-1]}-{key}"
        if not binary.exists():
            binary.parent.mkdir(parents=True, exist_ok=True)
            new = binary.with_suffix(f".{os.getpid()}")
            env = {**os.environ, "GOMODCACHE": str((DEPS / "go-tools").resolve()), "GOPROXY": "off",
                   "GOCACHE": str(cache / "go"), "GOFLAGS": "-modcacherw -mod=readonly",
                   "GOTOOLCHAIN": "local", "GOSUMDB": "off", "CGO_ENABLED": "0"}
            subprocess.run([DEPS / "go", "build", "-trimpath", "-buildvcs=false", "-o", new, what],
                           cwd=folder, env=env, check=True)
            new.rename(binary)
        return [str(binary)], {}
    return command


# --- running ---------------------------------------------------------------------------

@functools.cache
def made_once(make):
    """The result of a case's function, the same for both sides: an archive may contain the time."""
    return make()


def fill(folder, one):
    for name, contents in one.files.items():
        path = folder / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(made_once(contents) if callable(contents) else contents))
    for path in [*folder.rglob("*"), folder]:
        seconds = one.times.get(str(path.relative_to(folder)), 1_700_000_000)
        os.utime(path, (seconds, seconds))


def files_of(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = b"-> " + os.fsencode(os.readlink(path))
        else:
            found[name] = None if path.is_dir() else path.read_bytes()
    return found


def run(command, env, one, folder, seen=None):
    done = subprocess.run(command, input=one.stdin, cwd=folder, capture_output=True,
                          env={**ENV, **env, **one.env}, timeout=SECONDS)
    result = Result(done.returncode, done.stdout, done.stderr, files_of(folder),
                    seen or str(folder))
    return (one.normal(result) or result) if one.normal else result


def run_native(reference, one):
    with tempfile.TemporaryDirectory(prefix="cloche-native-") as folder:
        fill(Path(folder), one)
        command, env = reference()
        return run([*command, *one.args], env, one, Path(folder))


def run_wasm(cloche, tool, one, settings):
    """`settings`: the environment of the program itself (its folders)."""
    with tempfile.TemporaryDirectory(prefix="cloche-wasm-") as folder:
        fill(Path(folder), one)
        given = [f"--env={k}={v}" for k, v in {**ENV, **one.env}.items()]
        command = [cloche, "tool", "run", "--mount", f"/work={folder}:rw", *given, tool, *one.args]
        return run(command, settings, one, Path(folder), "/work")


# --- what there is ---------------------------------------------------------------------

def cases_of(package):
    """The module cases.py of a package."""
    file = PACKAGES / package / "cases.py"
    spec = importlib.util.spec_from_file_location(f"cases_{package.replace('-', '_')}", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def errors_of(tool):
    """The function that normalises a tool's standard error; None: it is not compared."""
    for file in PACKAGES.glob("*/cases.py"):
        if (file.parent / f"{tool}.json").exists():
            return getattr(cases_of(file.parent.name), "ERRORS", None)
    return None


def all_cases():
    """(tool, number, case, reference) of every package, by tool."""
    for file in sorted(PACKAGES.glob("*/cases.py")):
        module = cases_of(file.parent.name)
        references = getattr(module, "REFERENCE", {})
        for tool, cases in module.CASES.items():
            for number, one in enumerate(cases):
                yield tool, number, one, references.get(tool) or debian(tool)
