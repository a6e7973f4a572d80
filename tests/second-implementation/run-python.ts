/** Starts the Python program beside this file and gives it vectors: see run.py for what goes in and comes out. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { CanonicalJsonVectorFile, KeyVectorFile, ObjectVectorFile, PathVectorFile } from '../vectors/format.ts';
import type { KeyOutcome } from '../vectors/run/keys.ts';
import type { ObjectOutcome } from '../vectors/run/objects.ts';

const PYTHON = fileURLToPath(new URL('../../.cache/python/bin/python', import.meta.url));
const PROGRAM = fileURLToPath(new URL('run.py', import.meta.url));

/** Members of a vector that say what it must come to: they are kept out of its reach. */
const EXPECTATIONS = ['outcome', 'result', 'metadata', 'released'];

/** A message for `cryptography` to encrypt with Cobblestone-256; base64. */
export interface CobblestoneMessage {
  readonly key: string;
  readonly context: string;
  readonly message: string;
}

/** A message for `cryptography` to open with `secretKey`, and to seal to `publicKey`; base64. */
export interface HpkeMessage {
  readonly secretKey: string;
  readonly publicKey: string;
  readonly info: string;
  readonly sealed: string;
}

export interface Given {
  readonly objects?: ObjectVectorFile;
  readonly keys?: KeyVectorFile;
  readonly httpcrypt?: KeyVectorFile;
  readonly link?: KeyVectorFile;
  readonly paths?: PathVectorFile;
  readonly canonicalJson?: CanonicalJsonVectorFile;
  readonly cobblestone?: readonly CobblestoneMessage[];
  readonly hpke?: readonly HpkeMessage[];
}

export interface Came {
  readonly objects: readonly ({ name: string } & ObjectOutcome)[];
  readonly keys: readonly ({ name: string } & KeyOutcome)[];
  readonly httpcrypt: readonly ({ name: string } & KeyOutcome)[];
  readonly link: readonly ({ name: string } & KeyOutcome)[];
  readonly paths: PathVectorFile;
  readonly canonicalJson: CanonicalJsonVectorFile['vectors'];
  /** base64 of the encrypted messages. */
  readonly cobblestone: readonly string[];
  /** base64. */
  readonly hpke: readonly { readonly opened: string; readonly sealed: string }[];
}

export async function runPython(given: Given): Promise<Came> {
  if (!existsSync(PYTHON)) throw new Error(`${PYTHON} is missing: \`node scripts/set-up.mjs --tests\` installs it`);
  const child = spawn(PYTHON, ['-B', '-E', '-s', PROGRAM], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {}); // a program that fails early says why on its standard error
  child.stdin.end(JSON.stringify(given, (name, value) => (EXPECTATIONS.includes(name) ? undefined : value)));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (output === '') throw new Error(`the second implementation failed: ${errors}`);
  return JSON.parse(output) as Came;
}
