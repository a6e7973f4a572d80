/** What `wispr verify` found. */
import type { KeyErrorCode } from '../../core/keys/errors.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import type { ObjectErrorCode } from '../../core/object/errors.ts';
import type { PublicationErrorCode } from '../../core/publication/errors.ts';
import { printable } from '../../node-support/printable.ts';
import type { RecognisedPage } from '../fallback-check.ts';
import { count } from '../text.ts';

/** What a mirror has to do about a finding. */
export type FindingKind = 'corrupted' | 'missing' | 'extra' | 'stale' | 'untrusted';

/** One thing that is wrong. */
export interface Finding {
  readonly kind: FindingKind;
  /** Where: a path from the top of the site, as its file is called. */
  readonly path: string;
  /** The code of the check that failed: those of the specs' verification steps, and {@link TreeCode}. */
  readonly code: FindingCode;
  readonly message: string;
}

export type FindingCode = KeyErrorCode | ObjectErrorCode | PublicationErrorCode | TreeCode;

/** Findings that are about files and not about one object. */
type TreeCode =
  /** Nothing signs this file. */
  | 'file-unsigned'
  /** A `wispr publish` that did not end leaves such a file: the publication does not name it, and the publisher has signed it, or the object of its place. */
  | 'file-unfinished'
  /** A file that the publication names is not there. */
  | 'file-missing'
  /** A file is not the one that the publication names. */
  | 'file-altered'
  /** A fallback page that is not as wispr makes them, or leads elsewhere than to the reading site. */
  | 'fallback-altered'
  /** What stands at a public document's own name is not what its publisher signed. */
  | 'copy-altered'
  /** It was asked for a document at a path that none can have. */
  | 'path-refused'
  /** It could not be read or fetched. */
  | 'unreadable';

const KINDS: Readonly<Partial<Record<FindingCode, FindingKind>>> = {
  'file-unsigned': 'extra',
  'file-unfinished': 'extra',
  'path-refused': 'extra',
  'file-missing': 'missing',
  'metadata-missing': 'missing',
  'metadata-expired': 'stale',
  'publication-expired': 'stale',
  'publication-withdrawn': 'stale',
  'clock-behind': 'stale',
  'descriptor-expired': 'stale',
  'host-proof': 'untrusted',
  'root-unexpected': 'untrusted',
  'site-mismatch': 'untrusted',
};

/** How the publisher was known before anything was checked. */
export type Trust = 'given' | 'host-proof' | 'none';

/** The publication that was checked; all times in seconds since 1970. */
export interface CheckedPublication {
  readonly version: number;
  readonly confirmed: number;
  readonly freshUntil: number;
  readonly shownUntil: number;
}

export interface VerifyReport {
  /** The site that the descriptor names; `undefined` if there is no good one. */
  readonly site: string | undefined;
  /** The publisher's identity, the root id. */
  readonly publisher: KeyId | undefined;
  readonly trust: Trust;
  /** When the descriptor expires, seconds since 1970. */
  readonly expires: number | undefined;
  readonly publication: CheckedPublication | undefined;
  /** Documents that passed every check that takes no key. */
  readonly encrypted: number;
  readonly signed: number;
  /** Parts of the site with keys of their own, and how many documents each names. */
  readonly sections: readonly { readonly name: string; readonly documents: number }[];
  /** Fallback pages: recognised, and not signed. */
  readonly fallbackPages: number;
  /** Those of them that a template of the publisher's made: of these only the Read link was checked. */
  readonly ownFallbackPages: number;
  /** Files of earlier publications, which may still be needed. */
  readonly leftovers: number;
  readonly findings: readonly Finding[];
  /** Findings beyond those that are listed. */
  readonly moreFindings: number;
  /** What was not, or could not be, checked; in plain words. */
  readonly notes: readonly string[];
}

/** More than anybody reads, and little enough for memory. */
const MAXIMUM_FINDINGS = 10_000;

/** Collects the parts of a report. */
export class ReportBuilder {
  #about: Partial<Pick<VerifyReport, 'site' | 'publisher' | 'expires' | 'publication'>> = {};
  #trust: Trust = 'none';
  readonly #counts = { encrypted: 0, signed: 0, fallbackPages: 0, ownFallbackPages: 0, leftovers: 0 };
  readonly #sections: { name: string; documents: number }[] = [];
  readonly #findings: Finding[] = [];
  #moreFindings = 0;
  readonly #notes: string[] = [];

  about(known: Partial<Pick<VerifyReport, 'site' | 'publisher' | 'expires' | 'publication'>>): void {
    this.#about = { ...this.#about, ...known };
  }

  trust(trust: Trust): void {
    this.#trust = trust;
  }

  count(what: 'encrypted' | 'signed' | 'leftovers'): void {
    this.#counts[what]++;
  }

  section(name: string, documents: number): void {
    this.#sections.push({ name, documents });
  }

  fallbackPage({ ownTemplate }: RecognisedPage): void {
    this.#counts.fallbackPages++;
    if (ownTemplate) this.#counts.ownFallbackPages++;
  }

  note(text: string): void {
    this.#notes.push(text);
  }

  find(path: string, code: FindingCode, message: string): void {
    if (this.#findings.length >= MAXIMUM_FINDINGS) this.#moreFindings++;
    else
      this.#findings.push({
        kind: KINDS[code] ?? 'corrupted',
        path: printable(path),
        code,
        message: printable(message),
      });
  }

  /** Everything, in the order of the paths. */
  report(): VerifyReport {
    const { site, publisher, expires, publication } = this.#about;
    const { leftovers } = this.#counts;
    return {
      ...{ site, publisher, trust: this.#trust, expires, publication },
      ...this.#counts,
      sections: this.#sections,
      findings: this.#findings.sort((a, b) => (a.path < b.path ? -1 : 1)),
      moreFindings: this.#moreFindings,
      notes: [
        ...this.#notes,
        ...(leftovers > 0 ? [`${count(leftovers, 'file is', 'files are')} left from earlier publications`] : []),
        ...this.#ownTemplateNote(),
      ],
    };
  }

  #ownTemplateNote(): string[] {
    const { ownFallbackPages } = this.#counts;
    if (ownFallbackPages === 0) return [];
    const pages = count(ownFallbackPages, 'fallback page');
    return [
      `of ${pages} only the Read link was checked: a template of the publisher's made them, nothing signs them, and nobody without the template can tell whether something was put into them`,
    ];
  }
}
