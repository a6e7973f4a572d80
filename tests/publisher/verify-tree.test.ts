import { copyFile, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { VerifyReport } from '../../publisher/verify/report.ts';
import { verifyTree } from '../../publisher/verify/tree.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

const PAGE = '<!doctype html><title>A page</title><p data-wispr-excerpt>Teaser.</p><p>Rest.</p>';
const FILES = {
  'index.html': PAGE,
  'a/b c.html': PAGE,
  'large.bin': Buffer.alloc(200_000, 7),
  'style.css': 'p { color: red }',
  'free.html': PAGE,
  empty: '',
};

let workspace: TestWorkspace;
let other: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace(FILES, { public: ['style.css', 'free.html'] });
  other = await createWorkspace(FILES, { public: ['style.css', 'free.html'] });
  await other.protect();
});
beforeEach(async () => {
  await rm(workspace.out, { recursive: true, force: true });
  await workspace.protect();
});
afterAll(async () => {
  await workspace.remove();
  await other.remove();
});

const place = (path: string) => join(workspace.out, path);

async function change(path: string, edit: (bytes: Buffer) => Buffer | string): Promise<void> {
  await writeFile(place(path), edit(await readFile(place(path))));
}

/** The byte at `position`, from the end if negative, with one bit changed. */
function flip(bytes: Buffer, position: number): Buffer {
  const index = position < 0 ? bytes.length + position : position;
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
}

const findings = ({ findings: found }: VerifyReport) => found.map(({ path, code }) => `${path} ${code}`);

