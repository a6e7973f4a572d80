/** `wispr keys` and `wispr timestamp`, as programs, and on a terminal where they ask. */
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { rotateRole } from '../../publisher/keys/change-roots.ts';
import { expectError, expectOneVoice } from '../support/one-voice.ts';
import { type SmallPublication, writeSmallPublication } from '../support/small-publication.ts';
import { runOnTerminal, runWispr } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const METADATA = 'protected/.well-known/wispr';
const withPassphrase = ['--passphrase-file', 'passphrase'];

let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  await writeFile(at('passphrase'), PASSPHRASE, { mode: 0o600 });
  await writeFile(at('other-passphrase'), 'another passphrase', { mode: 0o600 });
});
afterAll(() => workspace.remove());

const at = (name: string) => join(workspace.directory, name);
const wispr = (...args: string[]) => runWispr(args, { cwd: workspace.directory });
const onTerminal = (args: string[], ...answers: [string, string][]) =>
  runOnTerminal(args, answers, { cwd: workspace.directory });
const publish = async (what?: SmallPublication) =>
  writeSmallPublication(at(METADATA), await workspace.keyStore(), what);

describe('wispr keys', () => {
  it('lists roles and sets, with and without the passphrase', async () => {
    const first = await wispr('keys', ...withPassphrase);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(
      /^[\w-]{43} {2}\(your fingerprint\)\nroot 1, nothing published yet\n\nROLE +KEY +WHERE IT IS +NEEDED +VERSION +GOOD UNTIL\nroot +[0-9a-f]{12} +root\.keys +1 of 1 +1 +\d{4}-\d\d-\d\d\n/,
    );
    expect(first.stdout).toMatch(/\ntimestamp +[0-9a-f]{12} +publisher\.keys, key server +1 of 1/);
    await expectError(wispr('keys', 'list', '--public'), 1, 'there is no publication', '[publication-missing]');
    await publish({ version: 3, days: { snapshot: 12 } });
    const everybody = await wispr('keys', 'list', '--public');
    expect(everybody.stdout).toContain('publication 3');
    expect(everybody.stdout).toMatch(/snapshot +[0-9a-f]{12} +- +1 of 1 +3 +\d{4}-\d\d-\d\d {2}in 1[12] days\n/);
    expect(everybody.stderr).toMatch(
      /^wispr: snapshot expires on [\d-]{10}\nwispr: hint: run "wispr publish", or "wispr protect" where you copy the output yourself\n$/,
    );
    expect(JSON.parse((await wispr('keys', 'list', '--public', '--json')).stdout)).toMatchObject({ publication: 3 });
  });

  it('changes the passphrase of both key files, and nothing else', async () => {
    const files = ['publisher.keys', 'root.keys'].map(at);
    const cheap = await Promise.all(files.map((file) => readFile(file)));
    const other = ['--new-passphrase-file', 'other-passphrase'];
    const changed = await wispr('keys', 'passphrase', ...withPassphrase, ...other);
    expect(changed).toMatchObject({
      code: 0,
      stdout: 'The passphrase of publisher.keys and root.keys is another one now.\n',
    });
    expectOneVoice(changed);
    await expectError(wispr('keys', 'renew', ...withPassphrase), 1, '[passphrase-wrong]');
    const now = ['--passphrase-file', 'other-passphrase'];
    expect(await wispr('keys', ...now)).toMatchObject({ code: 0 });
    const back = await wispr('keys', 'passphrase', ...now, '--new-passphrase-file', 'passphrase', '--json');
    expect(JSON.parse(back.stdout)).toEqual({ files });
    await writeFile(at('short'), 'short', { mode: 0o600 });
    await expectError(
      wispr('keys', 'passphrase', ...withPassphrase, '--new-passphrase-file', 'short'),
      2,
      '[passphrase-too-short]',
    );
    expect(await wispr('keys', ...withPassphrase)).toMatchObject({ code: 0 });
    await Promise.all(files.map((file, index) => writeFile(file, cheap[index] as Buffer))); // the others open them often
  });

  it('rotates, and says when it counts and what else there is to do', async () => {
    const rotated = await wispr('keys', 'rotate', 'timestamp', ...withPassphrase);
    expect(rotated.code).toBe(0);
    expect(rotated.stdout).toMatch(
      /^Root 2 is signed:\n {2}timestamp: the key \w+ may sign from now on\n {2}timestamp: the key \w+ may not sign any more\n {2}good until /,
    );
    expect(rotated.stderr).toMatch(
      /with the next "wispr publish", or "wispr protect"[\s\S]*keys\.bundle carries the new key/,
    );
    expectOneVoice(rotated);
    const publisher = await wispr('keys', 'rotate', 'publisher', ...withPassphrase);
    expect(publisher.stderr).toMatch(
      /every object is signed again at the next "wispr publish"[\s\S]*--new-publisher-key [\w-]{43}\n/,
    );
    expectOneVoice(publisher);
    expect(JSON.parse((await wispr('keys', 'renew', ...withPassphrase, '--json')).stdout)).toMatchObject({
      outcome: 'changed',
      version: 3,
    });
    expect((await wispr('keys', 'list', ...withPassphrase)).stderr).toContain(
      'root 3 is not published yet; readers know root 1',
    );
  });

  it('gathers signatures: the signer sees what changes, and is asked', async () => {
    const signer = await wispr('keys', 'new-signer', 'ada.key', '--passphrase-file', 'other-passphrase');
    expect(signer).toMatchObject({ code: 0, stdout: expect.stringContaining('ada.key.pub') });
    expect((await stat(at('ada.key'))).mode & 0o777).toBe(0o600);
    const added = await wispr('keys', 'add', 'root', 'ada.key.pub', '--threshold', '2', ...withPassphrase);
    expect(added.stdout).toMatch(
      /^Root 4 is made, and lies in root\.4\.json:\n[\s\S]*2 of 2 keys have to sign \(before: 1\)/,
    );
    expect(added.stderr).toContain('it needs 1 signature of the root keys after it; until then nothing changes');
    expectOneVoice(added);
    await expectError(
      wispr('keys', 'finish', 'root.4.json', ...withPassphrase),
      1,
      'still needs 1 signature',
      '[signatures-missing]',
    );
    await expectError(wispr('keys', 'sign', 'root.4.json', '--key', 'ada.key'), 2, 'needs a yes');
    const sign = ['keys', 'sign', 'root.4.json', '--key', 'ada.key'];
    const no = await onTerminal(sign, ['sign this?', 'n\r']);
    expect([no.code, no.shown]).toEqual([
      2,
      expect.stringMatching(/asks to replace root 3 by root 4:[\s\S]*not signed/),
    ]);
    const yes = await onTerminal(sign, ['sign this?', 'y\r'], ['passphrase: ', 'another passphrase\r']);
    expect([yes.code, yes.shown]).toEqual([0, expect.stringContaining('no signature is missing any more')]);
    expect(yes.shown).not.toContain('another passphrase');
    await copyFile(at('root.4.json'), at('copy.json'));
    const finished = await wispr('keys', 'finish', 'root.4.json', ...withPassphrase);
    expect(finished).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Root 4 is signed:/) });
    const again = await wispr('keys', 'finish', 'copy.json', ...withPassphrase);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Root 4 was made by an earlier run/) });
    expect(again.stderr).toMatch(/^wispr: hint: "wispr keys list" says .*; the file is not needed any more\n$/);
  });

  it('refuses what it does not know or cannot do', async () => {
    await expectError(wispr('keys', 'rotate', 'everything', ...withPassphrase), 2, 'hint: wispr keys rotate --help');
    await expectError(
      wispr('keys', 'add', 'snapshot', 'ada.key.pub', '--threshold', '2', ...withPassphrase),
      2,
      'only root, targets and sections can have a threshold above one',
    );
    await expectError(
      wispr('keys', 'add', 'root', 'ada.key.pub', '--threshold', 'two', ...withPassphrase),
      2,
      'a threshold is a number',
    );
    await expectError(
      wispr('keys', 'add', 'targets', 'ada.key.pub', '--threshold', '9', ...withPassphrase),
      2,
      'hint: ',
    );
    await expectError(
      wispr('keys', 'add', 'root', 'nobody.pub', ...withPassphrase),
      2,
      'hint: name the right file: public keys end in .pub',
    );
    await expectError(wispr('keys', 'new-signer', 'ada.key', ...withPassphrase), 1, '[output-failed]', 'hint: ');
    await expectError(
      wispr('keys', 'add', 'root', 'wispr.json', ...withPassphrase),
      1,
      '[key-file-refused]',
      'hint: name the right file: public keys end in .pub',
    );
    await expectError(
      wispr('keys', 'renew', '--root-keys', 'nowhere', ...withPassphrase),
      1,
      '[key-file-refused]',
      '--root-keys FILE',
    );
    await expectError(wispr('keys', 'renew', '--passphrase-file', 'other-passphrase'), 1, '[passphrase-wrong]');
    await expectError(wispr('keys', 'sign', 'wispr.json', '--key', 'ada.key', '--yes'), 1, '[draft-refused]');
  });
});

