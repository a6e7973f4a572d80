/** Files that `wispr verify` counts as left from earlier publications. */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { roleSigner } from '../../core/publication/keys.ts';
import { binMetadata, signMetadata, targetsMetadata } from '../../core/publication/writer.ts';
import { rotatePublisherKey, rotateRole } from '../../publisher/keys/change-roots.ts';
import { rotateSection } from '../../publisher/keys/change-sections.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { createWorkspace } from '../support/workspace.ts';

const METADATA = '.well-known/wispr';
const pageOf = (text: string) => `<!doctype html><title>A page</title><p data-wispr-excerpt>${text}</p><p>Rest.</p>`;
const PAGE = pageOf('Teaser.');

it('counts what earlier keys of the publisher signed among what earlier publications left', async () => {
  const settings = { public: ['style.css'], sections: [{ name: 'desk', paths: ['desk/**'] }] };
  const renewed = await createWorkspace({ 'a/index.html': PAGE, 'style.css': 'p {}', 'desk/a.txt': 'a' }, settings);
  await renewed.protect();
  const old = await renewed.objectFile('/a/index.html');
  await rotatePublisherKey(renewed.keyOptions);
  await rotateRole(renewed.keyOptions, 'targets');
  await rotateSection(renewed.keyOptions, 'desk');
  await renewed.protect();
  const report = await verifyTree(renewed.out);
  expect(report).toMatchObject({ findings: [], encrypted: 2, signed: 1 });
  expect(report.leftovers).toBeGreaterThan(1);
  expect(await readdir(join(renewed.out, METADATA))).toContain('1.desk.json');
  // The object is no leftover under another path, or with another head.
  const [name, bytes] = [basename(old), await readFile(old)];
  await writeFile(join(renewed.out, name), bytes);
  const position = bytes.readUInt32BE(8) + 20; // a signature byte
  bytes[position] = (bytes[position] ?? 0) ^ 1;
  await writeFile(old, bytes);
  const { findings } = await verifyTree(renewed.out);
  const both = [`/${name} file-unsigned`, `/a/${name} file-unsigned`].sort(); // a hash comes before or behind "a/"
  expect(findings.map(({ path, code }) => `${path} ${code}`).sort()).toEqual(both);
  // Metadata of an earlier number count where such a key has signed them, not where another key has.
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

it('names what an interrupted publish left, and metadata under another name than they were signed for', async () => {
  const files: Record<string, string | Uint8Array> = { 'style.css': 'p { color: red }', 'gone.html': pageOf('Gone.') };
  for (let number = 1; number <= 6; number++) files[`news/${number}.html`] = pageOf(`News ${number}.`);
  files['large.bin'] = Buffer.alloc(300_000, 7);
  const workspace = await createWorkspace(files, { public: ['style.css', 'news/6.html'] });
  await workspace.protect();
  const [first, second] = [`${workspace.out}.first`, `${workspace.out}.second`];
  await cp(workspace.out, first, { recursive: true, preserveTimestamps: true });
  await workspace.write('news/1.html', pageOf('Newer.'));
  await workspace.write('news/6.html', pageOf('Newer as well.'));
  await workspace.write('style.css', 'p { color: blue }');
  await workspace.write('news/7.html', pageOf('The newest.'));
  await rm(join(workspace.source, 'gone.html'));
  await workspace.protect();
  await cp(workspace.out, second, { recursive: true, preserveTimestamps: true });
  const place = `${workspace.out}.place`;
  // Everything of the second publication, but for what makes it visible.
  await cp(first, place, { recursive: true });
  await cp(second, place, { recursive: true, filter: (file) => basename(file) !== 'timestamp.json' });
  const unsigned = async () =>
    (await verifyTree(place)).findings.filter(({ code }) => code === 'file-unsigned').map(({ path }) => path);
  const newer = (await readdir(join(place, METADATA))).filter((name) => name.startsWith('2.'));
  expect(await unsigned()).toEqual([...newer.map((name) => `/${METADATA}/${name}`), '/news/7.html'].sort());

  await cp(second, place, { recursive: true });
  expect(await unsigned()).toEqual(['/gone.html']);
  const metadata = (name: string) => join(place, METADATA, name);
  await cp(metadata('2.snapshot.json'), metadata('0.snapshot.json'));
  await cp(metadata('2.snapshot.json'), metadata('2.x.json'));
  await cp(metadata('1.root.json'), metadata('1.documents-x.json'));
  const names = ['0.snapshot.json', '1.documents-x.json', '2.x.json'].map((name) => `/${METADATA}/${name}`);
  expect(await unsigned()).toEqual([...names, '/gone.html']);
  await rm(place, { recursive: true });
  await workspace.remove();
});
