import { UsageError } from '../io/voice.ts';

/** The last second of a day, in UTC. @throws UsageError */
export function endOfDay(text: string): number {
  const end = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T23:59:59Z`) : Number.NaN;
  // Date.parse turns 31 February into 3 March in some engines; the round trip does not.
  if (Number.isNaN(end) || new Date(end).toISOString().slice(0, 10) !== text) {
    throw new UsageError(`"${text.slice(0, 40)}" is not a date`, 'write it like 2027-06-30');
  }
  return end / 1000;
}
