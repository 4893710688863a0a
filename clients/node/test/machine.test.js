// The machine by its interface: what the AgentVM specification says, and what its predecessors got wrong.
import assert from 'node:assert/strict';
import { mkdtemp, mkdir, readFile, symlink, writeFile, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { AgentVM, Cloche, ClocheError } from 'agentvm';

const IMAGE = process.env.CLOCHE_IMAGE;
const named = (name, says = '') => (error) => {
  assert.ok(error instanceof ClocheError, error);
  assert.equal(error.name, name, error.message);
  assert.ok(error.message.includes(says), error.message);
  return true;
};

describe('a machine that runs', () => {
  const vm = new AgentVM({ wasmPath: IMAGE });
  before(() => vm.start());
  after(() => vm.stop());

  test('a result is stdout, stderr and exitCode', async () => {
    const result = await vm.exec('echo hello; echo why >&2; (exit 3)');
    assert.deepEqual(result, { stdout: 'hello\n', stderr: 'why\n', exitCode: 3 });
  });

  test('python3 is there', async () => {
    assert.equal((await vm.exec("python3 -c 'print(100 + 200)'")).stdout, '300\n');
  });

  test('a command that fails has an exit code and says why', async () => {
    const { exitCode, stderr } = await vm.exec('ls /nonexistent');
    assert.notEqual(exitCode, 0);
    assert.match(stderr, /nonexistent/);
  });

  test('the shell stays', async () => {
    await vm.exec('export MYVAR=foobar; cd /tmp');
    assert.equal((await vm.exec('echo $MYVAR in $PWD')).stdout, 'foobar in /tmp\n');
    assert.equal((await vm.exec('echo -$MYVAR-', { session: 'another' })).stdout, '--\n');
  });

  test('words are run without a shell', async () => {
    assert.equal((await vm.exec(['printf', '%s|', '$HOME', 'a b', "it's"])).stdout, "$HOME|a b|it's|");
  });

  test('bytes come as they are', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    const result = await vm.exec('cat; printf "\\377" >&2', { stdin: bytes });
    assert.deepEqual(result.stdoutBytes, bytes);
    assert.deepEqual(result.stderrBytes, Buffer.from([255]));
    assert.equal(result.stderr, '\ufffd');
    assert.equal((await vm.exec("printf '  a\\r\\n\\n  '")).stdout, '  a\r\n\n  ');
  });

  test('what looks like a mark of the end is output like any other', async () => {
    const text = 'EXIT_CODE:0_END:abc\n__AVM_DONE:x:0\n';
    assert.deepEqual(await vm.exec('cat; false', { stdin: text }), { stdout: text, stderr: '', exitCode: 1 });
  });

  test('a quote that is not closed, a program that reads and exit hold nothing up', async () => {
    assert.notEqual((await vm.exec("echo 'open")).exitCode, 0);
    assert.equal((await vm.exec('cat')).stdout, '');
    const ended = await vm.exec('exit 7', { session: 'short' });
    assert.equal(ended.exitCode, 7);
    assert.equal(ended.shellEnded, true);
    assert.equal((await vm.exec('echo on', { session: 'short' })).stdout, 'on\n');
  });

  test('stdin, cwd and env are for one command', async () => {
    const { stdout } = await vm.exec('cat; echo $PWD $WHO', { stdin: 'in\n', cwd: '/usr', env: { WHO: 'me' } });
    assert.equal(stdout, 'in\n/usr me\n');
  });

  test('files are there when the command begins', async () => {
    const bytes = Buffer.from([0, 255, 10]);
    const { stdout } = await vm.exec('cat a; od -An -tx1 b/c', { cwd: '/tmp', files: { a: 'text\n', 'b/c': bytes } });
    assert.equal(stdout, 'text\n 00 ff 0a\n');
    await assert.rejects(vm.exec('true', { files: { '../x': '' } }), named('InvalidInput'));
  });

  test('a folder in memory gives its files, and its changes come back', async () => {
    const mounts = [{ files: { in: Buffer.from('b\na\n'), same: '' }, at: '/d' }, { files: { q: 'x' }, at: '/q', mode: 'ro' }];
    const { files, exitCode } = await vm.exec('cat /q/q >c; sort in >out; printf "\\377" >bin', { cwd: '/d', mounts });
    assert.equal(exitCode, 0);
    assert.deepEqual(Object.fromEntries(files.map(({ name, bytes }) => [name, bytes.toString('latin1')])), {
      '/d/bin': '\xff',
      '/d/c': 'x',
      '/d/out': 'a\nb\n',
    });
    assert.deepEqual((await vm.exec('ls -A /d /q')).files, undefined);
  });

  test('output is heard in order, whole, and no character is split', async () => {
    const heard = { stdout: [], stderr: [] };
    const listener = ({ stream, data }) => heard[stream].push(data);
    const own = [];
    vm.on('output', listener);
    const result = await vm.exec('for i in $(seq 1000); do echo "läuft $i"; done; printf "\\377" >&2', {
      onOutput: ({ data }) => own.push(data),
    });
    vm.off('output', listener);
    assert.deepEqual(Buffer.concat(heard.stdout), result.stdoutBytes);
    assert.deepEqual(Buffer.concat(heard.stderr), Buffer.from([255]));
    assert.equal(heard.stdout.map(String).join(''), result.stdout);
    assert.equal(own.length, heard.stdout.length + heard.stderr.length);
  });

  test('output is heard while the command runs, each of its own command', async () => {
    const go = (name) =>
      new Promise((resolve, reject) => {
        const heard = [];
        const ended = vm.exec(`echo ${name}; until [ -e /tmp/go ]; do sleep .05; done; echo end of ${name}`, {
          session: name,
          onOutput: ({ data }) => {
            heard.push(String(data));
            if (heard.length === 1) resolve({ heard, ended });
          },
        });
        ended.catch(reject);
      });
    const both = await Promise.all([go('first'), go('second')]);
    assert.deepEqual(both.map(({ heard }) => heard), [['first\n'], ['second\n']]);
    await vm.exec('touch /tmp/go', { session: 'third' });
    await Promise.all(both.map(({ ended }) => ended));
    assert.deepEqual(both.map(({ heard }) => heard[1]), ['end of first\n', 'end of second\n']);
  });

  test('an answer of some megabytes is whole', async () => {
    const { stdout } = await vm.exec('seq 300000');
    assert.equal(stdout.length, 1988895);
    assert.ok(stdout.endsWith('\n300000\n'));
  });

  test('more output than is kept is an error with its beginning and end', async () => {
    let heard = '';
    const seq = vm.exec('seq 1000', { maxOutput: 100, onOutput: ({ data }) => (heard += data) });
    await assert.rejects(seq, (error) => {
      named('OutputTooLarge')(error);
      assert.ok(error.result.stdout.startsWith('1\n2\n') && error.result.stdout.endsWith('1000\n'));
      return error.result.exitCode === 0;
    });
    const { stdout } = await vm.exec('seq 1000');
    assert.ok(stdout.startsWith(heard), heard.slice(-100));
    // Six bytes of JSON each.
    await assert.rejects(vm.exec('head -c 7000000 /dev/zero; exit 3', { session: 'much' }), (error) => {
      named('OutputTooLarge', 'exit code 3')(error);
      return error.result.exitCode === 3;
    });
  });

  test('a command that is out of time rejects with its output', async () => {
    await assert.rejects(vm.exec('echo begun; sleep 100', { timeoutMs: 3000 }), (error) => {
      named('Timeout', '3000 ms')(error);
      return 'begun\n'.startsWith(error.result.stdout);
    });
  });

  test('an aborted command ends with all its processes', async () => {
    const abort = new AbortController();
    const ended = vm.exec('sleep 1000 & echo $! >/tmp/pid; echo ready; wait', {
      signal: abort.signal,
      session: 'aborted',
      onOutput: () => abort.abort(),
    });
    await assert.rejects(ended, { name: 'AbortError' });
    const gone = 'while kill -0 $(cat /tmp/pid) 2>/dev/null; do sleep .05; done; echo gone';
    assert.equal((await vm.exec(gone, { session: 'eye' })).stdout, 'gone\n');
    await assert.rejects(vm.exec('true', { signal: AbortSignal.abort() }), { name: 'AbortError' });
  });

  test('files go in and come out', async () => {
    const place = await mkdtemp(join(tmpdir(), 'agentvm-'));
    const bytes = Buffer.alloc(5_000_001, Buffer.from(Array.from({ length: 251 }, (_, i) => i)));
    await vm.upload(bytes, '/root/bytes');
    assert.deepEqual(await vm.download('/root/bytes'), bytes);
    await mkdir(join(place, 'folder', 'inner'), { recursive: true });
    await writeFile(join(place, 'folder', 'run'), '#!/bin/sh\necho ran\n');
    await chmod(join(place, 'folder', 'run'), 0o755);
    await writeFile(join(place, 'folder', 'inner', "it's"), '');
    await vm.upload(join(place, 'folder'), '/root/a b');
    assert.equal((await vm.exec("'/root/a b/run'; ls '/root/a b/inner'")).stdout, "ran\nit's\n");
    await vm.download('/root/a b/run', join(place, 'back'));
    assert.equal(await readFile(join(place, 'back'), 'utf8'), '#!/bin/sh\necho ran\n');
    assert.deepEqual(await vm.download("/root/a b/inner/it's"), Buffer.alloc(0));
    await assert.rejects(vm.download('/root/none'), named('FileError', 'No such file'));
    await assert.rejects(vm.upload(bytes.subarray(0, 1), '/proc/none/x'), named('FileError'));
  });

  test('an option that exec does not have is named', async () => {
    await assert.rejects(vm.exec('true', { shell: 'zsh' }), named('InvalidInput', 'shell'));
  });
});

