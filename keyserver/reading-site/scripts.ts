/** The in-browser reader's scripts as they are served: compressed, and kept by browsers under an address that has their digest in it. */
import type { Express, Request, Response } from 'express';
import { versionOf, type WebReaderFile } from '../../node-support/web-reader-files.ts';
import { sendFile } from '../http/compressed.ts';
import { queryOf } from '../http/forms.ts';

/** Serves a script, with and without its digest in the address. */
export function addScript(app: Express, path: string, file: WebReaderFile): void {
  const version = versionOf(file);
  app.get(path, (request, response) => sendScript(request, response, file, queryOf(request, 'v') === version));
}

/** @param isVersioned - whether the address has the digest in it */
export function sendScript(request: Request, response: Response, file: WebReaderFile, isVersioned = false): void {
  sendFile(request, response, 'text/javascript', file, isVersioned);
}
