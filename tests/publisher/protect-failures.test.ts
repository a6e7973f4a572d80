/** Failures in the middle of the work: readers find the publication before, no key is lost, and the next run goes on (attack 67). */
import { spawn } from 'node:child_process';
import { appendFileSync, chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { ProtectOptions } from '../../publisher/protect/protect.ts';
import { isLeftoverName } from '../../publisher/protect/writers/files.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { asOrdinaryUser } from '../support/ordinary-user.ts';
import { type Ended, ROOT, startCommand } from '../support/programs.ts';
import { IS_RELEASE } from '../support/tier.ts';
import { runWisprProgram } from '../support/wispr.ts';
import { contentOf, createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const MiB = 1024 * 1024;
const PRELOAD = new URL('../support/kill-at-step.mjs', import.meta.url).href;

let workspace: TestWorkspace;
beforeEach(async () => {
  const files = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`${index + 30}.txt`, `text ${index}`]));
  workspace = await createWorkspace(files);
  const recipient = xwingKeyPair(randomBytes(32));
  await writeFile(join(workspace.directory, 'keyserver.pub'), toBase64url(recipient.publicKey));
  await workspace.protect();
});
afterEach(() => workspace.remove());

/** Adds documents of a new set, so that keys change, then expects a failure that readers do not notice. */
async function expectFailure(code: string, interfere: () => void): Promise<Error> {
  await workspace.write('new.html', '<meta name="wispr-set" content="new"><title>x</title>');
  await workspace.write('39.txt', 'text 99');
  const before = await readersView();
  let interfered = false;
  const onProgress = ({ stage }: { stage: string }) => {
    if (!interfered && stage === 'writing') interfere();
    interfered ||= stage === 'writing';
  };
  const error = await workspace.protect({ onProgress }).catch((each: unknown) => each);
  expect(interfered).toBe(true);
  expect(error).toMatchObject({ name: 'PublishError', code });
  expect(await readersView()).toEqual(before);
  expect((await readdir(workspace.out)).filter((name) => /\.new$/.test(name))).toEqual([]);
  return error as Error;
}

/** The error of a run by a user for whom `name` has this mode. */
function protectAsOrdinaryUser(options: Partial<ProtectOptions> = {}, name = '', mode?: number): Promise<unknown> {
  return asOrdinaryUser(workspace.directory, () => {
    if (mode !== undefined) chmodSync(join(workspace.directory, name), mode);
    return workspace.protect(options).catch((each: unknown) => each);
  });
}

/** Reads what the publication says, and every document in it. */
async function readersView(): Promise<Map<string, string>> {
  const published = await workspace.published();
  const contents = published.paths.map(async (path): Promise<[string, string]> => {
    return [path, String(await contentOf(await published.open(path)))];
  });
  return new Map([...(await Promise.all(contents)), ['version', String(published.version)]]);
}

describe('a file of the source that, during the work,', () => {
  it.each<[string, (file: string) => void]>([
    ['vanishes', (file) => rmSync(file)],
    ['changes', (file) => writeFileSync(file, 'text XX')],
  ])('%s', async (_, interfere) => {
    const error = await expectFailure('source-refused', () => interfere(join(workspace.source, '39.txt')));
    expect(error.message).toContain('/39.txt');
  });

  it('grows while it streams', async () => {
    const file = join(workspace.source, '0-large.bin');
    await workspace.write('0-large.bin', '');
    await truncate(file, 16 * MiB);
    await expectFailure('source-refused', () => appendFileSync(file, 'x'));
  });

  it('is replaced by another of the same length', async () => {
    await expectFailure('source-refused', () => {
      writeFileSync(join(workspace.directory, 'other'), 'text 9!');
      renameSync(join(workspace.directory, 'other'), join(workspace.source, '39.txt'));
    });
  });

  it('cannot be read', async () => {
    await workspace.write('99-private.txt', 'x');
    await chmod(join(workspace.source, '99-private.txt'), 0);
    const before = await readersView();
    const error = await protectAsOrdinaryUser();
    expect(error).toMatchObject({ code: 'source-refused', message: expect.stringContaining('/99-private.txt') });
    expect(await readersView()).toEqual(before);
  });
});

