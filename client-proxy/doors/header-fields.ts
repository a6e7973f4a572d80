/**
 * Header fields of messages that pass through, as Node.js and undici give them: a flat list, names and values alternating, so that
 * order, case and repetition stay as they were. RFC 9110 section 7.6.
 */
import { VIA } from '../answer-fields.ts';

/** Fields that concern one connection only. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect', // answered by this proxy itself
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The fields that go on to the next hop, with this one in `Via`.
 *
 * @param dropped - further names, in lower case
 */
export function forwardedFields(fields: readonly string[], dropped: readonly string[] = []): string[] {
  const refused = new Set([...dropped, ...namedByConnection(fields)]);
  const kept: string[] = [];
  for (const [name, value] of pairs(fields)) {
    const lower = name.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && !refused.has(lower)) kept.push(name, value);
  }
  kept.push('Via', VIA);
  return kept;
}

/** What a `Connection` field names is for this hop too. */
function namedByConnection(fields: readonly string[]): string[] {
  return pairs(fields)
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((token) => token.trim().toLowerCase()));
}

function pairs(fields: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: fields.length >> 1 }, (_, index) => [
    fields[2 * index] ?? '',
    fields[2 * index + 1] ?? '',
  ]);
}
