/** Attacks by the numbers of docs/threat-model.md, on core/publication alone: what is signed well, for something else. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { METADATA_PATH, SETTINGS_TARGET, targetUrlPath } from '../../core/publication/names.ts';
import { signMetadata } from '../../core/publication/writer.ts';
import { TEST_SETTINGS, type TestPublication } from '../support/test-publication.ts';
import { expectRefused, LATER, publishMore, readSite, TIMESTAMP_PATH } from './reading.ts';

/** A metadata file of the publication, changed and signed again by its own role. */
function resign(
  publication: TestPublication,
  path: string,
  role: 'root' | 'timestamp' | 'snapshot',
  change: (signed: { readonly meta: Readonly<Record<string, object>> }) => object,
): Uint8Array {
  const { signed } = JSON.parse(Buffer.from(publication.files.get(path) ?? []).toString());
  const bytes = signMetadata(change(signed) as never, publication.roles[role].signers);
  publication.files.set(path, bytes);
  return bytes;
}

describe('what is signed well, for something else', () => {
  it.each([
    ['timestamp', 'snapshot'],
    ['snapshot', 'timestamp'],
    ['targets', 'timestamp'],
    ['targets', 'snapshot'],
  ] as const)('attack 27: %s signed by the key of another role, %s, which the root names too', async (role, other) => {
    const site = await readSite();
    const { publication } = site;
    publication.roles[role] = publication.roles[other];
    publication.signAllAnew();
    await publishMore(publication, LATER);
    await expectRefused(site, 'metadata-signature', LATER);
  });

  it('attack 27: a root signed by the key of another role', async () => {
    const site = await readSite();
    await site.publication.publishRoot(LATER, site.publication.roles.targets.signers);
    await expectRefused(site, 'metadata-signature', LATER);
  });

  it('attack 27: metadata of one role in the place of another, under a key that may sign both', async () => {
    const site = await readSite(async (publication) => {
      publication.roles.snapshot = publication.roles.timestamp;
      await publication.rotate('snapshot', LATER, publication.roles.timestamp);
    });
    await site.publication.publishTimestamp(LATER);
    resign(site.publication, TIMESTAMP_PATH, 'timestamp', (signed) => ({ ...signed, _type: 'snapshot' }));
    await expectRefused(site, 'metadata-malformed', LATER);
  });

  it('attack 29: other site settings of the same length', async () => {
    const site = await readSite();
    const { publication } = site;
    publication.setSettings({ ...TEST_SETTINGS, grace: TEST_SETTINGS.grace + 1 });
    await publishMore(publication, LATER);
    const { signed } = JSON.parse(Buffer.from(publication.metadata('targets', 2)).toString());
    const { length, hashes } = signed.targets[SETTINGS_TARGET];
    const path = targetUrlPath(SETTINGS_TARGET, hashes.sha256);
    const good = publication.files.get(path) ?? new Uint8Array(0);
    publication.files.set(path, utf8(Buffer.from(good).toString().replace('"no"', '"ok"')));
    expect(publication.files.get(path)).toHaveLength(length);
    await expectRefused(site, 'metadata-mismatch', LATER);
  });

  it('attack 32: a root that does not promise that files keep their names', async () => {
    const site = await readSite();
    await site.publication.publishRoot(LATER);
    resign(site.publication, `${METADATA_PATH}2.root.json`, 'root', (signed) => ({
      ...signed,
      consistent_snapshot: false,
    }));
    await expectRefused(site, 'metadata-malformed', LATER);
  });

  it.each(['length', 'hashes'])('attack 32: metadata that do not say the %s of what they name', async (member) => {
    const without = (entry: object = {}) => ({ ...entry, [member]: undefined });
    const site = await readSite();
    await site.publication.publishTimestamp(LATER);
    resign(site.publication, TIMESTAMP_PATH, 'timestamp', ({ meta, ...signed }) => ({
      ...signed,
      meta: JSON.parse(JSON.stringify({ 'snapshot.json': without(meta['snapshot.json']) })),
    }));
    await expectRefused(site, 'metadata-mismatch', LATER);
    const other = await readSite();
    const { publication } = other;
    await publishMore(publication, LATER);
    resign(publication, `${METADATA_PATH}2.snapshot.json`, 'snapshot', ({ meta, ...signed }) => ({
      ...signed,
      meta: JSON.parse(JSON.stringify({ ...meta, 'targets.json': without(meta['targets.json']) })),
    }));
    await publication.publishTimestamp(LATER + 1);
    await expectRefused(other, 'metadata-mismatch', LATER + 1);
  });
});
