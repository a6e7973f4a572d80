import { connect, type Socket } from 'node:net';
import { Agent } from 'undici';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { randomBytes } from '#primitives';
import { rigForFile, startRig } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { createReader } from '../support/reading-site-visitor.ts';
import { signOnto } from '../support/signed-publication.ts';
import { runs } from '../support/tier.ts';

/** Milliseconds: more where a crowd of a thousand keeps the machine busy. */
const SILENCE = runs(400, 2_000);
/** Documents for one address at a time. */
const PLACES = runs(4, 32);
const CROWD = runs(32, 1000);
/** Requests for metadata and for what others read that can be under way besides. */
const METADATA = 16;
/** Film of more bytes than kernels take for a reader that takes nothing. */
const FILM = { path: '/film.mp4', content: randomBytes(24_000_000), mediaType: 'video/mp4' };

const limits = { openDocumentsPerAddress: PLACES, readerSilence: SILENCE, documentWait: 2 * SILENCE };
const rig = rigForFile({ limits });
const clients: Socket[] = [];
beforeAll(async () => {
  await publish(rig.publisher, rig.host, FILM);
  await publish(rig.publisher, rig.host, { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' });
});
afterAll(() => {
  for (const client of clients) client.destroy();
});

/** A client that asks for the film. @param more - lines of the head */
function open(more = ''): Socket {
  const { host, port } = new URL(rig.server.documentsUrl);
  const client = connect({ port: Number(port), host: '127.0.0.1' });
  clients.push(client.on('error', () => undefined));
  client.write(`GET ${FILM.path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`);
  return client;
}

/** Reads nothing of the film, not even that its connection has ended. */
const openSilently = () => open().pause();

it('attack 98: a crowd that asks for a large document and reads nothing keeps no other address from anything, and is gone after a while', async () => {
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, rig.host.open());
  }, 10);
  for (let client = 0; client < CROWD; client++) openSilently();
  const more = setInterval(() => openSilently(), SILENCE / PLACES); // takes the places of those that are gone
  await expect.poll(() => rig.host.open()).toBeGreaterThanOrEqual(PLACES);
  const other = createReader(rig.server, new Agent({ localAddress: '127.0.0.2' }));
  const statusOf = async (reader: typeof other, path: string) => (await reader.get(path)).status;
  for (const path of ['/', '/-/sign-in']) expect([path, await statusOf(other, path)]).toEqual([path, 200]);
  expect((await other.join(await rig.codeFor('anna'), 'correct horse battery')).status).toBe(303);
  await publish(rig.publisher, rig.host, { path: '/news.html', content: 'News', mediaType: 'text/html' });
  expect(await statusOf(other, '/news.html')).toBe(200);
  clearInterval(more);
  await expect.poll(() => rig.host.open()).toBe(0);
  clearInterval(watch);
  expect(most).toBeLessThan(PLACES + METADATA);
  expect(await statusOf(createReader(rig.server), '/')).toBe(200);
});

it('attack 98: a client that reads nothing, and sends line ends meanwhile, is gone after a while', async () => {
  const client = openSilently();
  const sending = setInterval(() => client.write('\r\n'), SILENCE / 6);
  try {
    await expect.poll(() => rig.host.open()).toBe(1);
    await expect.poll(() => rig.host.open()).toBe(0);
  } finally {
    clearInterval(sending);
  }
});

it('attack 98: a client that reads slowly is not taken for silent', async () => {
  const client = open('Connection: close\r\n');
  let received = 0;
  let resting = 0;
  client.on('data', (piece) => {
    received += piece.length;
    if (received < 2_000_000 * (resting + 1)) return;
    resting += 1;
    client.pause();
    setTimeout(() => client.resume(), SILENCE / 4);
  });
  await new Promise((resolve) => client.once('close', resolve));
  expect(received).toBeGreaterThan(FILM.content.length);
});

it('attack 98: documents that a host does not deliver hide no new publication', async () => {
  const own = await startRig({ limits: { openDocumentsPerAddress: 1000 } });
  const { publisher, host, server } = own;
  const clients = new AbortController();
  onTestFinished(() => own.close());
  for (const path of ['/slow.txt', '/old.txt'])
    await publish(publisher, host, { path, content: path, mediaType: 'text/plain' });
  const [name = ''] = [...host.files.keys()].filter((file) => file.endsWith('.slow.txt'));
  host.handlers.set(name, () => undefined);
  const ask = (path: string) => fetch(server.documentsUrl + path, { signal: clients.signal });
  expect((await ask('/old.txt')).status).toBe(200);
  const kept = Array.from({ length: 300 }, () => ask('/slow.txt').catch(() => undefined));
  await expect.poll(() => host.open()).toBe(256);
  publisher.publication.remove('/old.txt');
  await signOnto(publisher.publication, host.files);
  await server.publications.check();
  expect((await ask('/old.txt')).status).toBe(404);
  expect(host.open()).toBe(256);
  clients.abort();
  await Promise.all(kept);
});
