/** Catalogues of error codes: what `wispr explain` shows, and docs/generated/errors.md. */
import { CACHE_CONFIG_ERRORS } from '../cache-config/errors.ts';
import { READER_ERRORS } from '../client-proxy/errors.ts';
import type { ErrorCatalogue } from '../core/errors.ts';
import { CHANNEL_ERRORS } from '../core/httpcrypt/errors.ts';
import { KEY_ERRORS } from '../core/keys/errors.ts';
import { OBJECT_ERRORS } from '../core/object/errors.ts';
import { PUBLICATION_ERRORS } from '../core/publication/errors.ts';
import { HTTPCRYPT_ERRORS } from '../httpcrypt/serve/errors.ts';
import { KEY_SERVER_ERRORS } from '../keyserver/errors.ts';
import { LINK_ERRORS } from '../link/errors.ts';
import { DISK_FULL } from '../node-support/disk-full.ts';
import { STORAGE_ERRORS } from '../node-support/storage/errors.ts';
import { PUBLISH_ERRORS } from '../publisher/errors.ts';
import { FILE_FINDINGS } from '../publisher/verify/report.ts';
import { READING_ERRORS } from '../reading/errors.ts';
import { WEB_READER_ERRORS } from '../web-reader/errors.ts';

export interface Section {
  readonly title: string;
  readonly intro: string;
  readonly catalogue: ErrorCatalogue;
  /** The specification that numbers the steps of its codes. */
  readonly spec?: string;
}

/** Sections in the order in which docs/generated/errors.md shows them. */
export const SECTIONS: readonly Section[] = [
  { title: 'Every program', intro: 'Of all that write files.', catalogue: DISK_FULL },
  {
    title: 'Protected objects',
    intro: 'Steps are those of [protected-object.md](../spec/protected-object.md), "Verification".',
    catalogue: OBJECT_ERRORS,
    spec: 'docs/spec/protected-object.md',
  },
  { title: 'Reading', intro: 'Before there is an object to check.', catalogue: READING_ERRORS },
  {
    title: 'Keys',
    intro:
      'Steps W, D and B are those of [keys.md](../spec/keys.md), steps R those of [roaming.md](../spec/roaming.md), steps V and F those of [web-reader.md](../spec/web-reader.md).',
    catalogue: KEY_ERRORS,
    spec: 'docs/spec/keys.md',
  },
  {
    title: 'HTTPCrypt',
    intro: 'Steps are those of [httpcrypt.md](../spec/httpcrypt.md).',
    catalogue: CHANNEL_ERRORS,
    spec: 'docs/spec/httpcrypt.md',
  },
  {
    title: 'Publications',
    intro:
      'Steps are those of [publication.md](../spec/publication.md), "Reading". What was trusted before stays in use until it expires.',
    catalogue: PUBLICATION_ERRORS,
    spec: 'docs/spec/publication.md',
  },
  {
    title: 'Publisher',
    intro: 'Unless the message says otherwise, nothing changed for readers, and the next run uses what was written.',
    catalogue: PUBLISH_ERRORS,
  },
  {
    title: 'Findings of `wispr verify`',
    intro: 'Besides the codes of protected objects, keys and publications.',
    catalogue: FILE_FINDINGS,
  },
  {
    title: 'Targets',
    intro: 'Directories and buckets that files are published to. Files that were there before are whole.',
    catalogue: STORAGE_ERRORS,
  },
  {
    title: 'Key server',
    intro:
      'On its command line and in its log. Devices and publishers are sent the code only, as `{"error": "code"}`; readers see it on the pages of the reading site.',
    catalogue: KEY_SERVER_ERRORS,
  },
  { title: 'Cache configurations', intro: '`wispr cache-config` and tests.', catalogue: CACHE_CONFIG_ERRORS },
  {
    title: 'Reader',
    intro:
      '`wispr proxy`, `bind`, `fetch`, `sync` and `identity`, and the pages of the Reader, whose answers have the code in the header `Wispr-Refusal`.',
    catalogue: READER_ERRORS,
  },
  {
    title: 'In-browser reader',
    intro: 'Besides the codes of protected objects, reading, keys and publications; on its pages, folded away.',
    catalogue: WEB_READER_ERRORS,
  },
  { title: 'Endpoint of HTTPCrypt', intro: '`wispr httpcrypt serve`.', catalogue: HTTPCRYPT_ERRORS },
  { title: 'Relays of a narrow link', intro: '`wispr link near` and `wispr link far`.', catalogue: LINK_ERRORS },
];
