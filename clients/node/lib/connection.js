// One `cloche mcp` process, spoken to by the Model Context Protocol 2026-07-28 over stdio: a JSON
// message in each line, every request complete in itself.
import { spawn } from 'node:child_process';
import { ClocheError } from './errors.js';

const VERSION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'agentvm', version: '0.1.0' },
};
const LINE_MAX = 16 * 1024 * 1024; // that the server reads
const STDERR_MAX = 4096; // kept for the message of an error
const END_MS = 10_000; // for calls that run when the connection is closed

export class Connection {
  #child;
  #next = 1;
  #pending = new Map();
  #parts = []; // of a line that has not ended
  #stderr = '';
  #ended; // the error that further requests get
  #exit;

  constructor(program, args, env) {
    const child = spawn(program, ['mcp', ...args], { stdio: ['pipe', 'pipe', 'pipe'], env });
    this.#child = child;
    this.#exit = new Promise((resolve) => {
      child.on('error', (cause) => {
        this.#end(new ClocheError('ProgramNotFound', `${program} could not be started: ${cause.message}`, { cause }));
        resolve();
      });
      child.on('close', (code, signal) => {
        const said = this.#stderr.trim();
        const how = signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
        this.#end(new ClocheError('Disconnected', `${program} ${how}${said && `: ${said}`}`));
        resolve();
      });
    });
    child.stdin.on('error', () => {}); // 'close' says why
    child.stdout.on('data', (data) => this.#receive(data));
    child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_MAX);
    });
  }

  // Resolves to the result. `onLog` gets {level, logger, data}. An aborted signal cancels the request.
  request(method, params = {}, { signal, onLog } = {}) {
    if (this.#ended) return Promise.reject(this.#ended);
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = this.#next++;
    const _meta = onLog ? { ...META, 'io.modelcontextprotocol/logLevel': 'debug' } : META;
    const line = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }) + '\n';
    if (Buffer.byteLength(line) > LINE_MAX)
      return Promise.reject(new ClocheError('InvalidInput', 'the request has more than 16 MiB; nothing was done'));
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#pending.delete(id);
        this.#write({ method: 'notifications/cancelled', params: { requestId: id, reason: 'aborted', _meta: META } });
        reject(signal.reason);
      };
      const settle = (how, value) => {
        signal?.removeEventListener('abort', abort);
        how(value);
      };
      this.#pending.set(id, { resolve: (v) => settle(resolve, v), reject: (e) => settle(reject, e), onLog });
      signal?.addEventListener('abort', abort, { once: true });
      this.#child.stdin.write(line);
    });
  }

  // Ends the input, on which the server ends after the calls that run.
  async close() {
    if (!this.#ended) this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_MS);
    await this.#exit;
    clearTimeout(timer);
  }

  #write(message) {
    if (!this.#ended) this.#child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  }

  #end(why) {
    this.#ended ??= why;
    for (const { reject } of this.#pending.values()) reject(this.#ended);
    this.#pending.clear();
  }

  #receive(data) {
    let from = 0;
    for (let at; (at = data.indexOf(10, from)) >= 0; from = at + 1) {
      const last = data.subarray(from, at);
      const line = this.#parts.length ? Buffer.concat([...this.#parts, last]) : last;
      this.#parts = [];
      if (line.length) this.#take(JSON.parse(line.toString()));
    }
    if (from < data.length) this.#parts.push(data.subarray(from));
  }

  #take({ id, method, params, result, error }) {
    if (method === 'notifications/message') {
      const waiting = this.#pending.get(params._meta?.['cloche/requestId']);
      try {
        waiting?.onLog?.(params);
      } catch (error) {
        // The listener's own: reported as any uncaught one, and the messages behind it are read.
        queueMicrotask(() => {
          throw error;
        });
      }
      return;
    }
    const waiting = method ? undefined : this.#pending.get(id);
    if (!waiting) return; // cancelled, or not asked for
    this.#pending.delete(id);
    if (error) waiting.reject(new ClocheError('ProtocolError', error.message, { details: error }));
    else waiting.resolve(result);
  }
}
