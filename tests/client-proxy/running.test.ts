/** A single Reader has the database; commands reach it through its socket. */
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fetchDocument, lockReader, startProxy } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { makeRoamingCheap } from '../support/cheap-roaming.ts';
import { forEachTest } from '../support/for-file.ts';
import { send } from '../support/http-client.ts';
import { proxyCommand, startHostileReaderRig } from '../support/reader-rig.ts';
import { runWispr, startWispr } from '../support/wispr.ts';

beforeAll(() => makeRoamingCheap());
const rig = forEachTest(() => startHostileReaderRig({ cacheBytes: 50_000_000 }));
beforeEach(() => rig.publisher.publish(rig.host.files, '/a.html', { content: 'for subscribers' }));

const socket = () => join(rig.storage.dataDirectory, 'running', 'socket');
const read = () => send(rig.proxy.port, rig.url('/a.html'));
const wispr = (...args: string[]) =>
  runWispr([...args, '--data', rig.storage.dataDirectory, '--key-file', rig.storage.keyFile]);
const document = (path = '/a.html') =>
  fetchDocument({ ...rig.storage, address: rig.url(path) }, async ({ status, content }) => [
    status,
    await text(content),
  ]);

describe('while a Reader runs', () => {
  it('a document is fetched through it, and what it refuses is the same refusal', async () => {
    expect(await document()).toEqual([200, 'for subscribers']);
    await expect(document('/none')).rejects.toMatchObject({
      code: 'no-such-document',
      address: rig.url('/none'),
      reason: 'the publisher signed that there is no such document',
    });
    await expect(document('/a.html').then(() => fetchDocument({ ...rig.storage, address: 'other.example/' }, async () => 0))).rejects.toMatchObject({ code: 'not-connected' }); // biome-ignore format: one line
  });

  it('a large document comes whole, and a reader of it that stops early is no fault', async () => {
    const film = Buffer.alloc(3_000_000, 'film');
    await rig.publisher.publish(rig.host.files, '/film.mp4', { content: film });
    const options = { ...rig.storage, address: rig.url('/film.mp4') };
    expect(await fetchDocument(options, async ({ content }) => (await text(content)).length)).toBe(film.length);
    const first = await fetchDocument(options, async ({ content }) => {
      for await (const piece of content) return piece.length;
      return 0;
    });
    expect(first).toBeGreaterThan(0);
    expect((await read()).text).toBe('for subscribers');
  });

  it.each(['', 'abc'])(
    'a range is refused that begins at the end of %j, whose length shows only there',
    async (text) => {
      const metadata = { contentCoding: 'gzip' } as const;
      await rig.publisher.publish(rig.host.files, '/coded.txt', { content: gzipSync(text), metadata });
      const options = { ...rig.storage, address: rig.url('/coded.txt'), range: { start: text.length, end: undefined } };
      await expect(fetchDocument(options, async () => 0)).rejects.toMatchObject({ code: 'condition-unmet' });
    },
  );

  it('commands in other processes work, and say the same', async () => {
    const fetched = await wispr('fetch', rig.url('/a.html'));
    expect([fetched.code, fetched.stdout, fetched.stderr]).toEqual([0, 'for subscribers', '']);
    const identity = await wispr('identity');
    expect([identity.code, identity.stdout]).toEqual([0, expect.stringContaining(rig.publisher.site)]);
    const status = await wispr('proxy', 'status', '--json');
    expect(JSON.parse(status.stdout)).toMatchObject({
      running: { url: rig.proxy.url, process: process.pid, locked: false },
    });
    expect((await wispr('identity', 'lock')).code).toBe(0);
    const locked = await wispr('fetch', rig.url('/a.html'));
    expect([locked.code, locked.stderr]).toEqual([1, expect.stringContaining('[reader-locked]')]);
    expect((await wispr('identity', 'unlock')).code).toBe(0);
    expect((await read()).text).toBe('for subscribers');
  });

  it('a roaming file is written and taken in by it; a passphrase is asked for although it is unlocked', async () => {
    const [file, words, secret] = ['x.roaming', 'words', 'passphrase'].map((name) => join(rig.directory, name)) as [string, string, string]; // biome-ignore format: one line
    expect((await wispr('identity', 'export', file, '--words-file', words)).code).toBe(0);
    expect(readFileSync(words, 'utf8').trim().split(' ')).toHaveLength(7);
    const imported = await wispr('identity', 'import', file, '--words-file', words);
    expect([imported.code, imported.stderr]).toEqual([0, expect.stringContaining('taken over: roaming file number 1')]);
    writeFileSync(secret, 'a passphrase\n', { mode: 0o600 });
    expect((await wispr('identity', 'protect', 'passphrase', '--new-passphrase-file', secret)).code).toBe(0);
    expect((await read()).text).toBe('for subscribers');
    const without = await wispr('identity', 'export', file);
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('[passphrase-needed]')]);
    expect((await wispr('identity', 'export', file, '--passphrase-file', secret)).code).toBe(0);
  });

  it('options of which it has its own are refused by name, and nothing is done', async () => {
    const own = ['--cache-size', '1G', '--connect-to', ':80:127.0.0.1:9', '--allow-local', '127.0.0.1'];
    for (const args of [
      ['fetch', rig.url('/a.html')],
      ['sync', rig.publisher.site],
    ]) {
      const { code, stdout, stderr } = await wispr(...args, ...own, '--parent-proxy', 'http://127.0.0.1:9');
      const named = /leave out --cache-size, --connect-to, --allow-local, --parent-proxy: .*\[reader-running\]$/m;
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(named)]);
    }
    expect((await wispr('fetch', rig.url('/a.html'))).code).toBe(0);
  });
});

