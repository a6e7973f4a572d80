/** The in-browser reader at the documents' origin, request by request. */
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { versionOfProgram } from '../../core/publication/reader-program.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { programOf, readWebReader } from '../../node-support/web-reader-files.ts';
import { verifyUrl } from '../../publisher/verify/verify.ts';
import type { ContentHost } from '../support/content-host.ts';
import {
  configIn,
  listen,
  logged,
  nameDescriptor,
  rigForFile,
  startRig,
  temporaryFolder,
} from '../support/keyserver-rig.ts';
import { publish, SITE, sealBundle } from '../support/publisher-with-sets.ts';
import { createReader, createVisitor, handedOver, type Visitor } from '../support/reading-site-visitor.ts';
import { routesOf } from '../support/routes.ts';
import { everyRow } from '../support/store.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';
import { buildWebReader } from '../support/web-reader.ts';

const LETTER = { path: '/letter.html', content: '<h1>Letter</h1>', mediaType: 'text/html', set: 'day-1' };
const FRONT = { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' };
const OPENED = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const BEGINNING = 'Opening the page';

const rig = rigForFile({ config: { reading: { listen, documents: { listen, firstPage: 'browser' } } } });
let documents: Visitor;
beforeAll(async () => {
  await buildWebReader();
  documents = createVisitor(rig.server.documentsUrl);
  await nameDescriptor(rig);
  for (const document of [LETTER, FRONT]) await publish(rig.publisher, rig.host, document);
});

describe('the page that starts the reader', () => {
  it.each(['/', '/letter.html?a=b', '/nothing.html'])('stands for %s where it is opened in a window', async (path) => {
    for (const headers of [OPENED, { accept: 'text/html,*/*;q=0.8' }]) {
      const { status, text, headers: sent } = await documents.get(path, headers);
      expect([status, sent['cache-control']]).toEqual([200, 'no-store']);
      expect(text).toContain(BEGINNING);
      expect(text).toContain(SITE);
      expect(text).toContain(`href="/-/plain?to=${encodeURIComponent(path)}"`);
      expect(text).not.toMatch(/Letter|Front|<form/);
      expect(sent['content-security-policy']).toMatch(/^default-src 'none'; script-src 'sha256-[^ ;]+';/);
      expect(sent['set-cookie']).toBeUndefined();
    }
  });

  it.each([
    { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
    { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    { 'sec-fetch-mode': 'cors', accept: 'text/html' },
    {},
  ])('does not stand for what pages and programs ask for: %o', async (headers) => {
    expect((await documents.get('/', headers as Record<string, string>)).text).toBe(FRONT.content);
  });

  it('does not stand in the way of a browser that reads what is decrypted here', async () => {
    const reader = createReader(rig.server);
    const led = await reader.documents.get('/-/plain?to=//evil.example/');
    expect([led.status, led.headers.location]).toEqual([303, '/']);
    expect((await reader.documents.get('/', OPENED)).text).toBe(FRONT.content);
    await reader.join(await rig.codeFor('anna'), 'correct horse battery');
    expect((await reader.documents.get('/letter.html', OPENED)).text).toBe(LETTER.content);
  });

  it('has its script inside, which the worker’s pages load for good under its version and not otherwise', async () => {
    const { text, headers } = await documents.get('/', OPENED);
    const [, script = ''] = /<script>(.*)<\/script>/s.exec(text) ?? [];
    const digest = createHash('sha256').update(script).digest();
    expect(headers['content-security-policy']).toContain(`script-src 'sha256-${digest.toString('base64')}'`);
    const address = `/-/start.js?v=${digest.toString('base64url')}`;
    const versioned = await documents.get(address, { 'accept-encoding': 'gzip' });
    expect(versioned.headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: 'Accept-Encoding',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect(gunzipSync(versioned.body).toString()).toBe(script);
    const plain = await documents.get('/-/start.js');
    expect([plain.headers['cache-control'], plain.text]).toEqual(['no-cache', script]);
  });
});

describe('the program that the publication names', () => {
  const sign = async (reader: Record<string, string>) => {
    rig.publisher.publication.setSettings({ ...TEST_SETTINGS, reader });
    await publish(rig.publisher, rig.host, FRONT);
  };
  const verify = async () => {
    const { findings, notes } = await verifyUrl(new URL(rig.host.origin));
    const lines = [...findings.map(({ path, code, message }) => `${path} ${code} ${message}`), ...notes];
    return lines.filter((line) => /browsers|program/.test(line));
  };
  it('is compared with the one that is served, by who verifies the site and for who reads it', async () => {
    const files = readWebReader();
    if (!files) throw new Error('it was built');
    const reader = await rig.join('berta');
    const account = async () =>
      /<p class="(\w+)"[^>]* id="program">(.*)<\/p>/.exec((await reader.get('/-/account')).text)?.slice(1);
    const { readingUrl: reading } = rig.server;
    const program = programOf(files, { reading, root: rig.publisher.root.id, site: SITE });
    const here = await versionOfProgram(program);
    const shown = `Pages are opened by program version <code>${here}</code>`;
    // Nothing is said before the publication was read.
    await expect.poll(account).toEqual(['aside', `${shown}. The publisher has not signed a version.`]);
    expect(await verify()).toEqual(['the publication does not name the program with which browsers read it']);
    await sign(program);
    expect(await account()).toEqual(['aside', `${shown}, as the publisher signed it.`]);
    expect(await verify()).toEqual([`${reading} gives browsers the program that the publication names (${here})`]);
    for (const name of Object.keys(program)) {
      const other = { ...program, [name]: '0'.repeat(64) };
      await sign(other);
      const signed = await versionOfProgram(other);
      expect((await account())?.join()).toContain(
        `problem,${shown}, which is not the one that the publisher signed (<code>${signed}</code>)`,
      );
      expect(await verify()).toEqual([
        `${reading} program-other the reading site serves another program than the publication names (version ${here}, signed ${signed})`,
      ]);
    }
  });

  it('is not found fault with where the reading site gives none, or does not answer', async () => {
    const rig = await startRig();
    const { publisher, host, server } = rig;
    onTestFinished(() => rig.close().catch(() => undefined));
    publisher.publication.setSettings({ ...TEST_SETTINGS, reader: { worker: '0'.repeat(64) } });
    await nameDescriptor(rig);
    await publish(publisher, host, FRONT);
    const lines = async () => {
      const { findings, notes } = await verifyUrl(new URL(host.origin));
      expect(findings.map(({ code }) => code)).not.toContain('program-other');
      return notes.join('\n');
    };
    expect(await lines()).toContain(`${server.readingUrl} gives browsers no program: it decrypts documents itself`);
    await server.close();
    expect(await lines()).toContain(`whether ${server.readingUrl} gives browsers the signed program was not checked`);
  });
});

describe('below /-/', () => {
  it('is the worker, for the whole origin, which may load no code', async () => {
    const { status, headers } = await documents.get('/-/worker.js', { 'service-worker': 'script' });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'service-worker-allowed': '/',
      'cache-control': 'no-cache',
      'content-type': 'text/javascript; charset=utf-8',
      'content-security-policy': "default-src 'none'; connect-src *",
    });
  });

  it('has the scripts that the worker names, for good, and the start page where the worker is not there yet', async () => {
    const worker = await documents.get('/-/worker.js');
    const [, about = ''] = /^self\.wisprSite=(\{.*?\});/.exec(worker.text) ?? [];
    const { scripts } = JSON.parse(about) as { scripts: Record<string, { src: string; integrity: string }> };
    expect(Object.keys(scripts)).toEqual(['page', 'sheet']);
    for (const { src, integrity } of Object.values(scripts)) {
      const { headers, body } = await documents.get(src);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(`sha256-${createHash('sha256').update(body).digest('base64')}`).toBe(integrity);
    }
    expect((await documents.get('/-/library', OPENED)).text).toContain(BEGINNING);
    expect((await documents.get('/-/library', { ...OPENED, 'sec-fetch-dest': 'iframe' })).status).toBe(403);
  });

  it.each(['/-/start.js', '/-/page.js', '/-/sheet.js', '/-/style.css', '/-/site.json', '/letter.html', '/nothing.js'])(
    'attack 76: %s is nothing that a browser could install as a worker',
    async (path) => {
      for (const headers of [{ 'service-worker': 'script' }, { 'sec-fetch-dest': 'serviceworker' }]) {
        const { status, headers: said } = await documents.get(path, headers as Record<string, string>);
        expect([status, said['wispr-refusal']]).toEqual([403, 'foreign-worker']);
      }
    },
  );

  it('is what the worker has to know of the site', async () => {
    const { headers, text } = await documents.get('/-/site.json');
    expect(headers['cache-control']).toBe('no-cache');
    expect(JSON.parse(text)).toEqual({
      site: SITE,
      root: rig.publisher.root.id,
      content: [rig.host.origin],
      reading: rig.server.readingUrl,
      version: expect.stringMatching(/^[0-9a-f]{12}$/),
    });
  });

  it('is what the key server knows of the publication', async () => {
    const root = await documents.get('/-/publication/1.root.json');
    expect(root.body.equals(Buffer.from(rig.publisher.root.bytes))).toBe(true);
    for (const file of ['2.root.json', 'timestamp.json', '1.targets.json', 'x', '..%2f1.root.json'])
      expect((await documents.get(`/-/publication/${file}`)).status).toBe(404);
  });

  it('is all of the publication that is small, in one', async () => {
    const bundle = async () => {
      const { body, headers } = await documents.get('/-/publication/current');
      expect([headers['content-encoding'], headers['cache-control']]).toEqual(['gzip', 'no-cache']);
      return JSON.parse(gunzipSync(body).toString()) as Record<string, string>;
    };
    const names = ({ files }: ContentHost) =>
      [...files.keys()].filter((path) => /^\/\.well-known\/(?:wispr\/|[0-9a-f]{64}\.)/.test(path));
    const files = await bundle();
    expect(Object.keys(files).filter((path) => /documents-/.test(path))).toHaveLength(4);
    for (const [path, text] of Object.entries(files))
      expect(Buffer.from(rig.host.files.get(path) ?? '').toString(), path).toBe(text);
    const current = `${rig.publisher.publication.version}.snapshot.json`;
    for (const file of ['1.root.json', 'timestamp.json', current])
      expect(Object.keys(files)).toContain(`/.well-known/wispr/${file}`);
    expect(Object.keys(files).filter((path) => /wispr-settings|wispr-provider/.test(path)).length).toBe(2);
    expect(names(rig.host).length).toBeGreaterThan(Object.keys(files).length); // the host has what earlier ones named
  });

  it('is the page that keys come to, in a window only', async () => {
    const page = await documents.get('/-/keys', OPENED);
    expect([page.status, page.text.includes(BEGINNING)]).toEqual([200, true]);
    const framed = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };
    expect((await documents.get('/-/keys', framed)).status).toBe(403);
  });

  it('is the way out, which leaves nothing of the origin in the browser', async () => {
    const leave = (origin: string) => documents.post('/-/leave', {}, { origin });
    const { status, headers, text } = await leave(rig.server.readingUrl);
    expect(headers['clear-site-data']).toBe('"cache", "storage"');
    expect(headers['set-cookie']).toHaveLength(3);
    // Browsers may not obey: the page does the rest.
    expect([status, text.includes(' data-leaving="1">'), text.includes(BEGINNING)]).toEqual([200, true, true]);
    for (const origin of [rig.server.documentsUrl, 'https://evil.example', 'null']) {
      const refused = await leave(origin);
      expect(refused.status).toBe(403);
      expect(refused.headers['clear-site-data'] ?? refused.headers['set-cookie']).toBeUndefined();
    }
  });
});

it('attack 129: whatever address of both origins a foreign page leads a reader to, nothing is deleted, ended, joined or changed', async () => {
  const { apps, state } = rig.server;
  const [reader, code] = [await rig.join('carla'), await rig.codeFor('evil')];
  reader.documents.cookies.clear(); // readers in the browser have none
  const led = { ...OPENED, 'sec-fetch-site': 'cross-site', referer: 'https://evil.example/' };
  const before = await everyRow(state.database);
  const visited: string[] = [];
  const query = `?${new URLSearchParams({ to: '/letter.html', code, mail: '1', challenge: 'A'.repeat(43), left: '1' })}`;
  for (const [app, visitor] of [
    [apps.reading, reader],
    [apps.documents, reader.documents],
  ] as const)
    for (const { method, path } of [...routesOf(app), { method: 'GET', path: '/letter.html' }]) {
      if (method !== 'GET') continue;
      const { headers } = await visitor.get(`${path}${query}`, led);
      expect([path, headers['set-cookie'], headers['clear-site-data']]).toEqual([path, undefined, undefined]);
      visited.push(path);
    }
  expect(visited.length).toBeGreaterThan(25);
  expect(await everyRow(state.database)).toEqual(before);
});

it('attack 129: a foreign page that leads a reader into the documents makes that browser read nothing that is decrypted here', async () => {
  const reader = await rig.join('dora');
  reader.documents.cookies.clear();
  const led = { ...OPENED, 'sec-fetch-site': 'cross-site', referer: 'https://evil.example/' };
  const { code = '' } = handedOver(await reader.get('/-/enter?to=/letter.html', led));
  const entered = await reader.documents.post('/letter.html', { code }, { origin: rig.server.readingUrl });
  expect([code.length, entered.status]).toEqual([43, 303]);
  expect((await reader.documents.get('/letter.html', OPENED)).text).toContain(BEGINNING);
});

it('links lead to the document, where the reader asks for keys itself', async () => {
  const account = createVisitor(rig.server.readingUrl);
  await account.join(await rig.codeFor('berta'));
  const led = await account.get('/index.html?q=1');
  expect(led.headers.location).toBe(`${rig.server.documentsUrl}/index.html?q=1`);
});

it('documents are decrypted here where a content host cannot be asked by a page of HTTPS', async () => {
  const { origins, state } = rig.server;
  const content = [rig.host.origin, 'http://mirror.example'];
  const bundle = await sealBundle(rig.publisher, state.recipient.publicKey, { ...origins, content, serial: 2 });
  await importBundle(state, bundle, origins);
  expect((await documents.get('/', OPENED)).text).toBe(FRONT.content);
});

describe('where the in-browser reader is not built', () => {
  const empty = temporaryFolder();
  const { log, text: said } = logged();
  const start = (documents: { inBrowser?: boolean }) => {
    const config = { ...configIn(empty), reading: { listen, documents: { listen, ...documents } } };
    return startKeyServer(config, { log, webReader: empty });
  };

  it('documents are decrypted here, and the log says why', async () => {
    const server = await start({});
    expect((await fetch(`${server.documentsUrl}/-/worker.js`)).status).toBe(404);
    expect(said()).toContain('the in-browser reader is not built');
    await server.close();
  });

  it('the key server does not start with a configuration that asks for it', async () => {
    await expect(start({ inBrowser: true })).rejects.toMatchObject({ code: 'configuration-invalid' });
  });
});

/** The answers of both origins to the head of a request. */
function answersTo(head: string): Promise<string[]> {
  const { documents, reading } = rig.server.ports;
  return Promise.all([documents, reading].map((port) => text(connect(port, '127.0.0.1').end(head))));
}

it('attack 96: a head with too many cookies is answered by an order to forget them', async () => {
  const head = `GET /-/leave HTTP/1.1\r\nHost: x\r\nCookie: a=${'x'.repeat(20_000)}\r\n\r\n`;
  for (const answer of await answersTo(head))
    expect(answer).toMatch(/^HTTP\/1\.1 431 [\s\S]*\r\nClear-Site-Data: "cache", "cookies", "storage"\r\n/);
});

it.each([
  ['a long path', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\n\r\n`],
  ['a long path beside cookies', `GET /${'x'.repeat(9e3)} HTTP/1.1\r\nHost: x\r\nCookie: a=${'b'.repeat(6e3)}\r\n\r\n`],
  ['a long address of the page', `GET / HTTP/1.1\r\nHost: x\r\nReferer: ${'x'.repeat(20_000)}\r\nCookie: a=b\r\n\r\n`],
])('attack 96: %s, which a foreign page can cause, removes nothing', async (_, head) => {
  for (const answer of await answersTo(head)) {
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).not.toMatch(/clear-site-data/i);
  }
});
