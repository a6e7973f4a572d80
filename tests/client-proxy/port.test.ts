/** Port that the Reader gets: the usual one, another that it remembers, or none, with a reason. */
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ProxyOptions, startProxy } from '../../client-proxy/index.ts';
import { SettingsKeeper } from '../../client-proxy/store/settings.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { listenOnLoopback, startContentHost } from '../support/content-host.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
let storage: ReturnType<typeof storageIn>;
beforeEach(async () => {
  storage = storageIn(await temporaryFolder(cleanUp));
});
afterEach(() => cleanUp.run());

async function start(options: Partial<ProxyOptions> = {}) {
  const proxy = cleanUp.use(await startProxy({ ...storage, ...options }));
  return proxy;
}

/** Starts another program on loopback. @param answer - what it says to each client */
async function occupy(answer?: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (answer === undefined) socket.destroy();
    else socket.end(answer);
  });
  cleanUp.add(() => new Promise((resolve) => server.close(resolve)));
  return listenOnLoopback(server);
}

async function withStore<Result>(work: (store: ReaderStore) => Result | Promise<Result>): Promise<Result> {
  const store = await ReaderStore.open({ directory: storage.dataDirectory, keyFile: storage.keyFile });
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

describe('a port that another program has', () => {
  it.each([
    ['says nothing', undefined],
    ['says something else', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'],
    ['never comes to an end', `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(100_000)}`],
  ])('which %s: another is chosen once, remembered, and told', async (_, answer) => {
    const taken = await occupy(answer);
    await withStore((store) => new SettingsKeeper(store.preferences).save(new Map([['port', String(taken)]])));
    const first = await start();
    expect([first.takenPort, first.port === taken]).toEqual([taken, false]);
    expect(first.page).toBe(`http://localhost:${first.port}/`);
    await first.close();
    const second = await start();
    expect([second.takenPort, second.port]).toEqual([undefined, first.port]);
  });

  it('is an error where it was asked for by name, and nothing else is chosen', async () => {
    const taken = await occupy();
    await expect(start({ port: taken })).rejects.toMatchObject({ code: 'listen-failed' });
    expect(await withStore((store) => new SettingsKeeper(store.preferences).current.port)).toBeUndefined();
  });
});

it('the same reader’s Reader that runs already is named, with the same port or another', async () => {
  const first = await start({ port: 0 });
  for (const options of [{}, { port: first.port }, { port: 0 }])
    await expect(start(options)).rejects.toMatchObject({ code: 'reader-running', fields: { url: first.url } });
  expect((await send(first.port, '/', { headers: { host: `localhost:${first.port}` } })).status).toBe(200);
  await first.close();
  await start({ port: 0 });
});

describe('settings', () => {
  it('that are as usual are not stored, so that a better usual value counts later', async () => {
    await withStore((store) => {
      const settings = new SettingsKeeper(store.preferences);
      settings.save(
        new Map([
          ['notices', 'off'],
          ['activity', 'on'],
        ]),
      );
      expect(store.preferences.settings()).toEqual(new Map([['notices', 'off']]));
      settings.save(new Map([['notices', 'on']]));
      expect(store.preferences.settings()).toEqual(new Map());
      expect(() => settings.save(new Map([['port', '70000']]))).toThrow(TypeError);
    });
  });
});

it('the size of the cache is that of the settings, and of the command line where it says one', async () => {
  await withStore((store) => new SettingsKeeper(store.preferences).save(new Map([['cacheBytes', '100']])));
  const first = await start({ port: 0 });
  expect(first.cache.status().limit).toBe(100 * 1_048_576);
  await first.close();
  expect((await start({ port: 0, cacheBytes: 0 })).cache.status().limit).toBe(0);
});

it('addresses of the own network are reached where the settings name them, and nowhere else', async () => {
  const [open, closed] = [await startContentHost(), await startContentHost()];
  for (const host of [open, closed]) {
    cleanUp.add(host.close);
    host.files.set('/a', Buffer.from('local'));
  }
  const rules = `127.0.0.1:${open.port}\n192.168.1.0/24`;
  await withStore((store) => new SettingsKeeper(store.preferences).save(new Map([['allowLocal', rules]])));
  const { port } = await start({ port: 0, allowLocal: [] }); // tests allow loopback otherwise
  expect((await send(port, `${open.origin}/a`)).text).toBe('local');
  expect(refusalCode(await send(port, `${closed.origin}/a`))).toBe('local-refused');
});

it('two endpoints of HTTPCrypt for one host that were saved are kept: a list that is dropped would send all in clear', async () => {
  const two = ['a', 'b'].map((path) => `http://news.example/${path}/#${'A'.repeat(43)}`).join('\n');
  await withStore((store) => new SettingsKeeper(store.preferences).save(new Map([['httpcryptTo', two]])));
  const kept = await withStore((store) => new SettingsKeeper(store.preferences).current.httpcryptTo);
  expect(kept.length).toBe(2);
});
