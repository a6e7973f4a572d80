import { destination } from 'pino';

/** Bytes of lines that wait while they cannot be written; further ones are dropped. */
const MOST_WAITING = 1024 * 1024;

/**
 * Makes standard error the place of the log, as one that may go away: a terminal that is closed, a disk that is full. Then lines wait, and are
 * written with the next one for which it is there again.
 */
export function logOutput(): ReturnType<typeof destination> {
  const output = destination({ dest: 2, maxLength: MOST_WAITING });
  const { flushSync } = output;
  output.on('error', () => {
    output.flushSync = () => undefined; // at the end of the process, which tries for ever
  });
  output.on('write', () => {
    output.flushSync = flushSync;
  });
  return output;
}
