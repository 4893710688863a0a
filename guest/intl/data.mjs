// Makes the data of Intl for the guest `script`, by asking the ICU of node, which is pinned:
//
//   node guest/intl/data.mjs OUT
//
// OUT is a row of texts, each behind a line with its name and its size in bytes. What ICU writes for each
// combination of options is taken apart once, here; the guest only joins it again.
// Patterns are texts in which characters of the private use area stand for fields:
// guest/intl/date.js has their list.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const LOCALES = `en en-AU en-CA en-GB en-IE en-IN en-NZ en-ZA ar bg ca cs da de de-AT de-CH el es es-MX fi fr
  fr-BE fr-CA fr-CH he hi hr hu id is it ja ko nb nl nl-BE pl pt pt-PT ro ru sk sv tr uk vi zh zh-TW`.split(/\s+/);

const NAMING = ['de', 'en', 'es', 'fr', 'it', 'nl']; // languages with names of time zones

const AT = new Date(Date.UTC(2026, 2, 5, 5, 4, 9, 123)); // a Thursday; each field its own value
const field = (n) => String.fromCharCode(0xe000 + n);
const LIST = 0xe100;
const F = Object.fromEntries(['year', 'year2', 'month', 'month2', 'monthText', 'weekday', 'day', 'day2', 'era', 'hour', 'hour2',
  'minute', 'minute2', 'second', 'second2', 'fraction', 'dayPeriod', 'zone', 'time'].map((name, i) => [name, field(i)]));
const TIME = new Set(['hour', 'minute', 'second', 'fractionalSecond', 'dayPeriod']);

const interned = () => {
  const all = [];
  return { all, at(x) {
    const i = all.indexOf(x);
    return i >= 0 ? i : all.push(x) - 1;
  } };
};
const code = (i) => String.fromCharCode(i < 58 ? 0x30 + i : 0x80 + i); // in an index: JSON escapes none of them

// ---- dates ------------------------------------------------------------------------

const numbers = { year: [[2026, F.year], ['26', F.year2]], month: [['3', F.month], ['03', F.month2]],
  day: [['5', F.day], ['05', F.day2]], hour: [['5', F.hour], ['05', F.hour2]],
  minute: [['4', F.minute], ['04', F.minute2]], second: [['9', F.second], ['09', F.second2]] };
const TEXTS = { month: F.monthText, weekday: F.weekday, era: F.era, dayPeriod: F.dayPeriod };
const SAMPLES = {
  month: [...Array(12).keys()].map((m) => new Date(Date.UTC(2026, m, 5, 17, 4, 9))),
  weekday: [...Array(7).keys()].map((d) => new Date(Date.UTC(2026, 2, 1 + d, 17, 4, 9))), // from Sunday
  era: [new Date(Date.UTC(-20, 2, 5)), AT],
  dayPeriod: [10, 14].map((h) => new Date(Date.UTC(2026, 2, 5, h, 4, 9))),
};

// Parts with the spaces that format() writes; formatToParts() has others.
function asWritten(parts, text) {
  let at = 0;
  const total = parts.reduce((n, p) => n + p.value.length, 0);
  if (total !== text.length) return parts;
  return parts.map((p) => ({ ...p, value: text.slice(at, at += p.value.length) }));
}

function dates(locale) {
  const lists = interned();
  const patterns = interned();
  const make = (options) => new Intl.DateTimeFormat(locale, { timeZone: 'UTC', numberingSystem: 'latn', calendar: 'gregory', ...options });
  // The text of a pattern; `fold`: what is of the time is one field.
  function pattern(options, fold = false) {
    const format = make(options);
    const parts = asWritten(format.formatToParts(AT), format.format(AT));
    const isTime = (i) => fold && TIME.has(parts[i].type);
    const firstTime = parts.findIndex((_, i) => isTime(i));
    const lastTime = parts.findLastIndex((_, i) => isTime(i));
    let out = '';
    parts.forEach(({ type, value }, i) => {
      if (fold && i >= firstTime && i <= lastTime) {
        if (i === firstTime) out += F.time;
        return;
      }
      if (type === 'literal') out += value;
      else if (type === 'timeZoneName') out += F.zone;
      else if (type === 'fractionalSecond') out += F.fraction;
      else {
        const [, number] = (numbers[type] ?? []).find(([text]) => String(text) === value) ?? [];
        if (number) out += number;
        else {
          const values = SAMPLES[type].map((d) => format.formatToParts(d).find((p) => p.type === type).value);
          out += TEXTS[type] + String.fromCharCode(LIST + lists.at(values.join('|')));
        }
      }
    });
    return out;
  }
  const index = (options, fold) => code(patterns.at(pattern(options, fold)));
  let plain = '', timed = '', zoned = '';
  for (const weekday of [undefined, 'short', 'long', 'narrow'])
    for (const year of [undefined, 'numeric', '2-digit'])
      for (const month of [undefined, 'numeric', '2-digit', 'short', 'long', 'narrow'])
        for (const day of [undefined, 'numeric', '2-digit']) {
          const o = { weekday, year, month, day };
          const none = !weekday && !year && !month && !day;
          plain += none ? code(patterns.at('')) : index(o);
          timed += index({ ...o, hour: 'numeric', minute: '2-digit' }, true);
          zoned += none ? code(patterns.at(F.zone)) : index({ ...o, timeZoneName: 'short' });
        }
  let times = '';
  for (const hourCycle of ['h12', 'h23'])
    for (const hour of [undefined, 'numeric', '2-digit'])
      for (const minute of [undefined, 'numeric', '2-digit'])
        for (const second of [undefined, 'numeric', '2-digit'])
          for (const fractionalSecondDigits of [undefined, 3])
            times += hour || minute || second || fractionalSecondDigits
              ? index({ hourCycle, hour, minute, second, fractionalSecondDigits }) : code(patterns.at(''));
  const styles = ['full', 'long', 'medium', 'short'];
  return {
    dateStyles: styles.map((dateStyle) => pattern({ dateStyle })).join('\n'),
    dateTimeStyles: styles.map((dateStyle) => pattern({ dateStyle, timeStyle: 'short' }, true)).join('\n'),
    timeStyles: ['h12', 'h23'].map((hourCycle) => styles.map((timeStyle) => pattern({ timeStyle, hourCycle })).join('\n')).join('\n'),
    timeZoned: pattern({ hour: 'numeric', minute: '2-digit', timeZoneName: 'short' }, true),
    hourCycle: make({ hour: 'numeric' }).resolvedOptions().hourCycle,
    range: rangeOf(make), era: pattern({ era: 'short', year: 'numeric' }),
    plain, timed, zoned, times,
    patterns: patterns.all, lists: lists.all,
  };
}

// What stands between the ends of a range.
function rangeOf(make) {
  const parts = make({ dateStyle: 'long' }).formatRangeToParts(new Date(Date.UTC(2020, 1, 1)), AT);
  return parts.find((p) => p.source === 'shared')?.value ?? ' – ';
}

// ---- numbers ----------------------------------------------------------------------

const CURRENCIES = `AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KRW KWD MXN MYR NOK NZD
  PHP PLN RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR BTC`.split(/\s+/).filter((c) => c.length === 3);
const UNITS = Intl.supportedValuesOf('unit').concat('kilometer-per-hour', 'meter-per-second', 'mile-per-hour', 'liter-per-kilometer', 'mile-per-gallon');
const NUMBER = field(20); // in patterns: where the number stands
const SIGN = field(21);
const CURRENCY = field(22);
const COUNTED = new Set(['integer', 'group', 'decimal', 'fraction']);

function numberPattern(parts, kept) {
  let out = '';
  for (const { type, value } of parts) {
    if (COUNTED.has(type)) out += out.includes(NUMBER) ? '' : NUMBER;
    else if (type === 'minusSign' || type === 'plusSign') out += SIGN;
    else if (type === 'currency' && kept) out += CURRENCY;
    else out += value;
  }
  return out;
}

const sample = (rules) => {
  const by = {};
  for (const n of [1, 2, 0, 3, 5, 11, 100, 1000000, 1.5]) by[rules.select(n)] ??= n;
  return by;
};

function numbersOf(locale, rules) {
  const make = (options) => new Intl.NumberFormat(locale, { numberingSystem: 'latn', ...options });
  const part = (format, n, type) => format.formatToParts(n).find((p) => p.type === type)?.value;
  const signs = (options, kept) => [1, -1].map((n) => numberPattern(make(options).formatToParts(n), kept));
  const big = make({}).formatToParts(123456789);
  const ints = big.filter((p) => p.type === 'integer').map((p) => p.value.length);
  const examples = sample(rules);
  const names = {};
  for (const currency of CURRENCIES) {
    const show = (currencyDisplay) => part(make({ style: 'currency', currency, currencyDisplay }), 1, 'currency');
    const name = {};
    for (const [category, n] of Object.entries(examples))
      name[category] = part(make({ style: 'currency', currency, currencyDisplay: 'name', minimumFractionDigits: 0, maximumFractionDigits: n % 1 ? 1 : 0 }), n, 'currency');
    names[currency] = [show('symbol'), show('narrowSymbol'), squeeze(name)];
  }
  const compact = {};
  for (const compactDisplay of ['short', 'long'])
    compact[compactDisplay] = [...Array(12).keys()].map((i) => {
      const e = i + 3;
      const format = make({ notation: 'compact', compactDisplay, useGrouping: false });
      const digits = part(format, 2 * 10 ** e, 'integer').length;
      const by = {};
      for (const factor of [1, 2, 3, 5, 1.5]) {
        const n = factor * 10 ** e;
        const text = numberPattern(format.formatToParts(n));
        by[text.includes(NUMBER) ? rules.select(factor * 10 ** (digits - 1)) : 'exact'] ??= text;
      }
      for (const [category, n] of Object.entries(sample(rules)))
        if (n >= 1 && digits === 1) by[category] ??= numberPattern(format.formatToParts(n * 10 ** e));
      return [e - digits + 1, squeeze(by)];
    });
  const units = {};
  for (const unit of UNITS)
    units[unit] = ['short', 'narrow', 'long'].map((unitDisplay) => {
      const by = {};
      for (const [category, n] of Object.entries(examples)) by[category] = numberPattern(make({ style: 'unit', unit, unitDisplay }).formatToParts(n));
      return squeeze(by);
    });
  return {
    decimal: part(make({}), 1.5, 'decimal'), group: part(make({}), 1234567, 'group'),
    sizes: [ints.at(-1), ints.at(-2)], least: make({}).formatToParts(1234).some((p) => p.type === 'group') ? 1 : 2,
    compactLeast: make({ notation: 'compact' }).formatToParts(1234e15).some((p) => p.type === 'group') ? 1 : 2,
    minus: part(make({}), -1, 'minusSign'), plus: part(make({ signDisplay: 'always' }), 1, 'plusSign'),
    money: ['decimal', 'group'].map((type) => part(make({ style: 'currency', currency: 'EUR' }), 1234567.5, type)),
    exponent: part(make({ notation: 'scientific' }), 1000, 'exponentSeparator'), nan: make({}).format(NaN), plain: signs({}), percent: signs({ style: 'percent', maximumFractionDigits: 0 }),
    currency: [['USD', 'narrowSymbol'], ['USD', 'code']].map(([currency, currencyDisplay]) => ['standard', 'accounting'].map((currencySign) =>
      signs({ style: 'currency', currency, currencyDisplay, currencySign }, true))),
    currencyName: numberPattern(make({ style: 'currency', currency: 'USD', currencyDisplay: 'name' }).formatToParts(5), true),
    range: [make({}).formatRangeToParts(1, 2).find((p) => p.source === 'shared').value, make({}).formatRangeToParts(3, 3).find((p) => p.type === 'approximatelySign').value],
    names, compact, units,
  };
}

// One form where all are the same.
function squeeze(by) {
  const { other } = by;
  const rest = Object.entries(by).filter(([, text]) => text !== other);
  return rest.length ? { ...Object.fromEntries(rest), other } : other;
}

// ---- the rest ----------------------------------------------------------------------

function relatives(locale, rules) {
  const out = {};
  for (const unit of ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'])
    out[unit] = ['long', 'short', 'narrow'].map((style) => {
      const always = new Intl.RelativeTimeFormat(locale, { style, numberingSystem: 'latn' });
      const auto = new Intl.RelativeTimeFormat(locale, { style, numeric: 'auto', numberingSystem: 'latn' });
      const words = {};
      for (const n of [-2, -1, 0, 1, 2])
        if (!auto.formatToParts(n, unit).some((p) => p.type === 'integer')) words[n] = auto.format(n, unit);
      const forms = [1, -1].map((sign) => {
        const by = {};
        for (const [category, n] of Object.entries(sample(rules))) by[category] = numberPattern(always.formatToParts(sign * n, unit));
        return squeeze(by);
      });
      return [words, ...forms];
    });
  return out;
}

function listsOf(locale) {
  const out = {};
  for (const type of ['conjunction', 'disjunction', 'unit'])
    out[type] = ['long', 'short', 'narrow'].map((style) => {
      const format = new Intl.ListFormat(locale, { type, style });
      const literals = (list) => format.formatToParts(list).filter((p) => p.type === 'literal').map((p) => p.value);
      const [start = '', middle = '', end = ''] = literals(['a', 'b', 'c', 'd']);
      return [literals(['a', 'b'])[0] ?? '', start, middle, end];
    });
  return out;
}

// Letters that a language sorts by themselves, as [letter, the text after which it comes].
const LETTERS = [...Array(0x24f - 0xe0 + 1).keys()].map((i) => String.fromCharCode(0xe0 + i)).filter((c) => c === c.toLowerCase() && /\p{L}/u.test(c));
function tailored(locale) {
  const root = new Intl.Collator('en', { sensitivity: 'base' });
  const own = new Intl.Collator(locale, { sensitivity: 'base' });
  const alphabet = [...'abcdefghijklmnopqrstuvwxyz'];
  const out = [];
  const texts = LETTERS.concat(['ch', 'dž', 'lj', 'nj', 'll', 'cs', 'dz', 'dzs', 'gy', 'ly', 'ny', 'sz', 'ty', 'zs', 'aa', 'ae', 'oe']);
  for (const text of texts) {
    const place = (collator) => {
      const before = alphabet.filter((a) => collator.compare(a, text) < 0).length;
      const same = alphabet.find((a) => collator.compare(a, text) === 0);
      return same ? `=${same}` : String(before);
    };
    // Two letters are one where what begins with the first is no longer around them.
    const isOne = text.length > 1 && own.compare(text[0] + 'zzz', text) < 0;
    if (text.length > 1 ? isOne : place(own) !== place(root)) out.push([text, place(own)]);
  }
  const order = out.filter(([, p]) => !p.startsWith('=')).sort(([a], [b]) => own.compare(a, b));
  // Letters that are the same one: `same` is written behind it.
  const grouped = [];
  for (const [text, p] of order) {
    const last = grouped.at(-1);
    if (last && own.compare(last[0][0], text) === 0) last[0].push(text);
    else grouped.push([[text], Number(p)]);
  }
  return { letters: grouped, same: out.filter(([, p]) => p.startsWith('=')).map(([t, p]) => [t, p.slice(1)]),
    caseFirst: new Intl.Collator(locale).resolvedOptions().caseFirst };
}

// ---- zones -------------------------------------------------------------------------

const names = fs.readFileSync(new URL('zones.txt', import.meta.url), 'utf8').trim().split(/\s+/);
const ZONES = [...new Set([...Intl.supportedValuesOf('timeZone'), ...names])].filter((z) => {
  try { return new Intl.DateTimeFormat('en', { timeZone: z }); } catch { return false; }
}).sort();

function zoneOffset(timeZone) {
  const format = new Intl.DateTimeFormat('en', { timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric', era: 'short' });
  return (minute) => {
    const [month, day, year, hour, min] = format.format(minute * 60000).match(/\d+/g).map(Number);
    return Math.round(Date.UTC(year, month - 1, day, hour, min) / 60000 - minute);
  };
}

// offset=offset,offset...;minutes since the transition before, base 36, with the offset's place behind.
function zoneText(timeZone) {
  const offset = zoneOffset(timeZone);
  const first = Date.UTC(1900, 0, 1) / 60000;
  const last = Date.UTC(2055, 0, 1) / 60000;
  const step = 60 * 24 * 10;
  const offsets = interned();
  let before = offset(first);
  offsets.at(before);
  let text = '';
  let at = first;
  for (let t = first + step; t <= last; t += step) {
    const now = offset(t);
    if (now === before) continue;
    let low = t - step, high = t; // a transition of two within ten days is one
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    text += `${text ? ' ' : ''}${(high - at).toString(36)}.${offsets.at(now).toString(36)}`;
    at = high;
    before = now;
  }
  return `${offsets.all.join(',')};${text}`;
}

function zoneNames(locale) {
  const all = interned();
  const at = [Date.UTC(2026, 0, 15), Date.UTC(2026, 6, 15)];
  const isSpecial = (name) => !/^(GMT|UTC)?[+\-−]?\d*:?\d*$/.test(name);
  const index = {};
  for (const timeZone of ZONES) {
    const offset = zoneOffset(timeZone);
    const [standard, summer] = offset(at[0] / 60000) <= offset(at[1] / 60000) ? at : at.toReversed();
    const name = (timeZoneName, d) => new Intl.DateTimeFormat(locale, { timeZone, timeZoneName }).formatToParts(d).find((p) => p.type === 'timeZoneName').value;
    const four = [name('long', standard), name('long', summer), name('short', standard), name('short', summer)]
      .map((text, i) => (i > 1 && /\d/.test(text) ? '' : text));
    if (four.some((text) => text && !/[+\-−]\d/.test(text))) index[timeZone] = all.at(four.join('|'));
  }
  return { all: all.all, index: ZONES.map((z) => (index[z] === undefined ? ' ' : code(index[z]))).join('') };
}

// ---- all of it ---------------------------------------------------------------------

function data(locale) {
  const rules = new Intl.PluralRules(locale);
  return { dates: dates(locale), numbers: numbersOf(locale, rules), relatives: relatives(locale, rules), lists: listsOf(locale),
    letters: tailored(locale), offset: new Intl.DateTimeFormat(locale, { timeZone: 'Asia/Kathmandu', timeZoneName: 'longOffset' }).formatToParts(AT).find((p) => p.type === 'timeZoneName').value.replace(/[+]?\d+\D\d+/, '') };
}

function regional(own, parent) {
  return Object.fromEntries(Object.entries(own).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(parent[key])));
}

// The order of characters, without any language's own: a line for what differs at the first level, with
// tabs between what differs at the second.
function rootOrder() {
  const base = new Intl.Collator('en', { sensitivity: 'base' });
  const accent = new Intl.Collator('en', { sensitivity: 'accent' });
  const variant = new Intl.Collator('en');
  const ranges = [[0x20, 0x7e], [0xa0, 0x2ff], [0x370, 0x588], [0x5d0, 0x5ea], [0x621, 0x64a], [0x904, 0x939], [0x1e9e, 0x1e9e], [0x2010, 0x2027], [0x2030, 0x205e],
    [0x20a0, 0x20c0], [0x2100, 0x214f], [0x2190, 0x21ff], [0x3041, 0x3096], [0x30a1, 0x30fa]];
  const chars = [];
  for (const [from, to] of ranges)
    for (let c = from; c <= to; c++) {
      const text = String.fromCharCode(c);
      if (text.normalize('NFKD') === text && !/[\p{M}\p{Cn}\p{Cc}\p{Cf}]/u.test(text) && base.compare(text, '') !== 0) chars.push(text);
    }
  chars.sort((a, b) => variant.compare(a, b) || (a < b ? -1 : 1));
  let out = '';
  chars.forEach((c, i) => {
    if (i && base.compare(chars[i - 1], c) !== 0) out += '\n';
    else if (i && accent.compare(chars[i - 1], c) !== 0) out += '\t';
    out += c;
  });
  return out;
}

// Each part is made in a process of its own, as many as there are processors. (Eras are asked for
// with years alone: of others node 24's V8 ends with "unreachable code".)
const PARTS = {
  locale: (locale) => JSON.stringify(data(locale)),
  zones: () => {
    const texts = interned();
    const places = Object.fromEntries(ZONES.map((z) => [z, texts.at(zoneText(z))]));
    return JSON.stringify({ names: places, texts: texts.all });
  },
  zoneNames: (language) => JSON.stringify(zoneNames(language)),
  order: rootOrder,
};
function apart(...part) {
  const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...part], { encoding: 'utf8', maxBuffer: 1 << 26 });
  if (child.status !== 0) throw new Error(`${part.join(' ')}: ${child.stderr}`);
  return child.stdout;
}

const [first, ...rest] = process.argv.slice(2);
if (PARTS[first]) fs.writeFileSync(1, PARTS[first](...rest));
else {
  const texts = {};
  for (const locale of LOCALES) {
    const [language] = locale.split('-');
    const text = apart('locale', locale);
    texts[locale] = locale === language ? text : JSON.stringify(regional(JSON.parse(text), JSON.parse(texts[language])));
  }
  const zones = JSON.parse(apart('zones'));
  texts.zones = JSON.stringify(zones.names);
  zones.texts.forEach((text, i) => { texts[`zone-${i}`] = text; });
  for (const language of NAMING) texts[`zones-${language}`] = apart('zoneNames', language);
  texts.order = apart('order');
  fs.writeFileSync(first, Object.entries(texts).map(([name, text]) => `${name} ${Buffer.byteLength(text)}\n${text}`).join(''));
}
