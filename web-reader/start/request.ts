import { WebReaderError } from '../errors.ts';
import type { Store } from '../store.ts';

/** Begins to ask for keys. @returns the address to lead the window to */
export async function requestKeys(
  _store: Store,
  vault: string,
  _to: string,
  _sets: readonly string[] = [],
): Promise<string> {
  throw new WebReaderError('site-unavailable', `${vault} has no keys to give yet`);
}
