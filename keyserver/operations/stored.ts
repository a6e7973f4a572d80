/** The checks that need the key server's database: its tokens, its backups, and what is known there of the publication. */
import { utcMinute } from '../../node-support/clock.ts';
import { type Check, ok, problem, untilEnd, warning } from '../../node-support/doctor/diagnosis.ts';
import { clockCheck, timeOf } from '../../node-support/doctor/network.ts';
import { shownChecks } from '../../node-support/doctor/shown.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { listTokens } from '../publication/tokens.ts';
import type { KeyServerState } from '../storage/state.ts';
import { findVainOffers } from '../subscriptions/named-plans.ts';
import { describePublication } from './overview.ts';
import { contentTargets, placesThatShow } from './shown-places.ts';
import { lastBackup } from './stored-facts.ts';

const DAY = 86_400;
/** Days before the end of a token: its holder has to be given a new one. */
const HANDED_ON = 30;
/** Days after which a daily backup is late. */
const LATE = 2;
const BACKUP = '`wispr admin backup FILE` each day; docs/operations.md#every-day';
const PUBLISH = 'the publisher runs `wispr publish`; a cache may be a minute behind';

export async function storedChecks(state: KeyServerState, config: KeyServerConfig): Promise<Check[]> {
  const content = await contentTargets(state, config);
  return [
    ...(content.length > 0 ? [clockCheck(content.map(({ origin }) => timeOf(origin)))] : []),
    ...(await tokenChecks(state)),
    // PostgreSQL is backed up by its own programs, which leave no trace in it.
    ...(config.database === undefined ? [backupCheck(state)] : []),
    ...(await pushChecks(state)),
    ...(await offerChecks(state, config)),
    ...shownChecks(await placesThatShow(state, config, content), state.now(), PUBLISH),
  ];
}

async function tokenChecks(state: KeyServerState): Promise<Check[]> {
  return (await listTokens(state)).map(({ name, scope, expires }) => {
    const remedy = `\`wispr admin token --name NAME --for ${scope}\` makes another one; give it to its holder, then \`--revoke ${name}\``;
    return { check: `token ${name}`, remedy, run: async () => untilEnd(expires, state.now(), HANDED_ON, remedy) };
  });
}

async function offerChecks(state: KeyServerState, config: KeyServerConfig): Promise<Check[]> {
  return (await findVainOffers(config, state)).map(({ plan, says, todo }) => {
    const remedy = `${todo} in keyserver.json, or take the offer out of wispr.json`;
    return { check: `plan ${plan}`, remedy, run: async () => problem(says, remedy) };
  });
}

function backupCheck({ database, now }: KeyServerState): Check {
  return {
    check: 'backup',
    remedy: BACKUP,
    run: async () => {
      const time = await lastBackup(database);
      if (time === undefined) return warning('none was made yet', BACKUP);
      const days = Math.floor((now() - time) / DAY);
      const says = `the last one was made ${days === 0 ? 'today' : `${days} ${days === 1 ? 'day' : 'days'} ago`}`;
      return days >= LATE ? warning(says, BACKUP) : ok(says);
    },
  };
}

/** Tells whether the last push reached its target. Pushes are so frequent that nothing has to be written here. */
async function pushChecks(state: KeyServerState): Promise<Check[]> {
  const remedy = 'the log of the key server has the code; docs/generated/errors.md says what to do';
  const pushes = (await describePublication(state))?.pushes ?? [];
  return pushes.map(({ target, succeeded, failed }) => ({
    check: `push to ${target}`,
    remedy,
    run: async () => {
      if (failed !== null && failed >= (succeeded ?? 0)) return problem(`failed at ${utcMinute(failed)}`, remedy);
      return ok(succeeded === null ? 'none yet' : `succeeded at ${utcMinute(succeeded)}`);
    },
  }));
}
