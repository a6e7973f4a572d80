/** What `wispr verify` counts as left from earlier publications, and what it names as left by an unfinished one. */
import { hash } from 'node:crypto';
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { roleSigner } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { binMetadata, signMetadata, targetsMetadata } from '../../core/publication/writer.ts';
import { parseFallbackPage } from '../../publisher/fallback-check.ts';
import { OWN_TEMPLATE_MARK } from '../../publisher/fallback-template.ts';
import { rotatePublisherKey, rotateRole } from '../../publisher/keys/change-roles.ts';
import { rotateSection } from '../../publisher/keys/change-sections.ts';
import { verifyTree } from '../../publisher/verify/tree.ts';
import { makeTwoPublications, type TwoPublications } from '../support/two-publications.ts';
import { createWorkspace, PASSPHRASE } from '../support/workspace.ts';

const METADATA = '.well-known/wispr';
const PAGE = '<!doctype html><title>A page</title><p data-wispr-excerpt>Teaser.</p><p>Rest.</p>';

it('counts what earlier keys of the publisher signed among what earlier publications left', async () => {
  const settings = { public: ['style.css'], sections: [{ name: 'desk', paths: ['desk/**'] }] };
  const renewed = await createWorkspace({ 'a/index.html': PAGE, 'style.css': 'p {}', 'desk/a.txt': 'a' }, settings);
  await renewed.protect();
  const old = await renewed.objectFile('/a/index.html');
  const options = { configurationFile: renewed.configurationFile, passphrase: PASSPHRASE };
  await rotatePublisherKey(options);
  await rotateRole(options, 'targets');
  await rotateSection(options, 'desk');
  await renewed.protect();
  const report = await verifyTree(renewed.out);
  expect(report).toMatchObject({ findings: [], encrypted: 2, signed: 1 });
  expect(report.leftovers).toBeGreaterThan(1);
  expect(await readdir(join(renewed.out, METADATA))).toContain('1.desk.json');
  // Under another path, or with another head, it is no leftover.
  const [name, bytes] = [basename(old), await readFile(old)];
  await writeFile(join(renewed.out, name), bytes);
  const position = bytes.readUInt32BE(8) + 20; // in the signature
  bytes[position] = (bytes[position] ?? 0) ^ 1;
  await writeFile(old, bytes);
  const { findings } = await verifyTree(renewed.out);
  const both = [`/${name} file-unsigned`, `/a/${name} file-unsigned`].sort(); // a hash comes before or behind "a/"
  expect(findings.map(({ path, code }) => `${path} ${code}`).sort()).toEqual(both);
  // Metadata of an earlier number count where such a key has signed them, whoever else says so.
  const stranger = await roleSigner(ed25519KeyPair(randomBytes(32)));
  const keys = { publicKeys: [stranger.publicKey], threshold: 1 };
  const about = { version: 1, expires: 4_000_000_000 };
  const put = (file: string, text: string | Uint8Array) => writeFile(join(renewed.out, METADATA, file), text);
  await put('1.targets.json', signMetadata(await targetsMetadata(about, [], keys), [stranger]));
  await put('1.evil.json', signMetadata(binMetadata(about, []), [stranger]));
  await put('0.targets.json', '<script>alert(1)</script>');
  // The section's earlier key stood in the list that was replaced.
  const names = ['0.targets', '1.desk', '1.evil', '1.targets'].map((name) => `/${METADATA}/${name}.json`);
  const unsigned = (await verifyTree(renewed.out)).findings.filter(({ path }) => path.startsWith(`/${METADATA}`));
  expect(unsigned.map(({ path, code }) => `${path} ${code}`)).toEqual(names.map((path) => `${path} file-unsigned`));
  await renewed.remove();
});