test('a port is reached as the policy allows', async () => {
  const config = await mkdtemp(join(tmpdir(), 'agentvm-'));
  const policy = async (word) => {
    await mkdir(join(config, 'cloche'), { recursive: true });
    await writeFile(join(config, 'cloche', 'policy.json'), JSON.stringify({ vm: { expose: word } }));
  };
  await policy('always');
  const vm = new AgentVM({ wasmPath: IMAGE, env: { XDG_CONFIG_HOME: config } });
  await assert.rejects(vm.expose(8000), named('NotStarted'));
  await vm.start();
  await vm.exec('mkdir /srv/a; cd /srv/a; echo page >x; python3 -m http.server 8000 >/dev/null 2>&1 &');
  await vm.exec('until ss -tln | grep -q :8000; do sleep .05; done');
  const { url, hostPort, port } = await vm.expose(8000);
  assert.equal(port, 8000);
  assert.ok(url.includes(`:${hostPort}/`), url);
  assert.equal(await (await fetch(`${url}x`)).text(), 'page\n');
  await assert.rejects(vm.expose(8000), named('Conflict'));
  await vm.unexpose(8000);
  await assert.rejects(fetch(`${url}x`));
  await assert.rejects(vm.unexpose(8000), named('NotFound'));
  await policy('never');
  await assert.rejects(vm.expose(8000), named('PermissionDenied'));
  await vm.stop();
});

