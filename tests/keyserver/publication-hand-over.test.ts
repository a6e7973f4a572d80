import { beforeEach, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import {
  BUNDLE_PATH,
  encodeHandOver,
  HAND_OVER_LIMITS,
  PUBLICATION_PATH,
  PUBLISHING_PATH,
} from '../../core/publication/hand-over.ts';
import { roleSigner } from '../../core/publication/keys.ts';
import { encodeSettings } from '../../core/publication/settings.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { readPublication } from '../../keyserver/publication/stored.ts';
import { createToken, revokeToken } from '../../keyserver/publication/tokens.ts';
import { encodeRoot } from '../support/first-root.ts';
import { forEachTest } from '../support/for-file.ts';
import { HOUR, newKey, PublicationRig, TIMESTAMP_PATH } from '../support/publication-rig.ts';
import { sealBundle } from '../support/publisher-with-sets.ts';
import { createVisitor } from '../support/reading-site-visitor.ts';
import { signOnto } from '../support/signed-publication.ts';
import { everythingStored } from '../support/store.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const the = forEachTest(() => PublicationRig.start());

describe('a publisher with a token', () => {
  it('hands over a bundle, as with "wispr admin import"', async () => {
    const origins = { keyServer: the.rig.server.url, reading: the.rig.server.readingUrl, content: the.rig.host.origin };
    const seal = (serial: number) =>
      sealBundle(the.rig.publisher, the.rig.server.state.recipient.publicKey, { ...origins, serial });
    const put = async (bundle: Uint8Array) => {
      const response = await the.put(BUNDLE_PATH, bundle);
      return { status: response.status, ...(await response.json()) };
    };
    const updated = { status: 200, outcome: 'updated', serial: 2, publisher: the.rig.publisher.root.id };
    expect(await put(await seal(2))).toMatchObject(updated);
    expect(await put(await seal(1))).toEqual({ status: 409, error: 'bundle-older' });
    expect(await put(Buffer.from('nothing'))).toEqual({ status: 400, error: 'bundle-malformed' });
  });

  it('makes a publication current: readers and the push target get its timestamp, readers its snapshot', async () => {
    const bytes = await the.publish(7);
    expect(await the.read(bytes)).toMatchObject({ snapshot: { version: 7 }, version: expect.closeTo(the.now(), -1) });
    expect(await the.served()).toEqual(bytes);
    expect(the.pushed()).toEqual(bytes);
    expect(await the.served('7.snapshot.json')).toEqual(the.snapshot(7));
    const expiries = [{ role: 'snapshot' }, { role: 'targets' }];
    const shown = { version: 7, expiries, pushes: [{ target: the.site, failed: null }] };
    const { publication } = await overview(the.rig.server.state);
    expect(publication).toMatchObject({ ...shown, withdrawn: false, signsHere: true });
  });

  it('has its new settings on the pages of the reading site, before anybody opens a document', async () => {
    const { publisher, host, server } = the.rig;
    const { publication } = publisher;
    const sell = async (price: string) => {
      const plans = [{ name: 'daily', title: 'Daily', price, buy: 'https://shop.example/daily' }];
      publication.setSettings({ ...TEST_SETTINGS, plans });
      await signOnto(publication, host.files);
      const { status } = await the.handOver(publication.metadata('snapshot', publication.version));
      expect(status).toBe(200);
      const page = async () => (await createVisitor(server.readingUrl).get('/-/subscribe')).text;
      await expect.poll(page).toContain(price);
    };
    await sell('€6 a month');
    await sell('€7 a month');
  });

  it('is told in the log of a trial for which nobody can sign up here, as soon as it is offered', async () => {
    const { publisher, host, server } = the.rig;
    const plans = [{ name: 'daily', title: 'D', trial: 14 }];
    const settings = toBase64url(encodeSettings({ ...TEST_SETTINGS, plans }));
    const about = { keyServer: server.url, reading: server.readingUrl, content: host.origin, serial: 2 };
    const bundle = await sealBundle(publisher, server.state.recipient.publicKey, { ...about, bundle: { settings } });
    expect((await the.put(BUNDLE_PATH, bundle)).status).toBe(200);
    expect(the.rig.log()).toContain('free days are offered, and nobody can sign up');
  });

  it('gets the same answer to the same message, and a new timestamp when half of its time is over', async () => {
    const snapshot = the.snapshot(7);
    const { body } = await the.handOver(snapshot);
    the.rig.passTime(10);
    expect(await the.handOver(snapshot)).toEqual({ status: 200, body });
    the.rig.passTime(25 * HOUR);
    const again = await the.handOver(snapshot);
    expect(again.status).toBe(200);
    expect(again.body).not.toEqual(body);
  });

  it('attack 69: of several that are handed over at once, the newest is current, and no timestamp goes back', async () => {
    const versions = [7, 9, 8, 10, 6];
    const outcomes = await Promise.all(versions.map((version) => the.handOver(the.snapshot(version))));
    const signed = outcomes.flatMap(({ status, body }) =>
      status === 200 ? [Buffer.from(String(body.timestamp), 'base64url')] : [],
    );
    const timestamps = await Promise.all(signed.map((bytes) => the.read(bytes)));
    const inOrder = timestamps.toSorted((one, other) => one.version - other.version);
    expect(new Set(inOrder.map(({ version }) => version)).size).toBe(signed.length);
    const publications = inOrder.map(({ snapshot }) => snapshot.version);
    expect(publications).toEqual(publications.toSorted((one, other) => one - other));
    expect(publications.at(-1)).toBe(10);
    expect(await the.read(await the.served())).toEqual(inOrder.at(-1));
  });

  it('withdraws by a closing publication', async () => {
    await the.publish(7);
    await the.publish(8, { closed: true });
    expect((await overview(the.rig.server.state)).publication).toMatchObject({ version: 8, withdrawn: true });
    expect(Buffer.from(await the.served('8.snapshot.json')).toString()).toContain('"x-wispr-closed":true');
    expect((await fetch(`${the.rig.server.url}/.well-known/wispr/7.snapshot.json`)).status).toBe(404);
    the.rig.passTime(HOUR);
    expect(await the.run()).toBe(true);
    expect((await the.read(await the.served())).snapshot.version).toBe(8);
    expect(the.rig.log()).toContain('the publication is withdrawn');
    await the.publish(9);
    expect((await overview(the.rig.server.state)).publication).toMatchObject({ version: 9, withdrawn: false });
  });

  it('is refused without it', async () => {
    const { snapshot: signer } = the.rig.publisher.root.signers;
    const body = encodeHandOver({ snapshot: the.snapshot(7), roots: [], expiries: [] }, signer.secretKey);
    const altered = [`${the.token}x`, the.token.slice(0, -1)].map((token) => `Bearer ${token}`);
    for (const authorization of [null, '', 'Bearer', ...altered, `Basic ${the.token}`, the.token]) {
      for (const path of [PUBLICATION_PATH, BUNDLE_PATH]) {
        const response = await the.put(path, body, authorization);
        expect([response.status, await response.json()]).toEqual([401, { error: 'token-refused' }]);
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
      }
    }
    expect(await readPublication(the.rig.server.state.database)).toBeUndefined();
    the.rig.passTime(31 * 86_400);
    expect((await the.put(PUBLICATION_PATH, body)).status).toBe(401);
    the.rig.passTime(-31 * 86_400);
    await revokeToken(the.rig.server.state, 'publisher');
    expect((await the.put(PUBLICATION_PATH, body)).status).toBe(401);
  });

  it('learns until when its token is good, and nobody else does', async () => {
    const ask = (authorization: string) => fetch(the.rig.server.url + PUBLISHING_PATH, { headers: { authorization } });
    const { token: shop } = await createToken(the.rig.server.state, 'shop', 30, 'subscriptions');
    expect(await (await ask(`Bearer ${the.token}`)).json()).toEqual({ expires: the.now() + 30 * 86_400 });
    for (const wrong of ['', `Bearer ${the.token}x`, `Bearer ${shop}`]) {
      const response = await ask(wrong);
      expect([response.status, await response.json()]).toEqual([401, { error: 'token-refused' }]);
    }
  });

  it('attack 144: publishes while nobody else does, and says who published last', async () => {
    const { state, url } = the.rig.server;
    const { token: other } = await createToken(state, 'berta', 30);
    const put = async (letter: string, authorization?: string) => {
      const body = Buffer.from(JSON.stringify({ run: letter.repeat(22), from: `${letter}@desk` }));
      const response = await the.put(PUBLISHING_PATH, body, authorization);
      return response.status === 204 ? 204 : { status: response.status, ...(await response.json()) };
    };
    const since = the.now();
    expect(await put('a')).toBe(204);
    expect(await put('a')).toBe(204);
    const refused = { status: 409, error: 'publishing-elsewhere', by: 'publisher', from: 'a@desk', since };
    expect(await put('b', `Bearer ${other}`)).toEqual(refused);
    await the.publish(7);
    const authorization = `Bearer ${other}`;
    const ask = async () => (await fetch(url + PUBLISHING_PATH, { headers: { authorization } })).json();
    expect(await ask()).toMatchObject({ last: { publication: 7, by: 'publisher', from: 'a@desk', time: since } });
    the.rig.passTime(121); // the run was killed
    expect(await put('b', authorization)).toBe(204);
    await fetch(`${url}${PUBLISHING_PATH}/${'b'.repeat(22)}`, { method: 'DELETE', headers: { authorization } });
    expect(await put('a')).toBe(204);
    for (const wrong of ['{}', '[]', '{', JSON.stringify({ run: 'a'.repeat(22), from: 'x'.repeat(101) })])
      expect((await the.put(PUBLISHING_PATH, Buffer.from(wrong))).status).toBe(400);
  });

  it('attack 93: the token is in no log, no list and not in the database', async () => {
    await the.publish(7);
    await the.put(PUBLICATION_PATH, new Uint8Array(1), `Bearer ${the.token}x`);
    const secret = the.token.slice(-43);
    for (const text of [the.rig.log(), JSON.stringify(await overview(the.rig.server.state))]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(toBase64url(the.rig.publisher.root.timestampSeed));
    }
    const database = await everythingStored(the.rig.server.state.database, the.rig.config);
    expect(database.includes(secret)).toBe(false);
    expect(database.includes(Buffer.from(the.rig.publisher.root.timestampSeed))).toBe(false);
  });
});

describe('a publication is refused, and the current one stays', () => {
  let before: Uint8Array;
  beforeEach(async () => {
    before = await the.publish(5);
  });

  async function expectRefused(status: number, error: string, ...[snapshot, wish]: Parameters<typeof the.handOver>) {
    const answer = await the.handOver(snapshot, wish);
    expect(answer).toEqual({ status, body: expect.objectContaining({ error }) });
    if (error.startsWith('publication-')) expect(answer.body.timestamp).toBe(toBase64url(before));
    expect(await the.served()).toEqual(before);
    expect(the.pushed()).toEqual(before);
  }

  it('that is older, or another one of the same version', async () => {
    await expectRefused(409, 'publication-older', the.snapshot(4));
    await expectRefused(409, 'publication-other', the.snapshot(5, { targetsVersion: 2 }));
    await expectRefused(409, 'publication-other', the.snapshot(5, { closed: true }));
  });

  it('whose hand-over no snapshot key has signed: a stolen token makes nothing current, nor does the timestamp key', async () => {
    const { timestamp, targets, root } = the.rig.publisher.root.signers;
    const unpublished = the.snapshot(6);
    for (const signer of [timestamp, targets, root, await newKey()])
      await expectRefused(400, 'metadata-signature', unpublished, { signer });
  });

  it('whose snapshot another key has signed, or none', async () => {
    const { timestamp } = the.rig.publisher.root.signers;
    await expectRefused(400, 'metadata-signature', the.snapshot(6, { signer: timestamp, closed: true }));
    await expectRefused(400, 'metadata-signature', the.snapshot(6, { signer: await newKey() }));
    await expectRefused(400, 'metadata-malformed', new Uint8Array(0));
    await expectRefused(400, 'metadata-signature', the.pushed());
  });

  it('attack 69: whose snapshot has expired; and nothing is signed with a clock that was set back', async () => {
    await expectRefused(409, 'metadata-expired', the.snapshot(6, { expires: the.now() - 1 }));
    the.rig.passTime(-HOUR);
    await expectRefused(503, 'clock-off', the.snapshot(6));
    expect(await the.run()).toBe(false);
    expect(the.rig.log()).toMatch(/clock-off: this machine's clock says .*Z, and the last timestamp was signed at/);
    the.rig.passTime(HOUR - 200); // the tolerance allows it: the version still grows
    expect((await the.read(await the.publish(6))).version).toBe((await the.read(before)).version + 1);
  });

  it('with roots that do not follow from the pinned one', async () => {
    const { signers } = the.rig.publisher.root;
    const stranger = await newKey();
    const forged = await encodeRoot({ ...signers, root: stranger }, 2, [stranger]);
    await expectRefused(400, 'metadata-signature', the.snapshot(6), { roots: [forged] });
    const skipping = await encodeRoot(signers, 3, [signers.root]);
    await expectRefused(409, 'metadata-rollback', the.snapshot(6), { roots: [skipping] });
    await expectRefused(400, 'metadata-malformed', the.snapshot(6), { roots: [new Uint8Array(10)] });
  });

  it('in a message that is malformed or too long', async () => {
    for (const text of ['', '{}', '[]', '{"expiries":[],"roots":[],"signature":"","snapshot":"="}']) {
      const response = await the.put(PUBLICATION_PATH, Buffer.from(text));
      expect([response.status, await response.json()]).toEqual([400, { error: 'metadata-malformed' }]);
    }
    expect((await the.put(PUBLICATION_PATH, new Uint8Array(HAND_OVER_LIMITS.length + 1))).status).toBe(413);
    expect(await the.served()).toEqual(before);
  });

  it('before there is a publisher', async () => {
    await the.rig.server.state.database.run('DELETE FROM provider');
    expect(await the.handOver(the.snapshot(6))).toEqual({ status: 503, body: { error: 'no-provider' } });
  });

  it('without the timestamp key, which the publisher may keep: then readers get no timestamp here', async () => {
    await the.importTimestampKey(undefined);
    const refused = { status: 409, body: { error: 'timestamp-key-unusable' } };
    expect(await the.handOver(the.snapshot(6))).toEqual(refused);
    expect((await fetch(the.rig.server.url + TIMESTAMP_PATH)).status).toBe(404);
    await the.importTimestampKey(randomBytes(32), 3);
    expect(await the.handOver(the.snapshot(6))).toEqual(refused);
  });
});

describe('new roots', () => {
  it('are followed, kept, and served to readers; one that was followed stays', async () => {
    await the.publish(5);
    const { root } = the.rig.publisher;
    const [newRoot, thief] = [await newKey(), await newKey()];
    const second = await encodeRoot({ ...root.signers, root: newRoot }, 2, [root.signers.root, newRoot]);
    await the.publish(6, { roots: [second] });
    for (const [index, bytes] of [root.bytes, second].entries())
      expect(await the.served(`${index + 1}.root.json`)).toEqual(bytes);
    for (const file of ['3.root.json', '0.root.json', '01.root.json', 'root.json', '5.snapshot.json', '..%2Fx'])
      expect((await fetch(`${the.rig.server.url}/.well-known/wispr/${file}`)).status).toBe(404);
    const rollback = { status: 409, body: { error: 'metadata-rollback' } };
    expect(await the.handOver(the.snapshot(7))).toEqual(rollback);
    const fork = await encodeRoot({ ...root.signers, root: thief, snapshot: thief }, 2, [root.signers.root, thief]);
    const stolen = the.snapshot(7, { signer: thief });
    expect(await the.handOver(stolen, { roots: [fork], signer: thief })).toEqual(rollback);
  });

  it('with another timestamp key: the old key signs nothing any more, the new one begins anew', async () => {
    const current = the.snapshot(5);
    await the.handOver(current);
    const { root } = the.rig.publisher;
    const seed = randomBytes(32);
    const timestamp = await roleSigner(ed25519KeyPair(seed));
    const second = await encodeRoot({ ...root.signers, timestamp }, 2, [root.signers.root]);
    const roots = [second];
    expect(await the.handOver(the.snapshot(6), { roots })).toMatchObject({ body: { error: 'timestamp-key-unusable' } });
    await the.importTimestampKey(seed);
    expect((await the.handOver(the.snapshot(4), { roots })).body.error).toBe('publication-older');
    the.rig.passTime(-1000); // versions begin anew, so a clock that was fast does no harm
    expect((await the.handOver(current, { roots })).status).toBe(200);
    expect(await the.run()).toBe(true);
  });

  it('with another snapshot key: the number of a stolen key ends with it', async () => {
    await the.publish(1_000_000);
    const { root } = the.rig.publisher;
    const snapshot = await newKey();
    const second = await encodeRoot({ ...root.signers, snapshot }, 2, [root.signers.root]);
    const answer = await the.handOver(the.snapshot(6, { signer: snapshot }), { roots: [second], signer: snapshot });
    expect(answer.status).toBe(200);
  });
});

it('readers get timestamp, snapshot and root with entity tags, for a short time', async () => {
  const bytes = await the.publish(7);
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
});

it('an altered row in the database is no reason to sign something', async () => {
  await the.publish(7);
  const forged = the.snapshot(8, { signer: await newKey() });
  await the.rig.server.state.database.run('UPDATE publication SET snapshot = ?, snapshot_version = 8', forged);
  expect(await the.run()).toBe(false);
  expect(the.rig.log()).toContain('metadata-signature');
});
