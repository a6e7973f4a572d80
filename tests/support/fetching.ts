/** `wispr fetch` by a reader with their own home directory, directly or from a shell. */
import { randomBytes } from 'node:crypto';
import { type Ended, startCommand } from './programs.ts';
import type { ReaderHome } from './reader-home.ts';

/** A document of several blocks. */
export async function publishLarge({ publisher, host }: ReaderHome, path: string, length = 300_000): Promise<Buffer> {
  const content = randomBytes(length);
  const metadata = { mediaType: 'application/octet-stream' };
  await publisher.publish(host.files, path, { content, metadata, blockChunks: 1 });
  return content;
}

/** Runs a script of a shell that does the rest, with the command line of a `wispr fetch` as `$WISPR`, to be used by `eval`. */
export function fetchInShell(reader: ReaderHome, cwd: string, script: string, ...args: string[]): Promise<Ended> {
  const command = ['node', `${process.cwd()}/bin/wispr.js`, 'fetch', ...args, ...reader.connectTo];
  const options = reader.atHome({ cwd, env: { WISPR: command.map((word) => `'${word}'`).join(' ') } });
  return startCommand(['bash', '-c', script], options).ended;
}
