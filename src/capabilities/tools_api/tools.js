// tools as code sees it: tools.run, tools.pipe and the like, and every command-line tool
// under its own name, tools.jq or tools['clang-format'] or tools.clangFormat. Which there
// are the host knows; a name that there is not is a NotFound when it is called.
//
// An expression (call, callSync, kit) => {call, globals}, for the row tools.run; it leaves
// in kit.shared what makes those of the others. Taken into the program by calls_tools.c.
(call, callSync, kit) => {
  'use strict';

  const isBytes = (value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value);
  const bytesOf = (value) =>
    value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const sent = (value) => (isBytes(value) ? { base64: bytesOf(value).toBase64() } : value);

  const bad = (message) => kit.error('InvalidInput', message);
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value);

  // What goes to the host: bytes as base64. `first` may be the args alone: tools.wc(['-l'], {stdin}).
  const options = (first, second) => {
    const given = Array.isArray(first) ? { ...second, args: first } : (first ?? {});
    const wrong = !isObject(given) ? given : (second ?? null) !== null && !(Array.isArray(first) && isObject(second)) ? second : null;
    if (wrong !== null) throw bad(`options are one object such as {args: ['-l'], stdin: 'text'}, not ${isObject(wrong) ? 'two' : typeof wrong}`);
    const out = { ...given };
    if ('stdin' in out) out.stdin = sent(out.stdin);
    if (Array.isArray(out.files)) out.files = Object.fromEntries(out.files.map((f) => [f?.name, f?.text ?? f?.bytes]));
    if (isObject(out.files)) out.files = Object.fromEntries(Object.entries(out.files).map(([name, v]) => [name, sent(v)]));
    return out;
  };

  // What comes from there: what is no text is a Uint8Array.
  const received = (result) => {
    if (result.stdoutEncoding === 'base64') {
      result.stdout = Uint8Array.fromBase64(result.stdout);
      delete result.stdoutEncoding;
    }
    for (const file of result.files ?? [])
      if (file.base64 !== undefined) {
        file.bytes = Uint8Array.fromBase64(file.base64);
        delete file.base64;
      }
    // What the manifest makes of stdout, for code; in answers the same text stands once.
    if (result.success && typeof result.stdout === 'string' && !result.truncated?.stdout) {
      const text = result.stdout;
      Object.defineProperty(result, 'result', {
        value: result.returns === 'object' ? JSON.parse(text) : text.endsWith('\n') ? text.slice(0, -1) : text,
        writable: true,
        configurable: true,
        enumerable: false,
      });
    }
    return result;
  };

  const attempt = (make) => {
    let args;
    try {
      args = make();
    } catch (error) {
      return Promise.reject(error);
    }
    return args;
  };

  const start = (by, make) => {
    const args = attempt(make);
    return args instanceof Promise ? args : kit.then(by(...args), received);
  };

  const run = (name, first, second) =>
    start(call, () => {
      if (typeof name !== 'string') throw bad(`a tool's name is a string such as 'jq', not ${typeof name}`);
      return [name, options(first, second)];
    });

  kit.shared.pipe = (callPipe) => (stages, shared) =>
    start(callPipe, () => {
      if (!Array.isArray(stages)) throw bad("stages are an array such as [{tool: 'sort'}, {tool: 'uniq', args: ['-c']}]");
      const isStage = (stage) => isObject(stage) && (typeof stage.tool === 'string' || stage.vm !== undefined);
      if (!stages.every(isStage)) throw bad("each stage is an object such as {tool: 'sort', args: ['-u']} or {vm: 'sort -u'}");
      return [stages.map((stage) => options(stage)), options(shared)];
    });

  // A function for every name. `then` is none: tools can be the answer of an async function.
  const made = new Map();
  const tools = new Proxy(
    { run },
    {
      get(target, key, receiver) {
        if (typeof key === 'symbol' || key in target || key === 'then' || key === 'toJSON')
          return Reflect.get(target, key, receiver);
        if (!made.has(key)) made.set(key, { [key]: (first, second) => run(key, first, second) }[key]);
        return made.get(key);
      },
    },
  );
  return { call: run, globals: { tools } };
}
