/** Bodies as they are sent: compressed for a client that takes it, and named by their content, so that nothing is sent that it has. */
import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Express, Request, RequestHandler, Response } from 'express';
import { versionOf, type WebReaderFile } from '../../node-support/web-reader-files.ts';
import { prefersCoding } from '../../reading/accept-encoding.ts';
import { queryOf } from './forms.ts';

/** Bytes below which coding saves no packet. */
const LEAST_LENGTH = 600;
/** Bytes above which coding would keep everybody else waiting. */
const MOST_LENGTH = 2 ** 18;
const COMPRESSIBLE = /^(?:text\/|application\/json)/;
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

type Coding = 'br' | 'gzip';

/**
 * Compresses what `response.send` and `response.json` are given. A page in which something secret stands beside what its address says must not be:
 * its length would tell of the secret (BREACH). {@link keepLength} is for these.
 */
export const compressAnswers: RequestHandler = (request, response, next) => {
  const send = response.send.bind(response);
  response.send = (body) => {
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return send(body);
    const type = response.get('Content-Type') ?? '';
    if (!COMPRESSIBLE.test(type) || response.locals.isLengthKept || response.get('ETag')) return send(body);
    const bytes = Buffer.from(body);
    const isLong = bytes.length >= LEAST_LENGTH && bytes.length <= MOST_LENGTH;
    const coding = response.get('Content-Encoding') === undefined && isLong ? codingFor(request, response) : undefined;
    if (!response.get('Cache-Control')?.includes('no-store'))
      response.set('ETag', etagOf(createHash('sha256').update(bytes).digest('base64url'), coding));
    if (coding) response.set('Content-Encoding', coding);
    return send(coding === 'br' ? brotliCompressSync(bytes, QUICK) : coding === 'gzip' ? gzipSync(bytes) : bytes);
  };
  next();
};

/** Sends the answer as long as it is. */
export function keepLength({ locals }: Response): void {
  locals.isLengthKept = true;
}

/** Sends a file of the program. @param type - media type @param isVersioned - whether the address has the digest in it */
export function sendFile(
  request: Request,
  response: Response,
  type: string,
  file: WebReaderFile,
  isVersioned = false,
): void {
  const coding = codingFor(request, response);
  response.set({
    'Content-Type': `${type}; charset=utf-8`,
    'Cache-Control': isVersioned ? 'public, max-age=31536000, immutable' : 'no-cache',
    ETag: etagOf(versionOf(file), coding),
    ...(coding !== undefined && { 'Content-Encoding': coding }),
  });
  response.send(coding === 'br' ? file.brotli : coding === 'gzip' ? file.gzip : file.content);
}

/** Serves a script, which browsers keep under an address that has its digest in it. */
export function addScript(app: Express, path: string, file: WebReaderFile): void {
  const version = versionOf(file);
  app.get(path, (request, response) =>
    sendFile(request, response, 'text/javascript', file, queryOf(request, 'v') === version),
  );
}

function codingFor(request: Request, response: Response): Coding | undefined {
  response.vary('Accept-Encoding');
  return (['br', 'gzip'] as const).find((name) => prefersCoding(request.headers['accept-encoding'], name));
}

function etagOf(digest: string, coding: Coding | undefined): string {
  return `"${digest}${coding === undefined ? '' : `-${coding}`}"`;
}
