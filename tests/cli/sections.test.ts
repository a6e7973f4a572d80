/** Sections, as a main office and its sports desk type it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runWispr } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
beforeAll(async () => {
  const sections = [{ name: 'sports', paths: ['sports/**'] }];
  workspace = await createWorkspace({ 'index.html': 'front', 'sports/a.html': 'a' }, { sections });
  await writeFile(at('passphrase'), PASSPHRASE, { mode: 0o600 });
  await writeFile(at('desk-passphrase'), 'the desk has its own', { mode: 0o600 });
});
afterAll(() => workspace.remove());

const at = (name: string) => join(workspace.directory, name);
const wispr = (...args: string[]) => runWispr(args, { cwd: workspace.directory });
const ours = ['--passphrase-file', 'passphrase'];
const desk = ['--key', 'desk.key', '--key-passphrase-file', 'desk-passphrase'];

it('a desk takes over its section, and the office publishes without it', async () => {
  expect((await wispr('check')).stdout).toContain('section sports  1 document');
  expect((await wispr('protect', '--dry-run')).stdout).toContain('section sports  1 document\n');
  expect((await wispr('protect', ...ours)).stdout).toContain('section sports  1 document\n');
  const first = await wispr('keys', 'list', ...ours);
  expect(first.stdout).toMatch(/\nsection:sports +[0-9a-f]{12} +publisher\.keys +1 of 1 +1 +\d{4}-\d\d-\d\d\n/);

  expect(await wispr('keys', 'new-signer', 'desk.key', '--passphrase-file', 'desk-passphrase')).toMatchObject({
    code: 0,
  });
  const added = await wispr('keys', 'add', 'section:sports', 'desk.key.pub', ...ours, '--json');
  const { own, keyids } = JSON.parse(added.stdout) as { own: string; keyids: string[] };
  expect(keyids).toHaveLength(2);
  const removed = await wispr('keys', 'remove', 'section:sports', own.slice(0, 8), ...ours);
  expect(removed.stdout).toMatch(/^The section sports is signed by 1 of 1 key:\n {2}[0-9a-f]{12} {2}elsewhere\n$/);

  const [left = ''] = keyids.filter((id) => id !== own);
  const last = await wispr('keys', 'remove', 'section:sports', left.slice(0, 8), ...ours);
  expect(last).toMatchObject({ code: 2, stderr: expect.stringMatching(/would have 0 keys/) });
  const few = await wispr('keys', 'remove', 'section:sports', left.slice(0, 8), '--threshold', '2', ...ours);
  expect(few.stderr).toContain('would have 0 keys');

  const refused = await wispr('protect', ...ours);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('[signatures-missing]');
  expect(refused.stderr).toContain('--key FILE');
  expect(await wispr('protect', ...ours, ...desk, '-q')).toMatchObject({ code: 0, stdout: '' });
  expect((await wispr('keys', 'list', '--public')).stdout).toContain(
    `section:sports  ${keyids.find((id) => id !== own)?.slice(0, 12)}`,
  );

  await workspace.write('sports/a.html', 'b');
  await workspace.write('index.html', 'another front');
  const waiting = await wispr('protect', ...ours, '-q');
  expect(waiting).toMatchObject({ code: 0, stdout: '' });
  expect(waiting.stderr).toContain('sports (1 change) is not published');
  const verified = await wispr('verify');
  expect(verified).toMatchObject({ code: 0 });
  expect(verified.stderr).toContain('1 document of them in the section sports');
  const done = await wispr('protect', ...ours, ...desk, '--json');
  expect(JSON.parse(done.stdout)).toMatchObject({ sections: [{ name: 'sports', documents: 1, waiting: 0 }] });
});

it('says what is wrong with an unknown section, and with a key of no section', async () => {
  const unknown = await wispr('keys', 'rotate', 'section:culture', ...ours);
  expect(unknown).toMatchObject({ code: 2 });
  expect(unknown.stderr).toContain('only sports');
  expect(await wispr('keys', 'rotate', 'section', ...ours)).toMatchObject({ code: 2 });
  expect(await wispr('keys', 'new-signer', 'nobody.key', ...ours)).toMatchObject({ code: 0 });
  const nobody = ['--key', 'nobody.key', '--key-passphrase-file', 'passphrase'];
  const stranger = await wispr('protect', ...ours, ...nobody);
  expect(stranger).toMatchObject({ code: 2 });
  expect(stranger.stderr).toContain('[signatures-missing]');
  // Each key has its passphrase, in their order; two files for one key are a slip.
  const both = ['--key', 'desk.key', ...nobody, '--key-passphrase-file', 'desk-passphrase'];
  expect((await wispr('protect', ...ours, ...both)).stderr).toContain('[passphrase-wrong]');
  const inOrder = ['--key', 'nobody.key', ...desk, '--key-passphrase-file', 'passphrase'];
  expect((await wispr('protect', ...ours, ...inOrder)).stderr).toContain('[passphrase-wrong]');
  const right = ['--key', 'desk.key', '--key', 'nobody.key', '--key-passphrase-file', 'desk-passphrase'];
  expect((await wispr('protect', ...ours, ...right, '--key-passphrase-file', 'passphrase')).stderr).toContain(
    '[signatures-missing]',
  );
  expect(await wispr('protect', ...ours, ...desk, '--key-passphrase-file', 'passphrase')).toMatchObject({ code: 2 });
  expect(await wispr('publish', '--no-protect', ...nobody)).toMatchObject({ code: 2 });
  expect(await wispr('protect', ...ours, '--key', 'absent.key')).toMatchObject({ code: 2, stdout: '' });
});
