/** Words for the end of what was published. Roles are not named but for the root, whose key is kept apart. */
import { utcMinute } from '../../node-support/clock.ts';
import { count } from '../../publisher/text.ts';
import { hintLine } from '../io/voice.ts';
import { isoDay } from './describe.ts';

const DAY = 86_400;
/** Seconds before an end from which a warning is given. */
export const EXPIRY_WARNING = 30 * DAY;

interface RoleEnd {
  readonly role: string;
  /** Seconds since 1970. */
  readonly expires: number;
}

/** @param hasKeyServer - whether a key server can confirm the publication again */
export function describeFreshness(until: number, hasKeyServer: boolean): string {
  const by = `${hasKeyServer ? 'key server, ' : ''}"wispr publish" or "wispr timestamp"`;
  return `must be confirmed by ${utcMinute(until)} (${by})`;
}

export function describeSignatures(roles: readonly RoleEnd[]): string {
  const { root, rest } = firstToEnd(roles);
  const ends = [rest, root].filter((end) => end !== undefined).map(isoDay);
  return ends.length === 2
    ? `its signatures end on ${ends[0]}, the root's on ${ends[1]}`
    : `its signatures end on ${ends[0]}`;
}

/**
 * Says once what ends soon, and what to do about it.
 *
 * @param again - the command that signs everything but the root anew
 */
export function warnAboutSignatures(roles: readonly RoleEnd[], again: string, now: number): string[] {
  const { root, rest } = firstToEnd(roles);
  const isSoon = (end: number | undefined): end is number => end !== undefined && end - now < EXPIRY_WARNING;
  const when = (end: number) => `on ${isoDay(end)}, in ${count(Math.max(0, Math.floor((end - now) / DAY)), 'day')}`;
  const lines = [
    ...(isSoon(rest) ? [`the publication's signatures end ${when(rest)}`] : []),
    ...(isSoon(root) ? [`the root's signatures end ${when(root)}`] : []),
  ];
  if (lines.length === 0) return [];
  return [...lines, hintLine(`run ${isSoon(root) ? '"wispr keys renew", then ' : ''}"${again}" before that day`)];
}

/** The timestamp is another matter: it ends every other day. */
function firstToEnd(roles: readonly RoleEnd[]): { root: number | undefined; rest: number | undefined } {
  const ends = roles.filter(({ role }) => role !== 'timestamp').sort((a, b) => a.expires - b.expires);
  return {
    root: ends.find(({ role }) => role === 'root')?.expires,
    rest: ends.find(({ role }) => role !== 'root')?.expires,
  };
}
