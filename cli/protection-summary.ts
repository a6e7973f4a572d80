/** What `wispr protect` did, for people. */
import { relative } from 'node:path';
import type { ProtectSummary } from '../publisher/protect/summary.ts';
import { count, printable, someOf } from '../publisher/text.ts';
import { size } from './size.ts';

const SHOWN_SETS = 12;

/** The summary that is printed. */
export function describeProtection(summary: ProtectSummary): string {
  const { site, documents, out, bytesIn, bytesOut, milliseconds, ignored } = summary;
  const left = ignored === 0 ? '' : `; ${ignored} hidden or ignored left out`;
  return [
    `Protected ${site}: ${count(documents, 'document')} in ${(milliseconds / 1000).toFixed(1)} s${left}`,
    '',
    ...describeSets(summary),
    ...describePublic(summary),
    '',
    `  ${size(bytesIn)} of site became ${size(bytesOut)} in ${place(out)}: put that directory on your web host, whole`,
    ...describeBundle(summary),
    `  publisher key ${summary.publisher}`,
  ].join('\n');
}

/** What the publisher may want to do something about. */
export function hintsAfterProtection({ bundle, recipient, unusedPatterns, recovered }: ProtectSummary): string[] {
  const hints = [...recovered];
  if (unusedPatterns.length > 0) {
    hints.push(`no document fits ${someOf(unusedPatterns.map((text) => JSON.stringify(text)))} in the configuration`);
  }
  if (bundle === undefined) {
    hints.push(
      `no key bundle was written: the key server's public key is not in ${place(recipient)}`,
      'hint: copy it there (wispr keyserver says where it is) and protect again: until then nobody can be given a key',
    );
  }
  return hints;
}

function describeSets({ sets }: ProtectSummary): string[] {
  const width = Math.max(0, ...sets.slice(0, SHOWN_SETS).map(({ name }) => name.length));
  const lines = sets.slice(0, SHOWN_SETS).map(({ name, documents, isNew }) => {
    return `  set ${name.padEnd(width)}  ${count(documents, 'document')}${isNew ? ', new key' : ''}`;
  });
  const more = sets.length - lines.length;
  return more > 0 ? [...lines, `  and ${count(more, 'more set', 'more sets')}`] : lines;
}

function describePublic(summary: ProtectSummary): string[] {
  const total = summary.public.reduce((sum, { documents }) => sum + documents, 0);
  if (total === 0) return ['  public: none'];
  const reasons = summary.public.map(({ reason, documents, paths }) => {
    const names = someOf(paths.map((path) => printable(path.slice(1))).slice(0, 3));
    return `    ${names}${documents > 3 ? ` and ${documents - 3} more` : ''} (${reason})`;
  });
  return [`  public, signed but not encrypted: ${count(total, 'document')}`, ...reasons];
}

function describeBundle({ bundle }: ProtectSummary): string[] {
  return bundle === undefined
    ? []
    : [`  ${place(bundle)} is for your key server only: wispr admin import ${place(bundle)}`];
}

function place(path: string): string {
  const short = relative('.', path);
  return short.startsWith('..') || short === '' ? path : short;
}
