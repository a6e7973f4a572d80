/** Failures in the middle of the work: old output and keys stay as they were, and nothing is left behind. */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import {
  chmod,
  chown,
  cp,
  lchown,
  mkdir,
  readdir,
  readFile,
  rename,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { createWorkspace, PASSPHRASE, snapshot, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
beforeEach(async () => {
  const files = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index + 10}.txt`, `text ${index}`]));
  workspace = await createWorkspace(files);
  const recipient = xwingKeyPair(randomBytes(32));
  await writeFile(join(workspace.directory, 'keyserver.pub'), toBase64url(recipient.publicKey));
  await workspace.protect();
});
afterEach(() => workspace.remove());

/** Adds documents of a new set, so that keys would change, then expects a failure that changes nothing. */
async function expectFailure(code: string, interfere: () => void): Promise<Error> {
  await workspace.write('new.html', '<meta name="wispr-set" content="new"><title>x</title>');
  const { directory } = workspace;
  const before = await stateOf(directory);
  let interfered = false;
  const onProgress = () => {
    if (!interfered) interfere();
    interfered = true;
  };
  const error = await workspace.protect({ onProgress }).catch((each: unknown) => each);
  expect(interfered).toBe(true);
  expect(error).toMatchObject({ name: 'PublishError', code });
  expect(await stateOf(directory)).toEqual(before);
  return error as Error;
}

/** Everything in the workspace but the source, which the test itself changes. */
async function stateOf(directory: string): Promise<Map<string, string>> {
  const files = await snapshot(directory);
  return new Map([...files].filter(([path]) => !path.startsWith('site/')));
}

describe('a file of the source that, during the work,', () => {
  it('vanishes', async () => {
    const error = await expectFailure('source-unreadable', () => rmSync(join(workspace.source, '39.txt')));
    expect(error.message).toContain('/39.txt');
  });

  it('changes', async () => {
    const error = await expectFailure('source-changed', () =>
      writeFileSync(join(workspace.source, '39.txt'), 'text XX'),
    );
    expect(error.message).toContain('/39.txt');
  });

  it('grows while it streams', async () => {
    const file = join(workspace.source, '0-large.bin');
    await workspace.write('0-large.bin', '');
    await truncate(file, 64 * 1024 * 1024);
    await expectFailure('source-changed', () => appendFileSync(file, 'x'));
  });

  it('is replaced by another of the same length', async () => {
    await expectFailure('source-changed', () => {
      writeFileSync(join(workspace.directory, 'other'), 'text 29');
      renameSync(join(workspace.directory, 'other'), join(workspace.source, '39.txt'));
    });
  });

  it('cannot be read', async () => {
    await workspace.write('99-private.txt', 'x');
    await chmod(join(workspace.source, '99-private.txt'), 0);
    const before = await stateOf(workspace.directory);
    const error = await asOrdinaryUser(workspace.directory, () => workspace.protect().catch((each: unknown) => each));
    expect(error).toMatchObject({ code: 'source-unreadable', message: expect.stringContaining('/99-private.txt') });
    expect(await stateOf(workspace.directory)).toEqual(before);
  });
});

describe('an output that', () => {
  it('cannot be written for want of room leaves everything as it was', async () => {
    await workspace.write('large.bin', randomBytes(9 * 1024 * 1024));
    const before = await stateOf(workspace.directory);
    const { code, stderr } = await protectWithFullDisk(workspace);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^wispr: cannot write .*large\.bin\.protected: E(?:FBIG|NOSPC)/m),
    ]);
    expect(stderr).toMatch(/^wispr: hint: the new output is written beside the old one/m);
    expect(await stateOf(workspace.directory)).toEqual(before);
  });

  it('lies where nothing can be written leaves everything as it was', async () => {
    await mkdir(join(workspace.directory, 'locked'), { mode: 0o555 });
    const before = await stateOf(workspace.directory);
    const error = await asOrdinaryUser(workspace.directory, () =>
      workspace.protect({ out: 'locked/out' }).catch((each: unknown) => each),
    );
    expect(error).toMatchObject({ code: 'output-failed', message: expect.stringContaining('permission denied') });
    expect(await stateOf(workspace.directory)).toEqual(before);
  });

  it('cannot take the old one’s place leaves everything as it was, keys included', async () => {
    // Something lies where the old output is to be moved to: known only once the new one is being written, and met only after the keys were replaced.
    await expectFailure('output-failed', () => {
      const staging = readdirSync(workspace.directory).find((name) => name.startsWith('protected.new-')) ?? '';
      mkdirSync(join(workspace.directory, staging.replace('.new-', '.old-'), 'in the way'), { recursive: true });
    });
  });

  it('was left by an interrupted run is put right', async () => {
    const good = await snapshot(workspace.out);
    await rename(workspace.out, `${workspace.out}.old-0123abcd`);
    await mkdir(join(`${workspace.out}.new-0123abcd`, '.well-known'), { recursive: true });
    await writeFile(
      join(`${workspace.out}.new-0123abcd`, '.well-known/wispr-site'),
      good.get('.well-known/wispr-site') ?? '',
      'base64',
    );
    await writeFile(join(workspace.directory, 'publisher.keys.new-0123abcd'), 'half');
    await workspace.write('bad.protected', 'x');
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'source-refused' });
    rmSync(join(workspace.source, 'bad.protected'));
    const { recovered } = await workspace.protect();
    expect([...recovered].sort()).toEqual([
      'an earlier run was interrupted: the output before it was put back',
      'what an interrupted run had left in protected.new-0123abcd was removed',
    ]);
    expect((await readdir(workspace.directory)).sort()).toEqual(
      ['keys.bundle', 'keyserver.pub', 'protected', 'publisher.keys', 'root.keys', 'site', 'wispr.json'].sort(),
    );
  });

  it('only looks like a leftover is not touched', async () => {
    const foreign = `${workspace.out}.old-0123abcd`;
    await mkdir(foreign);
    await writeFile(join(foreign, 'thesis.txt'), 'years of work');
    await mkdir(`${workspace.out}.old-2026`);
    await workspace.protect();
    expect(await readFile(join(foreign, 'thesis.txt'), 'utf8')).toBe('years of work');
    expect(await readdir(workspace.directory)).toContain('protected.old-2026');
  });
});

describe('nothing is taken for a leftover that is', () => {
  it('a link named like one: what it leads to stays', async () => {
    const elsewhere = join(workspace.directory, 'elsewhere');
    await cp(workspace.out, elsewhere, { recursive: true });
    const before = await snapshot(elsewhere);
    for (const kind of ['old', 'new']) await symlink(elsewhere, `${workspace.out}.${kind}-0123abcd`);
    const { recovered } = await workspace.protect();
    expect([recovered, await snapshot(elsewhere)]).toEqual([[], before]);
    expect(before.size).toBeGreaterThan(30);
  });

  it('another publisher’s output', async () => {
    const other = await createWorkspace({ 'a.txt': 'a' });
    const theirs = `${workspace.out}.old-0123abcd`;
    await other.protect({ out: theirs });
    await other.remove();
    const before = await snapshot(theirs);
    const { recovered } = await workspace.protect();
    expect([recovered, await snapshot(theirs)]).toEqual([[], before]);
  });
});

describe('two runs at a time', () => {
  it('are one too many', async () => {
    const results = await Promise.allSettled([workspace.protect(), workspace.protect()]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const failed = results.find((result) => result.status === 'rejected');
    expect(failed?.reason).toMatchObject({ code: 'workspace-busy' });
    await workspace.protect();
  });

  it('a lock of a process that is gone is taken over', async () => {
    const gone = spawn('true');
    await new Promise((resolve) => gone.once('exit', resolve));
    await writeFile(join(workspace.directory, 'publisher.keys.lock'), String(gone.pid));
    await workspace.protect();
    await symlink('nowhere', join(workspace.directory, 'publisher.keys.lock'));
    await expect(workspace.protect()).resolves.toBeDefined();
  });

  it('a lock of a process that lives is not', async () => {
    await writeFile(join(workspace.directory, 'publisher.keys.lock'), String(process.ppid));
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'workspace-busy' });
  });
});

/** Root can read and write everything; so where tests run as root, this is done as nobody. */
async function asOrdinaryUser<Result>(directory: string, work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return work();
  const nobody = 65_534;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    await lchown(path, nobody, nobody);
  }
  await chown(directory, nobody, nobody);
  process.seteuid?.(nobody);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

/** Runs the program where no file may grow beyond 4 MiB: the system's answer to a write is the same as on a full disk, but for its name. */
async function protectWithFullDisk({ directory }: TestWorkspace): Promise<{ code: number | null; stderr: string }> {
  const passphrase = join(directory, '..', `${randomName()}.passphrase`);
  await writeFile(passphrase, PASSPHRASE, { mode: 0o600 });
  const command = 'trap "" XFSZ; ulimit -f 8192; exec "$0" bin/wispr.js protect "$1" --passphrase-file "$2"';
  const child = spawn('sh', ['-c', command, process.execPath, directory, passphrase], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (data: Buffer) => {
    stderr += data;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  rmSync(passphrase);
  return { code, stderr };
}

function randomName(): string {
  return `wispr-${Buffer.from(randomBytes(6)).toString('hex')}`;
}
