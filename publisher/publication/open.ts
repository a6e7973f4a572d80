/** Opens a publication wherever it lies, as a reader does who begins anew, and says what is wrong with its freshness instead of giving up. */
import { PublicationClient, type TrustedState } from '../../core/publication/client.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PublicationError, type PublicationErrorCode } from '../../core/publication/errors.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { parseTimestamp } from '../../core/publication/metadata.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { inTurn } from '../../core/publication/sources.ts';
import { isoTime } from '../../core/publication/verify-roles.ts';
import { rootIdOf } from '../../core/publication/writer.ts';

/** Where the files of a publication lie: a directory, a target, a web host. */
export interface PublicationPlace {
  /**
   * A small file.
   *
   * @param path - with a leading slash, not percent-encoded
   * @returns `undefined` if there is none
   */
  read(path: string, maximumLength: number): Promise<Uint8Array | undefined>;
}

export interface OpenedPublication {
  readonly rootId: string;
  readonly state: TrustedState;
  readonly place: PublicationPlace;
  /** When it was opened, seconds since 1970. */
  readonly now: number;
  /** What has expired, or comes from the future. */
  readonly lateness: readonly PublicationError[];
}

/** What only the time is wrong with. */
const MATTERS_OF_TIME: readonly PublicationErrorCode[] = ['metadata-expired', 'publication-expired', 'clock-off'];

export interface OpenOptions {
  /** Whose publication it has to be; anybody's, if left out. */
  readonly rootId?: string;
  /** Seconds since 1970. */
  readonly now: number;
}

/** @throws PublicationError for all but matters of time; whatever `place` throws */
export async function openPublication(
  place: PublicationPlace,
  { rootId, now }: OpenOptions,
): Promise<OpenedPublication> {
  const metadata = (file: string, maximum: number) => place.read(METADATA_PATH + decodeURIComponent(file), maximum);
  const firstRoot = await metadata('1.root.json', PUBLICATION_LIMITS.rootLength);
  if (firstRoot === undefined) throw new PublicationError('metadata-missing', 'there is no 1.root.json');
  const foundId = await rootIdOf(firstRoot);
  if (rootId !== undefined && foundId !== rootId)
    throw new PublicationError('root-unexpected', `the first root is that of ${foundId}, not of ${rootId}`);
  const kept = new Map<string, Uint8Array>();
  const client = new PublicationClient({
    source: {
      metadata,
      timestamps: (maximum, isEnough) => inTurn([() => metadata(TIMESTAMP_FILE, maximum)], isEnough),
    },
    store: { read: async (name) => kept.get(name), write: async (name, bytes) => void kept.set(name, bytes) },
    firstRoot: async () => firstRoot,
    verify: verifyEd25519,
    strict: true,
    grace: 0,
  });
  const late = await refreshAnyway(client, now, () => metadata(TIMESTAMP_FILE, PUBLICATION_LIMITS.timestampLength));
  client.checkOpen();
  if (client.state === undefined) throw new PublicationError('metadata-missing', 'there is no publication');
  const lateness = [...late.filter(({ code }) => code !== 'metadata-expired'), ...expired(client.state, now)];
  return { rootId: foundId, state: client.state, place, now, lateness };
}

/** Where the time is the only trouble, as if it were the time when the timestamp was signed. */
async function refreshAnyway(
  client: PublicationClient,
  now: number,
  timestamp: () => Promise<Uint8Array | undefined>,
): Promise<PublicationError[]> {
  const late = await refreshAt(client, now);
  if (late === undefined) return [];
  // The time is only tried: whoever signed it is checked like everything else.
  const bytes = await timestamp();
  const { version } = parseTimestamp(openEnvelope(bytes ?? new Uint8Array(0), 'timestamp').signed());
  // What is wrong at that time too is not said: it is no clock's. Nothing is good at any time where the timestamp ends before it was signed.
  if (await refreshAt(client, version)) throw late;
  return [late];
}

/** @returns what is wrong with the time */
async function refreshAt(client: PublicationClient, now: number): Promise<PublicationError | undefined> {
  try {
    await client.refresh(now);
    return undefined;
  } catch (error) {
    if (!(error instanceof PublicationError && MATTERS_OF_TIME.includes(error.code))) throw error;
    return error;
  }
}

/** Everything else that has expired as well. */
function expired({ root, snapshot, targets }: TrustedState, now: number): PublicationError[] {
  const roles = { root, snapshot, targets };
  return Object.entries(roles).flatMap(([role, { expires }]) =>
    now <= expires
      ? []
      : [
          new PublicationError(
            'metadata-expired',
            `${role} expired on ${isoTime(expires)}; this machine's clock says ${isoTime(now)}`,
          ),
        ],
  );
}
