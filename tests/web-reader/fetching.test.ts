/** Requests of the web Reader's worker to content hosts, with real hosts and short times. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { DocumentReader } from '../../core/object/document-reader.ts';
import { faultOf } from '../../reading/host-faults.ts';
import { payloadUrl } from '../../reading/open-at.ts';
import { FetchingHost } from '../../web-reader/fetching.ts';
import { WorkerSupply } from '../../web-reader/worker/documents.ts';
import { startContentHost } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';

const TIMES = { piece: 30_000, slow: 100 };
const START = Buffer.alloc(100_000, 'a');
const URL_PATH = '/a.txt';

const host = forFile(startContentHost);
let closed = 0;
beforeAll(async () => {
  host.handlers.set(URL_PATH, (_request, response) => {
    response.writeHead(200).write(START);
    let given = 0;
    const timer = setInterval(() => (++given < 400 ? response.write('b') : response.end()), 5);
    response.once('close', () => {
      clearInterval(timer);
      closed++;
    });
  });
});
afterEach(() => vi.unstubAllGlobals());
beforeEach(() => void vi.stubGlobal('location', { origin: 'https://pages.example' })); // the worker's own

describe('attack 65: a content host that gives a byte now and then after a good start', () => {
  it('is left', async () => {
    const { body } = await new FetchingHost(host.origin, TIMES).fetch(URL_PATH);
    let received = 0;
    const read = async () => {
      for await (const piece of body) received += piece.length;
    };
    const error = await read().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'content-host-unreachable', cause: { message: 'it is too slow' } });
    expect(faultOf(error)).toBe('dead');
    expect(received).toBeGreaterThanOrEqual(START.length);
    await expect.poll(() => closed).toBe(1);
  });

  it('gives way to the next one, which goes on where it stopped', async () => {
    const content = Buffer.concat([START, Buffer.from('the rest')]);
    const next = await startContentHost();
    const entry = { head: '0'.repeat(64), headLength: 0, set: undefined, content: '1'.repeat(64), inPage: false };
    const supply = new WorkerSupply(URL_PATH, entry, [host.origin, next.origin]);
    const reader = { head: { length: 0, header: {} }, payloadLength: content.length } as unknown as DocumentReader;
    const attempt = new FetchingHost(host.origin, TIMES);
    const { body } = await attempt.fetch(URL_PATH);
    const payload = supply.payload(reader, { bytes: new ByteReader(body), host: attempt });
    expect(await payload.read(START.length)).toHaveLength(START.length);
    const error = await payload.read(10_000).catch((thrown: unknown) => thrown);
    expect(faultOf(error)).toBe('dead');
    next.files.set(payloadUrl(URL_PATH, entry), content);
    await payload.recover(START.length, error);
    expect(Buffer.from((await payload.read(8)) ?? []).toString()).toBe('the rest');
    supply.end();
    await next.close();
  });
});

it('a host is not left for the time that its reader takes', async () => {
  const ready = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let count = 0; count < 4; count++) controller.enqueue(Uint8Array.of(1));
      controller.close();
    },
  });
  vi.stubGlobal('fetch', async () => new Response(ready));
  const { body } = await new FetchingHost('http://stand.in', TIMES).fetch('/');
  let received = 0;
  for await (const piece of body) {
    received += piece.length;
    await setTimeout(150);
  }
  expect(received).toBe(4);
});
