/** Where commands that publish work, and what they tell people to type. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { describePlace } from '../../cli/commands/timestamp.ts';
import { locatePlaces } from '../../cli/publication-places.ts';
import { describeMove } from '../../cli/publish-summary.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { readLastPublished } from '../../publisher/last-published.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { publishAgainCommand, publishCommand } from '../../publisher/publish/publish-command.ts';
import { currentPlace } from '../../publisher/published-places.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { runWispr } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

let made: TestWorkspace;
afterEach(() => made?.remove());

const at = (name: string) => join(made.directory, name);
const publishTo = async (name: string | undefined) => {
  const workspace = workspaceOf(made.configurationFile);
  const target = name === undefined ? {} : { target: await openTarget(at(name)) };
  return publishSite({ workspace, out: made.out, keysAreThere: true, ...target });
};
const locate = async (named?: string, ofLast = false) => {
  const last = ofLast ? currentPlace(await readLastPublished(workspaceOf(made.configurationFile)))?.target : undefined;
  return locatePlaces(named, { config: made.configurationFile }, last);
};

const shown = async (run: Promise<Awaited<ReturnType<typeof locatePlaces>>>) => {
  const { target, configured, publishAgain } = await run;
  return [target?.name, configured, publishAgain];
};

it.each([
  ['one', 'wispr publish one'],
  ['s3://news/three', 'wispr publish s3://news/three'],
  ["it's here", "wispr publish 'it'\\''s here'"],
  [undefined, 'wispr publish'],
  [null, 'wispr publish'],
])('the command that publishes to %s is typed as %s', (target, command) => {
  expect(publishCommand(target)).toBe(command);
});

it('where wispr.json names no target, it is the last one, and has to be typed', async () => {
  made = await createWorkspace({ 'a.html': '<p>1' });
  await made.protect();
  expect(await shown(locate(undefined, true))).toEqual([undefined, undefined, 'wispr publish']);
  await publishTo('one');
  const again = `wispr publish ${at('one')}`;
  expect(await shown(locate(undefined, true))).toEqual([at('one'), undefined, again]);
  expect(await publishAgainCommand(made.configurationFile)).toBe(again);
  await writeFile(at('pass'), PASSPHRASE);
  const withdraw = ['withdraw', '1', '--yes', '--passphrase-file', 'pass'];
  const { stderr, code } = await runWispr(withdraw, { cwd: made.directory });
  expect([code, stderr]).toEqual([0, expect.stringContaining(`put right what was wrong, then "${again}"`)]);
  const list = await runWispr(['keys', 'list', '--passphrase-file', 'pass'], { cwd: made.directory });
  expect(list.stderr).toContain(`put right what was wrong, then "${again}"`);
});

it('where wispr.json names another than was published to last, it is the last one, and that is said', async () => {
  made = await createWorkspace({ 'a.html': '<p>1' }, { publish: 'one' });
  await made.protect();
  expect(await shown(locate(undefined, true))).toEqual([at('one'), undefined, 'wispr publish']);
  const first = await readLastPublished(workspaceOf(made.configurationFile));
  await publishTo('two');
  expect(await shown(locate(undefined, true))).toEqual([at('two'), at('one'), `wispr publish ${at('two')}`]);
  expect(await shown(locate())).toEqual([at('one'), undefined, 'wispr publish']);
  const places = await locate(at('two'));
  expect(describeMove(first, places)).toEqual([
    expect.stringContaining(`to ${at('two')}, and not to ${at('one')}, which wispr.json names`),
    expect.stringContaining('docs/publishing.md'),
  ]);
  await writeFile(at('pass'), PASSPHRASE);
  const { stderr, code } = await runWispr(['timestamp', '--passphrase-file', 'pass'], { cwd: made.directory });
  expect([code, stderr]).toEqual([0, expect.stringContaining(`it is for ${at('two')}, where this was published last`)]);
  await publishTo(undefined);
  expect(await shown(locate(undefined, true))).toEqual([undefined, at('one'), 'wispr publish']);
  await publishTo('one');
  expect(await shown(locate(undefined, true))).toEqual([at('one'), undefined, 'wispr publish']);
});

it('a target of wispr.json that cannot be opened keeps nobody from the last one, and is called as it was typed', async () => {
  made = await createWorkspace({ 'a.html': '<p>1' }, { publish: 'site/inside' });
  await made.protect();
  await publishTo('two');
  expect(await shown(locate(undefined, true))).toEqual([at('two'), 'site/inside', `wispr publish ${at('two')}`]);
  await expect(locate()).rejects.toMatchObject({ code: 'workspace-overlap' });
});

it('says nothing of places where there is no other', () => {
  expect(describePlace({ target: 'one', configured: undefined } as Parameters<typeof describePlace>[0])).toEqual([]);
});
