"""Folders that machines see, as options name them."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Mapping, Union

from ._errors import ClocheError

Mode = Literal["ro", "rw", "overlay"]


@dataclass(frozen=True)
class HostFolder:
    """A folder of this computer. The changes of an overlay end with the machine, or with `apply` are written
    by its apply(); `links`: the machine may make symbolic links in it."""
    path: str | os.PathLike[str]
    mode: Mode = "rw"
    links: bool = False
    apply: bool = False


@dataclass(frozen=True)
class Mount:
    """A mount of a Cloche or of the policy, by its name."""
    mount: str
    mode: Mode | None = None


HostMounts = Mapping[str, Union[str, "os.PathLike[str]", HostFolder]]
NamedMounts = Mapping[str, Union[str, Mount]]


def host_words(mounts: HostMounts | None) -> List[str]:
    """As the program's options --mount: {"/place": "/folder/of/this/computer"}, or a HostFolder."""
    words = []
    for place, mount in (mounts or {}).items():
        folder = mount if isinstance(mount, HostFolder) else HostFolder(mount)
        if not place.startswith("/") or ":" in place:
            raise ClocheError(f"mounts has the place '{place}'; an absolute path of the machine, without ':', is "
                              "accepted", "InvalidInput")
        if folder.mode not in ("ro", "rw", "overlay"):
            raise ClocheError(f"mounts['{place}'] has the mode '{folder.mode}'; 'ro', 'rw' or 'overlay' is "
                              "accepted", "InvalidInput")
        if folder.apply and folder.mode != "overlay":
            raise ClocheError(f"mounts['{place}'] has apply, and is no overlay", "InvalidInput")
        more = (":links" if folder.links else "") + (":apply" if folder.apply else "")
        words.append(f"{os.path.abspath(folder.path)}:{place}:{folder.mode}{more}")
    return words


def by_name(mounts: NamedMounts | None) -> List[Dict[str, Any]]:
    listed = []
    for place, mount in (mounts or {}).items():
        named = mount if isinstance(mount, Mount) else Mount(os.fspath(mount))
        listed.append({"mount": named.mount, "at": place, **({"mode": named.mode} if named.mode else {})})
    return listed
