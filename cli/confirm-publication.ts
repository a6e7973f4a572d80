/** What `wispr timestamp` and `wispr withdraw` do: sign a timestamp, and take it to where readers find it. */
import { nowInSeconds } from '../node-support/clock.ts';
import { PublishError } from '../publisher/errors.ts';
import { adoptTimestamp, bringTimestamp, type TimestampPlaces } from '../publisher/publish/bring-timestamp.ts';
import { runTimestamp, type TimestampRun } from '../publisher/timestamp/run.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import { locatePlaces, type PublicationPlaces } from './publication-places.ts';

/** Where the timestamp is now, besides the output. */
export interface Confirmed {
  readonly signed: SignedTimestamp;
  /** How messages name the target; `undefined` where there is none. */
  readonly target: string | undefined;
  readonly keyServerTold: boolean;
}

/** How often the key server may be quicker. */
const ATTEMPTS = 5;

/**
 * Signs in a workspace, and brings what was signed to the target and the key server that its configuration names.
 *
 * @throws UsageError, PublishError, PublicationError, StorageError
 */
export async function confirmFromWorkspace(
  run: Omit<TimestampRun, 'from'>,
  flags: { readonly config?: string; readonly tokenFile?: string },
): Promise<Confirmed> {
  const places = await locatePlaces(undefined, flags);
  try {
    return {
      signed: await signAndBring(run, places),
      target: places.target?.name,
      keyServerTold: places.token !== undefined,
    };
  } finally {
    places.target?.close();
  }
}

async function signAndBring(run: Omit<TimestampRun, 'from'>, places: PublicationPlaces): Promise<SignedTimestamp> {
  const { configurationFile, configuration, out, target, token } = places;
  const keyServer = token === undefined ? undefined : { origin: configuration.keyServer, token };
  const to: TimestampPlaces = { out, target, keyServer, now: nowInSeconds() };
  for (let attempt = 1; ; attempt++) {
    if (target || keyServer) await adoptTimestamp(to);
    const signed = await runTimestamp({ ...run, from: { configurationFile } });
    try {
      await bringTimestamp(to);
      return signed;
    } catch (error) {
      const outrun =
        error instanceof PublishError && error.code === 'key-server-refused' && /metadata-rollback/.test(error.message);
      if (!outrun || attempt >= ATTEMPTS) throw error;
    }
  }
}
