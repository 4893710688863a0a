// The peer for notes: a folder of Markdown read and parsed by gray-matter and indexed by
// minisearch, as one would write it. Prints one line of JSON: milliseconds for the index,
// and for each of the queries given behind the folder.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [modules, folder, ...queries] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, 'x.js'));
const matter = require('gray-matter');
const MiniSearch = require('minisearch');

const start = performance.now();
const search = new MiniSearch({ fields: ['title', 'body', 'tags'], storeFields: ['title', 'type'] });
const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.md'));
for (const name of files) {
  const note = matter(readFileSync(path.join(folder, name), 'utf8'));
  search.add({
    id: name.slice(0, -3),
    type: path.dirname(name),
    title: String(note.data.title ?? path.basename(name, '.md')),
    body: note.content,
    tags: [note.data.tags ?? []].flat().join(' '),
  });
}
const index_ms = performance.now() - start;

const query_ms = queries.map((query) => {
  const begin = performance.now();
  search.search(query, { combineWith: 'AND', prefix: true, boost: { title: 10, tags: 5 } });
  return performance.now() - begin;
});
console.log(JSON.stringify({ notes: files.length, index_ms, query_ms, rss: process.memoryUsage().rss }));
