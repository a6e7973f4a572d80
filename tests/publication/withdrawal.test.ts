/** Withdrawals: docs/spec/publication.md, section 7. */
import { describe, expect, it } from 'vitest';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import type { SitePublication } from '../../core/publication/site-publication.ts';
import { parseWithdrawals } from '../../core/publication/withdrawals.ts';
import { factsOf, signMetadata, timestampMetadata } from '../../core/publication/writer.ts';
import { readerOf } from '../support/publication-source.ts';
import { keyRing, type RoleKeyRing, type TestPublication } from '../support/test-publication.ts';
import { DAY, HOUR, LATER, NOW, PAGE, publishMore, readSite, TIMESTAMP_PATH } from './reading.ts';

const CODE = 'publication-withdrawn';
const versions = (first: number, count = 64) => Array.from({ length: count }, (_, index) => first + index);

describe('a withdrawn publication', () => {
  it('is remembered by each of two readers that share a store', async () => {
    const { publication, site, store } = await readSite();
    await publishMore(publication, LATER);
    const other = readerOf(publication, store).site;
    await other.refresh(LATER);
    await publication.publishTimestamp(LATER + 1, { withdrawn: [1] });
    await site.refresh(LATER + 1);
    await publication.publishTimestamp(LATER + 2, { withdrawn: [2] });
    await other.refresh(LATER + 2);
    for (const [name, kept] of store.kept)
      if (name.endsWith('withdrawn')) expect(parseWithdrawals(kept)).toMatchObject([{ versions: [1, 2] }]);
  });

  it('is one that there is: nobody withdraws what is still to come', async () => {
    const { publication, site } = await readSite();
    const toCome = Array.from({ length: 64 }, (_, index) => publication.version + 1 + index);
    await publication.publishTimestamp(LATER, { withdrawn: toCome });
    await site.refresh(LATER);
    await publishMore(publication, LATER + 1);
    await site.refresh(LATER + 1);
    expect(site.freshness(LATER + 1).version).toBe(2);
  });

  it('is refused from the next check on, for good, until there is a newer one', async () => {
    const { publication, site, store } = await readSite();
    await publication.publishTimestamp(LATER, { withdrawn: [1] });
    await site.refresh(LATER);
    const code = 'publication-withdrawn';
    await expect(site.document(PAGE, LATER)).rejects.toMatchObject({ code });
    await publication.publishTimestamp(LATER + HOUR); // that says nothing of it any more
    await site.refresh(LATER + HOUR);
    await expect(site.document(PAGE, LATER + HOUR)).rejects.toMatchObject({ code });
    const restarted = readerOf(publication, store).site;
    await restarted.load();
    expect(() => restarted.freshness(LATER + HOUR)).toThrow(expect.objectContaining({ code }));
    await publishMore(publication, LATER + DAY);
    await restarted.refresh(LATER + DAY);
    expect(restarted.freshness(LATER + DAY).version).toBe(2);
  });

  it('does not keep the next one from being found where the key server has not heard of it', async () => {
    const { publication, site, source } = await readSite();
    await publication.publishTimestamp(LATER, { withdrawn: [1] });
    const byKeyServer = publication.files.get(TIMESTAMP_PATH);
    source.keyServers.push(async () => byKeyServer);
    await site.refresh(LATER);
    expect(() => site.freshness(LATER)).toThrow(expect.objectContaining({ code: CODE }));
    await publishMore(publication, LATER + 1);
    await site.refresh(LATER + 1);
    expect(site.freshness(LATER + 1).version).toBe(2);
  });

  it('is refused also where the new one does not arrive whole', async () => {
    const { publication, site, source } = await readSite();
    await publishMore(publication, LATER);
    await publication.publishTimestamp(LATER + 1, { withdrawn: [1] });
    source.instead.set('/.well-known/wispr/2.snapshot.json', () => undefined);
    await expect(site.refresh(LATER + 1)).rejects.toMatchObject({ code: 'metadata-missing' });
    await expect(site.document(PAGE, LATER + 1)).rejects.toMatchObject({ code: 'publication-withdrawn' });
  });
});

/** What somebody with the timestamp key can put on the host: a publication that nobody has made, and withdrawals of all up to it. */
function claim(
  publication: TestPublication,
  signed: number,
  withdrawn: readonly number[],
  { signers }: RoleKeyRing,
): void {
  const snapshot = { version: 1_000_000, length: 1000, sha256: 'ab'.repeat(32) };
  const claimed = timestampMetadata({ version: signed, expires: signed + HOUR }, snapshot, withdrawn);
  publication.files.set(TIMESTAMP_PATH, signMetadata(claimed, signers));
}

