"""The piece about custom functions: a call beside the same code written out, registering with
its type check, listing, and what a thousand functions cost those who use none or two."""
import json
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from sides import CLOCHE, Failure, OverStdio, Table, need, running, times, us

# What a function of use does: it looks through the text of a note.
BODY = """
  const out = [];
  for (const line of text.split("\\n")) {
    const match = /^(#+)\\s+(.*)$/.exec(line);
    if (match) out.push({ level: match[1].length, title: match[2].trim() });
  }
  return out.length;
"""
WORK = "function headings(text: string): number {" + BODY + "}\n"
NOTHING = "function nothing(n: number): number { return n; }\n"
ASKS = "async function size(): Promise<number> { return (await notes.list()).length; }\n"

# One batch of each in turn, so that both meet the same machine; minima of the batches.
TIMED = """
const text = context_text;
function inline(text) {%s}
function plain(n) { return n; }
const own = async () => (await notes.list()).length;
const best = {};
const time = async (name, count, f) => {
  const start = Date.now();
  for (let i = 0; i < count; i++) await f(i);
  const ms = Date.now() - start;
  best[name] = Math.min(best[name] ?? Infinity, ms / count);
};
await customFunctions.headings(text); await customFunctions.nothing(1); await customFunctions.size();
for (let round = 0; round < rounds; round++) {
  await time("inline", 400, () => inline(text));
  await time("called", 400, () => customFunctions.headings(text));
  await time("plain", 20000, (n) => plain(n));
  await time("nothing", 20000, (n) => customFunctions.nothing(n));
  await time("own", 300, own);
  await time("size", 300, () => customFunctions.size());
}
return best;
""" % BODY


def definition(name, code, parameters=None, returns="number"):
    return {"name": name, "description": f"what {name} does", "returnType": returns,
            "parameters": parameters or {}, "code": code, "tags": ["bench"]}


def stored(i):
    """One of a thousand, as the vault's file has them."""
    name = f"helper{i:04}"
    return {"id": f"fn_bench{i:04}", **definition(
        name, f"function {name}(n: number): number {{\n  return n + {i};\n}}\n",
        {"n": {"type": "number", "description": "a number"}}),
        "metadata": {"createdAt": "2026-01-01T00:00:00.000Z",
                     "updatedAt": "2026-01-01T00:00:00.000Z", "createdBy": "agent",
                     "usageCount": 0, "version": 1}}


def vault_of(folder, name, count):
    vault = Path(folder) / name
    (vault / ".cloche").mkdir(parents=True)
    (vault / "one.md").write_text("# One\n")
    if count:
        (vault / ".cloche" / "custom-functions.json").write_text(json.dumps(
            {"version": 1, "functions": [stored(i) for i in range(count)]}, indent=2))
    return vault


@contextmanager
def server(environment, vault):
    with running([CLOCHE, "mcp", "--vault", vault], environment, stdin=subprocess.PIPE,
                 stdout=subprocess.PIPE, bufsize=0) as process:
        yield OverStdio(process)


def ask(client, tool, arguments):
    answer = client.request("tools/call", {"name": tool, "arguments": arguments})
    content = answer.get("result", {}).get("structuredContent")
    if content is None or content.get("success") is False:
        raise Failure(f"{tool} answered {str(answer)[:300]}")
    return content


def beside_inline(environment, effort, folder, table):
    with server(environment, vault_of(folder, "calls", 0)) as client:
        ask(client, "register_custom_function", definition(
            "headings", WORK, {"text": {"type": "string"}}))
        ask(client, "register_custom_function", definition(
            "nothing", NOTHING, {"n": {"type": "number"}}))
        ask(client, "register_custom_function", definition(
            "size", ASKS, returns="Promise<number>"))
        text = "\n".join(f"{'#' * (1 + i % 3)} Heading {i}\n\nSome words of text, {i}."
                         for i in range(40))
        best = ask(client, "evaluate_note_code", {
            "code": TIMED, "timeout": 30000,
            "context": {"context_text": text, "rounds": max(3, round(5 * effort))}})["result"]
    for what, ours, theirs, floor in (
            ("a call that looks through 2 KB of text", "called", "inline", 1.2),
            ("a call that asks the host for the list of notes", "size", "own", 1.2),
            ("a call that does nothing", "nothing", "plain", None)):
        ratio = best[ours] / best[theirs]
        table.row(what, us(best[ours] * 1e6), us(best[theirs] * 1e6), times(ratio),
                  f"at most {floor}" if floor else "", ratio <= floor if floor else None)


