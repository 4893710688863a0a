"""The own tests of the packages in the guest's library, in worlds: how they are run.

    test/python_packages.py [PART...]     runs parts and prints a line of JSON for each

test_python_packages.py has what is expected of them.
"""
import json
import os
import sys
import tempfile
from pathlib import Path

from conftest import ROOT
from python_suite import Worlds

FOLDER = ROOT / "build/deps/python-suites"
WORLD = (ROOT / "test/python_packages_world.py").read_text()
# part: (start of the folder's name, folders in it that modules are imported from, tests)
PARTS = {
    "attrs": ("attrs-", [""], ["tests"]),
    "beautifulsoup4": ("beautifulsoup4-", [], ["bs4/tests"]),
    "jinja2": ("jinja2-", ["tests"], ["tests"]),
    "markdown-it-py": ("markdown_it_py-", [""], ["tests"]),
    "markupsafe": ("markupsafe-", [""], ["tests"]),
    "python-dateutil": ("python_dateutil-", [""], ["tests"]),
    "pyyaml": ("pyyaml-", ["tests/legacy_tests"], ["tests"]),
    "soupsieve": ("soupsieve-", [""], ["tests"]),
    "tabulate": ("tabulate-", ["test"], ["test"]),
    "typing-extensions": ("typing_extensions-", ["src"], ["src/test_typing_extensions.py"]),
    **{f"networkx.{name}": ("networkx-", [], paths) for name, paths in {
        "algorithms": ["networkx/algorithms/tests"], "approximation": ["networkx/algorithms/approximation"],
        "assortativity": ["networkx/algorithms/assortativity"], "bipartite": ["networkx/algorithms/bipartite"],
        "centrality": ["networkx/algorithms/centrality"], "coloring": ["networkx/algorithms/coloring"],
        "community": ["networkx/algorithms/community"], "components": ["networkx/algorithms/components"],
        "connectivity": ["networkx/algorithms/connectivity"], "flow": ["networkx/algorithms/flow"],
        "isomorphism": ["networkx/algorithms/isomorphism"], "operators": ["networkx/algorithms/operators"], "shortest_paths": ["networkx/algorithms/shortest_paths"],
        "traversal": ["networkx/algorithms/traversal", "networkx/algorithms/tree"],
        "minors": ["networkx/algorithms/minors"],
        "classes": ["networkx/classes"], "generators": ["networkx/generators"],
        "readwrite": ["networkx/readwrite", "networkx/drawing", "networkx/linalg"],
        "utils": ["networkx/utils", "networkx/tests"]}.items()},
}


class Packages(Worlds):
    def __init__(self, cloche, place):
        super().__init__(cloche, place, "/packages", FOLDER.resolve())

    def run(self, part, without=()):
        """{ran, skipped, failed: {test: why}, status}, or {ended: why}."""
        start, folders, paths = PARTS[part]
        (root,) = FOLDER.glob(f"{start}[0-9]*")
        return self.evaluate(WORLD, {"root": root.name, "folders": folders, "paths": paths, "without": list(without)})


def main(names):
    cloche = os.environ.get("CLOCHE_BIN", str(ROOT / "build/cloche"))
    with tempfile.TemporaryDirectory() as place:
        packages = Packages(cloche, Path(place))
        for name in names or PARTS:
            print(json.dumps({"part": name, **packages.run(name)}), flush=True)
        packages.close()


if __name__ == "__main__":
    main(sys.argv[1:])
