// Bytes and text. The conversions of UTF-8 are the system's: npm's Buffer does them
// character by character.
'use strict';
const { Buffer } = require('buffer/');

const view = (bytes) => (bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes);
const decode = (bytes) => {
  const { buffer, byteOffset, byteLength } = view(bytes);
  return system.decode(buffer, byteOffset, byteLength);
};

const UTF8 = new Set([undefined, null, 'utf8', 'utf-8', 'UTF-8', 'UTF8']);
const own = { from: Buffer.from, toString: Buffer.prototype.toString };
Buffer.from = function from(value, encoding, length) {
  if (typeof value === 'string' && UTF8.has(encoding)) return own.from(system.encode(value));
  return own.from(value, encoding, length);
};
Buffer.byteLength = (value, encoding) =>
  typeof value === 'string' ? Buffer.from(value, encoding).length : value.byteLength;
Buffer.prototype.toString = function toString(encoding, start = 0, end = this.length) {
  if (!UTF8.has(encoding)) return own.toString.call(this, encoding, start, end);
  return decode(this.subarray(start, end));
};

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return new Uint8Array(system.encode(String(text))); }
}

class TextDecoder {
  get encoding() { return 'utf-8'; }
  decode(bytes = new Uint8Array()) {
    const text = decode(ArrayBuffer.isView(bytes) ? bytes : new Uint8Array(bytes));
    return text.startsWith('\ufeff') ? text.slice(1) : text;
  }
}

// What fs and the streams hand out for bytes, by the encoding that was asked for.
const inEncoding = (bytes, encoding) => {
  if (!encoding || encoding === 'buffer') return Buffer.from(bytes);
  return UTF8.has(encoding) ? decode(bytes) : Buffer.from(bytes).toString(encoding);
};
// What they write: a string, or bytes.
const outOf = (data, encoding) => {
  if (typeof data === 'string' && !UTF8.has(encoding)) return Buffer.from(data, encoding);
  return ArrayBuffer.isView(data) ? data : String(data);
};

module.exports = { Buffer, TextEncoder, TextDecoder, decodeBroken: decode, inEncoding, outOf };
