/**
 * The output directory. A new one is written beside the old one, and takes its place by two renames:
 *
 *   OUT.new-XXXXXXXX   being written
 *   OUT.old-XXXXXXXX   the previous output, between the renames and until it is removed
 *
 * Whatever an interrupted run left is put right by the next one: if OUT is missing, the previous output goes back to its place.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH, hostProofLine, isHostProof } from '../../core/keys/descriptor.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import { isHtmlCarrier } from '../../core/object/carrier.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import { PublishError, systemCode, systemReason } from '../errors.ts';
import { listFiles } from '../list-files.ts';
import { isInside } from '../site/walk.ts';
import { count, printable, someOf } from '../text.ts';
import type { Workspace } from '../workspace.ts';
import { toOutput } from './document.ts';

/** A new output that is being written. */
export interface Staging {
  /** Where it is written. */
  readonly directory: string;
  /** Puts it into the place of the old one, which comes back if that fails. */
  swap(): Promise<void>;
  /** Removes the old output, once nothing can fail any more. */
  finish(): Promise<void>;
  /** Removes what was written, and undoes the swap. */
  discard(): Promise<void>;
}

/** What desktops put into directories by themselves; nobody misses it. */
const LITTER = new Set(['.DS_Store', 'Thumbs.db', 'desktop.ini']);

/**
 * Where the output goes, with links resolved, once it is sure that nothing of the publisher's own lies in its way.
 *
 * @throws PublishError `workspace-overlap`
 */
export function resolveOutput(out: string, source: string, workspace: Workspace): string {
  const target = resolveMissing(resolve(workspace.directory, out));
  const realSource = resolveMissing(source);
  const refuse = (message: string) =>
    new PublishError('workspace-overlap', message, { hint: 'change "out" or "source" in wispr.json' });
  if (isInside(target, realSource))
    throw refuse(`the output ${target} lies inside the source, and would be published again`);
  if (isInside(realSource, target))
    throw refuse(`the source lies inside the output ${target}, which is replaced as a whole`);
  for (const file of [workspace.keyStore, workspace.configuration]) {
    const real = resolveMissing(file);
    if (isInside(real, target)) throw refuse(`${file} lies inside the output ${target}, which is replaced as a whole`);
    if (isInside(real, realSource)) throw refuse(`${file} lies inside the source, and would be published`);
  }
  return target;
}

/**
 * Puts right what an interrupted run of the same publisher left. A link is none of it, wherever it leads.
 *
 * @returns what was done, in plain words
 */
export async function recoverOutput(out: string, publisher: KeyId): Promise<string[]> {
  const done: string[] = [];
  const prefix = `${basename(out)}.`;
  const names = await readdir(dirname(out)).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(prefix) || !/^(?:new|old)-[0-9a-f]{8}$/.test(name.slice(prefix.length))) continue;
    const left = join(dirname(out), name);
    if (!(await isOwnOrEmpty(left, publisher))) continue;
    if (name.includes('.old-') && !existsSync(out)) {
      await toOutput(out, rename(left, out));
      done.push('an earlier run was interrupted: the output before it was put back');
    } else {
      await toOutput(left, removeOutput(left));
      done.push(`what an interrupted run had left in ${name} was removed`);
    }
  }
  return done;
}

/**
 * Makes sure that replacing `out` destroys nothing that wispr did not make.
 *
 * @throws PublishError `output-foreign`
 */
export async function checkReplaceable(out: string, publisher: KeyId): Promise<void> {
  const hint = 'move what is there away, or choose another "out" in wispr.json';
  if (!existsSync(out)) return;
  const files = (await toOutput(out, listFiles(out))).filter((entry) => !LITTER.has(entry.name));
  if (files.length === 0) return;
  if (!isHostProof(await readHostProof(out), publisher)) {
    throw new PublishError('output-foreign', `${out} is not an output of this workspace, and was not touched`, {
      hint,
    });
  }
  const paths = new Set(files.map((entry) => join(entry.parentPath, entry.name)));
  const foreign: string[] = [];
  for (const entry of files) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !(await isOwnFile(path, paths, out))) foreign.push(printable(relative(out, path)));
  }
  if (foreign.length === 0) return;
  const message = `${out} holds ${count(foreign.length, 'file')} that wispr did not make, and was not touched: ${someOf(foreign)}`;
  throw new PublishError('output-foreign', message, { hint });
}

/** Begins a new output beside the old one. */
export async function beginOutput(out: string, publisher: KeyId): Promise<Staging> {
  const suffix = randomBytes(4).toString('hex');
  const directory = `${out}.new-${suffix}`;
  const old = `${out}.old-${suffix}`;
  let hasOld = false;
  let swapped = false;
  await toOutput(directory, mkdir(join(directory, dirname(HOST_PROOF_PATH)), { recursive: true }));
  // The first file: it tells that the directory is ours, should this run be interrupted.
  await toOutput(directory, writeFile(join(directory, HOST_PROOF_PATH), `${hostProofLine(publisher)}\n`));
  const putBack = async () => {
    if (swapped) await rename(out, directory);
    if (hasOld) await rename(old, out);
    [swapped, hasOld] = [false, false];
  };
  return {
    directory,
    swap: async () => {
      hasOld = await toOutput(out, renameIfThere(out, old));
      await toOutput(out, rename(directory, out));
      swapped = true;
      await syncDirectory(dirname(out));
    },
    // What cannot be removed now is removed by the next run.
    finish: () => removeOutput(old).catch(() => undefined),
    discard: async () => {
      await putBack();
      await removeOutput(directory);
    },
  };
}

/** Removes an output; last of all the file by which the next run knows what it is, should this one be interrupted. */
async function removeOutput(directory: string): Promise<void> {
  const proof = HOST_PROOF_PATH.split('/')[1];
  for (const name of await readdir(directory).catch(() => [])) {
    if (name !== proof) await rm(join(directory, name), { recursive: true, force: true });
  }
  await rm(directory, { recursive: true, force: true });
}

async function renameIfThere(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}

async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory);
  await handle.sync();
}

/** The real path of something that need not exist yet. */
function resolveMissing(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' || dirname(path) === path) {
      throw new PublishError('output-failed', `cannot look at ${path}: ${systemReason(error)}`, { cause: error });
    }
    return join(resolveMissing(dirname(path)), basename(path));
  }
}

async function isOwnOrEmpty(directory: string, publisher: KeyId): Promise<boolean> {
  const found = await lstat(directory).catch(() => undefined);
  if (!found?.isDirectory()) return false;
  const names = await readdir(directory).catch(() => undefined);
  if (names === undefined) return false;
  return names.length === 0 || isHostProof(await readHostProof(directory), publisher);
}

async function readHostProof(directory: string): Promise<string> {
  return readFile(join(directory, HOST_PROOF_PATH), 'utf8').catch(() => '');
}

async function isOwnFile(file: string, files: ReadonlySet<string>, out: string): Promise<boolean> {
  if (file.endsWith(OBJECT_SUFFIX) || files.has(file + OBJECT_SUFFIX)) return true;
  const path = file.slice(out.length).replaceAll(sep, '/');
  if (path === HOST_PROOF_PATH || path === DESCRIPTOR_PATH) return true;
  await using handle = await open(file);
  const start = Buffer.alloc(32);
  await handle.read(start, 0, start.length, 0);
  return isHtmlCarrier(start);
}
