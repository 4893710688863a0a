// Bytes on their way through JSON: text, or {base64}.

export const isBytes = (value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value);

export const bufferOf = (value) => {
  if (typeof value === 'string') return Buffer.from(value);
  return value instanceof ArrayBuffer ? Buffer.from(value) : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
};

export const base64Of = (value) => (isBytes(value) ? { base64: bufferOf(value).toString('base64') } : value);

export const filesIn = (files) => Object.fromEntries(Object.entries(files).map(([name, data]) => [name, base64Of(data)]));

// stdout and stderr of an answer as text, where bytes that are not UTF-8 become U+FFFD, and, not
// enumerable, as the bytes that they are: stdoutBytes and stderrBytes.
export const streamsOf = (answer, into = answer) => {
  for (const stream of ['stdout', 'stderr']) {
    const coded = answer[`${stream}Encoding`] === 'base64';
    const bytes = Buffer.from(answer[stream], coded ? 'base64' : 'utf8');
    delete into[`${stream}Encoding`];
    into[stream] = coded ? bytes.toString() : answer[stream];
    Object.defineProperty(into, `${stream}Bytes`, { value: bytes });
  }
  return into;
};

// Adds the bytes of files that were left behind, not enumerable; not of one that was too large to be in the answer.
export const filesOf = (answer) => {
  for (const file of answer.files ?? []) {
    const coded = file.base64 !== undefined;
    if (coded || file.text !== undefined)
      Object.defineProperty(file, 'bytes', { value: Buffer.from(coded ? file.base64 : file.text, coded ? 'base64' : 'utf8') });
  }
  return answer.files;
};
