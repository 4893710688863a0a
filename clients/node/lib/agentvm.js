import { EventEmitter } from 'node:events';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { base64Of, bufferOf, filesIn, filesOf, isBytes, streamsOf } from './bytes.js';
import { Cloche } from './cloche.js';
import { ClocheError, errorOfAnswer } from './errors.js';
import { hostMounts, mountsByName } from './mounts.js';

const OUTPUT_MAX = 16 * 1024 * 1024; // bytes of each stream that the server keeps
const UPLOAD_PIECE = 4 * 1024 * 1024;
const DOWNLOAD_PIECE = 256 * 1024; // its answer needs no second request
const FILES_SESSION = 'agentvm-files'; // so that files do not wait for commands
const TOO_LARGE = 'the command printed more than is kept: write it to a file, and download() that';
const OPTIONS = {
  wasmPath: 'string',
  mounts: 'object',
  network: 'boolean',
  mac: 'string',
  ramMB: 'number',
  diskMB: 'number',
  cpuSeconds: 'number',
  from: 'string',
  plain: 'boolean',
  name: 'string',
  program: 'string',
  env: 'object',
  cloche: 'object',
};

const readOptions = (options) => {
  for (const [key, value] of Object.entries(options)) {
    if (!(key in OPTIONS)) throw new ClocheError('InvalidInput', `there is no option '${key}'; ${Object.keys(OPTIONS).join(', ')} are accepted`);
    if (value !== undefined && (typeof value !== OPTIONS[key] || value === null))
      throw new ClocheError('InvalidInput', `${key} is not of type ${OPTIONS[key]}`);
  }
  if (options.mac !== undefined && !/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(options.mac))
    throw new ClocheError('InvalidInput', `mac is '${options.mac}'; an address such as 02:00:00:00:00:01 is accepted`);
  const sized = ['ramMB', 'diskMB', 'cpuSeconds', 'plain', 'name'].filter((key) => options[key] !== undefined);
  if (options.from !== undefined && sized.length)
    throw new ClocheError('InvalidInput', `${sized.join(', ')}: what begins with a snapshot has its size, and no name`);
  if (!options.cloche) hostMounts(options.mounts);
  if (options.cloche && (options.program ?? options.wasmPath ?? options.env) !== undefined)
    throw new ClocheError('InvalidInput', 'program, wasmPath and env belong to the Cloche that is given');
  return options;
};

// Output as it comes, in order and without gaps. Where a message was left out (this process did not read
// for a while), the rest of that stream is passed on with the answer.
class Relay {
  #emit;
  #seen = { stdout: 0, stderr: 0 };
  #gap = { stdout: false, stderr: false };

  constructor(emit) {
    this.#emit = emit;
  }

