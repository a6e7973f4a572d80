/** Users of the machine other than the reader: they can connect to loopback as well, and listen there. */
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../../cache-config/child.ts';
import { startProxy } from '../../../client-proxy/index.ts';
import { ConnectionOwners, ownConnections } from '../../../client-proxy/server/connection-owner.ts';
import { forFile } from '../../support/for-file.ts';
import { refusalCode, send } from '../../support/http-client.ts';
import { runAsOtherUser, startAsOtherUser } from '../../support/other-user.ts';
import { startHostileReaderRig } from '../../support/reader-rig.ts';

const SECRET = 'for one reader only';

const rig = forFile(startHostileReaderRig);
let gateway: string;
beforeAll(async () => {
  await rig.publisher.publish(rig.host.files, '/a.html', { content: SECRET });
  gateway = (await rig.proxy.gatewayUrl('news.example')) ?? '';
});

const CURL = ['-s', '-i', '--noproxy', '*', '--max-time', '20'];
const curlAsNobody = (...args: string[]) => runAsOtherUser('/usr/bin/curl', ...CURL, ...args);

describe('attack 79: another user of the machine', () => {
  it.each([
    ['the gateway', () => [`${gateway}a.html`, '--resolve', `${new URL(gateway).host}:127.0.0.1`]],
    ['the gateway over IPv6', () => ['--resolve', `${new URL(gateway).host}:[::1]`, `${gateway}a.html`]],
    ["the Reader's page", () => [`http://127.0.0.1:${rig.proxy.port}/`]],
    ['the proxy file', () => [`http://127.0.0.1:${rig.proxy.port}/proxy.pac`]],
    ['a form', () => ['-d', 'a=b', `http://localhost:${rig.proxy.port}/`]],
    ['the proxy', () => ['--noproxy', '', '-x', rig.proxy.url, rig.url('/a.html')]],
    ['the proxy, for other sites', () => ['--noproxy', '', '-x', rig.proxy.url, 'http://other.example/']],
    ['a tunnel', () => ['--noproxy', '', '-p', '-x', rig.proxy.url, 'http://other.example:443/']],
  ])('is refused %s, whatever it asks', async (_, args) => {
    rig.refusals.length = 0;
    const before = rig.host.requests.length;
    const said = await curlAsNobody(...args());
    expect(said).toMatch(/^HTTP\/1\.1 403 /);
    expect(said.toLowerCase()).toContain('wispr-refusal: other-user');
    expect(said).not.toContain(SECRET);
    expect(said).not.toContain('news.example');
    expect(rig.refusals).toEqual([{ code: 'other-user', address: '' }]);
    expect(rig.host.requests).toHaveLength(before);
  });

  it('is refused too if it is root: its programs pass on what others ask for', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'wispr-nobody-'));
    await chmod(folder, 0o777);
    const program = [join(import.meta.dirname, '../../../bin/wispr.js'), 'proxy', '--port', '0', '--json', '--quiet'];
    const { child, line } = await startAsOtherUser(process.execPath, [
      ...program,
      ...['--data', join(folder, 'data'), '--key-file', join(folder, 'reader.key')],
    ]);
    try {
      const { port } = new URL(JSON.parse(line).proxy);
      const own = await curlAsNobody(`http://127.0.0.1:${port}/`);
      expect(own).toMatch(/^HTTP\/1\.1 200 /);
      const answer = await send(Number(port), '/');
      expect([answer.status, refusalCode(answer)]).toEqual([403, 'other-user']);
    } finally {
      child.kill();
      await once(child, 'close');
      await rm(folder, { recursive: true });
    }
  });

  it('is served where the reader says so', async () => {
    await rig.restart({ otherUsers: true });
    const said = await curlAsNobody('--noproxy', '', '-x', rig.proxy.url, rig.url('/a.html'));
    expect(said).toContain(SECRET);
    await rig.restart();
  });
});

