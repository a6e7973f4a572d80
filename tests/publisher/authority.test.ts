/** Contract of both authorities: the publisher's own machine, and a real key server. */
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { hexDigest } from '../../core/encoding/digest.ts';
import { closingSnapshotMetadata, signMetadata, snapshotMetadata } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { readTimestamp, verifiedTimestamp } from '../../publisher/authority/authority.ts';
import { TIMESTAMP_PATH } from '../../publisher/publication/files.ts';
import { type SignedSnapshot, signedSnapshot } from '../../publisher/publication/signed.ts';
import { handOverBundle } from '../../publisher/publish/publish.ts';
import type { Site } from '../../publisher/publish/site.ts';
import { readPublished } from '../support/published.ts';
import { Publishing } from '../support/publishing.ts';
import { type PublishingKeyServer, startPublishingKeyServer } from '../support/publishing-key-server.ts';
import { runWispr } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, SITE, type TestWorkspace } from '../support/workspace.ts';

let made: TestWorkspace;
let the: Publishing;
let keyServer: PublishingKeyServer;

beforeEach(async () => {
  keyServer = await startPublishingKeyServer();
});
afterEach(async () => {
  await made.remove();
  await keyServer.close();
});

/** @param mark - tells two snapshots of one version apart */
async function snapshotOf({ store, roots }: Site, version: number, mark = 'x'): Promise<SignedSnapshot> {
  const about = { version, expires: 4_102_444_800 };
  const file = { version: 1, length: 1, sha256: await hexDigest(Buffer.from(mark)) };
  const content = snapshotMetadata(about, [['targets', file]]);
  return (await signedSnapshot(signMetadata(content, [store.signers.snapshot]), roots)) as SignedSnapshot;
}

async function closing({ store, roots }: Site, version: number, before: SignedSnapshot): Promise<SignedSnapshot> {
  const content = closingSnapshotMetadata({ version, expires: 4_102_444_800 }, before.snapshot.roles);
  return (await signedSnapshot(signMetadata(content, [store.signers.snapshot]), roots)) as SignedSnapshot;
}

const versionIn = (bytes: Uint8Array | undefined) => bytes && readTimestamp(bytes).timestamp.snapshot.version;

describe.each(['publisher', 'key server'] as const)('the authority is the %s', (which) => {
  beforeEach(async () => {
    const settings = which === 'key server' ? keyServer.settings : { timestampBy: 'publisher' as const };
    made = await createWorkspace({ 'a.html': '<p>1' }, { publish: 'web', ...settings });
    the = new Publishing(made);
    if (which === 'key server') {
      await keyServer.giveKeyTo(made);
      the.changes = { token: keyServer.token };
    }
    await made.protect();
    await the.on(handOverBundle);
  });

  it('names what it has confirmed last, also to the next run, and confirms the same again, never with an earlier timestamp', async () => {
    const first = await the.on(async (site) => {
      expect(await site.authority.current()).toBeUndefined();
      const bytes = await site.authority.confirm(await snapshotOf(site, 7));
      expect(await verifiedTimestamp(bytes, site.roots)).toMatchObject({ timestamp: { snapshot: { version: 7 } } });
      return readTimestamp(bytes).timestamp;
    });
    await the.on(async (site) => {
      expect(versionIn((await site.authority.current())?.bytes)).toBe(7);
      const again = readTimestamp(await site.authority.confirm(await snapshotOf(site, 7))).timestamp;
      expect(again.snapshot).toEqual(first.snapshot);
      expect(again.version).toBeGreaterThanOrEqual(first.version);
    });
  });

  it('refuses what is older, and another publication of its number; a closing one ends with a higher one alone', async () => {
    await the.on(async (site) => {
      const open = await snapshotOf(site, 7);
      await site.authority.confirm(open);
      await expect(site.authority.confirm(await snapshotOf(site, 6))).rejects.toMatchObject({
        code: 'publication-older',
      });
      await expect(site.authority.confirm(await snapshotOf(site, 7, 'other'))).rejects.toMatchObject({
        code: 'publication-other',
      });
      expect(versionIn((await site.authority.current())?.bytes)).toBe(7);
      await site.authority.confirm(await closing(site, 8, open));
      await expect(site.authority.confirm(open)).rejects.toMatchObject({ code: 'publication-older' });
      expect(versionIn(await site.authority.confirm(await snapshotOf(site, 9)))).toBe(9);
    });
  });
});

