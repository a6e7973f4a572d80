/** What `wispr publish` did, for people. */
import type { PublishSummary } from '../publisher/publish/publish.ts';
import { count } from '../publisher/text.ts';
import { size } from './size.ts';

const DAY = 86_400;
/** Roles that expire sooner than this are warned about. */
const WARN_BEFORE = 30 * DAY;

/** The summary that is printed. */
export function describePublishing(summary: PublishSummary): string {
  const { target, publication, sent, unchanged, removed, waiting, milliseconds, freshUntil, expires } = summary;
  const first = expires.reduce((a, b) => (b.expires < a.expires ? b : a));
  const rest = unchanged > 0 ? `; ${count(unchanged, 'file')} there already` : '';
  const tidied = removed > 0 ? [`  ${count(removed, 'old file')} removed`] : [];
  const kept = waiting > 0 ? [`  ${count(waiting, 'file')} of earlier publications kept for readers on their way`] : [];
  return [
    `Published: ${target} has publication ${publication} (${(milliseconds / 1000).toFixed(1)} s)`,
    `  sent ${count(sent.files, 'file')}, ${size(sent.bytes)}${rest}`,
    ...tidied,
    ...kept,
    `  fresh until ${minute(freshUntil)}; after that the key server, or "wispr timestamp", has to confirm it`,
    `  ${first.role} expires first of the rest, on ${day(first.expires)}: publish before`,
  ].join('\n');
}

/** What the publisher may want to do something about. */
export function hintsAfterPublishing({ expires, keyServerTold }: PublishSummary, now = Date.now() / 1000): string[] {
  const soon = expires.filter((role) => role.expires - now < WARN_BEFORE);
  const hints = soon.map(({ role, expires: at }) => `${role} expires on ${day(at)}, in ${inDays(at - now)}`);
  if (soon.some(({ role }) => role === 'root'))
    hints.push('hint: the root is signed again with "wispr keys rotate root"');
  if (!keyServerTold)
    hints.push(
      'the key server was not told: it goes on confirming the publication before, if it confirms any',
      'hint: make a token there ("wispr admin token"), and name its file in "keyServerTokenFile" of wispr.json',
    );
  return hints;
}

function day(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

function minute(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function inDays(seconds: number): string {
  return count(Math.max(0, Math.floor(seconds / DAY)), 'day');
}
