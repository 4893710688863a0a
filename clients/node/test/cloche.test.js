// The rest of Cloche over a vault: code, notes, tools, functions.
import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Cloche } from 'agentvm';

let cloche;
before(async () => {
  const vault = await mkdtemp(join(tmpdir(), 'agentvm-vault-'));
  await writeFile(join(vault, 'One.md'), '# One\n\nIt names [[Two]].\n');
  await writeFile(join(vault, 'Two.md'), '# Two\n');
  cloche = new Cloche({ vaults: vault });
});
after(() => cloche.close());

test('code is evaluated, with a context, and its console is heard', async () => {
  const heard = [];
  const value = await cloche.evaluate("console.log('so', n); await sleep(1); return {n: n + 1}", {
    context: { n: 1 },
    onLog: ({ level, data }) => heard.push([level, data]),
  });
  assert.deepEqual(value, { n: 2 });
  assert.deepEqual(heard, [['info', 'so 1']]);
});

test('code that fails rejects, by name, with its place', async () => {
  await assert.rejects(cloche.evaluate("\nthrow new RangeError('far')"), (error) => {
    assert.equal(error.name, 'ExecutionError');
    assert.equal(error.details.name, 'RangeError');
    return error.details.line === 2;
  });
  await assert.rejects(cloche.evaluate('for (;;);', { timeout: 100 }), { name: 'Timeout' });
});

test('a large result is whole', async () => {
  assert.equal((await cloche.evaluate("return 'x'.repeat(3_000_000)")).length, 3_000_000);
});

test('an aborted evaluation is rejected, and the next one runs', async () => {
  const abort = new AbortController();
  const options = { computeTimeout: 5000, timeout: 60000, signal: abort.signal, onLog: () => abort.abort() };
  await assert.rejects(cloche.evaluate("console.log('up'); await sleep(60000)", options), { name: 'AbortError' });
  assert.equal(await cloche.evaluate('return 1'), 1);
});

test('notes, links and others are called as in code', async () => {
  const made = await cloche.notes.create({ type: 'project', title: 'Three', content: 'Beside [[One]].' });
  assert.equal(made.id, 'project/Three');
  assert.match((await cloche.notes.get(made.id)).content, /Beside/);
  assert.equal(await cloche.notes.get('none/such'), null);
  assert.deepEqual((await cloche.links.getBacklinks('Two')).map((link) => typeof link), ['object']);
  await assert.rejects(cloche.notes.update({ identifier: 'none/such', content: '' }), /none\/such/);
  await assert.rejects(cloche.notes.create({ titel: 'x' }), /titel/);
});

test('a tool takes bytes, and its exit code is no error', async () => {
  const { stdout, exitCode } = await cloche.tools.run('jq', { arguments: { filter: '.a' }, stdin: Buffer.from('{"a":[1]}') });
  assert.deepEqual([JSON.parse(stdout), exitCode], [[1], 0]);
  const bad = await cloche.tools.run('jq', { arguments: { filter: '.a' }, stdin: 'no' });
  assert.ok(!bad.success && bad.exitCode !== 0 && bad.stderr);
  await assert.rejects(cloche.tools.run('jqq'), /jqq/);
  const { files } = await cloche.tools.run('sort', { args: ['-o', 'out', 'in'], files: { in: Buffer.from('b\na\n') } });
  assert.deepEqual(files.map(({ name, bytes }) => [name, String(bytes)]), [['out', 'a\nb\n']]);
  assert.ok((await cloche.tools.list()).some(({ name }) => name === 'jq'));
});

test('functions are registered, called and listed', async () => {
  await cloche.functions.register({
    name: 'twice',
    description: 'Twice a number',
    parameters: { n: { type: 'number', description: 'it' } },
    returnType: 'number',
    code: 'async function twice(n: number): Promise<number> { return 2 * n; }',
  });
  assert.equal(await cloche.functions.call('twice', 21), 42);
  assert.deepEqual((await cloche.functions.list()).functions.map(({ name }) => name), ['twice']);
  await assert.rejects(cloche.functions.get('none'), { name: 'NotFound' });
  await assert.rejects(cloche.functions.call('a.b()'), { name: 'InvalidInput' });
});

test('what is closed is not started again', async () => {
  const closed = new Cloche();
  const vm = closed.machine();
  await vm.start();
  await Promise.all([closed.close(), closed.close()]);
  await assert.rejects(closed.evaluate('return 1'), { name: 'Disconnected' });
  await assert.rejects(vm.exec('true'), { name: 'Disconnected' });
  await vm.stop();
});

test('machines of one process are apart', async () => {
  const [one, two] = [cloche.machine(), cloche.machine()];
  await Promise.all([one.start(), two.start()]);
  await one.exec('touch /root/mine');
  assert.equal((await two.exec('ls /root')).stdout, '');
  await one.stop();
  assert.equal((await two.exec('echo still')).stdout, 'still\n');
  await two.stop();
  assert.equal(await cloche.evaluate('return 1'), 1);
});
