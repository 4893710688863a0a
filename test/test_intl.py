"""Intl in evaluated code, compared with the ICU of the pinned node: the same program runs in both."""
import json
import os
import subprocess

import pytest

from conftest import ROOT

NODE = ROOT / "build/deps/node"
LOCALES = ("en en-AU en-CA en-GB en-IN ar bg ca cs da de de-AT de-CH el es es-MX fi fr fr-CA fr-CH he hi hr hu id is it ja ko nb nl "
           "pl pt pt-PT ro ru sk sv tr uk vi zh zh-TW").split()

DATES = """
const at = [Date.UTC(2026, 11, 1, 10, 30), Date.UTC(2024, 1, 29, 9, 5, 9), Date.UTC(2031, 6, 14, 13, 59, 59)];
const options = [{}, {dateStyle: 'full'}, {dateStyle: 'long'}, {dateStyle: 'medium'}, {dateStyle: 'short'}, {weekday: 'long'}, {month: 'long'},
  {month: 'short', day: 'numeric'}, {year: 'numeric', month: 'long'}, {weekday: 'short', day: 'numeric', month: 'short'},
  {weekday: 'long', year: 'numeric', month: 'long', day: 'numeric'}, {year: 'numeric', month: '2-digit', day: '2-digit'}, {timeStyle: 'short'},
  {dateStyle: 'full', timeStyle: 'short'}, {dateStyle: 'medium', timeStyle: 'medium'}, {hour: 'numeric', minute: '2-digit'},
  {hour: '2-digit', minute: '2-digit', hour12: false}, {year: 'numeric', month: 'long', day: 'numeric', hour: 'numeric', minute: '2-digit'},
  {hour: 'numeric', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3}];
return options.flatMap((o) => at.map((d) => [JSON.stringify(o), new Intl.DateTimeFormat(locale, {...o, timeZone: 'UTC'}).format(d)]));
"""
NUMBERS = """
const numbers = [0, 1, -1, 1234, 12345.678, -1234567.891, 0.1234, 1.005, 999999, 1500000, 2e6, 1e9, 21, 101];
const options = [{}, {style: 'percent', maximumFractionDigits: 1}, {style: 'currency', currency: 'EUR'}, {style: 'currency', currency: 'JPY'},
  {style: 'currency', currency: 'CHF', currencyDisplay: 'code'}, {style: 'currency', currency: 'EUR', currencyDisplay: 'name'}, {notation: 'compact'},
  {notation: 'compact', compactDisplay: 'long'}, {style: 'unit', unit: 'kilometer'}, {style: 'unit', unit: 'hour', unitDisplay: 'long'},
  {maximumFractionDigits: 0}, {minimumFractionDigits: 2}, {maximumSignificantDigits: 3}, {signDisplay: 'exceptZero'}, {useGrouping: false},
  {minimumIntegerDigits: 3}, {roundingMode: 'floor', maximumFractionDigits: 1}];
return options.flatMap((o) => numbers.map((n) => [JSON.stringify(o), n, new Intl.NumberFormat(locale, o).format(n)]));
"""
RANGES = """
const format = new Intl.NumberFormat(locale), own = new Intl.NumberFormat('en', {style: 'currency', currency: 'USD'}), percent = new Intl.NumberFormat('en', {style: 'percent'});
return [[1, 2], [1.5, 12345.25], [3, 3], [0.0001, 0.0002], [7n, 8n]].flatMap(([a, b]) => [format.formatRange(a, b), format.formatRangeToParts(a, b)])
  .concat([own.formatRange(3, 5), own.formatRangeToParts(1, 1), percent.formatRange(0.1, 0.2)]);
"""
WORDS = """
const out = [];
for (const type of ['cardinal', 'ordinal'])
  for (const n of [0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 13, 21, 22, 101, 111, 112, 1000000, 1.5]) out.push([type, n, new Intl.PluralRules(locale, {type}).select(n)]);
for (const style of ['long', 'short', 'narrow'])
  for (const numeric of ['always', 'auto'])
    for (const unit of ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'])
      for (const n of [-5, -2, -1, 0, 1, 2, 3, 11, 21, 1.5]) out.push([style, numeric, n, new Intl.RelativeTimeFormat(locale, {style, numeric}).format(n, unit)]);
for (const type of ['conjunction', 'disjunction', 'unit'])
  for (const style of ['long', 'short', 'narrow'])
    for (const list of [[], ['a'], ['a', 'i'], ['a', 'b', 'c'], ['a', 'b', 'c', 'd']]) out.push([type, style, new Intl.ListFormat(locale, {type, style}).format(list)]);
return out;
"""
ORDER = """
const words = ['Zebra', 'zebra', 'äpfel', 'Apfel', 'apfel', 'Ärger', 'öl', 'Ol', 'straße', 'strasse', 'éa', 'eb', 'ñandú', 'nz', 'oz', 'ål', 'az', 'ch', 'cz',
  'h', 'čas', 'cb', 'd', '10', '9', 'a1', 'a-b', 'ab', 'a b', 'A B', 'жук', 'ель', 'Яна', 'résumé', 'resume', 'Resume', ''];
return [words.toSorted(new Intl.Collator(locale).compare), words.toSorted(new Intl.Collator(locale, {numeric: true}).compare),
  words.map((w) => Math.sign(w.localeCompare('resume', locale, {sensitivity: 'base'})))];
"""
# Each zone over a century and more, of the years from 1905, by its clock.
ZONES = """
const out = {};
for (const timeZone of zones) {
  const format = new Intl.DateTimeFormat('en-GB', {timeZone, day: '2-digit', hour: '2-digit', minute: '2-digit'});
  out[timeZone] = [];
  for (let year = 1905; year < 2061; year += 5) for (const month of [0, 3, 6, 9]) out[timeZone].push(format.format(Date.UTC(year, month, 15)));
}
return out;
"""
PIECES = """
const texts = ['Hello, world! 3.14 is π.', '👨‍👩‍👧‍👦 family 🇩🇪🇫🇷 e\\u0301 नमस्ते 각 한국어', 'a\\r\\nb', "can't 1,234.5 foo_bar x:y a.b", 'He went. He said. OK! Next',
  'Это предложение. А это второе?', ''];
return texts.flatMap((text) => ['grapheme', 'word'].map((granularity) => [...new Intl.Segmenter('en', {granularity}).segment(text)]));
"""


