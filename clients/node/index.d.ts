// AgentVM: a Linux machine in WebAssembly. Cloche: code in a sandbox, notes, tools, functions.
/// <reference lib="esnext.disposable" />
import type * as api from './api.js';

/** node's Buffer, where its types are known. */
export type Buffer = typeof globalThis extends { Buffer: { alloc(size: number): infer B } } ? B : Uint8Array;

export interface CallOptions {
  /** An AbortSignal. It cancels the call, which is rejected with the signal's reason. */
  signal?: { readonly aborted: boolean; readonly reason: any };
}

export type Bytes = ArrayBuffer | ArrayBufferView;
/** Text, or bytes as they are. */
export type Data = string | Bytes;

/**
 * Errors by name. Of this package: ProgramNotFound, ImageNotFound, NotStarted,
 * OutputTooLarge, FileError, Disconnected, ProtocolError. Of the server: InvalidInput, NotFound,
 * PermissionDenied, Timeout, Busy, LimitExceeded, Conflict, ExecutionError and others.
 */
export class ClocheError extends Error {
  readonly name: string;
  readonly details?: any;
  /** What there was until then, such as the output of a command that was out of time. */
  readonly result?: any;
}

export interface ExecResult {
  /** Standard output as text; bytes that are not UTF-8 are U+FFFD here. */
  stdout: string;
  stderr: string;
  exitCode: number;
  /** The bytes as they are. Not enumerable, as all below. */
  readonly stdoutBytes: Buffer;
  readonly stderrBytes: Buffer;
  /** Files of mounts in memory that the command made or changed, by their paths in the machine. */
  readonly files?: LeftFile[];
  /** The session's shell ended with the command. */
  readonly shellEnded?: true;
  /** A background process kept the outputs open. */
  readonly held?: true;
  readonly outOfMemory?: true;
}

export interface Output {
  stream: 'stdout' | 'stderr';
  /** Bytes in their order; UTF-8 characters are never split. */
  data: Buffer;
}

export type MountMode = 'ro' | 'rw' | 'overlay';

export interface ExecOptions extends CallOptions {
  stdin?: Data;
  /** Written before the command begins: by path, of cwd or /root if it is not absolute. */
  files?: Record<string, Data>;
  /** Folders that the command sees: the vault ('/vault'), mounts by their names, and files in memory, whose
   * changes are in `files` of the result. */
  mounts?: (string | { mount: string; at?: string; mode?: MountMode; apply?: boolean } | { files: Record<string, Data>; at: string; mode?: MountMode })[];
  /** Programs of the command may call notes and tools, by cloche-guest, with this caller's rights. */
  calls?: boolean;
  /** For this command alone, as `env`. */
  cwd?: string;
  env?: Record<string, string>;
  /** 60000 where nothing is said; the policy has a maximum. */
  timeoutMs?: number;
  /** Another of the machine's shells. Commands of one run one after the other. */
  session?: string;
  /** Bytes kept of each stream: 16 MiB, which is the most. More is an error, OutputTooLarge. */
  maxOutput?: number;
  /** Gets the output of this command as it comes. */
  onOutput?: (output: Output) => void;
}

export interface MachineOptions {
  /** MAC address of its network card; 02:00:00:00:00:01 where nothing is said. */
  mac?: string;
  /** A network, as far as the policy allows it; true is rejected where it allows none. Where nothing is said, the
   * machine has one if the policy allows that without asking (`vm.network: always`). */
  network?: boolean;
  /** Mounts of its Cloche or of the policy, by their place in the machine. */
  mounts?: Record<string, string | { mount: string; mode?: 'ro' | 'rw' | 'overlay' }>;
  ramMB?: number;
  diskMB?: number;
  cpuSeconds?: number;
  /** It begins with this snapshot. */
  from?: string;
  /** It does not begin with the snapshot named 'default'. */
  plain?: boolean;
  /** A machine that is kept: stop() freezes it, and another start with this name goes on there. */
  name?: string;
}

/** A folder of this computer. 'rw' where nothing is said; the changes of an overlay end with the machine. */
export type HostFolder = string | { path: string; mode?: 'ro' | 'rw' | 'overlay'; links?: boolean };

export interface ProgramOptions {
  /** The program `cloche`; else that of the image, CLOCHE_BIN, or the one in PATH. */
  program?: string;
  /** The machine's image: the folder build/vm of Cloche, a file in it, or a link to either. */
  wasmPath?: string;
  /** Further variables of the program's environment. */
  env?: Record<string, string>;
}

export type AgentVMOptions =
  | (Omit<MachineOptions, 'mounts'> &
      ProgramOptions & {
        /** Folders of this computer, by their place in the machine. */
        mounts?: Record<string, HostFolder>;
        cloche?: undefined;
      })
  | (MachineOptions & {
      /** Its process is used, instead of one of the machine's own. */
      cloche: Cloche;
    });

export interface Snapshot {
  name: string;
  /** Of its file. */
  bytes: number;
  ramMB: number;
  made: Date;
}

export interface ExposedPort {
  port: number;
  hostPort: number;
  address: string;
  /** Where programs of this computer reach it. */
  url: string;
}

/** By paths relative to the overlay; those of folders end in '/'. */
export interface OverlayChanges {
  /** They are written. */
  applied: boolean;
  created: string[];
  changed: string[];
  deleted: string[];
  /** Paths that are left out of these lists. */
  more: number;
  /** What was changed in the folder since the machine saw it. */
  conflicts: string[];
}

