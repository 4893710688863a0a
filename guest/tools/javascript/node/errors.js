// Errors of the system, in node's words. The numbers are WASI's.
'use strict';

const KNOWN = {
  2: ['EACCES', 'permission denied', -13], 8: ['EBADF', 'bad file descriptor', -9],
  20: ['EEXIST', 'file already exists', -17], 22: ['EFBIG', 'file too large', -27],
  28: ['EINVAL', 'invalid argument', -22], 29: ['EIO', 'i/o error', -5],
  31: ['EISDIR', 'illegal operation on a directory', -21], 32: ['ELOOP', 'too many symbolic links encountered', -40],
  33: ['EMFILE', 'too many open files', -24], 37: ['ENAMETOOLONG', 'name too long', -36],
  44: ['ENOENT', 'no such file or directory', -2], 48: ['ENOMEM', 'not enough memory', -12],
  51: ['ENOSPC', 'no space left on device', -28], 52: ['ENOSYS', 'function not implemented', -38],
  54: ['ENOTDIR', 'not a directory', -20], 55: ['ENOTEMPTY', 'directory not empty', -39],
  63: ['EPERM', 'operation not permitted', -1], 64: ['EPIPE', 'broken pipe', -32],
  69: ['EROFS', 'read-only file system', -30], 75: ['EXDEV', 'cross-device link not permitted', -18],
  76: ['EPERM', 'operation not permitted', -1],
};

// The answer of a system's call, or an exception.
function check(answer, call, path, dest) {
  if (typeof answer !== 'number' || answer >= 0) return answer;
  const [code, words, errno] = KNOWN[-answer] || ['UNKNOWN', 'unknown error', answer];
  const where = path === undefined ? '' : ` '${path}'` + (dest === undefined ? '' : ` -> '${dest}'`);
  const error = new Error(`${code}: ${words}, ${call}${where}`);
  Object.assign(error, { errno, code, syscall: call });
  if (path !== undefined) error.path = path;
  if (dest !== undefined) error.dest = dest;
  throw error;
}

// QuickJS keeps the frames of an error; programs expect node's text, which begins with what
// it is: a `stack` of its own that an error is given stays as it is.
function tellErrors() {
  const { get, set } = Object.getOwnPropertyDescriptor(Error.prototype, 'stack');
  Object.defineProperty(Error.prototype, 'stack', {
    configurable: true,
    enumerable: false,
    get() {
      const frames = get.call(this);
      return typeof frames === 'string' ? `${this}\n${frames}`.trimEnd() : frames;
    },
    set,
  });
}

module.exports = { check, tellErrors };
