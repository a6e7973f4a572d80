/** `wispr link near --transparent`: clients that know nothing of it, and a kernel that diverts what they send. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../cache-config/child.ts';
import { LIMITS } from '../../link/limits.ts';
import { ConnectionTable } from '../../link/relay/connection-table.ts';
import { CertificateStore } from '../../link/store/store.ts';
import { type Chain, makeChain } from '../support/certificates.ts';
import { type DivertedNetwork, GATEWAY, SERVER, startDivertedNetwork } from '../support/diverted-network.ts';
import { type Ended, ROOT, type RunningProgram, startCommand } from '../support/programs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();
const RELAY = 8098;
const FAR = '127.0.0.1:8099';
/** An address of no machine, which is diverted all the same. */
const NOWHERE = '203.0.113.99';
/** Words of the page of `openssl s_server -www`. */
const ANSWER = /Server certificate|Ciphers supported/;

let network: DivertedNetwork;
let chain: Chain;
const started: RunningProgram[] = [];

beforeAll(async () => {
  chmodSync(folder, 0o755);
  const names = ['DNS:localhost', ...Object.values(SERVER).map((address) => `IP:${address}`)];
  chain = await makeChain(folder, 'server', 'ecdsa', names);
  network = await startDivertedNetwork();
  await network.divert(RELAY, 'clients');
  const files = ['-cert', chain.certFile, '-cert_chain', chain.issuingFile, '-key', chain.keyFile];
  start(network, ['openssl', 's_server', '-www', '-tls1_2', '-accept', '443', ...files]);
  const far = ['link', 'far', '--listen', FAR, '--store', join(folder, 'far.db')];
  const allowed = ['localhost', SERVER.ipv4, `[${SERVER.ipv6}]`].flatMap((host) => ['--allow-local', host]);
  await startRelay(network, [], [...far, ...allowed]);
});
afterAll(async () => {
  await Promise.all(started.map((program) => program.stop()));
  network.close();
});

function start(at: DivertedNetwork, command: readonly string[]): RunningProgram {
  const program = startCommand(at.among('gateway', command), { cwd: folder });
  started.push(program);
  return program;
}

async function startRelay(
  at: DivertedNetwork,
  by: readonly string[],
  args: readonly string[],
): Promise<RunningProgram> {
  const relay = start(at, [...by, process.execPath, `${ROOT}bin/wispr.js`, ...args, '--json']);
  await relay.line(/^\{/);
  return relay;
}

/** @param by - a command in front of its own */
async function startNear(by: readonly string[] = [], far = FAR, at = network) {
  const place = temporaryFolder();
  chmodSync(place, 0o777);
  const store = join(place, 'near.db');
  const args = `link near --transparent --listen [::]:${RELAY} --from 10.9.0.0/24 --from fd09::/64 --far ${far}`;
  return { near: await startRelay(at, by, [...args.split(' '), '--store', store]), store };
}

/** The table is for root. */
const AS_NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];

const curl = (...args: string[]): Promise<Ended> =>
  startCommand(network.among('clients', ['curl', '-sS', '--max-time', '20', '--cacert', chain.rootFile, ...args]))
    .ended;