it('R5: where the key server does not answer, the publisher signs for a higher publication alone, which the key server takes when it is back', async () => {
  made = await createWorkspace({ 'a.html': '<p>1' }, { publish: 'web', ...keyServer.settings });
  await keyServer.giveKeyTo(made);
  the = new Publishing(made);
  the.changes = { token: keyServer.token };
  await made.protect();
  await the.on(handOverBundle);
  await the.on(async (site) => site.authority.confirm(await snapshotOf(site, 7)));
  const before = await the.on(({ authority }) => authority.current());
  the.changes = { token: keyServer.token, keyServer: 'http://127.0.0.1:9' };
  await the.on(async (site) => {
    await expect(site.authority.confirm(await snapshotOf(site, 6))).rejects.toMatchObject({
      code: 'publication-older',
    });
    const other = site.authority.confirm(await snapshotOf(site, 7, 'other'));
    await expect(other).rejects.toMatchObject({ code: 'publication-other' });
    expect(await site.authority.confirm(await snapshotOf(site, 7))).toEqual(before?.bytes); // its timestamp is good
  });
  const alone = await the.on(async (site) => {
    const bytes = await site.authority.confirm(await snapshotOf(site, 8));
    expect(site.keyServerFailure()).toMatchObject({ code: 'key-server-unreachable' });
    return bytes;
  });
  the.changes = { token: keyServer.token };
  await the.on(async (site) => {
    expect(versionIn((await site.authority.current())?.bytes)).toBe(8);
    const again = readTimestamp(await site.authority.confirm(await snapshotOf(site, 9))).timestamp;
    expect(again.version).toBeGreaterThanOrEqual(readTimestamp(alone).timestamp.version);
  });
  expect((await keyServer.pair())[0]).toBe(9);
});

it('a key server whose clock was ahead once is told of, one command ends it, and readers of before go on (attack 146)', async () => {
  const settings = { publish: 'web', keyServerTokenFile: 'token', ...keyServer.settings };
  made = await createWorkspace({ 'a.html': '<p>1' }, settings);
  await keyServer.giveKeyTo(made);
  for (const [name, text] of Object.entries({ token: keyServer.token, passphrase: PASSPHRASE }))
    await writeFile(join(made.directory, name), text, { mode: 0o600 });
  const run = (line: string) =>
    runWispr([...line.split(' '), '--passphrase-file', 'passphrase'], { cwd: made.directory });
  expect(await run('publish -y')).toMatchObject({ code: 0 });
  const web = join(made.directory, 'web');
  const reader = (strict: boolean) => ({ site: SITE, keys: new Map(), now: nowInSeconds(), store: new Map(), strict });
  const [strict, lenient] = [reader(true), reader(false)];
  for (const each of [strict, lenient]) expect(await readPublished(web, each)).toMatchObject({ version: 1 });
  await keyServer.signAgain(172_800);
  await writeFile(join(web, TIMESTAMP_PATH), await keyServer.timestamp()); // pushes it
  await expect(readPublished(web, strict)).rejects.toMatchObject({ code: 'clock-off' });
  expect(await readPublished(web, lenient)).toMatchObject({ version: 1 });
  await made.write('a.html', '<p>2');
  const told = /signs nothing: .* \[clock-off\]\nwispr: hint: .*"wispr keys rotate timestamp --publish"/;
  expect(await run('publish')).toMatchObject({ code: 1, stderr: expect.stringMatching(told) });
  const copy = `${made.directory}-copy`;
  await cp(made.directory, copy, { recursive: true });
  onTestFinished(() => rm(copy, { recursive: true }));
  expect(await run('keys rotate timestamp --publish')).toMatchObject({ code: 0 });
  await keyServer.signAgain(0);
  await writeFile(join(web, TIMESTAMP_PATH), await keyServer.timestamp());
  for (const each of [strict, lenient]) expect(await readPublished(web, each)).toMatchObject({ version: 2 });
  const behind = await runWispr(['publish', '--passphrase-file', 'passphrase'], { cwd: copy });
  expect(behind).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/changed signing keys: .* root 2 \[workspace-behind\]/),
  });
});
