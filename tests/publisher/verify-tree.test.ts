import { copyFile, cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { targetFile } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { VerifyReport } from '../../publisher/verify/report.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
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
  await workspace.protect();
  await cp(workspace.out, `${workspace.out}.good`, { recursive: true });
});
beforeEach(async () => {
  await rm(workspace.out, { recursive: true, force: true });
  await cp(`${workspace.out}.good`, workspace.out, { recursive: true });
});
afterAll(async () => {
  await workspace.remove();
  await other.remove();
});

const place = (path: string) => join(workspace.out, path);

async function change(path: string, edit: (bytes: Buffer) => Buffer | string): Promise<void> {
  const changed = edit(await readFile(place(path)));
  await rm(place(path)); // copies and contents may be one file with two names
  await writeFile(place(path), changed);
}

/** The byte at `position`, from the end if negative, with one bit changed. */
function flip(bytes: Buffer, position: number): Buffer {
  const index = position < 0 ? bytes.length + position : position;
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
}

/** Replaces one text by another in bytes. */
const replacing = (from: string, to: string) => (bytes: Buffer) =>
  Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1');

const findings = ({ findings: found }: VerifyReport) => found.map(({ path, code }) => `${path} ${code}`);

/** The file of a document's object, or of a public document's content. */
async function fileOf(path: string): Promise<string> {
  return (await workspace.objectFile(`/${path}`)).slice(workspace.out.length + 1);
}
async function contentFileOf(path: string): Promise<string> {
  const { content = '' } = await (await workspace.published()).entry(`/${path}`);
  return targetFile(path, content).slice(1);
}

const metadata = (name: string) => `.well-known/wispr/${name}`;

