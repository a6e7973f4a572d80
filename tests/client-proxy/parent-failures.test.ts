/** A parent proxy that wants a password, breaks off or speaks no HTTP: that is said of it, and not of the hosts behind it. */
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunningProxy } from '../../client-proxy/index.ts';
import type { CodedError } from '../../core/errors.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { forFile } from '../support/for-file.ts';
import { type Received, refusalCode, send, sendRaw } from '../support/http-client.ts';
import { type RawAnswer, sendFile } from '../support/passing-rig.ts';
import { startRawHost } from '../support/raw-http.ts';
import { proxyCommand, type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';
import { startInProcess } from '../support/wispr.ts';

const MIRROR = 'http://mirror.example';
const ELSEWHERE = 'http://elsewhere.example/x';
const NO_BODY = 'Content-Length: 0\r\n\r\n';
const WANTS_PASSWORD = `HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n${NO_BODY}`;
const asksForPassword: RawAnswer = (_head, socket) => void socket.write(WANTS_PASSWORD);

const rig = forFile(() =>
  startHostileReaderRig(undefined, {
    sites: ({ origin }) => [{ site: 'news.example', content: [origin, MIRROR], reading: 'https://read.news.example' }],
  }),
);
beforeAll(() => rig.publisher.publish(rig.host.files, '/far', { content: 'far' }));

interface Behind {
  readonly proxy: RunningProxy;
  readonly port: number;
  readonly told: CodedError[];
  /** Asks for a document or something else as a browser does, and expects a page with `code`, which does not tell where the parent proxy is. */
  readonly refused: (code: string, url: string, sent?: Parameters<typeof send>[2]) => Promise<Received>;
}

/** A Reader behind a parent proxy that answers so; without an answer, there is none. */
async function behind(
  answer: RawAnswer | undefined,
  work: (reader: Behind) => Promise<void>,
  { credentials = '', storage }: { credentials?: string; storage?: ReaderRig['storage'] } = {},
): Promise<void> {
  const parent = await startRawHost(answer ?? (() => undefined));
  if (answer === undefined) await parent.close();
  const told: CodedError[] = [];
  const proxy = await rig.another({
    ...storage,
    cacheBytes: 0,
    parentProxy: `http://${credentials}127.0.0.1:${parent.port}`,
    onRefusal: (error) => told.push(error),
  });
  const refused: Behind['refused'] = async (code, url, sent) => {
    const page = await send(proxy.port, url, { ...sent, headers: { accept: 'text/html', ...sent?.headers } });
    expect([url, page.status, refusalCode(page)]).toEqual([url, 502, code]);
    if (sent?.method !== 'HEAD') expect(page.text).toContain('parent proxy');
    expect(page.text).not.toMatch(new RegExp(`secret|ECONN|:${parent.port}\\b|content host`, 'i'));
    expect(page.headers['proxy-authenticate']).toBeUndefined();
    return page;
  };
  try {
    await work({ proxy, port: parent.port, told, refused });
  } finally {
    await proxy.close();
    if (answer !== undefined) await parent.close();
  }
}

/** A document, and what passes through by either client, with a wish for another protocol, too. */
async function refusesAll(code: string, { proxy, port, told, refused }: Behind): Promise<void> {
  await refused(code, rig.url('/far'));
  await refused(code, rig.url('/far'), { headers: { 'cache-control': 'no-cache' } });
  await refused(code, ELSEWHERE);
  await refused(code, ELSEWHERE, { method: 'HEAD' });
  await refused(code, ELSEWHERE, { method: 'POST', body: 'sent' });
  const wish = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  const answer = await sendRaw(proxy.port, `GET ${ELSEWHERE} HTTP/1.1\r\nHost: elsewhere.example\r\n${wish}\r\n`);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 502 [\\s\\S]*^wispr-refusal: ${code}\\r$`, 'm'));
  expect(proxy.health.reports()).toEqual([]);
  expect(told.map(({ cause }) => String(cause))).toEqual(Array(6).fill(expect.stringContaining(`127.0.0.1:${port}: `)));
}

describe('a parent proxy that wants a password', () => {
  it('is named for documents and the rest; no host is blamed, no browser is asked for a password', () =>
    behind(asksForPassword, (reader) => refusesAll('parent-proxy-unreachable', reader)));

  it('is named also where it did not take the one that was given, which is not told', () =>
    behind(
      asksForPassword,
      async (reader) => {
        await refusesAll('parent-proxy-unreachable', reader);
        expect(reader.told.map(String).join()).toContain('did not accept');
        expect(reader.told.map(({ cause }) => String(cause)).join()).not.toMatch(/secret|me:/);
      },
      { credentials: 'me:secret@' },
    ));
});

it.each<[string, RawAnswer | undefined]>([
  ['is not there', undefined],
  ['takes connections and breaks them off', (_head, socket) => socket.destroy()],
  ['resets them', (_head, socket) => socket.resetAndDestroy()],
  ['breaks off within the head', (_head, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-')],
  ['breaks off behind an interim answer', (_head, socket) => socket.end('HTTP/1.1 103 Early Hints\r\n\r\n')],
  ['is something else than HTTP', (_head, socket) => socket.end('SSH-2.0-OpenSSH_10.0\r\n')],
  ['wants TLS', (_head, socket) => socket.end(Buffer.from([21, 3, 1, 0, 2, 2, 70]))],
])(
  'a parent proxy that gives no answer because it %s, is named for documents and the rest, and no host is blamed',
  (_what, answer) => behind(answer, (reader) => refusesAll('parent-proxy-unreachable', reader)),
);

it.each<[string, RawAnswer | undefined, string, string]>([
  ['wants a password', asksForPassword, 'parent-proxy-unreachable', 'it answered 407'],
  ['is not there', undefined, 'parent-proxy-unreachable', '.*ECONNREFUSED.*'],
])('the log of the Reader says which parent proxy %s, and never its password', async (_what, answer, code, why) => {
  const parent = await startRawHost(answer ?? (() => undefined));
  if (answer === undefined) await parent.close();
  const file = join(rig.directory, 'parent-proxy');
  await writeFile(file, `http://me:secret@127.0.0.1:${parent.port}\n`, { mode: 0o600 });
  await rig.proxy.close();
  const running = await startInProcess([...proxyCommand(rig, rig.host.port), '--parent-proxy-file', file]);
  await send(Number(new URL(running.ready.proxy ?? '').port), ELSEWHERE);
  const { stderr } = await running.stop();
  if (answer !== undefined) await parent.close();
  await rig.restart();
  const place = `127\\.0\\.0\\.1:${parent.port}`;
  expect(stderr).toMatch(new RegExp(`^wispr: refused elsewhere.example/x: ${code} \\(${place}: ${why}\\)$`, 'm'));
  expect(stderr).not.toMatch(/secret|me:/);
});

