// Intl.NumberFormat, PluralRules, RelativeTimeFormat and ListFormat. Digits are decimal texts
// throughout, so that 1.005 is rounded as it is written.
(function (kit) {
  'use strict';
  const { FIELD, resolve, dataOf, optionsOf, option, whole, finish, own, inside, category } = kit;
  const [NUMBER, SIGN, CURRENCY] = [20, 21, 22].map((n) => String.fromCharCode(FIELD + n));
  const NO_CENTS = 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ');
  const MILLS = 'BHD IQD JOD KWD LYD OMR TND'.split(' ');
  const ZEROS = { latn: 0x30, arab: 0x660, arabext: 0x6f0, deva: 0x966, beng: 0x9e6, thai: 0xe50, fullwide: 0xff10 };

  // ---- decimals: {negative, digits, point} is 0.digits times 10 ** point -------

  function decimal(value) {
    if (typeof value === 'bigint') value = value.toString();
    else if (typeof value === 'string') {
      const n = Number(value);
      const isPlain = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value);
      value = isPlain ? value.trim() : String(n);
    } else {
      const n = Number(value);
      value = Object.is(n, -0) ? '-0' : String(n);
    }
    const m = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(value);
    if (!m) return { negative: value[0] === '-', special: value.endsWith('Infinity') ? '∞' : 'NaN' };
    const all = m[2] + m[3];
    const zeros = /^0*/.exec(all)[0].length;
    const digits = all.slice(zeros).replace(/0+$/, '');
    return { negative: m[1] === '-', digits, point: digits ? m[2].length - zeros + Number(m[4] ?? 0) : 0 };
  }

  // Rounded to that many digits (negative: none of it is left).
  function cut(d, count, mode) {
    if (count >= d.digits.length) return d;
    const kept = d.digits.slice(0, Math.max(count, 0));
    const rest = count < 0 ? '0' + d.digits : d.digits.slice(count);
    const half = rest[0] > '5' || (rest[0] === '5' && /[1-9]/.test(rest.slice(1))) ? 1 : rest[0] === '5' ? 0 : -1;
    const isOdd = kept && Number(kept.at(-1)) % 2 === 1;
    const up = { ceil: !d.negative, floor: d.negative, expand: true, trunc: false, halfExpand: half >= 0, halfTrunc: half > 0,
      halfCeil: half > 0 || (half === 0 && !d.negative), halfFloor: half > 0 || (half === 0 && d.negative), halfEven: half > 0 || (half === 0 && isOdd) }[mode];
    let digits = kept;
    let { point } = d;
    if (up) {
      const width = Math.max(count, 0);
      const more = (BigInt(digits || '0') + 1n).toString();
      if (more.length > width) point = count < 0 ? point - count + 1 : point + 1;
      digits = more.padStart(width, '0');
    }
    digits = digits.replace(/0+$/, '');
    return { ...d, digits, point: digits ? point : 0 };
  }

  // The text of a decimal, with at least so many digits.
  function written(d, o) {
    const integer = (d.point > 0 ? d.digits.slice(0, d.point).padEnd(d.point, '0') : '0').padStart(o.minimumIntegerDigits, '0');
    let fraction = d.point > 0 ? d.digits.slice(d.point) : d.digits && '0'.repeat(-d.point) + d.digits;
    let least = o.minimumFractionDigits ?? 0;
    if (o.minimumSignificantDigits) least = Math.max(0, o.minimumSignificantDigits - (d.digits ? d.point : 1));
    if (!o.stripped) fraction = fraction.padEnd(least, '0');
    return fraction ? `${integer}.${fraction}` : integer;
  }

  function rounded(d, o) {
    if (o.maximumSignificantDigits) return cut(d, o.maximumSignificantDigits, o.roundingMode);
    return cut(d, d.point + o.maximumFractionDigits, o.roundingMode);
  }

  // ---- options ------------------------------------------------------------

  function digitOptions(o, out, least, most, isCompact) {
    out.minimumIntegerDigits = whole(o, 'minimumIntegerDigits', 1, 21, 1);
    out.roundingMode = option(o, 'roundingMode', ['ceil', 'floor', 'expand', 'trunc', 'halfCeil', 'halfFloor', 'halfExpand', 'halfTrunc', 'halfEven'], 'halfExpand');
    out.trailingZeroDisplay = option(o, 'trailingZeroDisplay', ['auto', 'stripIfInteger'], 'auto');
    if (o.minimumSignificantDigits !== undefined || o.maximumSignificantDigits !== undefined) {
      out.minimumSignificantDigits = whole(o, 'minimumSignificantDigits', 1, 21, 1);
      out.maximumSignificantDigits = whole(o, 'maximumSignificantDigits', out.minimumSignificantDigits, 21, 21);
      return;
    }
    const low = whole(o, 'minimumFractionDigits', 0, 100, undefined);
    const high = whole(o, 'maximumFractionDigits', 0, 100, undefined);
    if (low !== undefined && high !== undefined && low > high) throw new RangeError('maximumFractionDigits value is out of range');
    out.isShort = isCompact && low === undefined && high === undefined;
    out.minimumFractionDigits = low ?? Math.min(least, high ?? least);
    out.maximumFractionDigits = high ?? Math.max(most, out.minimumFractionDigits);
  }

  function numberState(locales, given) {
    const { data, tag, extensions } = resolve(locales);
    const o = optionsOf(given);
    const s = { name: 'NumberFormat', locale: tag, data };
    s.numberingSystem = option(o, 'numberingSystem', null, extensions.nu);
    if (!(s.numberingSystem in ZEROS)) s.numberingSystem = 'latn';
    s.style = option(o, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal');
    const currency = option(o, 'currency', null)?.toUpperCase();
    if (currency !== undefined && !/^[A-Z]{3}$/.test(currency)) throw new RangeError(`Invalid currency code : ${currency}`);
    const unit = option(o, 'unit', null);
    const { units } = dataOf(data).numbers;
    if (unit !== undefined && !(unit in units) && !unit.split('-per-').every((u) => u in units)) throw new RangeError(`Invalid unit argument for Intl.NumberFormat() '${unit}'`);
    if (s.style === 'currency') {
      if (!currency) throw new TypeError('Currency code is required with currency style.');
      Object.assign(s, { currency, currencyDisplay: option(o, 'currencyDisplay', ['code', 'symbol', 'narrowSymbol', 'name'], 'symbol'), currencySign: option(o, 'currencySign', ['standard', 'accounting'], 'standard') });
    }
    if (s.style === 'unit') {
      if (!unit) throw new TypeError('Unit is required with unit style.');
      Object.assign(s, { unit, unitDisplay: option(o, 'unitDisplay', ['short', 'narrow', 'long'], 'short') });
    }
    s.notation = option(o, 'notation', ['standard', 'scientific', 'engineering', 'compact'], 'standard');
    if (s.notation === 'compact') s.compactDisplay = option(o, 'compactDisplay', ['short', 'long'], 'short');
    const cents = s.style === 'currency' && s.notation === 'standard' ? (NO_CENTS.includes(currency) ? 0 : MILLS.includes(currency) ? 3 : 2) : 0;
    const isMoney = s.style === 'currency' && s.notation === 'standard';
    digitOptions(o, s, cents, isMoney ? cents : s.style === 'percent' || s.notation === 'compact' ? 0 : 3, s.notation === 'compact');
    const { useGrouping } = o;
    s.useGrouping = useGrouping === undefined || useGrouping === 'true' || useGrouping === 'false' ? (s.notation === 'compact' ? 'min2' : 'auto')
      : useGrouping === true ? 'always' : !useGrouping ? false : option(o, 'useGrouping', ['auto', 'always', 'min2']);
    s.signDisplay = option(o, 'signDisplay', ['auto', 'never', 'always', 'exceptZero', 'negative'], 'auto');
    return s;
  }

  // ---- parts --------------------------------------------------------------

  const foreign = (s, digits) => (s.numberingSystem === 'latn' ? digits
    : digits.replace(/\d/g, (c) => String.fromCharCode(ZEROS[s.numberingSystem] + Number(c))));

  function countedParts(s, text, numbers) {
    const [integer, fraction] = text.split('.');
    const [last, before] = numbers.sizes;
    const least = { always: 1, min2: 2, auto: numbers.least }[s.useGrouping];
    const parts = [];
    if (s.useGrouping && integer.length >= last + least) {
      const groups = [];
      let end = integer.length;
      for (let size = last; end > 0; size = before) {
        groups.unshift(integer.slice(Math.max(0, end - size), end));
        end -= size;
      }
      groups.forEach((g, i) => {
        if (i) parts.push({ type: 'group', value: s.style === 'currency' ? numbers.money[1] ?? numbers.group : numbers.group });
        parts.push({ type: 'integer', value: foreign(s, g) });
      });
    } else parts.push({ type: 'integer', value: foreign(s, integer) });
    if (fraction) parts.push({ type: 'decimal', value: s.style === 'currency' ? numbers.money[0] : numbers.decimal }, { type: 'fraction', value: foreign(s, fraction) });
    return parts;
  }

  // Of several forms that of the category; a form for all is a text.
  const form = (forms, of) => (typeof forms === 'string' ? forms : forms[of] ?? forms.other);

  // Fills a pattern. What is neither number, sign nor currency is of `kind`, without its spaces.
  function fill(pattern, kind, { number, sign, currency }) {
    const parts = [];
    const other = (text) => {
      const [, before, word, after] = /^(\s*)([^]*?)(\s*)$/.exec(text);
      if (before) parts.push({ type: 'literal', value: before });
      if (word) parts.push({ type: kind, value: word });
      if (after) parts.push({ type: 'literal', value: after });
    };
    let text = '';
    for (const c of pattern) {
      if (c !== NUMBER && c !== SIGN && c !== CURRENCY) {
        text += c;
        continue;
      }
      if (text) other(text);
      text = '';
      if (c === NUMBER) parts.push(...number);
      else if (c === CURRENCY) parts.push({ type: 'currency', value: currency });
      else if (sign) parts.push(sign);
    }
    if (text) other(text);
    return parts;
  }

  // Which sign a number shows: -1, 0, 1.
  function shownSign(s, d, isZero) {
    const negative = d.negative;
    switch (s.signDisplay) {
      case 'never': return 0;
      case 'always': return negative ? -1 : 1;
      case 'exceptZero': return isZero || d.special === 'NaN' ? 0 : negative ? -1 : 1;
      case 'negative': return negative && !isZero ? -1 : 0;
      default: return negative ? -1 : 0;
    }
  }

  function compacted(s, d, numbers) {
    const round = (x, point) => (s.isShort ? cut(x, Math.max(2, point), s.roundingMode) : rounded({ ...x, point }, s));
    const table = numbers.compact[s.compactDisplay];
    let e = d.digits ? d.point - 1 : 0;
    const shiftAt = (x) => (x < 3 ? 0 : table[Math.min(x, 14) - 3][0]);
    let shift = shiftAt(e);
    let r = { ...round(d, d.point - shift), negative: d.negative };
    if (s.isShort) r.point -= r.digits ? shift : 0;
    if (r.digits && r.point + shift - 1 > e) { // 999,999 is a million
      e = r.point + shift - 1;
      r.point += shift;
      shift = shiftAt(e);
      r.point -= shift;
    }
    return { r, forms: e < 3 || !shift ? null : table[Math.min(e, 14) - 3][1], shift };
  }

  function numberParts(s, value) {
    const { numbers } = dataOf(s.data);
    let d = decimal(value);
    if (s.style === 'percent' && d.digits) d = { ...d, point: d.point + 2 };
    let text = '0';
    let number;
    let forms = null;
    let isZero = false;
    if (d.special) {
      number = d.special === 'NaN' ? [{ type: 'nan', value: numbers.nan }] : [{ type: 'infinity', value: '∞' }];
    } else {
      let r;
      let power = null;
      if (s.notation === 'compact') ({ r, forms } = compacted(s, d, numbers));
      else if (s.notation === 'standard') r = rounded(d, s);
      else {
        const step = s.notation === 'engineering' ? 3 : 1;
        power = d.digits ? Math.floor((d.point - 1) / step) * step : 0;
        r = rounded({ ...d, point: d.digits ? d.point - power : 0 }, s);
        if (r.digits && r.point > step) r = { ...r, point: r.point - step, ...(power += step, {}) };
      }
      isZero = !r.digits;
      const isWhole = r.digits.length <= r.point;
      text = written(r, { ...s, stripped: (s.isShort || (s.trailingZeroDisplay === 'stripIfInteger' && isWhole)) });
      number = countedParts(s, text, numbers);
      if (power !== null) {
        number.push({ type: 'exponentSeparator', value: numbers.exponent });
        if (power < 0) number.push({ type: 'exponentMinusSign', value: numbers.minus });
        number.push({ type: 'exponentInteger', value: foreign(s, String(Math.abs(power))) });
      }
    }
    const of = d.special ? 'other' : category(s.data, text);
    if (forms) {
      const exact = text === '1' && forms.exact;
      number = exact ? [{ type: 'compact', value: exact }] : fill(form(forms, of), 'compact', { number });
    }
    return signed(s, d, isZero, number, of, numbers);
  }

  function signed(s, d, isZero, number, of, numbers) {
    const shown = shownSign(s, d, isZero);
    const sign = shown < 0 ? { type: 'minusSign', value: numbers.minus } : shown > 0 ? { type: 'plusSign', value: numbers.plus } : null;
    const at = shown ? 1 : 0;
    if (s.style === 'percent') return fill(numbers.percent[at], 'percentSign', { number, sign });
    if (s.style === 'currency' && s.currencyDisplay !== 'name') {
      const [symbol, narrow] = numbers.names[s.currency] ?? [s.currency, s.currency];
      const currency = { code: s.currency, symbol, narrowSymbol: narrow }[s.currencyDisplay];
      // A letter beside the number stands apart from it.
      const rows = numbers.currency[/\p{L}$/u.test(currency) ? 1 : 0];
      const row = rows[s.currencySign === 'accounting' ? 1 : 0];
      return fill(shown > 0 ? row[1].includes(SIGN) ? row[1] : SIGN + row[0] : row[at], 'literal', { number, sign, currency });
    }
    const counted = fill(numbers.plain[at], 'literal', { number, sign });
    if (s.style === 'currency') {
      const name = numbers.names[s.currency] ? form(numbers.names[s.currency][2], of) : s.currency;
      return fill(numbers.currencyName, 'literal', { number: counted, currency: name });
    }
    if (s.style === 'unit') return unitParts(s, counted, of, numbers);
    return counted;
  }

  function unitParts(s, counted, of, numbers) {
    const width = ['short', 'narrow', 'long'].indexOf(s.unitDisplay);
    if (s.unit in numbers.units) return fill(form(numbers.units[s.unit][width], of).replace(SIGN, ''), 'unit', { number: counted });
    const [unit, per] = s.unit.split('-per-');
    const parts = fill(form(numbers.units[unit][width], of), 'unit', { number: counted });
    const last = form(numbers.units[per][width], 'one').replace(NUMBER, '').trim();
    return [...parts, { type: 'unit', value: `/${last}` }];
  }

  const join = (parts) => {
    let text = '';
    for (const p of parts) text += p.value;
    return text;
  };

  const NAMES = ['locale', 'numberingSystem', 'style', 'currency', 'currencyDisplay', 'currencySign', 'unit', 'unitDisplay', 'minimumIntegerDigits',
    'minimumFractionDigits', 'maximumFractionDigits', 'minimumSignificantDigits', 'maximumSignificantDigits', 'useGrouping', 'notation', 'compactDisplay',
    'signDisplay', 'roundingMode', 'trailingZeroDisplay'];
  const shownOptions = (s, names) => Object.fromEntries(names.filter((n) => s[n] !== undefined).map((n) => [n, s[n]]));

  function NumberFormat(locales, options) {
    const self = new.target ? this : Object.create(NumberFormat.prototype);
    own.set(self, numberState(locales, options));
    return self;
  }
  kit.define(NumberFormat.prototype, 'formatToParts', function (value) { return numberParts(inside(this, 'NumberFormat'), value); });
  // Both ends in full, or one that stands for both. What is not digits alone stands apart.
  const DIGITS_ALONE = new Set(['integer', 'group', 'decimal', 'fraction']);
  function rangeParts(s, a, b) {
    if (a === undefined || b === undefined) throw new TypeError('a range needs its two ends');
    const [x, y] = [a, b].map((v) => numberParts(s, v));
    const [dash, about] = dataOf(s.data).numbers.range;
    if ([...x, ...y].some((p) => p.type === 'nan')) throw new RangeError('an end of the range is NaN');
    if (join(x) === join(y)) return [{ type: 'approximatelySign', value: about, source: 'shared' }, ...x.map((p) => ({ ...p, source: 'shared' }))];
    const apart = dash.trim() === dash && [...x, ...y].some((p) => !DIGITS_ALONE.has(p.type));
    return [...x.map((p) => ({ ...p, source: 'startRange' })), { type: 'literal', value: apart ? ` ${dash} ` : dash, source: 'shared' }, ...y.map((p) => ({ ...p, source: 'endRange' }))];
  }
  kit.define(NumberFormat.prototype, 'formatRange', function (a, b) { return join(rangeParts(inside(this, 'NumberFormat'), a, b)); });
  kit.define(NumberFormat.prototype, 'formatRangeToParts', function (a, b) { return rangeParts(inside(this, 'NumberFormat'), a, b); });
  kit.define(NumberFormat.prototype, 'resolvedOptions', function () { return shownOptions(inside(this, 'NumberFormat'), NAMES); });
  finish(NumberFormat, 'NumberFormat', {
    format() {
      const s = inside(this, 'NumberFormat');
      return (s.format ??= (value) => join(numberParts(s, value)));
    },
  });

  // ---- plural rules -------------------------------------------------------

  class PluralRules {
    constructor(locales, options) {
      const { data, tag } = resolve(locales);
      const o = optionsOf(options);
      const s = { name: 'PluralRules', locale: tag, data, type: option(o, 'type', ['cardinal', 'ordinal'], 'cardinal') };
      digitOptions(o, s, 0, 3, false);
      own.set(this, s);
    }
    select(n) {
      const s = inside(this, 'PluralRules');
      const d = decimal(Number(n));
      return d.special ? 'other' : category(s.data, written(rounded(d, s), s), s.type);
    }
    resolvedOptions() {
      const s = inside(this, 'PluralRules');
      const seen = new Set();
      for (let n = 0; n <= 1000; n++) seen.add(category(s.data, String(n), s.type));
      if (s.type === 'cardinal') for (const text of ['0.5', '1.5', '1000000']) seen.add(category(s.data, text));
      return { ...shownOptions(s, ['locale', 'type', 'minimumIntegerDigits', 'minimumFractionDigits', 'maximumFractionDigits']),
        pluralCategories: ['few', 'many', 'one', 'two', 'zero', 'other'].filter((c) => seen.has(c)), roundingMode: s.roundingMode };
    }
  }
  finish(PluralRules, 'PluralRules');

  // ---- relative times -----------------------------------------------------

  const STYLES = ['long', 'short', 'narrow'];
  function relativeParts(s, value, unit) {
    const name = String(unit).replace(/s$/, '');
    const rows = dataOf(s.data).relatives[name];
    if (!rows) throw new RangeError(`Invalid unit argument for Intl.RelativeTimeFormat() '${unit}'`);
    const n = Number(value);
    if (!Number.isFinite(n)) throw new RangeError('the value of a relative time is a finite number');
    const [words, future, past] = rows[STYLES.indexOf(s.style)];
    if (s.numeric === 'auto' && words[n] !== undefined) return [{ type: 'literal', value: words[n] }];
    const number = numberParts(s.numbers, Math.abs(n));
    const of = category(s.data, written(rounded(decimal(Math.abs(n)), s.numbers), s.numbers));
    const parts = fill(form(n < 0 || Object.is(n, -0) ? past : future, of), 'literal', { number: number.map((p) => ({ ...p, unit: name })) });
    const out = []; // spaces are part of the words here
    for (const p of parts) {
      if (p.type === 'literal' && out.at(-1)?.type === 'literal') out.at(-1).value += p.value;
      else out.push(p);
    }
    return out;
  }
  class RelativeTimeFormat {
    constructor(locales, options) {
      const { data, tag } = resolve(locales);
      const o = optionsOf(options);
      own.set(this, { name: 'RelativeTimeFormat', locale: tag, data, style: option(o, 'style', STYLES, 'long'),
        numeric: option(o, 'numeric', ['always', 'auto'], 'always'), numberingSystem: 'latn', numbers: numberState(tag) });
    }
    format(value, unit) { return join(relativeParts(inside(this, 'RelativeTimeFormat'), value, unit)); }
    formatToParts(value, unit) { return relativeParts(inside(this, 'RelativeTimeFormat'), value, unit); }
    resolvedOptions() { return shownOptions(inside(this, 'RelativeTimeFormat'), ['locale', 'style', 'numeric', 'numberingSystem']); }
  }
  finish(RelativeTimeFormat, 'RelativeTimeFormat');

  // ---- lists --------------------------------------------------------------

  // Spanish: y before the sound of i is e, o before that of o is u.
  function softened(s, next, word) {
    if (!s.data.startsWith('es')) return word;
    if (word.endsWith(' y ') && /^h?i(?!a|e)/i.test(next)) return word.replace(' y ', ' e ');
    return word.endsWith(' o ') && /^(h?o|8)/i.test(next) ? word.replace(' o ', ' u ') : word;
  }
  function listParts(s, list) {
    const items = Array.from(list);
    for (const item of items) if (typeof item !== 'string') throw new TypeError('Iterable yielded ' + String(item) + ' which is not a string');
    const [two, start, middle, end] = dataOf(s.data).lists[s.type][STYLES.indexOf(s.style)];
    const parts = [];
    items.forEach((value, i) => {
      if (i) parts.push({ type: 'literal', value: softened(s, value, items.length === 2 ? two : i === items.length - 1 ? end : i === 1 ? start : middle) });
      parts.push({ type: 'element', value });
    });
    return parts.filter((p) => p.value !== '' || p.type === 'element');
  }
  class ListFormat {
    constructor(locales, options) {
      const { data, tag } = resolve(locales);
      const o = optionsOf(options);
      own.set(this, { name: 'ListFormat', locale: tag, data, type: option(o, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction'), style: option(o, 'style', STYLES, 'long') });
    }
    format(list) { return join(listParts(inside(this, 'ListFormat'), list)); }
    formatToParts(list) { return listParts(inside(this, 'ListFormat'), list); }
    resolvedOptions() { return shownOptions(inside(this, 'ListFormat'), ['locale', 'type', 'style']); }
  }
  finish(ListFormat, 'ListFormat');

  return { NumberFormat, PluralRules, RelativeTimeFormat, ListFormat, ZEROS, join, shownOptions };
});
