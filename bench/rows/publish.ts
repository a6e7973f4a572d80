/** `wispr publish`, which protects first, beside `rsync -rt` of what it protected: to a directory, and to a bucket. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { startS3Server } from '../../tests/support/s3-server.ts';
import { writeArticles } from '../articles.ts';
import { type Contestant, processorTimeOf, type Row, sideBySide } from '../measure.ts';
import { NODE, WISPR } from '../processes.ts';
import { inWorkspace, type Workspace } from '../workspace.ts';

const RUNS = 3;
/** Pages of a site, and of a bucket, whose server here takes minutes for more. */
const [PAGES, IN_BUCKET] = [100_000, 2_000];
const OF_A_DAY = 315;

export async function publishRows(): Promise<Row[]> {
  const server = await startS3Server();
  try {
    await server.bucket('bench');
    return [
      ...(await rowsFor('directory', PAGES, (directory) => join(directory, 'web'))),
      ...(await rowsFor('bucket', IN_BUCKET, () => 's3://bench', { ...process.env, ...server.environment })),
    ];
  } finally {
    await server.stop();
  }
}

function rowsFor(
  kind: string,
  pages: number,
  targetIn: (directory: string) => string,
  env?: NodeJS.ProcessEnv,
): Promise<Row[]> {
  const fill = (source: string) => writeArticles(source, { count: pages, length: 200, ending: 'html' });
  return inWorkspace('publish', fill, async (workspace) => {
    const { directory, source } = workspace;
    await configure(workspace, targetIn(directory));
    let edits = 0;
    const changing = (count: number) => async () => {
      edits++;
      for (let page = 0; page < count; page++)
        await writeFile(join(source, `part-${page % 10}`, `article-${Math.floor(page / 10)}.html`), `changed ${edits}`);
    };
    const row = async (name: string, runs: number, change: () => Promise<void>, bound: string) =>
      sideBySide({ row: `publish: ${kind}, ${pages.toLocaleString('en')}, ${name}`, unit: 'CPU s', runs, bound }, [
        publishRun(workspace, change, env),
        copyRun(workspace),
      ]);
    const looking = 'one core: a look at every file of the source, and its row';
    return [
      ...(await row('all', 1, changing(0), 'a signature for each, the making of files, twice')),
      ...(await row('nothing', RUNS, changing(0), looking)),
      ...(await row('one', RUNS, changing(1), looking)),
      ...(await row(`a day of ${OF_A_DAY}`, RUNS, changing(OF_A_DAY), `${looking}; lists that are signed anew`)),
    ];
  });
}

async function configure({ directory }: Workspace, target: string): Promise<void> {
  const file = join(directory, 'wispr.json');
  const text = (await readFile(file, 'utf8')).replace('"timestampBy": "keyserver"', '"timestampBy": "publisher"');
  await writeFile(file, text.replace(/^\s*\/\/ "publish": .*$/m, `"publish": ${JSON.stringify(target)},`));
  await writeFile(join(directory, 'keyserver.pub'), toBase64url(xwingKeyPair(randomBytes(32)).publicKey));
  if (!target.startsWith('s3:')) await mkdir(target);
  await mkdir(join(directory, 'copy'));
}

function publishRun(
  { directory, passphraseFile }: Workspace,
  change: () => Promise<void>,
  env?: NodeJS.ProcessEnv,
): Contestant {
  const args = [WISPR, 'publish', '--quiet', '--passphrase-file', passphraseFile];
  return {
    name: 'wispr publish',
    run: async () => {
      await change();
      return processorTimeOf(NODE, args, { cwd: directory, ...(env && { env }) });
    },
  };
}

function copyRun({ directory }: Workspace): Contestant {
  const args = ['-rt', `${join(directory, 'protected')}/`, `${join(directory, 'copy')}/`];
  return { name: 'rsync -rt, to a directory', run: () => processorTimeOf('rsync', args) };
}
