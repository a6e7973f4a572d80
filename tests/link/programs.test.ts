/** `wispr link near` and `wispr link far` between programs as they are: curl, nginx, Chromium. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect as connectTcp, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { accepts, type Child, freePort, startChild, until } from '../../cache-config/child.ts';
import { type NearOptions, startFar, startNear } from '../../link/index.ts';
import { type Chain, makeChain } from '../support/certificates.ts';
import { launchChromium } from '../support/chromium.ts';
import { type Altered, type Counted, otherReference, startCounter } from '../support/link-counter.ts';
import { clientHello } from '../support/link-messages.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWispr } from '../support/wispr.ts';

const run = promisify(execFile);
const folder = temporaryFolder();
const ANSWER = 'answered by nginx\n';

let rsa: Chain;
let person: Chain;
let nginx: Child;
/** Ports of nginx: TLS 1.2, and TLS 1.2 with client certificates. */
let [tls12 = 0, asking = 0]: number[] = [];

beforeAll(async () => {
  rsa = await makeChain(folder, 'server', 'rsa', ['DNS:localhost']);
  person = await makeChain(folder, 'person', 'ecdsa', ['DNS:person.example']);
  [tls12, asking] = [await freePort(), await freePort()];
  nginx = startNginx();
  await until(() => accepts(asking), 20_000);
});
afterAll(() => nginx.stop());

