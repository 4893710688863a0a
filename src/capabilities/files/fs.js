// fs as Node.js has it, around one host call a method: promises, and siblings that end in
// Sync. The host answers {value}, or {errno, ...}, which becomes an error with a code.
//
// An expression (call, callSync, kit) => {call, globals}, for the first row; it leaves in
// kit.shared what makes those of the others. Taken into the program by calls_fs.c.
(call, callSync, kit) => {
  'use strict';

  // ---- arguments ------------------------------------------------------------

  const bad = (message) => Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_VALUE' });
  const pathOf = (path) => {
    if (typeof path !== 'string') throw bad(`a path must be a string, not ${path === null ? 'null' : typeof path}`);
    if (path.includes('\0')) throw bad('a path holds a NUL character');
    return path;
  };
  const whole = (value, name) => {
    if (!Number.isSafeInteger(value) || value < 0) throw bad(`${name} must be a whole number from 0 on`);
    return value;
  };

  const ENCODINGS = {
    utf8: 'utf8', 'utf-8': 'utf8', base64: 'base64', hex: 'hex', latin1: 'latin1', binary: 'latin1', ascii: 'latin1',
  };
  const encodingOf = (options) => {
    const name = typeof options === 'string' ? options : options?.encoding;
    if (name === undefined || name === null || name === 'buffer') return undefined;
    const known = Object.hasOwn(ENCODINGS, String(name).toLowerCase()) && ENCODINGS[String(name).toLowerCase()];
    if (!known) throw bad(`the encoding '${name}' is not known; utf8, base64, hex and latin1 are`);
    return known;
  };
  const flagOf = (options, usual) => (typeof options === 'object' && options?.flag) || usual;

  const latin1 = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0) & 255);
  // What is to be written: {text}, or {base64} for bytes.
  const dataOf = (data, options) => {
    if (data instanceof ArrayBuffer) data = new Uint8Array(data);
    if (ArrayBuffer.isView(data))
      return { base64: new Uint8Array(data.buffer, data.byteOffset, data.byteLength).toBase64() };
    if (typeof data !== 'string')
      throw bad(`data must be a string or bytes, not ${data === null ? 'null' : typeof data}; JSON.stringify() makes a string of it`);
    switch (encodingOf(options)) {
      case 'base64': return { base64: Uint8Array.fromBase64(data.replaceAll('-', '+').replaceAll('_', '/').replace(/[^A-Za-z0-9+/]/g, '')).toBase64() };
      case 'hex': return { base64: Uint8Array.fromHex(data).toBase64() };
      case 'latin1': return { base64: latin1(data).toBase64() };
      default: return { text: data };
    }
  };

  // ---- answers --------------------------------------------------------------

  const decoded = (base64, encoding) => {
    if (encoding === 'base64') return base64;
    const bytes = Uint8Array.fromBase64(base64);
    if (encoding === 'hex') return bytes.toHex();
    return encoding === 'latin1' ? Array.from(bytes, (b) => String.fromCharCode(b)).join('') : bytes;
  };

  class Kind {
    #type;
    constructor(type) { this.#type = type; }
    isFile() { return this.#type === 'file'; }
    isDirectory() { return this.#type === 'folder'; }
    isSymbolicLink() { return this.#type === 'link'; }
    isFIFO() { return false; }
    isSocket() { return false; }
    isBlockDevice() { return false; }
    isCharacterDevice() { return false; }
  }
  class Dirent extends Kind {
    constructor({ name, parent, type }) {
      super(type);
      this.name = name;
      this.parentPath = parent;
    }
  }
  class Stats extends Kind {
    constructor({ type, ...numbers }) {
      super(type);
      Object.assign(this, numbers);
      this.mode = type === 'folder' ? 0o40755 : type === 'link' ? 0o120777 : 0o100644;
      for (const name of ['atime', 'mtime', 'ctime']) this[name] = new Date(this[`${name}Ms`]);
    }
  }

  const fail = ({ errno, text, syscall, path, dest }, error) => {
    error.message = `${errno}: ${text}, ${syscall} '${path}'${dest === undefined ? '' : ` -> '${dest}'`}`;
    return Object.assign(error, { code: errno, syscall, path }, dest === undefined ? {} : { dest });
  };

  // ---- methods --------------------------------------------------------------

  // For each: what the host is sent for the arguments, and what is made of its answer.
  const same = (value) => value;
  const nothing = () => undefined;
  const METHODS = {
    readFile: [(path, options) => [pathOf(path), encodingOf(options) ?? null],
      (value, [, encoding]) => (encoding === 'utf8' ? value : decoded(value, encoding))],
    writeFile: [(path, data, options) => [pathOf(path), dataOf(data, options), flagOf(options, 'w')], nothing],
    appendFile: [(path, data, options) => [pathOf(path), dataOf(data, options), flagOf(options, 'a')], nothing],
    readdir: [(path, options) => [pathOf(path), Boolean(options?.recursive), Boolean(options?.withFileTypes)],
      (value, [, , types]) => (types ? value.map((entry) => new Dirent(entry)) : value)],
    mkdir: [(path, options) => [pathOf(path), Boolean(options?.recursive)], (value) => value ?? undefined],
    rm: [(path, options) => [pathOf(path), Boolean(options?.recursive), Boolean(options?.force)], nothing],
    rmdir: [(path) => [pathOf(path)], nothing],
    unlink: [(path) => [pathOf(path)], nothing],
    rename: [(from, to) => [pathOf(from), pathOf(to)], nothing],
    copyFile: [(from, to, mode = 0) => [pathOf(from), pathOf(to), Boolean(mode & 1)], nothing],
    stat: [(path) => [pathOf(path)], (value) => new Stats(value)],
    lstat: [(path) => [pathOf(path)], (value) => new Stats(value)],
    exists: [(path) => [typeof path === 'string' && !path.includes('\0') ? path : ''], same],
    access: [(path, mode = 0) => [pathOf(path), Boolean(mode & 2)], nothing],
    truncate: [(path, size = 0) => [pathOf(path), whole(size, 'the size')], nothing],
  };

  const promises = {};
  // Where statSync is told not to throw for what is not there.
  const forgives = (name, options) => /^l?stat$/.test(name) && options?.throwIfNoEntry === false;

  kit.shared.fs = (name) => (call, callSync) => {
    const [prepare, finish] = METHODS[name];
    const make = async (here, args) => {
      if (typeof args[args.length - 1] === 'function') throw Object.assign(here, { name: 'TypeError', message: `fs.${name} takes no callback: it answers a promise, to be awaited`, code: 'ERR_INVALID_ARG_VALUE' });
      const sent = prepare(...args);
      const answer = await call(...sent);
      if (answer.errno) throw fail(answer, here);
      return finish(answer.value, sent);
    };
    // The error is made before anything is waited for, so that it knows its line.
    const method = { [name]: (...args) => make(new Error(), args) }[name];
    const sync = (...args) => {
      const sent = prepare(...args);
      const answer = callSync(...sent);
      if (answer.errno === 'ENOENT' && forgives(name, args[1])) return undefined;
      if (answer.errno) throw fail(answer, new Error());
      return finish(answer.value, sent);
    };
    promises[name] = method;
    return { call: method, globals: { [`fs.${name}Sync`]: sync } };
  };

  const first = kit.shared.fs('readFile')(call, callSync);
  const constants = Object.freeze({ F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4, COPYFILE_EXCL: 1 });
  return { call: first.call, globals: { ...first.globals, 'fs.promises': promises, 'fs.constants': constants } };
}
