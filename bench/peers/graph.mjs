// The peer for the graph: the folder read once by gray-matter, wiki links found by a
// pattern, everything kept in Maps. Asked for the rows of backlinks, and for shortest ways
// by breadth-first search from both ends, over links and the hierarchy. One line of JSON.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [modules, folder, questions] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, 'x.js'));
const matter = require('gray-matter');

const start = performance.now();
const byName = new Map(), notes = [];
for (const name of readdirSync(folder, { recursive: true }).filter((n) => n.endsWith('.md'))) {
  const { data, content } = matter(readFileSync(path.join(folder, name), 'utf8'));
  const note = { id: name.slice(0, -3), subnotes: data.subnotes ?? [], content,
    backlinks: [], around: new Set() };
  notes.push(note);
  for (const key of [note.id, path.basename(note.id), data.id]) byName.set(key, note);
}
const join = (a, b) => { if (a !== b) { a.around.add(b); b.around.add(a); } };
for (const note of notes) {
  for (const [i, line] of note.content.split('\n').entries())
    for (const [, target, label] of line.matchAll(/\[\[([^\]|#]+)[^\]|]*\|?([^\]]*)\]\]/g)) {
      const to = byName.get(target);
      if (!to) continue;
      to.backlinks.push({ source_note_id: note.id, target_note_id: to.id,
        link_text: label || target, link_type: 'wiki', line: i + 1 });
      join(note, to);
    }
  for (const uid of note.subnotes) if (byName.has(uid)) join(note, byName.get(uid));
}
const index_ms = performance.now() - start;

// The number of notes on a shortest way, 0 without one.
function way(from, to) {
  if (from === to) return 1;
  let near = new Map([[from, 1]]), far = new Map([[to, 1]]);
  let nearest = [from], farthest = [to];
  while (nearest.length && farthest.length) {
    if (farthest.length < nearest.length) [near, far, nearest, farthest] = [far, near, farthest, nearest];
    const next = [];
    let met = 0;
    for (const note of nearest)
      for (const other of note.around) {
        if (near.has(other)) continue;
        near.set(other, near.get(note) + 1);
        if (far.has(other)) met = near.get(other) + far.get(other) - 1;
        next.push(other);
      }
    if (met) return met;
    nearest = next;
  }
  return 0;
}

const ids = JSON.parse(readFileSync(0, 'utf8')), n = Number(questions);
const spent = (ask) => {
  const all = [], answers = [];
  for (let i = 0; i < n; i++) {
    const begin = performance.now();
    answers.push(ask(byName.get(ids[i * 7919 % ids.length]), byName.get(ids[(i * 7919 + 4001) % ids.length])));
    all.push(performance.now() - begin);
  }
  return { median_ms: all.sort((a, b) => a - b)[n >> 1], answers };
};
const backlinks = spent((note) => JSON.parse(JSON.stringify(note.backlinks)));
const paths = spent(way);
console.log(JSON.stringify({ index_ms, backlinks_ms: backlinks.median_ms, paths_ms: paths.median_ms,
  backlinks: backlinks.answers.map((rows) => rows.length), paths: paths.answers,
  rss: process.memoryUsage().rss }));