  log({ logger, data }) {
    if (logger !== 'vm') return;
    const { stream, offset } = data;
    const bytes = Buffer.from(data.text ?? data.base64, data.text === undefined ? 'base64' : 'utf8');
    this.#gap[stream] ||= offset !== this.#seen[stream];
    if (this.#gap[stream]) return;
    this.#seen[stream] += bytes.length;
    this.#emit({ stream, data: bytes });
  }

  end(result) {
    for (const stream of ['stdout', 'stderr']) {
      const rest = result[`${stream}Bytes`].subarray(this.#seen[stream]);
      if (rest.length) this.#emit({ stream, data: rest });
    }
  }
}

// A Linux machine. Emits 'output' {stream: 'stdout' | 'stderr', data: Buffer}.
export class AgentVM extends EventEmitter {
  #options;
  #cloche;
  #process; // {users}: machines of a process that is theirs alone; undefined: it is not
  #starting; // a promise of the handle
  #machine;

  constructor(options = {}) {
    super();
    this.#options = readOptions(options);
  }

  // The rest of Cloche, in the same process; undefined before start().
  get cloche() {
    return this.#cloche;
  }

  async start({ signal } = {}) {
    this.#starting ??= this.#start(signal);
    const starting = this.#starting;
    try {
      await starting;
    } catch (error) {
      if (this.#starting === starting) this.#starting = undefined;
      throw error;
    }
  }

  async exec(command, { signal, onOutput, stdin, files, mounts, ...options } = {}) {
    this.#running();
    const input = stdin === undefined ? {} : { stdin: base64Of(stdin) };
    if (files !== undefined) input.files = filesIn(files);
    if (mounts !== undefined) input.mounts = mounts.map((m) => (m?.files ? { ...m, files: filesIn(m.files) } : m));
    return this.#exec(command, { maxOutput: OUTPUT_MAX, ...options, ...input }, signal, onOutput);
  }

  // Ends the machine with all that is in it. Commands that run are rejected. It may be started again.
  async stop() {
    await this.#starting?.catch(() => {});
    const machine = this.#machine;
    const cloche = this.#cloche;
    const own = this.#process;
    this.#starting = this.#machine = this.#cloche = this.#process = undefined;
    if (machine === undefined) return;
    try {
      await cloche.call('vm_stop', { machine });
    } catch (error) {
      if (!['NotFound', 'Disconnected'].includes(error.name)) throw error; // it has ended by itself
    } finally {
      if (own && --own.users === 0) await cloche.close();
    }
  }

  async [Symbol.asyncDispose]() {
    await this.stop();
  }

  // Bytes, or a file or folder of this computer by its path, to a path in the machine.
  async upload(source, target, { signal } = {}) {
    if (isBytes(source)) return this.#put(bufferOf(source), target, 0o644, signal);
    const about = await stat(source);
    if (about.isFile()) return this.#put(await readFile(source), target, about.mode & 0o777, signal);
    if (!about.isDirectory()) throw new ClocheError('InvalidInput', `'${source}' is neither a file nor a folder`);
    await this.#files(['mkdir', '-p', '--', target], { signal });
    for (const name of await readdir(source)) await this.upload(join(source, name), posix.join(target, name), { signal });
  }

  // The bytes of a file in the machine; with `target` it is also written to this path of this computer.
  async download(source, target, { signal } = {}) {
    const parts = [];
    for (let at = 0, part; part === undefined || part.length === DOWNLOAD_PIECE; at += part.length) {
      const script = 'dd if="$1" iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" bs=64K status=none';
      part = await this.#files(['sh', '-c', script, 'sh', source, `${at}`, `${DOWNLOAD_PIECE}`], { signal });
      parts.push(part);
    }
    const bytes = Buffer.concat(parts);
    if (target !== undefined) await writeFile(target, bytes);
    return bytes;
  }

  // A machine that goes on from here beside this one, in the same process: with its programs, shells and
  // files. Neither sees what the other does from now on.
  async fork({ network = this.#options.network, signal } = {}) {
    const cloche = this.#running();
    const { answer } = await cloche.call('vm_fork', { machine: this.#machine, ...this.#card(network) }, { signal });
    const copy = new AgentVM({ ...this.#options, name: undefined, network });
    copy.#machine = answer.machine;
    copy.#cloche = cloche;
    copy.#starting = Promise.resolve();
    copy.#process = this.#process;
    if (copy.#process) copy.#process.users++;
    return copy;
  }

  // Saves the machine under this name, in place of what has it. `new AgentVM({from: name})` begins there,
  // also tomorrow; all further machines begin with the one named 'default'.
  async snapshot(name, { signal } = {}) {
    const { answer } = await this.#running().call('vm_snapshot', { name, machine: this.#machine }, { signal });
    const { bytes, ramMB, made } = answer;
    return { name, bytes, ramMB, made: new Date(made) };
  }

  // What changed in the overlay at this place of the machine, and is in the way of writing it.
  async changes(at, { signal } = {}) {
    return this.#apply({ at, dryRun: true }, signal);
  }

  // Writes it to the folder: all or nothing. A new overlay is there afterwards.
  async apply(at, { signal } = {}) {
    return this.#apply({ at }, signal);
  }

  async #apply(args, signal) {
    const { answer } = await this.#running().call('vm_apply', { ...args, machine: this.#machine }, { signal });
    const { applied, created, changed, deleted, more = 0, conflicts = [] } = answer;
    return { applied, created, changed, deleted, more, conflicts };
  }

  // What listens at the port in the machine, at 0.0.0.0, is reached at the url of the answer.
  async expose(port, { hostPort, signal } = {}) {
    return this.#expose({ port, ...(hostPort === undefined ? {} : { hostPort }) }, signal);
  }

  // The port is exposed no more.
  async unexpose(port, { signal } = {}) {
    await this.#expose({ port, close: true }, signal);
  }

  async #expose(args, signal) {
    const { answer } = await this.#running().call('vm_expose', { ...args, machine: this.#machine }, { signal });
    const { port, hostPort, address, url } = answer;
    return { port, hostPort, address, url };
  }

  #running() {
    if (this.#machine === undefined)
      throw new ClocheError('NotStarted', 'the machine is not running: await start() first');
    return this.#cloche;
  }

  // Where nothing is said, the network that the policy allows without asking.
  #card(network) {
    const { mac } = this.#options;
    return { ...(network === false ? {} : { network: network ?? 'allowed' }), ...(mac === undefined ? {} : { mac }) };
  }

  async #start(signal) {
    const { program, wasmPath, env, mounts, network, from, name, plain, ramMB, diskMB, cpuSeconds } = this.#options;
    const given = this.#options.cloche;
    const cloche = given ?? new Cloche({ program, wasmPath, env, mounts });
    const shown = given ? mountsByName(mounts) : Object.keys(mounts ?? {});
    const args = { ...this.#card(network), ...(shown.length ? { mounts: shown } : {}) };
    const kept = name === undefined ? {} : { keep: true, name };
    try {
      const { answer } = await (
        from === undefined
          ? cloche.call('vm_start', { ramMB, diskMB, cpuSeconds, plain, ...kept, ...args }, { signal })
          : cloche.call('vm_restore', { name: from, ...args }, { signal })
      ).catch((error) => {
        const missing = error.name === 'NotFound' && from === undefined && !shown.length;
        throw missing ? new ClocheError('ImageNotFound', error.message) : error;
      });
      this.#machine = answer.machine;
      this.#cloche = cloche;
      if (!given) this.#process = { users: 1 };
    } catch (error) {
      if (!given) await cloche.close();
      throw error;
    }
  }

  async #exec(command, options, signal, onOutput) {
    const heard = onOutput !== undefined || this.listenerCount('output') > 0;
    const relay = new Relay((piece) => {
      onOutput?.(piece);
      this.emit('output', piece);
    });
    const { answer, shortened } = await this.#cloche.call(
      'vm_exec',
      { command, machine: this.#machine, ...options },
      { signal, onLog: heard ? (message) => relay.log(message) : undefined },
    );
    const result = streamsOf(answer, {});
    result.exitCode = answer.exitCode;
    if (answer.files) Object.defineProperty(result, 'files', { value: filesOf(answer) });
    for (const mark of ['shellEnded', 'held', 'outOfMemory']) if (answer[mark]) Object.defineProperty(result, mark, { value: true });
    const whole = !shortened && !answer.truncated;
    if (heard && whole) relay.end(result);
    if (answer.errorDetails) throw errorOfAnswer(answer, result);
    if (!whole)
      throw new ClocheError('OutputTooLarge', `${TOO_LARGE}; it ended with exit code ${answer.exitCode}`, {
        result,
        details: answer.truncated,
      });
    return result;
  }

  // A command about files; its standard output.
  async #files(command, { stdin, signal } = {}) {
    const { exitCode, stderr, stdoutBytes } = await this.exec(command, { stdin, signal, session: FILES_SESSION });
    if (exitCode !== 0) throw new ClocheError('FileError', stderr.trim() || `exit code ${exitCode}`);
    return stdoutBytes;
  }

  // Written beside the target first, so that nobody sees a part of it.
  async #put(bytes, target, mode, signal) {
    const part = `${target}.part-${Math.random().toString(36).slice(2)}`;
    try {
      for (let at = 0; at === 0 || at < bytes.length; at += UPLOAD_PIECE)
        await this.#files(['sh', '-c', 'cat >>"$1"', 'sh', part], { stdin: bytes.subarray(at, at + UPLOAD_PIECE), signal });
      await this.#files(['sh', '-c', 'chmod "$1" -- "$2" && mv -T -- "$2" "$3"', 'sh', mode.toString(8), part, target], { signal });
    } catch (error) {
      await this.#files(['rm', '-f', '--', part]).catch(() => {});
      throw error;
    }
  }
}
