/** How long ago something was, as people say it. */
const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
];

/** Times in seconds since 1970. */
export function ago(time: number, now: number): string {
  const seconds = now - time;
  const unit = UNITS.find(([length]) => seconds >= length);
  if (unit === undefined) return 'just now';
  const count = Math.floor(seconds / unit[0]);
  return `${count} ${unit[1]}${count === 1 ? '' : 's'} ago`;
}
