import { connect } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pino } from 'pino';
import { Agent } from 'undici';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { urlPathOf } from '../../core/site/path.ts';
import { handleError } from '../../keyserver/reading-site/own-pages.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { configIn, rigForFile, rigForTest, temporaryFolder } from '../support/keyserver-rig.ts';
import { createPublisher, fileOf, publish, SITE, type TestDocument } from '../support/publisher-with-sets.ts';
import { createReader, createVisitor, type Reader, type Visitor } from '../support/reading-site-visitor.ts';

const PASSWORD = 'correct horse battery';
const DAY = 86_400;
const ARTICLE: TestDocument = {
  path: '/2026/11/20/harbour.html',
  content: `<!doctype html><h1>The harbour</h1>${'<p>Ships come in.</p>'.repeat(3000)}`,
  mediaType: 'text/html',
  set: 'day-1',
  gzip: true,
  headers: { 'content-language': 'en-GB', 'content-security-policy': "default-src 'self'" },
  lastModified: 1_763_640_000,
};
const PICTURE: TestDocument = {
  path: '/2026/11/20/pilot boat é.png',
  content: randomBytes(5000),
  mediaType: 'image/png',
  set: 'day-1',
};
const FRONT: TestDocument = { path: '/index.html', content: '<h1>Front page</h1>', mediaType: 'text/html' };

const rig = rigForFile();
let anna: Reader;
beforeAll(async () => {
  anna = await join('anna');
});
beforeEach(async () => {
  rig.host.handlers.clear();
  for (const document of [ARTICLE, PICTURE, FRONT]) await publish(rig.publisher, rig.host, document);
});

const join = (name: string, grant = {}) => rig.join(name, grant, PASSWORD);

const urlOf = ({ path }: TestDocument) => urlPathOf(path);

