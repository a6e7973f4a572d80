/** `wispr protect` beside `cp -r` and age (https://age-encryption.org), from one directory into another on the same file system; and its second run. */
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { writeArticles } from '../articles.ts';
import { type Contestant, compare, type Row, runCommand, sideBySide, timeCommand } from '../measure.ts';
import { NODE, WISPR } from '../processes.ts';
import { forget, inWorkspace, protectArguments, type Workspace } from '../workspace.ts';

const RUNS = 3;
const MiB = 1024 * 1024;

/** 1 GiB of random bytes in one file. */
export function protect1gib(): Promise<Row[]> {
  const bound = 'both cores: SHA-256 (1.4 GB/s each) and AES-256-GCM of every byte, then the write';
  return besideCopies('protect-1gib', bound, (source) =>
    pipeline(Readable.from(mebibytes(1024)), createWriteStream(join(source, 'film.bin'))),
  );
}

/** 10,000 text files of 8 KiB in 100 directories; and the same bytes under a media type that is not compressed. */
export async function protect10k(): Promise<Row[]> {
  const bound = 'both cores: a signature for each document, the making of files';
  const texts = (source: string) => writeArticles(source, { ending: 'txt' });
  return [
    ...(await besideCopies('protect-10k', `${bound}, gzip`, texts)),
    ...(await besideCopies('protect-10k-plain', bound, (source) => writeArticles(source, { ending: 'bin' }))),
    ...(await inWorkspace('protect-10k-size', texts, sizes)),
  ];
}

function besideCopies(row: string, bound: string, fill: (source: string) => Promise<void>): Promise<Row[]> {
  return inWorkspace(row, fill, async (workspace) =>
    sideBySide({ row, unit: 's', runs: RUNS, bound }, [
      protectRun(workspace),
      copyRun(workspace),
      await ageRun(workspace),
    ]),
  );
}

/** Measures bytes of a document in the output, metadata of the publication included, beside what gzip makes of it. */
async function sizes(workspace: Workspace): Promise<Row[]> {
  await workspace.wispr(...protectArguments(workspace));
  const bytesOf = async (command: string) =>
    Number(await runCommand('sh', ['-c', command], workspace.directory)) / 10_000;
  const figures = [
    await bytesOf("find protected -type f -printf '%s\\n' | awk '{ sum += $1 } END { print sum }'"),
    await bytesOf('find site -type f -exec gzip -nc {} \\; | wc -c'),
  ];
  const bound = 'head, authentication tags, and the entry in a signed bin';
  return compare({ row: 'protect-10k-size', unit: 'bytes/doc', runs: 1, bound }, ['wispr protect', 'gzip'], figures);
}

/** Nothing is removed between runs: some file systems then make files much more slowly for minutes. */
function freshDirectories(workspace: Workspace, name: string): () => string {
  let runs = 0;
  return () => join(workspace.directory, `${name}-${++runs}`);
}

function protectRun(workspace: Workspace): Contestant {
  const nextOut = freshDirectories(workspace, 'protected');
  return {
    name: 'wispr protect',
    run: async () => {
      await forget(workspace);
      const args = [...protectArguments(workspace), '--out', nextOut()];
      return timeCommand(NODE, [WISPR, ...args], workspace.directory);
    },
  };
}

function copyRun(workspace: Workspace): Contestant {
  const nextTarget = freshDirectories(workspace, 'copy');
  return { name: 'cp -r', run: () => timeCommand('cp', ['-r', workspace.source, nextTarget()]) };
}

async function ageRun(workspace: Workspace): Promise<Contestant> {
  const identity = join(workspace.directory, 'age.key');
  await runCommand('age-keygen', ['-o', identity]);
  const recipient = (await runCommand('age-keygen', ['-y', identity])).trim();
  const nextTarget = freshDirectories(workspace, 'age');
  // A process a file, two at once: age has no mode for directories, and each document must stay a file of its own.
  const script = `cd "$1" && find . -type d -exec mkdir -p "$2/{}" \\; && find . -type f -print0 | xargs -0 -P 2 -I @FILE@ age -r "$3" -o "$2/@FILE@.age" @FILE@`;
  return {
    name: 'age, two at once',
    run: () => timeCommand('sh', ['-c', script, 'sh', workspace.source, nextTarget(), recipient]),
  };
}

function* mebibytes(count: number): Generator<Buffer> {
  for (let index = 0; index < count; index++) yield randomBytes(MiB);
}