test('a command before the start, and after the end, is rejected', async () => {
  const vm = new AgentVM({ wasmPath: IMAGE });
  await assert.rejects(vm.exec('true'), named('NotStarted', 'start()'));
  await vm.stop();
  await vm.start();
  await vm.stop();
  await vm.stop();
  await assert.rejects(vm.exec('true'), named('NotStarted'));
});

test('a machine that is stopped rejects what runs, and starts again as another', async () => {
  const vm = new AgentVM({ wasmPath: IMAGE });
  await Promise.all([vm.start(), vm.start()]);
  await vm.exec('touch /root/mine');
  let ended;
  await new Promise((resolve) => {
    ended = vm.exec('echo up; sleep 1000', { onOutput: resolve }).catch((error) => error);
  });
  await vm.stop();
  assert.ok((await ended) instanceof ClocheError);
  await vm.start();
  assert.notEqual((await vm.exec('ls /root/mine')).exitCode, 0);
  await vm.stop();
});

// Not by `await using`, which not every node that this runs on can parse.
test('disposing of a machine ends it', async () => {
  const vm = new AgentVM({ wasmPath: IMAGE });
  await vm.start();
  await vm[Symbol.asyncDispose]();
  await assert.rejects(vm.exec('true'), named('NotStarted'));
});

