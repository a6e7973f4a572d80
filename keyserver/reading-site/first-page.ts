/**
 * The first page of a browser, which is opened here: docs/spec/web-reader.md, "The first page". A script stands in front of the page's own, and
 * starts the in-browser reader behind the page; nothing waits for it.
 */
import type { Request, Response } from 'express';
import type { WebReaderFiles } from '../../node-support/web-reader-files.ts';
import { addressOf } from '../../node-support/web-reader-files.ts';
import { permitInline } from '../../reading/page-scripts.ts';

/** Addition to a page. */
export interface PageFront {
  readonly tag: string;
  /** HTML behind its end. */
  readonly behind?: string;
  /** A signed policy, as the page needs it. */
  readonly permit: (policy: string) => string;
}

/** @param vault - origin @param sheet - whether readers get the sheet's button */
export function pageFront({ first, sheet }: WebReaderFiles, vault: string, isSheetWanted: boolean): PageFront {
  const { src, integrity } = addressOf('/-/sheet.js', sheet);
  const data = isSheetWanted ? ` data-src="${src}" data-integrity="${integrity}"` : '';
  return {
    tag: `<script${data}>${first.content}</script>`,
    permit: (policy) => permitInline(policy, first.integrity, `'self' ${vault}`),
  };
}

/** Tells whether a page has it in a frame. */
export function isInFrame({ headers }: Request): boolean {
  return headers['sec-fetch-dest'] === 'iframe';
}

/** Lets pages of one origin have an answer in a frame, pages that are isolated too. @param parent - source for `frame-ancestors` */
export function permitFrame(response: Response, parent: string): void {
  const policy = String(response.getHeader('Content-Security-Policy'));
  response.set({
    'Content-Security-Policy': policy.replace(/frame-ancestors [^;]*/, `frame-ancestors ${parent}`),
    'Cross-Origin-Embedder-Policy': 'require-corp',
    'Cross-Origin-Resource-Policy': 'same-site',
  });
  response.removeHeader('X-Frame-Options'); // the header has no other origins
}
