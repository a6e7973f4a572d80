/** What `wispr verify` found. */
import type { KeyErrorCode } from '../../core/keys/errors.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import type { ObjectErrorCode } from '../../core/object/errors.ts';
import { count, printable } from '../text.ts';
import type { RecognisedPage } from './fallback-check.ts';

/** One thing that is wrong. */
export interface Finding {
  /** Where: a path inside the tree, or a URL path. */
  readonly path: string;
  /** The code of the check that failed: those of the spec's verification steps, of keys.md, and {@link TreeCode}. */
  readonly code: KeyErrorCode | ObjectErrorCode | TreeCode;
  readonly message: string;
}

/** Findings that are about a tree of files and not about one object. */
type TreeCode =
  /** Nothing signs this file. */
  | 'file-unsigned'
  /** A fallback page, or a head, whose object or content is not there. */
  | 'file-missing'
  /** A fallback page that is not as wispr makes them, or leads elsewhere than to the reading site. */
  | 'fallback-altered'
  /** An object at a place that no document can have. */
  | 'path-refused'
  /** It could not be read or fetched. */
  | 'unreadable';

export interface VerifyReport {
  /** The site and the publisher that the descriptor names; `undefined` if there is no good one. */
  readonly site: string | undefined;
  readonly publisher: KeyId | undefined;
  /** When the descriptor expires, seconds since 1970. */
  readonly expires: number | undefined;
  /** Documents that passed every check that takes no key. */
  readonly encrypted: number;
  readonly signed: number;
  /** Fallback pages: recognised, and not signed. */
  readonly fallbackPages: readonly string[];
  readonly findings: readonly Finding[];
  /** What was not, or could not be, checked; in plain words. */
  readonly notes: readonly string[];
}

/** Collects the parts of a report. */
export class ReportBuilder {
  #provider: Pick<VerifyReport, 'site' | 'publisher' | 'expires'> = {
    site: undefined,
    publisher: undefined,
    expires: undefined,
  };
  readonly #counts = { encrypted: 0, signed: 0 };
  readonly #fallbackPages: string[] = [];
  #ownTemplate = 0;
  readonly #findings: Finding[] = [];
  readonly #notes: string[] = [];

  provider(provider: Pick<VerifyReport, 'site' | 'publisher' | 'expires'>): void {
    this.#provider = provider;
  }

  count(kind: 'encrypted' | 'signed'): void {
    this.#counts[kind]++;
  }

  fallbackPage(path: string, { ownTemplate }: RecognisedPage): void {
    this.#fallbackPages.push(printable(path));
    if (ownTemplate) this.#ownTemplate++;
  }

  note(text: string): void {
    this.#notes.push(text);
  }

  find(path: string, code: Finding['code'], message: string): void {
    this.#findings.push({ path: printable(path), code, message: printable(message) });
  }

  /** Everything, in the order of the paths. */
  report(): VerifyReport {
    const byPath = (a: Finding, b: Finding) => (a.path < b.path ? -1 : 1);
    return {
      ...this.#provider,
      ...this.#counts,
      fallbackPages: this.#fallbackPages.sort(),
      findings: this.#findings.sort(byPath),
      notes: [...this.#notes, ...this.#ownTemplateNote()],
    };
  }
  #ownTemplateNote(): string[] {
    if (this.#ownTemplate === 0) return [];
    const pages = count(this.#ownTemplate, 'fallback page');
    return [
      `of ${pages} only the Read link was checked: a template of the publisher's made them, nothing signs them, and nobody without the template can tell whether something was put into them`,
    ];
  }
}
