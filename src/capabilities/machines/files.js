// vm.read, vm.write and vm.ls as code sees them, with bytes as Uint8Array.
//
// An expression (call, callSync, kit) => vm.read, for the row vm.read; it leaves in kit.shared
// what makes those of the others. Taken into the program by calls_files.c.
(call, callSync, kit) => {
  'use strict';

  const isBytes = (value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value);
  const bytesOf = (value) =>
    value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value);
  const sent = (value) => (isBytes(value) ? { base64: bytesOf(value).toBase64() } : value);

  // vm.read('/a', {offset: 3}), vm.read({path: '/a'}).
  const named = (first, second) =>
    isObject(first) && !('base64' in first) ? { ...first } : { ...(second ?? {}), ...(first === undefined ? {} : { path: first }) };

  kit.shared.vmLs = (list) => (path, options) => list(named(path, options));
  kit.shared.vmWrite = (write) => (path, content, more) => {
    const options = named(path, { ...more, content });
    if ('content' in options) options.content = sent(options.content);
    return write(options);
  };

  // What is no text is a Uint8Array.
  const received = (file) => {
    if (file.contentEncoding === 'base64') file.content = Uint8Array.fromBase64(file.content);
    delete file.contentEncoding;
    return file;
  };

  return async (path, options) => received(await call(named(path, options)));
}