describe('an output that', () => {
  it.each([
    ['small.bin', 3 * MiB],
    ['large.bin', 5 * MiB],
  ])(
    'attack 67: cannot be written for want of room leaves readers what they had, and nothing half done: %s',
    async (name, size) => {
      await workspace.write(name, randomBytes(size));
      const before = await readersView();
      const { code, stderr } = await protectWithFullDisk();
      const message = new RegExp(`^wispr: cannot write .*${name}\\.protected: E(?:FBIG|NOSPC)`, 'm');
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
      expect(stderr).toMatch(/^wispr: hint: /m);
      expect(await readersView()).toEqual(before);
      expect(
        (await readdir(workspace.out, { recursive: true })).filter((path) => isLeftoverName(basename(path))),
      ).toEqual([]);
      await workspace.protect();
      expect((await readersView()).get('version')).not.toBe(before.get('version'));
    },
  );

  it('attack 67: lies where nothing can be written leaves everything as it was', async () => {
    await mkdir(join(workspace.directory, 'locked'), { mode: 0o555 });
    const before = await readersView();
    const error = await protectAsOrdinaryUser({ out: 'locked/out' });
    expect(error).toMatchObject({ code: 'output-failed', message: expect.stringContaining('permission denied') });
    expect(await readersView()).toEqual(before);
  });

  it('attack 67: may not be changed any more leaves readers what they had', async () => {
    await workspace.write('new.txt', 'new');
    const before = await readersView();
    for (const directory of [workspace.out, join(workspace.out, '.well-known/wispr')]) await chmod(directory, 0o555);
    const error = await protectAsOrdinaryUser();
    for (const directory of [workspace.out, join(workspace.out, '.well-known/wispr')]) await chmod(directory, 0o755);
    expect(error).toMatchObject({ code: 'output-failed', message: expect.stringContaining('permission denied') });
    expect(await readersView()).toEqual(before);
  });

  it('attack 67: has an index that may not be changed is not begun', async () => {
    await workspace.write('new.txt', 'new');
    const before = await readersView();
    const error = await protectAsOrdinaryUser({}, 'publisher.db', 0o400);
    expect(error).toMatchObject({ code: 'output-failed', message: expect.stringContaining('publisher.db') });
    expect(await readersView()).toEqual(before);
  });

  it('an interrupted run left is put right', async () => {
    await writeFile(join(workspace.directory, '.wispr-new-0123456789ab'), 'half');
    await writeFile(join(workspace.out, '.wispr-new-0123456789ab'), 'half');
    await workspace.protect();
    expect(await readdir(workspace.directory)).not.toContain('.wispr-new-0123456789ab');
    expect(await readdir(workspace.out)).not.toContain('.wispr-new-0123456789ab');
  });
});

/** Changes, one of each kind: an object or a row, the last file before the timestamp, the timestamp; in the release tier, each. */
describe('attack 66: kill -9 while a site is protected again', () => {
  it.each(IS_RELEASE ? Array.from({ length: 22 }, (_, index) => index + 1) : [10, 16, 22])(
    'after change %i of files and database leaves one whole publication, and the next run goes on',
    async (step) => {
      const before = await readersView();
      for (const name of ['37.txt', '38.txt', '39.txt']) await workspace.write(name, 'later');
      const { code } = await runWisprProgram(await protectArguments(), {
        env: { ...process.env, NODE_OPTIONS: `--import=${PRELOAD}`, WISPR_KILL_AT: String(step) },
      });
      expect(code).toBeNull();
      const later = new Map([
        ...before,
        ...['37', '38', '39'].map((name) => [`/${name}.txt`, 'later'] as const),
        ['version', '2'],
      ]);
      const left = await readersView();
      expect(left).toEqual(left.get('version') === '1' ? before : later);
      await workspace.protect();
      expect((await readersView()).get('/38.txt')).toBe('later');
      expect((await verifyTree(workspace.out)).findings).toEqual([]);
    },
  );
});

describe('two runs at a time', () => {
  it('are one too many', async () => {
    const results = await Promise.allSettled([workspace.protect(), workspace.protect()]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const failed = results.find((result) => result.status === 'rejected');
    expect(failed?.reason).toMatchObject({ code: 'store-busy' });
    await workspace.protect();
  });

  it('are possible when the first was killed, and while it lives they are not', async () => {
    const script = `
      import { withLock, workspaceOf } from ${JSON.stringify(new URL('../../publisher/workspace/workspace.ts', import.meta.url).href)};
      withLock(workspaceOf(process.argv[1]), () => new Promise((resolve) => process.once('SIGHUP', resolve)));
      setInterval(() => {}, 60_000);
      console.log('locked');`;
    const args = ['--input-type=module', '--eval', script, workspace.configurationFile];
    const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'store-busy' });
    const gone = new Promise((resolve) => holder.once('exit', resolve));
    holder.kill('SIGKILL');
    await gone;
    await expect(workspace.protect()).resolves.toBeDefined();
    expect((await stat(join(workspace.directory, 'publisher.db'))).mode & 0o777).toBe(0o600);
  });

  it('say so where the lock cannot be made', async () => {
    await rm(join(workspace.directory, 'publisher.db'));
    await symlink('/nonexistent/nowhere', join(workspace.directory, 'publisher.db'));
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'output-failed' });
  });
});

describe('a workspace', () => {
  it('whose keys may not be read says that nothing is lost: no backup is to take their place', async () => {
    const error = await protectAsOrdinaryUser({}, 'publisher.keys', 0);
    expect(error).toMatchObject({
      code: 'key-store-refused',
      remedy: expect.stringContaining('if it exists, make it readable'),
    });
  });

  it('where nothing can be written says so', async () => {
    const error = await protectAsOrdinaryUser({}, '.', 0o555);
    chmodSync(workspace.directory, 0o755);
    expect(error).toMatchObject({ code: 'output-failed' });
  });
});

/** Runs the program where no file may grow beyond 2 MiB: the system's answer to a write is the same as on a full disk, but for its name. */
async function protectWithFullDisk(): Promise<Ended> {
  const limited = ['sh', '-c', 'trap "" XFSZ; ulimit -f 4096; exec "$0" "$@"', process.execPath];
  return startCommand([...limited, `${ROOT}bin/wispr.js`, ...(await protectArguments())]).ended;
}

async function protectArguments(): Promise<string[]> {
  const passphrase = join(workspace.directory, 'passphrase');
  await writeFile(passphrase, PASSPHRASE, { mode: 0o600 });
  return ['protect', workspace.directory, '--passphrase-file', passphrase];
}
