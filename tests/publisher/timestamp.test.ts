/** Confirming and withdrawing a publication, with the keys of a workspace or with the timestamp key alone. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { parseTimestamp } from '../../core/publication/metadata.ts';
import { verifyTimestamp } from '../../core/publication/verify-roles.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { exportTimestampKey } from '../../publisher/keys/export-key.ts';
import { listKeys } from '../../publisher/keys/list-keys.ts';
import { READER_OPTIONS, verifyChain } from '../../publisher/keys/roots.ts';
import { rememberPublished } from '../../publisher/last-published.ts';
import { metadataIn } from '../../publisher/publication/places.ts';
import { withNews } from '../../publisher/published-places.ts';
import { runTimestamp, type TimestampRun } from '../../publisher/timestamp/run.ts';
import { signNewerThan } from '../../publisher/timestamp/sign-timestamp.ts';
import { repeatsWithdrawn } from '../../publisher/timestamp/withdrawn.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { type SmallPublication, writeSmallPublication } from '../support/small-publication.ts';
import { createWorkspace, PASSPHRASE, snapshot, type TestWorkspace } from '../support/workspace.ts';

const KEY_PASSPHRASE = 'one for the cron machine';
const DAY = 86_400;

let workspace: TestWorkspace;
let directory: string;
let keyFile: string;

beforeAll(async () => {
  workspace = await createWorkspace();
  directory = join(workspace.out, '.well-known/wispr');
  keyFile = join(workspace.directory, 'timestamp.key');
  await exportTimestampKey(workspace.configurationFile, PASSPHRASE, keyFile, KEY_PASSPHRASE);
});
afterAll(() => workspace.remove());
beforeEach(async () => {
  for (const memory of [`${keyFile}.last`, workspaceOf(workspace.configurationFile).lastPublished])
    await rm(memory, { force: true });
  await rm(directory, { recursive: true, force: true });
});

const publish = async (what?: SmallPublication) => writeSmallPublication(directory, await workspace.keyStore(), what);
const inWorkspace = (more: Partial<TimestampRun> = {}) => {
  const from = { configurationFile: workspace.configurationFile };
  return runTimestamp({ from, passphrase: PASSPHRASE, ...more });
};
const withKey = (more: Partial<TimestampRun> = {}) => {
  return runTimestamp({ from: { keyFile, directory }, passphrase: KEY_PASSPHRASE, ...more });
};
const lastSeen = async () => JSON.parse(await readFile(`${keyFile}.last`, 'utf8'));
const remember = (memory: unknown) => writeFile(`${keyFile}.last`, JSON.stringify(memory));
const timestampBytes = () => readFile(join(directory, 'timestamp.json'));
const timestamp = async () => parseTimestamp(openEnvelope(await timestampBytes(), 'timestamp').signed());

async function expectRefused(run: Promise<unknown>, code: string): Promise<void> {
  const before = await snapshot(directory);
  await expect(run).rejects.toMatchObject({ code });
  expect(await snapshot(directory)).toEqual(before);
}

describe('a timestamp', () => {
  it('confirms the same snapshot for 48 hours, and readers take it', async () => {
    const { roots } = await workspace.keyStore();
    const now = nowInSeconds();
    await publish({ version: 3, withdrawn: [1, 2], signed: now - 3600 });
    const old = await timestamp();
    for (const run of [inWorkspace, withKey]) {
      const signed = await run({ now });
      expect(signed).toMatchObject({ publication: 3, withdrawn: [1, 2], expires: now + 2 * DAY, expiring: [] });
      expect(await timestampBytes()).toEqual(Buffer.from(signed.bytes));
      const read = verifyTimestamp(signed.bytes, verifyChain(roots), old, READER_OPTIONS);
      expect(read).toMatchObject({ snapshot: old.snapshot, withdrawn: [1, 2], version: signed.version });
    }
    expect((await timestamp()).version).toBe(now + 1);
  });

  it('attack 69: is not signed by a machine whose clock is behind', async () => {
    const now = nowInSeconds();
    await publish({ signed: now });
    await expectRefused(withKey({ now: now - 301 }), 'clock-behind');
    expect(await withKey({ now: now - 200 })).toMatchObject({ version: now + 1 });
  });

  it('is not signed for what has expired, and says what expires soon', async () => {
    await publish({ days: { bins: -1 } });
    await expectRefused(withKey(), 'metadata-expired');
    await publish({ days: { snapshot: -1 } });
    await expectRefused(withKey(), 'metadata-expired');
    await publish({ days: { snapshot: 29, bins: 20 } });
    const { expiring } = await withKey();
    expect(expiring.map(({ role }) => role)).toEqual(['documents-0', 'snapshot']);
    await expectRefused(withKey({ now: nowInSeconds() + 800 * DAY }), 'metadata-expired');
  });

  it('is not signed for a publication that is withdrawn', async () => {
    await publish({ version: 4, withdrawn: [4] });
    await expectRefused(withKey(), 'publication-withdrawn');
    await expectRefused(inWorkspace(), 'publication-withdrawn');
  });

  it('attack 28: is not signed for an older publication than the last, whoever put it there', async () => {
    await publish({ version: 4, withdrawn: [2], signed: nowInSeconds() - 60 });
    const older = await snapshot(directory);
    await publish({ version: 5, signed: nowInSeconds() - 30 });
    await withKey();
    for (const [name, content] of older) await writeFile(join(directory, name), Buffer.from(content, 'base64'));
    await expectRefused(withKey(), 'metadata-rollback');
    await writeFile(`${keyFile}.last`, '{}');
    await expectRefused(withKey(), 'key-store-damaged');
  });

  it('begins anew with a new key, of which the machine has signed nothing yet; publications do not', async () => {
    await publish({ version: 4, signed: nowInSeconds() - 60 });
    await withKey();
    const last = JSON.parse(await readFile(`${keyFile}.last`, 'utf8'));
    const other = { ...last, key: 'ab'.repeat(32), timestamp: nowInSeconds() + 9 * DAY, withdrawn: [2] };
    await writeFile(`${keyFile}.last`, JSON.stringify(other));
    expect(await withKey()).toMatchObject({ publication: 4, withdrawn: [] });
    await writeFile(`${keyFile}.last`, JSON.stringify({ ...other, publication: 5 }));
    await expectRefused(withKey(), 'metadata-rollback');
    await writeFile(`${keyFile}.last`, JSON.stringify({ ...other, key: last.key }));
    await expectRefused(withKey(), 'metadata-rollback');
  });

  it('is not signed for anybody else, for nothing, or for what does not verify', async () => {
    await expect(withKey()).rejects.toMatchObject({ code: 'publication-missing' });
    await publish();
    const bin = join(directory, '1.targets.json');
    await writeFile(bin, (await readFile(bin, 'utf8')).replace('"version":1', '"version":2'));
    await expectRefused(withKey(), 'metadata-mismatch');
    const other = await createWorkspace();
    await rm(directory, { recursive: true });
    await writeSmallPublication(directory, await other.keyStore());
    await expectRefused(withKey(), 'root-unexpected');
    await other.remove();
    await mkdir(directory, { recursive: true });
  });
});

describe('a withdrawal', () => {
  it('stands in every timestamp from then on, until a higher version is there', async () => {
    await publish({ version: 6, withdrawn: [2], signed: nowInSeconds() - 60 });
    expect(await inWorkspace({ withdraw: 6 })).toMatchObject({ publication: 6, withdrawn: [2, 6] });
    expect((await timestamp()).withdrawn).toEqual([2, 6]);
    await expectRefused(inWorkspace(), 'publication-withdrawn');
    expect(await withKey({ withdraw: 3 })).toMatchObject({ withdrawn: [2, 3, 6] });
    // Whoever forgets it is reminded by the machine that remembers.
    await publish({ version: 7, signed: nowInSeconds() + 10 });
    expect(await withKey()).toMatchObject({ publication: 7, withdrawn: [2, 3, 6] });
  });

  it('is refused for versions that never were', async () => {
    await publish({ version: 6 });
    for (const version of [0, 7, 1.5]) await expectRefused(inWorkspace({ withdraw: version }), 'version-unknown');
  });

  it('names 64 versions at most: the highest', async () => {
    await publish({ version: 100, withdrawn: Array.from({ length: 64 }, (_, index) => index + 1) });
    const { withdrawn } = await inWorkspace({ withdraw: 99 });
    expect([withdrawn.length, withdrawn[0], withdrawn.at(-1)]).toEqual([64, 2, 99]);
    expect((await inWorkspace({ withdraw: 2 })).withdrawn).toEqual(withdrawn);
    const own = Array.from({ length: 64 }, (_, index) => index + 2);
    await withKey();
    await remember({ ...(await lastSeen()), own });
    await expectRefused(withKey({ withdraw: 1 }), 'withdrawals-full'); // or it would be said to be done
    await rememberPublished(workspaceOf(workspace.configurationFile), (last) => withNews(last, { withdrawn: own }));
    await expectRefused(inWorkspace({ withdraw: 1 }), 'withdrawals-full');
    await expect(inWorkspace({ withdraw: 1 })).rejects.toMatchObject({ hint: expect.stringContaining('rotate') });
  });

  it('comes before what others claim, who may have stolen the key', async () => {
    const claimed = Array.from({ length: 64 }, (_, index) => index + 7);
    await publish({ version: 100 });
    await inWorkspace({ withdraw: 5 });
    await publish({ version: 100, withdrawn: claimed, signed: nowInSeconds() + 10 });
    const kept = [5, ...claimed.slice(1)];
    expect((await inWorkspace()).withdrawn).toEqual(kept);
    expect((await inWorkspace({ withdraw: 6 })).withdrawn).toEqual([5, 6, ...claimed.slice(2)]);
    // And is not taken for less than they claim: else nobody could ever put it in the place of theirs.
    const saying = { withdrawn: kept, snapshot: (await timestamp()).snapshot };
    expect(repeatsWithdrawn(saying, { ...saying, withdrawn: claimed })).toBe(true);
    expect(repeatsWithdrawn({ ...saying, withdrawn: [5] }, { ...saying, withdrawn: [7] })).toBe(false);
  });

  it('that another key has signed is not remembered for it, but for those of this machine', async () => {
    await publish({ version: 6, withdrawn: [2], signed: nowInSeconds() - 60 });
    expect((await withKey({ withdraw: 3 })).withdrawn).toEqual([2, 3]);
    const memory = await lastSeen();
    expect(memory).toMatchObject({ withdrawn: [3], own: [3], elsewhere: [2] });
    await remember({ ...memory, key: 'ab'.repeat(32) });
    await publish({ version: 6, signed: nowInSeconds() + 10 });
    expect((await withKey()).withdrawn).toEqual([3]);
    const { own: _, elsewhere: __, ...earlier } = { ...memory, key: 'ab'.repeat(32) }; // where nobody can tell
    await remember(earlier);
    await publish({ version: 6, signed: nowInSeconds() + 20 });
    expect((await withKey()).withdrawn).toEqual([]);
  });

  describe('of a machine that has the key alone', () => {
    const claimed = Array.from({ length: 64 }, (_, index) => index + 7);
    let seconds = 0;
    const thiefSigns = (withdrawn = claimed) =>
      publish({ version: 100, withdrawn, signed: nowInSeconds() + ++seconds * 10 });
    beforeEach(async () => {
      seconds = 0;
      await publish({ version: 100, signed: nowInSeconds() - 60 });
      await withKey({ withdraw: 5 });
    });

    it('comes before what others claim as well, however often, and is never forgotten', async () => {
      for (let time = 0; time < 3; time++) {
        await thiefSigns();
        expect(await withKey()).toMatchObject({ withdrawn: [5, ...claimed.slice(1)], dropped: [7] });
        expect((await withKey()).dropped).toEqual([]); // once said is enough
        expect((await lastSeen()).own).toEqual([5]);
      }
      const signed = await withKey({ withdraw: 6 });
      expect(signed).toMatchObject({ withdrawn: [5, 6, ...claimed.slice(2)], dropped: [8] });
      await thiefSigns([]);
      expect((await withKey()).withdrawn).toEqual([5, 6, ...claimed.slice(2)]);
    });

    it('comes first also where an earlier version of the program has remembered it', async () => {
      const { own: _, elsewhere: __, ...earlier } = await lastSeen();
      await remember(earlier);
      for (let time = 0; time < 2; time++) {
        await thiefSigns();
        expect((await withKey()).withdrawn).toEqual([5, ...claimed.slice(1)]);
      }
      expect(await lastSeen()).toMatchObject({ withdrawn: [5], own: [] });
    });

    it('stays where it is one more than a timestamp names, and the lowest is said to be left out', async () => {
      const own = Array.from({ length: 64 }, (_, index) => index + 6);
      await remember({ ...(await lastSeen()), own: [5, ...own.slice(0, -1)] });
      await withKey();
      expect(await withKey({ withdraw: 69 })).toMatchObject({ withdrawn: own, dropped: [5] });
      expect((await lastSeen()).own).toEqual([5, ...own]);
    });

    it.each(['own', 'elsewhere'])('is not taken from a memory that is damaged: %s', async (member) => {
      await remember({ ...(await lastSeen()), [member]: ['5'] });
      await expectRefused(withKey(), 'key-store-damaged');
    });
  });
});

describe('what somebody else has withdrawn meanwhile', () => {
  const signAfter = async (withdrawn: readonly number[], same: boolean) => {
    await publish({ version: 6, withdrawn: [1] });
    const { version, snapshot: own } = await timestamp();
    const theirs = same ? own : { ...own, version: 1_000_000, sha256: 'ab'.repeat(32) };
    const { signers, rootId } = await workspace.keyStore();
    const options = { own: metadataIn(directory), signer: signers.timestamp, rootId, now: nowInSeconds() };
    return signNewerThan({ version: version + 5, withdrawn, snapshot: theirs }, options);
  };

  it('stays so, for publications that they have', async () => {
    expect((await signAfter([2, 6], true)).withdrawn).toEqual([1, 2, 6]);
    expect((await signAfter([2, 6, 7, 70], false)).withdrawn).toEqual([1, 2]);
  });

  it('is not remembered where it is still to come', async () => {
    await publish({ version: 6 });
    await withKey();
    const last = JSON.parse(await readFile(`${keyFile}.last`, 'utf8'));
    await writeFile(`${keyFile}.last`, JSON.stringify({ ...last, withdrawn: [2, 7, 8] }));
    expect((await withKey()).withdrawn).toEqual([2]);
    await publish({ version: 7, withdrawn: [2, 8], signed: nowInSeconds() + 10 });
    expect(await withKey()).toMatchObject({ withdrawn: [2], dropped: [] });
  });
});

describe('the list of keys', () => {
  it('shows what is published, and what is still to be', async () => {
    await publish({ version: 2, days: { snapshot: 10 }, withdrawn: [1] });
    const everybody = await listKeys(workspace.configurationFile, undefined);
    expect(everybody).toMatchObject({ publication: 2, publishedRoot: 1, rootVersion: 1, withdrawn: [1] });
    expect(everybody.secret).toBeUndefined();
    expect(everybody.expiries.map(({ role }) => role)).toEqual([
      'root',
      'targets',
      'documents',
      'documents-0',
      'snapshot',
      'timestamp',
    ]);
    await rotateRole({ configurationFile: workspace.configurationFile, passphrase: PASSPHRASE }, 'timestamp');
    const own = await listKeys(workspace.configurationFile, PASSPHRASE);
    expect(own).toMatchObject({ publishedRoot: 1, rootVersion: 2, problem: undefined });
    const places = own.roles.map(({ role, keys }) => [role, keys[0]?.place, keys[0]?.atKeyServer]);
    expect(places).toEqual([
      ['root', 'root.keys', false],
      ['targets', 'publisher.keys', false],
      ['snapshot', 'publisher.keys', false],
      ['timestamp', 'publisher.keys', true],
    ]);
    await expectRefused(inWorkspace(), 'signer-unknown'); // until the new root is published
    await publish({ version: 3 });
    await expectRefused(withKey(), 'signer-unknown'); // the key that was exported is the old one
    await writeFile(join(directory, 'timestamp.json'), '{}');
    expect(await listKeys(workspace.configurationFile, PASSPHRASE)).toMatchObject({ problem: expect.any(String) });
  });
});
