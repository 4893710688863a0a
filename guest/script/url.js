// URL and URLSearchParams after the WHATWG URL Standard, section 4, for the schemes
// that agents meet: special ones in full (hosts as IPv4, IPv6 and lower-cased
// names; no IDNA mapping: a name outside ASCII is percent-encoded), others as
// opaque or hierarchical paths.
(function (own) {
  'use strict';
  const { define, encode, decode, isUtf8, decodeBroken } = own;
  const { Array, Map, Number, String, Symbol, TypeError, Uint8Array } = own.world;
  const SPECIAL = new Map([['http', '80'], ['https', '443'], ['ws', '80'], ['wss', '443'], ['ftp', '21'], ['file', '']]);

  const HEX = '0123456789ABCDEF';
  const C0 = (c) => c < 0x20 || c > 0x7e;
  const inSet = (extra) => (c) => C0(c) || extra.includes(String.fromCharCode(c));
  const FRAGMENT = inSet(' "<>`');
  const QUERY = inSet(' "#<>');
  const SPECIAL_QUERY = inSet(' "#<>\'');
  const PATH = inSet(' "#<>?^`{}');
  const USERINFO = inSet(' "#<>?^`{}/:;=@[\\]|');
  const COMPONENT_FORM = (c) => !(c >= 0x30 && c <= 0x39) && !(c >= 0x41 && c <= 0x5a) && !(c >= 0x61 && c <= 0x7a) &&
    c !== 0x2a && c !== 0x2d && c !== 0x2e && c !== 0x5f;

  function percentEncode(text, mustEncode) {
    let out = '';
    for (const char of text.toWellFormed()) {
      const code = char.codePointAt(0);
      if (code < 0x80 && !mustEncode(code)) out += char;
      else for (const b of encode(char)) out += '%' + HEX[b >> 4] + HEX[b & 15];
    }
    return out;
  }

  function percentDecode(text) {
    if (!text.includes('%')) return text;
    const bytes = [...encode(text.toWellFormed())];
    const out = [];
    for (let i = 0; i < bytes.length; i++) {
      const hex = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1] ?? 0, bytes[i + 2] ?? 0) : '';
      if (/^[0-9a-fA-F]{2}$/.test(hex)) {
        out.push(Number.parseInt(hex, 16));
        i += 2;
      } else out.push(bytes[i]);
    }
    const all = Uint8Array.from(out);
    return isUtf8(all) ? decode(all) : decodeBroken(all);
  }

  // ---- hosts ---------------------------------------------------------------

  function ipv4Number(part) {
    if (part === '') return NaN;
    if (/^0[xX][0-9a-fA-F]*$/.test(part)) return part.length === 2 ? 0 : Number.parseInt(part.slice(2), 16);
    if (/^0[0-7]+$/.test(part)) return Number.parseInt(part, 8);
    return /^[0-9]+$/.test(part) ? Number(part) : NaN;
  }

  // null: not an IPv4 address at all; a host that ends in a number must be one.
  function ipv4(host) {
    const parts = host.split('.');
    if (parts.at(-1) === '' && parts.length > 1) parts.pop();
    if (!/^([0-9]+|0[xX][0-9a-fA-F]*)$/.test(parts.at(-1))) return null;
    const numbers = parts.map(ipv4Number);
    const last = numbers.pop();
    if (parts.length > 4 || numbers.some((n) => !(n <= 255)) || !(last < 256 ** (4 - numbers.length)))
      throw new TypeError('not an IPv4 address');
    const value = numbers.reduce((sum, n, i) => sum + n * 256 ** (3 - i), last);
    return [24, 16, 8, 0].map((s) => Math.floor(value / 2 ** s) % 256).join('.');
  }

  function ipv6Pieces(text) {
    if (text === '') return [];
    return text.split(':').flatMap((piece, i, all) => {
      if (i === all.length - 1 && piece.includes('.')) {
        const four = piece.split('.');
        if (four.length !== 4 || !four.every((n) => /^(0|[1-9][0-9]{0,2})$/.test(n) && Number(n) < 256)) throw new TypeError('not an IPv6 address');
        return [Number(four[0]) * 256 + Number(four[1]), Number(four[2]) * 256 + Number(four[3])];
      }
      if (!/^[0-9a-fA-F]{1,4}$/.test(piece)) throw new TypeError('not an IPv6 address');
      return [Number.parseInt(piece, 16)];
    });
  }

  function ipv6(text) {
    const halves = text.split('::');
    if (halves.length > 2) throw new TypeError('not an IPv6 address');
    const head = ipv6Pieces(halves[0]);
    const tail = halves.length === 2 ? ipv6Pieces(halves[1]) : [];
    const missing = 8 - head.length - tail.length;
    if (halves.length === 2 ? missing < 1 : missing !== 0) throw new TypeError('not an IPv6 address');
    const pieces = [...head, ...Array(missing).fill(0), ...tail];
    // The longest run of at least two zeros is written "::".
    let best = { at: -1, n: 1 };
    for (let i = 0; i < 8; i++) {
      let n = 0;
      while (i + n < 8 && pieces[i + n] === 0) n++;
      if (n > best.n) best = { at: i, n };
      i += n;
    }
    const hex = pieces.map((p) => p.toString(16));
    if (best.at < 0) return `[${hex.join(':')}]`;
    return `[${hex.slice(0, best.at).join(':')}::${hex.slice(best.at + best.n).join(':')}]`;
  }

  function parseHost(text, special) {
    if (text.startsWith('[')) {
      if (!text.endsWith(']')) throw new TypeError('unclosed IPv6 address');
      return ipv6(text.slice(1, -1));
    }
    if (!special) {
      if (/[\0\t\n\r #/<>?@[\\\]^|]/.test(text)) throw new TypeError('forbidden character in the host');
      return percentEncode(text, C0);
    }
    const name = percentDecode(text).toLowerCase();
    if (name === '' || /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(name)) throw new TypeError('forbidden character in the host');
    const encoded = /^[\x21-\x7e]*$/.test(name) ? name : percentEncode(name, C0);
    return ipv4(encoded) ?? encoded;
  }

  // ---- parsing -------------------------------------------------------------

  const isDriveLetter = (s) => /^[a-zA-Z][:|]$/.test(s);

  function parsePath(text, special, base, file) {
    const path = [...base];
    const parts = text.split(special ? /[/\\]/ : '/');
    parts.forEach((raw, i) => {
      const last = i === parts.length - 1;
      const plain = raw.replace(/%2e/gi, '.');
      if (plain === '..') {
        if (!(file && path.length === 1 && isDriveLetter(path[0]))) path.pop();
        if (last) path.push('');
      } else if (plain === '.') {
        if (last) path.push('');
      } else {
        const piece = percentEncode(raw, PATH);
        path.push(file && path.length === 0 && isDriveLetter(piece) ? piece[0] + ':' : piece);
      }
    });
    return path;
  }

  function parseAuthority(url, text, special) {
    const at = text.lastIndexOf('@');
    if (at >= 0) {
      const [user, ...rest] = text.slice(0, at).split(':');
      url.username = percentEncode(user, USERINFO);
      url.password = percentEncode(rest.join(':'), USERINFO);
    }
    const hostPort = text.slice(at + 1);
    const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::([^]*))?$/.exec(hostPort) ?? [];
    if (host === undefined || (host === '' && (special || at >= 0 || port !== undefined))) throw new TypeError('a host is missing');
    url.host = parseHost(host, special);
    url.port = parsePort(port ?? '', url.scheme);
  }

  function parsePort(text, scheme) {
    if (text === '') return '';
    if (!/^[0-9]+$/.test(text) || Number(text) > 65535) throw new TypeError('not a port');
    const port = String(Number(text));
    return port === SPECIAL.get(scheme) ? '' : port;
  }

  const copyOf = (url) => ({ ...url, path: Array.isArray(url.path) ? [...url.path] : url.path });

  function split(text) {
    const hash = text.indexOf('#');
    const fragment = hash < 0 ? null : text.slice(hash + 1);
    const rest = hash < 0 ? text : text.slice(0, hash);
    const mark = rest.indexOf('?');
    return { fragment, query: mark < 0 ? null : rest.slice(mark + 1), body: mark < 0 ? rest : rest.slice(0, mark) };
  }

  function parse(input, base) {
    const text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
    const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text)?.[1].toLowerCase();
    if (!scheme && !base) throw new TypeError('an absolute URL is needed');
    const relativeToBase = !scheme || (scheme === base?.scheme && SPECIAL.has(scheme) && !/^[/\\]{2}/.test(text.slice(scheme.length + 1)) && scheme !== 'file');
    return relativeToBase ? parseRelative(scheme ? text.slice(scheme.length + 1) : text, base)
      : parseAbsolute(scheme, text.slice(scheme.length + 1));
  }

  function finish(url, { query, fragment }) {
    url.query = query === null ? null : percentEncode(query, SPECIAL.has(url.scheme) ? SPECIAL_QUERY : QUERY);
    url.fragment = fragment === null ? null : percentEncode(fragment, FRAGMENT);
    return url;
  }

  function parseAbsolute(scheme, rest) {
    const url = { scheme, username: '', password: '', host: null, port: '', path: [], query: null, fragment: null };
    const parts = split(rest);
    const special = SPECIAL.has(scheme);
    if (scheme === 'file') return parseFile(url, parts);
    const slashes = special ? /^[/\\]*/.exec(parts.body)[0] : parts.body.startsWith('//') ? '//' : '';
    if (special || slashes) {
      const after = parts.body.slice(slashes.length);
      const end = after.search(special ? /[/\\]/ : /\//);
      parseAuthority(url, end < 0 ? after : after.slice(0, end), special);
      url.path = end < 0 ? (special ? [''] : []) : parsePath(after.slice(end + 1), special, [], false);
    } else if (parts.body.startsWith('/')) {
      url.path = parsePath(parts.body.slice(1), false, [], false);
    } else {
      url.path = percentEncode(parts.body, C0);
    }
    return finish(url, parts);
  }

  function parseFile(url, parts) {
    const body = parts.body.replaceAll('\\', '/');
    url.host = '';
    if (body.startsWith('//')) {
      const after = body.slice(2);
      const end = after.indexOf('/');
      const host = end < 0 ? after : after.slice(0, end);
      if (host && !isDriveLetter(host)) {
        url.host = parseHost(host, true);
        if (url.host === 'localhost') url.host = '';
        url.path = parsePath(end < 0 ? '' : after.slice(end + 1), true, [], true);
      } else url.path = parsePath(after.replace(/^\//, ''), true, [], true);
    } else url.path = parsePath(body.replace(/^\//, ''), true, [], true);
    return finish(url, parts);
  }

  function parseRelative(text, base) {
    const parts = split(text);
    const special = SPECIAL.has(base.scheme);
    const body = special ? parts.body.replaceAll('\\', '/') : parts.body;
    if (typeof base.path === 'string') {
      if (body || parts.query !== null || parts.fragment === null) throw new TypeError('the base has no path to be relative to');
      return { ...copyOf(base), fragment: percentEncode(parts.fragment, FRAGMENT) };
    }
    if (body.startsWith('//')) return parseAbsolute(base.scheme, text);
    const url = copyOf(base);
    if (body === '') {
      if (parts.query === null) return { ...finish(url, { query: null, fragment: parts.fragment }), query: base.query };
      return finish(url, parts);
    }
    url.path = body.startsWith('/') ? parsePath(body.slice(1), special, [], base.scheme === 'file')
      : parsePath(body, special, base.path.slice(0, -1), base.scheme === 'file');
    return finish(url, parts);
  }

  const pathOf = (url) => (typeof url.path === 'string' ? url.path : url.path.map((p) => '/' + p).join(''));

  function serialize(url) {
    let text = url.scheme + ':';
    if (url.host !== null) {
      text += '//';
      if (url.username || url.password) text += url.username + (url.password ? ':' + url.password : '') + '@';
      text += url.host + (url.port ? ':' + url.port : '');
    } else if (typeof url.path !== 'string' && url.path.length > 1 && url.path[0] === '') text += '/.';
    text += pathOf(url);
    if (url.query !== null) text += '?' + url.query;
    if (url.fragment !== null) text += '#' + url.fragment;
    return text;
  }

  // ---- URLSearchParams -----------------------------------------------------

  const decodeForm = (s) => percentDecode(s.replaceAll('+', ' '));
  const encodeForm = (s) => percentEncode(s, (c) => c !== 0x20 && COMPONENT_FORM(c)).replaceAll(' ', '+');
  const parseForm = (text) => text.split('&').filter(Boolean).map((pair) => {
    const i = pair.indexOf('=');
    return i < 0 ? [decodeForm(pair), ''] : [decodeForm(pair.slice(0, i)), decodeForm(pair.slice(i + 1))];
  });

  class URLSearchParams {
    #list = [];
    #changed = null;
    constructor(init = '') {
      if (typeof init === 'object' && init !== null) {
        if (typeof init[Symbol.iterator] === 'function') {
          for (const pair of init) {
            const two = [...pair];
            if (two.length !== 2) throw new TypeError('each pair needs a name and a value');
            this.#list.push([String(two[0]), String(two[1])]);
          }
        } else for (const key of Object.keys(init)) this.#list.push([key, String(init[key])]);
      } else this.#list = parseForm(String(init).replace(/^\?/, ''));
    }
    static bound(text, changed) {
      const p = new URLSearchParams(text);
      p.#changed = changed;
      return p;
    }
    static reload(p, text) { p.#list = parseForm(text); }
    #touch() { this.#changed?.(this.toString()); }
    get size() { return this.#list.length; }
    append(name, value) { this.#list.push([String(name), String(value)]); this.#touch(); }
    delete(name, value) {
      this.#list = this.#list.filter(([k, v]) => !(k === String(name) && (value === undefined || v === String(value))));
      this.#touch();
    }
    get(name) { return this.#list.find(([k]) => k === String(name))?.[1] ?? null; }
    getAll(name) { return this.#list.filter(([k]) => k === String(name)).map(([, v]) => v); }
    has(name, value) { return this.#list.some(([k, v]) => k === String(name) && (value === undefined || v === String(value))); }
    set(name, value) {
      const i = this.#list.findIndex(([k]) => k === String(name));
      if (i < 0) this.#list.push([String(name), String(value)]);
      else {
        this.#list[i][1] = String(value);
        this.#list = this.#list.filter(([k], at) => at <= i || k !== String(name));
      }
      this.#touch();
    }
    sort() { this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#touch(); }
    forEach(run, self) { for (const [k, v] of this.#list) run.call(self, v, k, this); }
    *entries() { for (const [k, v] of this.#list) yield [k, v]; }
    *keys() { for (const [k] of this.#list) yield k; }
    *values() { for (const [, v] of this.#list) yield v; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#list.map(([k, v]) => `${encodeForm(k)}=${encodeForm(v)}`).join('&'); }
  }
  const { bound, reload } = URLSearchParams;
  delete URLSearchParams.bound;
  delete URLSearchParams.reload;

  // ---- URL -----------------------------------------------------------------

  class URL {
    #url;
    #params;
    constructor(input, base) {
      try {
        this.#url = parse(String(input), base === undefined ? null : parse(String(base), null));
      } catch (error) {
        throw new TypeError(`Invalid URL: ${String(input)} (${error.message})`);
      }
      this.#params = bound(this.#url.query ?? '', (text) => { this.#url.query = text === '' ? null : text; });
    }
    static canParse(input, base) {
      try { return Boolean(new URL(input, base)); } catch { return false; }
    }
    static parse(input, base) {
      try { return new URL(input, base); } catch { return null; }
    }
    // Setters ignore what does not parse, as the standard says.
    #try(change) {
      const next = copyOf(this.#url);
      try { change(next); this.#url = next; } catch { /* unchanged */ }
    }
    get href() { return serialize(this.#url); }
    set href(v) { this.#url = parse(String(v), null); reload(this.#params, this.#url.query ?? ''); }
    get origin() {
      if (!SPECIAL.has(this.#url.scheme) || this.#url.scheme === 'file') return 'null';
      return `${this.#url.scheme}://${this.host}`;
    }
    get protocol() { return this.#url.scheme + ':'; }
    set protocol(v) {
      this.#try((u) => {
        const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*)/.exec(String(v))?.[1].toLowerCase();
        if (scheme && SPECIAL.has(scheme) === SPECIAL.has(u.scheme)) { u.scheme = scheme; u.port = parsePort(u.port, scheme); }
      });
    }
    get username() { return this.#url.username; }
    set username(v) { if (this.#url.host) this.#url.username = percentEncode(String(v), USERINFO); }
    get password() { return this.#url.password; }
    set password(v) { if (this.#url.host) this.#url.password = percentEncode(String(v), USERINFO); }
    get host() { return (this.#url.host ?? '') + (this.#url.port ? ':' + this.#url.port : ''); }
    set host(v) {
      this.#try((u) => {
        const [, host, port] = /^(\[[^\]]*\]|[^:/?#\\]*)(?::([0-9]*))?/.exec(String(v));
        u.host = parseHost(host, SPECIAL.has(u.scheme));
        if (port) u.port = parsePort(port, u.scheme);
      });
    }
    get hostname() { return this.#url.host ?? ''; }
    set hostname(v) { this.#try((u) => { u.host = parseHost(String(v), SPECIAL.has(u.scheme)); }); }
    get port() { return this.#url.port; }
    set port(v) { this.#try((u) => { u.port = parsePort(/^[0-9]*/.exec(String(v))[0], u.scheme); }); }
    get pathname() { return pathOf(this.#url); }
    set pathname(v) {
      if (typeof this.#url.path !== 'string')
        this.#url.path = parsePath(String(v).replace(/^[/\\]/, ''), SPECIAL.has(this.#url.scheme), [], this.#url.scheme === 'file');
    }
    get search() { return this.#url.query ? '?' + this.#url.query : ''; }
    set search(v) {
      const text = String(v).replace(/^\?/, '');
      this.#url.query = text === '' ? null : percentEncode(text, SPECIAL.has(this.#url.scheme) ? SPECIAL_QUERY : QUERY);
      reload(this.#params, text);
    }
    get searchParams() { return this.#params; }
    get hash() { return this.#url.fragment ? '#' + this.#url.fragment : ''; }
    set hash(v) {
      const text = String(v).replace(/^#/, '');
      this.#url.fragment = text === '' ? null : percentEncode(text, FRAGMENT);
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
  }
  define(URL, 'name', 'URL');
  define(URLSearchParams, 'name', 'URLSearchParams');
  return { URL, URLSearchParams };
});
