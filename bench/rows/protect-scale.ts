/** `wispr protect` on large sites: the second run, and the memory that it takes. */
import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeArticles } from '../articles.ts';
import { type Contestant, compare, measureAlternately, type Row, runCommand, timeCommand } from '../measure.ts';
import { createWorkspace, NODE, WISPR, type Workspace } from '../workspace.ts';

const RUNS = 3;
const GiB = 1024 ** 3;

/** A second run over 100,000 documents of 200 bytes: none changed, and one. */
export async function republish100k(): Promise<Row[]> {
  const workspace = await createWorkspace('republish-100k');
  try {
    await writeArticles(workspace.source, { count: 100_000, length: 200 });
    await workspace.wispr(...protectArguments(workspace));
    const again = () => timeCommand(NODE, [WISPR, ...protectArguments(workspace)], workspace.directory);
    let edits = 0;
    const changed = async () => {
      await writeFile(join(workspace.source, 'part-0', 'article-0.txt'), `changed ${++edits}`);
      return again();
    };
    const look: Contestant = { name: 'find, source and output', run: () => lookAtAll(workspace) };
    const rows: Row[] = [];
    const bound = 'one core: a look at every file of source and output, and into the index for each';
    for (const [row, run] of [
      ['republish-100k', again],
      ['republish-100k-one-changed', changed],
    ] as const) {
      const contestants = [{ name: 'wispr protect', run }, look];
      rows.push(
        ...compare({ row, unit: 's', runs: RUNS, bound }, contestants, await measureAlternately(contestants, RUNS)),
      );
    }
    return rows;
  } finally {
    await workspace.remove();
  }
}

/** Peak memory for 20,000 small documents, and for a file of 2 GiB; docs/figures.md says how a million and 20 GiB are measured by hand. */
export async function protectMemory(): Promise<Row[]> {
  return [
    ...(await measureMemory('protect-memory-20k', (source) => writeArticles(source, { count: 20_000, length: 200 }))),
    ...(await measureMemory('protect-memory-2gib', (source) => writeSparse(join(source, 'film.bin'), 2 * GiB))),
  ];
}

async function measureMemory(row: string, fill: (source: string) => Promise<void>): Promise<Row[]> {
  const workspace = await createWorkspace(row);
  try {
    await writeArticles(workspace.source, { count: 100, length: 200 });
    await fill(workspace.source);
    const contestants = [
      { name: 'wispr protect', run: () => memoryOf(workspace, [WISPR, ...protectArguments(workspace)]) },
      { name: 'Node.js, doing nothing', run: () => memoryOf(workspace, ['-e', '0']) },
    ];
    const bound = 'three JavaScript heaps with the program in each, Argon2id (64 MiB, before the threads work), SQLite';
    return compare({ row, unit: 'MiB', runs: 1, bound }, contestants, await measureAlternately(contestants, 1));
  } finally {
    await workspace.remove();
  }
}

function protectArguments({ passphraseFile }: Workspace): string[] {
  return ['protect', '--quiet', '--passphrase-file', passphraseFile];
}

/** The least that tells whether anything changed. */
async function lookAtAll({ directory, source }: Workspace): Promise<number> {
  const script = `find "$1" "$2" -type f -printf '%s %T@ %p\\n' > /dev/null`;
  return timeCommand('sh', ['-c', script, 'sh', source, join(directory, 'protected')]);
}

/** Says the peak memory of a process in KiB when it ends; threads run it too, and are silent. */
const REPORT = `
  const { isMainThread } = process.getBuiltinModule('node:worker_threads');
  const { writeSync } = process.getBuiltinModule('node:fs');
  if (isMainThread) process.on('exit', () => writeSync(1, String(process.resourceUsage().maxRSS)));
`;

/** Peak memory of a Node.js process, in MiB. */
async function memoryOf({ directory }: Workspace, args: readonly string[]): Promise<number> {
  for (const ending of ['', '-journal']) await rm(join(directory, `publisher.db${ending}`), { force: true });
  const report = `data:text/javascript,${encodeURIComponent(REPORT)}`;
  return Number(await runCommand(NODE, ['--import', report, ...args], directory)) / 1024;
}

async function writeSparse(file: string, length: number): Promise<void> {
  await using handle = await open(file, 'w');
  await handle.truncate(length);
}
