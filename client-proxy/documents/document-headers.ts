/** The headers with which a document leaves this program, as a proxy and as a gateway. */
import { withFeatures } from '../../reading/document-headers.ts';
import type { HeaderFields } from '../network/answer-fields.ts';

/** Decrypted pages come from this machine; that must not let them look around on it. */
const CLOSED_FEATURES = 'local-network=(), local-network-access=(), loopback-network=()';

/** Way in which a request for a document comes: with the site's own address through the proxy, or below `localhost`. */
export type ProxyMode = 'gateway' | 'proxy';

/** Signed headers, and what keeps a decrypted page from looking around here, and pages of others from loading it. */
export function documentHeaders(headers: HeaderFields, mode: ProxyMode): HeaderFields {
  return {
    // Browsers would guess how long it may be kept, unless the publisher signed that, and show what was withdrawn or is not fresh any more.
    'cache-control': 'private, no-cache',
    // Browsers heed it in secure contexts only, which plain http through a proxy is not, and complain elsewhere.
    ...(mode === 'gateway' && { 'cross-origin-opener-policy': 'same-origin' }),
    ...headers,
    'permissions-policy': withFeatures(
      [headers['permissions-policy'] ?? []].flat().join(', ') || undefined,
      CLOSED_FEATURES,
    ),
    'content-security-policy': both(headers['content-security-policy'], "frame-ancestors 'self'"),
    'cross-origin-resource-policy': 'same-origin',
  };
}

function both(signed: string | string[] | undefined, ours: string): string | string[] {
  return signed === undefined ? ours : [signed, ours].flat();
}
