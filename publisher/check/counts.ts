/** Counts which documents belong where, and why. */
import { matchesPattern } from '../../core/keys/set-pattern.ts';
import { headTargetOf } from '../../core/publication/names.ts';
import { printable } from '../../node-support/printable.ts';
import { Sections } from '../site/sections.ts';
import type { Decision } from '../site/sets.ts';
import type { SectionRule } from '../workspace/configuration/names.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import type { CheckReport, Findings } from './report.ts';

/** Sets that are compared with each other: more of them are made by rules, and not by hand. */
const COMPARED = 2000;

export class SetsCount {
  readonly #sets = new Map<string, { documents: number; first: string; byPage: boolean }>();
  readonly #public = new Map<string, string[]>();

  /** @param byPage - whether the document itself names its set */
  add(path: string, { set, reason }: Decision, byPage: boolean): void {
    if (set === undefined) {
      const paths = this.#public.get(reason);
      if (paths) paths.push(printable(path));
      else this.#public.set(reason, [printable(path)]);
      return;
    }
    const known = this.#sets.get(set);
    if (known) known.documents++;
    else this.#sets.set(set, { documents: 1, first: path, byPage });
  }

  /** Finds names that one page alone uses, and that are nearly another's. */
  findLoneSets(findings: Findings): void {
    if (this.#sets.size > COMPARED) return;
    for (const [name, { documents, first, byPage }] of this.#sets) {
      if (documents > 1 || !byPage) continue;
      const other = [...this.#sets.keys()].find((each) => each !== name && nearlySame(each, name));
      if (other !== undefined) findings.add('set-lone', name, { path: first }, `perhaps ${other} is meant`);
    }
  }

  /** Finds patterns of plans that open nothing: people would pay for it. */
  unusedOf(plans: Configuration['plans']): string[] {
    const names = [...this.#sets.keys()];
    const isUsed = (pattern: string) => names.some((name) => matchesPattern(pattern, name));
    return plans.flatMap(({ name, sets }) =>
      sets.filter((each) => !isUsed(each)).map((each) => `${each} (plan ${name})`),
    );
  }

  summary(): Pick<CheckReport, 'sets' | 'public'> {
    const sets = Array.from(this.#sets, ([name, { documents }]) => ({ name, documents }));
    return {
      sets: sets.sort((a, b) => (a.name < b.name ? -1 : 1)),
      public: Array.from(this.#public, ([reason, paths]) => ({ reason, documents: paths.length, paths })),
    };
  }
}

export class SectionsCount {
  readonly #rules: readonly SectionRule[];
  readonly #sections: Sections;
  readonly #documents = new Map<string, number>();

  constructor(rules: readonly SectionRule[]) {
    this.#rules = rules;
    this.#sections = new Sections(rules);
  }

  /** @returns `false` if the document lies deeper below a section than can be signed */
  add(path: string): boolean {
    const name = this.#sections.find(headTargetOf(path));
    if (name !== undefined) this.#documents.set(name, (this.#documents.get(name) ?? 0) + 1);
    return !this.#sections.reachesNot(path);
  }

  /** Patterns of sections without a document: misspelt, or an earlier section has all of them. */
  unused(): string[] {
    return this.#rules.filter(({ name }) => !this.#documents.has(name)).flatMap(({ paths }) => paths);
  }

  summary(): { name: string; documents: number }[] {
    return this.#rules.map(({ name }) => ({ name, documents: this.#documents.get(name) ?? 0 }));
  }
}

/** Windows takes none of these; uploads by some programs fail or rename. */
const REFUSED_BY_WINDOWS = /[:*"<>|]/;

/** Says why a name may not come through every host as it is; `undefined` if it will. */
export function oddityOf(path: string): string | undefined {
  const segments = path.slice(1).split('/');
  if (/[%?#]/.test(path)) return 'hosts and links often misread %, ? and # in names';
  if (segments.some((segment) => /[. ]$/.test(segment))) return 'some hosts drop dots and spaces at the end of names';
  if (segments.some((segment) => /^ /.test(segment))) return 'some hosts drop spaces at the beginning of names';
  if (REFUSED_BY_WINDOWS.test(path)) return 'some file systems refuse : * " < > |';
  return undefined;
}

/** Sets whose names differ in letters' case, or in one letter or sign, but not in digits: perhaps one of them is misspelt. */
function nearlySame(a: string, b: string): boolean {
  if (a.replace(/\D/g, '') !== b.replace(/\D/g, '')) return false;
  const [short, long] = a.length <= b.length ? [a.toLowerCase(), b.toLowerCase()] : [b.toLowerCase(), a.toLowerCase()];
  if (long.length - short.length > 1 || long.length < 4) return short === long;
  let same = 0;
  while (same < short.length && short[same] === long[same]) same++;
  const rest = short.length === long.length ? same + 1 : same;
  return short.slice(rest) === long.slice(same + 1);
}
