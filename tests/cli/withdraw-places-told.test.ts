/** `wispr withdraw` where a publication is, or may be, at more than one place, and the real key server, which is asked once and told once. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { ToldPlaces } from '../support/told-places.ts';
import { runWispr } from '../support/wispr.ts';
import { PASSPHRASE } from '../support/workspace.ts';

const rig = new ToldPlaces();
const { protectNext, publish, confirm, last, shown, atKeyServer, copyOut } = rig;
let A: string;
let B: string;
beforeEach(() => {
  ({ A, B } = rig);
});

it('one that is older than what it has is withdrawn, and it is told of the highest, once', async () => {
  await publish(B, 'taken');
  await protectNext('<p>2');
  await publish(A);
  await confirm(1);
  expect([await shown(A), await shown(B), await atKeyServer()]).toEqual([
    [2, [1]],
    [1, [1]],
    [2, [1]],
  ]);
  expect(await last()).toMatchObject({ target: A, begun: [], unfinished: [] });
});

it('an output that was served once tells it of nothing that was never published', async () => {
  await publish(null);
  await protectNext('<p>2');
  await publish(A);
  await protectNext('<p>3');
  await confirm(1);
  expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[2, [1]], [2, [1]], []]);
  await confirm();
});

it('nor does a slip at another place, where what is withdrawn is out there as well', async () => {
  await publish(B);
  await protectNext('<p>2');
  await publish(A);
  await protectNext('<p>3');
  await publish(B, 'taken');
  await confirm(1);
  expect([await shown(A), await shown(B), await atKeyServer()]).toEqual([
    [2, [1]],
    [3, [1]],
    [2, [1]],
  ]);
  await confirm();
});

it('nor a slip that was published completely to another place without a token', async () => {
  await publish(A);
  const { token } = rig;
  rig.token = undefined;
  await protectNext('<p>2');
  await publish(B);
  await writeFile(join(rig.made.directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  const options = ['--yes', '--passphrase-file', 'passphrase', '--token-file', 'token'];
  rig.token = token;
  const { code, stderr } = await runWispr(['withdraw', '2', ...options], { cwd: rig.made.directory });
  expect([code, stderr]).toEqual([0, expect.stringContaining(`who is served from ${A} goes on with publication 1`)]);
  expect([await shown(A), await shown(B), await atKeyServer()]).toEqual([
    [1, []],
    [2, [2]],
    [1, []],
  ]);
  expect((await last()).owed).toEqual([]);
});

it('nor where what it has is at a place that fails', async () => {
  await publish(B);
  await protectNext('<p>2');
  await publish(A);
  await protectNext('<p>3');
  await publish(B, 'taken');
  await rename(A, `${A}-away`);
  await writeFile(A, '');
  await expect(confirm(1)).rejects.toThrow(`not at ${A}`);
  expect([await shown(B), await atKeyServer()]).toEqual([
    [3, [1]],
    [2, []],
  ]);
  await rm(A);
  await rename(`${A}-away`, A);
  await confirm(1);
  expect([await atKeyServer(), (await last()).owed]).toEqual([[2, [1]], []]);
});

it('where it has a later one than is signed, there is nothing to tell it, nor anything owed', async () => {
  await publish(A);
  await protectNext('<p>2');
  await publish(B);
  await rm(B, { recursive: true });
  expect(await confirm(1, [B])).toMatchObject({ target: A, keyServerTold: false, unfinished: [] });
  expect(rig.doubts).toEqual([expect.stringContaining('has publication 2, which is later, and is told nothing')]);
  expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[1, [1]], [2, []], []]);
  await protectNext('<p>3');
  await publish(A);
  expect([await atKeyServer(), (await last()).owed]).toEqual([[3, [1]], []]);
});

it('that is gone for good can be given up while its token is there', async () => {
  await publish(A);
  await rig.closeKeyServer();
  const ways = expect.stringContaining(`"wispr withdraw 1 --gone ${rig.keyServer}"`);
  await expect(confirm(1)).rejects.toMatchObject({ code: 'key-server-unreachable', hint: ways });
  expect(await confirm(1, [rig.keyServer])).toMatchObject({ target: A, keyServerTold: false, unfinished: [] });
  expect((await last()).owed).toEqual([]);
});

it('where only it has what was at a place that is gone, it is told, and nothing else owes that', async () => {
  await publish(A);
  await protectNext('<p>2');
  await publish(B);
  await rm(B, { recursive: true });
  for (const gone of [[B], []])
    expect(await confirm(2, gone)).toMatchObject({ keyServerTold: true, isOnlyTold: true, besides: [] });
  expect([await atKeyServer(), await shown(A), (await last()).owed]).toEqual([[2, [2]], [1, []], []]);
  rig.token = undefined;
  expect((await confirm()).target).toBe(A);
});

it('where it knows one of another machine, wispr timestamp tells it once, and not again and again', async () => {
  const putBack = await copyOut(true);
  await publish(A);
  const before = await readFile(rig.workspace.lastPublished);
  await protectNext('<p>2');
  await publish(B);
  await putBack();
  await writeFile(rig.workspace.lastPublished, before);
  await expect(confirm()).rejects.toThrow(/409.*it has publication 2 of this site, .*than 1$/);
  await expect(confirm()).rejects.toThrow(/409.*it has publication 2 of this site, .*than 1$/); // and not 429
});

it('what it was told once, it owes until it is told of the withdrawal: a run without the token says so', async () => {
  await publish(A);
  const withToken = rig.token;
  rig.token = undefined;
  expect(await confirm(1)).toMatchObject({ target: A, keyServerTold: false, isConfirmedByKeyServer: true });
  expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[1, [1]], [1, []], [[1, 'key server']]]);
  rig.token = withToken;
  await confirm(1);
  expect([await atKeyServer(), (await last()).owed]).toEqual([[1, [1]], []]);
});

it('what it was told of one place brings nothing to another that never had it', async () => {
  await publish(B);
  await protectNext('<p>2');
  await publish(B, 'lost');
  await publish(A);
  const { target, besides, notShown } = await confirm(2);
  expect([target, besides, notShown]).toEqual([A, [], [{ target: B, shown: 1 }]]);
  expect([await shown(A), await shown(B), await atKeyServer()]).toEqual([
    [2, [2]],
    [1, []],
    [2, [2]],
  ]);
});

it('a slip elsewhere, of which it knows nothing, does not end what it confirms', async () => {
  await publish(A);
  await protectNext('<p>2');
  await publish(B, 'taken');
  expect((await confirm(2)).keyServerTold).toBe(false);
  expect([await shown(B), await atKeyServer()]).toEqual([
    [2, [2]],
    [1, []],
  ]);
  await confirm();
  expect([await shown(A), (await last()).unfinished]).toEqual([[1, []], []]);
});

it('what it has of an output that was served, and put back since, counts as withdrawn, and it is said what ends that', async () => {
  await publish(null);
  const putBack = await copyOut(true);
  await protectNext('<p>2');
  await publish(null);
  await putBack();
  await expect(confirm(2)).rejects.toMatchObject({
    code: 'version-unknown',
    message: expect.stringMatching(
      /is not at .*, which shows 1; but the key server .* has it, .* counts as withdrawn$/,
    ),
    hint: expect.stringMatching(/^a higher publication ends it: .*or bring back the "out" that has it/),
  });
  expect(await last()).toMatchObject({ withdrawn: [2], owed: [[2, 'key server']] });
  await protectNext('<p>3');
  await publish(null);
  expect([await atKeyServer(), (await last()).owed]).toEqual([[3, [2]], []]);
});
