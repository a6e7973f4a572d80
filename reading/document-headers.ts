/** The headers with which a reading site shows a document in a browser, at an origin where nothing else is. */

/**
 * Features that no page at an origin of documents may use, whatever is signed: a passkey of the account could be asked for, or overwritten, from a
 * host below the account's.
 */
export const NO_PASSKEYS = 'publickey-credentials-get=(), publickey-credentials-create=()';

/** A member of the structured dictionary that `Permissions-Policy` is (RFC 8941), as publishers write it. */
const FEATURE = /^[a-z][a-z0-9-]*=(?:\*|\((?:(?:\*|self|src|"[^"\\]*")(?: (?!\))|(?=\))))*\))$/;

/** Tells whether browsers read the whole of a `Permissions-Policy`: where anything is malformed, they drop all of it. */
export function isSoundPolicy(policy: string): boolean {
  return policy.split(',').every((member) => FEATURE.test(member.trim()));
}

/** A signed policy, unless browsers could drop it, with ours behind it: of two values the later counts. */
export function withFeatures(signed: string | undefined, ours: string): string {
  return signed !== undefined && isSoundPolicy(signed) ? `${signed}, ${ours}` : ours;
}

/**
 * The signed headers, and what holds if the publisher has signed nothing else. The documents are the reader's own: no cache may share them, and
 * pages of other origins may not load or frame them.
 *
 * @param headers - of a representation, names in lower case
 * @returns with one policy for each element: browsers enforce all of them, so a second one can only narrow the first
 */
export function documentHeaders(headers: Readonly<Record<string, string>>): Record<string, string | string[]> {
  const { 'content-security-policy': policy, 'permissions-policy': features, ...signed } = headers;
  return {
    'cache-control': 'private, no-cache',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-frame-options': 'SAMEORIGIN',
    ...signed,
    'permissions-policy': withFeatures(features, NO_PASSKEYS),
    'content-security-policy': [
      ...(policy === undefined ? [] : [policy]),
      "frame-ancestors 'self'",
      ...xmlPolicy(headers),
    ],
  };
}

/**
 * XML that is opened by itself can run scripts, above all SVG, which few think of where pictures are handed in. XHTML is written as a page. A feed
 * may have a style sheet in XSLT, which is a script to policies, and has to be of the same origin: what it makes of the feed runs none either.
 */
function xmlPolicy({ 'content-type': type = '' }: Readonly<Record<string, string>>): string[] {
  const [essence = ''] = type
    .toLowerCase()
    .split(';', 1)
    .map((text) => text.trim());
  if (essence === 'image/svg+xml') return ["sandbox; script-src 'none'"];
  const isXml = /^(?:text|application)\/(?:xml|xsl|rdf)$|\+xml$/.test(essence) && essence !== 'application/xhtml+xml';
  return isXml ? ["sandbox allow-same-origin; script-src 'self'"] : [];
}
