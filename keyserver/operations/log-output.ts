import { destination } from 'pino';

/** Bytes of lines that wait while they cannot be written; further ones are dropped. */
const MOST_WAITING = 1024 * 1024;

/** Bytes of lines that are not put off any more. */
const MOST_TOGETHER = 4096;

/**
 * Makes standard error the place of the log, as one that may go away: a terminal that is closed, a disk that is full. Then lines wait, and are
 * written with the next one for which it is there again. Lines of one turn of the event loop are written together.
 *
 * @param dest - path of another place
 */
export function logOutput(dest: number | string = 2): ReturnType<typeof destination> {
  const output = destination({ dest, minLength: MOST_TOGETHER, maxLength: MOST_WAITING });
  const { flushSync, write } = output;
  let isPutOff = false;
  output.write = (line) => {
    if (!isPutOff)
      setImmediate(() => {
        isPutOff = false;
        output.flush();
      });
    isPutOff = true;
    return write.call(output, line);
  };
  output.on('error', () => {
    output.flushSync = () => undefined; // the end of the process would try for ever
  });
  output.on('write', () => {
    output.flushSync = flushSync;
  });
  return output;
}
