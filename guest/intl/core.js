// Intl, as far as docs/evaluating.md says: what all of it shares, plural rules, relative times,
// lists. The words and patterns of languages are ICU's (data.mjs). A function of natives that
// answers the constructors so far, and what date.js, number.js and collate.js need.
(function (given) {
  'use strict';
  const { text, define } = given;
  const HOME = { en: 'US', de: 'DE', fr: 'FR', es: 'ES', it: 'IT', pt: 'BR', nl: 'NL', sv: 'SE', da: 'DK', nb: 'NO', fi: 'FI', is: 'IS', pl: 'PL',
    cs: 'CZ', sk: 'SK', hu: 'HU', ro: 'RO', el: 'GR', ru: 'RU', uk: 'UA', tr: 'TR', he: 'IL', hi: 'IN', ja: 'JP', ko: 'KR', zh: 'CN', id: 'ID',
    vi: 'VN', ca: 'ES', hr: 'HR', bg: 'BG', ar: '001' };
  const REGIONS = ['en-AU', 'en-CA', 'en-GB', 'en-IE', 'en-IN', 'en-NZ', 'en-ZA', 'de-AT', 'de-CH', 'es-MX', 'fr-BE', 'fr-CA', 'fr-CH', 'nl-BE', 'pt-PT', 'zh-TW'];
  const ALIASES = { no: 'nb', iw: 'he', in: 'id' };
  const DEFAULT = 'en-US';
  const FIELD = 0xe000;

  // ---- locales ------------------------------------------------------------

  const TAG = /^([a-z]{2,3}|[a-z]{5,8})(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?((?:-(?:[a-z\d]{5,8}|\d[a-z\d]{3}))*)((?:-[a-wyz\d](?:-[a-z\d]{2,8})+)*)(-x(?:-[a-z\d]{1,8})+)?$/i;

  function parse(tag) {
    const m = typeof tag === 'string' && TAG.exec(tag);
    if (!m) throw new RangeError(`Incorrect locale information provided: ${String(tag)}`);
    const language = ALIASES[m[1].toLowerCase()] ?? m[1].toLowerCase();
    const script = m[2] && m[2][0].toUpperCase() + m[2].slice(1).toLowerCase();
    const region = m[3]?.toUpperCase();
    const base = [language, script, region].filter(Boolean).join('-') + m[4].toLowerCase();
    const extensions = {};
    const u = /-u((?:-[a-z\d]{2,8})+)/i.exec(m[5]);
    if (u) {
      let key = '';
      for (const word of u[1].slice(1).toLowerCase().split('-')) {
        if (word.length === 2) extensions[key = word] = '';
        else if (key) extensions[key] += (extensions[key] && '-') + word;
      }
    }
    return { language, script, region, base, extensions, tag: base + m[5].toLowerCase() + (m[6] ?? '').toLowerCase() };
  }

  function getCanonicalLocales(locales) {
    if (locales === undefined) return [];
    if (locales === null) throw new TypeError('locales is null');
    const list = typeof locales === 'string' || locales instanceof Locale ? [locales] : Array.from(locales);
    return [...new Set(list.map((tag) => {
      if (typeof tag !== 'string' && (typeof tag !== 'object' || tag === null)) throw new TypeError('a locale is a text');
      return parse(String(tag)).tag;
    }))];
  }

  // {data: the locale whose data it is, tag: what it is called}, or null.
  function match({ language, script, region }) {
    if (!(language in HOME)) return null;
    if (language === 'zh' && (script === 'Hant' || (script !== 'Hans' && (region === 'HK' || region === 'MO')))) return { data: 'zh-TW', tag: 'zh-TW' };
    const tag = `${language}-${region}`;
    if (REGIONS.includes(tag)) return { data: tag, tag };
    return { data: language, tag: region === HOME[language] ? tag : language };
  }

  function resolve(locales) {
    for (const tag of getCanonicalLocales(locales)) {
      const parsed = parse(tag);
      const found = match(parsed);
      if (found) return { ...found, extensions: parsed.extensions };
    }
    return { data: 'en', tag: DEFAULT, extensions: {} };
  }

  const supportedLocalesOf = (locales) => getCanonicalLocales(locales).filter((tag) => match(parse(tag)));

  // A locale's texts, read when they are first needed; a region's are laid over its language's.
  const read = new Map();
  function dataOf(locale) {
    if (!read.has(locale)) {
      const [language] = locale.split('-');
      const own = JSON.parse(text(locale));
      read.set(locale, locale === language ? own : { ...dataOf(language), ...own });
    }
    return read.get(locale);
  }

  // ---- options ------------------------------------------------------------

  const optionsOf = (options) => {
    if (options === null) throw new TypeError('options is null');
    return options === undefined ? {} : Object(options);
  };
  function option(options, name, values, fallback) {
    const given = options[name];
    if (given === undefined) return fallback;
    const value = String(given);
    if (values && !values.includes(value)) throw new RangeError(`Value ${value} out of range for Intl options property ${name}; one of ${values.join(', ')} is`);
    return value;
  }
  function whole(options, name, least, most, fallback) {
    const given = options[name];
    if (given === undefined) return fallback;
    const n = Number(given);
    if (!(n >= least && n <= most)) throw new RangeError(`${name} value is out of range: ${least} to ${most}`);
    return Math.floor(n);
  }

  // What all constructors have: no call without `new` but where that was always allowed.
  function finish(constructor, name, getters = {}) {
    define(constructor, 'supportedLocalesOf', (locales) => supportedLocalesOf(locales));
    Object.defineProperty(constructor.prototype, Symbol.toStringTag, { value: `Intl.${name}`, configurable: true });
    for (const [key, get] of Object.entries(getters)) Object.defineProperty(constructor.prototype, key, { get, configurable: true });
    return constructor;
  }
  const own = new WeakMap();
  function inside(object, name) {
    const state = own.get(object);
    if (state?.name !== name) throw new TypeError(`not an Intl.${name}`);
    return state;
  }

  class Locale {
    #parsed;
    #options;
    constructor(tag, options) {
      if (typeof tag !== 'string' && (typeof tag !== 'object' || tag === null)) throw new TypeError('a locale is a text');
      const parsed = parse(String(tag));
      const o = optionsOf(options);
      const language = option(o, 'language', null, parsed.language);
      const script = option(o, 'script', null, parsed.script);
      const region = option(o, 'region', null, parsed.region);
      const extensions = { ...parsed.extensions };
      for (const [key, name] of Object.entries({ ca: 'calendar', co: 'collation', hc: 'hourCycle', kf: 'caseFirst', kn: 'numeric', nu: 'numberingSystem' }))
        if (o[name] !== undefined) extensions[key] = name === 'numeric' ? (o[name] ? '' : 'false') : String(o[name]);
      this.#parsed = parse([language, script, region].filter(Boolean).join('-'));
      this.#options = extensions;
    }
    get language() { return this.#parsed.language; }
    get script() { return this.#parsed.script; }
    get region() { return this.#parsed.region; }
    get baseName() { return this.#parsed.base; }
    get calendar() { return this.#options.ca; }
    get collation() { return this.#options.co; }
    get hourCycle() { return this.#options.hc; }
    get caseFirst() { return this.#options.kf; }
    get numeric() { return this.#options.kn !== undefined && this.#options.kn !== 'false'; }
    get numberingSystem() { return this.#options.nu; }
    toString() {
      const keys = Object.keys(this.#options).sort();
      return this.#parsed.base + (keys.length ? '-u' + keys.map((k) => `-${k}${this.#options[k] ? '-' + this.#options[k] : ''}`).join('') : '');
    }
  }
  Object.defineProperty(Locale.prototype, Symbol.toStringTag, { value: 'Intl.Locale', configurable: true });

  // ---- plural rules (CLDR's) ----------------------------------------------

  // n, i, v, f, t as CLDR has them: the number, its whole part, the count of its decimals, those as a
  // number, and without zeros at the end.
  const in100 = (n, a, b) => n % 100 >= a && n % 100 <= b;
  const millions = (i, v) => i !== 0 && i % 1000000 === 0 && v === 0;
  const one1 = (n, i, v) => (i === 1 && v === 0 ? 'one' : 'other');
  const isOne = (n) => (n === 1 ? 'one' : 'other');
  const never = () => 'other';
  const slavic = (n, i, v) => {
    if (v !== 0) return 'other';
    if (i % 10 === 1 && i % 100 !== 11) return 'one';
    return i % 10 >= 2 && i % 10 <= 4 && !in100(i, 12, 14) ? 'few' : 'many';
  };
  const czech = (n, i, v) => (v !== 0 ? 'many' : i === 1 ? 'one' : i >= 2 && i <= 4 ? 'few' : 'other');
  const southSlavic = (i) => (i % 10 === 1 && i % 100 !== 11 ? 'one' : i % 10 >= 2 && i % 10 <= 4 && !in100(i, 12, 14) ? 'few' : '');
  const oneOrMillions = (n, i, v) => (i === 1 && v === 0 ? 'one' : millions(i, v) ? 'many' : 'other');
  const CARDINAL = {
    en: one1, de: one1, nl: one1, sv: one1, fi: one1, it: oneOrMillions, ca: oneOrMillions, 'pt-PT': oneOrMillions,
    es: (n, i, v) => (n === 1 ? 'one' : millions(i, v) ? 'many' : 'other'),
    pt: (n, i, v) => (i <= 1 ? 'one' : millions(i, v) ? 'many' : 'other'), fr: (n, i, v) => (i <= 1 ? 'one' : millions(i, v) ? 'many' : 'other'),
    da: (n, i, v, f, t) => (n === 1 || (t !== 0 && i <= 1) ? 'one' : 'other'),
    nb: isOne, bg: isOne, el: isOne, hu: isOne, tr: isOne,
    is: (n, i, v, f, t) => ((t === 0 && i % 10 === 1 && i % 100 !== 11) || (t % 10 === 1 && t % 100 !== 11) ? 'one' : 'other'),
    pl: (n, i, v) => (v !== 0 ? 'other' : i === 1 ? 'one' : i % 10 >= 2 && i % 10 <= 4 && !in100(i, 12, 14) ? 'few' : 'many'),
    cs: czech, sk: czech, ru: slavic, uk: slavic,
    hr: (n, i, v, f) => (v === 0 && southSlavic(i)) || southSlavic(f) || 'other',
    ro: (n, i, v) => (i === 1 && v === 0 ? 'one' : v !== 0 || n === 0 || (n !== 1 && in100(n, 1, 19)) ? 'few' : 'other'),
    he: (n, i, v) => ((i === 1 && v === 0) || (i === 0 && v !== 0) ? 'one' : i === 2 && v === 0 ? 'two' : 'other'),
    ar: (n) => (n === 0 ? 'zero' : n === 1 ? 'one' : n === 2 ? 'two' : n % 1 ? 'other' : in100(n, 3, 10) ? 'few' : in100(n, 11, 99) ? 'many' : 'other'),
    hi: (n, i) => (i === 0 || n === 1 ? 'one' : 'other'), ja: never, ko: never, zh: never, id: never, vi: never,
  };
  const ORDINAL = {
    en: (n) => (in100(n, 11, 13) ? 'other' : ({ 1: 'one', 2: 'two', 3: 'few' })[n % 10] ?? 'other'),
    sv: (n) => (n % 1 === 0 && n % 10 >= 1 && n % 10 <= 2 && !in100(n, 11, 12) ? 'one' : 'other'),
    fr: isOne, vi: isOne, ro: isOne, it: (n) => ([8, 11, 80, 800].includes(n) ? 'many' : 'other'),
    ca: (n) => ({ 1: 'one', 2: 'two', 3: 'one', 4: 'few' })[n] ?? 'other', hu: (n) => (n === 1 || n === 5 ? 'one' : 'other'),
    hi: (n) => ({ 1: 'one', 2: 'two', 3: 'two', 4: 'few', 6: 'many' })[n] ?? 'other',
    uk: (n) => (n % 10 === 3 && n % 100 !== 13 ? 'few' : 'other'),
  };
  // The category of a number written as that text: '1', '1.50'.
  function category(locale, written, type = 'cardinal') {
    const table = type === 'ordinal' ? ORDINAL : CARDINAL;
    const rule = table[locale] ?? table[locale.split('-')[0]];
    if (!rule) return 'other';
    const [whole, decimals = ''] = written.replace('-', '').split('.');
    return rule(Number(`${whole}.${decimals}`), Number(whole), decimals.length, Number(decimals), Number(decimals.replace(/0+$/, '')));
  }

  return { text, define, FIELD, parse, resolve, dataOf, optionsOf, option, whole, finish, own, inside, category, getCanonicalLocales, Locale };
});
