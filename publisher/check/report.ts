/** What `wispr check` found: grouped by what it means for readers, the worst first. */
import { printable } from '../../node-support/printable.ts';
import { size } from '../../node-support/size.ts';
import { count } from '../text.ts';

/** How a kind of finding is called. */
interface Kind {
  readonly one: string;
  readonly many: string;
  /** What to do. */
  readonly advice?: string;
}

/** What breaks something for readers, the worst first. */
const BREAKS = {
  refused: {
    one: 'thing that "wispr protect" would refuse',
    many: 'things that "wispr protect" would refuse',
  },
  copy: {
    one: 'file with the text of encrypted pages, which people can read who may not read these pages',
    many: 'files with the text of encrypted pages, which people can read who may not read these pages',
    advice:
      'name each under "sets" with the set of its pages, take it out of "public", or have your site generator leave the text out; feeds are public: switch them off, or name them under "ignore"',
  },
  'own-host': {
    one: "address with the site's own host in it, which leads out of the reading site",
    many: "addresses with the site's own host in them, which lead out of the reading site",
    advice: 'leave the host out, /a.html or ../a.html; most site generators have a setting for it',
  },
  missing: {
    one: 'address that is linked and has no document',
    many: 'addresses that are linked and have no document',
    advice: 'correct the links, put the files there, or add "redirects"',
  },
  'address-refused': {
    one: 'address that is linked and that no document can have',
    many: 'addresses that are linked and that no document can have',
    advice:
      'correct the links: such addresses have two slashes in a row, or encoded what others take for a slash or a dot',
  },
  form: {
    one: 'form that is sent to the site, where nothing answers',
    many: 'forms that are sent to the site, where nothing answers',
    advice: 'send them to another host, or leave them out',
  },
  'frame-sandboxed': {
    one: 'frame with "sandbox" and without "allow-same-origin", which the in-browser reader cannot fill',
    many: 'frames with "sandbox" and without "allow-same-origin", which the in-browser reader cannot fill',
    advice: 'add "allow-same-origin", or leave "sandbox" out',
  },
  'service-worker-first': {
    one: 'public script with a service worker: at a site without a key server, a visitor’s browser runs it in place of the reader',
    many: 'public scripts with service workers: at a site without a key server, a visitor’s browser runs them in place of the reader',
    advice: 'take the registration out, or do not name these scripts under "public"',
  },
  'redirect-missing': {
    one: 'redirect to a missing document',
    many: 'redirects to missing documents',
    advice: 'correct "to" of these redirects',
  },
} as const satisfies Record<string, Kind>;

/** What is worth knowing. */
const NOTES = {
  'copy-shared': {
    one: 'file with a passage that three or more encrypted pages share, and that people can read who may not read these pages',
    many: 'files with a passage that three or more encrypted pages share, and that people can read who may not read these pages',
    advice: 'nothing to do for a note about an author, or the like',
  },
  'public-loads-protected': {
    one: 'encrypted file that public pages load: without it they look broken to visitors who are not signed in',
    many: 'encrypted files that public pages load: without them they look broken to visitors who are not signed in',
    advice: 'name each of these files under "public", not their folder: others there may hold texts of pages',
  },
  'mixed-content': {
    one: 'file that pages load over http: from another host; on the reading site, browsers refuse it, or ask for it over https:',
    many: 'files that pages load over http: from other hosts; on the reading site, browsers refuse them, or ask for them over https:',
    advice: 'write https:, or put them on the site',
  },
  'preview-picture': {
    one: 'picture for previews that no preview can show',
    many: 'pictures for previews that no preview can show',
    advice: 'put them there if they are missing, and name them under "public"',
  },
  'accent-pale': {
    one: 'colour that is too pale to be read on white: pages have wispr’s own in its place',
    many: 'colours that are too pale to be read on white: pages have wispr’s own in their place',
    advice: 'choose a darker "accent"',
  },
  noindex: {
    one: 'document marked noindex: search engines leave it out, and its teaser',
    many: 'documents marked noindex: search engines leave them out, and their teasers',
  },
  'own-host-data': {
    one: "data file or script with the site's own host in it: links that scripts make of it lead out of the reading site",
    many: "data files and scripts with the site's own host in them: links that scripts make of them lead out of the reading site",
  },
  'service-worker': {
    one: 'script with a service worker, which Readers refuse',
    many: 'scripts with service workers, which Readers refuse',
    advice: 'nothing to do if the site works without',
  },
  'request-synchronous': {
    one: 'script with synchronous requests, which the in-browser reader refuses outside of workers',
    many: 'scripts with synchronous requests, which the in-browser reader refuses outside of workers',
    advice: 'use fetch',
  },
  'frame-filled': {
    one: 'script that writes pages itself, into frames or windows: in the in-browser reader they load no files of the site',
    many: 'scripts that write pages themselves, into frames or windows: in the in-browser reader they load no files of the site',
    advice: 'use "srcdoc", or a page of the site',
  },
  'form-elsewhere': {
    one: 'other host that forms send data to',
    many: 'other hosts that forms send data to',
  },
  'redirect-unused': {
    one: 'redirect without effect, because a document has its address',
    many: 'redirects without effect, because documents have their addresses',
  },
  'name-case': {
    one: 'name that differs from another in case or accents only: some hosts keep one of the two',
    many: 'names that differ from others in case or accents only: some hosts keep one of each two',
  },
  'name-odd': {
    one: 'name that some hosts change or misread',
    many: 'names that some hosts change or misread',
  },
  hidden: {
    one: 'name of hidden files or folders, which are left out',
    many: 'names of hidden files or folders, which are left out',
    advice: 'name those that the site needs under "include"',
  },
  'gzip-public': {
    one: 'public file in gzip, which browsers show only where the web host says that it is',
    many: 'public files in gzip, which browsers show only where the web host says that they are',
    advice: 'unpack them, to .svg, or do not name them under "public"',
  },
  charset: {
    one: 'page that is not in UTF-8 and does not name its encoding: browsers guess',
    many: 'pages that are not in UTF-8 and do not name their encoding: browsers guess',
    advice: 'save them as UTF-8',
  },
  empty: { one: 'empty page', many: 'empty pages' },
  large: {
    one: 'file over 20 MiB, which some caches and CDNs refuse unless large files are switched on',
    many: 'files over 20 MiB, which some caches and CDNs refuse unless large files are switched on',
  },
  partly: {
    one: 'file over 8 MiB, of which only the beginning was checked',
    many: 'files over 8 MiB, of which only the beginning was checked',
  },
  'set-lone': {
    one: 'set with a single document, and nearly the name of another',
    many: 'sets with a single document, and nearly the name of another',
  },
  'set-default': {
    one: 'document in the default set, because no rule names it',
    many: 'documents in the default set, because no rule names them',
  },
  'pattern-unused': {
    one: 'pattern in wispr.json that matches no document',
    many: 'patterns in wispr.json that match no document',
  },
} as const satisfies Record<string, Kind>;

