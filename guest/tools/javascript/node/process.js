'use strict';
const EventEmitter = require('events/');
const { check } = require('./errors.js');
const { later } = require('./loop.js');
const { Input, Output } = require('./streams.js');

const process = module.exports = new EventEmitter();
let streams = null;
const stream = (name) => (streams ??= {
  stdin: new Input(0), stdout: new Output(1), stderr: new Output(2),
})[name];

Object.assign(process, {
  argv: ['node', 'program'], env: {}, execArgv: [], execPath: '/usr/bin/node', exitCode: undefined,
  platform: 'linux', arch: 'wasm32', pid: 1, title: 'node', release: { name: 'node' },
  version: 'v24.0.0', versions: { node: '24.0.0' }, browser: false, config: {}, features: {},
  cwd: () => system.cwd(),
  chdir(folder) { check(system.chdir(folder), 'chdir', folder); },
  exit(code) {
    if (code !== undefined) process.exitCode = code;
    end();
  },
  reallyExit: (code) => system.exit(code),
  nextTick(act, ...args) { Promise.resolve().then(() => act(...args)); },
  memoryUsage: () => ({ heapUsed: system.memory(), heapTotal: system.memory(), rss: system.memory() }),
  uptime: () => system.clock(true) / 1000,
  umask: () => 0o022,
  emitWarning(warning) { later(() => stream('stderr').write(`(node) Warning: ${warning}\n`)); },
  hrtime: Object.assign((since = [0, 0]) => {
    const ns = system.clock(true) * 1e6 - (since[0] * 1e9 + since[1]);
    return [Math.floor(ns / 1e9), ns % 1e9];
  }, { bigint: () => BigInt(Math.round(system.clock(true) * 1e6)) }),
});
for (const name of ['stdin', 'stdout', 'stderr'])
  Object.defineProperty(process, name, { get: () => stream(name), enumerable: true, configurable: true });

let ending = false;
function end() {
  const code = () => Number(process.exitCode) || 0;
  if (!ending) {
    ending = true;
    process.emit('exit', code());
  }
  system.exit(code() & 255);
}

// What belongs to one call, and not to the image.
process.begin = () => {
  const args = system.args();
  process.argv = ['/usr/bin/node', '/usr/bin/' + (args[0] || 'program'), ...args.slice(1)];
  process.env = Object.fromEntries(system.environment().map((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
  }));
  process.removeAllListeners();
  streams = null;
  ending = false;
  process.exitCode = undefined;
};
process.end = end;