def registering(environment, effort, folder, table):
    ns = []
    with server(environment, vault_of(folder, "registering", 0)) as client:
        for i in range(max(5, round(12 * effort))):
            code = WORK.replace("headings", f"look{i}").replace("out.length", f"out.length + {i}")
            one = definition(f"look{i}", code, {"text": {"type": "string"}})
            start = time.perf_counter_ns()
            ask(client, "register_custom_function", one)
            ns.append(time.perf_counter_ns() - start)
    table.row("registering, the first of a process", us(ns[0]))
    median = statistics.median(ns[1:])
    table.row("registering, with its type check", us(median), floor="under 600 ms",
              met=median < 600e6)


def alone(effort):
    return max(5, round(15 * effort))


def batches(effort, sides, code, count):
    """Medians of batches of one evaluation by each client in turn; their ratios' median."""
    medians = [[], []]
    for client in sides:
        client.call_all("evaluate_note_code", {"code": code}, '"success":true', count)
    for _ in range(alone(effort)):
        for side, client in enumerate(sides):
            medians[side].append(statistics.median(client.call_all(
                "evaluate_note_code", {"code": code}, '"success":true', count)))
    return (*map(statistics.median, medians),
            statistics.median(map(lambda a, b: a / b, *medians)))


def a_thousand(environment, effort, folder, table):
    many, none, two = (vault_of(folder, f"of{n}", n) for n in (1000, 0, 2))
    with server(environment, many) as of_many, server(environment, none) as of_none, \
            server(environment, two) as of_two:
        listed = {"limit": 1000}
        of_many.call_all("list_custom_functions", listed, "helper0999", 3)
        ns = of_many.call_all("list_custom_functions", listed, "helper0999", 10 * alone(effort))
        median = statistics.median(ns)
        table.row("listing 1,000, the whole answer", us(median), floor="under 5 ms",
                  met=median < 5e6)
        ours, theirs, ratio = batches(effort, (of_many, of_none), "return 1", 200)
        table.row("`return 1` beside 1,000 functions (beside none)", us(ours), us(theirs),
                  times(ratio), "at most 1.1", ratio <= 1.1)
        use = ("return (await customFunctions.helper0000(1)) + "
               "(await customFunctions.helper0001(2))")
        ours, theirs, ratio = batches(effort, (of_many, of_two), use, 100)
        table.row("using two of 1,000 (beside two of two)", us(ours), us(theirs),
                  times(ratio), "at most 1.1", ratio <= 1.1)
    ns = {many: [], none: []}
    for _ in range(alone(effort)):
        for vault in ns:
            start = time.perf_counter_ns()
            subprocess.run([CLOCHE, "eval", "--vault", vault, "-e", "return 1"], check=True,
                           env=environment, stdout=subprocess.DEVNULL)
            ns[vault].append(time.perf_counter_ns() - start)
    ratio = min(ns[many]) / min(ns[none])
    table.row("a whole process beside 1,000 (beside none)", us(min(ns[many])),
              us(min(ns[none])), times(ratio), "at most 1.1", ratio <= 1.1)


def functions(environment, effort):
    need(CLOCHE)
    table = Table("Custom functions", "the same code written out, or a vault without any")
    with tempfile.TemporaryDirectory(prefix="cloche-functions-") as folder:
        beside_inline(environment, effort, folder, table)
        registering(environment, effort, folder, table)
        a_thousand(environment, effort, folder, table)
    table.note("Calls: minima of interleaved batches, timed by the code inside, after a first "
               "call of each. The rest: medians over stdio, and minima for whole processes.")
    return table
