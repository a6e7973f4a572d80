import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

/** Differs from one start of the machine to the next. Where the system has no name for it, a clock that is set changes it as well. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return String(Math.round((Date.now() / 1000 - uptime()) / 10));
  }
}
