/**
 * The plan of `wispr protect`: every document with its set, and whether it has to be written. Everything that can be refused is refused here.
 * A page is read only if it has changed, and the plan keeps only work that is to be done.
 */
import { setImmediate } from 'node:timers/promises';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { printable } from '../../node-support/printable.ts';
import { PublishError } from '../errors.ts';
import { isPage, mediaTypeOf } from '../site/media-type.ts';
import { canBeNamed, NamedDocuments } from '../site/named.ts';
import { type Decision, SetRules } from '../site/sets.ts';
import { isAtOrBelow, refused, type SourceFile, type SourceWalk } from '../site/walk.ts';
import { count, Problems, someOf } from '../text.ts';
import { SECTION_DEPTH } from '../workspace/configuration/names.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import type { IndexedDecision } from '../workspace/index/publisher-index.ts';
import type { Change, Form, Task } from '../workspace/index/schema.ts';
import { IdSet } from '../workspace/index/statements.ts';
import { DirectoryRows } from './directory-rows.ts';
import { isPlaced, isThere } from './output.ts';
import type { Inspected, Plan } from './phases.ts';
import { readPageFacts } from './site-page.ts';

export interface PlanContext extends Pick<Inspected, 'index' | 'output' | 'appearance' | 'sections' | 'rekey'> {
  readonly walk: SourceWalk;
  readonly configuration: Configuration;
  /** Paths besides which nothing is looked at. */
  readonly only?: readonly string[] | undefined;
  /** The key id of a set, `undefined` if it has no key; left out without the passphrase. */
  readonly setIdOf?: (name: string) => KeyId | undefined;
  readonly readOnly: boolean;
  readonly checkNotStopped: () => void;
  /** Called now and then with the number of documents that were looked at. */
  readonly onFound?: (found: number) => void;
}

/** Largest page that can be carried inside itself: this is done in memory. */
const HTML_CARRIER_LENGTH = 256 * 1024 * 1024;

/** Paths that are kept for the summary, of each reason to be public. */
const PATHS_KEPT = 100;

/** Files between two looks at the clock, the signal and the event loop. */
const STEP = 500;

/**
 * Looks at the whole source, decides, and puts what is to be done into the index's lists of tasks and of what is gone.
 *
 * @throws PublishError `source-refused`, `stopped`
 */
export async function makePlan(context: PlanContext): Promise<Plan> {
  const { index, walk } = context;
  const planner = new Planner(context);
  await index.listing(async () => {
    let found = 0;
    for (const file of walk.files()) {
      planner.add(file);
      if (++found % STEP === 0) await pause(context, found);
    }
    let decided = 0;
    for (const file of index.later()) {
      planner.addNamed(file);
      if (++decided % STEP === 0) await pause(context, found);
    }
    planner.noteGone();
  });
  if (walk.problems.count > 0) throw refused(walk.problems);
  return planner.finish();
}

async function pause({ onFound, checkNotStopped }: PlanContext, found: number): Promise<void> {
  onFound?.(found);
  await setImmediate();
  checkNotStopped();
}

type Undecided = Omit<Task, 'change'>;

class Planner {
  readonly #context: PlanContext;
  readonly #rules: SetRules;
  readonly #named: NamedDocuments;
  readonly #rows: DirectoryRows;
  readonly #seen: IdSet;
  #found = 0;
  /** Paths of `only` at which nothing was found. */
  #unseen: readonly string[];
  readonly #pageProblems = new Problems();
  readonly #problems = new Problems();
  readonly #sets = new Map<string, number>();
  readonly #sections: Map<string, { name: string; documents: number; waiting: number }>;
  readonly #public = new Map<string, { reason: string; documents: number; paths: string[] }>();
  readonly #changes = { added: 0, changed: 0, moved: 0, rekeyed: 0, remade: 0, restored: 0 };
  #documents = 0;
  #bytes = 0;
  #removed = 0;

  constructor(context: PlanContext) {
    this.#context = context;
    this.#rules = new SetRules(context.configuration);
    this.#named = new NamedDocuments(context.configuration, this.#rules);
    this.#sections = new Map(context.sections.list.map(({ name }) => [name, { name, documents: 0, waiting: 0 }]));
    this.#unseen = context.only ?? [];
    this.#rows = new DirectoryRows(context.index);
    this.#seen = new IdSet(context.index.largestId());
  }

