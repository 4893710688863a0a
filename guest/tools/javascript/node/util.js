'use strict';
const util = require('util/');
const { parseArgs } = require('@pkgjs/parseargs');

// Errors as node prints them: npm's shows no frames.
const { format } = util;
const shown = (value) => (value instanceof Error && typeof value.stack === 'string' ? value.stack : value);

// npm's wants a callback; node's own functions of that kind are asked for by name.
module.exports = {
  ...util, parseArgs,
  format: (...args) => format(...args.map(shown)),
  stripVTControlCharacters: (text) => String(text).replace(/\x1b\[[0-9;?]*[A-Za-z]/g, ''),
  isDeepStrictEqual: (a, b) => JSON.stringify(a) === JSON.stringify(b),
  types: util.types || {},
};
