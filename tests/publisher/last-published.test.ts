/** What a workspace remembers of what was published from it: neither a withdrawn publication nor an old place comes back. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { type Workspace, workspaceOf } from '../../publisher/workspace.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

let made: TestWorkspace;
let workspace: Workspace;
let directory: string;
let place: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wispr-last-'));
  place = join(directory, 'served');
  made = await createWorkspace({ 'a.html': '<p>1' });
  workspace = workspaceOf(made.configurationFile);
  await made.protect();
});
afterEach(async () => {
  await made.remove();
  await rm(directory, { recursive: true });
});

/** As a command that was told where to. */
const publish = async () =>
  publishSite({ workspace, out: made.out, target: await openTarget(place), keysAreThere: true });
const confirm = (withdraw?: number) =>
  confirmFromWorkspace({ passphrase: PASSPHRASE, withdraw }, { config: made.configurationFile });
const shown = async (at: string) => {
  const { signed } = JSON.parse(await readFile(join(at, METADATA_PATH, 'timestamp.json'), 'utf8'));
  return { publication: signed.meta['snapshot.json'].version, withdrawn: signed['x-wispr-withdrawn'] ?? [] };
};

it('timestamps go to where it was published last, and never name what is not there yet', async () => {
  await publish();
  expect((await confirm()).target).toBe(place);
  await made.write('a.html', '<p>2');
  await made.protect();
  for (const withdrawn of [undefined, 1])
    await expect(confirm(withdrawn)).rejects.toMatchObject({ code: 'target-behind' });
  expect(await shown(place)).toEqual({ publication: 1, withdrawn: [] });
  await publish();
  await confirm(1);
  expect(await shown(place)).toEqual({ publication: 2, withdrawn: [1] });
  // And nowhere any more, once the output itself is what is served.
  await publishSite({ workspace, out: made.out, keysAreThere: true });
  expect((await confirm()).target).toBeUndefined();
});

it('what was withdrawn stays so where the output is put back from before', async () => {
  await publish();
  const before = join(directory, 'before');
  await cp(made.out, before, { recursive: true });
  await cp(workspace.index, `${before}.index`);
  await confirm(1);
  await rm(made.out, { recursive: true });
  await cp(before, made.out, { recursive: true });
  await cp(`${before}.index`, workspace.index);
  const { publication } = await made.protect();
  expect(publication).toMatchObject({ version: 1, isWithdrawn: true });
  expect(await shown(made.out)).toEqual({ publication: 1, withdrawn: [1] });
  await expect(confirm()).rejects.toMatchObject({ code: 'publication-withdrawn' });
});

it('and where output and index are lost: then what is published may be the same again, and that is said', async () => {
  await publish();
  await confirm(1);
  await rm(made.out, { recursive: true });
  await rm(workspace.index);
  const { publication, recovered } = await made.protect();
  expect(publication).toMatchObject({ version: 2, isWithdrawn: false, mayRepeat: 1 });
  expect(recovered.join()).toContain('publication 1 was withdrawn');
  expect(await shown(made.out)).toEqual({ publication: 2, withdrawn: [1] });
  await made.write('a.html', '<p>2');
  expect((await made.protect()).publication).toMatchObject({ version: 3, mayRepeat: undefined });
});

it('a damaged memory is not taken for an empty one', async () => {
  await publish();
  for (const text of ['', '{}', '{"target":1,"withdrawn":[]}', '{"target":null,"withdrawn":["1"]}']) {
    await writeFile(workspace.lastPublished, text);
    await expect(made.protect()).rejects.toMatchObject({ code: 'key-store-damaged' });
    await expect(confirm(1)).rejects.toMatchObject({ code: 'key-store-damaged' });
  }
});