  /** Decides about one file, or notes it for {@link addNamed}. */
  add(source: SourceFile): void {
    if (canBeNamed(mediaTypeOf(source.path))) this.#context.index.addLater(source);
    else this.addNamed(source);
  }

  /** Decides about one file, after all pages if they can name it. */
  addNamed(source: SourceFile): void {
    const { index, output, sections } = this.#context;
    const row = this.#rows.find(source.path);
    if (row) {
      this.#seen.add(row.id);
      this.#found++;
    }
    if (row?.named !== undefined && row.identity === source.identity) this.#named.claim(JSON.parse(row.named), source);
    this.#unseen = this.#unseen.filter((path) => !isAtOrBelow(source.path, path));
    if (sections.isTooDeep(source.path)) this.#problems.add(tooDeep(source.path));
    const holder = sections.holderOf(source.path);
    if (holder !== undefined) {
      this.#hold(source, row, holder);
      return;
    }
    const isKnown = row?.identity === source.identity;
    const page = isKnown ? { pageSet: row.pageSet, teaser: undefined } : this.#read(source);
    let { task, decision } = this.#decide(source, page);
    // A document that is written goes by what the page itself says: the index's word is no reason to show it to other people than before.
    if (isKnown && this.#changeOf(row, task)) ({ task, decision } = this.#decide(source, this.#read(source)));
    const naming = !row || this.#changeOf(row, task) ? this.#named.takeClaim(source.path) : undefined;
    if (naming !== undefined) {
      this.#read(naming);
      ({ task, decision } = this.#decide(source, page));
    }
    const change = row ? this.#changeOf(row, task) : 'added';
    this.#count(source, decision);
    if (change) {
      this.#changes[change]++;
      index.addTask({ ...task, change });
    } else if (row && row.form !== 'none' && row.placed !== undefined && !isPlaced(row, output)) {
      if (!this.#context.readOnly) index.setPlaced(row.id, undefined);
    }
  }

  /** Holds a document whose section cannot be signed here: it stays as it is published, if it is. */
  #hold(source: SourceFile, row: IndexedDecision | undefined, holder: string): void {
    const isKnown = row?.identity === source.identity;
    const { task, decision } = this.#decide(source, { pageSet: row?.pageSet, teaser: undefined });
    if (row) this.#count(source, { ...decision, set: row.setName });
    const section = this.#sections.get(holder);
    if (section && (!isKnown || this.#changeOf(row, task))) section.waiting++;
  }

  /** Notes the documents that the index has and the source has not. */
  noteGone(): void {
    const { index, sections } = this.#context;
    for (const { id, path } of this.#unseenDocuments()) {
      const holder = this.#sections.get(sections.holderOf(path) ?? '');
      if (holder) {
        holder.waiting++;
        continue;
      }
      index.addGone(id, path);
      this.#removed++;
    }
  }

  *#unseenDocuments(): Generator<{ readonly id: number; readonly path: string }> {
    const { index, only } = this.#context;
    if (only === undefined && this.#found === index.countDocuments()) return;
    if (only === undefined) for (const id of index.ids()) if (!this.#seen.has(id)) yield { id, path: index.pathOf(id) };
    for (const path of only ?? []) {
      const documents = index.documentsAt(path);
      if (documents.length > 0) this.#unseen = this.#unseen.filter((other) => other !== path);
      yield* documents.filter(({ id }) => !this.#seen.has(id));
    }
  }

  /** @throws PublishError `source-refused`, `argument-invalid` */
  finish(): Plan {
    const [unknown] = this.#unseen;
    if (unknown !== undefined)
      throw new PublishError('argument-invalid', `the site has no document ${printable(unknown)}, and had none`, {
        typed: true,
      });
    if (this.#pageProblems.count > 0) throw pagesRefused(this.#pageProblems);
    if (this.#problems.count > 0) throw refused(this.#problems);
    if (this.#documents === 0 && this.#context.only === undefined) {
      throw new PublishError('source-refused', `${this.#context.walk.root} holds no documents`);
    }
    for (const group of this.#public.values()) group.paths.sort();
    const sections = [...this.#sections.values()];
    const empty = sections.filter(({ documents, waiting }) => documents + waiting === 0).map(({ name }) => name);
    return {
      documents: this.#documents,
      bytes: this.#bytes,
      changes: this.#changes,
      removed: this.#removed,
      sections,
      sets: new Map([...this.#sets].sort(([a], [b]) => (a < b ? -1 : 1))),
      public: [...this.#public.values()].sort((a, b) => ((a.paths[0] ?? '') < (b.paths[0] ?? '') ? -1 : 1)),
      ignored: this.#context.walk.ignored,
      hidden: [...this.#context.walk.hidden.keys()].sort(),
      unusedPatterns: this.#context.only
        ? []
        : [
            ...this.#rules.unused(),
            ...this.#context.appearance.headers.unused(),
            ...this.#context.appearance.uncompressed.unused(),
            ...this.#context.sections.list.flatMap(({ name, paths }) => (empty.includes(name) ? paths : [])),
          ],
    };
  }

  #read(source: SourceFile): Pick<Task, 'pageSet' | 'teaser'> {
    const { problem, named, ...page } = readPageFacts(source, this.#context.configuration);
    if (problem) this.#pageProblems.add(`${printable(source.path)}: ${printable(problem)}`);
    this.#named.add(named, source.path);
    return page;
  }

  #count({ path, size }: SourceFile, { set, reason }: Decision): void {
    this.#documents++;
    this.#bytes += size;
    const section = this.#sections.get(this.#context.sections.nameOf(path) ?? '');
    if (section) section.documents++;
    if (set !== undefined) {
      this.#sets.set(set, (this.#sets.get(set) ?? 0) + 1);
      return;
    }
    const group = this.#public.get(reason) ?? { reason, documents: 0, paths: [] };
    group.documents++;
    if (group.paths.length < PATHS_KEPT) group.paths.push(path);
    this.#public.set(reason, group);
  }

  #decide(source: SourceFile, page: Pick<Task, 'pageSet' | 'teaser'>): { task: Undecided; decision: Decision } {
    const { path, size } = source;
    const mediaType = mediaTypeOf(path);
    const decision = this.#rules.decide(path, page.pageSet, this.#named.has(path) || this.#wasNamed(source, mediaType));
    const form = this.#formOf(mediaType, decision.set);
    if (form === 'carrier' && size > HTML_CARRIER_LENGTH) {
      this.#problems.add(`${printable(path)}: it is too large for "carrier": "html"`);
    }
    const options = this.#context.appearance.optionsOf(path, mediaType, form);
    return { task: { ...source, ...page, mediaType, setName: decision.set, options, form }, decision };
  }

  /**
   * Tells whether pages made a document public before: a run over a few documents does not look at all pages, so it stays public until one does.
   *
   * @throws PublishError `not-alone` where it has changed, and is public by nothing else: no page may name it any more
   */
  #wasNamed({ path, identity }: SourceFile, mediaType: string): boolean {
    const row = this.#context.only && canBeNamed(mediaType) ? this.#rows.find(path) : undefined;
    if (row === undefined || row.setName !== undefined) return false;
    if (row.identity !== identity && this.#rules.decide(path, undefined, false).set !== undefined)
      throw new PublishError(
        'not-alone',
        `a few documents cannot be published alone: ${printable(path)} has changed, and is public only because pages name it; name such a page too`,
      );
    return true;
  }

  #formOf(mediaType: string, set: string | undefined): Form {
    if (set === undefined) return 'copy';
    if (!isPage(mediaType)) return 'none';
    return this.#context.configuration.carrier === 'html' ? 'carrier' : 'page';
  }

  #changeOf(row: IndexedDecision, task: Undecided): Change | undefined {
    const { output, rekey, setIdOf } = this.#context;
    const { setName } = task;
    if (row.setName !== setName) return 'moved';
    // A key that is not here cannot be handed out any more.
    if (setName !== undefined && (rekey.has(setName) || (setIdOf && setIdOf(setName) !== row.setId))) return 'rekeyed';
    if (row.identity !== task.identity) return 'changed';
    if (row.options !== task.options) return 'remade';
    return isThere(row, output) ? undefined : 'restored';
  }
}

function tooDeep(path: string): string {
  return `${printable(path)}: it lies more than ${SECTION_DEPTH} directories below its section, deeper than signed patterns reach`;
}

function pagesRefused(problems: Problems): PublishError {
  const message = `${count(problems.count, 'page')} cannot be assigned to a set, and nothing was written: ${someOf(problems.first, '; ', problems.count)}`;
  return new PublishError('source-refused', message);
}
