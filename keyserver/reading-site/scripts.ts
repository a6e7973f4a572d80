/** The in-browser reader's scripts as they are served: compressed, and kept by browsers under an address that has their digest in it. */
import type { Express, Request, Response } from 'express';
import { versionOf, type WebReaderFile } from '../../node-support/web-reader-files.ts';
import { prefersCoding } from '../../reading/accept-encoding.ts';
import { queryOf } from '../http/forms.ts';

/** Serves a script, with and without its digest in the address. */
export function addScript(app: Express, path: string, file: WebReaderFile): void {
  const version = versionOf(file);
  app.get(path, (request, response) => sendScript(request, response, file, queryOf(request, 'v') === version));
}

/** @param isVersioned - whether the address has the digest in it */
export function sendScript(request: Request, response: Response, file: WebReaderFile, isVersioned = false): void {
  const accepted = request.headers['accept-encoding'];
  const coding = ['br', 'gzip'].find((name) => prefersCoding(accepted, name));
  response.set({
    'Content-Type': 'text/javascript; charset=utf-8',
    'Cache-Control': isVersioned ? 'public, max-age=31536000, immutable' : 'no-cache',
    Vary: 'Accept-Encoding',
    ...(coding !== undefined && { 'Content-Encoding': coding }),
  });
  response.end(coding === 'br' ? file.brotli : coding === 'gzip' ? file.gzip : file.content);
}
