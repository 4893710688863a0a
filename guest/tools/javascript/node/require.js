// require(): node's modules by name, and files. Those are for what a person writes: a
// program's configuration, an extension of it.
'use strict';
const path = require('path-browserify');
const fs = require('./fs.js');

module.exports = function make(modules) {
  const cache = new Map();

  // A file, with the endings that may be left out. A name that is none is nobody's.
  function find(name, from) {
    const plain = name.startsWith('file://') ? decodeURIComponent(name.slice(7)) : name;
    if (/^\.{0,2}\//.test(plain)) {
      const at = path.resolve(path.dirname(from), plain);
      for (const ending of ['', '.js', '.cjs', '.mjs', '.json', '/index.js'])
        if (fs.packaged.has(at + ending) || isFile(at + ending)) return at + ending;
    }
    throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
  }

  function isFile(at) {
    const st = fs.statSync(at, { throwIfNoEntry: false });
    return st !== undefined && st.isFile();
  }

  function load(file) {
    if (cache.has(file)) return cache.get(file).exports;
    const source = fs.readFileSync(file, 'utf8').replace(/^#!.*/, '');
    if (file.endsWith('.json')) return JSON.parse(source);
    if (file.endsWith('.mjs') || (!file.endsWith('.cjs') && system.isModule(source))) return system.module(file);
    const module = { exports: {}, filename: file, id: file };
    cache.set(file, module);
    const run = system.run(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, file);
    run.call(module.exports, module.exports, makeRequire(file), module, file, path.dirname(file));
    return module.exports;
  }

  function makeRequire(from) {
    const base = String(from).replace(/^file:\/\//, '');
    const require = (name) => {
      const plain = name.startsWith('node:') ? name.slice(5) : name;
      return Object.hasOwn(modules, plain) ? modules[plain] : load(find(name, base));
    };
    require.resolve = (name) => (Object.hasOwn(modules, name) ? name : find(name, base));
    require.cache = {};
    return require;
  }

  // What import() of a path in a program became (the recipe says which).
  globalThis.importFile = async (file) => {
    const found = load(find(file, '/'));
    return found && found[Symbol.toStringTag] === 'Module' ? found : { default: found };
  };
  return { makeRequire };
};
