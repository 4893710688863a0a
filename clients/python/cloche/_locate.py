"""Where the program `cloche` is, and the machine's image that belongs to it."""
from __future__ import annotations

import os
import shutil

from ._errors import ImageNotFound, ProgramNotFound

# From the program's folder to its image: in build/, in build/MODE/, installed. And back.
_IMAGES = ("vm", "../vm", "../lib/cloche/vm")
_PROGRAMS = ("../cloche", "../../../bin/cloche")
_HOW = ("'make vm' in Cloche's folder builds one, build/vm. Give that folder as wasm_path, or a link to it "
        "(ln -s /path/to/cloche/build/vm NAME), or leave wasm_path out for the installed image")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _image_folder(wasm_path: str) -> str:
    """Named by itself, by a link, or by a file in it."""
    path = os.path.realpath(wasm_path)
    if not os.path.exists(path):
        raise ImageNotFound(f"there is no machine image at '{wasm_path}'; {_HOW}")
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    if not all(os.path.exists(os.path.join(folder, name)) for name in ("Image", "root.erofs")):
        raise ImageNotFound(f"'{wasm_path}' is not a machine image of Cloche; {_HOW}")
    return folder


def locate_program(program: str | None, wasm_path: str | None) -> str:
    """An image belongs to the installation that it was built in."""
    folder = _image_folder(wasm_path) if wasm_path is not None else None
    found = program or os.environ.get("CLOCHE_BIN")
    if found and not _is_program(found):
        raise ProgramNotFound(f"'{found}' is not a program that can be run")
    if not found and folder:
        places = (os.path.normpath(os.path.join(folder, place)) for place in _PROGRAMS)
        found = next(filter(_is_program, places), None)
    found = found or shutil.which("cloche")
    if not found:
        raise ProgramNotFound("the program 'cloche' is not in PATH; give its path as 'program', or in the "
                              "variable CLOCHE_BIN")
    beside = os.path.dirname(os.path.realpath(found))
    if folder and folder not in [os.path.realpath(os.path.join(beside, place)) for place in _IMAGES]:
        raise ImageNotFound(f"the image '{wasm_path}' belongs to another installation than {found}; give the "
                            "program of the same installation, or leave one of the two out")
    return os.path.abspath(found)
