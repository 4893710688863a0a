// JSON there and back: notes as a tool answers them, and what is done with them.
const notes = [];
for (let i = 0; i < 220; i++)
  notes.push({
    id: `meeting/Weekly ${i}`, title: `Weekly "${i}" – plans\n`, type: 'meeting', size: i * 37, score: i / 7,
    tags: ['work', `week-${i % 52}`, null], done: i % 3 === 0,
    metadata: { created: '2026-01-02T03:04:05.678Z', people: [{ name: 'Ada', mail: 'ada@example.org' }, { name: 'Søren' }] },
    content: `# Weekly ${i}\n\n- [ ] TODO: write\t"minutes"\n- see [[person/Ada]] \\ [[book/Über alles]]\n`.repeat(3),
  });

let length = 0, people = 0, done = 0;
for (let round = 0; round < 6; round++) {
  const text = JSON.stringify(notes);
  length += text.length;
  for (const note of JSON.parse(text)) {
    people += note.metadata.people.length;
    done += note.done ? 1 : 0;
  }
}
const indented = JSON.stringify(notes.slice(0, 60), null, 2);
const picked = JSON.stringify(notes, ['id', 'tags', 'score']);
const dated = JSON.parse(picked, (key, value) => (key === 'score' ? Math.round(value) : value));
const copy = JSON.parse(JSON.stringify({ numbers: Array.from({ length: 4000 }, (_, i) => i * 1.25 - 100) }));
return [length, people, done, indented.length, picked.length, dated[20].score, copy.numbers[77]].join(' ');