describe('whose connection it is', () => {
  let server: Server;
  let port: number;
  beforeAll(async () => {
    server = createServer().listen(0, '::');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => server.close());

  async function accept(host: string): Promise<[client: Socket, accepted: Socket]> {
    const coming = once(server, 'connection');
    const client = connect(port, host);
    await once(client, 'connect');
    return [client, (await coming)[0]];
  }

  it.each(['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'])('is known of one to %s', async (host) => {
    const [client, accepted] = await accept(host);
    const owners = await ConnectionOwners.open();
    expect(await owners.find(accepted)).toBe(process.getuid?.());
    // The other way round it is a connection as well.
    expect(await owners.find(client)).toBe(process.getuid?.());
    client.destroy();
    accepted.destroy();
  });

  it('has no owner any more when the other end is closed, though the table lists it as root’s', async () => {
    const [client, accepted] = await accept('127.0.0.1');
    const { remoteAddress, remotePort, localAddress, localPort } = accepted;
    accepted.resume();
    client.destroy();
    await once(accepted, 'end');
    accepted.destroy();
    const owners = await ConnectionOwners.open();
    expect(await owners.find({ remoteAddress, remotePort, localAddress, localPort })).toBe('closed');
    expect(await owners.find({})).toBeUndefined();
  });

  it('is not refused where the other end is gone, though this end has not noticed', async () => {
    const refused: string[] = [];
    const admit = await ownConnections({ otherUsers: false, refused: ({ code }) => refused.push(code) });
    const unread = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1'); // pauses: notices nothing
    await once(unread, 'listening');
    const coming = once(unread, 'connection');
    const client = connect((unread.address() as AddressInfo).port, '127.0.0.1');
    const [accepted] = (await coming) as [Socket];
    client.destroy();
    await once(client, 'close');
    expect([await admit(accepted), accepted.destroyed, refused]).toEqual([false, false, []]);
    accepted.destroy();
    unread.close();
  });

  it('is found wherever its line stands in a long table, and never in a line without an owner', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'wispr-table-'));
    const connection = (remotePort: number) => ({
      ...{ remoteAddress: '127.0.0.1', remotePort },
      ...{ localAddress: '127.0.0.1', localPort: 8001 },
    });
    const line = (port: number) =>
      `${port}: 0100007F:${port.toString(16).padStart(4, '0').toUpperCase()} 0100007F:1F41 01 00000000:00000000 00:00000000 00000000  ${port}        0 ${port % 10} 1\n`;
    const ports = Array.from({ length: 2_000 }, (_, index) => 1_000 + index);
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'tcp'), `  sl  local_address rem_address   st\n${ports.map(line).join('')}`);
    const owners = await ConnectionOwners.open(folder);
    const found = await Promise.all([...ports, 9_999].map((port) => owners.find(connection(port))));
    expect(found).toEqual([...ports.map((port) => (port % 10 === 0 ? 'closed' : port)), undefined]);
  });

  it('cannot be known on every system; then only users who were let in on purpose are served', async () => {
    await expect(ConnectionOwners.open('/nowhere')).rejects.toMatchObject({ code: 'other-user' });
  });
});

describe('attack 79: an address that browsers take for ours', () => {
  it.each(['127.0.0.1', '::1', '::', '0.0.0.0'])(
    'is refused to share, with a program that listens on %s',
    async (host) => {
      const squatter = createServer((socket) => socket.destroy()).listen(await freePort(), host); // a Reader may ask it whether it is one
      await once(squatter, 'listening');
      const { port } = squatter.address() as AddressInfo;
      const storage = await rig.anotherStorage();
      await expect(startProxy({ ...storage, port })).rejects.toMatchObject({ code: 'listen-failed' });
      await once(squatter.close(), 'close');
      const proxy = await startProxy({ ...storage, port }); // nothing of the first attempt is left
      await proxy.close();
    },
  );

  it('is ours on both addresses, and on neither any more when the Reader stops', async () => {
    const proxy = await rig.another();
    const ask = (host: string) => fetch(`http://${host}:${proxy.port}/`).then(({ status }) => status);
    expect([await ask('127.0.0.1'), await ask('[::1]')]).toEqual([200, 403]); // [::1] is none of its names
    await proxy.close();
    for (const host of ['127.0.0.1', '::1']) {
      const [error] = await once(connect(proxy.port, host), 'error');
      expect(error.code).toBe('ECONNREFUSED');
    }
  });
});