/** An EventEmitter of node. */
export class AgentVM {
  constructor(options?: AgentVMOptions);
  /** The rest of Cloche, in the same process, while the machine runs. */
  readonly cloche: Cloche | undefined;
  /** Starts the machine. Resolves when its shell is ready. */
  start(options?: CallOptions): Promise<void>;
  /** Runs a command: text for bash, or words that are run without a shell. */
  exec(command: string | string[], options?: ExecOptions): Promise<ExecResult>;
  /** Ends the machine, with all that is in it. */
  stop(): Promise<void>;
  /** Bytes, or a file or folder of this computer by its path, to a path in the machine. */
  upload(source: string | Bytes, target: string, options?: CallOptions): Promise<void>;
  /** The bytes of a file in the machine, also written to `target` if it is given. */
  download(source: string, target?: string, options?: CallOptions): Promise<Buffer>;
  /** Another machine that goes on from here: with its programs, shells and files, in the same process. Neither sees
   * what the other does from now on. Its network is asked for as by the constructor. */
  fork(options?: CallOptions & { network?: boolean }): Promise<AgentVM>;
  /** Saves the machine under this name, in place of what has it: `new AgentVM({ from: name })` begins there. All
   * further machines begin with the one named 'default'. */
  snapshot(name: string, options?: CallOptions): Promise<Snapshot>;
  /** What changed in the overlay at this place of the machine. */
  changes(at: string, options?: CallOptions): Promise<OverlayChanges>;
  /** Writes that to the overlay's folder, all or nothing (Conflict: something was changed there since). The folder was
   * mounted with `apply`. A new overlay is at the place afterwards: shells that stand in it have to cd there again. */
  apply(at: string, options?: CallOptions): Promise<OverlayChanges>;
  /** Exposes a port of the machine on a loopback address of this computer, as the policy allows (`vm.expose`). */
  expose(port: number, options?: CallOptions & { hostPort?: number }): Promise<ExposedPort>;
  /** It is exposed no more; connections stay until they end. */
  unexpose(port: number, options?: CallOptions): Promise<void>;
  on(event: 'output', listener: (output: Output) => void): this;
  once(event: 'output', listener: (output: Output) => void): this;
  off(event: 'output', listener: (output: Output) => void): this;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface EvaluateOptions extends CallOptions {
  language?: 'javascript' | 'typescript' | 'python';
  timeout?: number;
  computeTimeout?: number;
  memoryLimit?: number;
  allowedAPIs?: string[];
  context?: Record<string, unknown>;
  session?: string;
  cache?: boolean;
  enableNetwork?: boolean;
  enableFileSystem?: boolean;
  /** Gets the console's messages as they come. */
  onLog?: (message: { level: string; logger?: string; data: any }) => void;
}

/** A file that a tool or a command left behind. */
export interface LeftFile {
  name: string;
  size: number;
  /** Not of one that was too large to be in the answer. */
  readonly bytes?: Buffer;
  [key: string]: any;
}

export interface ToolRequest {
  /** Parameters by name, as in the tool's manifest. */
  arguments?: Record<string, unknown>;
  /** As on a command line. */
  args?: string[];
  stdin?: Data;
  files?: Record<string, Data>;
  cwd?: string;
  timeout?: number;
}

export interface ToolResult {
  success: boolean;
  stdout: string;
  stderr: string;
  exitCode: number;
  files: LeftFile[];
  readonly stdoutBytes: Buffer;
  readonly stderrBytes: Buffer;
  [key: string]: any;
}

export interface Functions {
  /** Runs a stored function of the vault. */
  call<T = any>(name: string, ...args: unknown[]): Promise<T>;
  list(filter?: Record<string, unknown>, options?: CallOptions): Promise<any>;
  get(name: string, options?: CallOptions): Promise<any>;
  register(definition: Record<string, unknown>, options?: CallOptions): Promise<any>;
  update(changes: { name: string; [key: string]: unknown }, options?: CallOptions): Promise<any>;
  delete(name: string, options?: CallOptions): Promise<any>;
  test(request: Record<string, unknown>, options?: CallOptions): Promise<any>;
}

export interface ClocheOptions extends ProgramOptions {
  /** Folders of notes, instead of the registered vaults. */
  vaults?: string | string[];
  vaultRoots?: string | string[];
  /** Folders of this computer that its machines may mount, by name: `{'/data': '/home/me/data'}`. */
  mounts?: Record<string, HostFolder>;
}

export class Cloche {
  constructor(options?: ClocheOptions);
  readonly notes: typeof api.notes;
  readonly noteTypes: typeof api.noteTypes;
  readonly links: typeof api.links;
  readonly hierarchy: typeof api.hierarchy;
  readonly relationships: typeof api.relationships;
  readonly vaults: typeof api.vaults;
  readonly tools: {
    run(name: string, request?: ToolRequest, options?: CallOptions): Promise<ToolResult>;
    list(options?: CallOptions): Promise<any[]>;
    describe(name: string, options?: CallOptions): Promise<any>;
  };
  readonly functions: Functions;
  /** Saved machines. */
  readonly snapshots: {
    list(options?: CallOptions): Promise<{ name: string; kind: 'snapshot' | 'machine'; bytes: number; ramMB: number; made: string; usable: boolean }[]>;
    delete(name: string, options?: CallOptions): Promise<void>;
  };
  /** A machine of this process. */
  machine(options?: MachineOptions): AgentVM;
  /** Runs code in the sandbox; the value that it returns. */
  evaluate<T = any>(code: string, options?: EvaluateOptions): Promise<T>;
  /** Calls an action of the server by its name. */
  call(
    name: string,
    args?: Record<string, unknown>,
    options?: CallOptions & { onLog?: EvaluateOptions['onLog'] },
  ): Promise<{ answer: any; isError: boolean; shortened: boolean }>;
  /** Ends the process, with all machines in it. Further calls are rejected with Disconnected. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
