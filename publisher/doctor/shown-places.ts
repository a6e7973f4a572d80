/** Places where readers find the publication of a workspace: targets, content hosts, the key server. */
import { resolve } from 'node:path';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import type { PublicationLocation, VisiblePublication } from '../../node-support/doctor/shown.ts';
import { nameOfTarget } from '../../node-support/storage/open.ts';
import { PublishError } from '../errors.ts';
import { fileOfRole } from '../publication/roles.ts';
import { openShown } from '../publication/signed.ts';
import { type PublicationSource, sourceAtTarget, sourceInDirectory, startOf } from '../publication/sources.ts';
import { type Configuration, hasKeyServer, originsOf } from '../workspace/configuration/schema.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { namedTargets, withTarget } from './targets.ts';

/** Lists the places that are to show the publication of this workspace, and no other publisher's. @returns `undefined` where `out` has no root to know it by */
export async function placesThatShow(
  configuration: Configuration,
  { directory }: Pick<Workspace, 'directory'>,
): Promise<PublicationLocation[] | undefined> {
  const { keyServer, timestampBy, out } = configuration;
  const first = await sourceInDirectory(resolve(directory, out)).read(
    fileOfRole('root', 1),
    PUBLICATION_LIMITS.rootLength,
  );
  if (first === undefined) return undefined;
  const rootId = await rootIdOf(first);
  const serves = hasKeyServer(configuration) && timestampBy === 'keyserver';
  const origins = new Set([...originsOf(configuration), ...(serves ? [keyServer] : [])]);
  return [
    ...namedTargets(configuration).map((text) => ({
      name: nameOfTarget(text),
      read: (signal: AbortSignal) =>
        withTarget(text, directory, signal, (target) => shownAt(sourceAtTarget(target), target.name, rootId)),
    })),
    ...Array.from(origins, (name) => ({
      name,
      read: (signal: AbortSignal) => shownAt(placeAtOrigin(name, signal), name, rootId),
    })),
  ];
}

async function shownAt(place: PublicationSource, name: string, rootId: KeyId): Promise<VisiblePublication> {
  const { snapshot, timestamp } = await openShown(place, name, rootId);
  return { version: snapshot.file.version, expires: timestamp.expires };
}

/** Reads from an origin, where anything but success is no file, unless the server itself has failed. */
function placeAtOrigin(origin: string, signal: AbortSignal): PublicationSource {
  return {
    read: async (path, maximum) => {
      const { ok, status, body } = await fetch(origin + path, { redirect: 'manual', signal });
      if (ok && body) return startOf(body, maximum + 1);
      await body?.cancel();
      if (status >= 500) throw new PublishError('unreadable', `${origin} answers ${status}`);
      return undefined;
    },
  };
}
