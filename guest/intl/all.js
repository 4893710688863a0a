// Puts the parts of Intl together, and gives Date, Number, BigInt and String the methods that
// take locales.
(function (natives, world, define, makeKit, makeNumbers, makeDates, makeCollation) {
  'use strict';
  const kit = makeKit({ text: natives.intlText, define });
  const numbers = makeNumbers(kit);
  const dates = makeDates(kit, natives, numbers);
  const { Collator, Segmenter, localeCompare } = makeCollation(kit);
  const { NumberFormat, PluralRules, RelativeTimeFormat, ListFormat } = numbers;
  const { getCanonicalLocales, Locale } = kit;

  const KEYS = {
    calendar: () => ['gregory'], collation: () => ['default'], numberingSystem: () => Object.keys(numbers.ZEROS).sort(), timeZone: () => dates.zoneList().slice(),
    currency: () => Object.keys(kit.dataOf('en').numbers.names), unit: () => Object.keys(kit.dataOf('en').numbers.units).filter((u) => !u.includes('-per-')).sort(),
  };
  function supportedValuesOf(key) {
    if (!Object.hasOwn(KEYS, key)) throw new RangeError(`Invalid key : ${String(key)}`);
    return KEYS[key]();
  }
  const Intl = {};
  for (const [name, value] of Object.entries({ Collator, DateTimeFormat: dates.DateTimeFormat, ListFormat, Locale, NumberFormat, PluralRules, RelativeTimeFormat, Segmenter,
    getCanonicalLocales, supportedValuesOf })) define(Intl, name, value);
  Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
  define(world, 'Intl', Intl);

  const { getTime } = Date.prototype;
  const dateMethod = (name, required, defaults) => define(Date.prototype, name, {
    [name](locales, options) {
      getTime.call(this);
      return dates.toLocale(this, locales, options, required, defaults);
    },
  }[name]);
  dateMethod('toLocaleString', 'any', 'all');
  dateMethod('toLocaleDateString', 'date', 'date');
  dateMethod('toLocaleTimeString', 'time', 'time');

  const kept = new Map();
  function formatFor(locales, options) {
    const key = JSON.stringify([String(locales ?? ''), options]);
    if (!kept.has(key)) {
      if (kept.size > 100) kept.clear();
      kept.set(key, new NumberFormat(locales, options));
    }
    return kept.get(key);
  }
  for (const Type of [Number, BigInt]) {
    const { valueOf } = Type.prototype;
    define(Type.prototype, 'toLocaleString', {
      toLocaleString(locales, options) { return formatFor(locales, options).format(valueOf.call(this)); },
    }.toLocaleString);
  }
  define(String.prototype, 'localeCompare', {
    localeCompare(that, locales, options) {
      if (this === undefined || this === null) throw new TypeError('String.prototype.localeCompare of undefined or null');
      return localeCompare(String(this), String(that), locales, options);
    },
  }.localeCompare);
});