test('the image may be named by a link, as in the specification', async () => {
  const place = await mkdtemp(join(tmpdir(), 'agentvm-'));
  const wasmPath = join(place, 'agentvm-alpine-python.wasm');
  await symlink(IMAGE, wasmPath);
  const vm = new AgentVM({ wasmPath });
  await vm.start();
  assert.equal((await vm.exec('echo 1')).stdout, '1\n');
  await vm.stop();
});

test('what is no image, no program or no option is an error that says what to do', async () => {
  await assert.rejects(new AgentVM({ wasmPath: './none.wasm' }).start(), named('ImageNotFound', 'make vm'));
  await assert.rejects(new AgentVM({ wasmPath: import.meta.dirname }).start(), named('ImageNotFound', 'make vm'));
  await assert.rejects(new AgentVM({ program: '/none/cloche' }).start(), named('ProgramNotFound', '/none/cloche'));
  assert.throws(() => new AgentVM({ wasm: './x' }), named('InvalidInput', 'wasmPath'));
  assert.throws(() => new AgentVM({ mac: '02:00' }), named('InvalidInput', '02:00:00:00:00:01'));
});

// A configuration with this policy, and nothing else that is stored for the user.
const withPolicy = async (policy) => {
  const place = await mkdtemp(join(tmpdir(), 'agentvm-'));
  await mkdir(join(place, 'cloche'));
  await writeFile(join(place, 'cloche', 'policy.json'), JSON.stringify(policy));
  return { XDG_CONFIG_HOME: place, XDG_STATE_HOME: join(place, 'state') };
};

describe('folders of this computer', () => {
  let place;
  before(async () => {
    place = await mkdtemp(join(tmpdir(), 'agentvm-'));
    await mkdir(join(place, 'inner'));
    await writeFile(join(place, 'data.txt'), 'of the host\n');
  });

  test('are seen, read and written at their place', async () => {
    const vm = new AgentVM({ wasmPath: IMAGE, mounts: { '/mnt/data': place } });
    await vm.start();
    assert.equal((await vm.exec('ls /mnt/data')).stdout, 'data.txt\ninner\n');
    assert.equal((await vm.exec('cat /mnt/data/data.txt')).stdout, 'of the host\n');
    assert.equal((await vm.exec('echo of the machine >/mnt/data/inner/made; cat /mnt/data/inner/made')).exitCode, 0);
    assert.equal(await readFile(join(place, 'inner', 'made'), 'utf8'), 'of the machine\n');
    await writeFile(join(place, 'later'), 'later\n');
    assert.equal((await vm.exec('cat /mnt/data/later')).stdout, 'later\n');
    assert.notEqual((await vm.exec('cat /mnt/data/../../etc/hostname /mnt/data/none')).exitCode, 0);
    const fork = await vm.fork();
    assert.equal((await fork.exec('cat /mnt/data/later; echo of the fork >/mnt/data/inner/fork')).stdout, 'later\n');
    assert.equal((await vm.exec('cat /mnt/data/inner/fork')).stdout, 'of the fork\n');
    await fork.stop();
    await vm.stop();
  });

  test('are written with what changed in an overlay, when the program says so', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cloche-overlay-'));
    await writeFile(join(folder, 'a'), 'one');
    const mounts = { '/src': { path: folder, mode: 'overlay', apply: true }, '/kept': { path: folder, mode: 'overlay' } };
    const vm = new AgentVM({ wasmPath: IMAGE, mounts });
    await vm.start();
    await vm.exec('echo two >/src/a; mkdir /src/d; rm /kept/a');
    const none = { applied: false, created: [], changed: [], deleted: [], more: 0, conflicts: [] };
    assert.deepEqual(await vm.changes('/src'), { ...none, created: ['d/'], changed: ['a'] });
    assert.equal(await readFile(join(folder, 'a'), 'utf8'), 'one');
    assert.deepEqual(await vm.apply('/src'), { ...none, applied: true, created: ['d/'], changed: ['a'] });
    assert.equal(await readFile(join(folder, 'a'), 'utf8'), 'two\n');
    assert.deepEqual(await vm.changes('/src'), none);
    await assert.rejects(vm.apply('/kept'), named('PermissionDenied', ':apply'));
    await vm.exec('echo three >/src/a');
    await writeFile(join(folder, 'a'), 'mine');
    assert.deepEqual((await vm.changes('/src')).conflicts, ['a']);
    await assert.rejects(vm.apply('/src'), named('Conflict', 'a was changed'));
    await vm.stop();
    assert.equal(await readFile(join(folder, 'a'), 'utf8'), 'mine');
    assert.throws(() => new AgentVM({ mounts: { '/x': { path: folder, apply: true } } }), named('InvalidInput', 'no overlay'));
  });

  test('are read-only or overlays as the option says', async () => {
    const mounts = { '/ro': { path: place, mode: 'ro' }, '/over': { path: place, mode: 'overlay' } };
    const vm = new AgentVM({ wasmPath: IMAGE, mounts });
    await vm.start();
    assert.match((await vm.exec('echo no >/ro/data.txt')).stderr, /Read-only/);
    assert.equal((await vm.exec('echo yes >/over/data.txt; cat /over/data.txt')).stdout, 'yes\n');
    assert.equal(await readFile(join(place, 'data.txt'), 'utf8'), 'of the host\n');
    await vm.stop();
  });

  test('belong to a Cloche, whose machines name them', async () => {
    const cloche = new Cloche({ mounts: { '/data': place }, env: await withPolicy({}) });
    const vm = cloche.machine({ mounts: { '/work': { mount: '/data', mode: 'ro' } } });
    await vm.start();
    assert.equal((await vm.exec('cat /work/data.txt')).stdout, 'of the host\n');
    assert.equal((await vm.exec('cat data.txt', { cwd: '/x', mounts: [{ mount: '/data', at: '/x' }] })).stdout, 'of the host\n');
    await assert.rejects(cloche.machine({ mounts: { '/work': '/none' } }).start(), named('NotFound', '/none'));
    await cloche.close();
  });

  test('that are not there, or not said as they are taken, are errors', async () => {
    await assert.rejects(new AgentVM({ wasmPath: IMAGE, mounts: { '/x': join(place, 'none') } }).start(), named('NotFound', 'none'));
    await assert.rejects(new AgentVM({ wasmPath: IMAGE, mounts: { '/proc': place } }).start(), named('InvalidInput', '/proc'));
    assert.throws(() => new AgentVM({ mounts: { x: place } }), named('InvalidInput', 'absolute'));
    assert.throws(() => new AgentVM({ mounts: { '/x:ro': place } }), named('InvalidInput', 'absolute'));
    assert.throws(() => new AgentVM({ mounts: { '/x': { path: place, mode: 'w' } } }), named('InvalidInput', 'overlay'));
  });
});

