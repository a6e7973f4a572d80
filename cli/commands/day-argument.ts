import { daySpan, type TimeSpan } from '../../core/keys/set-time.ts';
import { UsageError } from '../io/voice.ts';

/** The seconds of a day as it is typed. @throws UsageError */
export function dayArgument(text: string, zone = 'UTC'): TimeSpan {
  const span = daySpan(text, zone);
  if (span) return span;
  throw new UsageError(`"${text.slice(0, 40)}" is not a date`, 'write it like 2027-06-30');
}
