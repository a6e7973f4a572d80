/** The media types that the content hosts send, each with its suffixes. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  'application/cache-protected': 'protected',
  'text/html': 'html htm',
  'text/css': 'css',
  'text/javascript': 'js mjs',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/vtt': 'vtt',
  'text/xml': 'xml',
  'application/atom+xml': 'atom',
  'application/json': 'json map',
  'application/pdf': 'pdf',
  'application/rss+xml': 'rss',
  'application/wasm': 'wasm',
  'application/zip': 'zip',
  'application/epub+zip': 'epub',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/ogg': 'ogg oga opus',
  'audio/wav': 'wav',
  'font/ttf': 'ttf',
  'font/woff': 'woff',
  'font/woff2': 'woff2',
  'image/avif': 'avif',
  'image/gif': 'gif',
  'image/jpeg': 'jpg jpeg',
  'image/png': 'png',
  'image/svg+xml': 'svg',
  'image/webp': 'webp',
  'image/x-icon': 'ico',
  'video/mp4': 'mp4 m4v',
  'video/webm': 'webm',
};

/** Writes a line for each media type. @param line - in the server's syntax */
export function typeLines(line: (type: string, suffixes: readonly string[]) => string): string {
  return Object.entries(MEDIA_TYPES)
    .map(([type, suffixes]) => line(type, suffixes.split(' ')))
    .join('\n');
}
