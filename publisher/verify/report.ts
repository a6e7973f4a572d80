/** The report of `wispr verify`. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { ErrorCatalogue } from '../../core/errors.ts';
import type { KeyErrorCode } from '../../core/keys/errors.ts';
import type { ObjectErrorCode } from '../../core/object/errors.ts';
import type { PublicationErrorCode } from '../../core/publication/errors.ts';
import { utcMinute } from '../../node-support/clock.ts';
import { printable } from '../../node-support/printable.ts';
import { count } from '../text.ts';

/** Kind of a finding, by what a mirror has to do. */
export type FindingKind = 'corrupted' | 'missing' | 'extra' | 'stale' | 'untrusted';

export interface Finding {
  readonly kind: FindingKind;
  /** A path from the top of the site, as its file is called. */
  readonly path: string;
  /** The code of the check that failed: those of the specs' verification steps, and {@link FILE_FINDINGS}. */
  readonly code: FindingCode;
  readonly message: string;
}

export type FindingCode = KeyErrorCode | ObjectErrorCode | PublicationErrorCode | keyof typeof FILE_FINDINGS;

/** Findings about files, rather than about one object. */
export const FILE_FINDINGS = {
  'file-unsigned': {
    means: 'the publication does not name this file',
    remedy: 'publish again if `wispr publish` was interrupted; else remove it, and find out who put it there',
  },
  'file-missing': { means: 'a file that the publication names is missing', remedy: 'copy it again' },
  'file-altered': {
    means: 'the file, or a fallback page, is not what the publication names or wispr made',
    remedy: 'copy it again, and find out who changed it',
  },
  'program-other': {
    means: 'the reading site gives browsers another program than the publication names',
    remedy:
      'where it runs another version of wispr than you publish with, publish again with that one; else ask its operator',
  },
  'publication-behind': {
    means: 'the key server or another content host has a newer publication',
    remedy: 'run `wispr publish` again, or copy the site again; a cache may be a minute behind',
  },
  'path-refused': { means: 'no document can have the path that was named', remedy: 'check the path' },
  unreadable: { means: 'it could not be read or fetched', remedy: 'check permissions and network' },
} as const satisfies ErrorCatalogue;

const KINDS: Readonly<Partial<Record<FindingCode, FindingKind>>> = {
  'file-unsigned': 'extra',
  'path-refused': 'extra',
  'file-missing': 'missing',
  'metadata-missing': 'missing',
  'metadata-expired': 'stale',
  'publication-behind': 'stale',
  'publication-expired': 'stale',
  'publication-withdrawn': 'stale',
  'clock-off': 'stale',
  'descriptor-expired': 'stale',
  'host-proof': 'untrusted',
  'root-unexpected': 'untrusted',
  'site-mismatch': 'untrusted',
};

/** Source by which the publisher was known before anything was checked. */
export type Trust = 'given' | 'host-proof' | 'none';

/** The publication that was checked; all times in seconds since 1970. */
export interface CheckedPublication {
  readonly version: number;
  readonly confirmed: number;
  readonly freshUntil: number;
  readonly shownUntil: number;
}

/** Bounds the memory of a report. */
const MAXIMUM_FINDINGS = 10_000;

export class VerifyReport {
  /** The site that the descriptor names; `undefined` if there is no good one. */
  site: string | undefined;
  publisher: KeyId | undefined;
  trust: Trust = 'none';
  /** Expiry of the descriptor, seconds since 1970. */
  expires: number | undefined;
  publication: CheckedPublication | undefined;
  /** Documents that passed every check that takes no key. */
  encrypted = 0;
  signed = 0;
  /** Parts of the site with keys of their own, and how many documents each names. */
  readonly sections: { readonly name: string; readonly documents: number }[] = [];
  /** Fallback pages: recognised, and not signed. */
  fallbackPages = 0;
  /** Fallback pages from a template of the publisher: only their Read link was checked. */
  ownFallbackPages = 0;
  /** Key files of invitations, on a site without a key server: not signed, and sealed. */
  keyFiles = 0;
  /** Files of earlier publications, which may still be needed. */
  leftovers = 0;
  readonly findings: Finding[] = [];
  moreFindings = 0;
  /** Checks that were not, or could not be, made; in plain words. */
  readonly notes: string[] = [];

  find(path: string, code: FindingCode, message: string): void {
    if (this.findings.length >= MAXIMUM_FINDINGS) this.moreFindings++;
    else {
      const kind = KINDS[code] ?? 'corrupted';
      this.findings.push({ kind, path: printable(path), code, message: printable(message) });
    }
  }

  /** Puts the findings in the order of the paths, and says in words what was only counted. */
  finish(): this {
    this.findings.sort((a, b) => (a.path < b.path ? -1 : 1));
    if (this.leftovers > 0)
      this.notes.push(`${count(this.leftovers, 'file is', 'files are')} left from earlier publications`);
    if (this.ownFallbackPages > 0) {
      const pages = count(this.ownFallbackPages, 'fallback page');
      this.notes.push(
        `of ${pages} only the Read link was checked: they are made from a template of the publisher, and not signed`,
      );
    }
    return this;
  }
}

export function describeFinding({ kind, path, code, message }: Finding): string {
  return `${kind}: ${path}: ${code}: ${message}`;
}

const TRUST = {
  given: 'the root id that you gave',
  'host-proof': 'the host proof found there: compare this fingerprint with one that you know from elsewhere, by --root',
  none: 'nothing: the root id is the one found there',
} as const;

/** Writes a report as lines for people. @param source - as it was named */
export function describeReport(source: string, report: VerifyReport): string[] {
  const { site, publisher, trust, publication, encrypted, signed, sections, findings, moreFindings, notes } = report;
  const lines: string[] = [];
  if (publisher !== undefined) {
    lines.push(`${source} is ${site ?? 'a site'}, published by ${publisher}`, `trusted: ${TRUST[trust]}`);
  }
  if (publication) {
    const { version, confirmed, freshUntil } = publication;
    lines.push(`publication ${version}, confirmed ${utcMinute(confirmed)}, fresh until ${utcMinute(freshUntil)}`);
  }
  const passed = `${count(encrypted, 'encrypted document')} and ${count(signed, 'public document')}`;
  lines.push(`${passed} passed every check that takes no key`);
  for (const { name, documents } of sections)
    lines.push(`${count(documents, 'document')} of them in the section ${name}, which has keys of its own`);
  // A note speaks of pages from a template of the publisher.
  const builtIn = report.fallbackPages - report.ownFallbackPages;
  if (builtIn > 0) lines.push(`${count(builtIn, 'fallback page')}, not signed, as wispr makes them`);
  if (report.keyFiles > 0) lines.push(`${count(report.keyFiles, 'key file')}, not signed, as invitations have them`);
  lines.push(...notes.map((note) => `note: ${note}`));
  const total = findings.length + moreFindings;
  lines.push(total === 0 ? 'nothing wrong was found' : count(total, 'thing is wrong', 'things are wrong'));
  return lines;
}
