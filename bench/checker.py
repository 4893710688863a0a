"""The piece about type checking: code that is new and code that was seen, beside npm's
TypeScript of the same source, native, with the same declarations and libraries."""
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from sides import BUILD, CLOCHE, NODE, Failure, OverStdio, Table, need, running, times, us

TSC = BUILD / "deps/npm-test/node_modules/typescript/bin/tsc"
OPTIONS = {"target": "esnext", "module": "esnext", "moduleResolution": "bundler", "lib": ["es2025"],
           "moduleDetection": "force", "types": [], "strict": True, "noEmit": True, "skipLibCheck": True}
CODE = """
async function daily(date?: string, content?: string): Promise<Note> {
  const title = utils.formatDate(date ? new Date(date) : new Date(), 'YYYY-MM-DD');
  const existing = await notes.search({ query: title, exact: true });
  if (existing.length === 0)
    return await notes.create({ title, content: content || '# %d', type_id: 'daily-note' });
  const note = await notes.get(existing[0].id);
  if (note && content) await notes.update(note.id, { content: note.content + content });
  return note!;
}
await daily();
"""


def checked(client, code):
    """Nanoseconds from request to answer."""
    start = time.perf_counter_ns()
    answer = client.request("tools/call", {"name": "evaluate_note_code", "arguments": {
        "code": code, "language": "typescript", "typesOnly": True}})["result"]["structuredContent"]
    if not answer["success"]:
        raise Failure(answer["error"])
    return time.perf_counter_ns() - start


def checker(environment, effort):
    need(CLOCHE, NODE, TSC, BUILD / "guest/checker.bare.wasm")
    table = Table("Types of a function of 600 bytes", "npm's typescript, the same checker, native")
    first, again, theirs = [], [], []
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    with tempfile.TemporaryDirectory() as folder, running([CLOCHE, "mcp"], environment, **pipes) as ours:
        place, client = Path(folder), OverStdio(ours)
        declared = subprocess.run([CLOCHE, "api", "--types"], stdout=subprocess.PIPE, check=True)
        (place / "core.d.ts").write_bytes(declared.stdout)
        (place / "tsconfig.json").write_text(json.dumps(
            {"compilerOptions": OPTIONS, "files": ["core.d.ts", "code.ts"]}))
        for i in range(max(10, round(40 * effort)) + 3):
            (place / "code.ts").write_text(CODE % i)
            spent = [checked(client, CODE % i), checked(client, CODE % i)]
            start = time.perf_counter_ns()
            done = subprocess.run([NODE, TSC, "-p", place, "--singleThreaded"], stdout=subprocess.PIPE)
            peer = time.perf_counter_ns() - start
            if done.returncode:
                raise Failure(f"tsc: {done.stdout.decode()[:200]}")
            if i >= 3:
                first.append(spent[0]), again.append(spent[1]), theirs.append(peer)
    ours_ns, again_ns, peer_ns = map(statistics.median, (first, again, theirs))
    table.row("new code, in a running server", us(ours_ns), us(peer_ns), times(peer_ns / ours_ns),
              "at most 400 ms", ours_ns <= 400e6)
    table.row("the same code again", us(again_ns), floor="at most 1 ms", met=again_ns <= 1e6)
    table.note("Over stdin and stdout, request to answer. npm's has no running server: it starts, and reads "
               "the libraries, each time; ours was baked with them read.")
    return table
