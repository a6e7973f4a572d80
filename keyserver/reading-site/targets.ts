/** Where a browser is led to, and whether it is a person who goes there. */
import type { Request } from 'express';
import { openerOf } from '../../reading/navigation.ts';

/** Whether a page is opened in a window of its own, as browsers say. Programs do not say, though some name a mode. */
export function isOpened({ headers }: Request): boolean {
  return openerOf(headers) !== 'page';
}
