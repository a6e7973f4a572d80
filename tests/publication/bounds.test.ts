/** Bounds and small checks of the reading side, each of which nothing else would miss if it were gone. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { isoTime, parseRoot, parseTargets } from '../../core/publication/metadata.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { verifyFirstRoot, verifyNextRoot, verifyOwnTimestamp } from '../../core/publication/verify-roles.ts';
import { binMetadata, ROLE_VALIDITY, signMetadata } from '../../core/publication/writer.ts';
import { READER_OPTIONS } from '../../publisher/keys/roots.ts';
import { clientOf, MemoryStore, readerOf } from '../support/publication-source.ts';
import { TEST_SETTINGS, TestPublication } from '../support/test-publication.ts';
import { DAY, HOUR, LATER, NOW, PAGE, readSite, SET, TIMESTAMP_PATH } from './reading.ts';

/** `signed` of a metadata file, to be changed. */
function signedOf(bytes: Uint8Array): { [member: string]: TufObject } {
  return (JSON.parse(new TextDecoder().decode(bytes)) as { signed: { [member: string]: TufObject } }).signed;
}

/** Puts a section in front of `documents` that delegates to roles, each for everything below x/, and none of them the last word. */
async function delegate(
  publication: TestPublication,
  roles: ReadonlyMap<string, [string, TufObject][]>,
): Promise<void> {
  const { signers } = publication.roles.targets;
  publication.version++;
  const about = { version: publication.version, expires: NOW + ROLE_VALIDITY.targets };
  for (const [name, targets] of roles)
    await publication.force(name, about.version, signMetadata(binMetadata(about, targets), signers));
  const signed = (await publication.targets(NOW)) as unknown as {
    delegations: { keys: TufObject; roles: TufObject[] };
  };
  const { keys, roles: known } = signed.delegations;
  const { keyids = [], threshold = 1 } = known.at(-1) ?? {};
  const delegation = (name: string) => ({ name, keyids, threshold, terminating: false, paths: ['x/*'] });
  const below = { ...binMetadata(about, []), delegations: { keys, roles: [...roles.keys()].map(delegation) } };
  await publication.force('x', about.version, signMetadata(below as unknown as TufObject, signers));
  const content = { ...signed, delegations: { keys, roles: [delegation('x'), ...known] } } as unknown as TufObject;
  await publication.force('targets', about.version, signMetadata(content, signers));
  await publication.publishSnapshot(LATER);
}

const DOCUMENT = { custom: { wispr: { set: SET } }, hashes: { sha256: 'ab'.repeat(32) }, length: 1 };

describe('what is asked for one target', () => {
  it('is at most 32 roles (5.6.7.1)', async () => {
    const roles = new Map<string, [string, TufObject][]>();
    for (let n = 1; n <= PUBLICATION_LIMITS.delegations; n++) roles.set(`r${n}`, []); // the role x is above
    roles.set('r31', [['x/in.html.protected', DOCUMENT]]);
    roles.set('r32', [['x/out.html.protected', DOCUMENT]]);
    const { publication } = await readSite();
    await delegate(publication, roles);
    const { client, source } = clientOf(publication);
    await client.refresh(LATER);
    expect(await client.target('x/in.html.protected', LATER)).toBeDefined();
    expect(await client.target('x/out.html.protected', LATER)).toBeUndefined();
    expect(source.requests.filter((path) => path.includes('.r32.'))).toEqual([]);
  });

  it('stays in memory as long as there is room, and is read again after that', async () => {
    const large = { hashes: { sha256: 'ab'.repeat(32) }, length: 1, custom: { filling: 'x'.repeat(3_900_000) } };
    const roles = new Map<string, [string, TufObject][]>();
    for (let n = 1; n <= 5; n++) roles.set(`r${n}`, [['y/large', large]]);
    const { publication } = await readSite();
    await delegate(publication, roles);
    const store = new CountingStore();
    const { client } = clientOf(publication, store);
    await client.refresh(LATER);
    const readsAfter = async () => {
      store.reads.clear();
      await client.target('x/none.html.protected', LATER);
      return [...store.reads];
    };
    await readsAfter();
    // The five roles each take the place of the one that is needed next.
    const again = await readsAfter();
    expect(again.filter((name) => /r\d$/.test(name))).toHaveLength(5);
  });
});

class CountingStore extends MemoryStore {
  readonly reads = new Set<string>();

  override async read(name: string): Promise<Uint8Array | undefined> {
    this.reads.add(name);
    return super.read(name);
  }
}

it('attack 30: a timestamp that has expired for good is not taken, whatever its version, and does not push out a good one', async () => {
  const { publication, site, source } = await readSite();
  const late = LATER + 30 * DAY;
  await publication.publishTimestamp(late - HOUR);
  const good = publication.files.get(TIMESTAMP_PATH);
  await publication.publishTimestamp(late - 60, { expires: late - 8 * DAY - PUBLICATION_LIMITS.grace });
  const expired = publication.files.get(TIMESTAMP_PATH);
  source.keyServers.push(async () => expired);
  publication.files.set(TIMESTAMP_PATH, good as Uint8Array);
  await site.refresh(late);
  expect(site.freshness(late).confirmed).toBe(late - HOUR);
});

