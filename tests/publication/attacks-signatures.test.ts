/** Attacks by the numbers of docs/threat-model.md, on core/publication alone: metadata whose signatures are wrong. */
import { describe, expect, it } from 'vitest';
import { fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { binMetadata, ROLE_VALIDITY, signMetadata } from '../../core/publication/writer.ts';
import { readerOf } from '../support/publication-source.ts';
import { keyRing, TestPublication } from '../support/test-publication.ts';
import { expectRefused, fileOf, LATER, NOW, PAGE, publishMore, readSite, SET, tamper } from './reading.ts';

describe('metadata without signatures, or signed by other keys', () => {
  it.each(['timestamp', 'snapshot', 'targets'])('attack 27: %s without, or with a wrong signature', async (role) => {
    const site = await readSite();
    site.publication.wholeFiles.set('.well-known/other', utf8('so that targets change'));
    await publishMore(site.publication, LATER);
    const stranger = await keyRing();
    const { signed } = JSON.parse(
      new TextDecoder().decode(site.publication.files.get(METADATA_PATH + fileOf(role, 2))),
    ) as { signed: never };
    const code = role === 'timestamp' ? 'metadata-signature' : 'metadata-mismatch';
    for (const signers of [[], stranger.signers]) {
      tamper(site.publication, fileOf(role, 2), () => signMetadata(signed, signers));
      await expectRefused(site, code, LATER);
    }
  });

  it.each(['timestamp', 'snapshot', 'targets'] as const)(
    'attack 27: %s signed by a stranger, by an id of their own or that of the right key, and named by those above',
    async (role) => {
      for (const pretends of [false, true]) {
        const site = await readSite();
        const { roles, wholeFiles } = site.publication;
        const [{ signers }, right] = [await keyRing(), roles[role].signers[0]?.keyid ?? '']; // roots do not name the stranger
        roles[role] = { threshold: 1, signers: signers.map((one) => (pretends ? { ...one, keyid: right } : one)) };
        wholeFiles.set('.well-known/other', utf8('so that targets change'));
        await publishMore(site.publication, LATER);
        await expectRefused(site, 'metadata-signature', LATER);
      }
    },
  );

  it.each(['documents', 'documents-0', 'documents-1'])('attack 27: %s signed by a stranger', async (role) => {
    const site = await readSite();
    const { publication } = site;
    const version = publication.version + 1;
    const about = { version, expires: NOW + ROLE_VALIDITY.targets };
    await publication.force(role, version, signMetadata(binMetadata(about, []), (await keyRing()).signers));
    await publication.publishSnapshot(LATER);
    await site.site.refresh(LATER);
    // Documents of the forged role are refused; documents elsewhere are found as ever.
    const answers = await Promise.allSettled([1, 2, 3, 4, 5, 6].map((n) => site.site.document(`/${n}`, LATER)));
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'metadata-signature' });
  });

  it('attack 34: one signature counts once, however often it is there and under however many ids', async () => {
    const roles = { timestamp: await keyRing(2, 2) };
    const publication = await TestPublication.create(NOW, roles);
    await publication.addEncrypted(PAGE, SET, utf8('head'));
    await publication.publish(NOW);
    const { site } = readerOf(publication);
    await site.refresh(NOW);
    const [first] = roles.timestamp.signers;
    if (first === undefined) throw new Error('no signer');
    await publication.publishTimestamp(LATER, { signers: [first] });
    await expect(site.refresh(LATER)).rejects.toMatchObject({ code: 'metadata-signature' });
    await publication.publishTimestamp(LATER, { signers: [first, first] });
    await expect(site.refresh(LATER)).rejects.toMatchObject({ code: 'metadata-malformed' });
    await publication.publishTimestamp(LATER, { signers: [first, { ...first, keyid: 'ab'.repeat(32) }] });
    await expect(site.refresh(LATER)).rejects.toMatchObject({ code: 'metadata-signature' });
    expect(site.freshness(LATER).confirmed).toBe(NOW);
    await publication.publishTimestamp(LATER);
    await site.refresh(LATER);
    expect(site.freshness(LATER).confirmed).toBe(publication.timestampVersion);
  });

  it('attack 34, attack 108: one key that the root lists under two ids counts once', async () => {
    const { publication, site } = await readSite();
    const [signer] = publication.roles.timestamp.signers;
    if (signer === undefined) throw new Error('no signer');
    const alias = { ...signer, keyid: 'ab'.repeat(32) };
    const { signed } = JSON.parse(fromUtf8(publication.metadata('root', 1)) ?? '');
    signed.version = 2;
    signed.keys[alias.keyid] = signed.keys[signer.keyid];
    signed.roles.timestamp = { keyids: [signer.keyid, alias.keyid], threshold: 2 };
    publication.files.set(`${METADATA_PATH}2.root.json`, signMetadata(signed, publication.roles.root.signers));
    await publication.publishTimestamp(LATER, { signers: [signer, alias] });
    await expect(site.refresh(LATER)).rejects.toMatchObject({ code: 'metadata-signature' });
  });

  it('attack 35: a bad signature beside enough good ones', async () => {
    const { publication, site } = await readSite();
    const [good] = publication.roles.timestamp.signers;
    const [stranger] = (await keyRing()).signers;
    if (!good || !stranger) throw new Error('no signers');
    const [other] = (await keyRing()).signers;
    await publication.publishTimestamp(LATER, {
      signers: [{ ...stranger, keyid: 'cd'.repeat(32) }, good, other ?? good],
    });
    await site.refresh(LATER);
    expect(site.freshness(LATER).confirmed).toBe(LATER);
  });

  it('attack 36: a root that only its own new keys, or only the old ones, have signed', async () => {
    for (const which of ['new', 'old'] as const) {
      const site = await readSite();
      const { publication } = site;
      const before = publication.roles.root.signers;
      publication.roles.root = await keyRing();
      await publication.publishRoot(LATER, which === 'new' ? publication.roles.root.signers : before);
      await expectRefused(site, 'metadata-signature', LATER);
    }
    const { publication, site } = await readSite();
    await publication.rotate('root', LATER);
    await publication.rotate('timestamp', LATER);
    await publication.publish(LATER);
    await site.refresh(LATER);
    expect(site.state?.root.version).toBe(3);
    expect(await site.document(PAGE, LATER)).toMatchObject({ set: SET });
  });
});
