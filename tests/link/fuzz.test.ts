/** Ends, a peer and a link that send anything: bytes pass unchanged or the connection ends, and memory stays bounded. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '../../link/limits.ts';
import { entryOf, hashOf } from '../../link/substitution/compressed.ts';
import { FarSide } from '../../link/substitution/far.ts';
import { writeList } from '../../link/substitution/list.ts';
import { NearSide } from '../../link/substitution/near.ts';
import { type Passage, ProtocolViolation } from '../../link/substitution/passage.ts';
import { prefix } from '../../link/tls/cursor.ts';
import { MESSAGE, readCertificates, writeCertificates, writeMessage } from '../../link/tls/messages.ts';
import { RecordReader, TLS12, writeRecord } from '../../link/tls/records.ts';
import { clientHello, serverHello } from '../support/link-messages.ts';
import { NAME, newStore } from '../support/link-pair.ts';
import { runs } from '../support/tier.ts';

const chain = [Buffer.alloc(900, 1), Buffer.alloc(1200, 2)];
let near: ReturnType<typeof newStore>;
let far: ReturnType<typeof newStore>;
beforeAll(() => {
  near = newStore();
  far = newStore();
  near.learnChain(`${NAME}:443`, chain);
});

const RUNS = runs(150);

const bytes = (most: number) => fc.uint8Array({ maxLength: most }).map((each) => Buffer.from(each));
/** A message whose length may be wrong. */
const message = fc
  .record({ type: fc.constantFrom(1, 2, 11, 12, 14, 16, 20, 22, 23, 0x99, 77), body: bytes(300), wrong: fc.boolean() })
  .map(({ type, body, wrong }) => {
    const written = writeMessage(type, body);
    if (wrong) written[3] = (written[3] ?? 0) ^ 3;
    return written;
  });
const list = fc.array(bytes(200), { maxLength: 20 }).map(writeCertificates);
const reference = fc
  .constantFrom(...chain, Buffer.of(9))
  .map((one) => Buffer.concat([Buffer.of(0), hashOf(one).subarray(0, 16)]));
const whole = bytes(60).map((one) => Buffer.concat([Buffer.of(1), prefix(one, 3)]));
const listed = fc
  .record({
    held: fc.nat(255),
    lengths: fc.oneof(fc.constant<number[]>([]), fc.array(fc.nat(200), { maxLength: 4 })),
    entries: fc.array(fc.oneof(reference, reference, whole, bytes(20)), { maxLength: 4 }),
  })
  .map(({ held, lengths, entries }) => {
    const numbers = lengths.map((length) => Buffer.of(length >> 8, length & 255));
    const all = [Buffer.of(held, lengths.length), ...numbers, ...entries];
    return writeMessage(MESSAGE.compressedCertificate, Buffer.concat(all));
  });
const record = fc
  .record({
    content: fc.oneof(message, list, listed, bytes(60)),
    type: fc.constantFrom(22, 22, 22, 22, 20, 21, 23, 99),
    version: fc.constantFrom(TLS12, TLS12, TLS12, 0x0301, 0x0707),
  })
  .map(({ content, type, version }) => {
    const written = writeRecord(version, content);
    written[0] = type;
    return written;
  });
const stream = (beginnings: readonly Buffer[]) =>
  fc
    .tuple(fc.constantFrom(Buffer.alloc(0), ...beginnings), fc.array(fc.oneof(record, bytes(40)), { maxLength: 12 }))
    .map(([beginning, records]) => Buffer.concat([beginning, ...records]));
const cuts = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 30 });

/** @returns everything that comes out; `undefined` if the connection was ended */
function send(passages: readonly Passage[], all: Buffer, sizes: readonly number[]): Buffer | undefined {
  const out: Buffer[] = [];
  const push = (piece: Buffer) => passages.reduce((each, passage) => passage.push(each), piece);
  try {
    for (let at = 0, turn = 0; at < all.length; turn++) {
      const size = sizes[turn % sizes.length] ?? 1;
      out.push(push(all.subarray(at, at + size)));
      at += size;
    }
    const [first, second] = passages;
    const rest = first?.end() ?? Buffer.alloc(0);
    out.push(second === undefined ? rest : Buffer.concat([second.push(rest), second.end()]));
  } catch (error) {
    if (error instanceof ProtocolViolation) return undefined;
    throw error;
  }
  return Buffer.concat(out);
}