it('every verifier refuses an over-long file before it checks signatures', async () => {
  const publication = await TestPublication.create(NOW);
  const { signers } = publication.roles.root;
  const first = signedOf(publication.firstRoot);
  const filling = 'x'.repeat(PUBLICATION_LIMITS.rootLength) as never;
  const long = signMetadata({ ...first, filling } as TufObject, signers);
  const next = signMetadata({ ...first, version: 2, filling } as unknown as TufObject, signers);
  const root = await verifyFirstRoot(publication.firstRoot, READER_OPTIONS);
  const tooLarge = expect.objectContaining({ code: 'metadata-too-large' });
  await expect(verifyFirstRoot(long, READER_OPTIONS)).rejects.toThrow(tooLarge);
  await expect(verifyNextRoot(next, root, READER_OPTIONS)).rejects.toThrow(tooLarge);
  await publication.addEncrypted(PAGE, SET, utf8('head'));
  await publication.publish(NOW);
  const timestamp = signedOf(publication.files.get(TIMESTAMP_PATH) ?? new Uint8Array());
  const bytes = signMetadata({ ...timestamp, filling } as TufObject, publication.roles.timestamp.signers);
  await expect(verifyOwnTimestamp(bytes, root, READER_OPTIONS)).rejects.toThrow(tooLarge);
});

describe('attack 80: at each look-up, without a refresh', () => {
  it('a snapshot that has expired by itself', async () => {
    const { publication } = await readSite();
    const [bytes, { signers }] = [publication.metadata('snapshot', 1), publication.roles.snapshot];
    const shorter = { ...signedOf(bytes), expires: isoTime(LATER) } as unknown as TufObject;
    publication.files.set(`${METADATA_PATH}1.snapshot.json`, signMetadata(shorter, signers));
    await publication.publishTimestamp(NOW + 1);
    await expectExpiry(publication, 'snapshot');
  });

  it('targets that have expired by themselves', async () => {
    const { publication } = await readSite();
    const shorter = { ...(await publication.targets(NOW)), expires: isoTime(LATER), version: 2 } as TufObject;
    publication.version = 2;
    await publication.force('targets', 2, signMetadata(shorter, publication.roles.targets.signers));
    await publication.publishSnapshot(NOW + 1);
    await expectExpiry(publication, 'targets');
  });

  async function expectExpiry(publication: TestPublication, role: string): Promise<void> {
    const { site } = readerOf(publication);
    await site.refresh(NOW + 2);
    expect(await site.document(PAGE, LATER - 1)).toBeDefined();
    await expect(site.document(PAGE, LATER)).rejects.toMatchObject({
      code: 'metadata-expired',
      message: expect.stringMatching(new RegExp(`^${role} `)),
    });
  }
});

describe('names and keys of roles', () => {
  it('attack 34: a role that names one key id twice is malformed', async () => {
    const { firstRoot } = await TestPublication.create(NOW);
    const signed = signedOf(firstRoot) as unknown as { roles: { timestamp: { keyids: string[] } } };
    expect(parseRoot(signed as never).roles.timestamp.keyids).toHaveLength(1);
    const { timestamp } = signed.roles;
    timestamp.keyids = [...timestamp.keyids, ...timestamp.keyids];
    expect(() => parseRoot(signed as never)).toThrow(expect.objectContaining({ code: 'metadata-malformed' }));
  });

  it.each(['wispr:settings', 'x wispr:', 'root', 'timestamp', 'snapshot', 'targets', ''])(
    'neither a role nor bins can be called %j: other files are kept under these names',
    (name) => {
      const about = { _type: 'targets', expires: isoTime(LATER), spec_version: '1.0.31', targets: {}, version: 1 };
      const keys = { keyids: ['k'], threshold: 1 };
      const bins = (prefix: string) => ({ keys: {}, succinct_roles: { ...keys, bit_length: 1, name_prefix: prefix } });
      const role = (text: string) => ({ keys: {}, roles: [{ ...keys, name: text, terminating: true, paths: ['*'] }] });
      for (const delegations of [bins, role]) {
        expect(() => parseTargets({ ...about, delegations: delegations('good') }, 'targets')).not.toThrow();
        expect(() => parseTargets({ ...about, delegations: delegations(name) }, 'targets')).toThrow(
          expect.objectContaining({ code: 'metadata-malformed' }),
        );
      }
    },
  );
});

it('site settings that were kept and altered are not used, and nothing is answered without them; the next check fetches them again', async () => {
  const redirects = [{ from: '/old', status: 301 as const, to: PAGE }];
  const { publication, store } = await readSite(async (made) => made.setSettings({ ...TEST_SETTINGS, redirects }));
  const [name, bytes] = [...store.kept].find(([key]) => key.endsWith('wispr:settings')) ?? ['', new Uint8Array()];
  const text = Buffer.from(bytes).toString('latin1').replaceAll(PAGE, '/news/other.html');
  store.kept.set(name, Buffer.from(text, 'latin1'));
  const { site } = readerOf(publication, store);
  await site.load();
  await expect(site.resolve('/old', NOW)).rejects.toMatchObject({ code: 'metadata-missing' });
  await expect(site.resolve('/none', NOW)).rejects.toMatchObject({ code: 'metadata-missing' });
  await site.refresh(NOW);
  expect(await site.resolve('/old', NOW)).toEqual({ kind: 'redirect', status: 301, location: PAGE });
});
