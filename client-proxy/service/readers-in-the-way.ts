/** Readers that run on a database, and have to be stopped before something can be done with it. */
import { ReaderError } from '../errors.ts';
import { askStatus, unreachable } from '../running/ask-readers.ts';
import type { RefusedAnswer } from '../running/contract.ts';

/** How what is in the way is said, behind "a Reader runs already on …". */
export interface InTheWay {
  /** What of it is in the way. */
  readonly why: string;
  /** The process of a Reader that is not in the way. */
  readonly but?: number | undefined;
  /** That one will be ended by the service manager: then it need not answer either. */
  readonly butWillEnd?: boolean;
}

/**
 * Names all of them at once: whoever stops one should not meet the next afterwards.
 *
 * @throws ReaderError `reader-running`; `reader-unreachable` where one of them does not answer
 */
export async function refuseRunning(directory: string, { why, but, butWillEnd = false }: InTheWay): Promise<void> {
  const { readers, silent: withoutAnswer } = await askStatus(directory);
  const others = readers.filter(({ process }) => process !== but);
  const silent = withoutAnswer.filter(({ process }) => !butWillEnd || process === undefined || process !== but);
  const [first] = silent;
  if (others.length === 0) {
    if (first !== undefined) throw unreachable(first);
    return;
  }
  const where = others.map(({ url }) => url).join(' and ');
  const what =
    others.length > 1 ? `${others.length} Readers run already, on ${where}` : `a Reader runs already, on ${where}`;
  const stop = `stop ${others.length + silent.length > 1 ? 'them' : 'it'} first: kill ${others.map(({ process }) => process).join(' ')}`;
  throw new ReaderError('reader-running', [`${what}, ${why}`, ...silent.map(({ error }) => error)].join('; '), {
    hint: [stop, ...silent.flatMap(howToEnd)].join('; '),
  });
}

/** One that gives no answer may not heed a polite word. */
function howToEnd({ process, hint }: RefusedAnswer): string | string[] {
  return process === undefined ? (hint ?? []) : `kill -KILL ${process}`;
}
