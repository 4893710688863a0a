'use strict';
const util = require('util/');
const { parseArgs } = require('@pkgjs/parseargs');

// npm's wants a callback; node's own functions of that kind are asked for by name.
module.exports = {
  ...util, parseArgs,
  stripVTControlCharacters: (text) => String(text).replace(/\x1b\[[0-9;?]*[A-Za-z]/g, ''),
  isDeepStrictEqual: (a, b) => JSON.stringify(a) === JSON.stringify(b),
  types: util.types || {},
};
