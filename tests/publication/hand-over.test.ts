/** The message that makes a publication current, and the order of publications: docs/spec/keys.md section 10, docs/spec/publication.md R1. */
import { describe, expect, it } from 'vitest';
import { parseCanonicalJson } from '../../core/encoding/canonical-json.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { encodeHandOver, HAND_OVER_LIMITS, parseHandOver } from '../../core/publication/hand-over.ts';
import { parseRoot, type TimestampMetadata } from '../../core/publication/metadata.ts';
import { comparePairs, isGreater } from '../../core/publication/pair.ts';
import { keyRing, TestPublication } from '../support/test-publication.ts';
import { NOW } from './reading.ts';

async function made() {
  const publication = await TestPublication.create(NOW, { snapshot: await keyRing(2) });
  await publication.publish(NOW);
  const root = parseRoot(openEnvelope(publication.firstRoot, 'root').signed());
  const message = {
    snapshot: publication.metadata('snapshot', 1),
    roots: [],
    expiries: [{ role: 'bins', expires: 5 }],
  };
  return { publication, root, message };
}

describe('a hand-over', () => {
  it('is read as it was written, and verified by any key of snapshot', async () => {
    const { publication, root, message } = await made();
    for (const { secretKey } of publication.roles.snapshot.signers) {
      const read = parseHandOver(encodeHandOver(message, secretKey));
      expect(read).toMatchObject(message);
      await read.checkSignature(root);
    }
  });

  it('is refused under any other key of the site, and with anything changed', async () => {
    const { publication, root, message } = await made();
    const refused = expect.objectContaining({ code: 'metadata-signature' });
    for (const role of ['root', 'targets', 'timestamp'] as const) {
      const [signer] = publication.roles[role].signers;
      const read = parseHandOver(encodeHandOver(message, signer?.secretKey as Uint8Array));
      await expect(read.checkSignature(root)).rejects.toEqual(refused);
    }
    const [signer] = publication.roles.snapshot.signers;
    const bytes = encodeHandOver(message, signer?.secretKey as Uint8Array);
    const changed = Buffer.from(Buffer.from(bytes).toString().replace('"expires":5', '"expires":6'));
    await expect(parseHandOver(changed).checkSignature(root)).rejects.toEqual(refused);
  });

  it('attack 4: has one spelling, and no members but its own', async () => {
    const { publication, message } = await made();
    const text = Buffer.from(
      encodeHandOver(message, publication.roles.snapshot.signers[0]?.secretKey as Uint8Array),
    ).toString();
    const { signature: _, ...unsigned } = parseCanonicalJson(Buffer.from(text)) as { signature: string };
    const others = [`${text} `, text.replace('{', '{"a":1,'), JSON.stringify(unsigned), '[]', ''];
    for (const other of others)
      expect(() => parseHandOver(Buffer.from(other))).toThrow(expect.objectContaining({ code: 'metadata-malformed' }));
    for (const costly of [
      '['.repeat(1_000_000),
      `{"expiries":[],"roots":[${'[],'.repeat(HAND_OVER_LIMITS.structure)}[]]}`,
    ])
      expect(() => parseHandOver(Buffer.from(costly))).toThrow(expect.objectContaining({ code: 'metadata-malformed' }));
    const long = Buffer.alloc(HAND_OVER_LIMITS.length + 1);
    expect(() => parseHandOver(long)).toThrow(expect.objectContaining({ code: 'metadata-malformed' }));
  });
});

it('a higher publication is greater than any timestamp of a lower one', () => {
  const pairs = [
    { snapshot: 1, timestamp: 9 },
    { snapshot: 2, timestamp: 3 },
    { snapshot: 2, timestamp: 4 },
  ];
  expect(pairs.toReversed().sort(comparePairs)).toEqual(pairs);
  const [low, middle, high] = pairs.map(
    ({ snapshot, timestamp }) => ({ version: timestamp, snapshot: { version: snapshot } }) as TimestampMetadata,
  );
  expect(isGreater(middle as TimestampMetadata, low as TimestampMetadata)).toBe(true);
  expect(isGreater(middle as TimestampMetadata, middle as TimestampMetadata)).toBe(false);
  expect(isGreater(middle as TimestampMetadata, high as TimestampMetadata)).toBe(false);
});
