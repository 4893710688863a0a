"""Clients generated from the OpenAPI document, against the server: every operation once, from
Python (openapi-python-client) and from TypeScript (openapi-typescript)."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import needs
from conftest import ROOT, policy_in
from machine_doors import needs_image
from test_openapi import operations

DEPS = ROOT / "build" / "deps"
NODE = Path(os.environ.get("CLOCHE_NODE") or DEPS / "node")
PACKAGES = DEPS / "npm-rest" / "node_modules"
GENERATOR = Path(sys.executable).parent / "openapi-python-client"
pytestmark = [needs_image, needs.installed(PACKAGES, NODE, GENERATOR, by="deps/fetch test"),
              needs.installed(ROOT / "build/guest/tools/jq", by="make tools")]
TIMEOUT_S = 600


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=TIMEOUT_S, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def document(server, tmp_path):
    """Where the document lies, and what it says."""
    policy_in(tmp_path, {"tools": {"default": "always"}, "vm": {"expose": "always"}})
    text = httpx.get(f"{server.url}/openapi.json").text
    path = tmp_path / "openapi.json"
    path.write_text(text)
    return path, json.loads(text)


def test_a_client_in_python_makes_every_request(server, document, tmp_path):
    path, told = document
    environment = os.environ | {"PATH": f"{GENERATOR.parent}{os.pathsep}{os.environ['PATH']}"}
    said = run(GENERATOR, "generate", "--path", path, "--meta", "none", "--output-path",
               tmp_path / "client", env=environment, cwd=tmp_path)
    # It sends JSON alone; that is all that it leaves out.
    warnings = re.findall(r"WARNING[^\n]*\n+([^\n]*)", said.stderr)
    assert warnings == ["Unsupported content type text/markdown"] * 2, said.stderr
    used = json.loads(run(sys.executable, ROOT / "test/clients/rest.py", tmp_path,
                          server.url).stdout)
    names = {re.sub(r"([A-Z])", r"_\1", o["operationId"]).lower() for _, _, o in operations(told)}
    assert set(used) == names


def test_a_client_in_typescript_makes_every_request(server, document, tmp_path):
    path, told = document
    place = tmp_path / "typescript"
    place.mkdir()
    (place / "node_modules").symlink_to(PACKAGES)
    (place / "package.json").write_text('{"type": "module"}')
    (place / "rest.ts").write_text((ROOT / "test/clients/rest.ts").read_text())
    run(NODE, PACKAGES / "openapi-typescript/bin/cli.js", path, "-o", place / "api.ts")
    (place / "node.d.ts").write_text("declare const process: { argv: string[] };\n")
    run(NODE, PACKAGES / "typescript/bin/tsc", "--noEmit", "--strict", "--target", "es2022",
        "--module", "nodenext", "--allowImportingTsExtensions", "--lib", "es2022,dom",
        "rest.ts", "node.d.ts", cwd=place)
    used = json.loads(run(NODE, place / "rest.ts", server.url, cwd=place).stdout)
    assert set(used) == {f"{method.upper()} {at}" for method, at, _ in operations(told)}
