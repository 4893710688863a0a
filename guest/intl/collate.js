// Intl.Collator, by sort keys, and Intl.Segmenter, by the rules of UAX 29.
(function (kit) {
  'use strict';
  const { text, resolve, dataOf, optionsOf, option, finish, own, inside } = kit;

  // ---- the order of characters ----------------------------------------------

  // Accents, by their order at the second level.
  const MARKS = [0x301, 0x300, 0x306, 0x302, 0x30c, 0x30a, 0x308, 0x30b, 0x303, 0x307, 0x338, 0x327, 0x328, 0x304];
  const EXPANDED = { ß: 'ss', ẞ: 'SS', æ: 'ae', Æ: 'AE', œ: 'oe', Œ: 'OE' };
  // Languages sort their own script before Latin.
  const SCRIPTS = { ru: 'Cyrillic', uk: 'Cyrillic', bg: 'Cyrillic', el: 'Greek', he: 'Hebrew', ar: 'Arabic', hi: 'Devanagari', ko: 'Hangul', zh: 'Han' };
  const STEP = 48; // room for letters of languages between two of all
  const FIRST = 0x200;
  let root = null; // character -> {at: its weight, first, second, lower, upper: its texts of each level}
  let alphabet;
  let digitZero;
  let ascii; // the weights of the first 128; undefined where it is not known

  const chr = String.fromCharCode;
  // lower, upper: where small letters come first, and where capital ones do.
  const entry = (at, second, third) => ({ at, first: chr(at), second: chr(0x20 + second * 2), lower: chr(0x20 + third), upper: chr(0x20 + (third < 2 ? 1 - third : third)) });

  function order() {
    if (root) return root;
    root = new Map();
    text('order').split('\n').forEach((line, i) => {
      line.split('\t').forEach((group, second) => {
        [...group].forEach((c, third) => root.set(c, entry(FIRST + i * STEP, second, third)));
      });
    });
    [...'\t\n\v\f\r'].forEach((c, i) => root.set(c, entry(0x100 + i, 0, 0)));
    alphabet = [...'abcdefghijklmnopqrstuvwxyz'].map((c) => root.get(c).at);
    digitZero = chr(root.get('0').at);
    ascii = Array.from({ length: 128 }, (_, c) => root.get(chr(c))?.at);
    return root;
  }

  // The letters of a language: text -> [weight, second level].
  const tailorings = new Map();
  function tailoring(locale) {
    if (!tailorings.has(locale)) {
      order();
      const letters = new Map();
      const { letters: own, same } = dataOf(locale).letters;
      const used = new Map();
      for (const [texts, place] of own) {
        const n = (used.get(place) ?? 0) + 1;
        used.set(place, n);
        texts.forEach((t, i) => letters.set(t, [(place ? alphabet[place - 1] : alphabet[0] - STEP) + 24 + n, i]));
      }
      for (const [t, base] of same) letters.set(t, [alphabet[base.charCodeAt(0) - 97], 40]);
      tailorings.set(locale, letters);
    }
    return tailorings.get(locale);
  }

  const isIgnored = /[\s\p{P}]/u;

  // A sort key: three texts, of which that of a level is compared where those before are the same.
  function keyOf(s, given) {
    const table = order();
    const letters = tailoring(s.data);
    let first = '', second = '', third = '';
    const cased = s.caseFirst === 'upper' ? 'upper' : 'lower';
    const put = (weight, mark, shape) => {
      first += weight;
      second += mark;
      third += shape;
    };
    const before = chr(alphabet[0] - 1);
    const plain = (c) => {
      if (Object.hasOwn(EXPANDED, c)) {
        for (const e of EXPANDED[c]) plain(e);
        second += chr(0x21);
        return undefined;
      }
      const known = table.get(c);
      const own = c > '\u036f' && s.script?.test(c) ? before : '';
      if (known) return put(own + known.first, known.second, known[cased]);
      const code = c.codePointAt(0);
      if (code >= 0x300 && code < 0x370) {
        const place = MARKS.indexOf(code);
        second += chr(0x60 + (place < 0 ? code - 0x2e0 : place));
        return undefined;
      }
      return code < 0x20 ? undefined : put((own || '\uffff') + c, ' ', ' ');
    };
    // eslint-disable-next-line no-control-regex
    const value = /^[\0-\x7f]*$/.test(given) ? given : given.normalize('NFC');
    const longest = letters.size ? 3 : 0;
    for (let i = 0; i < value.length; i++) {
      const c = value[i];
      if (s.ignorePunctuation && isIgnored.test(c)) continue;
      if (s.numeric && c >= '0' && c <= '9') {
        const run = /^\d+/.exec(value.slice(i))[0];
        const digits = run.replace(/^0+(?=\d)/, '');
        put(digitZero + chr(Math.min(digits.length, 0xfff0)) + digits, ' ', ' ');
        i += run.length - 1;
        continue;
      }
      if (!longest && c < '\x80') {
        const e = table.get(c);
        if (e) {
          first += e.first;
          second += e.second;
          third += e[cased];
        }
        continue;
      }
      let taken = 0;
      for (let n = Math.min(longest, value.length - i); n > 0 && !taken; n--) {
        const piece = value.slice(i, i + n);
        const lower = n > 1 && piece === piece.toUpperCase() ? piece.toLowerCase() : piece[0].toLowerCase() + piece.slice(1);
        const found = letters.get(lower);
        if (!found) continue;
        const isUpper = piece !== lower;
        put(chr(found[0]), chr(0x20 + found[1]), chr(0x20 + (isUpper !== (cased === 'upper') ? 1 : 0)));
        taken = n;
      }
      if (taken) i += taken - 1;
      else if (table.has(c)) plain(c);
      else {
        const whole = String.fromCodePoint(value.codePointAt(i));
        i += whole.length - 1;
        for (const part of whole.normalize('NFKD')) plain(part);
      }
    }
    switch (s.sensitivity) {
      case 'base': return first;
      case 'accent': return `${first}\0${second}`;
      case 'case': return `${first}\0${third}`;
      default: return `${first}\0${second}\0${third}`;
    }
  }

  function compare(s, a, b) {
    if (a === b) return 0;
    if (s.isPlain) {
      order();
      let i = 0;
      while (a.charCodeAt(i) === b.charCodeAt(i)) i++;
      const d = ascii[a.charCodeAt(i)] - ascii[b.charCodeAt(i)]; // NaN at an end, or beyond ASCII
      if (d) return d < 0 ? -1 : 1;
    }
    const { keys } = s;
    if (keys.size > 20000) keys.clear();
    let x = keys.get(a);
    if (x === undefined) keys.set(a, x = keyOf(s, a));
    let y = keys.get(b);
    if (y === undefined) keys.set(b, y = keyOf(s, b));
    return x < y ? -1 : x > y ? 1 : 0;
  }

  function collatorState(locales, given) {
    const { data, tag, extensions } = resolve(locales);
    const o = optionsOf(given);
    const usage = option(o, 'usage', ['sort', 'search'], 'sort');
    const numeric = o.numeric === undefined ? 'kn' in extensions && extensions.kn !== 'false' : Boolean(o.numeric);
    const script = SCRIPTS[data.split('-')[0]];
    // What differs in ASCII is decided by its first difference.
    const isPlain = !numeric && !o.ignorePunctuation && !tailoring(data).size;
    return { name: 'Collator', isPlain, locale: tag, data, usage, numeric, keys: new Map(), script: script && new RegExp(`\\p{Script=${script}}`, 'u'),
      sensitivity: option(o, 'sensitivity', ['base', 'accent', 'case', 'variant'], 'variant'),
      ignorePunctuation: Boolean(o.ignorePunctuation), collation: 'default',
      caseFirst: option(o, 'caseFirst', ['upper', 'lower', 'false'], extensions.kf ?? dataOf(data).letters.caseFirst ?? 'false') };
  }

  function Collator(locales, options) {
    const self = new.target ? this : Object.create(Collator.prototype);
    own.set(self, collatorState(locales, options));
    return self;
  }
  kit.define(Collator.prototype, 'resolvedOptions', function () {
    const { locale, usage, sensitivity, ignorePunctuation, collation, numeric, caseFirst } = inside(this, 'Collator');
    return { locale, usage, sensitivity, ignorePunctuation, collation, numeric, caseFirst };
  });
  finish(Collator, 'Collator', {
    compare() {
      const s = inside(this, 'Collator');
      return (s.compare ??= (a, b) => compare(s, String(a), String(b)));
    },
  });

  const kept = new Map();
  let usual = null; // as texts are compared without a locale
  function localeCompare(a, b, locales, options) {
    if (locales === undefined && options === undefined) return compare(usual ??= collatorState(), a, b);
    const key = JSON.stringify([String(locales ?? ''), options]);
    if (!kept.has(key)) {
      if (kept.size > 20) kept.clear();
      kept.set(key, collatorState(locales, options));
    }
    return compare(kept.get(key), a, b);
  }

  // ---- segments -------------------------------------------------------------

  const EXTEND = '[\\p{Grapheme_Extend}\\p{Emoji_Modifier}\\u200d\\p{Mc}]';
  const INDIC = '[\\u0915-\\u0939\\u0958-\\u095f\\u0995-\\u09b9\\u0a95-\\u0ab9\\u0b15-\\u0b39\\u0c15-\\u0c39\\u0d15-\\u0d39]';
  const HANGUL = '[\\u1100-\\u115f]*(?:[\\uac00-\\ud7a3]|[\\u1160-\\u11a7])?[\\u1160-\\u11ff]*';
  const GRAPHEME = new RegExp('\\r\\n|[\\p{Cc}\\u2028\\u2029]|\\p{RI}\\p{RI}' + EXTEND + '*'
    + '|\\p{Extended_Pictographic}(?:[\\p{Grapheme_Extend}\\p{Emoji_Modifier}]*\\u200d\\p{Extended_Pictographic})*' + EXTEND + '*'
    + `|(?=[\\u1100-\\u11ff\\uac00-\\ud7a3])${HANGUL}${EXTEND}*`
    + `|${INDIC}(?:${EXTEND}*[\\u094d\\u09cd\\u0acd\\u0b4d\\u0c4d\\u0d4d]${EXTEND}*${INDIC})*${EXTEND}*`
    + `|[^]${EXTEND}*`, 'gu');
  const LETTER = '(?:(?![\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Katakana}])[\\p{Alphabetic}\\u02c2-\\u02df])';
  const MARK = '[\\p{M}\\u200d\\p{Cf}]*';
  const WORD = new RegExp('\\r\\n|[\\r\\n\\v\\f\\u0085\\u2028\\u2029]|[\\p{Zs}]+'
    + `|(?:(?:${LETTER}${MARK}|\\p{Nd}${MARK}|[\\p{Pc}]${MARK})(?:(?:['’.:·\\u2024\\ufe13\\ufe52\\uff07\\uff0e](?=${LETTER})|[,.;'’](?=\\p{Nd}))?(?<=[\\p{Alphabetic}\\p{M}\\p{Cf}]['’.:·\\u2024\\ufe13\\ufe52\\uff07\\uff0e]|\\p{Nd}[,.;'’]|[^'’.:·,;]))?)+`
    + '|[\\p{Script=Katakana}\\u30fc]+|\\p{Script=Hiragana}+|\\p{Script=Thai}+|\\p{Script=Lao}+|\\p{Script=Khmer}+'
    + `|\\p{RI}\\p{RI}|\\p{Extended_Pictographic}(?:${EXTEND}*\\u200d\\p{Extended_Pictographic})*${EXTEND}*|[^]${MARK}`, 'gu');
  const SENTENCE = /[^.!?…。！？\n\r\u2029]*(?:(?:\r\n|[\n\r\u2029])|[.!?…]+['"”’)\]]*(?=\s*\p{Ll}|[\p{L}\p{N}])|[.!?…。！？]+['"”’)\]」』]*\s*(?:\r\n|[\n\r\u2029])?|$)/gu;
  const isWordLike = /[\p{Alphabetic}\p{N}]/u;

  function sentences(value) {
    const out = [];
    let open = '';
    for (const [piece] of value.matchAll(SENTENCE)) {
      open += piece;
      if (piece && !/[.!?…]+['"”’)\]]*$/.test(piece)) {
        out.push(open);
        open = '';
      } else if (/[.!?…]+['"”’)\]]*$/.test(piece)) {
        const next = value.slice(out.join('').length + open.length);
        if (!/^\s*\p{Ll}|^[\p{L}\p{N}]/u.test(next)) {
          out.push(open);
          open = '';
        }
      }
    }
    if (open) out.push(open);
    return out;
  }

  const pieces = (value, granularity) => (granularity === 'sentence' ? sentences(value)
    : value.match(granularity === 'word' ? WORD : GRAPHEME) ?? []);
  function* segmentsOf(s, input) {
    let index = 0;
    for (const segment of pieces(input, s.granularity)) {
      yield { segment, index, input, ...(s.granularity === 'word' && { isWordLike: isWordLike.test(segment) }) };
      index += segment.length;
    }
  }
  class Segments {
    #state;
    #input;
    constructor(state, input) {
      this.#state = state;
      this.#input = input;
    }
    [Symbol.iterator]() { return segmentsOf(this.#state, this.#input); }
    containing(at = 0) {
      const n = Math.trunc(Number(at)) || 0;
      if (n < 0 || n >= this.#input.length) return undefined;
      for (const piece of this) if (n < piece.index + piece.segment.length) return piece;
      return undefined;
    }
  }
  class Segmenter {
    constructor(locales, options) {
      const { data, tag } = resolve(locales);
      own.set(this, { name: 'Segmenter', locale: tag, data, granularity: option(optionsOf(options), 'granularity', ['grapheme', 'word', 'sentence'], 'grapheme') });
    }
    segment(input) { return new Segments(inside(this, 'Segmenter'), String(input)); }
    resolvedOptions() {
      const { locale, granularity } = inside(this, 'Segmenter');
      return { locale, granularity };
    }
  }
  finish(Segmenter, 'Segmenter');

  return { Collator, Segmenter, localeCompare };
});