def ours(cloche, code, context=None, zone="UTC"):
    code = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in (context or {}).items()) + code
    ran = subprocess.run([cloche, "eval", "--timeout", "30000", "-"], input=code, text=True, capture_output=True,
                         env={**os.environ, "TZ": zone}, check=False)
    assert ran.stdout, ran.stderr
    told = json.loads(ran.stdout)
    assert told["success"], told
    return told["result"]


def theirs(code, context):
    program = f"console.log(JSON.stringify((({{{','.join(context)}}}) => {{{code}}})({json.dumps(context)})))"
    return json.loads(subprocess.run([NODE, "-"], input=program, text=True, capture_output=True, check=True).stdout)


@pytest.mark.parametrize("code", [DATES, NUMBERS, RANGES, WORDS], ids=["dates", "numbers", "ranges", "words"])
def test_every_language_is_written_as_icu_writes_it(cloche, code):
    both = [[run({"locale": locale}) for locale in LOCALES if not (locale == "zh-TW" and code is DATES)]
            for run in (lambda c: ours(cloche, code, c), lambda c: theirs(code, c))]
    for mine, expected in zip(*both, strict=True):
        assert mine == expected


@pytest.mark.parametrize("locale", "en de de-AT fr es it pt nl sv da nb pl cs sk uk ru tr".split())
def test_texts_are_ordered_as_icu_orders_them(cloche, locale):
    assert ours(cloche, ORDER, {"locale": locale}) == theirs(ORDER, {"locale": locale})


