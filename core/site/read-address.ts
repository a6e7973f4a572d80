import { OPEN_PAGE } from './path.ts';

/** A document's URL path as links have it: that of a folder stands for its page. */
export function shownPath(urlPath: string): string {
  return urlPath.replace(/(?<=\/)index\.html$/, '');
}

/**
 * Returns the address of the Read link of a fallback page: the document on the reading site; without a key server, the page that gets keys.
 *
 * @param reading - origin
 * @param urlPath - as {@link shownPath} has it; the link's script puts query and fragment behind it
 */
export function readAddress(reading: string, urlPath: string, serverless: boolean): string {
  return serverless ? `${reading}${OPEN_PAGE}#to=${urlPath}` : reading + urlPath;
}
