// fetch, Headers, Request and Response as the Fetch standard has them, around one host
// call that sends a request and answers with the whole response.
//
// An expression (call, callSync, kit) => {call, globals}; see script.h, `wrap`. Taken
// into the program by calls_fetch.c.
(call, callSync, kit) => {
  'use strict';
  const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
  const METHODS = /^(delete|get|head|options|patch|post|put)$/i;
  const has = (object, key) => object !== undefined && object !== null && object[key] !== undefined;

  // ---- headers --------------------------------------------------------------

  const headerName = (name) => {
    const text = String(name);
    if (!TOKEN.test(text)) throw new TypeError(`'${text.slice(0, 60)}' is no name of a header`);
    return text.toLowerCase();
  };
  const headerValue = (value) => {
    const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
    if (/[\0\n\r]/.test(text)) throw new TypeError('the value of a header holds a line end');
    if (/[^\0-\xff]/.test(text)) throw new TypeError('the value of a header holds characters beyond Latin-1');
    return text;
  };

  class Headers {
    #values = new Map();
    constructor(init) {
      if (init === undefined || init === null) return;
      if (typeof init !== 'object') throw new TypeError('headers are an object, a list of pairs or Headers');
      const pairs = typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init);
      for (const pair of pairs) {
        const two = typeof pair === 'object' && pair !== null ? [...pair] : [];
        if (two.length !== 2) throw new TypeError('each header in a list is a pair of name and value');
        this.append(two[0], two[1]);
      }
    }
    append(name, value) {
      const key = headerName(name);
      const text = headerValue(value);
      const list = this.#values.get(key);
      if (list) list.push(text);
      else this.#values.set(key, [text]);
    }
    set(name, value) { this.#values.set(headerName(name), [headerValue(value)]); }
    delete(name) { this.#values.delete(headerName(name)); }
    has(name) { return this.#values.has(headerName(name)); }
    get(name) { return this.#values.get(headerName(name))?.join(', ') ?? null; }
    getSetCookie() { return [...(this.#values.get('set-cookie') ?? [])]; }
    *entries() {
      for (const name of [...this.#values.keys()].sort()) {
        const list = this.#values.get(name);
        if (name === 'set-cookie') for (const one of list) yield [name, one];
        else yield [name, list.join(', ')];
      }
    }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    forEach(run, self) { for (const [name, value] of this.entries()) run.call(self, value, name, this); }
    get [Symbol.toStringTag]() { return 'Headers'; }
    toJSON() { return Object.fromEntries(this.entries()); }
  }

  // ---- bodies ---------------------------------------------------------------

  const TEXT = 'text/plain;charset=UTF-8';
  const FORM = 'application/x-www-form-urlencoded;charset=UTF-8';

  // [bytes, content type]
  function readBody(body) {
    if (typeof body === 'string') return [new TextEncoder().encode(body), TEXT];
    if (body instanceof URLSearchParams) return [new TextEncoder().encode(String(body)), FORM];
    if (body instanceof ArrayBuffer) return [new Uint8Array(body.slice(0)), null];
    if (ArrayBuffer.isView(body))
      return [new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice(), null];
    if (typeof body === 'object' || typeof body === 'function')
      throw new TypeError('body is an object; send JSON.stringify(it), text, URLSearchParams or bytes');
    return [new TextEncoder().encode(String(body)), TEXT];
  }

  // As much of a ReadableStream as reading one takes: the bytes are all here.
  const streamOf = (take) => {
    const read = async () => {
      const bytes = take();
      return bytes && bytes.length ? { done: false, value: bytes } : { done: true, value: undefined };
    };
    const reader = { read, releaseLock() {}, cancel: async () => { take(); } };
    return {
      getReader: () => reader,
      async *[Symbol.asyncIterator]() {
        for (let part = await read(); !part.done; part = await read()) yield part.value;
      },
    };
  };

  class Body {
    #bytes = null; // Uint8Array, base64 as the host sent it, or null
    #used = false;
    #stream = null;
    static give(to, bytes) { to.#bytes = bytes; }
    static peek(of) {
      if (typeof of.#bytes === 'string') of.#bytes = Uint8Array.fromBase64(of.#bytes);
      return of.#bytes;
    }
    static copy(from, to) {
      if (from.#used) throw new TypeError('its body was read already, and cannot be cloned');
      to.#bytes = from.#bytes; // nobody writes into it: readers get copies
    }
    #take() {
      if (this.#used) throw new TypeError('its body was read already');
      const bytes = Body.peek(this);
      this.#used = bytes !== null;
      return bytes ?? new Uint8Array();
    }
    get bodyUsed() { return this.#used; }
    get body() {
      if (this.#bytes === null) return null;
      return this.#stream ??= streamOf(() => (this.#used ? null : this.#take().slice()));
    }
    async bytes() { return this.#take().slice(); }
    async arrayBuffer() { return this.#take().slice().buffer; }
    async text() { return new TextDecoder().decode(this.#take()); }
    async json() {
      const text = await this.text();
      try {
        return JSON.parse(text);
      } catch (error) {
        const begin = text.slice(0, 60);
        throw new SyntaxError(`the body is no JSON (${error.message}); it begins with: ${begin}`);
      }
    }
  }

  // ---- requests -------------------------------------------------------------

  const readUrl = (input) => {
    const url = new URL(String(input));
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new TypeError(`'${url.protocol}' cannot be fetched; http: and https: can`);
    if (url.username || url.password)
      throw new TypeError('a URL to be fetched holds no name and password; send a header');
    return url.href;
  };
  const readMethod = (method) => {
    const text = String(method);
    if (!TOKEN.test(text) || /^(connect|trace|track)$/i.test(text))
      throw new TypeError(`'${text.slice(0, 40)}' is no method that can be used`);
    return METHODS.test(text) ? text.toUpperCase() : text;
  };
  const readRedirect = (redirect) => {
    if (!['follow', 'manual', 'error'].includes(redirect))
      throw new TypeError(`redirect is '${redirect}'; follow, manual and error are accepted`);
    return redirect;
  };

  class Request extends Body {
    #url; #method; #headers; #redirect; #signal;
    constructor(input, init = {}) {
      super();
      const from = input instanceof Request ? input : null;
      this.#url = from ? from.url : readUrl(input);
      this.#method = has(init, 'method') ? readMethod(init.method) : from ? from.method : 'GET';
      this.#headers = new Headers(has(init, 'headers') ? init.headers : from?.headers);
      this.#redirect = has(init, 'redirect') ? readRedirect(init.redirect) : from?.redirect ?? 'follow';
      this.#signal = has(init, 'signal') ? init.signal : from?.signal ?? null;
      if (this.#signal !== null && typeof this.#signal.addEventListener !== 'function')
        throw new TypeError('signal is no AbortSignal');
      const given = has(init, 'body') && init.body !== null;
      if ((given || (from && Body.peek(from) !== null)) && /^(GET|HEAD)$/.test(this.#method))
        throw new TypeError(`a ${this.#method} request has no body`);
      if (given) {
        const [bytes, type] = readBody(init.body);
        Body.give(this, bytes);
        if (type && !this.#headers.has('content-type')) this.#headers.set('content-type', type);
      } else if (from) {
        Body.copy(from, this);
      }
    }
    get url() { return this.#url; }
    get method() { return this.#method; }
    get headers() { return this.#headers; }
    get redirect() { return this.#redirect; }
    get signal() { return this.#signal ?? new AbortController().signal; }
    clone() { return new Request(this); }
    get [Symbol.toStringTag]() { return 'Request'; }
    toJSON() { return { method: this.#method, url: this.#url, headers: this.#headers }; }
  }

  // ---- responses ------------------------------------------------------------

  const WITHOUT_BODY = [101, 204, 205, 304];

  class Response extends Body {
    #status = 200; #statusText = ''; #headers; #url = ''; #redirected = false; #type = 'default';
    constructor(body = null, init = {}) {
      super();
      const status = has(init, 'status') ? Number(init.status) : 200;
      if (!(status >= 200 && status <= 599)) throw new RangeError(`status is ${status}; 200 to 599 is accepted`);
      this.#status = status;
      this.#statusText = has(init, 'statusText') ? String(init.statusText) : '';
      this.#headers = new Headers(init?.headers);
      if (body === null || body === undefined) return;
      if (WITHOUT_BODY.includes(status)) throw new TypeError(`a response of status ${status} has no body`);
      const [bytes, type] = readBody(body);
      Body.give(this, bytes);
      if (type && !this.#headers.has('content-type')) this.#headers.set('content-type', type);
    }
    static answer({ status, statusText, url, redirected, headers, body }) {
      const made = new Response();
      made.#status = status;
      made.#statusText = statusText;
      made.#url = url;
      made.#redirected = redirected;
      made.#type = 'basic';
      for (const [name, value] of headers) {
        try { made.#headers.append(name, value); } catch { /* a stranger's header that is none */ }
      }
      Body.give(made, WITHOUT_BODY.includes(status) ? null : body);
      return made;
    }
    static error() {
      const made = new Response();
      made.#status = 0;
      made.#type = 'error';
      return made;
    }
    static json(data, init = {}) {
      const text = JSON.stringify(data);
      if (text === undefined) throw new TypeError('the value cannot be JSON');
      const headers = new Headers(init?.headers);
      if (!headers.has('content-type')) headers.set('content-type', 'application/json');
      return new Response(text, { ...init, headers });
    }
    static redirect(url, status = 302) {
      if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`${status} is no redirect`);
      return new Response(null, { status, headers: { location: readUrl(url) } });
    }
    get status() { return this.#status; }
    get ok() { return this.#status >= 200 && this.#status <= 299; }
    get statusText() { return this.#statusText; }
    get headers() { return this.#headers; }
    get url() { return this.#url; }
    get redirected() { return this.#redirected; }
    get type() { return this.#type; }
    clone() {
      const made = new Response();
      Body.copy(this, made);
      made.#status = this.#status;
      made.#statusText = this.#statusText;
      made.#headers = new Headers(this.#headers);
      made.#url = this.#url;
      made.#redirected = this.#redirected;
      made.#type = this.#type;
      return made;
    }
    get [Symbol.toStringTag]() { return 'Response'; }
    toJSON() {
      return { status: this.#status, ok: this.ok, url: this.#url, headers: this.#headers };
    }
  }

  // ---- fetch ----------------------------------------------------------------

  let lastId = 0;

  function send(request, signal) {
    const id = ++lastId;
    const bytes = Body.peek(request);
    return new Promise((resolve, reject) => {
      const stop = () => {
        reject(signal.reason);
        callSync({ abort: id });
      };
      const over = () => signal?.removeEventListener('abort', stop);
      signal?.addEventListener('abort', stop, { once: true });
      const answered = call({
        id,
        url: request.url,
        method: request.method,
        headers: [...request.headers],
        redirect: request.redirect,
        ...(bytes && { body: bytes.toBase64() }),
      });
      kit.then(
        answered,
        (answer) => { over(); resolve(Response.answer(answer)); },
        (error) => { over(); reject(error); },
      );
    });
  }

  async function fetch(input, init = {}) {
    const request = new Request(input, init ?? {});
    if (request.bodyUsed) throw new TypeError('the body of this request was read already');
    const signal = has(init, 'signal') ? init.signal : input instanceof Request ? input.signal : null;
    signal?.throwIfAborted();
    return send(request, signal);
  }

  return { call: fetch, globals: { Headers, Request, Response } };
}
