/** `--parent-proxy`, and the way to name one with a password, which must not stand where every user sees the arguments of programs. */
import type { Command } from 'commander';
import { parseParentProxy } from '../client-proxy/index.ts';
import { readSecretLine } from './io/passphrase.ts';
import { UsageError } from './io/voice.ts';

export interface ParentProxyFlags {
  readonly parentProxy?: string;
  readonly parentProxyFile?: string;
}

export function addParentProxyOptions(command: Command): Command {
  return command
    .option('--parent-proxy <url>', 'fetch all plain HTTP through this proxy, for example http://127.0.0.1:3128')
    .option('--parent-proxy-file <file>', 'the same, with the URL on the one line of a file: for one with a password');
}

/**
 * @returns what the functions of the reader take, with nothing where no proxy was named
 * @throws UsageError, ReaderError `address-malformed`
 */
export async function parentProxyOptions({
  parentProxy,
  parentProxyFile,
}: ParentProxyFlags): Promise<{ readonly parentProxy?: string }> {
  if (parentProxyFile === undefined)
    return parentProxy === undefined ? {} : { parentProxy: withoutPassword(parentProxy) };
  if (parentProxy !== undefined)
    throw new UsageError('--parent-proxy and --parent-proxy-file name the same thing', 'leave one of them out');
  const url = await readSecretLine(parentProxyFile, 'parent proxy');
  parseParentProxy(url); // what is wrong with it is said now, not at the first request
  return { parentProxy: url };
}

/** Every user of the machine can see the arguments of a program, for as long as it runs. */
function withoutPassword(url: string): string {
  if (parseParentProxy(url).credentials === undefined) return url;
  throw new UsageError(
    'a password in --parent-proxy would be shown to all users of this machine',
    'put the URL into a file that only you can read, and name that with --parent-proxy-file',
  );
}
