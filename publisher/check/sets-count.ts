/** Counts which documents belong where, and why. */

import { printable } from '../../node-support/printable.ts';
import type { Decision } from '../site/sets.ts';
import { nearlySame } from './names.ts';
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

  /** A name that one page alone uses, and that is nearly another's. */
  findLoneSets(findings: Findings): void {
    if (this.#sets.size > COMPARED) return;
    for (const [name, { documents, first, byPage }] of this.#sets) {
      if (documents > 1 || !byPage) continue;
      const other = [...this.#sets.keys()].find((each) => each !== name && nearlySame(each, name));
      if (other !== undefined) findings.add('set-lone', name, { path: first }, `perhaps ${other} is meant`);
    }
  }

  summary(): Pick<CheckReport, 'sets' | 'public'> {
    const sets = Array.from(this.#sets, ([name, { documents }]) => ({ name, documents }));
    return {
      sets: sets.sort((a, b) => (a.name < b.name ? -1 : 1)),
      public: Array.from(this.#public, ([reason, paths]) => ({ reason, documents: paths.length, paths })),
    };
  }
}
