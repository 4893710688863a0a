"""clients/node, the package agentvm: its own tests, its types, its README, and what `npm pack` makes
of it, installed into an empty project."""
import os
import re
import subprocess
from pathlib import Path

import pytest

import needs
from conftest import ROOT
from machine_doors import needs_image

PACKAGE = ROOT / "clients" / "node"
DEPS = ROOT / "build" / "deps"
NODE = Path(os.environ.get("CLOCHE_NODE") or DEPS / "node")
NPM = NODE.resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
PACKAGES = DEPS / "npm-test" / "node_modules"
SEED_EXAMPLE = """\
import { AgentVM } from 'agentvm';

const vm = new AgentVM({ wasmPath: './agentvm-alpine-python.wasm' });
await vm.start();

const result = await vm.exec('python3 -c "print(1+1)"');
console.log(result.stdout); // "2\\n"

await vm.stop();
"""
TIMEOUT_S = 600

pytestmark = [needs_image, needs.installed(NODE, NPM, PACKAGES / "typescript", by="deps/fetch test"),
              needs.installed(ROOT / "build/guest/tools/jq", by="make tools")]


def run(*command, env, cwd, code=0):
    done = subprocess.run([str(word) for word in command], env=env, cwd=cwd, text=True,
                          capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def env(cloche, tmp_path):
    return os.environ | {"CLOCHE_BIN": cloche, "CLOCHE_IMAGE": str(ROOT / "build" / "vm"),
                         "HOME": str(tmp_path), "TMPDIR": str(tmp_path),
                         "npm_config_cache": str(tmp_path / "npm"), "npm_config_offline": "true",
                         "npm_config_update_notifier": "false",
                         "PATH": f"{NODE.resolve().parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def project(env, tmp_path):
    """An empty project with the package in it."""
    place = tmp_path / "project"
    place.mkdir()
    (place / "package.json").write_text('{"name": "project", "private": true, "type": "module"}')
    packed = run(NODE, NPM, "pack", "--silent", "--pack-destination", tmp_path, env=env,
                 cwd=PACKAGE).strip()
    run(NODE, NPM, "install", "--silent", "--no-audit", tmp_path / packed, env=env, cwd=place)
    return place


@pytest.mark.parametrize("file", ["machine", "cloche", "reference"])
def test_its_own_tests_pass(file, env, tmp_path):
    run(NODE, "--test", PACKAGE / "test" / f"{file}.test.js", env=env, cwd=PACKAGE)


def test_the_packed_one_runs_the_specification_s_example(project, env):
    installed = {str(p.relative_to(project / "node_modules")) for p in
                 (project / "node_modules").rglob("*") if p.is_file()}
    assert {"agentvm/index.js", "agentvm/index.d.ts", "agentvm/api.d.ts", "agentvm/README.md",
            "agentvm/lib/agentvm.js"} <= installed
    assert not any("test" in name for name in installed)
    (project / "agentvm-alpine-python.wasm").symlink_to(ROOT / "build" / "vm")
    (project / "main.js").write_text(SEED_EXAMPLE)
    assert run(NODE, "main.js", env=env, cwd=project) == "2\n\n"
    # The image's own program is found as well.
    del env["CLOCHE_BIN"]
    assert run(NODE, "main.js", env=env, cwd=project) == "2\n\n"


def test_the_readme_s_example_runs(project, env):
    readme = (PACKAGE / "README.md").read_text()
    assert len(readme.splitlines()) <= 50, "one screen"
    example, = re.findall(r"```js\n(.*?)```", readme, re.S)
    (project / "main.js").write_text(example)
    assert run(NODE, "main.js", env=env, cwd=project) == '4\n2\n0 "4\\n2\\n"\n6\n'


def test_leaving_a_block_ends_the_machine(project, env):
    (project / "main.js").write_text("""
        import { AgentVM } from 'agentvm';
        let seen;
        {
          await using vm = seen = new AgentVM();
          await vm.start();
          console.log((await vm.exec('echo in')).stdout);
        }
        await seen.exec('true').catch((error) => console.log(error.name));
        """)
    assert run(NODE, "main.js", env=env, cwd=project) == "in\n\nNotStarted\n"


def test_it_is_required_too(project, env):
    (project / "main.cjs").write_text("console.log(typeof require('agentvm').AgentVM)")
    assert run(NODE, "main.cjs", env=env, cwd=project) == "function\n"


TYPED = """\
import { AgentVM, Cloche, ClocheError, type ExecResult } from 'agentvm';
declare const process: any;
await using vm = new AgentVM({ wasmPath: './image', mounts: { '/mnt': '/tmp' }, network: true, mac: '02:00:00:00:00:01' });
vm.on('output', ({ stream, data }) => process[stream].write(data));
await vm.start({ signal: AbortSignal.timeout(1000) });
const result: ExecResult = await vm.exec(['ls'], { stdin: new Uint8Array(3), env: { A: 'b' }, timeoutMs: 5 });
const text: string = result.stdout, bytes: Uint8Array = result.stdoutBytes, code: number = result.exitCode;
const file: Uint8Array = await vm.download('/etc/passwd');
const copy: AgentVM = await vm.fork({ network: false });
const made: Date = (await copy.snapshot('tools')).made;
const cloche = new Cloche({ vaults: ['a', 'b'], mounts: { '/data': { path: '/tmp', mode: 'ro' } } });
const named: AgentVM = cloche.machine({ from: 'tools', mounts: { '/work': { mount: '/data' } } });
const note = await cloche.notes.get('a/b');
const content: string | undefined = note?.content;
const sum: number = await cloche.evaluate<number>('return 1', { context: { a: 1 } });
const ran: number = (await cloche.tools.run('jq', { arguments: { filter: '.' }, stdin: 'x' })).exitCode;
try { await cloche.functions.call('f', 1); } catch (e) { if (e instanceof ClocheError) console.log(e.name, e.result); }
// @ts-expect-error
await vm.exec(5);
// @ts-expect-error
await cloche.notes.create({ titel: 'x' });
// @ts-expect-error
new AgentVM({ wasm: './x' });
// @ts-expect-error
new AgentVM({ mounts: { '/x': { path: '/tmp', mode: 'w' } } });
console.log(text, bytes, code, file, content, sum, ran, made, named);
"""


def test_its_types_are_what_it_takes_and_gives(project, env):
    (project / "main.ts").write_text(TYPED)
    (project / "tsconfig.json").write_text("""{"compilerOptions": {"strict": true, "noEmit": true,
        "module": "nodenext", "target": "esnext", "lib": ["esnext", "dom"], "types": []}}""")
    run(NODE, PACKAGES / "typescript/bin/tsc", "-p", ".", env=env, cwd=project)