describe('whoever has the timestamp key', () => {
  it('withdraws nothing that is still to come by naming a publication that is not', async () => {
    const { publication, site } = await readSite();
    for (let turn = 0; turn < 16; turn++) {
      claim(publication, LATER + turn, versions(2 + 64 * turn), publication.roles.timestamp);
      await expect(site.refresh(LATER + turn)).rejects.toMatchObject({ code: 'metadata-missing' });
    }
    expect(site.freshness(LATER).version).toBe(1);
    await publication.rotate('timestamp', LATER + 30);
    await publication.rotate('snapshot', LATER + 30);
    publication.timestampVersion = LATER + 30;
    for (const now of [LATER + 40, LATER + 41]) {
      await publishMore(publication, now);
      await site.refresh(now);
      expect(site.freshness(now).version).toBe(publication.version);
    }
  });

  it('nor leads a new start to believe it', async () => {
    const { publication, site, store } = await readSite();
    claim(publication, LATER, versions(1), publication.roles.timestamp);
    await expect(site.refresh(LATER)).rejects.toMatchObject({ code: 'metadata-missing' });
    const restarted = readerOf(publication, store).site;
    await restarted.load();
    expect(() => restarted.freshness(LATER)).toThrow(expect.objectContaining({ code: CODE }));
    await publication.rotate('timestamp', LATER + 1);
    await publication.rotate('snapshot', LATER + 1);
    await publishMore(publication, LATER + 2);
    await restarted.refresh(LATER + 2);
    expect(restarted.freshness(LATER + 2).version).toBe(2);
  });

  it('withdraws what is to come once it is there, for as long as the newest timestamp says so', async () => {
    const { publication, site, source } = await readSite();
    await publication.publish(LATER, { withdrawn: [2] });
    source.instead.set(`${METADATA_PATH}2.snapshot.json`, () => undefined);
    await expect(site.refresh(LATER)).rejects.toMatchObject({ code: 'metadata-missing' });
    expect(site.freshness(LATER).version).toBe(1);
    source.instead.clear();
    await site.refresh(LATER + 1);
    await expect(site.document(PAGE, LATER + 1)).rejects.toMatchObject({ code: CODE });
  });

  it('and the snapshot key: withdraws much, until new keys end it', async () => {
    const { publication, site, store } = await readSite();
    const { timestamp } = publication.roles;
    publication.version = 500;
    await publication.publishSnapshot(LATER, { withdrawn: versions(1) });
    await site.refresh(LATER);
    const claims = timestampMetadata(
      { version: LATER + 2, expires: LATER + HOUR },
      await factsOf(500, publication.metadata('snapshot', 500)),
      versions(300),
    );
    publication.files.set(TIMESTAMP_PATH, signMetadata(claims, timestamp.signers));
    await site.refresh(LATER + 2);
    const beside = readerOf(publication, store).site;
    await beside.load();
    await publication.rotate('timestamp', LATER + 3);
    await publication.rotate('snapshot', LATER + 3);
    publication.version = 1;
    await publication.publish(LATER + 4, { withdrawn: [1] });
    for (const reader of [site, beside]) {
      await reader.refresh(LATER + 4);
      expect(reader.freshness(LATER + 4).version).toBe(2);
    }
    for (const [name, kept] of store.kept)
      if (name.endsWith('withdrawn')) expect(parseWithdrawals(kept)).toMatchObject([{ versions: [1] }]);
  });
});