def test_every_zone_of_the_iana_has_its_clock(cloche):
    zones = theirs("return Intl.supportedValuesOf('timeZone')", {}) + ["Asia/Kolkata", "US/Pacific", "Europe/Kyiv", "Etc/GMT+5"]
    mine, expected = ours(cloche, ZONES, {"zones": zones}), theirs(ZONES, {"zones": zones})
    by_moon = {"Africa/Casablanca", "Africa/El_Aaiun", "Asia/Gaza", "Asia/Hebron"}  # no rule goes on: only to 2054
    assert [z for z in zones if mine[z][:120 if z in by_moon else None] != expected[z][:120 if z in by_moon else None]] == []


def test_texts_are_divided_as_icu_divides_them(cloche):
    assert ours(cloche, PIECES) == theirs(PIECES, {})


AUCKLAND = """
const d = new Date(Date.UTC(2026, 11, 1, 10, 30));
return [Intl.DateTimeFormat().resolvedOptions().timeZone, d.toLocaleString(), d.toLocaleDateString('de'), d.toLocaleTimeString('en-GB'),
  new Intl.DateTimeFormat('en', {timeStyle: 'long'}).format(d), new Intl.DateTimeFormat('en', {dateStyle: 'short', timeZone: 'UTC'}).format(d)];
"""


def test_dates_are_of_the_persons_zone_unless_another_is_named(cloche):
    expected = ["Pacific/Auckland", "12/1/2026, 11:30:00 PM", "1.12.2026", "23:30:00", "11:30:00 PM GMT+13", "12/1/26"]
    told = [text.replace("\u202f", " ") for text in ours(cloche, AUCKLAND, zone="Pacific/Auckland")]
    assert told == expected


@pytest.mark.parametrize(("code", "said"), [
    ("Intl.DateTimeFormat('en', {timeZone: 'Mars/Olympus'})", "Invalid time zone specified: Mars/Olympus"),
    ("new Intl.NumberFormat('not a locale')", "Incorrect locale information provided"),
    ("new Intl.NumberFormat('en', {style: 'currency'})", "Currency code is required"),
    ("new Intl.NumberFormat('en', {minimumFractionDigits: 101})", "out of range"),
    ("new Intl.DateTimeFormat('en', {dateStyle: 'short', year: 'numeric'})", "Can't set option year when dateStyle is used"),
    ("new Intl.DateTimeFormat('en').format(NaN)", "Invalid time value"),
    ("new Intl.NumberFormat('en').formatRange(1, NaN)", "NaN"),
    ("Intl.NumberFormat.prototype.format.call({})", "not an Intl.NumberFormat"),
    ("Intl.Collator('en', {sensitivity: 'none'})", "sensitivity"),
])
def test_what_is_wrong_is_refused(cloche, code, said):
    assert said in ours(cloche, f"try {{ {code}; return 'nothing' }} catch (e) {{ return e.message }}")


def test_a_locale_is_matched_as_far_as_there_is_data(cloche):
    code = """return [Intl.getCanonicalLocales('EN-us'), Intl.NumberFormat.supportedLocalesOf(['de-LI', 'tlh', 'no']), new Intl.NumberFormat(['tlh', 'de-LI']).resolvedOptions().locale,
      new Intl.NumberFormat().resolvedOptions().locale, new Intl.DateTimeFormat('de-DE-u-hc-h12').resolvedOptions().locale,
      new Intl.Locale('zh-hant-tw').toString(), (1234.5).toLocaleString('ar-u-nu-arab'), [].concat(1n.toLocaleString('de'))]"""
    assert ours(cloche, code) == [["en-US"], ["de-LI", "nb"], "de", "en-US", "de-DE", "zh-Hant-TW", "١,٢٣٤.٥", ["1"]]
