/** A Reader at its start and its end: it is known to others for as long as it may have a key. */
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ProxyOptions, parseConnectTo, type RunningProxy, startProxy } from '../../../client-proxy/index.ts';
import { LIMITS } from '../../../client-proxy/limits.ts';
import { announcedReaders } from '../../../client-proxy/running/announcement.ts';
import { socketsOf } from '../../../client-proxy/running/socket-place.ts';
import { DATABASE_FILES } from '../../../client-proxy/store/locations.ts';
import { send } from '../../support/http-client.ts';
import { CleanUp, storageIn, temporaryFolder } from '../../support/reader-rig.ts';

const cleanUp = new CleanUp();
let storage: ReturnType<typeof storageIn>;
beforeEach(async () => {
  storage = storageIn(await temporaryFolder(cleanUp));
});
afterEach(() => cleanUp.run());

async function start(options: ProxyOptions = {}): Promise<RunningProxy> {
  const proxy = await startProxy({ ...storage, port: 0, ...options });
  cleanUp.add(() => proxy.close());
  return proxy;
}

/** Other limits for the time of a test. */
function limit(changed: Partial<Record<keyof typeof LIMITS, number>>): void {
  const before = { ...LIMITS };
  cleanUp.add(async () => void Object.assign(LIMITS, before));
  Object.assign(LIMITS, changed);
}

const isRefused = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true));
    socket.once('connect', () => socket.destroy());
  });
const announced = () => announcedReaders(storage.dataDirectory).map((reader) => reader.state());

it('is known before it has a key, and not any more where it could not start', async () => {
  const seen: string[][] = [];
  const passphrase = async () => {
    seen.push(announced());
    throw new Error('nobody knows it');
  };
  await expect(start({ passphrase })).rejects.toThrow('nobody knows it');
  expect(seen).toEqual([['running']]);
  expect(readdirSync(storage.dataDirectory).filter((name) => name.startsWith('reader.run'))).toEqual([]);
});

it('is known until everything is closed, however long that takes', async () => {
  const host = createServer(); // answers when it is told to
  await once(host.listen(0, '127.0.0.1'), 'listening');
  cleanUp.add(async () => host.close());
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${(host.address() as AddressInfo).port}`)];
  limit({ stopTimeout: 60_000 });
  const proxy = await start({ connectTo });
  const answer = send(proxy.port, 'http://slow.example/');
  const [, response] = await once(host, 'request');
  const closing = proxy.close();
  await expect.poll(() => isRefused(proxy.port)).toBe(true); // everything is on its way to its end
  expect(socketsOf(storage.dataDirectory)).toEqual([]);
  expect(announced()).toEqual(['running']);
  response.end('at last');
  expect((await answer).text).toBe('at last');
  await closing;
  expect(announced()).toEqual([]);
});

it('drops its keys where its database is erased, also while nobody asks for anything', async () => {
  limit({ idleCheck: 20 });
  const proxy = await start();
  expect(proxy.lock.isLocked).toBe(false);
  for (const name of DATABASE_FILES) rmSync(join(storage.dataDirectory, name));
  await expect.poll(() => proxy.lock.isLocked).toBe(true);
});

it('removes what killed ones left', async () => {
  await mkdir(storage.dataDirectory, { recursive: true, mode: 0o700 });
  const left = join(storage.dataDirectory, 'reader.run-0123456789');
  writeFileSync(left, '');
  await start();
  expect([existsSync(left), announced()]).toEqual([false, ['running']]);
});

it('is an error in words where its folder cannot be', async () => {
  writeFileSync(storage.dataDirectory, 'a file where the folder should be');
  await expect(start()).rejects.toMatchObject({ code: 'store-unusable' });
});
