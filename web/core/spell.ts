// What turns or hides text, or moves a cursor, is shown as what it is.
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
export const spell = (text: string): string =>
  text.replace(ODD, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`);
