"""Writes what packages have beside their code, from their wheels; compile.py has written zones and code.

    beside.py FOLDER WHEEL...     FOLDER is what sys.path would name

Of METADATA these are the fields, without the description below them.
"""
import sys
import zipfile
from pathlib import Path

for wheel in sys.argv[2:]:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            is_metadata = name.endswith(".dist-info/METADATA")
            if is_metadata or name == "tzdata/zones":
                content = archive.read(name)
                path = Path(sys.argv[1], name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.partition(b"\n\n")[0] + b"\n" if is_metadata else content)