test('the network card has the address that is given', async () => {
  for (const [mac, seen] of [[undefined, '02:00:00:00:00:01'], ['02:00:00:00:0a:09', '02:00:00:00:0a:09']]) {
    const vm = new AgentVM({ wasmPath: IMAGE, mac });
    await vm.start();
    assert.equal((await vm.exec('cat /sys/class/net/eth0/address')).stdout, `${seen}\n`);
    await vm.stop();
  }
  await assert.rejects(new AgentVM({ wasmPath: IMAGE, mac: '03:00:00:00:00:01' }).start(), named('InvalidInput', 'group'));
});

test('the network is there where the policy allows it, and only if it is asked for where a person decides', async () => {
  const route = async (policy, network) => {
    const vm = new AgentVM({ wasmPath: IMAGE, network, env: await withPolicy(policy) });
    await vm.start();
    const { answer } = await vm.cloche.call('vm_list');
    await vm.stop();
    return answer.machines[0].network;
  };
  assert.equal(await route({ vm: { network: 'always' } }), true);
  assert.equal(await route({ vm: { network: 'always' } }, false), false);
  assert.equal(await route({ vm: { network: 'never' } }), false);
  assert.equal(await route({ vm: { network: 'ask' } }), false);
  await assert.rejects(route({ vm: { network: 'never' } }, true), named('PermissionDenied'));
});

