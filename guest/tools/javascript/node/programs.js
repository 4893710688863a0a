// Which program a call means, and how one begins and ends.
'use strict';
const loop = require('./loop.js');
const process = require('./process.js');
const fs = require('./fs.js');
const path = require('path-browserify');

const programs = new Map();

// Called by each program's bundle. `warm` does a piece of its work, before the image is
// made; `start` is its main program; `files` are of its package.
globalThis.addProgram = (name, { warm, start, files = {} }) => {
  programs.set(name, { warm, start });
  for (const [file, text] of Object.entries(files)) fs.packaged.set(file, text);
};

function crash(error) {
  const text = error && typeof error.stack === 'string' ? error.stack : String(error);
  process.stderr.write(text.trimEnd() + '\n');
  process.exitCode = process.exitCode || 1;
  process.end();
}

let broken = null;
globalThis.warmPrograms = () => {
  for (const { warm } of programs.values())
    Promise.resolve().then(warm).catch((error) => { broken ??= error; });
};
globalThis.programsAreWarm = () => {
  loop.run();
  if (broken) throw new Error(String(broken.stack));
  loop.clear();
  process.exitCode = undefined;
};

globalThis.startProgram = () => {
  process.begin();
  const name = path.basename(process.argv[1]);
  const program = programs.get(name);
  if (!program) {
    process.stderr.write(`there is no program ${name} here, but ${[...programs.keys()].join(', ')}\n`);
    return void (process.exitCode = 127);
  }
  Promise.resolve().then(program.start).catch(crash);
};
globalThis.runLoop = () => {
  for (;;) {
    try {
      loop.run();
      return void process.end();
    } catch (error) {
      crash(error);
    }
  }
};
