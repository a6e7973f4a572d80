/**
 * `npm run build:release -- --key FILE [--unpublished] [DIR]`: the npm package, the single executables, the Debian packages, a bill of materials,
 * SHA-256 sums and their signature, in a folder of `DIR`. The same commit gives the same bytes, and with an Ed25519 key the same signature.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import facts from '../release.json' with { type: 'json' };
import { billOfMaterials } from './bill-of-materials.ts';
import { TARGETS } from './pinned-node.ts';

const ROOT = join(import.meta.dirname, '..');
const SUMS = 'SHA256SUMS';
/** Names that docs/install.md uses. */
const [SIGNER, NAMESPACE] = ['wispr', 'wispr-release'];

type Facts = Readonly<Record<keyof typeof facts, string>>;

interface Options {
  /** File of ssh-keygen, with `.pub` beside it. */
  readonly key: string;
  readonly unpublished: boolean;
  readonly directory: string;
}

function readOptions(): Options {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { key: { type: 'string' }, unpublished: { type: 'boolean', default: false } },
  });
  const { key, unpublished } = values;
  if (key === undefined) throw new Error('--key FILE is missing: an Ed25519 key of ssh-keygen signs the release');
  return { key: resolve(key), unpublished, directory: resolve(positionals[0] ?? join(ROOT, 'dist')) };
}

/** Says why a release must not be published yet. @param changed - what `git status --porcelain` says */
export function whyUnpublished(facts: Facts, manifest: object, changed: string): string | undefined {
  const empty = Object.entries(facts).flatMap(([name, fact]) => (fact === '' ? [name] : []));
  if (empty.length > 0) return `release.json lacks ${empty.join(', ')}`;
  const { repository, bugs }: Partial<Facts> = manifest;
  if (repository !== facts.repository || bugs !== facts.bugs)
    return 'repository or bugs of package.json are not those of release.json';
  return changed === '' ? undefined : `this is no commit: ${changed.trim()}`;
}

async function release({ key, unpublished, directory }: Options): Promise<string> {
  const reason = whyUnpublished(facts, packageJson, output('git', ['status', '--porcelain']));
  if (reason !== undefined && !unpublished) throw new Error(`${reason}; --unpublished builds all the same`);
  const out = join(directory, `wispr-${packageJson.version}${unpublished ? '-unpublished' : ''}`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const time = output('git', ['log', '-1', '--format=%ct']).trim();
  process.env.SOURCE_DATE_EPOCH = time;
  run('npm', ['pack', '--loglevel=error', '--pack-destination', out]);
  run(process.execPath, ['scripts/build-single.mjs', out, ...TARGETS.flatMap((target) => ['--target', target])]);
  for (const architecture of ['amd64', 'arm64'])
    run(process.execPath, ['scripts/build-deb.ts', '--arch', architecture, out]);
  await seal(out, key, Number(time));
  return out;
}

/** Adds bill of materials, sums and signature to a folder. @param key - of ssh-keygen, with the public key beside it */
export async function seal(folder: string, key: string, time: number): Promise<void> {
  const bill = billOfMaterials(await sumsOf(folder), time);
  writeFileSync(join(folder, `wispr-${packageJson.version}.cdx.json`), bill);
  writeFileSync(join(folder, SUMS), await sumsOf(folder));
  run('ssh-keygen', ['-q', '-Y', 'sign', '-f', key, '-n', NAMESPACE, join(folder, SUMS)]);
  const publicKey = readFileSync(`${key}.pub`, 'utf8');
  writeFileSync(join(folder, 'allowed_signers'), `${SIGNER} namespaces="${NAMESPACE}" ${publicKey}`);
}

async function sumsOf(folder: string): Promise<string> {
  const lines: string[] = [];
  for (const file of readdirSync(folder).sort()) {
    const hash = createHash('sha256');
    for await (const bytes of createReadStream(join(folder, file))) hash.update(bytes);
    lines.push(`${hash.digest('hex')}  ${file}\n`);
  }
  return lines.join('');
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd: ROOT, stdio: ['inherit', 'ignore', 'inherit'] });
}

function output(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { cwd: ROOT, encoding: 'utf8' });
}

if (import.meta.main)
  try {
    process.stdout.write(`${await release(readOptions())}\n`);
  } catch (error) {
    process.stderr.write(`build-release: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
