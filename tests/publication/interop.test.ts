/** Clients that others wrote read what our writer makes, over HTTP, and our client reads what others' writers make. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { type TufJson, tufCanonicalText } from '../../core/publication/canonical.ts';
import { PublicationClient } from '../../core/publication/client.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { METADATA_PATH, SETTINGS_TARGET } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { startContentHost } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { MemorySource, MemoryStore } from '../support/publication-source.ts';
import { keyRing, TestPublication } from '../support/test-publication.ts';
import { runPythonTuf } from './peers/python-tuf.ts';
import { type PeerReading, type PeerRequest, readWithTufJs, writeWithTufJs } from './peers/tuf-js.ts';
import { SET } from './reading.ts';

const READERS: [string, (request: PeerRequest) => Promise<PeerReading>][] = [
  ['python-tuf', readWithPythonTuf],
  ['tuf-js', readWithTufJs],
];

async function readWithPythonTuf({ root, ...request }: PeerRequest): Promise<PeerReading> {
  const folder = mkdtempSync(join(request.folder, 'python-'));
  return runPythonTuf({ do: 'read', ...request, folder, root: Buffer.from(root).toString('base64') });
}

const DOCUMENTS = Array.from({ length: 30 }, (_, n) => `/archive/${n}.html`);
const NAMES = [
  SETTINGS_TARGET,
  '.well-known/wispr-provider',
  'style.css',
  'sport/table.csv',
  'sport/match.html.protected',
  ...DOCUMENTS.map((path) => `${path.slice(1)}.protected`),
  'none.html.protected',
];

describe('a publication that our writer made', () => {
  const host = forFile(startContentHost);
  let publication: TestPublication;
  let folder: string;
  const request = () => ({
    folder,
    metadataUrl: `${host.origin}${METADATA_PATH}`,
    targetsUrl: `${host.origin}/`,
    root: publication.firstRoot,
    names: NAMES,
  });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'wispr-interop-'));
    publication = await makePublication();
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(READERS)('is read by %s: roots, bins, sections, documents, whole files', async (_name, read) => {
    serve();
    const { refresh, targets } = await read(request());
    expect(refresh).toBeNull();
    expect(targets['style.css']).toEqual({ sha256: sha256('a { color: red }') });
    expect(targets['sport/table.csv']).toEqual({ sha256: sha256('1;2') });
    expect(targets[SETTINGS_TARGET]).toEqual({ sha256: sha256(publication.wholeFiles.get(SETTINGS_TARGET)) });
    expect(targets['.well-known/wispr-provider']).toEqual({ sha256: sha256('a descriptor') });
    expect(targets['sport/match.html.protected']).toMatchObject({
      head: sha256('match'),
      custom: { wispr: { set: SET } },
    });
    for (const path of DOCUMENTS)
      expect(targets[`${path.slice(1)}.protected`]).toMatchObject({
        head: sha256(`head ${path}`),
        length: 5 + path.length,
      });
    expect(targets['none.html.protected']).toBeNull();
  });

  it.each(READERS)('is refused by %s where a byte of a whole file has changed', async (_name, read) => {
    serve();
    const [file] = [...publication.files.keys()].filter((path) => path.endsWith('.style.css'));
    host.files.set(file ?? '', utf8('a { color: RED }'));
    const { targets } = await read(request());
    expect(targets['style.css']).toEqual({ error: expect.any(String) });
    expect(targets['sport/table.csv']).toEqual({ sha256: sha256('1;2') });
  });

  it.each(READERS)(
    'is read by %s after a closing publication as before: it knows nothing of those',
    async (_name, read) => {
      await publication.close(nowInSeconds());
      serve();
      const { refresh, targets } = await read(request());
      expect(refresh).toBeNull();
      expect(targets['sport/table.csv']).toEqual({ sha256: sha256('1;2') });
    },
  );

  function serve(): void {
    host.files.clear();
    for (const [path, bytes] of publication.files) host.files.set(path, bytes);
  }
});

describe('a repository that others made', () => {
  const names = Array.from({ length: 40 }, (_, n) => `folder/file ${n} ü"\\.txt`);
  const team = ['team/one.txt', 'team/two.txt'];

  it.each([false, true])('is read by our client: python-tuf, two signatures a role (compact: %s)', async (compact) => {
    const { files } = await runPythonTuf<{ files: Record<string, string> }>({
      do: 'write',
      compact,
      names: [...names, ...team],
    });
    const map = new Map(
      Object.entries(files).map(([file, text]) => [file, Uint8Array.from(Buffer.from(text, 'base64'))]),
    );
    const client = await readAll(map, [...names, ...team]);
    expect(client.state?.root.version).toBe(2);
  });

  it("is read by our client: tuf-js's models, succinct bins, two signatures a role", async () => {
    await readAll(writeWithTufJs(names), names);
  });

  it('is refused by our client with one signature less', async () => {
    const files = writeWithTufJs(names);
    const file = JSON.parse(new TextDecoder().decode(files.get('timestamp.json'))) as { signatures: unknown[] };
    file.signatures.pop();
    files.set('timestamp.json', utf8(JSON.stringify(file)));
    await expect(readAll(files, names)).rejects.toMatchObject({ code: 'metadata-signature' });
  });
});

it('canonical JSON is what securesystemslib makes of the same values', async () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 8 });
  const { value } = fc.letrec<{ value: TufJson }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.string({ unit: 'grapheme' }),
      fc.maxSafeInteger(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(name, tie('value'), { maxKeys: 6 }) as fc.Arbitrary<TufJson>,
    ),
  }));
  const values = [...fc.sample(value, 1000), { '\u{10000}': 1, '\uffff': 2, '': 3, a: '"\\/\u007f\n\u0000' }];
  const { texts } = await runPythonTuf<{ texts: string[] }>({ do: 'canonical', values });
  expect(values.map((one) => tufCanonicalText(one))).toEqual(texts);
});

async function makePublication(): Promise<TestPublication> {
  const now = nowInSeconds();
  const publication = await TestPublication.create(now, { targets: await keyRing(3, 2) });
  await publication.addSection('sport', ['sport/*'], await keyRing(2, 2));
  await publication.addEncrypted('/sport/match.html', SET, utf8('match'));
  await publication.addPublic('/sport/table.csv', utf8('head of table'), utf8('1;2'));
  await publication.addPublic('/style.css', utf8('head of style'), utf8('a { color: red }'));
  await publication.publish(now - 60);
  await publication.rotate('root', now);
  await publication.rotate('snapshot', now);
  for (const path of DOCUMENTS) await publication.addEncrypted(path, SET, utf8(`head ${path}payload`), 5 + path.length);
  await publication.publish(now);
  return publication;
}

async function readAll(files: ReadonlyMap<string, Uint8Array>, names: readonly string[]): Promise<PublicationClient> {
  const source = new MemorySource(new Map([...files].map(([file, bytes]) => [METADATA_PATH + file, bytes])));
  const firstRoot = async () => files.get('1.root.json') ?? new Uint8Array(0);
  const client = new PublicationClient({
    source,
    store: new MemoryStore(),
    strict: false, // writers lay out their delegations in their own ways
    verify: verifyEd25519,
    grace: 0,
    firstRoot,
  });
  const now = nowInSeconds();
  await client.refresh(now);
  for (const name of names) expect(await client.target(name, now), name).toMatchObject({ sha256: sha256(name) });
  expect(await client.target('none', now)).toBeUndefined();
  return client;
}

function sha256(data: string | Uint8Array = ''): string {
  return createHash('sha256').update(data).digest('hex');
}
