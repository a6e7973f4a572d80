/** Checks of `wispr doctor` where a site is published. It needs no passphrase. */
import { resolve } from 'node:path';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type Check, type Diagnosis, diagnose, untilEnd, warning } from '../../node-support/doctor/diagnosis.ts';
import { diskChecks } from '../../node-support/doctor/machine.ts';
import {
  certificateChecks,
  clockCheck,
  nameChecks,
  readinessCheck,
  timeOf,
} from '../../node-support/doctor/network.ts';
import { type PublicationLocation, shownChecks, type VisiblePublication } from '../../node-support/doctor/shown.ts';
import { isBucket, nameOfTarget } from '../../node-support/storage/open.ts';
import { fetchPublishing, readToken } from '../authority/key-server.ts';
import { PublishError } from '../errors.ts';
import { fileOfRole } from '../publication/roles.ts';
import { openShown } from '../publication/signed.ts';
import { type PublicationSource, sourceAtTarget, sourceInDirectory, startOf } from '../publication/sources.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';
import { type Configuration, hasKeyServer, originsOf } from '../workspace/configuration/schema.ts';
import { type Workspace, workspaceOf } from '../workspace/workspace.ts';
import { namedTargets, targetCheck, timeOfTarget, withTarget } from './targets.ts';

/** Days before the end of a token: someone has to be asked for a new one. */
const ASKED_FOR = 30;
const NEW_TOKEN = 'the operator makes a new one with `wispr admin token`';
const LOOK_FIRST = 'its operator finds the reason in its log; docs/operations.md#look-first';
const PUBLISH = '`wispr publish` brings it there; a cache may be a minute behind';

/** Warning in place of a comparison: without a root of its own, any publisher's would be taken for this one. */
const UNPUBLISHED: Check = {
  check: 'publication',
  remedy: '',
  run: async () => warning('there is none here yet: nothing to compare places with', 'run `wispr publish`'),
};

/** Examines all that the workspace of `configurationFile` depends on. @throws PublishError `configuration-invalid` */
export async function examineSite(configurationFile: string): Promise<Diagnosis[]> {
  const configuration = await readConfiguration(configurationFile);
  const { site, out, reading, keyServerTokenFile } = configuration;
  const workspace = workspaceOf(configurationFile);
  const { directory } = workspace;
  const from = (path: string) => resolve(directory, path);
  const targets = namedTargets(configuration);
  const places = await placesThatShow(configuration, workspace);
  const keyServer = hasKeyServer(configuration) ? configuration.keyServer : undefined;
  const servers = keyServer === undefined ? originsOf(configuration) : [keyServer, ...originsOf(configuration)];
  return diagnose([
    clockCheck([...servers.map(timeOf), ...targets.map((target) => timeOfTarget(target, directory))]),
    ...(await diskChecks([directory, from(out), ...targets.filter((target) => !isBucket(target)).map(from)])),
    ...nameChecks([`https://${site}`, ...servers, reading]),
    ...certificateChecks([...servers, reading]),
    ...(keyServer === undefined ? [] : [readinessCheck(keyServer, LOOK_FIRST)]),
    ...(keyServer === undefined || keyServerTokenFile === undefined
      ? []
      : [tokenCheck(keyServer, from(keyServerTokenFile))]),
    ...targets.map((target) => targetCheck(target, directory)),
    ...(places ? shownChecks(places, nowInSeconds(), PUBLISH) : [UNPUBLISHED]),
  ]);
}

function tokenCheck(origin: string, file: string): Check {
  return {
    check: 'token',
    remedy: NEW_TOKEN,
    run: async (signal) => {
      const { expires } = await fetchPublishing({ origin, token: await readToken(file), signal });
      return untilEnd(expires, nowInSeconds(), ASKED_FOR, NEW_TOKEN);
    },
  };
}

/** Lists the places that are to show this workspace's publication, and no other publisher's. @returns `undefined` where `out` has no root */
async function placesThatShow(
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
