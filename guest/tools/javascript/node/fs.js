// Files. Each function is done when it is called; those with a callback or a promise
// tell of it later, in order.
'use strict';
const path = require('path-browserify');
const { Buffer, inEncoding, outOf } = require('./bytes.js');
const { check } = require('./errors.js');
const { settle } = require('./loop.js');
const { Input, Output } = require('./streams.js');

const constants = {
  F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 0o100,
  O_EXCL: 0o200, O_TRUNC: 0o1000, O_APPEND: 0o2000, COPYFILE_EXCL: 1,
};
const { O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND } = constants;
const FLAGS = {
  r: 0, 'r+': O_RDWR, w: O_WRONLY | O_CREAT | O_TRUNC, 'w+': O_RDWR | O_CREAT | O_TRUNC,
  a: O_WRONLY | O_CREAT | O_APPEND, 'a+': O_RDWR | O_CREAT | O_APPEND,
  wx: O_WRONLY | O_CREAT | O_TRUNC | O_EXCL, ax: O_WRONLY | O_CREAT | O_APPEND | O_EXCL,
};
const KIND = 0o170000, FOLDER = 0o040000, FILE = 0o100000, LINK = 0o120000;

// Files of a program's own package, that its bundle brought along.
const packaged = new Map();

const named = (file) => {
  const name = file instanceof URL ? decodeURIComponent(file.pathname) : Buffer.isBuffer(file) ? file.toString() : file;
  if (typeof name !== 'string') throw new TypeError(`The "path" argument must be of type string. Received ${name}`);
  return name;
};
const encodingOf = (options) => (typeof options === 'string' ? options : options && options.encoding);

class Stats {
  constructor([mode, size, atimeMs, mtimeMs, ctimeMs, ino, nlink, dev]) {
    Object.assign(this, { mode, size, atimeMs, mtimeMs, ctimeMs, birthtimeMs: ctimeMs, ino, nlink, dev, uid: 0, gid: 0 });
    this.atime = new Date(atimeMs);
    this.mtime = new Date(mtimeMs);
    this.ctime = this.birthtime = new Date(ctimeMs);
  }
  isDirectory() { return (this.mode & KIND) === FOLDER; }
  isFile() { return (this.mode & KIND) === FILE; }
  isSymbolicLink() { return (this.mode & KIND) === LINK; }
  isFIFO() { return false; }
  isSocket() { return false; }
  isCharacterDevice() { return (this.mode & KIND) === 0o020000; }
  isBlockDevice() { return false; }
}

class Dirent {
  constructor(name, kind, parentPath) { Object.assign(this, { name, parentPath, path: parentPath, mode: kind }); }
}
for (const name of ['isDirectory', 'isFile', 'isSymbolicLink', 'isFIFO', 'isSocket'])
  Dirent.prototype[name] = Stats.prototype[name];

const statOf = (call, follow) => (file, options) => {
  const answer = system.stat(named(file), follow);
  if (typeof answer === 'number' && options && options.throwIfNoEntry === false) return undefined;
  return new Stats(check(answer, call, file));
};

function openSync(file, flags = 'r') {
  const how = typeof flags === 'number' ? flags : FLAGS[flags];
  if (how === undefined) throw new TypeError(`The value "${flags}" is invalid for option "flags"`);
  return check(system.open(named(file), how), 'open', named(file));
}

function readFileSync(file, options) {
  if (packaged.has(file)) return inEncoding(system.encode(packaged.get(file)), encodingOf(options));
  const fd = typeof file === 'number' ? file : openSync(file, (options && options.flag) || 'r');
  try {
    // A folder may be opened, but not read.
    if (fd > 2 && new Stats(check(system.stat(fd), 'fstat')).isDirectory()) check(-31, 'read');
    return inEncoding(check(system.read(fd), 'read'), encodingOf(options));
  } finally {
    if (fd !== file) system.close(fd);
  }
}

const writer = (flag) => (file, data, options) => {
  const fd = typeof file === 'number' ? file : openSync(file, (options && options.flag) || flag);
  try {
    check(system.write(fd, outOf(data, encodingOf(options))), 'write');
  } finally {
    if (fd !== file) system.close(fd);
  }
};

