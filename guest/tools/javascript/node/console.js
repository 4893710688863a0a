'use strict';
const process = require('./process.js');
const { format } = require('./util.js');

const to = (name) => (...args) => void process[name].write(format(...args) + '\n');
const times = new Map();

module.exports = {
  log: to('stdout'), info: to('stdout'), debug: to('stdout'), dir: to('stdout'),
  error: to('stderr'), warn: to('stderr'), trace: to('stderr'),
  assert(ok, ...args) { if (!ok) to('stderr')('Assertion failed:', ...args); },
  time(name = 'default') { times.set(name, system.clock(true)); },
  timeEnd(name = 'default') { to('stdout')(`${name}: ${(system.clock(true) - times.get(name)).toFixed(3)}ms`); },
  group() {}, groupEnd() {}, table: to('stdout'),
};
