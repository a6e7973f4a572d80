import { daySpan, type TimeSpan } from '../../keyserver/subscriptions/access.ts';
import { UsageError } from '../io/voice.ts';

/** The seconds of a day as it is typed. @throws UsageError */
export function dayArgument(text: string, zone = 'UTC'): TimeSpan {
  try {
    if (/^\d{4}-\d\d-\d\d$/.test(text)) return daySpan(text, zone);
  } catch {
    // as below
  }
  throw new UsageError(`"${text.slice(0, 40)}" is not a date`, 'write it like 2027-06-30');
}
