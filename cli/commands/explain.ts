import type { Command } from 'commander';
import { remedyFor } from '../../core/errors.ts';
import { nearestWords } from '../../node-support/nearest-words.ts';
import { SECTIONS } from '../error-sections.ts';
import { plain, print, UsageError } from '../io/voice.ts';

export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .summary('say what an error code means, and what to do')
    .description('say what an error code means, and what to do about it: the entry of docs/generated/errors.md')
    .argument('<code>', 'the code in brackets behind a message, or on a page of a reader')
    .action(explainCode);
}

function explainCode(typed: string): void {
  const code = typed.replace(/^\[(.*)\]$/, '$1');
  const found = SECTIONS.flatMap(({ title, catalogue }) => {
    const remedy = remedyFor(catalogue, code);
    return remedy === undefined ? [] : [describe(title, catalogue[code]?.means ?? '', remedy)];
  });
  if (found.length === 0) throw unknown(code);
  print(found.join('\n\n'));
}

function describe(title: string, means: string, remedy: string): string {
  return [plain(title), `  ${plain(means)}`, `  what to do: ${plain(remedy)}`].join('\n');
}

function unknown(code: string): UsageError {
  const all = [...new Set(SECTIONS.flatMap(({ catalogue }) => Object.keys(catalogue)))];
  const near = nearestWords(code, all);
  const words = near.length > 0 ? near : all.filter((each) => code !== '' && each.includes(code)).slice(0, 5);
  const hint =
    words.length > 0 ? `did you mean ${words.join(' or ')}?` : 'a code stands in brackets at the end of a message';
  return new UsageError(`there is no error code ${JSON.stringify(code)}`, hint);
}
