/** What `wispr verify` counts as left from earlier publications, and what it names as left by an unfinished one. */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rotatePublisherKey } from '../../publisher/keys/change-roles.ts';
import { verifyTree } from '../../publisher/verify/tree.ts';
import { makeTwoPublications, type TwoPublications } from '../support/two-publications.ts';
import { createWorkspace, PASSPHRASE } from '../support/workspace.ts';

const PAGE = '<!doctype html><title>A page</title><p data-wispr-excerpt>Teaser.</p><p>Rest.</p>';

it('counts what an earlier key of the publisher signed among what earlier publications left', async () => {
  const renewed = await createWorkspace({ 'a/index.html': PAGE, 'style.css': 'p {}' }, { public: ['style.css'] });
  await renewed.protect();
  const old = await renewed.objectFile('/a/index.html');
  await rotatePublisherKey({ configurationFile: renewed.configurationFile, passphrase: PASSPHRASE });
  await renewed.protect();
  const report = await verifyTree(renewed.out);
  expect(report).toMatchObject({ findings: [], encrypted: 1, signed: 1 });
  expect(report.leftovers).toBeGreaterThan(1);
  // Under another path, or with another head, it is no leftover.
  const [name, bytes] = [basename(old), await readFile(old)];
  await writeFile(join(renewed.out, name), bytes);
  const position = bytes.readUInt32BE(8) + 20; // in the signature
  bytes[position] = (bytes[position] ?? 0) ^ 1;
  await writeFile(old, bytes);
  const { findings } = await verifyTree(renewed.out);
  const both = [`/${name} file-unsigned`, `/a/${name} file-unsigned`].sort(); // a hash comes before or behind "a/"
  expect(findings.map(({ path, code }) => `${path} ${code}`).sort()).toEqual(both);
  await renewed.remove();
});

describe('what an unfinished publish left', () => {
  let two: TwoPublications;
  let place: string;
  beforeAll(async () => {
    two = await makeTwoPublications();
    place = `${two.workspace.out}.place`;
  });
  beforeEach(async () => {
    // Everything of the second publication, but for what makes it visible.
    await cp(two.first, place, { recursive: true });
    await cp(two.second, place, { recursive: true, filter: (file) => basename(file) !== 'timestamp.json' });
  });
  afterEach(() => rm(place, { recursive: true }));
  afterAll(() => two.workspace.remove());

  const extras = async () =>
    (await verifyTree(place)).findings
      .filter(({ kind }) => kind === 'extra')
      .map(({ path, code }) => `${path} ${code}`);

  it('is told from what a stranger put there', async () => {
    const metadata = (await readdir(join(place, '.well-known/wispr'))).filter((name) => name.startsWith('2.'));
    expect(await extras()).toEqual(
      [...metadata.map((name) => `/.well-known/wispr/${name}`), '/news/7.html']
        .sort()
        .map((path) => `${path} file-unfinished`),
    );
    await writeFile(join(place, 'news/8.html'), await readFile(join(place, 'news/7.html')));
    await writeFile(join(place, '.well-known/wispr/3.targets.json'), '{}');
    await writeFile(join(place, 'news/7.html'), '<!doctype html><title>Sign in</title>');
    const found = (await extras()).filter((finding) => finding.endsWith('file-unsigned'));
    expect(found).toEqual(
      ['/.well-known/wispr/3.targets.json', '/news/7.html', '/news/8.html'].map((path) => `${path} file-unsigned`),
    );
  });

  it('is found the other way round too, where old pages were not taken away', async () => {
    await cp(two.second, place, { recursive: true });
    expect(await extras()).toEqual(['/gone.html file-unfinished']);
  });

  it('has copies of public documents that the publisher signed', async () => {
    const free = await createWorkspace({ 'a.txt': 'a' }, { public: ['*.txt'] });
    await free.protect();
    await cp(free.out, `${free.out}.first`, { recursive: true });
    await free.write('new.txt', 'new');
    await free.protect();
    await cp(
      join(`${free.out}.first`, '.well-known/wispr/timestamp.json'),
      join(free.out, '.well-known/wispr/timestamp.json'),
    );
    const codeOf = async () => (await verifyTree(free.out)).findings.find(({ path }) => path === '/new.txt')?.code;
    expect(await codeOf()).toBe('file-unfinished');
    await rm(join(free.out, 'new.txt')); // it may be the same file as the content
    await writeFile(join(free.out, 'new.txt'), 'now');
    expect(await codeOf()).toBe('file-unsigned');
    await free.remove();
  });
});
