import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { type ImportResult, importBundle } from '../../keyserver/publication/import-bundle.ts';
import { type KeyServerState, openState } from '../../keyserver/storage/state.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import {
  type BundleOptions,
  createPublisher,
  createSetKey,
  describe as descriptor,
  type PublisherWithSets,
  SITE,
  sealBundle,
} from '../support/publisher-with-sets.ts';
import { everythingStored, storeIn } from '../support/store.ts';

const ORIGINS = { keyServer: 'https://keys.news.example', reading: 'https://read.news.example' };
let config: KeyServerConfig;
let state: KeyServerState;
let publisher: PublisherWithSets;
beforeEach(async () => {
  const folder = temporaryFolder();
  config = { ...configIn(folder), ...(await storeIn(folder)) };
  state = await openState(config);
  publisher = await createPublisher();
});
afterEach(() => state.database.close());

function seal(options: Partial<BundleOptions> = {}, by = publisher): Promise<Uint8Array> {
  return sealBundle(by, state.recipient.publicKey, { ...ORIGINS, content: 'https://cdn.example', ...options });
}

async function importSealed(options: Partial<BundleOptions> = {}, by = publisher): Promise<ImportResult> {
  return importBundle(state, await seal(options, by), ORIGINS);
}

/** Insists that an import is refused with `code`, and that nothing changed. */
async function expectRefused(bytes: Uint8Array, code: string): Promise<void> {
  const before = JSON.stringify([await overview(state), await state.database.all('SELECT * FROM provider')]);
  await expect(importBundle(state, bytes, ORIGINS)).rejects.toMatchObject({ code });
  expect(JSON.stringify([await overview(state), await state.database.all('SELECT * FROM provider')])).toBe(before);
}

describe('the first bundle', () => {
  it('pins the publisher', async () => {
    expect(await importSealed()).toEqual({
      outcome: 'pinned',
      publisher: publisher.root.id,
      publisherKey: publisher.identity.id,
      name: 'The Harbour News',
      sites: [SITE],
      serial: 1,
      sets: 2,
      newSets: 2,
    });
    expect(await overview(state)).toMatchObject({
      publisher: { id: publisher.root.id, key: publisher.identity.id, serial: 1 },
      sets: [{ name: 'day-1' }, { name: 'day-2' }],
    });
  });

  it('leaves no key readable in the database file', async () => {
    await importSealed();
    const file = await everythingStored(state.database, config);
    for (const key of [...[...publisher.sets.values()].map((set) => set.key), publisher.root.timestampSeed]) {
      expect(file.includes(Buffer.from(key))).toBe(false);
      expect(file.includes(toBase64url(key))).toBe(false);
    }
  });
});

describe('a later bundle', () => {
  beforeEach(() => importSealed({ serial: 5 }));

  it('of a higher serial adds new sets, and keeps the old ones', async () => {
    const set = await createSetKey();
    const sets = [{ id: set.id, key: toBase64url(set.key), name: 'day-3', site: SITE }];
    const result = await importSealed({ serial: 6, bundle: { sets } });
    expect(result).toMatchObject({ outcome: 'updated', serial: 6, sets: 1, newSets: 1 });
    expect((await overview(state)).sets.map(({ name }) => name)).toEqual(['day-1', 'day-2', 'day-3']);
  });

  it('that is the same one again changes nothing, and says so', async () => {
    const bytes = await seal({ serial: 6 });
    expect(await importBundle(state, bytes, ORIGINS)).toMatchObject({ outcome: 'updated' });
    expect(await importBundle(state, bytes, ORIGINS)).toMatchObject({ outcome: 'unchanged', newSets: 0 });
  });

  it('attack 90: of a serial that is over, another workspace or another publisher is refused, whatever key it is signed with', async () => {
    const other = { ...(await createPublisher()), workspace: publisher.workspace };
    await expectRefused(await seal({ serial: 4 }), 'bundle-older');
    await expectRefused(await seal({ serial: 5 }), 'bundle-older');
    const elsewhere = { ...publisher, workspace: toBase64url(randomBytes(16)) };
    for (const by of [elsewhere, other, { ...other, identity: publisher.identity }])
      await expectRefused(await seal({ serial: 9 }, by), 'bundle-foreign');
  });

  it('attack 90: signed by another publisher key is refused, until the operator names that key', async () => {
    const { identity } = await createPublisher();
    const bytes = await seal({ serial: 6 }, { ...publisher, identity });
    await expectRefused(bytes, 'publisher-key-changed');
    const wrong = importBundle(state, bytes, ORIGINS, { newPublisherKey: publisher.identity.id });
    await expect(wrong).rejects.toMatchObject({ code: 'publisher-key-changed' });
    const result = await importBundle(state, bytes, ORIGINS, { newPublisherKey: identity.id });
    expect(result).toMatchObject({ outcome: 'updated', publisher: publisher.root.id, publisherKey: identity.id });
    await expectRefused(await seal({ serial: 7 }), 'publisher-key-changed'); // the old key is no good any more
  });

  it('attack 90: signed by the key that is known is refused, where the operator names another', async () => {
    const { identity } = await createPublisher();
    const bytes = await seal({ serial: 6 });
    const wrong = importBundle(state, bytes, ORIGINS, { newPublisherKey: identity.id });
    await expect(wrong).rejects.toMatchObject({ code: 'publisher-key-changed' });
    expect(await importBundle(state, bytes, ORIGINS)).toMatchObject({ outcome: 'updated' }); // nothing was changed
  });

  it('attack 90: the operator can let neither root nor workspace nor serial go', async () => {
    const stranger = await createPublisher();
    const named = { newPublisherKey: stranger.identity.id };
    const attempts = [
      [await seal({ serial: 9 }, { ...stranger, workspace: publisher.workspace }), 'bundle-foreign'],
      [await seal({ serial: 9 }, { ...stranger, root: publisher.root }), 'bundle-foreign'],
      [await seal({ serial: 4 }, { ...publisher, identity: stranger.identity }), 'bundle-older'],
    ] as const;
    for (const [bytes, code] of attempts)
      await expect(importBundle(state, bytes, ORIGINS, named)).rejects.toMatchObject({ code });
  });
});

describe('a bundle is refused', () => {
  it('that is sealed to another key server', async () => {
    const other = xwingKeyPair(randomBytes(32)).publicKey;
    const bytes = await sealBundle(publisher, other, { ...ORIGINS, content: 'https://cdn.example' });
    await expectRefused(bytes, 'bundle-recipient');
  });

  it('whose descriptor is by another key, expired, or names other origins', async () => {
    const stranger = await createPublisher();
    const foreign = toBase64url(descriptor(stranger, { ...ORIGINS, content: 'https://cdn.example' }));
    await expectRefused(await seal({ bundle: { descriptor: foreign } }), 'bundle-foreign');
    await expectRefused(await seal({ expires: 1000 }), 'descriptor-expired');
    await expectRefused(await seal({ keyServer: 'https://keys.elsewhere.example' }), 'bundle-foreign');
    await expectRefused(await seal({ reading: 'https://read.elsewhere.example' }), 'bundle-foreign');
  });

  it('whose root is not the one that its descriptor names', async () => {
    const root = toBase64url((await createPublisher()).root.bytes);
    await expectRefused(await seal({ bundle: { root } }), 'bundle-foreign');
  });
});
