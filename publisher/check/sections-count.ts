/** How many documents each section has. */
import { headTargetOf } from '../../core/publication/names.ts';
import { type SectionRule, Sections } from '../site/sections.ts';

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
