"""The vault, the questions and the peer of the piece `graph`: links, hierarchy, ways.

Notes of 2 KB as in corpus.py, five more links each, half of them by file name alone, and a
hierarchy four wide. Both sides answer the same questions, and must agree.
"""
import random
from pathlib import Path

import corpus

OURS = """
const spent = async (n, ask) => {
  const all = [], answers = [];
  for (let i = 0; i < n; i++) {
    const start = performance.now();
    const answer = await ask(ids[i * 7919 % ids.length], ids[(i * 7919 + 4001) % ids.length]);
    all.push(performance.now() - start);
    answers.push(answer);
  }
  return { median_ms: all.sort((a, b) => a - b)[n >> 1], answers };
};
await links.getBacklinks(ids[0]);
const backlinks = await spent(n, (id) => links.getBacklinks(id));
const paths = await spent(n, (from, to) => relationships.findPath({
  start_note_id: from, end_note_id: to, max_depth: 50 }));
const related = await spent(n, (id) => relationships.getRelated({ note_id: id }));
const count = (rows) => rows ? rows.length : 0;
return {
  backlinks_ms: backlinks.median_ms, paths_ms: paths.median_ms,
  related_ms: related.median_ms,
  backlinks: backlinks.answers.map(count), paths: paths.answers.map(count),
};
"""


def ids(count):
    return [f"{corpus.kind(i)}/{corpus.stem(i)}" for i in range(count)]


def make(folder, count, seed=2):
    """Writes the notes; answers their ids."""
    corpus.make(folder, count)
    rng = random.Random(seed)
    names = ids(count)
    for i, name in enumerate(names):
        file = Path(folder) / f"{name}.md"
        links = []
        for k in range(5):
            other = names[rng.randrange(count)]
            links.append(f"[[{other if k % 2 else other.split('/')[1]}]]")
        below = range(4 * i + 1, min(4 * i + 5, count))
        subnotes = "subnotes:\n" + "".join(f"  - n-{b:016x}\n" for b in below) if below else ""
        text = file.read_text().replace("\n---\n", f"\n{subnotes}---\n", 1)
        file.write_text(f"{text}\nSee {', '.join(links)}.\n")
    return names
