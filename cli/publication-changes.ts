/** The changes of a publication in lines, for its signers. */
import { binNames } from '../core/publication/bins.ts';
import { printable, quoted } from '../node-support/printable.ts';
import type { FileChanges } from '../publisher/keys/own-file-changes.ts';
import type {
  MovedDocument,
  PublicationChanges,
  Readers,
  ShownDocument,
} from '../publisher/keys/publication-changes.ts';
import type { PublicationReview } from '../publisher/keys/publication-review.ts';
import { signingId } from '../publisher/keys/roots.ts';
import type { SectionsShown } from '../publisher/keys/section-changes.ts';
import { count } from '../publisher/text.ts';

/** @param most - lines of each kind that are shown */
export function describeChanges(changes: PublicationChanges, most: number): string[] {
  const { added, moved, changed, removed, lists, bins, descriptor, settings, sections, uncompared } = changes;
  const withSet = ({ path, set }: ShownDocument) => `${printable(path)}  ${readersOf(set)}`;
  const numbers = [`${moved.length} moved`, `${changed.length} changed`, `${removed.length} removed`].join(', ');
  return [
    `${count(added.length, 'document')} added, ${numbers}, in ${count(lists, 'list')}`,
    ...grouped(
      added.map(({ set }) => `added, ${readersOf(set)}`),
      most,
    ),
    ...grouped(
      moved.map((one) => `moved, ${betweenOf(one)}`),
      most,
    ),
    ...some('added', added.map(withSet), most),
    ...some(
      'moved: others can read them from now on, or with another key',
      moved.map((one) => `${printable(one.path)}  ${betweenOf(one)}`),
      most,
    ),
    ...some('changed', changed.map(withSet), most),
    ...some('removed', removed.map(withSet), most),
    ...some('readable by everybody from now on', changes.public.map(printable), most),
    ...(bins.before === bins.after
      ? []
      : [`the documents are divided into ${bins.after} lists${formerly(bins.before)}`]),
    ...describeFile('the descriptor', descriptor, most),
    ...describeFile('the site settings', settings, most),
    ...describeSections(sections),
    ...comparedWith(changes, most),
    ...some(
      'with nothing to compare: all in them counts as added, and what was removed is not known',
      namedLists(uncompared, bins.after),
      most,
    ),
  ];
}

/** What only the signer can know: whether what was signed here was ever published. */
export function describeOvertaken({ overtaken }: PublicationReview, most: number): string[] {
  const lines = overtaken.map(({ list, known, comparedWith }) => {
    const with_ = comparedWith === undefined ? 'nothing' : `publication ${comparedWith}`;
    return `${list}: you know it of publication ${known}, and it is compared with ${with_}`;
  });
  return [
    ...some('compared with less than you know', lines, most),
    ...(lines.length > 0
      ? [
          'if readers have those publications, this takes back what they changed',
          'hint: "wispr verify URL" says which one they have',
        ]
      : []),
  ];
}

/** A line for each member that is otherwise. */
function describeFile(what: string, changes: FileChanges | undefined, most: number): string[] {
  if (changes === undefined) return [];
  const lines = changes.members.map(({ member, before, now }) => {
    const change =
      now === undefined ? 'removed' : !changes.compared ? 'is' : before === undefined ? 'added' : 'changed';
    const values = [before, now].filter((value) => value !== undefined);
    return `${change}: ${printable(member)} ${values.map(printable).join(' -> ')}`;
  });
  return some(changes.compared ? `${what}, against before` : `${what}, with nothing to compare`, lines, most);
}

/** All of them, whether they changed or not: the first that fits signs. */
function describeSections({ list, removed, reordered }: SectionsShown): string[] {
  return [
    ...(list.length > 0
      ? [`sections, the first that fits signs${reordered ? '; in another order than before' : ''}:`]
      : []),
    ...list.map(({ name, keyids, threshold, paths, is }) => {
      const keys = keyids.map(signingId).join(', ');
      return `  ${name} (${is}): ${threshold} of the keys ${keys} sign ${paths.map(quoted).join(', ')}`;
    }),
    ...removed.map((name) => `section ${name}: there is none any more`),
  ];
}

/** Of which publication each list is, the oldest first. */
function comparedWith({ comparedWith: all, bins }: PublicationChanges, most: number): string[] {
  const lists = new Map<number, string[]>();
  for (const { list, publication } of all) lists.set(publication, [...(lists.get(publication) ?? []), list]);
  const lines = [...lists].map(([publication, every]) => {
    const names = namedLists(every, bins.before ?? bins.after);
    const more = names.length - most;
    const shown = names.slice(0, most).join(', ');
    return `publication ${publication}: ${shown}${more > 0 ? `, and ${more} more` : ''}`;
  });
  return some('compared with what these keys signed in', lines, most);
}

/** Where all lists of documents are meant, one line says it, and hides no other list behind them. @param bins - how many there are */
function namedLists(names: readonly string[], bins: number): string[] {
  const all = new Set(binNames(Math.log2(bins)));
  const others = names.filter((name) => !all.has(name));
  if (bins < 2 || new Set(names).size - others.length < bins) return [...names];
  return [`all ${bins} lists of documents`, ...others];
}

/** However many documents there are: that one of them goes elsewhere than the rest is not lost among them. */
function grouped(kinds: readonly string[], most: number): string[] {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const lines = Array.from(counts, ([kind, number]) => `${count(number, 'document')} ${kind}`);
  return [...lines.slice(0, most), ...andMore(lines.length - most)];
}

function betweenOf({ before, set }: MovedDocument): string {
  return `${readersOf(before)} -> ${readersOf(set)}`;
}

function some(what: string, items: readonly string[], most: number): string[] {
  if (items.length === 0) return [];
  const more = items.length - most;
  const shown = items.slice(0, most).map((item) => `  ${item}`);
  return [`${what}:`, ...shown, ...andMore(more).map((line) => `  ${line}`)];
}

function andMore(more: number): string[] {
  return more > 0 ? [`and ${more.toLocaleString('en')} more: --all shows them`] : [];
}

function readersOf(set: Readers): string {
  if (set === null) return '(its content alone)';
  return set === 'public' ? 'public' : `set key ${signingId(set)}`;
}

function formerly(bins: number | undefined): string {
  return bins === undefined ? '' : ` (before: ${bins})`;
}