describe('attack 121: an end, the peer or the link sends anything', () => {
  it('bytes of a client arrive as they are, or nothing more does', () => {
    fc.assert(
      fc.property(stream([clientHello(NAME), clientHello('other.example')]), cuts, (all, sizes) => {
        const out = send([new NearSide(near, 443).fromClient, new FarSide(far).fromNear], all, sizes);
        expect(out === undefined || out.equals(all)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  it('bytes of a server arrive as they are, or nothing more does', () => {
    const flight = Buffer.concat([serverHello(), writeRecord(TLS12, writeCertificates(chain))]);
    const own = Buffer.concat([
      serverHello(),
      writeRecord(TLS12, writeMessage(MESSAGE.compressedCertificate, Buffer.of(0, 0))),
    ]);
    let [arrived, ended] = [0, 0];
    fc.assert(
      fc.property(stream([serverHello(), flight, own]), cuts, (all, sizes) => {
        const [nearSide, farSide] = [new NearSide(near, 443), new FarSide(far)];
        farSide.fromNear.push(nearSide.fromClient.push(clientHello(NAME)));
        const out = send([farSide.fromServer, nearSide.fromServer], all, sizes);
        expect(out === undefined || out.equals(all)).toBe(true);
        if (out === undefined) ended++;
        else arrived++;
      }),
      { numRuns: RUNS },
    );
    expect([arrived > 50, ended > 5]).toEqual([true, true]);
  });

  it('a far relay: what it can put in are certificates that were listed, and what it sends whole', () => {
    let restored = 0;
    fc.assert(
      fc.property(listed, stream([]), cuts, (first, more, sizes) => {
        const all = Buffer.concat([serverHello(), writeRecord(TLS12, first), more]);
        const side = new NearSide(near, 443);
        side.fromClient.push(clientHello(NAME));
        const out = send([side.fromServer], all, sizes);
        if (out === undefined || out.equals(all)) return;
        restored++;
        const certificates = certificatesIn(out);
        const isOwn = (one: Buffer) => chain.some((each) => each.equals(one)) || all.includes(one);
        expect(certificates.length > 0 && certificates.every(isOwn)).toBe(true);
      }),
      { numRuns: RUNS },
    );
    expect(restored).toBeGreaterThan(3);
  });

  it('a near relay: what reaches the server is what it sent, without the list', () => {
    const entries = writeList({ server: chain.map((each) => entryOf(hashOf(each))), client: [] });
    const withList = clientHello(NAME, [Buffer.concat([Buffer.of(0, 0x99), prefix(entries, 2)])]);
    fc.assert(
      fc.property(stream([withList]), cuts, (all, sizes) => {
        const out = send([new FarSide(far).fromNear], all, sizes);
        const wanted = all.subarray(0, withList.length).equals(withList)
          ? Buffer.concat([clientHello(NAME), all.subarray(withList.length)])
          : all;
        expect(out === undefined || out.equals(wanted)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  it('holds no more than a group', () => {
    const side = new NearSide(near, 443);
    side.fromClient.push(clientHello(NAME));
    side.fromServer.push(serverHello());
    const endless = writeRecord(TLS12, Buffer.concat([Buffer.of(11, 0, 255, 0), Buffer.alloc(1000)]));
    const more = writeRecord(TLS12, Buffer.alloc(1000));
    let held = endless.length - side.fromServer.push(endless).length;
    let most = held;
    for (let count = 0; count < 200; count++) {
      held += more.length - side.fromServer.push(more).length;
      most = Math.max(most, held);
    }
    expect(most).toBeGreaterThan(20_000);
    expect(most).toBeLessThan(LIMITS.group + LIMITS.record);
    expect(held).toBeLessThanOrEqual(0);
  });

  it('tells other protocols by their first byte', () => {
    for (const first of ['S', 'SSH-2.0-x\r\n', 'GET / HTTP/1.1\r\n\r\n', '\u0016\u0004'])
      expect(new NearSide(near, 443).fromClient.push(Buffer.from(first)).toString()).toBe(first);
  });
});

function certificatesIn(all: Buffer): Buffer[] {
  const reader = new RecordReader();
  reader.push(all);
  const contents: Buffer[] = [];
  for (let next = reader.next(); typeof next === 'object'; next = reader.next()) contents.push(next.content);
  const handshake = Buffer.concat(contents);
  const at = MESSAGE_AFTER_HELLO;
  return readCertificates(handshake.subarray(at + 4, at + 4 + handshake.readUIntBE(at + 1, 3))) ?? [];
}

/** Offset of the message behind the ServerHello. */
const MESSAGE_AFTER_HELLO = serverHello().length - 5;
