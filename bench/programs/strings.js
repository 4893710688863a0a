// Text: built, cut, searched, counted, written in columns, turned around.
const words = 'a note links to other notes and each of them says what it is about in few words'.split(' ');

let text = '';
for (let i = 0; i < 12000; i++) text += words[(i * 7 + (i >> 3)) % words.length] + (i % 13 === 12 ? '.\n' : ' ');

const counts = {};
for (const word of text.replaceAll('.', ' ').split(/\s+/)) if (word) counts[word] = (counts[word] ?? 0) + 1;
const top = Object.entries(counts).sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 3);

let hash = 5381;
for (let i = 0; i < text.length; i++) hash = ((hash << 5) + hash + text.charCodeAt(i)) | 0;

let found = 0;
for (let at = text.indexOf('notes'); at >= 0; at = text.indexOf('notes', at + 1)) found++;

const lines = text.split('\n');
const table = lines.map((line, i) => `${String(i).padStart(5)} | ${line.slice(0, 30).padEnd(30, '.')} | ${line.length}`);
const titles = lines.map((line) => line.split(' ').map((w) => w.charAt(0).toUpperCase() + w.slice(1)).join(' '));

const turned = [...text.slice(0, 12000)].reverse().join('');
let palindromes = 0;
for (const word of words.concat(['level', 'noon', 'été'])) if (word === [...word].reverse().join('')) palindromes++;

let wide = '';
for (let i = 0; i < 6000; i++) wide += String.fromCodePoint(0x3b1 + (i % 24)) + (i % 50 ? '' : '😀');
let points = 0;
for (const c of wide) points += c.codePointAt(0) & 15;

return [JSON.stringify(top), hash, found, table.join('\n').length, titles[3], turned.slice(0, 20), palindromes,
  points, wide.normalize('NFD').length, text.toUpperCase().lastIndexOf('WORDS'), 'x'.repeat(1000).length].join(' ');
