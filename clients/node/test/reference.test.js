// Expectations of the reference (AgentVM's specification, and the tests of the package agentvm 0.0.5) that
// machine.test.js does not state already:
//   start, echo, python3, exit codes, exported variables, mounts (ls, cat, write, seen on the host): machine.test.js
//   the network: addresses, a pattern by HTTP from the host whole, several sizes, a request body, headers: here
//   ARP, ICMP, DHCP, checksums, TLS, DNS: the tests of guest/vm/net, test/test_machine_network.py
// Not held: "VM is busy" (commands run at the same time, or one after the other in a session), trimmed output,
// 192.168.127.1 as the host's own services (host.cloche.internal is), TCP and UDP to any host by default (the
// policy names them), ping answered for every address.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { AgentVM } from 'agentvm';

const pattern = (n) => Buffer.from(Uint8Array.from({ length: n }, (_, i) => (i * 7 + (i >> 8)) & 255));
const md5 = (bytes) => createHash('md5').update(bytes).digest('hex');

describe('the network of a machine', () => {
  let vm, server, url;
  before(async () => {
    server = createServer((request, response) => {
      if (request.url === '/echo') return request.pipe(response);
      if (request.url === '/agent') return response.end(request.headers['user-agent']);
      if (request.url === '/none') return response.writeHead(404).end('no such page\n');
      response.end(pattern(Number(request.url.slice(1))));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    url = `http://host.cloche.internal:${port}`;
    const place = await mkdtemp(join(tmpdir(), 'agentvm-'));
    await mkdir(join(place, 'cloche'));
    const policy = { vm: { network: 'always' }, network: { allowPrivate: [`127.0.0.1:${port}`] } };
    await writeFile(join(place, 'cloche', 'policy.json'), JSON.stringify(policy));
    vm = new AgentVM({ wasmPath: process.env.CLOCHE_IMAGE, env: { XDG_CONFIG_HOME: place } });
    await vm.start();
  });
  after(async () => {
    await vm.stop();
    server.close();
  });
  const out = async (command) => {
    const { stdout, stderr, exitCode } = await vm.exec(command);
    assert.equal(exitCode, 0, stderr);
    return stdout;
  };

  test('is up when start() resolves, with its address and its gateway', async () => {
    assert.match(await out('ip -4 addr show eth0'), /inet 192\.168\.127\.3\/24/);
    assert.match(await out('ip route'), /default via 192\.168\.127\.1/);
    assert.match(await out('cat /sys/class/net/eth0/address'), /^02:00:00:00:00:01$/m);
  });

  for (const size of [1, 1024, 65536, 1048576, 10485760])
    test(`carries ${size} bytes of the host whole`, async () => {
      assert.equal((await out(`curl -sSf ${url}/${size} | md5sum`)).slice(0, 32), md5(pattern(size)));
    });

  test('carries what the machine sends', async () => {
    await vm.upload(pattern(200_000), '/root/sent');
    assert.equal((await out(`curl -sSf --data-binary @/root/sent ${url}/echo | md5sum`)).slice(0, 32), md5(pattern(200_000)));
  });

  test('carries several transfers at once', async () => {
    const sums = await out(`for i in 1 2 3 4; do curl -sSf ${url}/100000 | md5sum & done; wait`);
    assert.deepEqual(sums.trim().split('\n').map((line) => line.slice(0, 32)), Array(4).fill(md5(pattern(100_000))));
  });

  test('is that of python, too, with headers and statuses', async () => {
    const script = "import urllib.request as u, urllib.error as e; q = u.Request('URL/agent', headers={'User-Agent': 'mine'})\n" +
      "print(u.urlopen(q).read().decode())\ntry: u.urlopen('URL/none')\nexcept e.HTTPError as x: print(x.code)";
    const { stdout, stderr } = await vm.exec(['python3', '-c', script.replaceAll('URL', url)]);
    assert.equal(stdout, 'mine\n404\n', stderr);
  });

  test('refuses what the policy does not name', async () => {
    const { exitCode, stdout } = await vm.exec('curl -sS --max-time 20 http://192.0.2.1/; echo; false');
    assert.equal(stdout.trim(), '');
    assert.notEqual(exitCode, 0);
  });
});

describe('commands', () => {
  const vm = new AgentVM({ wasmPath: process.env.CLOCHE_IMAGE });
  before(() => vm.start());
  after(() => vm.stop());

  test('at the same time wait for one another, or run in sessions of their own', async () => {
    const results = await Promise.all([1, 2, 3].map((i) => vm.exec(`echo ${i}`)));
    assert.deepEqual(results.map(({ stdout }) => stdout), ['1\n', '2\n', '3\n']);
  });

  test('a hundred of them, one after the other, have their own results', async () => {
    for (let i = 0; i < 100; i++) {
      const code = i % 7;
      assert.deepEqual(await vm.exec(`echo ${i}; (exit ${code})`), { stdout: `${i}\n`, stderr: '', exitCode: code });
    }
  });

  test('have documents in them, and all characters', async () => {
    assert.equal((await vm.exec("cat <<'END'\n$HOME `x` \"quotes\" äöü 日本 \\\nEND")).stdout, '$HOME `x` "quotes" äöü 日本 \\\n');
  });
});
