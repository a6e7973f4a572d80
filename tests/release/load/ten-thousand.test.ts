/** Ten thousand connections at a Reader in a process of its own. */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { beforeAll, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../../client-proxy/limits.ts';
import { forFile } from '../../support/for-file.ts';
import { send } from '../../support/http-client.ts';
import { isOpen, openMany } from '../../support/raw-http.ts';
import { startReaderRig } from '../../support/reader-rig.ts';
import { startWispr } from '../../support/wispr.ts';

const rig = forFile(startReaderRig);
beforeAll(async () => {
  rig.host.handlers.set('/', (_, response) => response.end('well'));
});

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