describe('wispr keys list, where publisher.keys is older than what is published', () => {
  it('says so, and not that something waits to be published', async () => {
    const own = await createWorkspace({ 'a.html': '<p>a' });
    const inOwn = (name: string) => join(own.directory, name);
    const list = () => runWispr(['keys', 'list', '--passphrase-file', at('passphrase')], { cwd: own.directory });
    await own.protect();
    await copyFile(inOwn('publisher.keys'), inOwn('older.keys'));
    await rotateRole({ configurationFile: own.configurationFile, passphrase: PASSPHRASE }, 'targets');
    const ahead = await list();
    expect(ahead.stderr).toContain(
      'root 2 is not published yet; readers know root 1\nwispr: hint: run "wispr publish", or "wispr protect" where',
    );
    await own.protect();
    expect((await list()).stderr).toBe('');
    await copyFile(inOwn('older.keys'), inOwn('publisher.keys'));
    const older = await list();
    expect(older.stderr).toMatch(
      /^wispr: root 2 is published, and publisher\.keys knows of root 1: it is older\nwispr: hint: bring /,
    );
    expect(older.stderr).not.toContain('not published yet');
    expectOneVoice(older);
    await own.remove();
  });
});

describe('wispr timestamp', () => {
  it('confirms with the one key that it needs, and is quiet for cron', async () => {
    const made = await wispr(
      'keys',
      'export',
      'timestamp',
      'cron.key',
      ...withPassphrase,
      '--new-passphrase-file',
      'other-passphrase',
    );
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cron\.key +SECRET/) });
    const unasked = wispr('keys', 'export', 'timestamp', 'another.key', ...withPassphrase);
    await expectError(unasked, 2, 'there is no terminal', '--new-passphrase-file FILE');
    await publish({ version: 5 });
    const cron = ['timestamp', '--key', 'cron.key', '--passphrase-file', 'other-passphrase'];
    expect(await wispr(...cron, '--metadata', METADATA, '-q')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await wispr('timestamp', ...withPassphrase)).stdout).toMatch(
      /^Publication 5 is confirmed until [\d-]{10} \d\d:\d\d UTC: \S+protected\n$/,
    );
    await expectError(wispr(...cron), 2, '--key needs --metadata');
    await expectError(wispr('timestamp', '--metadata', METADATA, ...withPassphrase), 2, '--metadata needs --key');
    const wrongFile = wispr('timestamp', '--key', 'publisher.keys', '--metadata', METADATA, ...withPassphrase);
    await expectError(wrongFile, 1, '[key-file-refused]');
    await publish({ version: 4 });
    await expectError(wispr(...cron, '--metadata', METADATA, '-q'), 1, '[publication-older]');
    await publish({ version: 6, days: { snapshot: 3 } });
    const soon = await wispr(...cron, '--metadata', METADATA, '-q');
    expect(soon.code).toBe(0);
    expect(soon.stderr).toMatch(
      /^wispr: the publication's signatures end on [\d-]{10}, in \d days?\nwispr: hint: .*\n$/,
    );
  });
});
