/** What `wispr timestamp` and `wispr withdraw` have in common: what they are told, and what they tell. */
import { type AdoptPlaces, adoptTimestamp } from '../publisher/publish/bring-timestamp.ts';
import type { Unfinished } from '../publisher/published-places.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import type { PublicationPlaces } from './publication-places.ts';

/** Where the timestamp is now, besides the output. */
export interface Confirmed {
  readonly signed: SignedTimestamp;
  /** How messages name the target; `undefined` where there is none. */
  readonly target: string | undefined;
  readonly keyServerTold: boolean;
  /** Whether no target has it, and the key server alone told readers of what is withdrawn. */
  readonly isOnlyTold?: boolean;
  /** Further targets that have it now. */
  readonly besides?: readonly string[];
  /** Targets that were to have it, and show another publication, so that there was nothing to bring. */
  readonly notShown?: readonly { readonly target: string; readonly shown: number }[];
  /** Targets that have something good from before, as far as is known, and whose readers no key server sends to what is withdrawn. */
  readonly goesOn?: readonly { readonly target: string; readonly shown: number }[];
  /** Whether a key server confirms the site, where its configuration says that, or may have been told of what is withdrawn; `undefined` where a key file signed, and there is no configuration. */
  readonly isConfirmedByKeyServer?: boolean;
  /** What is withdrawn, and not with everybody yet. */
  readonly unfinished?: readonly Unfinished[];
  /** The target that `wispr.json` names, where the site was published to another one last. */
  readonly configured?: string | undefined;
  /** What publishes to where it is, as it is to be typed. */
  readonly publishAgain?: string;
}

export interface ConfirmFlags {
  readonly config?: string;
  readonly tokenFile?: string;
  /** Of `wispr withdraw`: places that are gone for good, as they are called in messages. */
  readonly gone?: readonly string[];
}

/** How often somebody else may be quicker. */
export const ATTEMPTS = 5;

/** What is said of where it is. */
export function aboutPlaces({ target, configuration, configured, publishAgain }: PublicationPlaces) {
  const isConfirmedByKeyServer = configuration.timestampBy === 'keyserver';
  return { target: target?.name, isConfirmedByKeyServer, configured, publishAgain };
}

/** @returns what the key server could not be asked for */
export async function adopt(places: AdoptPlaces): Promise<Awaited<ReturnType<typeof adoptTimestamp>>> {
  return places.target || places.keyServer ? adoptTimestamp(places) : undefined;
}
