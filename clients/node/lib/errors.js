// Errors by name: those of the server (docs/api.md: NotFound, PermissionDenied, Timeout, ...), and
// ProgramNotFound, ImageNotFound, NotStarted, OutputTooLarge, FileError, Disconnected.
export class ClocheError extends Error {
  constructor(name, message, { cause, details, result } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    Object.defineProperty(this, 'name', { value: name, configurable: true, writable: true });
    if (details !== undefined) this.details = details;
    if (result !== undefined) this.result = result;
  }
}

const NAMED = /^([A-Z][A-Za-z]+): ([\s\S]*)$/;

// The error of a call that was refused: its text is "NotFound: there is no ...".
export const errorOfText = (text) => {
  const [, name = 'ClocheError', message = text] = NAMED.exec(text) ?? [];
  return new ClocheError(name, message);
};

// The error of an answer that has errorDetails.
export const errorOfAnswer = (answer, result) => {
  const details = answer.errorDetails ?? {};
  return new ClocheError(details.type ?? 'ClocheError', answer.error ?? details.message ?? 'it failed', { details, result });
};