function startNginx(): Child {
  const own = temporaryFolder();
  const server = (port: number, more: string) => `server { listen 127.0.0.1:${port} ssl; server_name localhost;
    location / { return 200 "${ANSWER.trim()}\\n"; default_type text/plain; } ${more} }`;
  writeFileSync(
    join(own, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
    events { worker_connections 64; }
    http {
      access_log off; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
      ssl_certificate ${rsa.certFile}; ssl_certificate_key ${rsa.keyFile};
      ${server(tls12, 'ssl_protocols TLSv1.2;')}
      ${server(asking, `ssl_protocols TLSv1.2; ssl_verify_client on; ssl_verify_depth 3; ssl_client_certificate ${person.rootFile};`)}
    }`,
  );
  return startChild(['nginx', '-p', own, '-c', 'nginx.conf', '-e', 'stderr'], own, { stopSignal: 'SIGQUIT' });
}

interface Pair {
  readonly proxy: string;
  readonly port: number;
  /** Counts bytes that crossed between the relays since the last call. */
  readonly crossed: () => Counted;
  readonly told: string[];
}

async function startPair(more: Partial<NearOptions> = {}, altered?: Altered): Promise<Pair> {
  const place = temporaryFolder();
  const told: string[] = [];
  const tell = (what: string) => void told.push(what);
  const listen = '127.0.0.1:0';
  const allowLocal = ['127.0.0.0/8', '[::1]'];
  const far = await startFar({ listen, allowLocal, store: join(place, 'far.db'), report: tell });
  const counter = await startCounter(far.port, altered);
  const to = { far: `127.0.0.1:${counter.port}`, store: join(place, 'near.db'), ...more };
  const near = await startNear({ listen, report: tell, ...to });
  onTestFinished(async () => {
    await near.close();
    await counter.close();
    await far.close();
  });
  return { proxy: `http://127.0.0.1:${near.port}`, port: near.port, crossed: counter.take, told };
}

const curl = (proxy: string, port: number | undefined, ...more: string[]) =>
  run('curl', ['-sS', '--proxy', proxy, '--cacert', rsa.rootFile, ...more, `https://localhost:${port}/`]);

describe('curl and nginx', () => {
  it('a client that leaves during the handshake does not make its destination plain', async () => {
    const { proxy, port, crossed } = await startPair();
    const visit = () => curl(proxy, tls12, '--tls-max', '1.2');
    await visit();
    const first = crossed();
    const impatient = connectTcp(port, '127.0.0.1', () => {
      impatient.end(
        `CONNECT localhost:${tls12} HTTP/1.1\r\nHost: localhost\r\n\r\n${clientHello('localhost').toString('latin1')}`,
        'latin1',
      );
    });
    await new Promise((resolve) => impatient.resume().once('close', resolve));
    crossed();
    await visit();
    expect(first.down - crossed().down).toBeGreaterThan(1_800);
  });

  it('leave both chains out from the second visit on, the client’s too', async () => {
    const { proxy, crossed, told } = await startPair();
    const own = ['--cert', person.certFile, '--key', person.keyFile];
    const sizes: Counted[] = [];
    for (let visit = 0; visit < 3; visit++) {
      expect((await curl(proxy, asking, '--tls-max', '1.2', ...own)).stdout).toBe(ANSWER);
      sizes.push(crossed());
    }
    const [first, second, third] = sizes as [Counted, Counted, Counted];
    expect([first.up - second.up > 1_000, first.down - second.down > 1_800]).toEqual([true, true]);
    expect(Math.abs(third.down - second.down)).toBeLessThan(20);
    expect(told).toEqual([]);
  });

  it('leave out a chain that the near relay was filled with, at the first visit', async () => {
    const sizes: number[] = [];
    for (const fill of [[], [rsa.certFile]]) {
      const { proxy, crossed, told } = await startPair({ fill });
      expect(told).toEqual(fill.map(() => expect.stringContaining('1 of 1')));
      expect((await curl(proxy, tls12, '--tls-max', '1.2')).stdout).toBe(ANSWER);
      sizes.push(crossed().down);
    }
    expect((sizes[0] ?? 0) - (sizes[1] ?? 0)).toBeGreaterThan(1_800);
  });

  it('attack 122: a chain that the client refuses is not remembered, and is refused by the next client too', async () => {
    const { proxy, crossed } = await startPair();
    for (let visit = 0; visit < 2; visit++)
      await expect(
        run('curl', ['-sS', '--proxy', proxy, '--tls-max', '1.2', `https://localhost:${tls12}/`]),
      ).rejects.toThrow(/certificate/);
    expect(crossed().down).toBeGreaterThan(4_000);
  });
});

it('Chromium: a page over TLS 1.2, the certificates left out at the second visit', async () => {
  const { proxy, crossed } = await startPair();
  const browser = await launchChromium();
  const sizes: Counted[] = [];
  for (let visit = 0; visit < 2; visit++) {
    const by = { server: proxy, bypass: '<-loopback>' };
    const context = await browser.newContext({ ignoreHTTPSErrors: true, proxy: by });
    const page = await context.newPage();
    await page.goto(`https://localhost:${tls12}/robots.txt`);
    expect(await page.textContent('body')).toContain(ANSWER.trim());
    await context.close();
    sizes.push(crossed());
  }
  await browser.close();
  expect((sizes[0]?.down ?? 0) - (sizes[1]?.down ?? 0)).toBeGreaterThan(1_000);
});

describe('attack 123: the far relay as a way in', () => {
  it('connects to no address of its own network, under any name, and to no mail server', async () => {
    const place = temporaryFolder();
    const told: string[] = [];
    const listen = '127.0.0.1:0';
    const far = await startFar({ listen, store: join(place, 'far.db'), report: (what) => void told.push(what) });
    const near = await startNear({ listen, far: `127.0.0.1:${far.port}`, store: join(place, 'near.db') });
    for (const url of [
      `https://localhost:${tls12}/`,
      `https://127.0.0.1:${tls12}/`,
      'https://[::ffff:10.0.0.1]/',
      'https://192.0.2.1:25/',
    ])
      await expect(run('curl', ['-sSk', '--proxy', `http://127.0.0.1:${near.port}`, url])).rejects.toThrow();
    expect(told).toHaveLength(4);
    await near.close();
    await far.close();
  });

  it('takes no other proxy requests, and no other beginnings', async () => {
    const { proxy, port } = await startPair();
    await expect(run('curl', ['-sSf', '--proxy', proxy, 'http://localhost:1/'])).rejects.toThrow(/405/);
    await expect(run('curl', ['-sS', '-p', '--proxy', proxy, 'http://a..b:1/'])).rejects.toThrow(/400|resolve|CONNECT/);
    const far = connectTcp(port, '127.0.0.1').end('\u0002garbage');
    far.resume();
    await new Promise((resolve) => far.once('close', resolve));
  });
});

describe('attack 124: a relay is killed, or answers nonsense', () => {
  it('a client that asks for no destination, and resets the connection, is no uncaught error', async () => {
    const uncaught: Error[] = [];
    const hear = (error: Error) => void uncaught.push(error);
    process.on('uncaughtException', hear);
    onTestFinished(() => void process.off('uncaughtException', hear));
    const { proxy, port } = await startPair();
    for (let time = 0; time < 5; time++) {
      const client = connectTcp(port, '127.0.0.1').on('error', () => undefined);
      client.write('CONNECT bad HTTP/1.1\r\nHost: x\r\n\r\n');
      client.once('data', () => client.resetAndDestroy());
      await new Promise((resolve) => client.once('close', resolve));
    }
    expect((await curl(proxy, tls12)).stdout).toBe(ANSWER);
    expect(uncaught).toEqual([]);
  });

  it('connections end, and the next ones work when it is back', async () => {
    const place = temporaryFolder();
    const farAt = `127.0.0.1:${await freePort()}`;
    const farOptions = ['--listen', farAt, '--allow-local', 'localhost', '--store', join(place, 'far.db')];
    const nearOptions = ['--listen', '127.0.0.1:0', '--far', farAt, '--store', join(place, 'near.db')];
    const startFarProgram = () => startWispr(['link', 'far', ...farOptions]);
    const far = await startFarProgram();
    const near = await startWispr<{ port: number }>(['link', 'near', ...nearOptions]);
    const proxy = `http://127.0.0.1:${near.ready.port}`;
    const silent = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await new Promise((resolve) => silent.once('listening', resolve));
    const reached = new Promise((resolve) => silent.once('connection', resolve));
    const waiting = expect(curl(proxy, (silent.address() as { port: number }).port)).rejects.toThrow();
    await reached;
    await far.stop('SIGKILL');
    await waiting;
    await expect(curl(proxy, tls12, '--tls-max', '1.2')).rejects.toThrow();
    const again = await startFarProgram();
    for (let visit = 0; visit < 2; visit++) expect((await curl(proxy, tls12, '--tls-max', '1.2')).stdout).toBe(ANSWER);
    expect([(await near.stop()).code, (await again.stop()).code]).toEqual([0, 0]);
  });

  it('a link that changes references fails one visit of a client; its next is plain, and works', async () => {
    const { proxy, told } = await startPair({}, otherReference);
    const visit = (address: string) => curl(proxy, tls12, '--tls-max', '1.2', '--interface', address);
    expect((await visit('127.0.0.1')).stdout).toBe(ANSWER);
    for (const client of ['127.0.0.1', '127.0.0.2']) {
      await expect(visit(client)).rejects.toThrow();
      expect(told.splice(0)).toEqual([`localhost:${tls12}: a reference to what was not listed`]);
      expect((await visit(client)).stdout).toBe(ANSWER);
    }
  });
});

it('--to takes connections for one server, without a proxy', async () => {
  const { port } = await startPair({ to: `localhost:${tls12}` });
  const there = ['--connect-to', `localhost:${tls12}:127.0.0.1:${port}`, `https://localhost:${tls12}/`];
  const { stdout } = await run('curl', ['-sS', '--tls-max', '1.2', '--cacert', rsa.rootFile, ...there]);
  expect(stdout).toBe(ANSWER);
});
