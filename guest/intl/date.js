// Intl.DateTimeFormat over the patterns of data.mjs, and the zones of the IANA.
//
// A pattern is a text in which characters of the private use area stand for fields, in the
// order of FIELDS; those of texts are followed by one that says which list has them.
(function (kit, natives, numbers) {
  'use strict';
  const { zoneName } = natives;
  const { ZEROS, join, shownOptions } = numbers;
  const { FIELD, text, resolve, dataOf, optionsOf, option, whole, finish, own, inside } = kit;
  const FIELDS = ['year', 'year2', 'month', 'month2', 'monthText', 'weekday', 'day', 'day2', 'era', 'hour', 'hour2', 'minute', 'minute2',
    'second', 'second2', 'fraction', 'dayPeriod', 'zone', 'time'];
  const LIST = 0xe100;
  const [ERA, ZONE, TIME] = [8, 17, 18].map((n) => String.fromCharCode(FIELD + n));
  const TYPES = { year: 'year', year2: 'year', month: 'month', month2: 'month', monthText: 'month', weekday: 'weekday', day: 'day', day2: 'day', era: 'era',
    hour: 'hour', hour2: 'hour', minute: 'minute', minute2: 'minute', second: 'second', second2: 'second', fraction: 'fractionalSecond', dayPeriod: 'dayPeriod', zone: 'timeZoneName' };
  const getOffset = Date.prototype.getTimezoneOffset;
  const MINUTE = 60000;

  // ---- zones --------------------------------------------------------------

  let zones = null;
  const spelt = new Map(); // names by what they are in lower case
  function allZones() {
    if (!zones) {
      const names = JSON.parse(text('zones'));
      zones = { names, order: Object.keys(names) };
      for (const name of zones.order) spelt.set(name.toLowerCase(), name);
    }
    return zones;
  }

  const FROM = Date.UTC(1900, 0, 1) / MINUTE;
  const parsed = new Map();
  function transitions(place) {
    if (!parsed.has(place)) {
      const [offsets, steps] = text(`zone-${place}`).split(';');
      const values = offsets.split(',').map(Number);
      const times = [];
      const then = [values[0]];
      let at = FROM;
      for (const step of steps ? steps.split(' ') : []) {
        const [minutes, which] = step.split('.');
        at += parseInt(minutes, 36);
        times.push(at);
        then.push(values[parseInt(which, 36)]);
      }
      parsed.set(place, { times, then });
    }
    return parsed.get(place);
  }

  // A year of 2027 to 2054 that begins at the same weekday, and is as long: the rules go on.
  function sameYear(year) {
    const isLeap = (y) => (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0;
    const first = (y) => new Date(Date.UTC(y, 0, 1)).getUTCDay();
    for (let y = 2027; ; y++) if (isLeap(y) === isLeap(year) && first(y) === first(year)) return y;
  }

  function tableOffset(place, ms) {
    const date = new Date(ms);
    const year = date.getUTCFullYear();
    if (year > 2054) ms -= Date.UTC(year, 0, 1) - Date.UTC(sameYear(year), 0, 1);
    const minute = Math.floor(ms / MINUTE);
    const { times, then } = transitions(place);
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= minute) low = middle + 1;
      else high = middle;
    }
    return then[low];
  }

  // {name, offset(ms): minutes east of UTC}. The person's zone is asked of the host, whose rules are newer.
  function zoneOf(given) {
    const all = allZones();
    if (given === undefined) {
      const name = spelt.get(zoneName().toLowerCase());
      return { name: name ?? 'UTC', offset: (ms) => -getOffset.call(new Date(ms)) };
    }
    const asked = String(given);
    const fixed = /^([+-])(\d\d)(?::?(\d\d))?$/.exec(asked);
    if (fixed && fixed[2] < 24 && !(fixed[3] > 59)) {
      const minutes = (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3] ?? 0));
      return { name: `${fixed[1]}${fixed[2]}:${fixed[3] ?? '00'}`, offset: () => minutes };
    }
    const name = spelt.get(asked.toLowerCase());
    if (!name) throw new RangeError(`Invalid time zone specified: ${asked}`);
    const place = all.names[name];
    return { name, offset: (ms) => tableOffset(place, ms) };
  }

  const named = new Map();
  function zoneNames(language) {
    if (!named.has(language)) {
      const found = text(`zones-${language}`);
      named.set(language, found ? JSON.parse(found) : null);
    }
    return named.get(language);
  }

  const placeOf = (c) => (c < 0x80 ? c - 0x30 : c - 0x80);
  function writtenOffset(prefix, minutes, isLong) {
    if (!minutes) return isLong ? `${prefix}+00:00` : prefix;
    const size = Math.abs(minutes);
    const [h, m] = [Math.floor(size / 60), size % 60].map((n) => String(n).padStart(2, '0'));
    return `${prefix}${minutes < 0 ? '-' : '+'}${isLong ? `${h}:${m}` : `${Number(h)}${m === '00' ? '' : ':' + m}`}`;
  }
  function shownZone(s, ms) {
    const minutes = s.zone.offset(ms);
    const isLong = s.timeZoneName.startsWith('long');
    const prefix = dataOf(s.data).offset;
    if (!s.timeZoneName.endsWith('Offset')) {
      const names = zoneNames(s.data.split('-')[0]);
      const at = names?.index.charCodeAt(allZones().order.indexOf(s.zone.name));
      if (at > 0x20) {
        const year = new Date(ms).getUTCFullYear();
        const isSummer = minutes > Math.min(...[0, 6].map((month) => s.zone.offset(Date.UTC(year, month, 15))));
        const found = names.all[placeOf(at)].split('|')[(isLong ? 0 : 2) + (isSummer ? 1 : 0)];
        if (found) return found;
      }
      if (s.zone.name === 'UTC') return 'UTC';
    }
    return writtenOffset(prefix, minutes, isLong && (minutes !== 0 || s.timeZoneName === 'longOffset'));
  }

  // ---- options ------------------------------------------------------------

  const TWO = ['numeric', '2-digit'];
  const TEXT = ['short', 'long', 'narrow'];
  const VALUES = { weekday: TEXT, era: TEXT, year: TWO, month: [...TWO, ...TEXT], day: TWO, dayPeriod: TEXT, hour: TWO, minute: TWO, second: TWO };
  const DAY = ['weekday', 'year', 'month', 'day'];
  const CLOCK = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits'];
  const DIGITS = 'fractionalSecondDigits';

  function dateState(locales, given, required, defaults) {
    const { data, tag, extensions } = resolve(locales);
    const o = optionsOf(given);
    const s = { name: 'DateTimeFormat', locale: tag, data, calendar: 'gregory' };
    s.numberingSystem = option(o, 'numberingSystem', null, extensions.nu);
    if (!(s.numberingSystem in ZEROS)) s.numberingSystem = 'latn';
    s.zone = zoneOf(o.timeZone);
    s.timeZone = s.zone.name;
    for (const [name, values] of Object.entries(VALUES)) s[name] = option(o, name, values);
    s[DIGITS] = whole(o, DIGITS, 1, 3, undefined);
    s.timeZoneName = option(o, 'timeZoneName', ['short', 'long', 'shortOffset', 'longOffset', 'shortGeneric', 'longGeneric']);
    s.dateStyle = option(o, 'dateStyle', ['full', 'long', 'medium', 'short']);
    s.timeStyle = option(o, 'timeStyle', ['full', 'long', 'medium', 'short']);
    const hasFields = [...DAY, ...CLOCK, 'era', 'timeZoneName'].find((name) => s[name] !== undefined);
    if (s.dateStyle || s.timeStyle) {
      if (hasFields) throw new TypeError(`Can't set option ${hasFields} when ${s.dateStyle ? 'dateStyle' : 'timeStyle'} is used`);
      if (s.timeStyle && required === 'date') throw new TypeError('Invalid option : timeStyle');
      if (s.dateStyle && required === 'time') throw new TypeError('Invalid option : dateStyle');
    } else {
      const wanted = required === 'date' ? DAY : required === 'time' ? CLOCK : [...DAY, ...CLOCK];
      if (wanted.every((name) => s[name] === undefined)) {
        if (defaults !== 'time') s.year = s.month = s.day = 'numeric';
        if (defaults !== 'date') s.hour = s.minute = s.second = 'numeric';
      }
    }
    const d = dataOf(data).dates;
    const cycle = option(o, 'hourCycle', ['h11', 'h12', 'h23', 'h24'], extensions.hc);
    if (s.hour || s.timeStyle) {
      s.hourCycle = o.hour12 !== undefined ? (o.hour12 ? 'h12' : 'h23') : /^h(11|12|23|24)$/.test(cycle) ? cycle : d.hourCycle;
      s.hour12 = s.hourCycle < 'h2';
    }
    s.tokens = tokensOf(patternOf(s, d), d);
    return s;
  }

  const at = (values, value) => (value === undefined ? 0 : values.indexOf(value) + 1);
  function patternOf(s, d) {
    const patternAt = (index, i) => d.patterns[placeOf(index.charCodeAt(i))];
    if (s.dateStyle || s.timeStyle) {
      const styles = ['full', 'long', 'medium', 'short'];
      const time = s.timeStyle && d.timeStyles.split('\n')[styles.indexOf(s.timeStyle) + (s.hour12 ? 0 : 4)];
      if (s.timeStyle === 'full' || s.timeStyle === 'long') s.timeZoneName = s.timeStyle === 'full' ? 'long' : 'short';
      if (!s.dateStyle) return time;
      const list = (time ? d.dateTimeStyles : d.dateStyles).split('\n');
      return list[styles.indexOf(s.dateStyle)].replace(TIME, () => time);
    }
    const date = ((at(TEXT, s.weekday) * 3 + at(TWO, s.year)) * 6 + at(VALUES.month, s.month)) * 3 + at(TWO, s.day);
    const clock = ((((s.hour12 || !s.hour ? 0 : 1) * 3 + at(TWO, s.hour)) * 3 + at(TWO, s.minute)) * 3 + at(TWO, s.second)) * 2 + (s[DIGITS] ? 1 : 0);
    const time = patternAt(d.times, clock);
    let pattern;
    if (!time) pattern = patternAt(s.timeZoneName ? d.zoned : d.plain, date);
    else {
      const zoned = s.timeZoneName ? d.timeZoned.replace(TIME, () => time) : time;
      pattern = date ? patternAt(d.timed, date).replace(TIME, () => zoned) : zoned;
    }
    return s.era ? withEra(pattern, d, date) : pattern;
  }
  // ICU has patterns of its own for some; here it stands behind the date, or as beside a year alone.
  function withEra(pattern, d, date) {
    const era = d.era.slice(d.era.indexOf(ERA), d.era.indexOf(ERA) + 2);
    return date === 18 ? d.era : `${pattern} ${era}`;
  }

  function tokensOf(pattern, d) {
    const tokens = [];
    let literal = '';
    for (let i = 0; i < pattern.length; i++) {
      const field = FIELDS[pattern.charCodeAt(i) - FIELD];
      if (!field) {
        literal += pattern[i];
        continue;
      }
      if (literal) tokens.push({ type: 'literal', value: literal });
      literal = '';
      const isText = field === 'monthText' || field === 'weekday' || field === 'era' || field === 'dayPeriod';
      tokens.push({ type: TYPES[field], field, list: isText ? d.lists[pattern.charCodeAt(++i) - LIST].split('|') : null });
    }
    if (literal) tokens.push({ type: 'literal', value: literal });
    return tokens;
  }

  // ---- parts --------------------------------------------------------------

  const two = (n) => (n < 10 ? '0' + n : String(n));
  function hourOf(s, hour) {
    if (s.hourCycle === 'h12') return hour % 12 || 12;
    if (s.hourCycle === 'h11') return hour % 12;
    return s.hourCycle === 'h24' ? hour || 24 : hour;
  }
  function fieldText(s, { field, list }, local, ms) {
    const year = local.getUTCFullYear();
    const era = year > 0 ? year : 1 - year;
    switch (field) {
      case 'year': return String(era);
      case 'year2': return two(era % 100);
      case 'month': return String(local.getUTCMonth() + 1);
      case 'month2': return two(local.getUTCMonth() + 1);
      case 'monthText': return list[local.getUTCMonth()];
      case 'weekday': return list[local.getUTCDay()];
      case 'day': return String(local.getUTCDate());
      case 'day2': return two(local.getUTCDate());
      case 'era': return list[year > 0 ? 1 : 0];
      case 'hour': return String(hourOf(s, local.getUTCHours()));
      case 'hour2': return two(hourOf(s, local.getUTCHours()));
      case 'minute': return String(local.getUTCMinutes());
      case 'minute2': return two(local.getUTCMinutes());
      case 'second': return String(local.getUTCSeconds());
      case 'second2': return two(local.getUTCSeconds());
      case 'fraction': return String(local.getUTCMilliseconds()).padStart(3, '0').slice(0, s[DIGITS]);
      case 'dayPeriod': return list[local.getUTCHours() < 12 ? 0 : 1];
      default: return shownZone(s, ms);
    }
  }

  function msOf(date) {
    const ms = date === undefined ? Date.now() : Number(date);
    if (!(Math.abs(ms) <= 8.64e15)) throw new RangeError('Invalid time value');
    return Math.trunc(ms);
  }
  function dateParts(s, date) {
    const ms = msOf(date);
    const local = new Date(ms + s.zone.offset(ms) * MINUTE);
    const zero = ZEROS[s.numberingSystem];
    return s.tokens.map((token) => {
      if (!token.field) return { type: 'literal', value: token.value };
      const value = fieldText(s, token, local, ms);
      return { type: token.type, value: zero === 0x30 || token.field === 'zone' ? value : value.replace(/\d/g, (c) => String.fromCharCode(zero + Number(c))) };
    });
  }

  const CLOCK_TYPES = ['hour', 'minute', 'second', 'fractionalSecond', 'dayPeriod', 'timeZoneName'];
  // On one day the date is written once; all else is written in full at both ends.
  function rangeParts(s, from, to) {
    const tell = (parts, source) => parts.map((p) => ({ ...p, source }));
    const [a, b] = [dateParts(s, from), dateParts(s, to)];
    if (join(a) === join(b)) return tell(a, 'shared');
    const isClock = (p) => CLOCK_TYPES.includes(p.type);
    const between = { type: 'literal', value: dataOf(s.data).dates.range, source: 'shared' };
    const first = a.findIndex(isClock);
    const last = a.findLastIndex(isClock);
    const dates = (parts) => join(parts.filter((p) => !isClock(p)));
    if (first >= 0 && (first > 0 || last < a.length - 1) && dates(a) === dates(b))
      return [...tell(a.slice(0, first), 'shared'), ...tell(a.slice(first, last + 1), 'startRange'), between,
        ...tell(b.slice(first, last + 1), 'endRange'), ...tell(a.slice(last + 1), 'shared')];
    return [...tell(a, 'startRange'), between, ...tell(b, 'endRange')];
  }

  // ---- the constructor ----------------------------------------------------

  function DateTimeFormat(locales, options) {
    const self = new.target ? this : Object.create(DateTimeFormat.prototype);
    own.set(self, dateState(locales, options, 'any', 'date'));
    return self;
  }
  const state = (self) => inside(self, 'DateTimeFormat');
  kit.define(DateTimeFormat.prototype, 'formatToParts', function (date) { return dateParts(state(this), date); });
  kit.define(DateTimeFormat.prototype, 'formatRange', function (a, b) { return join(rangeParts(state(this), a, b)); });
  kit.define(DateTimeFormat.prototype, 'formatRangeToParts', function (a, b) { return rangeParts(state(this), a, b); });
  kit.define(DateTimeFormat.prototype, 'resolvedOptions', function () {
    const s = state(this);
    const shown = shownOptions(s, ['locale', 'calendar', 'numberingSystem', 'timeZone', 'hourCycle', 'hour12', 'weekday', 'era', 'year', 'month', 'day',
      'dayPeriod', 'hour', 'minute', 'second', DIGITS, 'timeZoneName', 'dateStyle', 'timeStyle']);
    if (s.timeStyle) delete shown.timeZoneName;
    for (const t of s.tokens) {
      if (t.field?.endsWith('2') && shown[t.type]) shown[t.type] = '2-digit';
      else if (/^(year|month|day|hour|minute|second)$/.test(t.field) && shown[t.type]) shown[t.type] = 'numeric';
    }
    return shown;
  });
  finish(DateTimeFormat, 'DateTimeFormat', {
    format() {
      const s = state(this);
      return (s.format ??= (date) => join(dateParts(s, date)));
    },
  });

  // Date's own methods: formats that were made for them are kept, since code writes many dates in one way.
  const kept = new Map();
  function toLocale(date, locales, options, required, defaults) {
    const ms = date.getTime();
    if (Number.isNaN(ms)) return 'Invalid Date';
    let key;
    try {
      key = JSON.stringify([String(locales ?? ''), options, required]);
    } catch {
      return join(dateParts(dateState(locales, options, required, defaults), ms));
    }
    if (!kept.has(key)) {
      if (kept.size > 100) kept.clear();
      kept.set(key, dateState(locales, options, required, defaults));
    }
    return join(dateParts(kept.get(key), ms));
  }
  return { DateTimeFormat, toLocale, zoneList: () => allZones().order };
});
