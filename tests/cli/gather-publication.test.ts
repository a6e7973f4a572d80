/** A publication that two editors have to sign, each with a key on a machine of their own; as they type it. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runOnTerminal, runWispr } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, SITE, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
const at = (name: string) => join(workspace.directory, name);
const there = (name: string) => at(`bea/${name}`);
const wispr = (...args: string[]) =>
  runWispr([...args, '--passphrase-file', 'passphrase'], { cwd: workspace.directory });
const bea = (...args: string[]) => runWispr([...args, '--passphrase-file', 'passphrase'], { cwd: there('.') });
const drafts = async () => (await readdir(workspace.directory)).filter((name) => name.endsWith('.draft'));

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a', 'b.html': 'b' });
  await mkdir(at('bea'));
  await writeFile(at('passphrase'), PASSPHRASE, { mode: 0o600 });
  await writeFile(there('passphrase'), 'what Bea alone knows', { mode: 0o600 });
  expect(await wispr('protect', '-q')).toMatchObject({ code: 0 });
  expect(await bea('keys', 'new-signer', 'bea.key')).toMatchObject({ code: 0 });
  const added = await wispr('keys', 'add', 'targets', 'bea/bea.key.pub', '--threshold', '2');
  expect(added).toMatchObject({ code: 0 });
});
afterEach(() => workspace.remove());

/** What the first types, until a file waits for the second. */
async function leaveDraft(version: number): Promise<string> {
  const ended = await wispr('protect', '-q');
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain(
    `publication ${version} still lacks 1; readers find the publication before [signatures-missing]`,
  );
  expect(ended.stderr).toContain(`wispr keys sign`);
  expect(await drafts()).toEqual([`publication.${version}.draft`]);
  return `publication.${version}.draft`;
}

/** What the second types. */
async function signThere(name: string): Promise<string> {
  await copyFile(at(name), there(name));
  const signed = await bea('keys', 'sign', name, '--key', 'bea.key', '--yes');
  expect(signed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Signed by [0-9a-f]{32}\.\n$/) });
  expect(signed.stderr).toContain('no signature is missing any more');
  return signed.stderr;
}

/** The whole round. */
async function publishTogether(version: number): Promise<void> {
  const name = await leaveDraft(version);
  expect(await signThere(name)).toContain('bea.key.seen does not remember any publication');
  const gathered = await unlocked('keys', 'finish', `bea/${name}`);
  expect(gathered).toMatchObject({ code: 0, stdout: `Publication ${version} has all signatures, in ${name}.\n` });
  expect(await wispr('protect', '-q')).toMatchObject({ code: 0 });
  expect(await drafts()).toEqual([]);
}
const unlocked = (...args: string[]) => runWispr(args, { cwd: workspace.directory });

describe('two editors', () => {
  it('publish together, and readers see nothing of it before', async () => {
    const before = await readFile(join(workspace.out, 'a.html'));
    await publishTogether(2);
    expect((await workspace.published()).version).toBe(2);
    await workspace.write('a.html', 'changed');
    await workspace.write('c.html', 'new');
    await workspace.write(`${'x'.repeat(50)}readable by everybody.html`, 'new');
    await rm(join(workspace.source, 'b.html'));
    const name = await leaveDraft(3);
    expect((await workspace.published()).version).toBe(2);
    expect((await workspace.read('/a.html')).toString()).toBe('a');
    expect(await readFile(join(workspace.out, 'a.html'))).toEqual(before);
    expect(existsSync(join(workspace.out, 'c.html'))).toBe(false);

    await copyFile(at(name), there(name));
    const sign = ['keys', 'sign', name, '--key', 'bea.key', '--passphrase-file', 'passphrase'];
    const no = await runOnTerminal(sign, [['sign this?', 'n\r']], { cwd: there('.') });
    expect(no.code).toBe(2);
    for (const shown of [
      `asks to sign publication 3 of ${SITE}, good until`,
      '2 documents added, 0 moved, 1 changed, 1 removed, in',
      /added:\s+wispr: +\/c\.html/,
      /\/x+readable by\s+wispr: {11}everybody\.html/,
      /changed:\s+wispr: +\/a\.html/,
      /removed:\s+wispr: +\/b\.html/,
      /compared with what these keys signed in:\s+wispr: +publication 2: targets/,
      'this key signed publication 2 last',
      /by root 2, where 2 of the keys [0-9a-f]{32}, [0-9a-f]{32} sign targets/,
    ])
      expect(no.shown).toEqual(
        typeof shown === 'string' ? expect.stringContaining(shown) : expect.stringMatching(shown),
      );
    expect(await unlocked('keys', 'finish', `bea/${name}`)).toMatchObject({
      code: 0,
      stdout: `Publication 3 still needs 1 signature; what was gathered is in ${name}.\n`,
    });
    await leaveDraft(3); // the same one, as often as anybody asks
    await signThere(name);
    await rename(there(name), at(name)); // back in its place: that is enough
    expect(await wispr('protect', '-q')).toMatchObject({ code: 0 });
    expect((await workspace.published()).version).toBe(3);
    expect((await workspace.read('/a.html')).toString()).toBe('changed');
    expect(await unlocked('verify')).toMatchObject({ code: 0 });
    const late = await bea('keys', 'sign', 'publication.2.draft', '--key', 'bea.key', '--yes');
    expect(late).toMatchObject({ code: 1, stdout: '' });
    expect(late.stderr).toContain('[draft-rolled-back]');
  }, 300_000); // some twenty programs, one after the other
});