describe('behind a parent proxy that works', () => {
  const isFor = (head: string, origin: string) => head.startsWith(`GET ${origin}/`);
  const give: RawAnswer = (head, socket) =>
    sendFile(socket, rig.host.files.get(new URL(head.split(' ')[1] ?? '').pathname));

  it.each<[string, RawAnswer]>([
    ['answers 407 by it', asksForPassword],
    ['makes it break off', (_head, socket) => socket.destroy()],
  ])('a content host that %s hides nothing that another one has', (_what, answer) =>
    behind(
      (head, socket) => (isFor(head, MIRROR) ? give(head, socket) : answer(head, socket)),
      async ({ proxy }) => {
        expect((await send(proxy.port, rig.url('/far'))).text).toBe('far');
        expect(proxy.health.reports()).toEqual([]);
      },
    ),
  );

  it('what is wrong with an answer that it passes on is the matter of the host, as without one', () =>
    behind(
      (_head, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nshort'),
      async ({ proxy, told }) => {
        expect((await send(proxy.port, ELSEWHERE)).complete).toBe(false);
        expect((await send(proxy.port, ELSEWHERE, { method: 'POST', body: 'x' })).complete).toBe(false);
        expect(refusalCode(await send(proxy.port, rig.url('/far')))).toBe('content-host-unreachable');
        const passed = Array(2).fill('host-unreachable');
        expect(told.map(({ code }) => code)).toEqual([...passed, 'content-host-unreachable']);
        expect(proxy.health.reports()).not.toEqual([]);
      },
    ));

  it.each([
    'HTTP/1.1 200 OK\r\nBad Name: 1\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
  ])('so is a head that breaks the rules of HTTP: %j', (answer) =>
    behind(
      (_head, socket) => socket.write(answer),
      async ({ proxy }) => {
        expect(refusalCode(await send(proxy.port, ELSEWHERE))).toBe('host-answer');
        expect(refusalCode(await send(proxy.port, ELSEWHERE, { method: 'POST', body: 'x' }))).toBe('host-answer');
        expect(refusalCode(await send(proxy.port, rig.url('/far')))).toBe('content-host-answer');
      },
    ),
  );

  it('a kept connection that closes just when it is used again is no fault: the request is sent once more', async () => {
    const used = new WeakSet<Socket>();
    const asked: string[] = [];
    const answering: RawAnswer = (head, socket) => {
      asked.push(head);
      if (used.has(socket)) return socket.destroy();
      used.add(socket);
      give(head, socket);
      if (head.includes(METADATA_PATH)) socket.end(); // requests for a root go to both hosts: none of these connections is kept
    };
    const storage = await rig.anotherStorage();
    // A publication that was read before leaves one connection for documents, which is the one that is used again.
    await behind(give, async ({ proxy }) => void (await send(proxy.port, rig.url('/far'))), { storage });
    await behind(
      answering,
      async ({ proxy, told }) => {
        for (let time = 0; time < 4; time++) {
          expect((await send(proxy.port, rig.url('/far'))).text).toBe('far');
          expect((await send(proxy.port, ELSEWHERE)).status).toBe(404);
          expect((await send(proxy.port, ELSEWHERE, { method: 'OPTIONS' })).status).toBe(404);
        }
        expect(told).toEqual([]);
        expect(asked.filter((head) => isFor(head, MIRROR) && head.includes(rig.publisher.fileOf('/far')))).toEqual([]);
      },
      { storage },
    );
  });
});
