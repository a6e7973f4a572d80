/** `wispr withdraw` of a publication whose timestamp was on its way when `wispr publish` ended: readers may have it, whatever the host shows. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { withLock, workspaceOf } from '../../publisher/workspace.ts';
import { lastOf } from '../support/last-published.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { NO_POWER, saidAt, TIMESTAMP, withoutPower } from '../support/target-timestamp.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const places = new TargetPlaces();
let made: TestWorkspace;
let place: string;
let doubts: string[];

beforeEach(async () => {
  ({ place } = await places.next());
  doubts = [];
  made = await createWorkspace({ 'a.html': '<p>1' }, { publish: place });
  await made.protect();
});
afterEach(() => made.remove());

const protectNext = async (text: string) => {
  await made.write('a.html', text);
  await made.protect();
};
const publish = async (cut?: 'taken' | 'lost') => {
  const honest = await openTarget(place);
  const target = cut ? withoutPower(honest, cut) : honest;
  return publishSite({ workspace: workspaceOf(made.configurationFile), out: made.out, target, keysAreThere: true });
};
const interrupted = (isTaken: boolean) => expect(publish(isTaken ? 'taken' : 'lost')).rejects.toThrow(NO_POWER);
const confirm = (withdraw?: number) =>
  confirmFromWorkspace(
    { passphrase: PASSPHRASE, withdraw },
    { config: made.configurationFile },
    { onDoubt: (doubt) => void doubts.push(doubt) },
  );
const last = () => lastOf(workspaceOf(made.configurationFile));
const atPlace = (name: string) => join(place, METADATA_PATH, name);
const shown = () => saidAt(place);
const MAY_BE_OUT = expect.stringMatching(/^publication \d may be out, for all that .* shows; it is withdrawn as if/);

describe('after an upload whose last answer was lost', () => {
  beforeEach(async () => {
    await publish();
    await protectNext('<p>2');
    await interrupted(true);
    expect(await last()).toMatchObject({ publication: { version: 1 }, begun: [{ version: 2, target: place }] });
  });

  it.each(['lies in the output', 'lies below another'])('is withdrawn where it is shown, and %s', async (where) => {
    if (where !== 'lies in the output') await protectNext('<p>3');
    await confirm(2);
    expect([await shown(), doubts]).toEqual([{ publication: 2, withdrawn: [2] }, []]);
    expect(await last()).toMatchObject({ target: place, publication: { version: 2 }, begun: [], unfinished: [] });
    await expect(confirm()).rejects.toMatchObject({ code: 'publication-withdrawn' });
  });

  const HOSTS: [string, () => Promise<unknown>, boolean][] = [
    ['hides the snapshot', () => rm(atPlace('2.snapshot.json')), true],
    ['hides the timestamp', () => rm(atPlace(TIMESTAMP_FILE)), false],
    ['hides both', () => Promise.all([TIMESTAMP_FILE, '2.snapshot.json'].map((name) => rm(atPlace(name)))), false],
    ['fails', () => rm(atPlace(TIMESTAMP_FILE)).then(() => mkdir(atPlace(TIMESTAMP_FILE))), false],
  ];
  it.each(HOSTS)('is signed though the host %s', async (_, spoil, isSeen) => {
    await spoil();
    await confirm(2).catch((error) => expect(error.message).toMatch(/^it is signed, but not where/));
    expect(await last()).toMatchObject({ withdrawn: [2] });
    expect(doubts).toEqual(isSeen ? [] : [MAY_BE_OUT]);
    const { signed } = JSON.parse(await readFile(join(made.out, TIMESTAMP), 'utf8'));
    expect(signed['x-wispr-withdrawn']).toEqual([2]);
    await confirm(2).catch((error) => expect(error.message).toMatch(/^it is signed, but not where/));
  });

  it('publishing it again leaves no doubt', async () => {
    await publish();
    expect(await last()).toMatchObject({ publication: { version: 2 }, begun: [] });
  });

  it('a workspace that forgot that it was on its way signs as well, unless the host shows that it is not', async () => {
    const file = workspaceOf(made.configurationFile).lastPublished;
    const { places: remembered, ...rest } = JSON.parse(await readFile(file, 'utf8'));
    const [{ begun: _, ...known }] = remembered;
    await writeFile(file, JSON.stringify({ ...rest, places: [known] }));
    await rm(atPlace(TIMESTAMP_FILE));
    await confirm(2);
    expect([await shown(), doubts]).toEqual([{ publication: 2, withdrawn: [2] }, [MAY_BE_OUT]]);
  });

  it('what was never made is not', async () => {
    await rm(atPlace('2.snapshot.json'));
    const unknown = { code: 'version-unknown', message: 'there is no publication 3 here; the last one is 2' };
    await expect(confirm(3)).rejects.toMatchObject(unknown);
    await rm(atPlace(TIMESTAMP_FILE));
    await expect(confirm(3)).rejects.toMatchObject(unknown);
    expect(await last()).toMatchObject({ withdrawn: [] });
  });
});

it('after a first upload whose last answer was lost, and a host that hides it, it is signed', async () => {
  await interrupted(true);
  await rm(atPlace('1.snapshot.json'));
  await expect(confirm(1)).rejects.toMatchObject({ message: expect.stringMatching(/^it is signed, but/) });
  expect(await last()).toMatchObject({ withdrawn: [1] });
});

it('who is at work in the workspace is to be ended, not waited for', async () => {
  await publish();
  await withLock(workspaceOf(made.configurationFile), () =>
    expect(confirm(1)).rejects.toMatchObject({
      code: 'workspace-busy',
      hint: expect.stringMatching(/^end the other, .* then run "wispr withdraw 1" again$/),
    }),
  );
});
