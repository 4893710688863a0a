"""The seed's API surface: each method's answer has the keys that the seed names, and no keys that
the TypeScript declarations lack."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import needs
import seed_programs
from surface import SURFACE

DEPS = Path(__file__).resolve().parent.parent / "build" / "deps"
NODE = DEPS / "node"
TSC = DEPS / "npm-test/node_modules/typescript/bin/tsc"
EXAMPLE_VAULT = Path(__file__).resolve().parent.parent / "examples" / "vault"


@pytest.fixture(scope="module")
def answers(cloche, tmp_path_factory):
    """Each method's answer, by its name."""
    made = {}
    for name, (code, _) in SURFACE.items():
        place = tmp_path_factory.mktemp("surface")
        shutil.copytree(EXAMPLE_VAULT, place / "vault", ignore=shutil.ignore_patterns(".cloche"))
        env = os.environ | {"XDG_CONFIG_HOME": str(place / "config"),
                            "XDG_DATA_HOME": str(place / "data")}
        done = subprocess.run([cloche, "eval", "--vault", str(place / "vault"), "-"], input=code,
                              capture_output=True, text=True, timeout=120, env=env)
        made[name] = json.loads(done.stdout)
    return made


def check_keys(value, words):
    required = {w for w in words.split() if not w.endswith("?")}
    assert required <= set(value), sorted(required - set(value))


@pytest.mark.parametrize("name", SURFACE)
def test_a_method_answers_as_the_seed_says(answers, name):
    keys = SURFACE[name][1]
    answer = answers[name]
    assert answer["success"], answer["error"]
    result = answer["result"]
    if keys is None:
        assert result is None
    elif keys is float:
        assert 0 <= result <= 1
    elif keys is str:
        values = result if isinstance(result, list) else [result]
        assert values and all(isinstance(v, str) and v for v in values)
    elif isinstance(keys, list):
        assert result, "no rows to look at"
        for row in result:
            check_keys(row, keys[0])
    else:
        check_keys(result, keys)


# ---- types ---------------------------------------------------------------------------

needs_tsc = needs.installed(TSC, by="deps/fetch test")
OPTIONS = {"target": "es2023", "lib": ["es2023"], "module": "es2022", "strict": True, "types": [],
           "noEmit": True, "moduleDetection": "force"}


def compile_all(cloche, place, files, **options):
    """tsc's output for these programs, by file name; each is the body of a function."""
    types = subprocess.run([cloche, "api", "--types"], capture_output=True, text=True, check=True)
    (place / "cloche.d.ts").write_text(types.stdout)
    for name, text in files.items():
        (place / f"{name}.ts").write_text(f"(async () => {{\n{text}\n}});\nexport {{}};\n")
    names = ["cloche.d.ts", *(f"{name}.ts" for name in files)]
    (place / "tsconfig.json").write_text(
        json.dumps({"compilerOptions": OPTIONS | options, "files": names}))
    done = subprocess.run([str(NODE), str(TSC), "-p", str(place), "--pretty", "false"],
                          capture_output=True, text=True, timeout=300)
    said = {name: [] for name in files}
    for line in done.stdout.splitlines():
        name = Path(line.split("(")[0]).name.removesuffix(".ts")
        if name in said:
            said[name].append(line)
        elif not line.startswith(" "):
            pytest.fail(line)
    return said


def typed(code):
    """The code, sure that the note is there."""
    return code.replace("const note = await notes.get", "const note: FullNote = await (notes.get as any)")


@needs_tsc
def test_the_declarations_fit_what_is_answered(cloche, tmp_path, answers):
    """An object literal may have no key that its type lacks, and must have all others."""
    files = {}
    for name, answer in answers.items():
        value = "undefined" if SURFACE[name][1] is None else json.dumps(answer["result"])
        files[name.replace(".", "-")] = (
            f"const call = async () => {{ {typed(SURFACE[name][0])} }};\n"
            f"const answer: Awaited<ReturnType<typeof call>> = {value};\nreturn answer;")
    said = compile_all(cloche, tmp_path, files)
    assert {name: lines for name, lines in said.items() if lines} == {}


@needs_tsc
def test_the_examples_compile(cloche, tmp_path):
    """Those that agents are shown with each method, and the proposals' programs (but for one
    that TypeScript would not take whatever is declared)."""
    reference = subprocess.run([cloche, "api", "--reference"], capture_output=True, text=True,
                               check=True).stdout
    examples = re.findall(r"```javascript\n(.*?)\n```", reference, re.S)
    assert len(examples) > 30
    files = {f"example-{i}": text for i, text in enumerate(examples)}
    files |= {f"seed-{name.lower()}": text for name, text in vars(seed_programs).items()
              if name.isupper() and name not in ("DAILY_NOTE", "SEARCH_AND_ANALYSIS")}
    said = compile_all(cloche, tmp_path, files, strict=False)
    assert {name: lines for name, lines in said.items() if lines} == {}


@needs_tsc
def test_the_declarations_take_what_is_right_and_refuse_what_is_wrong(cloche, tmp_path):
    right = {f"right-{name.replace('.', '-')}": typed(code) for name, (code, _) in SURFACE.items()}
    wrong = {
        "no-method": "await notes.serach('a')",
        "no-namespace": "await note.get('a')",
        "no-option": "await notes.list({typename: 'a'})",
        "no-field": "const n = await notes.get('a'); return n!.contents",
        "may-be-null": "const n = await notes.get('a'); return n.content",
        "no-await": "return notes.list().filter((n) => n.size > 1)",
        "not-a-string": "await notes.get(7)",
        "nothing": "await notes.get()",
        "no-globals": "require('fs'); process.exit()",
    }
    world = {"world": """
        console.log(context.x, crypto.randomUUID(), performance.now());
        await sleep(1); setTimeout(() => {}, 1); queueMicrotask(() => {});
        const u = new URL('https://a.example/?b=c'); u.searchParams.get('b');
        new TextDecoder().decode(new TextEncoder().encode(btoa(atob('YQ=='))));
        const c = new AbortController(); c.abort(); AbortSignal.timeout(5).throwIfAborted();
        return structuredClone({a: 1}).a;"""}
    world["daily"] = seed_programs.DAILY_NOTE + "return createOrUpdateDailyNote();"
    said = compile_all(cloche, tmp_path, {**right, **wrong, **world})
    assert {name: lines for name, lines in said.items() if lines and name not in wrong} == {}
    assert [name for name in wrong if not said[name]] == []