const KINDS = { ...BREAKS, ...NOTES };

export type CheckKind = keyof typeof KINDS;

/** Where something stands. */
export interface SourcePosition {
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
  count: number;
  /** The first places. */
  readonly places: SourcePosition[];
}

export interface CheckGroup {
  readonly kind: CheckKind;
  /** Whether it breaks something for readers. */
  readonly breaks: boolean;
  /** How many different things. */
  readonly total: number;
  /** The first of them: at most 100,000. */
  readonly findings: readonly CheckFinding[];
}

export interface CheckReport {
  /** Not known without `wispr.json`. */
  readonly site?: string;
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

/** Findings by their kind and subject, and how many more there were; plain data, for threads. */
export type FindingGroups = Map<CheckKind, { readonly findings: Map<string, CheckFinding>; dropped: number }>;

/** Collects findings, in bounded memory. */
export class Findings {
  #byKind: FindingGroups = new Map();

  /**
   * @param place - asked for its line only where it is kept
   * @param message - asked for once for each subject
   */
  add(
    kind: CheckKind,
    subject: string,
    place?: SourcePosition | (() => SourcePosition),
    message?: string | (() => string | undefined),
  ): void {
    const group = this.#groupOf(kind);
    const found = group.findings.get(subject);
    if (found !== undefined) {
      found.count++;
      if (place && found.places.length < KEPT_PLACES) found.places.push(placeOf(place));
    } else if (group.findings.size < KEPT_FINDINGS) {
      const places = place ? [placeOf(place)] : [];
      const said = typeof message === 'function' ? message() : message;
      const what = { subject: printable(subject), ...(said !== undefined && { message: printable(said) }) };
      group.findings.set(subject, { ...what, count: 1, places });
    } else {
      group.dropped++;
    }
  }

  /** Forgets what was found of one thing. */
  drop(kind: CheckKind, subject: string): void {
    this.#byKind.get(kind)?.findings.delete(subject);
  }

  /** Gives away what was found so far. */
  take(): FindingGroups {
    const taken = this.#byKind;
    this.#byKind = new Map();
    return taken;
  }

  /** Adds what was found elsewhere, behind what is here. */
  merge(others: FindingGroups): void {
    for (const [kind, { findings, dropped }] of others) {
      const group = this.#groupOf(kind);
      group.dropped += dropped;
      for (const [subject, other] of findings) {
        const found = group.findings.get(subject);
        if (found !== undefined) {
          found.count += other.count;
          found.places.push(...other.places.slice(0, KEPT_PLACES - found.places.length));
        } else if (group.findings.size < KEPT_FINDINGS) group.findings.set(subject, other);
        else group.dropped++;
      }
    }
  }

