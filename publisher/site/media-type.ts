/** Media types by the endings of file names. */
import { isUtf8 } from 'node:buffer';
import mime from 'mime';
import { isFeed } from '../../teaser/machine-words.ts';

const UNKNOWN = 'application/octet-stream';
const TEXT =
  /^(?:text\/.+|application\/(?:json|javascript|xml|manifest\+json|.+\+(?:json|xml)|.*xml)|image\/svg\+xml)$/;
/**
 * Types that are not text, read from beginning to end, and smaller in gzip. Pictures, sound, films, models, archives and databases are stored as they
 * are, however well they compress: programs ask for parts of them.
 */
const COMPRESSIBLE = new RegExp(
  `^(?:${[
    'application/(?:wasm|rtf|toml|sql|msword|postscript|xml-dtd|x-(?:csh|httpd-php|perl|sh|subrip|tcl|tex))',
    'application/vnd\\.(?:apple\\.mpegurl|ms-(?:excel|fontobject|powerpoint))',
    'font/(?:ttf|otf|collection)',
    'image/(?:x-icon|vnd\\.microsoft\\.icon)',
    'model/(?:mtl|obj|vrml|.+\\+(?:json|xml))',
  ].join('|')})$`,
);
const HTML = 'text/html';
const XHTML = 'application/xhtml+xml';

/** Media types by the endings of names: they are asked of every file. */
const TYPES = new Map<string, string>();
const MOST_TYPES = 1000;

/** Returns the media type of a document, without parameters. */
export function mediaTypeOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  if (dot < 0) return UNKNOWN;
  const ending = name.slice(dot);
  const known = TYPES.get(ending) ?? mime.getType(ending) ?? UNKNOWN;
  if (TYPES.size < MOST_TYPES) TYPES.set(ending, known);
  return known;
}

export function isPage(mediaType: string): boolean {
  return mediaType === HTML;
}

/** Tells whether a document can name its set: a page, or one in XML, whose place no fallback page in HTML could take. */
export function canNameSet(mediaType: string): boolean {
  return isPage(mediaType) || isXmlPage(mediaType);
}

export function isXmlPage(mediaType: string): boolean {
  return mediaType === XHTML;
}

/** Tells whether a document is a picture that previews and mastheads can show. */
export function isPicture(mediaType: string): boolean {
  return mediaType.startsWith('image/');
}

/** Tells whether a document can be a feed: many have names that say no more than XML. */
export function mayBeFeed(mediaType: string): boolean {
  return isFeed(mediaType) || mediaType === 'application/xml' || mediaType === 'text/xml';
}

export function isCompressible(mediaType: string): boolean {
  return TEXT.test(mediaType) || COMPRESSIBLE.test(mediaType);
}

/** Tells whether the name says that the file is in gzip already, and of another type without it. */
export function isInGzip(path: string): boolean {
  return /\.svgz$/i.test(path);
}

/** Tells whether the media type takes a `charset` if the text is UTF-8. */
export function isText(mediaType: string): boolean {
  return TEXT.test(mediaType);
}

/** Returns the `Content-Type` of a text: it names UTF-8 only where the bytes are UTF-8, since it overrides what the text says itself. */
export function withCharset(mediaType: string, utf8: boolean): string {
  return isText(mediaType) && utf8 ? `${mediaType}; charset=utf-8` : mediaType;
}

export const isUtf8Text: (bytes: Uint8Array) => boolean = isUtf8;
