import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { postFrom } from '../support/device.ts';
import { type Rig, startRig } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';

/** Milliseconds: long enough for 1,000 connections to be made meanwhile. */
const SILENCE = 3000;
/** More than kernels take for a reader that takes nothing. */
const FILM = { path: '/film.mp4', content: randomBytes(24_000_000), mediaType: 'video/mp4' };
const PASSWORD = 'correct horse battery';

let rig: Rig;
const clients: Socket[] = [];
beforeAll(async () => {
  rig = await startRig({ limits: { readerSilence: SILENCE, documentWait: 1000 } });
  await publish(rig.publisher, rig.host, FILM);
  await publish(rig.publisher, rig.host, { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' });
});
afterAll(async () => {
  for (const client of clients) client.destroy();
  await rig.close();
});

/** A client that asks for the film, and reads nothing of it, not even that its connection has ended. */
function openSilently(times: number): void {
  const { host, port } = new URL(rig.server.documentsUrl);
  const client = connect({ port: Number(port), host: '127.0.0.1' });
  clients.push(client.on('error', () => undefined).pause());
  client.write(`GET ${FILM.path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(times));
}

/** Asks from an address of its own. @returns the status, and the milliseconds that the answer took */
function getFrom(localAddress: string, path: string): Promise<{ status: number; took: number }> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const url = (path.startsWith('/-/') ? rig.server.readingUrl : rig.server.documentsUrl) + path;
    const done = (status: number) => resolve({ status, took: performance.now() - start });
    httpRequest(url, { localAddress, agent: false }, (response) => {
      response.resume().once('end', () => done(response.statusCode ?? 0));
    })
      .once('error', reject)
      .end();
  });
}

const openDocuments = () => rig.host.open();

describe.each([
  ['64 clients', 64, 1],
  ['1,000 clients', 1000, 1],
  ['40 requests one behind the other', 1, 40],
])('%s that ask for a large document and read nothing', (_, count, times) => {
  it('attack 98: keep no other address from pages, sign-in and new publications, and are gone after a while', async () => {
    const before = rig.server.state.now();
    for (let client = 0; client < count; client++) openSilently(times);
    await expect.poll(openDocuments, { timeout: SILENCE }).toBe(32);
    for (const path of ['/', '/-/sign-in']) {
      const { status, took } = await getFrom('127.0.0.2', path);
      expect([path, status]).toEqual([path, 200]);
      expect(took).toBeLessThan(SILENCE / 2);
    }
    const { accountCode } = rig.invite({ name: `anna ${count} ${times}` });
    const form = `code=${accountCode}&password=${encodeURIComponent(PASSWORD)}`;
    const headers = { origin: rig.server.readingUrl, 'content-type': 'application/x-www-form-urlencoded' };
    expect(await postFrom('127.0.0.2', rig.server.readingUrl, '/-/join', form, { headers })).toBe(303);
    await publish(rig.publisher, rig.host, { path: '/news.html', content: String(before), mediaType: 'text/html' });
    expect((await getFrom('127.0.0.2', '/news.html')).status).toBe(200);
    expect(openDocuments()).toBe(32);
    await expect.poll(openDocuments, { timeout: 3 * SILENCE }).toBe(0);
    expect((await getFrom('127.0.0.1', '/')).status).toBe(200);
  });
});

it('attack 98: one who reads slowly is not taken for silent', async () => {
  const { host, port } = new URL(rig.server.documentsUrl);
  const client = connect({ port: Number(port), host: '127.0.0.1' });
  clients.push(client);
  client.write(`GET ${FILM.path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let received = 0;
  let resting = 0;
  client.on('data', (piece) => {
    received += piece.length;
    if (received < 4_000_000 * (resting + 1)) return;
    resting += 1;
    client.pause();
    setTimeout(() => client.resume(), SILENCE / 4);
  });
  await new Promise((resolve) => client.once('end', resolve));
  expect(received).toBeGreaterThan(FILM.content.length);
});