  /** The worst first; what is found most often first in each group. */
  groups(): CheckGroup[] {
    return (Object.keys(KINDS) as CheckKind[]).flatMap((kind) => {
      const group = this.#byKind.get(kind);
      if (group === undefined) return [];
      const findings = [...group.findings.values()].sort(byFrequency);
      const total = findings.length + group.dropped;
      return total === 0 ? [] : [{ kind, breaks: kind in BREAKS, total, findings }];
    });
  }

  #groupOf(kind: CheckKind) {
    const group = this.#byKind.get(kind) ?? { findings: new Map(), dropped: 0 };
    this.#byKind.set(kind, group);
    return group;
  }
}

function placeOf(place: SourcePosition | (() => SourcePosition)): SourcePosition {
  const { path, ...line } = typeof place === 'function' ? place() : place;
  return { path: printable(path), ...line };
}

function byFrequency(a: CheckFinding, b: CheckFinding): number {
  return b.count - a.count || (a.subject < b.subject ? -1 : 1);
}

const SHOWN_FINDINGS = 5;
const SHOWN_SETS = 8;
const SHOWN_PATHS = 3;

/** The report, in blocks of lines. */
export function describeCheck(report: CheckReport, { quiet }: { readonly quiet: boolean }): string[] {
  const groups = (breaks: boolean) => report.groups.filter((group) => group.breaks === breaks).map(describeGroup);
  const [breaks, notes] = [groups(true), groups(false)];
  return [
    ...(quiet ? [] : [describeSite(report)]),
    ...(breaks.length > 0 ? ['Breaks for readers:', ...breaks] : []),
    ...(!quiet && notes.length > 0 ? ['Worth knowing:', ...notes] : []),
  ];
}

/** One line that says it all. */
export function describeVerdict({ groups }: CheckReport): string {
  const sum = (breaks: boolean) =>
    groups.reduce((total, group) => total + (group.breaks === breaks ? group.total : 0), 0);
  const found = sum(true) === 0 ? 'nothing that breaks was found' : `${count(sum(true), 'thing')} to put right`;
  return sum(false) === 0 ? found : `${found}; ${count(sum(false), 'note')}`;
}

function describeSite(report: CheckReport): string {
  const { source, site = source, documents, pages, bytes, ignored, milliseconds } = report;
  const left = ignored === 0 ? '' : `; ${ignored.toLocaleString('en')} hidden or ignored left out`;
  const seconds = (milliseconds / 1000).toFixed(1);
  return [
    `Checked ${site}: ${count(documents, 'document')}, ${count(pages, 'page')} among them, ${size(bytes)}, in ${seconds} s${left}`,
    '',
    ...describePublic(report),
    ...describeSets(report),
    ...report.sections.map(({ name, documents }) => `  section ${name}  ${count(documents, 'document')}`),
    '',
  ].join('\n');
}

function describePublic(report: CheckReport): string[] {
  const total = report.public.reduce((sum, { documents }) => sum + documents, 0);
  if (total === 0) return ['  public: nothing but addresses, and titles and descriptions of pages'];
  const lines = report.public.map(({ reason, documents, paths }) => {
    const names = paths.slice(0, SHOWN_PATHS).map((path) => path.slice(1));
    return `    ${names.join(', ')}${andMore(documents - names.length)} (${reason})`;
  });
  return [`  public, signed but not encrypted: ${count(total, 'document')}`, ...lines];
}

function describeSets({ sets }: CheckReport): string[] {
  const shown = sets.slice(0, SHOWN_SETS);
  const width = Math.max(0, ...shown.map(({ name }) => name.length));
  const lines = shown.map(({ name, documents }) => `  set ${name.padEnd(width)}  ${count(documents, 'document')}`);
  return sets.length > shown.length ? [...lines, `  and ${count(sets.length - shown.length, 'more set')}`] : lines;
}

function describeGroup({ kind, total, findings }: CheckGroup): string {
  const { one, many, advice }: Kind = KINDS[kind];
  const shown = findings.slice(0, SHOWN_FINDINGS);
  return [
    `  ${count(total, one, many)}`,
    ...shown.map((finding) => `    ${describeFinding(finding)}`),
    ...(total > shown.length ? [`    and ${(total - shown.length).toLocaleString('en')} more`] : []),
    ...(advice === undefined ? [] : [`    → ${advice}`]),
    '',
  ].join('\n');
}

function describeFinding({ subject, message, count: times, places }: CheckFinding): string {
  const [first] = places;
  const said = message === undefined ? subject : `${subject}: ${message}`;
  if (first === undefined) return said;
  const where = `${first.path.replace(/^\//, '')}${first.line === undefined ? '' : `, line ${first.line}`}`;
  return first.path === subject && times === 1
    ? `${said}${first.line === undefined ? '' : `, line ${first.line}`}`
    : `${said}  (${where}${times > 1 ? `, and ${(times - 1).toLocaleString('en')} more` : ''})`;
}

function andMore(number: number): string {
  return number > 0 ? ` and ${number.toLocaleString('en')} more` : '';
}
