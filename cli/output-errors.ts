/** What becomes of a command whose output cannot be written: the work goes on, for it may be half done; only the output is lost. */
import { systemCode, systemReason } from '../node-support/system-error.ts';
import { EXIT, say } from './voice.ts';

/** The reader of a pipe has gone, as `head` does when it has enough; what is written afterwards meets a closed stream. */
const NOBODY_READS = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'];

/**
 * Keeps errors of standard output and standard error from ending the process. A reader who leaves early changes nothing. If results
 * cannot be written for another reason, such as a full disk, that is said once, and the command fails when its work is done.
 */
export function outliveOutputErrors(): void {
  process.stderr.on('error', () => undefined); // there is nowhere left to say it
  let failed = false;
  process.stdout.on('error', (error) => {
    if (failed || NOBODY_READS.includes(systemCode(error) ?? '')) return;
    failed = true;
    say(`cannot write to standard output: ${systemReason(error)}`);
    process.once('exit', () => {
      process.exitCode = EXIT.failed;
    });
  });
}
