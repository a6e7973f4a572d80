/** A publication written, read, and tampered with: the same on every platform, though its keys are others each time. */
import { utf8 } from '../../../core/encoding/bytes.ts';
import { METADATA_PATH } from '../../../core/publication/names.ts';
import { readerOf } from '../../support/publication-source.ts';
import { keyRing, TestPublication } from '../../support/test-publication.ts';

const NOW = 1_790_000_000;
const DOCUMENTS = [
  '/index.html',
  '/Zürich ☕.html',
  '/constructor',
  '/a/b/c.html',
  ...Array.from({ length: 40 }, (_, n) => `/${n}`),
];

export interface PublicationOutcome {
  /** Bytes of the heads of documents; `null` for an authenticated 404. */
  readonly found: Record<string, number | null>;
  readonly version: number;
  /** Codes of what was refused, by what was changed. */
  readonly refused: Record<string, string>;
}

export async function runPublication(): Promise<PublicationOutcome> {
  const publication = await TestPublication.create(NOW, { targets: await keyRing(3, 2) });
  for (const path of DOCUMENTS) await publication.addEncrypted(path, 'A'.repeat(43), utf8(`head of ${path}`));
  await publication.publish(NOW);
  await publication.rotate('root', NOW);
  await publication.rotate('timestamp', NOW);
  await publication.addPublic('/style.css', utf8('head'), utf8('a {}'));
  await publication.publish(NOW + 60);
  const { site } = readerOf(publication);
  await site.refresh(NOW + 60);
  const found: Record<string, number | null> = {};
  for (const path of [...DOCUMENTS, '/style.css', '/none', '/toString'])
    found[path] = (await site.document(path, NOW + 60))?.headLength ?? null;
  return { found, version: site.freshness(NOW + 60).version, refused: await refusals(publication) };
}

async function refusals(publication: TestPublication): Promise<Record<string, string>> {
  const codes: Record<string, string> = {};
  for (const file of ['1.root.json', '3.root.json', 'timestamp.json', '2.snapshot.json', '1.targets.json']) {
    const { site, source } = readerOf(publication);
    const bytes = Uint8Array.from(publication.files.get(METADATA_PATH + file) ?? []);
    const last = bytes.length - 20;
    bytes[last] = (bytes[last] ?? 0) ^ 1;
    source.instead.set(METADATA_PATH + file, () => bytes);
    codes[file] = await site.refresh(NOW + 60).then(
      () => 'accepted',
      (error: { code?: string }) => error.code ?? String(error),
    );
  }
  return codes;
}