describe('a protected tree', () => {
  it('passes as it was made', async () => {
    const report = await verifyTree(workspace.out);
    expect(report).toMatchObject({
      site: 'news.example',
      publisher: (await workspace.keyStore()).rootId,
      encrypted: 4,
      signed: 2,
      fallbackPages: ['/a/b c.html', '/index.html'],
      findings: [],
    });
    expect(report.notes.join()).toContain('that nothing is missing');
  });

  it('passes with pages that carry themselves', async () => {
    const carried = await createWorkspace({ 'a.html': PAGE, 'b.bin': Buffer.alloc(70_000) }, { carrier: 'html' });
    await carried.protect();
    expect(await verifyTree(carried.out)).toMatchObject({ encrypted: 2, fallbackPages: ['/a.html'], findings: [] });
    const file = join(carried.out, 'a.html');
    const good = await readFile(file, 'utf8');
    await writeFile(file, good.replace('<main>', '<main><script src="//evil.example"></script>'));
    expect(findings(await verifyTree(carried.out))).toEqual(['/a.html fallback-altered']);
    await writeFile(file, good.replace(/\n[A-Za-z0-9+/]/, '\n!'));
    expect(findings(await verifyTree(carried.out))).toEqual(['/a.html carrier-malformed']);
    await carried.remove();
  });

  it.each<[string, string, (bytes: Buffer) => Buffer | string, string]>([
    ['a bit of the magic', 'large.bin.protected', (b) => flip(b, 0), 'object-unrecognised'],
    [
      'a newer version',
      'large.bin.protected',
      (b) => Buffer.from(b.toString('latin1').replace('wispr/1', 'wispr/9'), 'latin1'),
      'object-version',
    ],
    [
      'a bit of the header',
      'large.bin.protected',
      (b) => Buffer.from(b.toString('latin1').replace('"blockChunks":4', '"blockChunks":5'), 'latin1'),
      'signature-invalid',
    ],
    ['a bit of the digest list', 'large.bin.protected', (b) => flip(b, b.readUInt32BE(8) + 76), 'digest-list'],
    ['a bit of the last block', 'large.bin.protected', (b) => flip(b, -1), 'block-digest'],
    ['a missing byte', 'large.bin.protected', (b) => b.subarray(0, -1), 'object-truncated'],
    ['one byte more', 'large.bin.protected', (b) => Buffer.concat([b, Buffer.of(0)]), 'object-trailing'],
    ['no byte at all', 'large.bin.protected', () => '', 'object-unrecognised'],
    ['one byte more behind a head', 'style.css.protected', (b) => Buffer.concat([b, Buffer.of(0)]), 'object-trailing'],
  ])('does not with %s', async (_, path, edit, code) => {
    await change(path, edit);
    expect(findings(await verifyTree(workspace.out))).toContain(`/${path} ${code}`);
  });

  it.each<[string, (bytes: Buffer) => Buffer | string, string]>([
    ['changed', (b) => flip(b, 3), 'block-digest'],
    ['cut', (b) => b.subarray(0, -1), 'object-truncated'],
    ['continued', (b) => `${b} `, 'object-trailing'],
  ])('does not with a public document %s, and names the document', async (_, edit, code) => {
    await change('style.css', edit);
    expect(findings(await verifyTree(workspace.out))).toEqual([`/style.css ${code}`]);
  });

  it('does not with objects at other places', async () => {
    await rename(place('large.bin.protected'), place('moved.bin.protected'));
    await copyFile(place('index.html.protected'), place('a/b c.html.protected'));
    expect(findings(await verifyTree(workspace.out))).toEqual([
      '/a/b c.html.protected path-mismatch',
      '/moved.bin.protected path-mismatch',
    ]);
  });

  it('does not with another publisher’s object', async () => {
    await copyFile(join(other.out, 'empty.protected'), place('empty.protected'));
    expect(findings(await verifyTree(workspace.out))).toEqual(['/empty.protected publisher-unexpected']);
  });

  it('does not with files that nothing signs', async () => {
    await writeFile(place('evil.js'), 'alert(1)');
    await writeFile(place('evil.html'), PAGE);
    await mkdir(place('.git'));
    await writeFile(place('.git/config'), 'x');
    await symlink('/etc', place('etc'));
    await writeFile(place('bad\\name.protected'), 'x');
    expect(findings(await verifyTree(workspace.out))).toEqual([
      '/.git/config file-unsigned',
      '/bad\\name.protected path-refused',
      '/etc file-unsigned',
      '/evil.html file-unsigned',
      '/evil.js file-unsigned',
    ]);
  });

  it('does not with a fallback page that leads elsewhere, or was changed', async () => {
    await change('index.html', (b) => b.toString().replaceAll('read.news.example', 'read.evil.example'));
    await change('a/b c.html', (b) => b.toString().replace('<main>', '<main onload="x">'));
    expect(findings(await verifyTree(workspace.out))).toEqual([
      '/a/b c.html fallback-altered',
      '/index.html fallback-altered',
    ]);
  });

  it('does not with halves missing', async () => {
    await rm(place('index.html.protected'));
    await rm(place('style.css'));
    await rm(place('free.html.protected'));
    expect(findings(await verifyTree(workspace.out))).toEqual([
      '/free.html file-unsigned',
      '/index.html file-missing',
      '/style.css file-missing',
    ]);
  });

  it('does not if its own papers are not in order', async () => {
    const provider = '.well-known/wispr-provider';
    const proof = '.well-known/wispr-site';
    const good = await readFile(place(provider));
    await rm(place(proof));
    expect(findings(await verifyTree(workspace.out))).toEqual([`/${proof} host-proof`]);
    await copyFile(join(other.out, proof), place(proof));
    expect(findings(await verifyTree(workspace.out))).toEqual([`/${proof} host-proof`]);
    await change(provider, (b) => b.toString().replace('read.news', 'read.evil'));
    expect(findings(await verifyTree(workspace.out))).toEqual([`/${provider} descriptor-signature`]);
    await writeFile(place(provider), '{}');
    expect(findings(await verifyTree(workspace.out))).toEqual([`/${provider} descriptor-malformed`]);
    await rm(place(provider));
    expect(findings(await verifyTree(workspace.out))).toEqual([`/${provider} file-missing`]);
    await writeFile(place(provider), good);
    await writeFile(place(proof), `somebody else\nwispr/1 root=${(await workspace.keyStore()).rootId}\n`);
    expect(findings(await verifyTree(workspace.out))).toEqual([]);
  });

  it('does not once its descriptor expired, and all else is checked', async () => {
    const now = Math.floor(Date.now() / 1000) + 401 * 86_400;
    const report = await verifyTree(workspace.out, { now });
    expect(findings(report)).toEqual(['/.well-known/wispr-provider descriptor-expired']);
    expect(report.encrypted).toBe(4);
  });

  it('does not where another publisher or site is expected', async () => {
    const { publisher } = await other.keyStore();
    expect(findings(await verifyTree(workspace.out, { publisher: publisher.id }))).toEqual([
      '/.well-known/wispr-provider publisher-unexpected',
    ]);
    expect(findings(await verifyTree(workspace.out, { site: 'other.example' }))).toEqual([
      '/.well-known/wispr-provider site-mismatch',
    ]);
  });

  it('shows no control characters of hostile names', async () => {
    await writeFile(place('a\u001b[2Jb\u202e.html'), 'x');
    const report = await verifyTree(workspace.out);
    expect(report.findings.map(({ path }) => path)).toEqual(['/a\\u{1b}[2Jb\\u{202e}.html']);
  });

  it('is an error if it is not there', async () => {
    await expect(verifyTree(join(workspace.directory, 'nothing'))).rejects.toMatchObject({ code: 'tree-unreadable' });
  });
});
