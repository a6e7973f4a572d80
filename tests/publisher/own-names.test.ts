/** Published files can never take the place of targets: by their names, by two writers, or by damage that stays. */
import { hash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { publisherIdentity } from '../../core/object/writer.ts';
import { SETTINGS_PATH } from '../../core/publication/names.ts';
import { isDocumentPath } from '../../core/site/path.ts';
import { immutableFilesOf } from '../../publisher/protect/files.ts';
import type { WriteTask } from '../../publisher/protect/writers/jobs.ts';
import { DocumentWriters } from '../../publisher/protect/writers/writers.ts';
import { problemOfFile } from '../../publisher/site/names.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { targetsOf } from '../support/publishing.ts';
import { runWispr } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, snapshot, type TestWorkspace } from '../support/workspace.ts';

const REPORT = '<!doctype html><title>Report</title><p>Genuine.';
const HASH = hash('sha256', REPORT);

describe('attack 101: a source file named like a published one', () => {
  let made: TestWorkspace;
  let web: string;
  beforeAll(async () => {
    web = await mkdtemp(join(tmpdir(), 'wispr-web-'));
    made = await createWorkspace({ 'uploads/report.html': REPORT }, { public: ['uploads/**'], ...targetsOf(web) });
    await writeFile(join(made.directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
    expect((await wispr('publish', ...withPassphrase)).code).toBe(0);
  });
  afterAll(async () => {
    await made.remove();
    await rm(web, { recursive: true });
  });
  const withPassphrase = ['--passphrase-file', 'passphrase'];
  const wispr = (...args: string[]) => runWispr(args, { cwd: made.directory });
  const published = async () => [...(await snapshot(web)), ...(await snapshot(made.out))];
  const settingsHash = async () => {
    const [, found = ''] =
      /([0-9a-f]{64})\.wispr-settings/.exec([...(await snapshot(made.out)).keys()].join(' ')) ?? [];
    return found;
  };

  it.each([
    ['the content of another document (poc9)', async () => `uploads/${HASH}.report.html`],
    ['its head', async () => `uploads/${'a'.repeat(64)}.report.html.protected`],
    ['the settings (poc9b)', async () => `.well-known/${await settingsHash()}.wispr-settings`],
    ['the descriptor', async () => `.well-known/${'0'.repeat(64)}.wispr-provider`],
    ['a directory where a content lies', async () => `uploads/${HASH}.report.html/x.html`],
    ['the host proof', async () => '.well-known/wispr-site'],
    ['metadata', async () => '.well-known/wispr/2.root.json'],
  ])('%s is refused by name by check, protect and publish, and changes nothing', async (_, nameOf) => {
    const name = await nameOf();
    const before = await published();
    await made.write(name, 'EVIL');
    const [refused = ''] = /.*[0-9a-f]{64}\.[^/]*/i.exec(name) ?? [name];
    for (const command of ['protect', 'publish']) {
      const { code, stderr } = await wispr(command, ...withPassphrase);
      expect([code, stderr]).toEqual([1, expect.stringContaining('[source-refused]')]);
      expect(stderr).toContain(`/${refused}: `);
    }
    const { code, stdout } = await wispr('check', '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout).groups).toContainEqual(
      expect.objectContaining({ kind: 'refused', findings: [expect.objectContaining({ subject: `/${refused}` })] }),
    );
    expect(await published()).toEqual(before);
    await rm(join(made.source, ...(refused === name ? [name] : [refused])), { recursive: true });
  });

  it('does not keep the next run from publishing, once it is gone', async () => {
    expect((await wispr('publish', ...withPassphrase)).code).toBe(0);
    expect((await verifyTree(web)).findings).toEqual([]);
  });
});

it.each(['/publisher.keys', '/a/root.keys.bak', '/.publisher.keys.swp'])('keys at %s are refused', (path) => {
  expect(problemOfFile(path)).toContain('holds your keys');
});

it.each([
  `/uploads/${HASH.toUpperCase()}.report.html`,
  `/uploads/${HASH}.report.html.PROTECTED`,
  `/a/${HASH}.x.protected.`,
  '/.well-known/WISPR/2.root.json',
  '/.well-known/wi\u017fpr/2.root.json',
  '/.well-known/wispr./2.root.json',
  '/.well-known/wis\u200bpr/2.root.json',
  '/.well-\u212anown/wispr/2.root.json',
  `/a/${'0'.repeat(64)}.x.prot\u200dected`,
  '/a/x.protected. .',
])('attack 101: %j is refused, though it looks like another file to some file systems only', (path) => {
  expect(problemOfFile(path)).toBeDefined();
});

describe('attack 101: two writers of one file', () => {
  it('cannot be: the files of two documents, and of the publication itself, are never the same', () => {
    const hashes = ['0'.repeat(64), 'a'.repeat(64)];
    const piece = fc.constantFrom(
      'a',
      'b.html',
      ...hashes,
      `${hashes[0]}.a`,
      '.protected',
      '.',
      '.well-known',
      'wispr-settings',
    );
    const path = fc
      .array(fc.array(piece, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 })
      .map((segments) => `/${segments.map((pieces) => pieces.join('')).join('/')}`)
      .filter((each) => isDocumentPath(each) && problemOfFile(each) === undefined);
    const own = hashes.flatMap((each) =>
      immutableFilesOf({ path: SETTINGS_PATH, head: each, content: each, form: 'copy' }),
    );
    const filesOf = (each: string, digest: string) => [
      each,
      ...immutableFilesOf({ path: each, head: digest, content: digest, form: 'copy' }),
    ];
    const digest = fc.constantFrom(...hashes);
    fc.assert(
      fc.property(path, path, digest, digest, (one, other, first, second) => {
        const all = [...filesOf(one, first), ...(one === other ? [] : filesOf(other, second)), ...own];
        expect(new Set(all).size).toBe(all.length);
      }),
      { numRuns: 2000 },
    );
  });

  it('is refused where documents are written, whatever a walk has found', async () => {
    const out = await mkdtemp(join(tmpdir(), 'wispr-out-'));
    const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
    const writers = new DocumentWriters({ out, site: 'news.example', publisher, sets: new Map() });
    const path = `/${'a'.repeat(64)}.report.html`;
    const refusal = expect.objectContaining({ code: 'source-refused', message: expect.stringContaining(path) });
    const source = { path, file: join(out, 'site'), size: 4, lastModified: 1, identity: '' };
    const task = { path, source, mediaType: 'text/html', compress: false, padding: false } as unknown as WriteTask;
    await expect(writers.write(task)).rejects.toEqual(refusal);
    await expect(writers.place({ kind: 'page', path, page: 'EVIL' })).rejects.toEqual(refusal);
    expect(await readdir(out)).toEqual([]);
    await writers.close();
    await rm(out, { recursive: true });
  });
});

describe('attack 101: a file of the output that is damaged is mended by the next run:', () => {
  let made: TestWorkspace;
  beforeAll(async () => {
    made = await createWorkspace({ 'a.html': REPORT, 'b.css': 'p{}' }, { public: ['*.css'] });
    await made.protect();
  });
  afterAll(() => made.remove());

  const damages: Readonly<Record<string, (file: string, bytes: Buffer) => Promise<void>>> = {
    changed: (file, bytes) => writeFile(file, bytes.with(bytes.length >> 1, (bytes[bytes.length >> 1] ?? 0) ^ 1)),
    'cut short': (file, bytes) => writeFile(file, bytes.subarray(0, -1)),
    missing: (file) => rm(file),
  };

  it.each([
    ['the descriptor', /\/[0-9a-f]{64}\.wispr-provider$/],
    ['the settings', /\/[0-9a-f]{64}\.wispr-settings$/],
    ['the descriptor at its own name', /\/wispr-provider$/],
    ['the root', /\/1\.root\.json$/],
    ['the snapshot', /\/\d+\.snapshot\.json$/],
    ['targets', /\/\d+\.targets\.json$/],
    ['documents', /\/\d+\.documents\.json$/],
    ['a bin', /\/\d+\.documents-0\.json$/],
    ['the timestamp', /\/timestamp\.json$/],
  ])('%s', async (_, name) => {
    for (const [kind, damage] of Object.entries(damages)) {
      const path =
        [...(await snapshot(made.out)).keys()]
          .filter((each) => name.test(each))
          .sort((one, other) => one.localeCompare(other, 'en', { numeric: true })) // by version
          .at(-1) ?? '';
      const file = join(made.out, path);
      await damage(file, await readFile(file));
      await made.protect();
      expect((await verifyTree(made.out)).findings, `${path} ${kind}`).toEqual([]);
      expect((await made.read('/a.html')).toString()).toBe(REPORT);
    }
  });
});
