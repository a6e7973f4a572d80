/** Checks of `wispr doctor` where a site is published. It needs no passphrase. */
import { resolve } from 'node:path';
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
import { shownChecks } from '../../node-support/doctor/shown.ts';
import { isBucket } from '../../node-support/storage/open.ts';
import { fetchPublishing, readToken } from '../authority/key-server.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';
import { hasKeyServer, originsOf } from '../workspace/configuration/schema.ts';
import { workspaceOf } from '../workspace/workspace.ts';
import { placesThatShow } from './shown-places.ts';
import { namedTargets, targetCheck, timeOfTarget } from './targets.ts';

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