/** Insists on a page that names the code, and holds nothing of a document. */
async function expectRefusal(reader: Visitor, path: string, status: number, code: string): Promise<void> {
  const page = await reader.get(path);
  expect([page.status, page.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8']);
  expect(page.text).toContain(`<code>${code}</code>`);
  expect(page.text).not.toContain('Ships come in');
  expect(page.headers['cache-control']).toBe('no-store');
}

describe('a document', () => {
  it('has a policy of its own beside the signed one', async () => {
    const { headers } = await anna.get(urlOf(ARTICLE), { 'accept-encoding': 'gzip' });
    const policies = { 'cross-origin-resource-policy': 'same-origin', 'referrer-policy': 'same-origin' };
    expect(headers).toMatchObject({ ...policies, 'x-frame-options': 'SAMEORIGIN' });
    expect(headers['content-security-policy']).toEqual(["default-src 'self'", "frame-ancestors 'self'"]);
    expect(headers['set-cookie']).toBeUndefined();
    expect(headers['x-from-host']).toBeUndefined();
  });

  it('is fetched by the name of its site', async () => {
    await anna.get(urlOf(FRONT));
    expect(rig.host.requests.at(-1)).toMatchObject({ headers: { host: SITE } });
  });
});

describe('a shared cache in front', () => {
  /** RFC 9111 section 3: what is neither `private` nor `no-store` may be kept by shared caches. */
  const UNSHARED = /^(?:private, no-cache|no-store)$/;

  it.each([
    ['a document of a set', urlOf(PICTURE), 200],
    ['a public one, for the address may be for subscribers tomorrow', urlOf(FRONT), 200],
    ['a refusal', '/missing.html', 404],
    ['the account', '/-/account', 200],
  ])('keeps nothing of %s', async (_what, path, status) => {
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await anna.get(path, {}, method);
      expect(answer.status).toBe(status);
      expect(answer.headers['cache-control']).toMatch(UNSHARED);
    }
  });

  it('keeps nothing of the way to sign-in, and no session', async () => {
    const stranger = createReader(rig.server);
    const page = await stranger.get(urlOf(PICTURE), { accept: 'text/html' });
    expect([page.status, page.headers['cache-control']]).toEqual([303, 'no-store']);
    expect((await stranger.enter()).headers['cache-control']).toBe('no-store');
    const joined = await stranger.join(await rig.codeFor('emil'), PASSWORD);
    expect(joined.headers['set-cookie']).toBeDefined();
    expect(joined.headers['cache-control']).toBe('no-store');
  });

  it('may keep what the pages load, which is the same for all visitors and sets no cookie', async () => {
    for (const path of ['/-/style.css', '/-/refusal.css', '/-/passkeys.js']) {
      const { status, headers } = await anna.get(path, { 'accept-encoding': 'br' });
      expect([status, headers['cache-control'], headers['set-cookie']]).toEqual([200, 'no-cache', undefined]);
      expect([headers['content-encoding'], headers.vary]).toEqual(['br', 'Accept-Encoding']);
      const again = { 'accept-encoding': 'br', 'if-none-match': String(headers.etag) };
      expect((await anna.get(path, again)).status).toBe(304);
      expect((await anna.get(path, { ...again, 'accept-encoding': 'gzip' })).headers['content-encoding']).toBe('gzip');
    }
  });

  it('keeps no error from before there is a publisher', async () => {
    const folder = temporaryFolder();
    const empty = await startKeyServer(configIn(folder), { log: pino({ enabled: false }) });
    for (const path of ['/.well-known/wispr-provider', '/nothing']) {
      const { status, headers } = await fetch(empty.url + path);
      expect([status, headers.get('cache-control')]).toEqual([404, 'no-store']);
    }
    const page = await createVisitor(empty.documentsUrl).get('/');
    expect([page.status, page.headers['cache-control']]).toEqual([503, 'no-store']);
    expect(page.text).toContain('Nothing to read here yet');
    await empty.close();
  });
});

describe('entitlement', () => {
  it('ends with its time', async () => {
    const lapsing = await join('carla', { until: Math.floor(Date.now() / 1000) + DAY });
    rig.passTime(2 * DAY);
    await expectRefusal(lapsing, urlOf(PICTURE), 403, 'lapsed');
    rig.passTime(-2 * DAY);
  });

  it('refuses a document of a set that the key server has no key for', async () => {
    const other = await createPublisher(['secret']);
    const stranger = { ...rig.publisher, sets: other.sets };
    await publish(stranger, rig.host, { ...PICTURE, path: '/new.png', set: 'secret' });
    await expectRefusal(anna, '/new.png', 403, 'key-missing');
  });

  it('attack 78: keeps documents out of pages of other sites', async () => {
    for (const [document, mode, dest, status] of [
      [PICTURE, 'no-cors', 'script', 403],
      [ARTICLE, 'navigate', 'iframe', 403],
      [ARTICLE, 'navigate', 'document', 200],
    ] as const) {
      const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
      expect([dest, (await anna.get(urlOf(document), headers)).status]).toEqual([dest, status]);
    }
    const asWorker = { 'service-worker': 'script', 'sec-fetch-site': 'same-origin' };
    expect((await anna.get('/worker.js', asWorker)).status).toBe(403);
  });
});

describe('a hostile content host', () => {
  it('attack 20: that serves an object of another publisher, also where the publication names it', async () => {
    await publish({ ...rig.publisher, identity: (await createPublisher([])).identity }, rig.host, ARTICLE);
    await expectRefusal(anna, urlOf(ARTICLE), 502, 'publisher-unexpected');
  });

  it('attack 9: a document whose coding is undone breaks off visibly, too', async () => {
    const incompressible = Buffer.from(randomBytes(300_000)).toString('hex');
    await publish(rig.publisher, rig.host, { ...ARTICLE, path: '/long.html', content: incompressible });
    const name = fileOf(rig.publisher, '/long.html');
    const bytes = rig.host.files.get(name) ?? new Uint8Array();
    const at = bytes.length - 5;
    rig.host.files.set(name, bytes.with(at, (bytes[at] ?? 0) ^ 1));
    await expect(anna.get('/long.html', { 'accept-encoding': 'identity' })).rejects.toThrow();
    // HTTP/1.0 ends a document with the connection: only a reset is visible.
    await expect(getByHttp10('/long.html')).resolves.toBe('ECONNRESET');
    rig.host.files.set(name, bytes);
    await expect(getByHttp10('/long.html')).resolves.toBe('end');
  });
});

describe('the reading site', () => {
  it('attack 65: turns away an address that asks for too many documents, and no other', async () => {
    const limited = await rigForTest({ limits: { documentsPerAddress: 3 } });
    const { host, server } = limited;
    await publish(limited.publisher, host, FRONT);
    const reader = createReader(server);
    const ask = async () => (await reader.get('/', { range: 'bytes=-1' })).status;
    expect([await ask(), await ask(), await ask()]).toEqual([206, 206, 206]);
    const fetched = host.requests.length;
    expect([await ask(), host.requests.length]).toEqual([429, fetched]);
    expect((await reader.get('/-/sign-in')).status).toBe(200);
    const other = createVisitor(server.documentsUrl, new Agent({ localAddress: '127.0.5.1' }));
    expect((await other.get('/')).status).toBe(200);
  });

  it('has no page of its own that is not known', async () => {
    await expectRefusal(anna, '/-/nothing', 404, 'not-found');
    expect((await anna.get('/-/')).headers.location).toBe('/-/account');
  });
});

/** Asks as an HTTP/1.0 client that knows no coding would. @returns how the connection ended: `end`, or the error's code */
function getByHttp10(path: string): Promise<string> {
  const { host, port } = new URL(rig.server.documentsUrl);
  const cookie = [...anna.documents.cookies].map(([key, value]) => `${key}=${value}`).join('; ');
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.0\r\nHost: ${host}\r\nCookie: ${cookie}\r\n\r\n`);
    socket.resume();
    socket.once('end', () => resolve('end'));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

it('logs no fault where a client leaves while its document opens (attack 141)', async () => {
  const gone = new PassThrough().destroy();
  const error: unknown = await pipeline(Readable.from(['x']), gone).catch((reason) => reason);
  expect(error).toMatchObject({ code: 'ERR_STREAM_UNABLE_TO_PIPE' });
  const faults: unknown[] = [];
  const log = { error: (fault: unknown) => faults.push(fault) };
  await handleError({ log } as never, {} as never)(error, {} as never, gone as never, () => undefined);
  expect(faults).toEqual([]);
});
