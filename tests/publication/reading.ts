/** Parts that tests of publications share: a site with one document that a reader has read, and what must hold when the next is refused. */
import { expect } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import type { PublicationErrorCode } from '../../core/publication/errors.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { MemorySource, readerOf, type TestReader } from '../support/publication-source.ts';
import { TestPublication } from '../support/test-publication.ts';

/** A time of the tests' own; nothing of core/ looks at a clock. */
export const NOW = 1_790_000_000;
export const HOUR = 3600;
export const DAY = 86_400;
export const LATER = NOW + HOUR;
export const SET = 'A'.repeat(43);
export const PAGE = '/news/today.html';

export const TIMESTAMP_PATH = `${METADATA_PATH}timestamp.json`;

export interface Site extends TestReader {
  readonly publication: TestPublication;
}

/** A publication with a page, read at {@link NOW}. */
export async function readSite(change?: (publication: TestPublication) => Promise<void>): Promise<Site> {
  const publication = await TestPublication.create(NOW);
  await publication.addEncrypted(PAGE, SET, utf8('head of today'));
  await change?.(publication);
  await publication.publish(NOW);
  const reader = readerOf(publication);
  await reader.site.refresh(NOW);
  expect(await reader.site.document(PAGE, NOW)).toMatchObject({ set: SET });
  return { publication, ...reader };
}

/** The next publication has another page as well. */
export async function publishMore(publication: TestPublication, now = NOW + HOUR): Promise<void> {
  await publication.addEncrypted(`/more/${publication.version}.html`, SET, utf8(`more ${publication.version}`));
  await publication.publish(now);
}

/** The publication that was read before still answers: at once, and after a new start with a host that has nothing. */
export async function expectOldState({ publication, site, store }: Site, version: number, now: number): Promise<void> {
  const restarted = readerOf(publication, store, new MemorySource(new Map())).site;
  await restarted.load();
  for (const reader of [site, restarted]) {
    expect(reader.freshness(now).version).toBe(version);
    expect(await reader.document(PAGE, now)).toMatchObject({ set: SET });
  }
}

/** A refresh is refused, and what was read before stays in use. */
export async function expectRefused(site: Site, code: PublicationErrorCode, now = NOW + HOUR): Promise<void> {
  const { version } = site.site.freshness(now);
  await expect(site.site.refresh(now)).rejects.toMatchObject({ name: 'PublicationError', code });
  await expectOldState(site, version, now);
}

/** Changes a metadata file on the host. */
export function tamper(publication: TestPublication, file: string, change: (bytes: Uint8Array) => Uint8Array): void {
  const path = METADATA_PATH + file;
  const bytes = publication.files.get(path);
  if (bytes === undefined) throw new Error(`no ${file}`);
  publication.files.set(path, change(Uint8Array.from(bytes)));
}

/** The file of a role that has this version. */
export function fileOf(role: string, version: number): string {
  return role === 'timestamp' ? 'timestamp.json' : `${version}.${role}.json`;
}
