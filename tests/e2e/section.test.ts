/** A site with a section, published, and read by a person's Reader, python-tuf and tuf-js. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import type { ContentHost } from '../../serve/hosts.ts';
import { readSite } from '../../serve/reading.ts';
import { type Person, World } from '../../serve/world.ts';
import { runPythonTuf } from '../publication/peers/python-tuf.ts';
import { type PeerReading, type PeerRequest, readWithTufJs } from '../publication/peers/tuf-js.ts';

const SITE = 'news.example';
const FILES = {
  'index.html': '<!doctype html><title>Front</title>',
  'style.css': 'p { color: red }',
  'sports/match.html': '<!doctype html><title>Match</title>',
  'sports/2026/11/table.csv': '1;2',
  'sports/chess/game.pgn': '1. e4 e5',
};
const paths = Object.keys(FILES).map((path) => `/${path}`);

let source: string;
let folder: string;
let world: World;
let host: ContentHost;
let ada: Person;
beforeAll(async () => {
  source = await mkdtemp(join(tmpdir(), 'wispr-section-'));
  folder = await mkdtemp(join(tmpdir(), 'wispr-section-peers-'));
  for (const [path, content] of Object.entries(FILES)) await write(path, content);
  const sections = [
    { name: 'chess', paths: ['sports/chess/**'] },
    { name: 'sports', paths: ['sports/**'] },
  ];
  world = await World.create({ site: SITE, source, sections, public: ['**/*.csv', 'style.css'] });
  const keyServer = await world.startKeyServer();
  host = await world.startContentHost(keyServer.readingUrl);
  await world.publish(keyServer, host.url);
  ada = await world.addReader('ada', keyServer, undefined);
});
afterAll(async () => {
  await world?.close();
  for (const directory of [source, folder]) await rm(directory, { recursive: true, force: true });
});

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(join(source, path)), { recursive: true });
  await writeFile(join(source, path), content);
}

async function expectAllRead(): Promise<void> {
  const { outcomes } = await readSite({ proxy: ada.proxy.url, site: SITE, source, paths });
  expect(outcomes.filter(({ same }) => !same)).toEqual([]);
  expect(outcomes).toHaveLength(paths.length);
}

const PEERS: [string, (request: PeerRequest) => Promise<PeerReading>][] = [
  [
    'python-tuf',
    ({ root, ...rest }) => runPythonTuf({ do: 'read', ...rest, root: Buffer.from(root).toString('base64') }),
  ],
  ['tuf-js', readWithTufJs],
];

describe('a site with sections', () => {
  it('is read through the proxy, and again after a document of a section changed', async () => {
    await expectAllRead();
    await write('sports/match.html', '<!doctype html><title>Match, second half</title>');
    await world.publishAgain();
    await ada.proxy.check(); // otherwise the Reader looks for something newer beside the reading
    await expectAllRead();
  });

  it.each(PEERS)('is read by %s', async (_name, read) => {
    const names = ['style.css', 'sports/2026/11/table.csv', ...paths.map((path) => `${path.slice(1)}.protected`)];
    const { refresh, targets } = await read({
      folder: await mkdtemp(join(folder, 'own-')),
      metadataUrl: `${host.url}${METADATA_PATH}`,
      targetsUrl: `${host.url}/`,
      root: await readFile(join(world.out, METADATA_PATH, '1.root.json')),
      names: [...names, 'sports/none.html.protected'],
    });
    expect(refresh).toBeNull();
    expect(targets['sports/2026/11/table.csv']).toEqual({ sha256: createHash('sha256').update('1;2').digest('hex') });
    for (const name of names.filter((each) => each.endsWith('.protected')))
      expect(targets[name], name).toMatchObject({ head: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(targets['sports/none.html.protected']).toBeNull();
  });
});
