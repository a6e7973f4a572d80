/** `wispr protect` beside `cp -r` and age (https://age-encryption.org), from one directory into another on the same file system. */

import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Contestant, compare, measureAlternately, type Row, runCommand, timeCommand } from '../measure.ts';
import { createWorkspace, NODE, WISPR, type Workspace } from '../workspace.ts';

const RUNS = 3;
const MiB = 1024 * 1024;

/** 1 GiB of random bytes in one file. */
export async function protect1gib(): Promise<Row[]> {
  return measureProtect(
    'protect-1gib',
    'one core: AES-256-GCM and SHA-256 of every byte, then the write',
    async (source) => {
      await pipeline(Readable.from(mebibytes(1024)), createWriteStream(join(source, 'film.bin')));
    },
  );
}

/** 10,000 text files of 8 KiB in 100 directories. */
export async function protect10k(): Promise<Row[]> {
  return measureProtect(
    'protect-10k',
    'one core: gzip, the making of files, key derivation and a signature for each document',
    async (source) => {
      for (let directory = 0; directory < 100; directory++) {
        const path = join(source, `part-${directory}`);
        await mkdir(path);
        for (let file = 0; file < 100; file++) await writeFile(join(path, `article-${file}.txt`), text(8192));
      }
    },
  );
}

async function measureProtect(row: string, bound: string, fill: (source: string) => Promise<void>): Promise<Row[]> {
  const workspace = await createWorkspace(row);
  try {
    await mkdir(workspace.source, { recursive: true });
    await fill(workspace.source);
    const contestants = [protectRun(workspace), copyRun(workspace), await ageRun(workspace)];
    return compare({ row, unit: 's', runs: RUNS, bound }, contestants, await measureAlternately(contestants, RUNS));
  } finally {
    await workspace.remove();
  }
}

function protectRun({ directory, passphraseFile }: Workspace): Contestant {
  return {
    name: 'wispr protect',
    run: async () => {
      await rm(join(directory, 'protected'), { recursive: true, force: true });
      return timeCommand(NODE, [WISPR, 'protect', '--quiet', '--passphrase-file', passphraseFile], directory);
    },
  };
}

function copyRun({ directory, source }: Workspace): Contestant {
  const target = join(directory, 'copy');
  return {
    name: 'cp -r',
    run: async () => {
      await rm(target, { recursive: true, force: true });
      return timeCommand('cp', ['-r', source, target]);
    },
  };
}

async function ageRun({ directory, source }: Workspace): Promise<Contestant> {
  const identity = join(directory, 'age.key');
  await runCommand('age-keygen', ['-o', identity]);
  const recipient = (await runCommand('age-keygen', ['-y', identity])).trim();
  const target = join(directory, 'age');
  // A process a file, two at once: age has no mode for directories, and each document must stay a file of its own.
  const script = `cd "$1" && find . -type d -exec mkdir -p "$2/{}" \\; && find . -type f -print0 | xargs -0 -P 2 -I F age -r "$3" -o "$2/F.age" F`;
  return {
    name: 'age, two at once',
    run: async () => {
      await rm(target, { recursive: true, force: true });
      return timeCommand('sh', ['-c', script, 'sh', source, target, recipient]);
    },
  };
}

function* mebibytes(count: number): Generator<Buffer> {
  for (let index = 0; index < count; index++) yield randomBytes(MiB);
}

/** Text that compresses about as prose does. */
function text(length: number): string {
  const words = [
    'river',
    'council',
    'morning',
    'the',
    'of',
    'and',
    'harvest',
    'letter',
    'under',
    'bridge',
    'seven',
    'quiet',
  ];
  const bytes = randomBytes(length);
  let result = '';
  for (let index = 0; result.length < length; index++) result += `${words[(bytes[index] ?? 0) % words.length]} `;
  return result.slice(0, length);
}
