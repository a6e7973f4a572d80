import { readFileSync, readlinkSync } from 'node:fs';
import { uptime } from 'node:os';

/** Differs from one start of the machine to the next. Where the system has no name for it, a clock that is set changes it as well. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return String(Math.round((Date.now() / 1000 - uptime()) / 10));
  }
}

/**
 * Where the number of this process means this process: one machine since its start, and, on Linux, one name space of processes, of which a
 * container has its own. `undefined` if it is unknown.
 */
export function processSpace(): string | undefined {
  if (process.platform !== 'linux') return bootId();
  try {
    return `${bootId()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}
