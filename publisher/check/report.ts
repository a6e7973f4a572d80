/** What `wispr check` found: grouped by what it means for readers, the worst first. */
import { printable } from '../../node-support/printable.ts';

/** What breaks for readers, in the order of severity. */
export const BREAKS = [
  /** `wispr protect` would refuse it. */
  'refused',
  /** The site's own host is written out, so that it leads out of the reading site; the Reader's gateway puts it right in HTML and CSS. */
  'own-host',
  /** Linked, and not there. */
  'missing',
  /** Sent to the site, which answers nothing. */
  'form',
  /** A redirect to what is not there. */
  'redirect-missing',
] as const;

/** What a publisher may want to know, in the same order. */
export const NOTES = [
  /** A public page loads what is encrypted: whoever cannot read it sees the page without. */
  'public-loads-protected',
  /** The picture of a preview is encrypted or missing, so there is none. */
  'preview-picture',
  /** The site's own host is written out in data; what becomes of it, only the scripts know that read them. */
  'own-host-data',
  /** It works without, and the Reader refuses it. */
  'service-worker',
  /** What readers type goes to another host. */
  'form-elsewhere',
  /** A document stands where a redirect begins. */
  'redirect-unused',
  /** Names that some hosts and file systems take for one. */
  'name-case',
  /** Names that some hosts change or misread. */
  'name-odd',
  /** Text that is neither UTF-8 nor says what it is. */
  'charset',
  /** A page with nothing in it. */
  'empty',
  /** Larger than some caches take by themselves. */
  'large',
  /** Only part of it was looked at. */
  'partly',
  /** A set with one document, whose name is nearly that of another. */
  'set-lone',
  /** In the default set, because no rule says anything. */
  'set-default',
  /** Patterns that fit nothing. */
  'pattern-unused',
] as const;

export type CheckKind = (typeof BREAKS)[number] | (typeof NOTES)[number];

/** Where something stands. */
export interface Place {
  /** Path of the document. */
  readonly path: string;
  readonly line?: number;
}

/** One thing that was found, wherever it stands. */
export interface CheckFinding {
  /** What it is about: a path, an address, a pattern. */
  readonly subject: string;
  readonly message?: string;
  /** How often it was found. */
  readonly count: number;
  /** The first places. */
  readonly places: readonly Place[];
}

export interface CheckGroup {
  readonly kind: CheckKind;
  /** Whether it breaks something for readers. */
  readonly breaks: boolean;
  /** How many different things. */
  readonly total: number;
  /** The first of them; all, unless there are more than anybody reads. */
  readonly findings: readonly CheckFinding[];
}

export interface CheckReport {
  readonly site: string;
  /** The site directory, absolute. */
  readonly source: string;
  readonly documents: number;
  /** Of them, pages. */
  readonly pages: number;
  readonly bytes: number;
  /** Hidden and ignored files. */
  readonly ignored: number;
  /** By name. */
  readonly sets: readonly { readonly name: string; readonly documents: number }[];
  /** In their order. */
  readonly sections: readonly { readonly name: string; readonly documents: number }[];
  /** Why documents are public, and which. */
  readonly public: readonly {
    readonly reason: string;
    readonly documents: number;
    readonly paths: readonly string[];
  }[];
  readonly groups: readonly CheckGroup[];
  readonly milliseconds: number;
}

/** Findings of one kind that are kept. */
const KEPT_FINDINGS = 100_000;
/** Places of one finding that are kept. */
const KEPT_PLACES = 20;

interface OpenFinding extends CheckFinding {
  count: number;
  readonly places: Place[];
}

/** Collects findings, in bounded memory. */
export class Findings {
  readonly #byKind = new Map<CheckKind, { readonly findings: Map<string, OpenFinding>; dropped: number }>();

  /**
   * @param place - asked for its line only where it is kept
   * @param message - asked for once for each subject
   */
  add(
    kind: CheckKind,
    subject: string,
    place?: Place | (() => Place),
    message?: string | (() => string | undefined),
  ): void {
    const group = this.#byKind.get(kind) ?? { findings: new Map(), dropped: 0 };
    this.#byKind.set(kind, group);
    const found = group.findings.get(subject);
    if (found !== undefined) {
      found.count++;
      if (place && found.places.length < KEPT_PLACES) found.places.push(placeOf(place));
    } else if (group.findings.size < KEPT_FINDINGS) {
      const places = place ? [placeOf(place)] : [];
      const said = typeof message === 'function' ? message() : message;
      group.findings.set(subject, { subject, ...(said !== undefined && { message: said }), count: 1, places });
    } else {
      group.dropped++;
    }
  }

  /** The worst first; what is found most often first in each group. */
  groups(): CheckGroup[] {
    return [...BREAKS, ...NOTES].flatMap((kind) => {
      const group = this.#byKind.get(kind);
      if (group === undefined) return [];
      const findings = [...group.findings.values()].sort(byFrequency).map(withoutControls);
      const breaks = (BREAKS as readonly string[]).includes(kind);
      return [{ kind, breaks, total: findings.length + group.dropped, findings }];
    });
  }
}

function placeOf(place: Place | (() => Place)): Place {
  return typeof place === 'function' ? place() : place;
}

function byFrequency(a: CheckFinding, b: CheckFinding): number {
  return b.count - a.count || (a.subject < b.subject ? -1 : 1);
}

function withoutControls({ subject, message, count, places }: CheckFinding): CheckFinding {
  return {
    subject: printable(subject),
    ...(message !== undefined && { message: printable(message) }),
    count,
    places: places.map((place) => ({ ...place, path: printable(place.path) })),
  };
}
