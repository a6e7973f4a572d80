/** Keys that are missing, as the worker asks for them: of the vault, or, without a key server, in a key file. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { Asked, OriginStore } from '../store.ts';

/** Milliseconds: for which an answer counts for windows, and for what pages load; and for which one that never came is waited for. */
export const WINDOW_COUNTS_FOR = 30_000;
export const PAGE_COUNTS_FOR = 3_600_000;
export const WAITED_FOR = 300_000;

export interface MissingKeys {
  /**
   * Asks for the key of a document that a window opens.
   *
   * @param to - path, query and fragment
   * @returns where to lead the window; `undefined` where the key arrived, or was asked for a moment ago
   */
  forWindow(set: KeyId, to: string): Promise<string | undefined>;
  /** Asks for the key of what a page loads. @param clientId - of the page */
  forPage(set: KeyId, clientId: string): Promise<void>;
  /** Makes the address at which a frame gets keys, those that are wanted first, and nothing is shown; empty where there is none. */
  forFrame(wanted: readonly KeyId[]): Promise<string>;
  /** Ends the wait of pages. @param isAnswered - false: the vault refuses to say anything */
  end(isAnswered: boolean): void;
}

export type CreateMissingKeys = (store: OriginStore) => MissingKeys;

/** Tells whether a key is to be asked for, or for again. @param answered - milliseconds for which an answer counts */
export function isDue(asked: Asked | undefined, answered: number, waited: number): boolean {
  return !isWithin(asked?.isAnswered ? answered : waited, asked?.at);
}

/** Tells whether `at` was no longer ago than that. */
export function isWithin(milliseconds: number, at: unknown): boolean {
  const since = Date.now() - Number(at ?? 0);
  return since >= 0 && since < milliseconds;
}