test('a fork goes on beside its machine, and neither sees the other', async () => {
  const vm = new AgentVM({ wasmPath: IMAGE });
  await assert.rejects(vm.fork(), named('NotStarted'));
  await assert.rejects(vm.snapshot('x'), named('NotStarted'));
  await vm.start();
  await vm.exec('export WHO=me; cd /tmp; echo before >file');
  const copy = await vm.fork();
  await vm.exec('echo parent >file');
  assert.equal((await copy.exec('echo $WHO $PWD; cat file; echo copy >file')).stdout, 'me /tmp\nbefore\n');
  assert.equal((await vm.exec('cat file')).stdout, 'parent\n');
  const second = await copy.fork();
  const heard = [];
  second.on('output', ({ data }) => heard.push(String(data)));
  await vm.stop(); // the process is that of all three
  assert.equal((await second.exec('cat file')).stdout, 'copy\n');
  assert.deepEqual(heard, ['copy\n']);
  await copy.stop();
  await assert.rejects(copy.exec('true'), named('NotStarted'));
  assert.equal((await second.exec('echo on')).stdout, 'on\n');
  const { cloche } = second;
  await second.stop();
  await assert.rejects(cloche.evaluate('return 1'), named('Disconnected'));
});

test('a snapshot is where machines of another process begin', async () => {
  const env = await withPolicy({});
  const vm = new AgentVM({ wasmPath: IMAGE, env });
  await vm.start();
  await vm.exec('echo kept >/root/file; sleep 1000 & export JOB=$!');
  const { name, bytes, ramMB, made } = await vm.snapshot('tools');
  assert.ok(name === 'tools' && bytes > 0 && ramMB === 512 && made instanceof Date);
  await assert.rejects(vm.snapshot('not a name'), named('InvalidInput'));
  await vm.stop();
  const next = new AgentVM({ wasmPath: IMAGE, env, from: 'tools', mac: '02:00:00:00:00:07', mounts: { '/host': import.meta.dirname } });
  await next.start();
  assert.equal((await next.exec('cat /root/file; kill -0 $JOB && echo runs')).stdout, 'kept\nruns\n');
  assert.equal((await next.exec('cat /sys/class/net/eth0/address; ls /host/cloche.test.js')).stdout, '02:00:00:00:00:07\n/host/cloche.test.js\n');
  const saved = await next.cloche.snapshots.list();
  assert.deepEqual(saved.map(({ name, kind, usable }) => [name, kind, usable]), [['tools', 'snapshot', true]]);
  await next.cloche.snapshots.delete('tools');
  assert.deepEqual(await next.cloche.snapshots.list(), []);
  await next.stop();
  await assert.rejects(new AgentVM({ wasmPath: IMAGE, env, from: 'tools' }).start(), named('NotFound', 'tools'));
  assert.throws(() => new AgentVM({ from: 'tools', ramMB: 256 }), named('InvalidInput', 'ramMB'));
});

test('a machine with a name is found again', async () => {
  const env = await withPolicy({});
  const vm = new AgentVM({ wasmPath: IMAGE, env, name: 'dev' });
  await vm.start();
  await vm.exec('cd /tmp; echo kept >file');
  const copy = await vm.fork();
  await copy.exec('echo other >file');
  await copy.stop();
  await vm.stop();
  const again = new AgentVM({ wasmPath: IMAGE, env, name: 'dev' });
  await again.start();
  assert.equal((await again.exec('cat file')).stdout, 'kept\n');
  await again.stop();
});

test('a process that ends by itself says so', async () => {
  const vm = new AgentVM({ program: '/bin/false' });
  await assert.rejects(vm.start(), named('Disconnected', 'exit code 1'));
});

test('a process that is killed rejects what runs, and what comes after', async () => {
  const place = await mkdtemp(join(tmpdir(), 'agentvm-'));
  const program = join(place, 'cloche');
  await writeFile(program, `#!/bin/sh\necho $$ >${place}/pid\nexec ${process.env.CLOCHE_BIN} "$@"\n`);
  await chmod(program, 0o755);
  const vm = new AgentVM({ program });
  await vm.start();
  const pid = Number(await readFile(join(place, 'pid'), 'utf8'));
  const running = vm.exec('sleep 1000', { onOutput: () => {} }).catch((error) => error);
  process.kill(pid, 'SIGKILL');
  assert.equal((await running).name, 'Disconnected');
  await assert.rejects(vm.exec('true'), named('Disconnected', 'SIGKILL'));
  await vm.stop();
  await vm.start();
  assert.equal((await vm.exec('echo again')).stdout, 'again\n');
  await vm.stop();
});
