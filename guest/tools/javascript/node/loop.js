// The event loop: what was put off, in order, and timers. Everything else that a program
// waits for is done when it is asked for, so nothing here ever waits but for a timer.
'use strict';

let queue = [];
let timers = new Map();
let count = 0;

const later = (act) => void queue.push(act);
const settle = (act, done) => {
  let value;
  try {
    value = act();
  } catch (error) {
    return later(() => done(error));
  }
  later(() => done(null, value));
};

const start = (act, ms, args, every) => {
  const wait = Math.max(1, Math.min(Number(ms) || 0, 2 ** 31 - 1));
  const timer = {
    id: ++count, at: system.clock(true) + wait, every: every ? wait : 0, act: () => act(...args),
    ref() { return this; }, unref() { return this; }, hasRef: () => true,
    [Symbol.toPrimitive]() { return this.id; },
  };
  timers.set(timer.id, timer);
  return timer;
};
const stop = (timer) => void timers.delete(typeof timer === 'object' && timer ? timer.id : Number(timer));

function nextTimer() {
  let first = null;
  for (const t of timers.values()) if (!first || t.at < first.at) first = t;
  return first;
}

function runTimer(timer) {
  const wait = timer.at - system.clock(true);
  if (wait > 0) system.sleep(wait);
  if (timer.every) timer.at = system.clock(true) + timer.every;
  else timers.delete(timer.id);
  timer.act();
}

// Until nothing is left to do.
function run() {
  for (;;) {
    system.jobs();
    const timer = queue.length ? null : nextTimer();
    if (!queue.length && !timer) return;
    if (timer) runTimer(timer);
    else queue.shift()();
  }
}

module.exports = {
  later, settle, run,
  clear() { queue = []; timers = new Map(); },
  timers: {
    setTimeout: (act, ms, ...args) => start(act, ms, args, false),
    setInterval: (act, ms, ...args) => start(act, ms, args, true),
    setImmediate: (act, ...args) => { later(() => act(...args)); return {}; },
    clearTimeout: stop, clearInterval: stop, clearImmediate() {},
    queueMicrotask: (act) => void Promise.resolve().then(act),
  },
};
