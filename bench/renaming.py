"""The piece about renaming: what it costs that links follow."""
import shutil
import subprocess
import tempfile
from pathlib import Path

from sides import CLOCHE, Failure, OverStdio, Table, need, running, us

SPENT = """
const start = performance.now();
%s
return performance.now() - start;
"""
RENAME = SPENT % "await notes.rename({identifier: from, new_title: to, force: true});"
MIGRATE = SPENT % ('await noteTypes.delete({type_name: "z", action: "migrate",'
                   ' target_type: "zz"});')
BATCH = SPENT % """await notes.batch({changes: Array.from({length: n}, (_, i) => ({
  action: "rename", identifier: `z/n${i}`, new_title: `r${i}`, force: true}))});"""
READY = 'await noteTypes.create({type_name: "z", description: "x"}); await notes.list({limit: 1});'


def write_notes(folder, count, links):
    (folder / "z").mkdir(parents=True)
    for i in range(count):
        (folder / "z" / f"n{i}.md").write_text(
            " ".join(f"[[z/n{(i + k) % count}]]" for k in range(links)) + "\n")


def write_star(folder, count):
    """One note that all others link to, and one that none does."""
    (folder / "z").mkdir(parents=True)
    for name in ("hub", "lone"):
        (folder / "z" / f"{name}.md").write_text("text\n")
    for i in range(count):
        (folder / "z" / f"n{i}.md").write_text(f"{'word ' * 40}\n[[z/hub]]\n")


def spent(client, code, **context):
    """Milliseconds, timed by the code inside."""
    answer = client.request("tools/call", {"name": "evaluate_note_code", "arguments": {
        "code": code, "context": context, "timeout": 30000}})["result"]["structuredContent"]
    if not answer["success"]:
        raise Failure(answer["error"])
    return answer["result"]


def over(environment, write, *counts):
    """The function that times evaluations over a vault of its own, within `with`."""
    class Vault:
        def __enter__(self):
            self.folder = Path(tempfile.mkdtemp(prefix="cloche-bench-"))
            write(self.folder, *counts)
            self.running = running([CLOCHE, "mcp", "--vault", self.folder], environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
            client = OverStdio(self.running.__enter__())
            spent(client, READY)
            return lambda code, **context: spent(client, code, **context)

        def __exit__(self, *error):
            self.running.__exit__(*error)
            shutil.rmtree(self.folder)
    return Vault()


def renaming(environment, effort):
    need(CLOCHE)
    backlinks, count = max(500, round(10000 * effort)), max(50, round(1000 * effort))
    table = Table("Renaming, with the links that follow", "")
    with over(environment, write_star, backlinks) as timed:
        alone = min(timed(RENAME, **{"from": f"z/lone{x}", "to": f"lone{'' if x else 'x'}"})
                    for x in ("", "x") * 5)
        table.row("notes.rename, no backlinks", us(alone * 1e6))
        followed = min(timed(RENAME, **{"from": f"z/hub{x}", "to": f"hub{'' if x else 'x'}"})
                       for x in ("", "x"))
        table.row(f"the same, {backlinks:,} backlinks in as many notes", us(followed * 1e6))
    with over(environment, write_notes, count, 100) as timed:
        table.row(f"noteTypes.delete, which moves {count:,} notes of 100 links",
                  us(timed(MIGRATE) * 1e6))
    few = max(50, round(300 * effort))
    with over(environment, write_notes, few, 100) as timed:
        table.row(f"notes.batch, which renames {few:,} notes of 100 links",
                  us(timed(BATCH, n=few) * 1e6))
    table.note("Each within one evaluation, made lasting on the disk; nothing else is done at the "
               "same time.")
    return table