describe('the socket', () => {
  it('is in a folder that no other user can enter, and goes with the Reader', async () => {
    expect(statSync(join(socket(), '..')).mode & 0o777).toBe(0o700);
    await rig.proxy.close();
    expect(existsSync(join(socket(), '..'))).toBe(false);
    expect(await lockReader(rig.storage)).toBeUndefined();
  });

  it('is not asked in a folder that others can enter: a passphrase would go to them', async () => {
    await rig.proxy.close();
    mkdirSync(join(socket(), '..'), { mode: 0o755 });
    const server = createServer(() => expect.unreachable());
    await once(server.listen(socket()), 'listening');
    expect(await lockReader(rig.storage)).toBeUndefined();
    server.close();
  });

  it.each([
    ['nonsense', Buffer.from('nonsense that is no frame at all')],
    ['another request', frame({ name: 'toString', request: {} })],
    ['no object', frame(null)],
    ['half a frame', frame({ name: 'status', request: {} }).subarray(0, 9)],
  ])('outlives %s', async (_, bytes) => {
    const client = connect(socket());
    client.on('error', () => undefined).on('data', () => undefined);
    client.end(bytes);
    await new Promise((resolve) => client.once('close', resolve));
    expect((await read()).text).toBe('for subscribers');
  });
});

it('a Reader in another process that hangs is not taken for none; one that was killed leaves no lock, and nothing is lost', async () => {
  await rig.proxy.close();
  const reader = await startWispr(proxyCommand(rig, rig.host.port));
  try {
    expect(await document()).toEqual([200, 'for subscribers']);
    Object.assign(rig.limits, { controlTimeout: 300 });
    process.kill(reader.pid, 'SIGSTOP');
    await expect(lockReader(rig.storage)).rejects.toMatchObject({ code: 'reader-unreachable' });
    await expect(startProxy({ ...rig.storage, port: 0 })).rejects.toMatchObject({ code: 'reader-unreachable' });
  } finally {
    Object.assign(rig.limits, DEFAULT_LIMITS);
    await reader.stop('SIGKILL');
  }
  expect(existsSync(socket())).toBe(true);
  expect((await wispr('proxy', 'status')).stdout).toContain('not running');
  await rig.restart();
  expect((await read()).text).toBe('for subscribers');
});

it('a command waits for another that has the database for a moment, and says so where that does not end', async () => {
  await rig.proxy.close();
  const connectTo = [{ fromHost: undefined, fromPort: 80, toHost: '127.0.0.1', toPort: rig.host.port }];
  const fetched = () =>
    fetchDocument({ ...rig.storage, connectTo, address: rig.url('/a.html') }, ({ content }) => text(content));
  const store = await ReaderStore.open(storeOptions(rig.storage));
  setTimeout(() => store.close(), 200);
  expect(await fetched()).toBe('for subscribers');
  Object.assign(rig.limits, { databaseWait: 100 });
  const other = await ReaderStore.open(storeOptions(rig.storage));
  try {
    await expect(fetched()).rejects.toMatchObject({ code: 'store-busy' });
  } finally {
    Object.assign(rig.limits, DEFAULT_LIMITS);
    other.close();
  }
});

function frame(value: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(value));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}
