/** The report of `wispr check`: findings grouped by what they mean for readers, the worst first. */
import { printable } from '../../node-support/printable.ts';
import { size } from '../../node-support/size.ts';
import { count, describePublic, describeSets } from '../text.ts';
import { BREAKS, type CheckKind, KINDS } from './kinds.ts';

export interface SourcePosition {
  readonly path: string;
  readonly line?: number;
}

export interface CheckFinding {
  /** A path, an address or a pattern. */
  readonly subject: string;
  readonly message?: string;
  count: number;
  readonly places: SourcePosition[];
}

export interface CheckGroup {
  readonly kind: CheckKind;
  readonly breaks: boolean;
  /** Number of subjects. */
  readonly total: number;
  /** The first findings: at most 100,000. */
  readonly findings: readonly CheckFinding[];
}

export interface CheckReport {
  /** Host; known from `wispr.json` only. */
  readonly site?: string;
  readonly source: string;
  readonly documents: number;
  readonly pages: number;
  readonly bytes: number;
  readonly ignored: number;
  readonly sets: readonly { readonly name: string; readonly documents: number }[];
  readonly sections: readonly { readonly name: string; readonly documents: number }[];
  readonly public: readonly {
    readonly reason: string;
    readonly documents: number;
    readonly paths: readonly string[];
  }[];
  readonly groups: readonly CheckGroup[];
  readonly milliseconds: number;
}

const KEPT_FINDINGS = 100_000;
const KEPT_PLACES = 20;

export class Findings {
  /** Findings by kind and subject, and how many more there were. */
  readonly #byKind = new Map<CheckKind, { readonly findings: Map<string, CheckFinding>; dropped: number }>();

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
    const group = this.#byKind.get(kind) ?? { findings: new Map(), dropped: 0 };
    this.#byKind.set(kind, group);
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

  drop(kind: CheckKind, subject: string): void {
    this.#byKind.get(kind)?.findings.delete(subject);
  }

  /** Returns the worst group first; in each, the most frequent findings first. */
  groups(): CheckGroup[] {
    return (Object.keys(KINDS) as CheckKind[]).flatMap((kind) => {
      const group = this.#byKind.get(kind);
      if (group === undefined) return [];
      const findings = [...group.findings.values()].sort(byFrequency);
      const total = findings.length + group.dropped;
      return total === 0 ? [] : [{ kind, breaks: kind in BREAKS, total, findings }];
    });
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

export function describeCheck(report: CheckReport, { quiet }: { readonly quiet: boolean }): string[] {
  const groups = (breaks: boolean) => report.groups.filter((group) => group.breaks === breaks).map(describeGroup);
  const [breaks, notes] = [groups(true), groups(false)];
  return [
    ...(quiet ? [] : [describeSite(report)]),
    ...(breaks.length > 0 ? ['Breaks for readers:', ...breaks] : []),
    ...(!quiet && notes.length > 0 ? ['Worth knowing:', ...notes] : []),
  ];
}

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
    ...describePublic(report.public),
    ...describeSets(report.sets),
    ...report.sections.map(({ name, documents }) => `  section ${name}  ${count(documents, 'document')}`),
    '',
  ].join('\n');
}

function describeGroup({ kind, total, findings }: CheckGroup): string {
  const { text, advice } = KINDS[kind];
  const name = text.replace(/\{(.*?)\|(.*?)\}/g, total === 1 ? '$1' : '$2');
  const shown = findings.slice(0, SHOWN_FINDINGS);
  return [
    `  ${total.toLocaleString('en')} ${name}`,
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
