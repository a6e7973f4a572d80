import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { xwingKeyPair } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { openBundle } from '../../core/keys/bundle.ts';
import { isHostProof, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { isEncrypted } from '../../core/object/header.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { inspectFile } from '../../publisher/verify/inspect.ts';
import { contentOf, createWorkspace, SITE, snapshot, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
afterEach(() => workspace.remove());

const PAGE = '<!doctype html><title>A page</title><p data-wispr-excerpt>Teaser.</p><p>The secret rest.</p>';
const TEXT = 'It was a dark and stormy night. '.repeat(100);

describe('protecting a site', () => {
  it('brings back every document byte for byte, whatever its name and size', async () => {
    const files: Record<string, Buffer | string> = {
      'index.html': PAGE,
      'a/b/c/deep.html': PAGE,
      'spaces and (signs) 100%.html': PAGE,
      'caf\u00e9/\u65e5\u672c\u8a9e \ud83d\udc0b.html': PAGE,
      'cafe\u0301/other-form.txt': 'a',
      'question?#hash.txt': 'a',
      'no-extension': randomBytes(70_000),
      empty: '',
      'empty.html': '',
      'text.txt': TEXT,
      'picture.png': randomBytes(16_384 * 4),
      constructor: 'x',
      '__proto__/__proto__': 'x',
      '.well-known/security.txt': 'Contact: mailto:a@news.example',
    };
    workspace = await createWorkspace(files);
    const summary = await workspace.protect();
    expect(summary.documents).toBe(Object.keys(files).length);
    const { open } = await workspace.published();
    for (const [path, content] of Object.entries(files)) {
      const read = await contentOf(await open(`/${path}`));
      expect([path, read.equals(Buffer.from(content))]).toEqual([path, true]);
    }
  });

  it('hears what a page in XML says about its set, and puts nothing in clear in its place', async () => {
    const page =
      '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><meta name="wispr-set" content="gold"/></head></html>';
    workspace = await createWorkspace({ 'a.xhtml': page, 'a.xht': page, 'b.txt': 'b' }, { public: ['**'] });
    const { sets } = await workspace.protect();
    expect(sets).toMatchObject([{ name: 'gold', documents: 2 }]);
    expect((await names(workspace.out)).filter((name) => name.includes('a.'))).toEqual([
      'HASH.a.xht.protected',
      'HASH.a.xhtml.protected',
    ]);
  });

  it('leaves nothing of a document in clear but its teaser', async () => {
    workspace = await createWorkspace({ 'a.html': PAGE, 'b.txt': TEXT, 'c.bin': 'SECRETBYTES' });
    await workspace.protect();
    expect(await names(workspace.out)).toEqual([
      '.well-known',
      'HASH.a.html.protected',
      'HASH.b.txt.protected',
      'HASH.c.bin.protected',
      'a.html',
    ]);
    for (const [path, content] of await snapshot(workspace.out)) {
      const text = Buffer.from(content, 'base64').toString('latin1');
      expect([path, /stormy|SECRETBYTES|secret rest/.test(text)]).toEqual([path, false]);
    }
    expect(await readFile(join(workspace.out, 'a.html'), 'utf8')).toContain('<p>Teaser.</p>');
  });

  it.each(['beside', 'html'] as const)(
    'leaves no more in clear of a page that is its own description than its first sentence (carrier %s)',
    async (carrier) => {
      const body = 'The mayor resigned. SECRETBYTES follow.';
      const page = `<title>A page</title><meta name="description" content="${body}"><p>${body}</p>`;
      workspace = await createWorkspace({ 'a.html': page }, { carrier, fallback: { language: 'pl' } });
      await workspace.protect();
      const shown = await readFile(join(workspace.out, 'a.html'), 'utf8');
      expect(shown).not.toContain('SECRETBYTES');
      for (const part of ['<p class="about">The mayor resigned.</p>', '<html lang="pl">', 'Czytaj dalej'])
        expect(shown).toContain(part);
    },
  );

  it('publishes public documents as they are, with a signed head', async () => {
    workspace = await createWorkspace(
      { 'index.html': PAGE, 'style.css': TEXT, 'a.html': PAGE },
      { public: ['index.html', '*.css'] },
    );
    await utimes(join(workspace.source, 'style.css'), 1_700_000_000, 1_700_000_000);
    const summary = await workspace.protect();
    expect(summary.public).toEqual([
      { reason: '"public" names index.html', documents: 1, paths: ['/index.html'] },
      { reason: '"public" names *.css', documents: 1, paths: ['/style.css'] },
    ]);
    expect(await readFile(join(workspace.out, 'index.html'), 'utf8')).toBe(PAGE);
    const { metadata, reader } = await workspace.open('/style.css');
    expect(isEncrypted(reader.head.header)).toBe(false);
    expect(metadata).toEqual({
      contentLength: TEXT.length,
      lastModified: 1_700_000_000,
      mediaType: 'text/css; charset=utf-8',
    });
    expect((await stat(join(workspace.out, 'style.css'))).mtimeMs).toBe(1_700_000_000_000);
    expect(await readdir(workspace.out)).not.toContain('a.css');
  });

  it('compresses text where that helps, and nothing else', async () => {
    workspace = await createWorkspace({
      'long.txt': TEXT,
      'short.txt': 'a'.repeat(511),
      'dense.txt': randomBytes(2000).toString('base64'),
      'noise.svg': randomBytes(2000),
      'zeros.png': Buffer.alloc(5000),
      'type.ttf': Buffer.alloc(5000),
      'rows.csv': TEXT,
      'drawing.svgz': gzipSync(TEXT),
      'plain.svgz': '<svg/>',
    });
    await workspace.protect();
    const coding = async (path: string) => (await workspace.open(path)).metadata.contentCoding;
    expect(await coding('/long.txt')).toBe('gzip');
    expect(await coding('/type.ttf')).toBe('gzip');
    expect(await coding('/short.txt')).toBeUndefined();
    expect((await workspace.read('/plain.svgz')).toString()).toBe('<svg/>');
    expect(await coding('/plain.svgz')).toBeUndefined();
    expect(await coding('/noise.svg')).toBeUndefined();
    expect(await coding('/zeros.png')).toBeUndefined();
    expect((await workspace.read('/dense.txt')).length).toBeGreaterThan(2600);
    expect((await workspace.open('/drawing.svgz')).metadata).toMatchObject({
      contentCoding: 'gzip',
      contentLength: gzipSync(TEXT).length,
      mediaType: 'image/svg+xml',
    });
    expect(await coding('/rows.csv')).toBe('gzip');
    await workspace.configure({ uncompressed: ['**/*.csv', '*.tsv'] });
    expect(await workspace.protect()).toMatchObject({ changes: { changed: 1 }, unusedPatterns: ['*.tsv'] });
    expect(await coding('/rows.csv')).toBeUndefined();
  });

  it('gives each set its key, by paths, dates and the page’s own word', async () => {
    workspace = await createWorkspace(
      {
        '2026/11/16/a.html': PAGE,
        '2026/11/17/a.html': PAGE,
        '2026/11/17/b.html': `<meta name="wispr-set" content="gold">${PAGE}`,
        '2026/11/17/c.html': `<meta name="wispr-set" content="public">${PAGE}`,
        'letters.html': PAGE,
        'robots.txt': 'User-agent: *',
      },
      { sets: [{ name: 'day-{yyyy}-{mm}-{dd}', path: '{yyyy}/{mm}/{dd}/**' }] },
    );
    const { sets, ...summary } = await workspace.protect();
    expect(sets.map(({ name, documents, isNew }) => [name, documents, isNew])).toEqual([
      ['day-2026-11-16', 1, true],
      ['day-2026-11-17', 1, true],
      ['gold', 1, true],
      ['subscribers', 1, true],
    ]);
    expect(new Set(sets.map(({ id }) => id)).size).toBe(4);
    expect(summary.public.flatMap(({ paths }) => paths)).toEqual(['/2026/11/17/c.html', '/robots.txt']);
    const { header } = await inspectFile(await workspace.objectFile('/2026/11/17/b.html'));
    expect(isEncrypted(header) && header.set).toBe(sets[2]?.id);
  });

  const DOOR = { key: 'A'.repeat(43), url: 'http://keys.news.example/a/' };

  it('says whose the site is', async () => {
    workspace = await createWorkspace(
      { 'a.txt': 'a' },
      {
        name: 'The News',
        content: ['http://news.example', 'https://mirror.example'],
        keyServer: 'http://127.0.0.1:8002',
        httpcrypt: DOOR,
      },
    );
    const { publisher } = await workspace.protect({ now: 1_000_000 });
    const proof = await readFile(join(workspace.out, '.well-known/wispr-site'), 'utf8');
    expect(isHostProof(proof, publisher)).toBe(true);
    const descriptor = await readFile(join(workspace.out, '.well-known/wispr-provider'));
    expect(await verifyDescriptor(descriptor, 1_000_000)).toMatchObject({
      publisher,
      name: 'The News',
      keyServer: 'http://127.0.0.1:8002',
      httpcrypt: DOOR,
      issued: 1_000_000,
      expires: 1_000_000 + 400 * 86_400,
      sites: [
        {
          site: SITE,
          content: ['http://news.example', 'https://mirror.example'],
          reading: 'https://read.news.example',
        },
      ],
    });
  });

  it('hands every key to the key server, and to no other recipient', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a', 'b.html': `<meta name="wispr-set" content="gold">${PAGE}` });
    const absent = await workspace.protect();
    expect(absent.bundle).toBeUndefined();
    expect(absent.recipient).toBe(join(workspace.directory, 'keyserver.pub'));
    const recipient = xwingKeyPair(randomBytes(32));
    await writeFile(absent.recipient, `# the key server of the News\n${toBase64url(recipient.publicKey)}\n`);
    const { bundle = '', publisher } = await workspace.protect();
    expect((await stat(bundle)).mode & 0o777).toBe(0o600);
    expect(bundle).toBe(join(workspace.directory, 'keys.bundle'));
    const opened = await openBundle(await readFile(bundle), recipient);
    const { contents } = await workspace.keyStore();
    expect(await rootIdOf(fromBase64url(opened.root) ?? new Uint8Array(0))).toBe(publisher);
    expect(opened).toMatchObject({ serial: 1, workspace: toBase64url(contents.workspace) });
    expect(opened.sets.map(({ name, site }) => [name, site])).toEqual([
      ['gold', SITE],
      ['subscribers', SITE],
    ]);
    for (const { id, key, name } of opened.sets) {
      expect(key).toBe(toBase64url(contents.sets.get(name) ?? new Uint8Array(0)));
      expect(id).toBe(await keyIdOf('set', Buffer.from(key, 'base64url')));
    }
    expect(await workspace.protect()).toMatchObject({ bundle, bundleIsNew: false });
    await workspace.write('c.html', `<meta name="wispr-set" content="silver">${PAGE}`);
    expect(await workspace.protect()).toMatchObject({ bundleIsNew: true });
    expect((await openBundle(await readFile(bundle), recipient)).serial).toBe(2);
    const published = JSON.stringify(
      [...(await snapshot(workspace.out)).values()].map((each) => Buffer.from(each, 'base64').toString()),
    );
    for (const { key } of opened.sets) expect(published).not.toContain(key);
  });

  it('puts pages into themselves for hosts with one file per URL', async () => {
    workspace = await createWorkspace(
      { 'a.html': PAGE, 'b.txt': TEXT, 'free.html': PAGE },
      { carrier: 'html', public: ['free.html'] },
    );
    await workspace.protect();
    expect(await names(workspace.out)).toEqual([
      '.well-known',
      'HASH.b.txt.protected',
      'HASH.free.html',
      'HASH.free.html.protected',
      'a.html',
      'free.html',
    ]);
    const carrier = await readFile(join(workspace.out, 'a.html'), 'utf8');
    expect(carrier).toMatch(/^<!-- wispr\/1\n[A-Za-z0-9+/=\n]+-->\n<!doctype html>/);
    expect(carrier).toContain('<p>Teaser.</p>');
    expect((await workspace.read('/a.html')).toString()).toBe(PAGE);
    expect((await workspace.read('/b.txt')).toString()).toBe(TEXT);
    expect((await workspace.read('/free.html')).toString()).toBe(PAGE);
  });

  it('follows links that stay inside the source', async () => {
    workspace = await createWorkspace({ 'real/a.txt': 'one', 'b.txt': 'two' });
    await symlink('real', join(workspace.source, 'linked'));
    await symlink(join(workspace.source, 'b.txt'), join(workspace.source, 'c.txt'));
    await symlink('../b.txt', join(workspace.source, 'real/d.txt'));
    const { documents } = await workspace.protect();
    expect(documents).toBe(6);
    expect((await workspace.read('/linked/a.txt')).toString()).toBe('one');
    expect((await workspace.read('/c.txt')).toString()).toBe('two');
    expect((await workspace.read('/linked/d.txt')).toString()).toBe('two');
  });

  it('leaves out what is hidden or ignored, says how many and which, and takes in what the configuration includes', async () => {
    workspace = await createWorkspace(
      {
        'a.txt': 'a',
        '.git/config': 'secret',
        '.env': 'secret',
        'sub/.DS_Store': 'x',
        'sub/.well-known/x': 'x',
        'drafts/new.html': 'x',
        'notes.md': 'x',
        '.well-known/x': 'x',
        '.data/.zarray': 'x',
        '.data/.git': 'x',
      },
      { ignore: ['drafts/', '*.md'] },
    );
    await workspace.configure({ include: ['.data/**', '.env'] });
    await symlink('/etc/passwd', join(workspace.source, 'drafts.md'));
    await symlink('sub/.well-known/x', join(workspace.source, 'linked'));
    await symlink('drafts', join(workspace.source, 'all'));
    const { documents, ignored, hidden } = await workspace.protect();
    expect([documents, ignored, hidden]).toEqual([3, 10, ['.well-known']]);
  });

  it('replaces an output that is linked to, in its place', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a' });
    await mkdir(join(workspace.directory, 'www'));
    await symlink('www', workspace.out);
    await workspace.protect();
    await workspace.protect();
    expect(await names(join(workspace.directory, 'www'))).toContain('HASH.a.txt.protected');
    expect((await workspace.read('/a.txt')).toString()).toBe('a');
  });

  it('compresses a large text on its way', async () => {
    const text = 'a,b\n'.repeat(1_100_000);
    workspace = await createWorkspace({ 'table.csv': text });
    const { bytesOut } = await workspace.protect();
    expect(bytesOut).toBeLessThan(text.length / 20);
    const { metadata } = await workspace.open('/table.csv');
    expect(metadata).toMatchObject({ contentCoding: 'gzip', mediaType: 'text/csv; charset=utf-8' });
    expect((await workspace.read('/table.csv')).equals(Buffer.from(text))).toBe(true);
  });
});

/** The names in a directory, sorted, with a word in place of each hash. */
async function names(directory: string): Promise<string[]> {
  return (await readdir(directory)).map((name) => name.replace(/^[0-9a-f]{64}\./, 'HASH.')).sort();
}
