import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './measure.ts';
import { NODE, WISPR } from './processes.ts';

/** @param endings - remove it, with what is in it then */
export async function temporaryFolder(name: string, endings: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `wispr-${name}-`));
  endings.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A publisher's workspace in a temporary directory, made with the command line as a user would. */
export interface Workspace {
  readonly directory: string;
  readonly source: string;
  readonly passphraseFile: string;
  wispr(...args: string[]): Promise<string>;
  remove(): Promise<void>;
}

/** @param name - for the directory's name */
export async function createWorkspace(name: string): Promise<Workspace> {
  const directory = await mkdtemp(join(tmpdir(), `wispr-bench-${name}-`));
  const passphraseFile = join(directory, 'passphrase');
  await writeFile(passphraseFile, 'bench bench bench\n', { mode: 0o600 });
  const wispr = (...args: string[]) => runCommand(NODE, [WISPR, ...args], directory);
  await mkdir(join(directory, 'site'));
  await wispr('init', 'http://bench.example', '--passphrase-file', passphraseFile);
  return {
    directory,
    source: join(directory, 'site'),
    passphraseFile,
    wispr,
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Does `work` in a workspace whose site `fill` has written. */
export async function inWorkspace<Result>(
  name: string,
  fill: (source: string) => Promise<void>,
  work: (workspace: Workspace) => Promise<Result>,
): Promise<Result> {
  const workspace = await createWorkspace(name);
  try {
    await fill(workspace.source);
    return await work(workspace);
  } finally {
    await workspace.remove();
  }
}

/** Lists arguments to publish in a workspace. */
export function protectArguments({ passphraseFile }: Workspace): string[] {
  return ['protect', '--quiet', '--passphrase-file', passphraseFile];
}

/** Forgets everything that was protected before. */
export async function forget({ directory }: Workspace): Promise<void> {
  for (const ending of ['', '-wal', '-shm', '-journal'])
    await rm(join(directory, `publisher.db${ending}`), { force: true });
}
