// Streams over descriptors. Reading waits for all that there is; writing is done at once.
'use strict';
const EventEmitter = require('events/');
const { inEncoding, outOf } = require('./bytes.js');
const { check } = require('./errors.js');
const { later } = require('./loop.js');

const CHUNK = 65536;

class Input extends EventEmitter {
  #fd;
  #open; // () => fd, for a file that is opened when it is first read
  #encoding = null;
  #begun = false;
  #paused = false;
  #waiting = null; // what read() hands out
  #all = null;

  constructor(fd, open = null, encoding = null) {
    super();
    this.#fd = fd;
    this.#open = open;
    this.#encoding = encoding;
    this.fd = fd;
    this.isTTY = undefined;
    this.readable = true;
  }

  setEncoding(encoding) { this.#encoding = encoding; return this; }
  pause() { this.#paused = true; return this; }
  resume() { this.#paused = false; this.#begin(); return this; }
  ref() { return this; }
  unref() { return this; }
  destroy() { this.removeAllListeners(); return this; }

  on(name, act) {
    super.on(name, act);
    if (name === 'data' || name === 'readable') this.#begin();
    return this;
  }
  addListener(name, act) { return this.on(name, act); }

  read() {
    const chunk = this.#waiting;
    this.#waiting = null;
    return chunk;
  }

  pipe(to) {
    this.on('data', (chunk) => to.write(chunk));
    this.on('end', () => { if (to.fd > 2) to.end(); });
    return to;
  }

  async *[Symbol.asyncIterator]() {
    const bytes = this.#read();
    if (bytes.byteLength) yield inEncoding(bytes, this.#encoding);
  }

  #read() {
    if (this.#open) this.fd = this.#fd = this.#open();
    const bytes = check(system.read(this.#fd), 'read');
    if (this.#open) system.close(this.#fd);
    return bytes;
  }

  #begin() {
    if (this.#begun) return;
    this.#begun = true;
    later(() => {
      let bytes;
      try {
        bytes = this.#read();
      } catch (error) {
        return void this.emit('error', error);
      }
      this.#all = inEncoding(bytes, this.#encoding);
      this.#deliver(0);
    });
  }

  // A text in one piece: no character is cut. Bytes in pieces, as programs expect.
  #deliver(from) {
    const size = typeof this.#all === 'string' ? Infinity : CHUNK;
    if (from < this.#all.length) {
      const chunk = size === Infinity ? this.#all : this.#all.subarray(from, from + size);
      this.#waiting = chunk;
      this.emit('data', chunk);
      this.emit('readable');
      return void later(() => this.#deliver(from + size));
    }
    this.#waiting = null;
    this.readable = false;
    this.emit('readable');
    this.emit('end');
    this.emit('close');
  }
}

class Output extends EventEmitter {
  #open;
  constructor(fd, open = null) {
    super();
    this.fd = fd;
    this.#open = open;
    this.isTTY = undefined;
    this.columns = undefined;
    this.writable = true;
    this.writableLength = 0;
    if (open) later(() => this.#ready());
  }

  #ready() {
    if (!this.#open || this.fd >= 0) return true;
    try {
      this.fd = this.#open();
      this.#open = null;
    } catch (error) {
      this.#open = null;
      this.writable = false;
      later(() => this.emit('error', error));
      return false;
    }
    return true;
  }

  write(data, encoding, done) {
    const call = typeof encoding === 'function' ? encoding : done;
    if (!this.#ready() || !this.writable) return false;
    const answer = system.write(this.fd, outOf(data, encoding));
    if (answer < 0 && this.fd > 2) later(() => { try { check(answer, 'write'); } catch (e) { this.emit('error', e); } });
    if (call) later(call);
    return true;
  }

  end(data, encoding, done) {
    const call = [data, encoding, done].find((x) => typeof x === 'function');
    if (data !== undefined && data !== null && typeof data !== 'function') this.write(data, encoding);
    if (this.#ready() && this.fd > 2) system.close(this.fd);
    this.writable = false;
    later(() => { this.emit('finish'); this.emit('close'); if (call) call(); });
    return this;
  }

  cork() {}
  uncork() {}
  destroy() { this.writable = false; }
}

module.exports = { Input, Output };
