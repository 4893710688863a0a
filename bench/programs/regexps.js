// Regular expressions over Markdown, as an agent writes them.
const part = (i) => `# Note ${i}

Met [[person/Ada Lovelace|Ada]] on 2026-0${1 + (i % 9)}-1${i % 10} at 10:3${i % 6}; mail ada.${i}@example.org, see
https://example.org/notes/${i}?q=a%20b&x=${i * 7}#top and [the plan](../plans/plan-${i}.md "Plan").
- [ ] TODO: call +49 30 12${i}34 #urgent #client/acme
- [x] sent \`invoice_${i}.pdf\`, 1,${100 + i}.50 EUR
> "Quoted, with \\"escapes\\" in it", they said...   twice
`;
let text = '';
for (let i = 0; i < 210; i++) text += part(i);

const count = (re) => (text.match(re) || []).length;
const counts = [
  count(/\[\[([^\]|]+)(?:\|([^\]]+))?\]\]/g),
  count(/\b\d{4}-(?:0[1-9]|1[0-2])-(?:[0-2]\d|3[01])\b/g),
  count(/[\w.+-]+@[\w-]+\.[\w.-]+/g),
  count(/https?:\/\/[^\s)]+/g),
  count(/^\s*[-*] \[( |x)\] (.*)$/gm),
  count(/(?<!\S)#[\p{L}\p{N}_/-]+/gu),
  count(/"(?:[^"\\]|\\.)*"/g),
  count(/(\w)\1/g),
  count(/\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b/g),
];

const html = text
  .replace(/^# (.*)$/gm, '<h1>$1</h1>')
  .replace(/\[([^\]]+)\]\(([^)\s]+)(?: "([^"]*)")?\)/g, '<a href="$2" title="$3">$1</a>')
  .replace(/`([^`]+)`/g, '<code>$1</code>')
  .replace(/\b(\d{1,3}(?:,\d{3})*)\.(\d\d) EUR\b/g, (_, whole, cents) => `EUR ${whole.replace(/,/g, '')}.${cents}`)
  .replace(/\s{2,}/g, ' ');

const links = {};
for (const m of text.matchAll(/\[\[(?<type>[^/\]]+)\/(?<name>[^\]|]+)[^\]]*\]\]/g))
  links[m.groups.type] = (links[m.groups.type] ?? 0) + m.groups.name.length;

let valid = 0;
const version = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;
for (let i = 0; i < 4000; i++) if (version.test(`${i % 2 ? 'v' : ''}${i}.${i % 7}.3${i % 3 ? '' : '-rc.' + i}`)) valid++;
const sentences = text.split(/(?<=[.;!?])\s+|\n/).length;
return [counts, html.length, JSON.stringify(links), valid, sentences].join(' ');
