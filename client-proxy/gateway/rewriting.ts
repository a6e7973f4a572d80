/** Documents whose absolute links are changed on their way through the gateway: which they are, and with what headers. */
import { parseMediaType } from '../../node-support/media-type.ts';
import type { Representation } from '../../reading/representation.ts';
import { applyEdits, editsOfPolicy, type GatewayLinks } from './links.ts';

type Kind = 'css' | 'markup';

const KINDS: Readonly<Record<string, Kind>> = { 'text/html': 'markup', 'image/svg+xml': 'markup', 'text/css': 'css' };

/**
 * Charsets in which every byte below 128 is the ASCII character that it seems to be, and in which links are found without reading anything
 * else. In others (UTF-16, Shift_JIS, GBK …) a byte of a letter can look like a quotation mark.
 */
const ASCII_COMPATIBLE =
  /^(?:utf-8|windows-125\d|windows-874|iso-8859-\d+(?:-i)?|koi8-[ru]|macintosh|x-mac-cyrillic|ibm866)$/;

/** Way in which a document's links are changed; `undefined` for one that goes through as it is. */
export interface Rewriting {
  readonly kind: Kind;
  readonly charset: string;
  readonly links: GatewayLinks;
}

/** @param mediaType - the signed one, with its charset: without, only a browser could find out what the bytes mean */
export function rewritingOf(mediaType: string, links: GatewayLinks | undefined): Rewriting | undefined {
  if (links === undefined) return undefined;
  const type = parseMediaType(mediaType);
  const essence = type?.essence ?? '';
  const kind = Object.hasOwn(KINDS, essence) ? KINDS[essence] : undefined;
  // SVG is UTF-8 unless it says otherwise, which matters for host names in other scripts only.
  const known = encodingOf(type?.params.get('charset') || (essence === 'image/svg+xml' ? 'utf-8' : ''));
  return kind && known ? { kind, charset: known, links } : undefined;
}

function encodingOf(label: string): string | undefined {
  try {
    const { encoding } = new TextDecoder(label);
    return label !== '' && ASCII_COMPATIBLE.test(encoding) ? encoding : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Describes a document that is changed on its way: a content coding is undone, the length is not known, ranges are not served, and the entity
 * tag names what was done. A date would not distinguish two rewritings, so none is said, and no condition on one is met.
 */
export function rewrittenRepresentation(chosen: Representation, { links }: Rewriting): Representation {
  const {
    'content-length': _length,
    'content-encoding': coding,
    'accept-ranges': _ranges,
    'last-modified': _date,
    vary: _vary,
    ...rest
  } = chosen.headers;
  const etag = chosen.etag.replace(/(?:-plain)?"$/, `-${links.tag}"`);
  const undo = chosen.undo ?? (coding === 'br' || coding === 'gzip' ? coding : undefined);
  return { headers: { ...rest, etag }, etag, lastModified: undefined, undo, ranges: false };
}

/** The signed header fields that name the site by its own address, as they are good for in the gateway. */
export function rewrittenFields<Value>(
  fields: Readonly<Record<string, Value>>,
  links: GatewayLinks,
): Record<string, Value | string> {
  const { link, 'content-security-policy': policy } = fields;
  return {
    ...fields,
    ...(typeof link === 'string' && { link: rewrittenLink(link, links) }),
    ...(typeof policy === 'string' && { 'content-security-policy': applyEdits(policy, editsOfPolicy(policy, links)) }),
  };
}

/** RFC 8288. What a document is called in public stays, as in its `<link>`. */
function rewrittenLink(field: string, links: GatewayLinks): string {
  return field.replace(/<([^<>]*)>((?:[^,"]|"(?:[^"\\]|\\.)*")*)/g, (all, url: string, parameters: string) =>
    /;\s*rel\s*=(?:\s*")?[^";]*\b(?:canonical|shortlink)\b/i.test(parameters)
      ? all
      : `<${links.rewrite(url)}>${parameters}`,
  );
}
