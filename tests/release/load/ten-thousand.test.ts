/** Ten thousand connections at a Reader and at a key server, in processes of their own. */
import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { beforeAll, expect, it } from 'vitest';
import { freePort } from '../../../cache-config/child.ts';
import { DEFAULT_LIMITS } from '../../../client-proxy/limits.ts';
import { makeSelfSigned } from '../../support/certificates.ts';
import { forFile } from '../../support/for-file.ts';
import { send } from '../../support/http-client.ts';
import { temporaryFolder, writeServerConfig } from '../../support/keyserver-rig.ts';
import { isOpen, openMany } from '../../support/raw-http.ts';
import { startReaderRig } from '../../support/reader-rig.ts';
import { startWispr } from '../../support/wispr.ts';

const rig = forFile(startReaderRig);
beforeAll(async () => rig.host.handlers.set('/', (_, response) => response.end('well')));

/** Bytes of memory that a process holds. */
const memoryOf = (pid: number) =>
  1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

it('attack 65: ten thousand connections without a request take no more memory and sockets than the bound, and keep no reader from reading', async () => {
  const { dataDirectory, keyFile } = await rig.anotherStorage();
  const rule = `:80:127.0.0.1:${rig.host.port}`;
  const running = await startWispr<{ proxy: string }>(
    ['proxy', '--port', '0', '--quiet', '--data', dataDirectory, '--key-file', keyFile, '--connect-to', rule],
    {},
  );
  const port = Number(new URL(running.ready.proxy).port);
  const sockets: Socket[] = [];
  try {
    expect((await send(port, 'http://elsewhere.example/')).text).toBe('well');
    const before = memoryOf(running.pid);
    sockets.push(...(await openMany(port, 10_000)));
    expect((await send(port, 'http://elsewhere.example/')).text).toBe('well');
    await expect
      .poll(() => sockets.filter(isOpen).length, { timeout: 120_000 })
      .toBeLessThanOrEqual(DEFAULT_LIMITS.clientConnections);
    expect(sockets.filter(isOpen).length).toBeGreaterThan(DEFAULT_LIMITS.clientConnections / 2);
    expect(memoryOf(running.pid) - before).toBeLessThan(150 * 1024 * 1024);
  } finally {
    for (const socket of sockets) socket.destroy();
    await running.stop();
  }
});

it('attack 127: ten thousand connections with half a head take no more memory at a key server with TLS than the bound of one address, and keep no reader from reading', async () => {
  const folder = temporaryFolder();
  const hosts = ['keys.news.example', 'read.news.example', 'pages.news.example'] as const;
  const tlsOf = (host: string) => ({ certificate: join(folder, host, 'cert.pem'), key: join(folder, host, 'key.pem') });
  for (const host of hosts) await makeSelfSigned(join(folder, host), host);
  const port = await freePort();
  const at = (index: 0 | 1 | 2, number = 0) => {
    const listen = { host: '127.0.0.1', port: number };
    return { origin: `https://${hosts[index]}`, listen, tls: tlsOf(hosts[index]) };
  };
  writeServerConfig(folder, { ...at(0, port), reading: { ...at(1, await freePort()), documents: at(2) } });
  const running = await startWispr(['keyserver'], { cwd: folder });
  const sockets: TLSSocket[] = [];
  const ask = (localAddress: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const to = { host: '127.0.0.1', port, localAddress, rejectUnauthorized: false, path: '/healthz' };
      get({ ...to, headers: { host: hosts[0] } }, ({ statusCode }) => resolve(statusCode)).once('error', reject);
    });
  try {
    expect(await ask('127.0.0.1')).toBe(200);
    const before = memoryOf(running.pid);
    while (sockets.length < 10_000) {
      const some = Array.from({ length: 250 }, () =>
        connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false }),
      );
      for (const socket of some) socket.on('error', () => socket.destroy()).resume();
      await Promise.all(
        some.map((socket) => new Promise((done) => socket.once('secureConnect', done).once('close', done))),
      );
      for (const socket of some) socket.write('GET / HTTP/1.1\r\nX-A: ');
      sockets.push(...some);
    }
    expect(await ask('127.0.0.1')).toBe(200);
    expect(await ask('127.0.0.2')).toBe(200);
    await expect.poll(() => sockets.filter(isOpen).length, { timeout: 60_000 }).toBeLessThanOrEqual(512);
    expect(memoryOf(running.pid) - before).toBeLessThan(150 * 1024 * 1024);
  } finally {
    for (const socket of sockets) socket.destroy();
    await running.stop();
  }
});