describe('a protected tree', () => {
  it('passes as it was made', async () => {
    const report = await verifyTree(workspace.out);
    expect(report).toMatchObject({
      site: 'news.example',
      publisher: (await workspace.keyStore()).rootId,
      trust: 'host-proof',
      encrypted: 4,
      signed: 2,
      fallbackPages: 2,
      leftovers: 0,
      findings: [],
      notes: [],
    });
    expect(report.publication?.version).toBeGreaterThan(0);
  });

  it('passes with pages that carry themselves', async () => {
    const plan = { name: 'daily', sets: ['day-*'], period: 'month' as const, price: '€6 a month', trial: 14 };
    const carried = await createWorkspace(
      { 'a.html': PAGE, 'b.bin': Buffer.alloc(70_000) },
      { carrier: 'html', plans: [plan], fallback: { redirect: 'always' } },
    );
    await carried.protect();
    expect(await verifyTree(carried.out)).toMatchObject({ encrypted: 2, fallbackPages: 1, findings: [] });
    const file = join(carried.out, 'a.html');
    const good = await readFile(file, 'utf8');
    expect(good).toMatch(/-->\n<!doctype html>[\s\S]*<meta http-equiv="refresh" content="1;URL=/);
    await writeFile(file, good.replace('€6', '€1'));
    expect(findings(await verifyTree(carried.out))).toEqual(['/a.html file-altered']);
    await writeFile(file, good.replace('<main>', '<main><script src="//evil.example"></script>'));
    expect(findings(await verifyTree(carried.out))).toEqual(['/a.html file-altered']);
    await writeFile(file, good.replace(/\n[A-Za-z0-9+/]/, '\n!'));
    expect(findings(await verifyTree(carried.out))).toEqual(['/a.html object-unrecognised']);
    await carried.remove();
  });

  it.each<[string, string, (bytes: Buffer) => Buffer | string, string]>([
    ['a bit of the magic', 'large.bin', (b) => flip(b, 0), 'object-unrecognised'],
    ['a newer version', 'large.bin', replacing('wispr/1', 'wispr/9'), 'object-version'],
    ['a bit of the header', 'large.bin', replacing('"blockChunks":4', '"blockChunks":5'), 'signature-invalid'],
    ['a bit of the digest list', 'large.bin', (b) => flip(b, b.readUInt32BE(8) + 76), 'block-digest'],
    ['a bit of the last block', 'large.bin', (b) => flip(b, -1), 'block-digest'],
    ['a missing byte', 'large.bin', (b) => b.subarray(0, -1), 'object-truncated'],
    ['one byte more', 'large.bin', (b) => Buffer.concat([b, Buffer.of(0)]), 'object-trailing'],
    ['no byte at all', 'large.bin', () => '', 'object-unrecognised'],
    ['one byte more behind a head', 'style.css', (b) => Buffer.concat([b, Buffer.of(0)]), 'object-trailing'],
  ])('does not with %s', async (_, path, edit, code) => {
    const file = await fileOf(path);
    await change(file, edit);
    const report = await verifyTree(workspace.out);
    expect(findings(report)).toEqual([`/${file} ${code}`]);
    expect(report.findings[0]?.kind).toBe('corrupted');
  });

  it.each<[string, (bytes: Buffer) => Buffer | string, string]>([
    ['changed', (b) => flip(b, 3), 'block-digest'],
    ['cut', (b) => b.subarray(0, -1), 'object-truncated'],
    ['continued', (b) => `${b} `, 'object-trailing'],
  ])('does not with the content of a public document %s', async (_, edit, code) => {
    const file = await contentFileOf('style.css');
    await change(file, edit);
    expect(findings(await verifyTree(workspace.out))).toEqual([`/${file} ${code}`]);
  });

  it('does not with a plain copy that is not what was signed', async () => {
    await change('style.css', (b) => `${b} `);
    await change('free.html', (b) => b.toString().replace('Rest', 'Less'));
    expect(findings(await verifyTree(workspace.out))).toEqual(['/free.html file-altered', '/style.css file-altered']);
  });

  it('does not with objects at other places, or another publisher’s', async () => {
    const [large, index, empty] = [await fileOf('large.bin'), await fileOf('index.html'), await fileOf('empty')];
    await rename(place(index), place('moved'));
    await copyFile(place('moved'), place(large));
    await copyFile(await other.objectFile('/empty'), place(empty));
    expect(findings(await verifyTree(workspace.out)).sort()).toEqual(
      [
        `/${large} path-mismatch`,
        `/${index} file-missing`,
        '/moved file-unsigned',
        `/${empty} publisher-unexpected`,
      ].sort(),
    );
  });

  it('attack 92: does not with a well-signed object in the place of the one that the publication names', async () => {
    const changed = await createWorkspace({ 'index.html': PAGE });
    await changed.protect();
    const old = await readFile(await changed.objectFile('/index.html'));
    await changed.write('index.html', `${PAGE}<p>New.</p>`);
    await changed.protect();
    const report = await verifyTree(changed.out);
    expect(report).toMatchObject({ findings: [] });
    expect(report.leftovers).toBeGreaterThan(0);
    const file = await changed.objectFile('/index.html');
    await writeFile(file, old);
    expect(findings(await verifyTree(changed.out))).toEqual([`${file.slice(changed.out.length)} head-unexpected`]);
    await changed.remove();
  });

  it('does not with files that nothing signs', async () => {
    await writeFile(place('evil.js'), 'alert(1)');
    await writeFile(place('evil.html'), PAGE);
    await mkdir(place('.git'));
    await writeFile(place('.git/config'), 'x');
    await symlink('/etc', place('etc'));
    await writeFile(place('bad\\name.protected'), 'x');
    const report = await verifyTree(workspace.out);
    expect(findings(report)).toEqual([
      '/.git/config file-unsigned',
      '/bad\\name.protected file-unsigned',
      '/etc file-unsigned',
      '/evil.html file-unsigned',
      '/evil.js file-unsigned',
    ]);
    expect(new Set(report.findings.map(({ kind }) => kind))).toEqual(new Set(['extra']));
  });

  it('does not with a fallback page that leads elsewhere, or was changed', async () => {
    await change('index.html', (b) => b.toString().replaceAll('read.news.example', 'read.evil.example'));
    await change('a/b c.html', (b) => b.toString().replace('<main>', '<main onload="x">'));
    expect(findings(await verifyTree(workspace.out))).toEqual(['/a/b c.html file-altered', '/index.html file-altered']);
  });

  it('does not with anything missing', async () => {
    const gone = [await fileOf('index.html'), 'style.css', await contentFileOf('free.html'), 'a/b c.html'];
    for (const path of gone) await rm(place(path));
    const report = await verifyTree(workspace.out);
    expect(findings(report)).toEqual(gone.map((path) => `/${path} file-missing`).sort());
    expect(new Set(report.findings.map(({ kind }) => kind))).toEqual(new Set(['missing']));
  });

  it('does not with any metadata missing or changed', async () => {
    for (const name of ['1.root', 'timestamp', '1.snapshot', '1.targets', '1.documents-1']) {
      const file = place(metadata(`${name}.json`));
      const good = await readFile(file);
      await writeFile(file, good.toString().replace(/"version":(\d)/, '"version":9$1'));
      const [changed] = (await verifyTree(workspace.out)).findings;
      expect(changed?.path).toMatch(/^\/\.well-known\/wispr/);
      await rm(file);
      expect((await verifyTree(workspace.out)).findings[0]).toMatchObject({
        kind: 'missing',
        code: 'metadata-missing',
      });
      await writeFile(file, good);
    }
    expect(findings(await verifyTree(workspace.out))).toEqual([]);
  });

  it('does not if its own papers are not in order', async () => {
    const proof = '.well-known/wispr-site';
    await rm(place(proof));
    expect(await verifyTree(workspace.out)).toMatchObject({ trust: 'none' });
    expect(findings(await verifyTree(workspace.out))).toEqual([`/${proof} host-proof`]);
    await copyFile(join(other.out, proof), place(proof));
    expect(findings(await verifyTree(workspace.out))).toEqual([`/${proof} host-proof`]);
    await writeFile(place(proof), `another line\nwispr/1 root=${(await workspace.keyStore()).rootId}\n`);
    expect(findings(await verifyTree(workspace.out))).toEqual([]);
    await change('.well-known/wispr-provider', (b) => b.toString().replace('read.news', 'read.evil'));
    expect(findings(await verifyTree(workspace.out))).toEqual(['/.well-known/wispr-provider file-altered']);
  });

  it('says what is stale, and checks the rest all the same', async () => {
    const now = nowInSeconds();
    const graceful = await verifyTree(workspace.out, { now: now + 3 * 86_400 });
    expect(graceful.findings).toMatchObject([{ kind: 'stale', code: 'publication-expired' }]);
    expect(graceful.findings[0]?.message).toContain('readers still show it');
    const old = await verifyTree(workspace.out, { now: now + 401 * 86_400 });
    expect(new Set(old.findings.map(({ kind }) => kind))).toEqual(new Set(['stale']));
    expect(old.findings.map(({ code }) => code)).toContain('descriptor-expired');
    expect(old.encrypted).toBe(4);
  });

  it('does not where another publisher or site is expected', async () => {
    const { rootId } = await workspace.keyStore();
    expect(await verifyTree(workspace.out, { root: rootId })).toMatchObject({ trust: 'given', findings: [] });
    expect((await verifyTree(workspace.out, { root: (await other.keyStore()).rootId })).findings).toMatchObject([
      { kind: 'untrusted', code: 'root-unexpected' },
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
});
