// vm as code sees it: vm.exec and its siblings, with bytes as Uint8Array.
//
// An expression (call, callSync, kit) => vm.exec. Taken into the program by calls_vm.c.
(call, callSync, kit) => {
  'use strict';

  const isBytes = (value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value);
  const bytesOf = (value) =>
    value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value);

  const sent = (files) =>
    Object.fromEntries(Object.entries(files).map(([name, v]) => [name, isBytes(v) ? { base64: bytesOf(v).toBase64() } : v]));

  // vm.exec('ls'), vm.exec(['ls', '-l'], {cwd: '/'}), vm.exec({command: 'ls'}).
  const asked = (first, second) => {
    const options = isObject(first) ? { ...first } : { ...(second ?? {}), command: first };
    if (isBytes(options.stdin)) options.stdin = { base64: bytesOf(options.stdin).toBase64() };
    if (isObject(options.files)) options.files = sent(options.files);
    if (Array.isArray(options.mounts))
      options.mounts = options.mounts.map((m) => (isObject(m) && isObject(m.files) ? { ...m, files: sent(m.files) } : m));
    return options;
  };

  // What is no text is a Uint8Array.
  const received = (result) => {
    for (const stream of ['stdout', 'stderr'])
      if (result[stream + 'Encoding'] === 'base64') {
        result[stream] = Uint8Array.fromBase64(result[stream]);
        delete result[stream + 'Encoding'];
      }
    for (const file of result.files ?? [])
      if (file.base64 !== undefined) {
        file.bytes = Uint8Array.fromBase64(file.base64);
        delete file.base64;
      }
    return result;
  };

  return async (first, second) => received(await call(asked(first, second)));
}
