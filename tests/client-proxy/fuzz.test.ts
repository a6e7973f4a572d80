/**
 * Malformed answers of hosts by the thousand, against `wispr proxy` as a process of its own: each becomes a clean refusal, a transfer that is
 * visibly cut, or the document as it was signed. `npm run test:release -- properties` sends ten thousand;
 * WISPR_FUZZ_SEED sends those again that a failure names.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostileKeyServer } from '../support/hostile-key-server.ts';
import { type Received, refusalCode, send } from '../support/http-client.ts';
import { type MalformedAnswer, malformedAnswer } from '../support/malformed-answers.ts';
import { startRawHost } from '../support/raw-http.ts';
import { CleanUp, proxyCommand, type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';
import { type RunningWispr, startWispr } from '../support/wispr.ts';

/** Number of both kinds together. */
const ANSWERS = Number(process.env.WISPR_FUZZ ?? 1_000);
const AT_ONCE = 20;
const CONTENT = randomBytes(150_000);

const cleanUp = new CleanUp();
let rig: ReaderRig<HostileKeyServer>;
let proxy: RunningWispr<{ proxy: string }>;
let port: number;
/** Standard error of a proxy that ended, which it should not. */
let died: string | undefined;
const objects: Uint8Array[] = [];
const answers = new Map<string, MalformedAnswer>();

beforeAll(async () => {
  rig = cleanUp.use(await startHostileReaderRig());
  for (let index = 0; index < AT_ONCE; index++)
    objects.push(await rig.publisher.publish(rig.host.files, `/${index}.bin`, { content: CONTENT }));
  const host = cleanUp.use(await startRawHost(answer));
  const command = proxyCommand({ storage: await rig.anotherStorage() }, host.port);
  proxy = await startWispr([...command, '--quiet', '--cache-size', '0']);
  cleanUp.add(() => proxy.stop('SIGKILL'));
  void proxy.ended.then(({ stderr }) => {
    died = stderr;
  });
  port = Number(new URL(proxy.ready.proxy).port);
});
afterAll(() => cleanUp.run());

/** The publication is good; everything else is what was generated for it. */
function answer(head: string, socket: Socket): void {
  const [, path = ''] = /^GET (\S+) /.exec(head) ?? [];
  const file = path.startsWith('/.well-known/') ? rig.host.files.get(path) : undefined;
  if (file)
    return void socket.write(
      Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${file.length}\r\n\r\n`), file]),
    );
  const name = /(\d+)\.bin/.exec(path)?.[1];
  const wanted = name === undefined ? undefined : answers.get(name);
  if (wanted === undefined) return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
  give(wanted, socket);
}

function give({ bytes, cuts, reset }: MalformedAnswer, socket: Socket): void {
  const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
  const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
  const next = () => {
    const piece = pieces.shift();
    if (socket.destroyed) return;
    if (piece !== undefined) socket.write(piece, () => setImmediate(next));
    else if (reset) socket.resetAndDestroy();
    else socket.end();
  };
  next();
}

interface Wish {
  readonly method: string;
  readonly range: string | undefined;
}

const wish: fc.Arbitrary<Wish> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
  range: fc.constantFrom(undefined, undefined, 'bytes=0-', 'bytes=70000-70009', 'bytes=-1', 'bytes=5-1'),
});

/** A document as it was signed, a part of it, or nothing of it. */
function expectClean({ status, body, headers, complete }: Received, { method, range }: Wish): void {
  const code = headers['wispr-refusal'];
  if (code !== undefined)
    return void expect([status >= 400, complete, body.includes(CONTENT.subarray(0, 20))]).toEqual([true, true, false]);
  expect(status).toBeOneOf([200, 206]);
  if (method === 'HEAD') return void expect(headers['content-length']).toBe(String(CONTENT.length));
  const [, start = '0'] = /^bytes (\d+)-/.exec(headers['content-range'] ?? '') ?? [];
  const end = range === 'bytes=70000-70009' ? Number(start) + 10 : undefined;
  const expected = status === 206 ? CONTENT.subarray(Number(start), end) : CONTENT;
  expect(expected.subarray(0, body.length).equals(body)).toBe(true);
  if (complete) expect(body.length).toBe(expected.length);
}

/** Generates one answer for each document, made of its own object. */
const batch = () => fc.tuple(...objects.map((object) => fc.record({ wish, answer: malformedAnswer(object) })));

const settings = {
  numRuns: Math.ceil(ANSWERS / 2 / AT_ONCE),
  endOnFailure: true,
  ...(process.env.WISPR_FUZZ_SEED && { seed: Number(process.env.WISPR_FUZZ_SEED) }),
};

describe('attack 56: malformed answers by the thousand', () => {
  it('in place of objects: nothing unsigned is shown, and the proxy lives on', async () => {
    const read = async (one: { wish: Wish; answer: MalformedAnswer }, index: number) => {
      answers.set(String(index), one.answer);
      const { method, range } = one.wish;
      const headers = range === undefined ? {} : { range };
      expectClean(await send(port, rig.url(`/${index}.bin`), { method, headers }), one.wish);
    };
    const whole = async (all: { wish: Wish; answer: MalformedAnswer }[]) => {
      await Promise.all(all.map(read));
      expect(died).toBeUndefined();
    };
    await fc.assert(fc.asyncProperty(batch(), whole), settings);
    await expectAlive();
  });

  it('of hosts that are passed through: each comes as it is, is refused, or cut', async () => {
    const pass = async (one: { wish: Wish; answer: MalformedAnswer }, index: number) => {
      answers.set(String(index), one.answer);
      const got = await send(port, `http://elsewhere.example/${index}.bin`).catch((error: Error) => error);
      if (got instanceof Error) return; // an answer cut off in its head, or a head that this client cannot read
      if (refusalCode(got) !== undefined) expect([got.status >= 400, got.complete]).toEqual([true, true]);
      else expect(one.answer.bytes.includes(String(got.status))).toBe(true);
    };
    const whole = async (all: { wish: Wish; answer: MalformedAnswer }[]) => {
      await Promise.all(all.map(pass));
      expect(died).toBeUndefined();
    };
    await fc.assert(fc.asyncProperty(batch(), whole), settings);
    await expectAlive();
  });
});

/** The same process, with a good answer. */
async function expectAlive(): Promise<void> {
  answers.set('0', { bytes: good(), cuts: [], reset: false });
  const answer = await send(port, rig.url('/0.bin'));
  expect([refusalCode(answer), answer.complete, answer.body.equals(CONTENT)]).toEqual([undefined, true, true]);
  expect(died).toBeUndefined();
  expect(proxy.stderr()).not.toMatch(/internal|\bat .*:\d+:\d+/);
}

function good(): Buffer {
  const file = rig.host.files.get(rig.publisher.fileOf('/0.bin')) as Uint8Array;
  return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${file.length}\r\n\r\n`), file]);
}