/** A page with its object in a comment: the comment, and what browsers show. */
function parted(carrier: string): [comment: string, page: string] {
  const end = carrier.indexOf('\n-->\n') + 5;
  return [carrier.slice(0, end), carrier.slice(end)];
}

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
    await writeFile(join(place, METADATA, '3.targets.json'), '{}');
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

  it('has no page that leads elsewhere, lies elsewhere, or is a stranger\u2019s with a mark and a link', async () => {
    const page = await readFile(join(place, 'news/7.html'), 'utf8');
    const { reading = '' } = parseFallbackPage(Buffer.from(page)) ?? {};
    expect(reading).toMatch(/\/news\/7\.html$/);
    const codeOf = async (path: string, text: string) => {
      await writeFile(join(place, path), text);
      return (await verifyTree(place)).findings.find((finding) => finding.path === `/${path}`)?.code;
    };
    expect(await codeOf('news/7.html', page)).toBe('file-unfinished');
    const evil = `<script src="https://evil.example/x.js"></script><a id="read" href="${reading}"></a>`;
    expect(await codeOf('news/7.html', evil + OWN_TEMPLATE_MARK)).toBe('file-unsigned');
    const away = page.replaceAll('read.news.example', 'read.evil.example');
    expect(parseFallbackPage(Buffer.from(away))).toBeDefined();
    expect(await codeOf('news/7.html', away)).toBe('file-unsigned');
    const object = join(place, 'news', basename(await two.workspace.objectFile('/news/7.html')));
    await cp(object, object.replace('7.html', '8.html'));
    expect(await codeOf('news/8.html', page.replaceAll('news/7', 'news/8'))).toBe('file-unsigned');
    await rename(object, join(place, 'news', `${'0'.repeat(64)}.7.html.protected`));
    expect(await codeOf('news/7.html', page)).toBe('file-unsigned');
  });

  it('has no metadata with a signature that is not of these bytes, nor any that are longer than metadata can be', async () => {
    const signed = await readFile(join(place, METADATA, '2.snapshot.json'), 'utf8');
    await writeFile(join(place, METADATA, '3.snapshot.json'), signed.replace('"version":2', '"version":3'));
    const { signers } = await two.workspace.keyStore();
    const list = (version: number, length: number) =>
      signMetadata({ _type: 'targets', version, padding: 'x'.repeat(length) }, [signers.snapshot]);
    const padded = list(4, PUBLICATION_LIMITS.snapshotLength);
    const most = PUBLICATION_LIMITS.snapshotLength - (padded.length - PUBLICATION_LIMITS.snapshotLength);
    for (const [name, length] of [
      [4, most],
      [5, most + 1],
    ] as const)
      await writeFile(join(place, METADATA, `${name}.x.json`), list(name, length));
    expect((await extras()).filter((finding) => /\/[345]\./.test(finding))).toEqual([
      `/${METADATA}/3.snapshot.json file-unsigned`,
      `/${METADATA}/4.x.json file-unfinished`,
      `/${METADATA}/5.x.json file-unsigned`,
    ]);
  });

  it('has no metadata that were signed for another number or as something else, whatever they are called now', async () => {
    const metadata = (name: string) => join(place, METADATA, name);
    for (const name of ['0.snapshot.json', '9007199254740990.snapshot.json', '2.x.json'])
      await cp(metadata('2.snapshot.json'), metadata(name));
    await cp(metadata('1.targets.json'), metadata('3.targets.json'));
    await cp(metadata('1.root.json'), metadata('1.documents-x.json'));
    const names = [
      '0.snapshot.json',
      '1.documents-x.json',
      '2.x.json',
      '3.targets.json',
      '9007199254740990.snapshot.json',
    ];
    const found = (await extras()).filter((finding) => finding.endsWith('.json file-unsigned'));
    expect(found.sort()).toEqual(names.map((name) => `/${METADATA}/${name} file-unsigned`));
    await cp(metadata('2.snapshot.json'), metadata('02.snapshot.json'));
    expect(await extras()).toContain(`/${METADATA}/02.snapshot.json file-unsigned`);
  });

  it('has copies of public documents that the publisher signed, and pages with their objects', async () => {
    const free = await createWorkspace({ 'a.txt': 'a', 'a.html': PAGE }, { public: ['*.txt'], carrier: 'html' });
    await free.protect();
    await cp(free.out, `${free.out}.first`, { recursive: true });
    await free.write('new.txt', 'new');
    await free.write('new.html', PAGE);
    await free.protect();
    await cp(
      join(`${free.out}.first`, '.well-known/wispr/timestamp.json'),
      join(free.out, '.well-known/wispr/timestamp.json'),
    );
    const codeOf = async (name: string, text?: string) => {
      if (text !== undefined) {
        await rm(join(free.out, name)); // it may be the same file as the content
        await writeFile(join(free.out, name), text);
      }
      return (await verifyTree(free.out)).findings.find(({ path }) => path === `/${name}`)?.code;
    };
    expect(await codeOf('new.txt')).toBe('file-unfinished');
    expect(await codeOf('new.txt', 'now')).toBe('file-unsigned');
    // The content that was signed, under the hash of the copy: the copy is another all the same.
    await writeFile(join(free.out, `${hash('sha256', 'now')}.new.txt`), 'new');
    expect(await codeOf('new.txt')).toBe('file-unsigned');
    const [object, page] = parted(await readFile(join(free.out, 'new.html'), 'utf8'));
    const [other] = parted(await readFile(join(free.out, 'a.html'), 'utf8'));
    expect(await codeOf('new.html')).toBe('file-unfinished');
    expect(await codeOf('new.html', object + page)).toBe('file-unfinished');
    expect(await codeOf('new.html', object + page.replaceAll('read.news.example', 'read.evil.example'))).toBe(
      'file-unsigned',
    );
    expect(await codeOf('new.html', `${object}<!doctype html><title>Sign in</title>`)).toBe('file-unsigned');
    expect(await codeOf('new.html', other + page)).toBe('file-unsigned');
    await free.remove();
  });
});
