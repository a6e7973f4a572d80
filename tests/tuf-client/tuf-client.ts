#!/usr/bin/env node
/**
 * The client of core/publication as a program that speaks the command line of the public conformance suite of TUF: see README.md beside it.
 * It reads any TUF repository; a reader of publications demands more (docs/spec/publication.md, "Reading").
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PublicationClient } from '../../core/publication/client.ts';
import type { TargetInfo } from '../../core/publication/metadata.ts';
import { verifyForeign } from './foreign-keys.ts';
import { FolderStore, fetchFile, HttpSource, replaceFile } from './repository.ts';

const USAGE = `tuf-client --metadata-dir DIR init ROOT
tuf-client --metadata-dir DIR --metadata-url URL refresh
tuf-client --metadata-dir DIR --metadata-url URL --target-name NAME… --target-base-url URL --target-dir DIR download
`;

const OPTIONS = {
  'metadata-dir': { type: 'string' },
  'metadata-url': { type: 'string' },
  'target-name': { type: 'string', multiple: true },
  'target-base-url': { type: 'string' },
  'target-dir': { type: 'string' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>['values'];

try {
  await main();
} catch (error) {
  const code = (error as { code?: string }).code;
  process.stderr.write(`tuf-client: ${code ? `${code}: ` : ''}${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const [command, root] = positionals;
  if (command === 'init' && root) return init(wanted(values, 'metadata-dir'), root);
  if (command !== 'refresh' && command !== 'download') throw new Error(`what is it to do?\n${USAGE}`);
  const client = openClient(wanted(values, 'metadata-dir'), wanted(values, 'metadata-url'));
  const now = Math.floor(Date.now() / 1000); // 5.1: one time for everything
  await client.refresh(now);
  if (command === 'download') for (const name of values['target-name'] ?? []) await download(client, name, now, values);
}

function init(folder: string, root: string): void {
  mkdirSync(folder, { recursive: true });
  copyFileSync(root, join(folder, 'root.json'));
}

function openClient(folder: string, url: string): PublicationClient {
  return new PublicationClient({
    source: new HttpSource(url),
    store: new FolderStore(folder),
    verify: verifyForeign,
    strict: false,
    grace: 0,
    firstRoot: () => Promise.reject(new Error(`${folder} has no root.json that could be trusted`)),
  });
}

/** 5.7 */
async function download(client: PublicationClient, name: string, now: number, values: Values): Promise<void> {
  const target = await client.target(name, now);
  if (target === undefined) throw new Error(`the repository has no target ${name}`);
  const folder = wanted(values, 'target-dir');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, encodeURIComponent(name));
  if (isTarget(readIfThere(file), target)) return;
  const base = wanted(values, 'target-base-url').replace(/\/?$/, '/');
  const bytes = await fetchFile(base + targetUrl(name, target, client.state?.root.consistentSnapshot), target.length);
  if (!isTarget(bytes, target)) throw new Error(`${name} is not what the repository says it is`);
  replaceFile(file, bytes);
}

/** 5.7.3: with consistent snapshots the hash stands before the name. */
function targetUrl(name: string, { sha256 }: TargetInfo, consistent = false): string {
  const segments = name.split('/').map(encodeURIComponent);
  if (consistent) segments.push(`${sha256}.${segments.pop()}`);
  return segments.join('/');
}

function isTarget(bytes: Uint8Array | undefined, { length, sha256 }: TargetInfo): bytes is Uint8Array {
  return bytes?.length === length && createHash('sha256').update(bytes).digest('hex') === sha256;
}

function readIfThere(file: string): Uint8Array | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

function wanted(values: Values, name: Exclude<keyof typeof OPTIONS, 'target-name'>): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is wanted\n${USAGE}`);
  return value;
}