describe('a diverted connection', () => {
  describe('where the connection table can be read', () => {
    let near: RunningProgram;
    let store: string;
    beforeAll(async () => {
      ({ near, store } = await startNear());
    });
    afterAll(() => near.stop());

    it('reaches the address that the client connected to, by IPv4 and IPv6, and without a server name', async () => {
      for (const host of [SERVER.ipv4, `[${SERVER.ipv6}]`]) {
        const { stdout, stderr } = await curl(`https://${host}/`);
        expect([stdout, stderr, near.stderr()]).toEqual([expect.stringMatching(ANSWER), '', expect.any(String)]);
      }
    });

    it('is closed where it was made to the relay itself', async () => {
      for (const host of [GATEWAY.ipv4, `[${GATEWAY.ipv6}]`])
        expect((await curl(`https://${host}:${RELAY}/`)).code).not.toBe(0);
      expect(near.stderr().match(/is a relay of this pair/g)).toHaveLength(2);
    });

    it('is remembered by its server name, and crosses without certificates at the second visit', async () => {
      const visit = () => curl('--resolve', `localhost:443:${SERVER.ipv4}`, 'https://localhost/');
      for (let times = 0; times < 2; times++) expect((await visit()).stdout).toMatch(ANSWER);
      expect((await near.stop()).stderr).not.toContain('nf_conntrack');
      const remembered = new CertificateStore(store);
      expect(remembered.recall('localhost:443').chain).toHaveLength(2);
      remembered.close();
    });
  });

  describe('where it cannot', () => {
    let near: RunningProgram;
    beforeAll(async () => {
      ({ near } = await startNear(AS_NOBODY));
    });
    afterAll(() => near.stop());

    it('goes to the server name where the connection table cannot be read, which is said at the start', async () => {
      expect(near.stderr().match(/nf_conntrack: permission denied/g)).toHaveLength(1);
      const { stdout, stderr } = await curl('--resolve', `localhost:443:${NOWHERE}`, 'https://localhost/');
      expect([stdout, stderr, near.stderr()]).toEqual([expect.stringMatching(ANSWER), '', expect.any(String)]);
    });

    it('is closed, and told, where there is neither an entry of the table nor a server name', async () => {
      for (const url of [`https://${SERVER.ipv4}/`, `http://${SERVER.ipv4}:443/`])
        expect((await curl(url)).code).not.toBe(0);
      expect(near.stderr().match(/nor is there a server name/g)).toHaveLength(2);
    });
  });

  it('attack 123: a server name that leads into the network of the far relay is refused there', async () => {
    const [strict, store] = ['127.0.0.1:8100', join(folder, 'strict.db')];
    const far = await startRelay(network, [], ['link', 'far', '--listen', strict, '--store', store]);
    const { near } = await startNear(AS_NOBODY, strict);
    expect((await curl('--resolve', `localhost:443:${NOWHERE}`, 'https://localhost/')).code).not.toBe(0);
    expect(far.stderr()).toContain('localhost:443 was not connected to');
    await near.stop();
  });

  it('is closed where the relay made it to the far relay, and the system diverts that too', async () => {
    const own = await startDivertedNetwork();
    onTestFinished(() => own.close());
    await own.divert(RELAY, 'clients');
    await own.divert(RELAY, 'gateway');
    const { near } = await startNear([], '10.9.0.77:443', own);
    const command = ['curl', '-sSk', '--max-time', '20', `https://${NOWHERE}/`];
    const { code } = await startCommand(own.among('clients', command)).ended;
    expect([code === 0, code === 28]).toEqual([false, false]);
    await until(() => near.stderr().includes('is a relay of this pair'), 5_000);
    expect(near.stderr().match(/is a relay of this pair/g)).toHaveLength(1);
    await near.stop();
  });
});

describe('the connection table', () => {
  const entry = (port: number) =>
    `ipv4     2 tcp      6 431999 ESTABLISHED src=10.9.0.2 dst=203.0.113.7 sport=${port} dport=443 packets=4 bytes=600 src=10.9.0.1 dst=10.9.0.2 sport=${RELAY} dport=${port} [ASSURED] mark=0 zone=0 use=2\n`;
  const arrived = (remotePort: number) => ({
    ...{ localAddress: '::ffff:10.9.0.1', localPort: RELAY, remoteAddress: '::ffff:10.9.0.2' },
    remotePort,
  });

  it('is read up to 16 MiB, once for all connections that wait', async () => {
    const file = join(folder, 'table');
    const filler = entry(9).repeat(Math.ceil(LIMITS.connectionTable / entry(9).length));
    writeFileSync(file, entry(40_001) + filler + entry(40_002));
    const table = new ConnectionTable(file);
    const found = await Promise.all([40_001, 40_002, 40_003].map((port) => table.find(arrived(port))));
    expect(found).toEqual([{ host: '203.0.113.7', port: 443 }, undefined, undefined]);
  });

  it('is searched past rows of other protocols and directions', async () => {
    const file = join(folder, 'others');
    const datagram = entry(40_001).replace(/ tcp /g, ' udp ').replace('203.0.113.7', '10.9.0.1');
    const reversed = `src=10.9.0.1 dst=10.9.0.2 sport=${RELAY} dport=40001 src=10.9.0.2 dst=10.9.0.1 sport=40001 dport=${RELAY} \n`;
    writeFileSync(file, datagram + reversed + entry(40_001));
    expect(await new ConnectionTable(file).find(arrived(40_001))).toEqual({ host: '203.0.113.7', port: 443 });
  });

  it('says nothing of a connection in the other direction, of a part of a port, or in a line that is cut', async () => {
    const file = join(folder, 'reversed');
    const reversed = `src=10.9.0.1 dst=10.9.0.2 sport=${RELAY} dport=40001 src=10.9.0.2 dst=10.9.0.1 sport=40001 dport=${RELAY} `;
    writeFileSync(file, `${reversed}\n${entry(40_001).slice(0, -60)}`);
    const table = new ConnectionTable(file);
    expect([await table.find(arrived(40_001)), await table.find(arrived(4000))]).toEqual([undefined, undefined]);
  });
});