describe('what was withdrawn', () => {
  /** Publication 1, confirmed and then withdrawn by some of two timestamp keys; root 2 takes one away. */
  async function withdrawnBy(...who: readonly ('stays' | 'goes')[]) {
    const keys = await keyRing(2, 1);
    const read = await readSite(async (publication) => publication.rotate('timestamp', NOW, keys));
    const { publication, site } = read;
    const [stays, goes] = keys.signers as [RoleSigner, RoleSigner];
    const signers = who.map((one) => (one === 'stays' ? stays : goes));
    await publication.publishTimestamp(LATER - 1, { signers });
    const before = publication.files.get(TIMESTAMP_PATH) as Uint8Array;
    await site.refresh(LATER - 1);
    await publication.publishTimestamp(LATER, { signers, withdrawn: [1] });
    await site.refresh(LATER);
    await expect(site.document(PAGE, LATER)).rejects.toMatchObject({ code: CODE });
    await publication.rotate('timestamp', LATER + 1, { signers: [stays], threshold: 1 });
    return { ...read, before };
  }

  /** How these find the page: `undefined` where they show it. */
  const outcomes = (...readers: readonly SitePublication[]) =>
    Promise.all(
      readers.map(async (reader) =>
        reader.document(PAGE, LATER + 2).then(
          () => undefined,
          (error: { code: string }) => error.code,
        ),
      ),
    );

  it('stays so after new keys, until they have signed a timestamp', async () => {
    const { publication, site, store } = await withdrawnBy('stays', 'goes');
    const beside = readerOf(publication, store).site;
    await beside.load();
    publication.files.delete(TIMESTAMP_PATH);
    await expect(site.refresh(LATER + 2)).rejects.toMatchObject({ code: 'metadata-missing' });
    expect(site.state?.snapshot.version).toBe(1);
    const restarted = readerOf(publication, store).site;
    await restarted.load();
    await beside.reload();
    expect(await outcomes(site, restarted, beside)).toEqual([CODE, CODE, CODE]);
  });

  it.each([
    [[1], CODE],
    [[], undefined],
  ])(
    'by a key that was taken away stays so if the first timestamp of the others repeats it: %j',
    async (again, code) => {
      const { publication, site, store } = await withdrawnBy('goes');
      await publication.publishTimestamp(LATER + 2, { withdrawn: again });
      await site.refresh(LATER + 2);
      const restarted = readerOf(publication, store).site;
      await restarted.load();
      expect(await outcomes(site, restarted)).toEqual([code, code]);
    },
  );

  it.each([
    ['the one that stays first', ['stays', 'goes']],
    ['the one that goes first', ['goes', 'stays']],
  ] as const)(
    'by two keys where one would do stays so without either, in whichever order they signed: %s',
    async (_, signers) => {
      const { publication, site, store } = await withdrawnBy(...signers);
      await publication.publishTimestamp(LATER + 2);
      await site.refresh(LATER + 2);
      const restarted = readerOf(publication, store).site;
      await restarted.load();
      expect(await outcomes(site, restarted)).toEqual([CODE, CODE]);
    },
  );

  it('is remembered the same, in whichever order a host has the signatures', async () => {
    const keys = await keyRing(2, 1);
    const first = await readSite(async (publication) => publication.rotate('timestamp', NOW, keys));
    const second = readerOf(first.publication);
    for (const [{ site }, signers] of [
      [first, keys.signers],
      [second, keys.signers.toReversed()],
    ] as const) {
      await first.publication.publishTimestamp(LATER, { version: LATER, signers, withdrawn: [1] });
      await site.refresh(LATER);
    }
    const [one, other] = [first, second].map(({ store }) =>
      [...store.kept].find(([name]) => name.endsWith('withdrawn')),
    );
    expect(one?.[1].length).toBeGreaterThan(0);
    expect(other).toEqual(one);
  });

  it('by one key is not pushed out by whoever stole others, however they are combined', async () => {
    const keys = await keyRing(6, 1);
    const { publication, site, store } = await readSite(async (made) => made.rotate('timestamp', NOW, keys));
    await publishMore(publication, LATER);
    const stolen = keys.signers.slice(1);
    let now = LATER;
    const sign = async (signers: readonly RoleSigner[], withdrawn: readonly number[]) => {
      await publication.publishTimestamp(++now, { signers, withdrawn });
      await site.refresh(now);
    };
    const combine = async () => {
      for (let bits = 1; bits < 2 ** stolen.length; bits++)
        await sign(
          stolen.filter((_, index) => (bits >> index) & 1),
          [1],
        );
    };
    await combine();
    expect(await outcomes(site)).toEqual([undefined]);
    await sign(keys.signers.slice(0, 1), [2]);
    expect(await outcomes(site)).toEqual([CODE]);
    await combine();
    const restarted = readerOf(publication, store).site;
    await restarted.load();
    expect(await outcomes(site, restarted)).toEqual([CODE, CODE]);
  });

  it('is learnt from a reader with the same store, also where the newest timestamp says nothing of it any more', async () => {
    const { publication, site, store } = await readSite();
    const beside = readerOf(publication, store).site;
    await beside.load();
    await publication.publishTimestamp(LATER, { withdrawn: [1] });
    await site.refresh(LATER);
    await publication.publishTimestamp(LATER + 1);
    await site.refresh(LATER + 1);
    expect(await outcomes(beside)).toEqual([undefined]);
    await beside.reload();
    expect(await outcomes(beside)).toEqual([CODE]);
  });

  it('by a key that stays is not taken back by what that key signed before', async () => {
    const { publication, site, store, before } = await withdrawnBy('stays');
    publication.files.set(TIMESTAMP_PATH, before);
    await site.refresh(LATER + 2);
    const restarted = readerOf(publication, store).site;
    await restarted.load();
    expect(await outcomes(site, restarted)).toEqual([CODE, CODE]);
  });

  it('stays so where a root only adds a key, or takes one from another role', async () => {
    const { publication, site } = await readSite();
    await publication.publishTimestamp(LATER, { withdrawn: [1] });
    await site.refresh(LATER);
    const more = await keyRing();
    const { timestamp } = publication.roles;
    await publication.rotate('timestamp', LATER, { signers: [...timestamp.signers, ...more.signers], threshold: 1 });
    await publication.rotate('root', LATER);
    await publication.publishTimestamp(LATER + 1);
    await site.refresh(LATER + 1);
    await expect(site.document(PAGE, LATER + 1)).rejects.toMatchObject({ code: CODE });
  });
});
