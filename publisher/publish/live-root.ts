/**
 * The root under which what was published last is confirmed, or withdrawn. It is that of the time, as long as today's timestamp key is one of its
 * keys; else the first after it, under which the publication is still good: with a new timestamp key, nothing else is new.
 */
import { equalBytes } from '../../core/encoding/bytes.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { MetaFile, RootMetadata, SnapshotMetadata } from '../../core/publication/metadata.ts';
import type { FileFacts } from '../../core/publication/writer.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { readBounded } from '../publication/places.ts';
import { fileOfRole } from '../publication/roles.ts';
import { rootsOf, underAny } from '../publication/roots.ts';
import type { PublishedSnapshot } from '../published-places.ts';
import { noTimestampKey } from '../timestamp/sign-timestamp.ts';
import type { FilesByHash } from './files-by-hash.ts';
import { publishCommand } from './publish-command.ts';
import { filesUnder } from './published-here.ts';

export interface LivePlaces {
  readonly out: string;
  /** Left out where a key server alone has it. */
  readonly target?: Target | undefined;
  /** What was published from here last. Nothing else is believed: a host could show something older, and have it confirmed. */
  readonly last: PublishedSnapshot;
  /** Who is to sign; asked only where `out` has gone on. */
  readonly signer: () => Promise<RoleSigner>;
  /** Something is to be withdrawn. */
  readonly urgent: boolean;
  /** Seconds since 1970. */
  readonly now: number;
}

export interface ChosenRoot {
  readonly root: RootMetadata;
  /** The one under which it was published. */
  readonly rootThere: number;
  readonly signer: RoleSigner;
  /** What a timestamp says of the snapshot. */
  readonly facts: FileFacts;
  /** The snapshot, and the lists that it names, by their paths. */
  readonly files: ReadonlyMap<string, MetaFile>;
}

/**
 * @param publication - the one in `out`, which has the roots
 * @throws PublishError `target-behind` where it is to be had nowhere, or where readers know a root under which it is none any more, unless
 * `urgent`; `signer-unknown` where the keys of today sign nothing for it
 */
export async function chooseRoot(
  places: LivePlaces,
  publication: OpenedPublication,
  rootThere: number,
  files: FilesByHash,
): Promise<ChosenRoot> {
  const { last, urgent, target } = places;
  const snapshotPath = fileOfRole('snapshot', last.version);
  const bytes = await files.read(snapshotPath, { length: undefined, sha256: last.sha256 });
  if (bytes === undefined) throw gone(places);
  const facts = { version: last.version, length: bytes.length, sha256: last.sha256 };
  const signer = await places.signer();
  const roots = (await rootsOf(publication)).filter(({ version }) => version >= rootThere).reverse();
  const signed = roots.filter(({ roles }) => roles.timestamp.keyids.includes(signer.keyid));
  if (signed.length === 0) throw noTimestampKey(signer, places.out);
  const known = target ? await lastKnownRoot(target, publication, rootThere) : rootThere;
  const found = async (above: number) => {
    for (const root of signed.filter(({ version }) => version >= above)) {
      const found = await underAny([root], () => filesUnder(root, { bytes, facts, files }));
      if (found) return { root, rootThere, signer, facts, files: filesOf(found.snapshot, snapshotPath, facts) };
    }
    return undefined;
  };
  const best = await found(known);
  if (best) return best;
  const other = known > rootThere ? await found(rootThere) : undefined;
  if (other === undefined) throw replaced(places);
  if (!urgent) throw interrupted(places, known);
  return other;
}

/** Readers who have seen it go back to none before: of those that are here, the last that the target shows. */
async function lastKnownRoot(target: Target, { place, state }: OpenedPublication, rootThere: number): Promise<number> {
  let known = rootThere;
  try {
    while (known < state.root.version) {
      const path = fileOfRole('root', known + 1);
      const own = await place.read(path, PUBLICATION_LIMITS.rootLength);
      const there = own && (await readBounded(target, path, own.length));
      if (!there || !equalBytes(own, there)) break;
      known++;
    }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
  return known;
}

function filesOf({ roles }: SnapshotMetadata, snapshotPath: string, facts: FileFacts): ReadonlyMap<string, MetaFile> {
  const lists = [...roles].map(([role, file]): [string, MetaFile] => [fileOfRole(role, file.version), file]);
  return new Map([[snapshotPath, facts], ...lists]);
}

function gone({ last, out, target }: LivePlaces): PublishError {
  return new PublishError(
    'target-behind',
    `publication ${last.version}, which was published last, is neither in ${out} any more nor at ${target?.name ?? 'a target'}`,
    { hint: unfinishedFirst(target) },
  );
}

function replaced({ last, target }: LivePlaces): PublishError {
  return new PublishError(
    'signer-unknown',
    `the keys under which publication ${last.version} was published last have been replaced, and those of today sign nothing for it`,
    { hint: unfinishedFirst(target) },
  );
}

function interrupted({ last, target }: LivePlaces, known: number): PublishError {
  return new PublishError(
    'target-behind',
    `${target?.name} has root ${known} already, by which publication ${last.version} is none any more: an upload ended in the middle, and readers have nothing until it is finished`,
    { hint: `run "${publishCommand(target?.name)}": it finishes that` },
  );
}

function unfinishedFirst(target: Target | undefined): string {
  return `run "${publishCommand(target?.name)}", which publishes what is in "out" by now; then run the same command again`;
}
