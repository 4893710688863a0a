"""Gives a new virtual environment pip by copying the machine's own, which is compiled.

Debian's ensurepip has pip install itself out of its wheel: the same files, byte for byte, but
all of pip is compiled for that twice, which on this machine takes a minute.
"""
import os
import shutil
import sys
import sysconfig
from pathlib import Path

OURS = Path("/usr/lib/python3/dist-packages")
SCRIPT = """#!{}
import sys
from pip._internal.cli.main import main
if __name__ == '__main__':
    sys.exit(main())
"""


def _scripts(folder):
    """Under the names that pip has for itself."""
    for name in ("pip", "pip3", f"pip3.{sys.version_info.minor}"):
        path = folder / name
        path.write_text(SCRIPT.format(sys.executable))
        path.chmod(0o755)
        yield path


def copy(version):
    """False: nothing was done, and it is to be installed."""
    into = Path(sysconfig.get_path("purelib"))
    info = f"pip-{version}.dist-info"
    # What stands behind #! has no spaces and at most 127 bytes.
    if sys.prefix == sys.base_prefix or not (OURS / info).is_dir() or any(into.glob("pip*")) or \
            " " in sys.executable or len(os.fsencode(sys.executable)) > 125:
        return False
    for name in ("pip", info):
        shutil.copytree(OURS / name, into / name, copy_function=shutil.copyfile)
    (into / info / "INSTALLER").write_text("pip\n")
    made = [path for name in ("pip", info) for path in (into / name).rglob("*") if path.is_file()]
    made += _scripts(Path(sysconfig.get_path("scripts")))
    made.append(into / info / "RECORD")
    made[-1].write_text("".join(f"{os.path.relpath(path, into)},,\n" for path in sorted(made)))
    return True
