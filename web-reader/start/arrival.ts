import type { Store } from '../store.ts';

/** Takes keys that the vault has sealed to this origin. @returns where to go on; `undefined` where the address holds no keys */
export async function takeArrival(
  _store: Store,
  _fragment: string,
  _contentOrigin: string,
): Promise<string | undefined> {
  return undefined;
}
