/**
 * Source of the files of the publication: this origin has those of the key server, where there is one. A browser that comes for the first time
 * gets all that is small in one file from there, the bundle: docs/spec/web-reader.md, "The first visit".
 */
import { fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { FIRST_ROOT_FILE, METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { HostedSource } from '../../reading/hosted-source.ts';
import { READING_TIMES } from '../../reading/times.ts';
import { fetchSmall } from '../fetching.ts';
import { scope } from './scope.ts';

/** Paths of this origin with the files of the key server, and with all of them in one, whose longest length is in bytes. */
const OWN_PATH = '/-/publication/';
const BUNDLE = 'current';
const BUNDLE_LENGTH = 1_048_576;

const FIRST_ROOT = METADATA_PATH + FIRST_ROOT_FILE;
const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;

/** Files by URL path. */
type Files = ReadonlyMap<string, Uint8Array>;

/** @param hosts - origins of the content hosts, as they are known now */
export function createSource(hosts: () => Promise<readonly string[]>): HostedSource {
  const { location, wisprSite } = scope;
  const hasKeyServer = wisprSite.reading !== undefined;
  let bundle: Promise<Files> = Promise.resolve(new Map());
  /** Tells whether the bundle's timestamp has not been used yet: until then it also says which roots there are. */
  let isFirstCheck = false;
  return new HostedSource({
    hosts,
    fetch: (origin, file) =>
      fetchSmall({ ...file, origin, cache: file.newest || file.path === TIMESTAMP ? 'no-cache' : 'default' }),
    own: async (path) => {
      const isFirstRoot = path === FIRST_ROOT;
      if (isFirstRoot && hasKeyServer) bundle = fetchBundle().catch(() => new Map());
      const files = await bundle;
      isFirstCheck = files.size > 0 && (isFirstCheck || isFirstRoot);
      return files.get(path) ?? (isFirstCheck && !isFirstRoot && path.endsWith('.root.json') ? null : undefined);
    },
    keyServer: hasKeyServer
      ? async (file) => {
          const first = isFirstCheck && file.path === TIMESTAMP ? (await bundle).get(TIMESTAMP) : undefined;
          isFirstCheck = false;
          const path = OWN_PATH + file.path.slice(METADATA_PATH.length);
          return first ?? fetchSmall({ ...file, path, origin: location.origin, cache: 'no-cache' });
        }
      : undefined,
    times: READING_TIMES,
  });
}

/** Texts by URL path, as JSON. */
async function fetchBundle(): Promise<Files> {
  const bounds = {
    maximumLength: BUNDLE_LENGTH,
    milliseconds: READING_TIMES.timestampTimeout,
    cache: 'no-cache',
  } as const;
  const bytes = await fetchSmall({ origin: scope.location.origin, path: OWN_PATH + BUNDLE, ...bounds });
  const files = JSON.parse(fromUtf8(bytes ?? new Uint8Array()) ?? '{}') as Readonly<Record<string, unknown>>;
  return new Map(Object.entries(files).map(([path, text]) => [path, utf8(String(text))]));
}
