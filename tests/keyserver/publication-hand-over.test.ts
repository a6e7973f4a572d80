import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { BUNDLE_PATH, encodeHandOver, HAND_OVER_LIMITS, PUBLICATION_PATH } from '../../core/publication/hand-over-1.ts';
import { roleSigner } from '../../core/publication/keys.ts';
import { parseTimestamp } from '../../core/publication/metadata.ts';
import { overview } from '../../keyserver/overview.ts';
import { readPublication } from '../../keyserver/timestamp/state.ts';
import { revokeToken } from '../../keyserver/tokens.ts';
import { encodeRoot, encodeTimestamp } from '../support/first-root.ts';
import { startRig } from '../support/keyserver-rig.ts';
import { HOUR, PublicationRig, TIMESTAMP_PATH } from '../support/publication-rig.ts';
import { sealBundle } from '../support/publisher-with-sets.ts';

let the: PublicationRig;
beforeEach(async () => {
  the = await PublicationRig.start();
});
afterEach(() => the.close());

describe('a publisher with a token', () => {
  it('hands over a bundle, as with "wispr admin import"', async () => {
    const origins = { keyServer: the.rig.server.url, reading: the.rig.server.readingUrl, content: the.rig.host.origin };
    const seal = (serial: number) =>
      sealBundle(the.rig.publisher, the.rig.server.state.recipient.publicKey, { ...origins, serial });
    const response = await the.put(BUNDLE_PATH, await seal(2));
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { outcome: 'updated', serial: 2, publisher: the.rig.publisher.root.id },
    ]);
    const older = await the.put(BUNDLE_PATH, await seal(1));
    expect([older.status, await older.json()]).toEqual([409, { error: 'bundle-older' }]);
    const broken = await the.put(BUNDLE_PATH, Buffer.from('nothing'));
    expect([broken.status, await broken.json()]).toEqual([400, { error: 'bundle-malformed' }]);
  });

  it('hands over a publication, which readers get at once, and the web host too', async () => {
    const bytes = await the.publish({ publication: 7 });
    expect(await the.served()).toEqual(bytes);
    expect(the.pushed()).toEqual(bytes);
    expect(overview(the.rig.server.state).publication).toMatchObject({
      version: 7,
      withdrawn: false,
      signsHere: true,
      expiries: [{ role: 'snapshot' }, { role: 'targets' }],
      pushes: [{ target: the.site, failed: null }],
    });
    expect(await the.handOver(bytes)).toMatchObject({ status: 200, body: { outcome: 'unchanged', publication: 7 } });
  });

  it('is nobody without it', async () => {
    const body = encodeHandOver({ timestamp: the.timestamp(), roots: [], expiries: [] });
    const wrong = [
      null,
      '',
      'Bearer',
      `Bearer ${the.token}x`,
      `Bearer ${the.token.slice(0, -1)}`,
      `Basic ${the.token}`,
      the.token,
    ];
    for (const authorization of wrong) {
      for (const path of [PUBLICATION_PATH, BUNDLE_PATH]) {
        const response = await the.put(path, body, authorization);
        expect([response.status, await response.json()]).toEqual([401, { error: 'token-refused' }]);
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
      }
    }
    expect(readPublication(the.rig.server.state.database)).toBeUndefined();
    the.rig.passTime(31 * 86_400);
    expect((await the.put(PUBLICATION_PATH, body)).status).toBe(401);
    the.rig.passTime(-31 * 86_400);
    revokeToken(the.rig.server.state, 'publisher');
    expect((await the.put(PUBLICATION_PATH, body)).status).toBe(401);
  });

  it('attack 93: whose token is in no log, no list and not in the database', async () => {
    await the.publish();
    await the.put(PUBLICATION_PATH, new Uint8Array(1), `Bearer ${the.token}x`);
    the.rig.server.state.database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const secret = the.token.slice(-43);
    for (const text of [the.rig.log(), JSON.stringify(overview(the.rig.server.state))]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(toBase64url(the.rig.publisher.root.timestampSeed));
    }
    const database = readFileSync(the.rig.config.data);
    expect(database.includes(secret)).toBe(false);
    expect(database.includes(Buffer.from(the.rig.publisher.root.timestampSeed))).toBe(false);
  });

  it('who tries tokens is stopped', async () => {
    const limited = await startRig({ limits: { publishingRefusals: 3 } });
    try {
      const statuses = [];
      for (let attempt = 0; attempt < 5; attempt++)
        statuses.push((await fetch(limited.server.url + BUNDLE_PATH, { method: 'PUT', body: 'x' })).status);
      expect(statuses).toEqual([401, 401, 401, 429, 429]);
    } finally {
      await limited.close();
    }
  });
});