function mkdirSync(folder, options) {
  const name = named(folder);
  const answer = system.mkdir(name);
  if (answer >= 0 || !(options && options.recursive)) return void check(answer, 'mkdir', name);
  if (answer === -44 && path.dirname(name) !== name) {
    mkdirSync(path.dirname(name), options);
    return void check(system.mkdir(name), 'mkdir', name);
  }
  const there = system.stat(name, true);
  if (typeof there === 'number' || !new Stats(there).isDirectory()) check(answer, 'mkdir', name);
}

function readdirSync(folder, options) {
  const flat = check(system.readdir(named(folder)), 'scandir', folder);
  const all = [];
  for (let i = 0; i < flat.length; i += 2) all.push(new Dirent(flat[i], flat[i + 1], folder));
  all.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return options && options.withFileTypes ? all : all.map((d) => d.name);
}

function rmSync(file, options = {}) {
  const there = system.stat(named(file), false);
  if (typeof there === 'number') return void (options.force || check(there, 'rm', file));
  if (!new Stats(there).isDirectory()) return void check(system.unlink(file), 'rm', file);
  if (!options.recursive) check(-31, 'rm', file);
  for (const name of readdirSync(file)) rmSync(path.join(file, name), options);
  check(system.rmdir(file), 'rm', file);
}

function realpathSync(file) {
  let done = '/', todo = path.resolve(named(file)).split('/').filter(Boolean), links = 0;
  while (todo.length) {
    const at = path.join(done, todo[0]);
    const st = new Stats(check(system.stat(at, false), 'realpath', file));
    todo = todo.slice(1);
    if (!st.isSymbolicLink()) {
      done = at;
      continue;
    }
    if (++links > 40) check(-32, 'realpath', file);
    const to = path.resolve(done, check(system.readlink(at), 'readlink', at));
    todo = [...to.split('/').filter(Boolean), ...todo];
    done = '/';
  }
  return done;
}

const sync = {
  openSync, readFileSync, mkdirSync, readdirSync, rmSync, realpathSync,
  closeSync: (fd) => void check(system.close(fd), 'close'),
  writeFileSync: writer('w'),
  appendFileSync: writer('a'),
  writeSync: (fd, data) => check(system.write(fd, outOf(data)), 'write'),
  readSync(fd, into, offset = 0, length = into.byteLength - offset) {
    const got = new Uint8Array(check(system.read(fd, length), 'read'));
    new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(got, offset);
    return got.length;
  },
  statSync: statOf('stat', true),
  lstatSync: statOf('lstat', false),
  fstatSync: (fd) => new Stats(check(system.stat(fd), 'fstat')),
  accessSync: (file) => void check(typeof system.stat(named(file), true) === 'number' ? system.stat(file, true) : 0, 'access', file),
  unlinkSync: (file) => void check(system.unlink(named(file)), 'unlink', file),
  rmdirSync: (folder) => void check(system.rmdir(named(folder)), 'rmdir', folder),
  renameSync: (from, to) => void check(system.rename(named(from), named(to)), 'rename', from, to),
  symlinkSync: (to, at) => void check(system.symlink(named(to), named(at)), 'symlink', to, at),
  readlinkSync: (file) => check(system.readlink(named(file)), 'readlink', file),
  copyFileSync: (from, to, mode = 0) => writer(mode & 1 ? 'wx' : 'w')(to, readFileSync(from)),
  utimesSync: (file, a, m) => void check(system.utimes(named(file), Number(a) * (a instanceof Date ? 1 : 1000), Number(m) * (m instanceof Date ? 1 : 1000)), 'utime', file),
  chmodSync() {},
};

const fs = module.exports = {
  ...sync, constants, Stats, Dirent, promises: { constants }, packaged,
  existsSync(file) {
    try {
      return packaged.has(file) || typeof system.stat(named(file), true) !== 'number';
    } catch {
      return false;
    }
  },
  createReadStream: (file, options) => new Input(-1, () => openSync(file), encodingOf(options)),
  createWriteStream: (file, options) => new Output(-1, () => openSync(file, (options && options.flags) || 'w')),
  watch() { throw new Error('files cannot be watched here'); },
};
for (const name of Object.keys(sync)) {
  const plain = name.slice(0, -4), act = sync[name];
  fs[plain] = (...args) => {
    const done = args.pop();
    settle(() => act(...args), done);
  };
  fs.promises[plain] = async (...args) => act(...args);
}
