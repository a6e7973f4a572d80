/** A film through `wispr proxy` as a process of its own: it streams in constant memory, and is sought in at once. */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { appendFile, open, writeFile } from 'node:fs/promises';
import { get as httpGet } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ObjectWriter } from '../../../core/object/writer.ts';
import { CleanUp, proxyCommand, type ReaderRig, startReaderRig } from '../../support/reader-rig.ts';
import { startWispr } from '../../support/wispr.ts';

const MiB = 1024 * 1024;
const LENGTH = 384 * MiB + 1234;
const PIECE = randomBytes(MiB);

const cleanUp = new CleanUp();
let rig: ReaderRig;
let port: number;
let pid: number;
/** Ranges that the content host was asked for. */
const asked: (string | undefined)[] = [];

beforeAll(async () => {
  rig = cleanUp.use(await startReaderRig());
  await publishFilm();
  const program = await startWispr<{ proxy: string }>([
    ...proxyCommand({ storage: await rig.anotherStorage() }, rig.host.port),
    '--quiet',
  ]);
  cleanUp.add(() => program.stop('SIGKILL'));
  port = Number(new URL(program.ready.proxy).port);
  pid = program.pid;
}, 120_000);
afterAll(() => cleanUp.run());

/** The content: the same random piece again and again, each time under another number. */
async function* content(): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < LENGTH; offset += PIECE.length) {
    PIECE.writeUInt32BE(offset / PIECE.length);
    yield PIECE.subarray(0, Math.min(PIECE.length, LENGTH - offset));
  }
}

/** Puts the object on the disk, from which the host sends it. */
async function publishFilm(): Promise<void> {
  const { publisher, host } = rig;
  const metadata = { contentLength: LENGTH, mediaType: 'video/mp4' };
  const { identity, set, site } = publisher;
  const writer = new ObjectWriter({ site, path: '/film.mp4', publisher: identity, metadata, set });
  const payload = join(rig.directory, 'payload');
  await writeFile(payload, '');
  for await (const block of writer.blocks(content())) await appendFile(payload, block);
  const head = await writer.head();
  const object = join(rig.directory, 'film.protected');
  const file = await open(object, 'w');
  await file.write(head);
  for await (const part of createReadStream(payload, { highWaterMark: MiB })) await file.write(part as Buffer);
  await file.close();
  await publisher.publishObject(host.files, '/film.mp4', head, { headLength: head.length });
  const length = head.length + writer.payloadLength;
  host.handlers.set(publisher.fileOf('/film.mp4'), ({ headers }, response) => {
    asked.push(headers.range);
    const [, first = '0', last = String(length - 1)] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    const [start, end] = [Number(first), Number(last)];
    response.writeHead(headers.range ? 206 : 200, {
      'content-length': end - start + 1,
      ...(headers.range && { 'content-range': `bytes ${start}-${end}/${length}` }),
    });
    createReadStream(object, { start, end })
      .on('error', () => undefined)
      .pipe(response);
  });
}

/** The most memory that the proxy has had, in MiB. */
function peakMemory(): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** Asks as the first one may: nothing is remembered of the film yet. */
it('gives a range of nearly all of it in constant memory', { timeout: 120_000 }, async () => {
  const headers = { range: `bytes=0-${LENGTH - 2}` };
  const length = await new Promise<number>((resolve, reject) => {
    let taken = 0;
    httpGet({ host: '127.0.0.1', port, path: rig.url('/film.mp4'), headers, agent: false }, (answer) => {
      answer.on('data', (part: Buffer) => (taken += part.length));
      answer.on('end', () => resolve(taken)).on('error', reject);
    }).on('error', reject);
  });
  expect(length).toBe(LENGTH - 1);
  expect(peakMemory()).toBeLessThan(300);
});

it('streams in constant memory, to a client that is slow as well', { timeout: 300_000 }, async () => {
  const wanted = createHash('sha256');
  for await (const piece of content()) wanted.update(piece);
  const digest = wanted.digest('hex');
  for (const slow of [false, true]) {
    const hash = createHash('sha256');
    let length = 0;
    await new Promise<void>((resolve, reject) => {
      httpGet({ host: '127.0.0.1', port, path: rig.url('/film.mp4'), agent: false }, (answer) => {
        answer.on('data', (part: Buffer) => {
          hash.update(part);
          length += part.length;
          if (!slow || length % 64 !== 0) return;
          answer.pause();
          setImmediate(() => answer.resume());
        });
        answer.on('end', resolve).on('error', reject);
      }).on('error', reject);
    });
    expect([length, hash.digest('hex')]).toEqual([LENGTH, digest]);
  }
  expect(peakMemory()).toBeLessThan(300); // a runtime with its buffers; the film has 384
});