describe('a publication is refused, and the one before stays', () => {
  let before: Uint8Array;
  beforeEach(async () => {
    before = await the.publish({ publication: 5 });
  });

  async function expectRefused(status: number, error: string, timestamp: Uint8Array, roots: Uint8Array[] = []) {
    expect(await the.handOver(timestamp, roots)).toEqual({ status, body: { error } });
    expect(await the.served()).toEqual(before);
    expect(the.pushed()).toEqual(before);
  }

  it('that is signed by another key, or by none', async () => {
    const stranger = await roleSigner(ed25519KeyPair(randomBytes(32)));
    await expectRefused(400, 'metadata-signature', encodeTimestamp(stranger, { signed: the.now() + 9 }));
    const claimed = { ...stranger, keyid: the.signer.keyid };
    await expectRefused(400, 'metadata-signature', encodeTimestamp(claimed, { signed: the.now() + 9 }));
    await expectRefused(400, 'metadata-malformed', new Uint8Array(0));
    await expectRefused(400, 'metadata-too-large', new Uint8Array(20_000).fill(0x20));
  });

  it('that is older, or names an older publication', async () => {
    await expectRefused(409, 'metadata-rollback', the.timestamp({ publication: 5, signed: the.now() - 9 }));
    await expectRefused(409, 'metadata-rollback', the.timestamp({ publication: 4, signed: the.now() + 9 }));
    const { version } = the.read(before);
    await expectRefused(409, 'metadata-rollback', the.timestamp({ publication: 6, signed: version }));
  });

  it('attack 69: that has expired, or comes from the future', async () => {
    const expired = the.timestamp({ publication: 6, signed: the.now() + 9, expires: the.now() - 1 });
    await expectRefused(409, 'publication-expired', expired);
    await expectRefused(409, 'clock-behind', the.timestamp({ publication: 6, signed: the.now() + 400 }));
  });

  it('with roots that do not follow from the pinned one', async () => {
    const { signers } = the.rig.publisher.root;
    const newer = the.timestamp({ publication: 6, signed: the.now() + 9 });
    const stranger = await roleSigner(ed25519KeyPair(randomBytes(32)));
    await expectRefused(400, 'metadata-signature', newer, [
      await encodeRoot({ ...signers, root: stranger }, 2, [stranger]),
    ]);
    await expectRefused(409, 'metadata-rollback', newer, [await encodeRoot(signers, 3, [signers.root])]);
    await expectRefused(400, 'metadata-malformed', newer, [new Uint8Array(10)]);
  });

  it('in a message that is not of the form, or too long', async () => {
    for (const text of [
      '',
      '{}',
      '[]',
      '{"expiries":[],"roots":[],"timestamp":"="}',
      '{"expiries":[{}],"roots":[],"timestamp":""}',
    ]) {
      const response = await the.put(PUBLICATION_PATH, Buffer.from(text));
      expect([response.status, await response.json()]).toEqual([400, { error: 'metadata-malformed' }]);
    }
    expect((await the.put(PUBLICATION_PATH, new Uint8Array(HAND_OVER_LIMITS.length + 1))).status).toBe(413);
    expect(await the.served()).toEqual(before);
  });

  it('before there is a publisher', async () => {
    the.rig.server.state.database.exec('DELETE FROM provider');
    expect(await the.handOver(the.timestamp({ publication: 6, signed: the.now() + 9 }))).toEqual({
      status: 503,
      body: { error: 'no-provider' },
    });
  });
});

describe('new roots', () => {
  it('are followed, kept, and served to readers', async () => {
    await the.publish({ publication: 5 });
    const { root } = the.rig.publisher;
    const second = await encodeRoot(root.signers, 2, [root.signers.root]);
    expect(await the.handOver(the.timestamp({ publication: 6, signed: the.now() + 9 }), [second])).toMatchObject({
      status: 200,
    });
    for (const [version, bytes] of [root.bytes, second].entries()) {
      const response = await fetch(`${the.rig.server.url}/.well-known/wispr/${version + 1}.root.json`);
      expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    }
    for (const file of ['3.root.json', '0.root.json', '01.root.json', 'root.json', '1.snapshot.json', '..%2Fx'])
      expect((await fetch(`${the.rig.server.url}/.well-known/wispr/${file}`)).status).toBe(404);
    const shorter = await the.handOver(the.timestamp({ publication: 7, signed: the.now() + 10 }), []);
    expect(shorter).toEqual({ status: 409, body: { error: 'metadata-rollback' } });
  });

  it('with another timestamp key: the old key signs nothing any more, the new one begins anew', async () => {
    await the.publish({ publication: 5, signed: the.now() + 250 });
    const { root } = the.rig.publisher;
    const seed = randomBytes(32);
    const timestamp = await roleSigner(ed25519KeyPair(seed));
    const second = await encodeRoot({ ...root.signers, timestamp }, 2, [root.signers.root]);
    const stale = the.timestamp({ publication: 6, signed: the.now() + 260 });
    expect(await the.handOver(stale, [second])).toEqual({ status: 400, body: { error: 'metadata-signature' } });
    const back = encodeTimestamp(timestamp, { publication: 4, signed: the.now() });
    expect(await the.handOver(back, [second])).toEqual({ status: 409, body: { error: 'metadata-rollback' } });
    const fresh = encodeTimestamp(timestamp, { publication: 6, signed: the.now() });
    expect(await the.handOver(fresh, [second])).toMatchObject({ status: 200 });
    expect(await the.rig.server.keeper.attempt()).toBe('failed');
    expect(the.rig.log()).toContain('timestamp-key-foreign');
    expect(await the.served()).toEqual(fresh);
    await the.importTimestampKey(seed);
    the.rig.passTime(HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
  });
});

describe('readers', () => {
  it('get timestamp and root with entity tags, for a short time, whoever they are', async () => {
    const bytes = await the.publish();
    const response = await fetch(the.rig.server.url + TIMESTAMP_PATH);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('cache-control')).toBe('public, max-age=60');
    const etag = response.headers.get('etag') ?? '';
    const again = await fetch(the.rig.server.url + TIMESTAMP_PATH, { headers: { 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const other = await fetch(the.rig.server.url + TIMESTAMP_PATH, { headers: { 'if-none-match': '"other"' } });
    expect(new Uint8Array(await other.arrayBuffer())).toEqual(bytes);
    const head = await fetch(the.rig.server.url + TIMESTAMP_PATH, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
    const root = await fetch(`${the.rig.server.url}/.well-known/wispr/1.root.json`);
    expect(new Uint8Array(await root.arrayBuffer())).toEqual(the.rig.publisher.root.bytes);
    expect(parseTimestamp(openEnvelope(bytes, 'timestamp').signed()).version).toBeGreaterThan(0);
  });
});
