// What a program written for node finds: its modules, as far as command lines use them,
// and the globals. A function of the system's calls (system.c) and of what makes URL;
// main.c calls the functions that it leaves in the world.
'use strict';

globalThis.global = globalThis; // packages look for it when they are loaded
module.exports = function install(makeUrl) {
  const { Buffer, TextEncoder, TextDecoder, decodeBroken } = require('./bytes.js');
  const path = require('path-browserify');
  const define = (object, name, value) =>
    Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
  const { URL, URLSearchParams } = makeUrl({
    world: globalThis, define,
    encode: (text) => new Uint8Array(system.encode(text)),
    decode: decodeBroken, isUtf8: () => true, decodeBroken,
  });
  require('./errors.js').tellErrors();
  const loop = require('./loop.js');
  const process = require('./process.js');
  define(globalThis, 'process', process); // npm's util looks for it when it is loaded
  const fs = require('./fs.js');
  const util = require('./util.js');

  const url = {
    ...require('url/'), URL, URLSearchParams,
    fileURLToPath: (from) => decodeURIComponent(new URL(String(from)).pathname),
    pathToFileURL: (file) => new URL('file://' + path.resolve(file).split('/').map(encodeURIComponent).join('/')),
  };
  const os = {
    EOL: '\n', platform: () => 'linux', type: () => 'Linux', arch: () => 'wasm32', tmpdir: () => '/tmp',
    homedir: () => process.env.HOME || '/', cpus: () => [{}], release: () => '', hostname: () => 'localhost',
  };
  const absent = (name) => () => {
    throw new Error(`${name} is not there: this program runs without a network and without processes`);
  };
  const modules = {
    buffer: { Buffer }, fs, 'fs/promises': fs.promises, events: require('events/'), os, path,
    process, url, util, tty: { isatty: () => false }, timers: loop.timers,
    http: { request: absent('http'), get: absent('http') }, https: { request: absent('https'), get: absent('https') },
    child_process: { spawn: absent('child_process'), exec: absent('child_process'), execSync: absent('child_process') },
    assert: Object.assign((ok, why) => { if (!ok) throw new Error(why || 'assertion failed'); }, {}),
  };
  const { makeRequire } = require('./require.js')(modules);
  modules.module = { createRequire: makeRequire };

  for (const [name, value] of Object.entries({
    Buffer, TextEncoder, TextDecoder, URL, URLSearchParams,
    console: require('./console.js'), require: makeRequire('/'), ...loop.timers,
  })) define(globalThis, name, value);
  // The engine was seeded when the image was made.
  Math.random = () => new DataView(system.random(4)).getUint32(0) / 2 ** 32;

  require('./programs.js');
};
