// What was promised in our meetings and is not done, and which projects still say TODO?
const [meetings, projects] = await Promise.all([
  notes.list({ typeName: 'meeting', limit: 100 }),
  notes.list({ typeName: 'project', limit: 100 }),
]);
const read = (rows) => Promise.all(rows.map((row) => notes.get(row.id)));

// "- [ ] Marta: stakes and string" is an open promise of Marta's.
const promises = {};
for (const note of await read(meetings)) {
  for (const [, who, what] of note.content.matchAll(/^- \[ \] ([^:]+): (.+)$/gm)) {
    (promises[who] ??= []).push(`${what} (${note.metadata.date})`);
  }
}

const todo = {};
for (const note of await read(projects)) {
  for (const [, what] of note.content.matchAll(/^TODO: (.+)$/gm)) {
    (todo[note.title] ??= []).push(what);
  }
}

console.log(`read ${meetings.length} meetings and ${projects.length} projects`);
return { promises, todo };
