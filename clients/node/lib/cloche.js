import { AgentVM } from './agentvm.js';
import { base64Of, filesIn, filesOf, streamsOf } from './bytes.js';
import { Connection } from './connection.js';
import { ClocheError, errorOfAnswer, errorOfText } from './errors.js';
import { locateProgram } from './locate.js';
import { hostMounts } from './mounts.js';

const RESULTS = 'cloche://results/'; // an answer that was too large (docs/resources.md)
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const NAMESPACES = ['notes', 'noteTypes', 'links', 'hierarchy', 'relationships', 'vaults'];

const listOf = (value) => (value === undefined ? [] : [value].flat());

// Cloche as a library: one `cloche mcp` process, started by the first call.
export class Cloche {
  #options;
  #connection;
  #closed = false;

  constructor(options = {}) {
    const { program, wasmPath, vaults, vaultRoots, mounts, env, ...rest } = options;
    for (const key of Object.keys(rest)) throw new ClocheError('InvalidInput', `there is no option '${key}'`);
    this.#options = { program, wasmPath, vaults, vaultRoots, mounts: hostMounts(mounts), env };
    for (const name of NAMESPACES)
      Object.defineProperty(this, name, { value: this.#namespace(name), enumerable: true });
    this.tools = {
      run: (name, request, options) => this.#runTool(name, request, options),
      list: (options) => this.#callInCode('tools.list', [], options),
      describe: (name, options) => this.#callInCode('tools.describe', [name], options),
    };
    const action = (name) => (args, options) => this.#action(name, args, options);
    this.functions = {
      call: (name, ...args) => this.#callInCode(`customFunctions.${name}`, args),
      list: action('list_custom_functions'),
      get: (name, options) => this.#action('get_custom_function', { name }, options),
      register: action('register_custom_function'),
      update: action('update_custom_function'),
      delete: (name, options) => this.#action('delete_custom_function', { name }, options),
      test: action('test_custom_function'),
    };
    this.snapshots = {
      list: async (options) => (await this.#action('vm_snapshots', {}, options)).snapshots,
      delete: async (name, options) => void (await this.#action('vm_snapshots', { delete: name }, options)),
    };
  }

  // A machine of this process.
  machine(options = {}) {
    return new AgentVM({ ...options, cloche: this });
  }

  // The value that the code returns.
  async evaluate(code, { signal, onLog, ...options } = {}) {
    const { answer } = await this.call('evaluate_note_code', { code, ...options }, { signal, onLog });
    if (answer.success) return answer.result;
    const resource = answer.errorDetails?.resource;
    if (answer.errorDetails?.type === 'OutputTooLarge' && resource) return this.#resource(resource, signal);
    throw errorOfAnswer(answer, answer);
  }

  // Calls an action by its name: {answer, isError, shortened}. Answers that were shortened are fetched
  // whole; one of more than 16 MiB stays as it is, and `shortened` is true.
  async call(name, args = {}, { signal, onLog } = {}) {
    const result = await this.#open().request('tools/call', { name, arguments: args }, { signal, onLog });
    const text = result.content?.find((part) => part.type === 'text')?.text;
    const link = result.content?.find((part) => part.type === 'resource_link' && part.uri.startsWith(RESULTS));
    let answer = result.structuredContent;
    if (answer === undefined)
      try {
        answer = JSON.parse(text);
      } catch {
        throw result.isError ? errorOfText(text) : new ClocheError('ProtocolError', `the answer of ${name} is no JSON`);
      }
    if (link) {
      const whole = await this.#resource(link.uri, signal).catch((error) => {
        if (error.name === 'ProtocolError') return undefined; // too large, or gone
        throw error;
      });
      return { answer: whole ?? answer, isError: result.isError, shortened: whole === undefined };
    }
    return { answer, isError: result.isError, shortened: /^\(This is a part/.test(result.content?.[1]?.text) };
  }

  // Ends the process, with all machines in it.
  async close() {
    this.#closed = true;
    await this.#connection?.close();
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  #open() {
    if (this.#closed) throw new ClocheError('Disconnected', 'it was closed');
    if (!this.#connection) {
      const { vaults, vaultRoots, mounts, env } = this.#options;
      const args = [
        ...listOf(vaults).flatMap((folder) => ['--vault', folder]),
        ...listOf(vaultRoots).flatMap((folder) => ['--vault-root', folder]),
        ...mounts.flatMap((words) => ['--mount', words]),
      ];
      this.#connection = new Connection(locateProgram(this.#options), args, { ...process.env, ...env });
    }
    return this.#connection;
  }

  async #resource(uri, signal) {
    const { contents } = await this.#open().request('resources/read', { uri }, { signal });
    return JSON.parse(contents[0].text);
  }

  async #action(name, args, options) {
    const { answer, isError } = await this.call(name, args, options);
    if (isError) throw errorOfAnswer(answer, answer);
    return answer;
  }

  async #callInCode(method, args, options) {
    if (!method.split('.').every((name) => IDENTIFIER.test(name)))
      throw new ClocheError('InvalidInput', `'${method}' is not the name of a method`);
    return this.evaluate(`return await ${method}(...args)`, { context: { args }, ...options });
  }

  // notes.get(...) is `notes.get` of evaluated code (docs/api.md).
  #namespace(name) {
    return new Proxy(Object.freeze({}), {
      get: (_, method) =>
        typeof method === 'symbol' || method === 'then' ? undefined : (...args) => this.#callInCode(`${name}.${method}`, args),
    });
  }

  async #runTool(name, { stdin, files, ...request } = {}, options) {
    const args = { name, ...request };
    if (stdin !== undefined) args.stdin = base64Of(stdin);
    if (files !== undefined) args.files = filesIn(files);
    const { answer, isError, shortened } = await this.call('run_tool', args, options);
    if (isError && answer.errorDetails) throw errorOfAnswer(answer, answer);
    if (shortened) throw new ClocheError('OutputTooLarge', `the answer of ${name} has more than 16 MiB`, { result: answer });
    filesOf(answer);
    return streamsOf(answer);
  }
}
