/**
 * Whether what is signed here would come from the future: no reader takes it (P8), and what is signed after it has to be later still. So the clock
 * is compared with those of others before anything is signed, and what was signed before it is shown. A server that lies keeps nothing from
 * being published there that it could not refuse to take anyway.
 */
import { request } from 'undici';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { isoTime } from '../../core/publication/verify-roles.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { withinTime } from '../../node-support/within-time.ts';
import { PublishError } from '../errors.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { SIGNED_IN_FUTURE } from '../timestamp/future.ts';
import type { KeyServerAccess } from './key-server.ts';
import { TIMESTAMP_PATH } from './overtaken.ts';

/** Those who can be asked for the time. */
export interface Clocks {
  readonly keyServer?: Pick<KeyServerAccess, 'origin'> | undefined;
  readonly target?: Target | undefined;
}

/** Milliseconds. Whoever does not answer has no say in this. */
const PATIENCE = 10_000;

/**
 * Makes sure that this machine's clock is not far ahead, as far as others can tell.
 *
 * @param now - what it says: seconds since 1970
 * @throws PublishError `clock-ahead`
 */
export async function checkClock(now: number, clocks: Clocks): Promise<void> {
  const other = (await othersOf(clocks)).find((clock) => isFarBehind(clock, now));
  if (other === undefined) return;
  throw new PublishError('clock-ahead', `this machine's clock says ${isoTime(now)}, and that of ${describe(other)}`, {
    hint: 'set the clock of this machine, and let it set itself from now on: what it signs now, readers would refuse; if it is right, theirs is wrong: tell whoever runs that server',
  });
}

/**
 * Makes sure that what is to be shown was not signed in the future.
 *
 * @returns whether anybody could be asked
 * @throws PublishError `clock-ahead`
 */
export async function checkSignedByNow({ state }: OpenedPublication, clocks: Clocks): Promise<boolean> {
  const { version } = state.timestamp;
  const others = await othersOf(clocks);
  const other = others.find((clock) => isFarBehind(clock, version));
  if (other === undefined) return others.length > 0;
  const message = `this publication was signed at ${isoTime(version)}, and the clock of ${describe(other)}`;
  throw new PublishError('clock-ahead', message, { hint: SIGNED_IN_FUTURE });
}

/** Where nobody can be asked: that what readers have has ended by this clock may as well be the clock's fault. */
export function doubtOf(now: number, there: TimestampMetadata, { name }: Target): string | undefined {
  if (now <= there.expires) return undefined;
  return `this machine's clock says ${isoTime(now)}, and by that readers have had no publication at ${name} since ${isoTime(there.expires)}; if they have had one, this clock is ahead, and what it signs they refuse: set it, then "wispr keys rotate timestamp" and "wispr publish"`;
}

interface OtherClock {
  /** How messages name it. */
  readonly name: string;
  /** Seconds since 1970. */
  readonly time: number;
}

async function othersOf({ keyServer, target }: Clocks): Promise<OtherClock[]> {
  const clocks = await Promise.all([keyServer && clockOfServer(keyServer.origin), target && clockOfTarget(target)]);
  return clocks.filter((clock) => clock !== undefined);
}

function isFarBehind(clock: OtherClock, time: number): boolean {
  return time > clock.time + PUBLICATION_LIMITS.clockTolerance;
}

/** An answer that a cache has kept is as much later as that. */
async function clockOfServer(origin: string): Promise<OtherClock | undefined> {
  try {
    const headers = await withinTime(PATIENCE, async (signal) => {
      const answer = await request(origin + TIMESTAMP_PATH, { method: 'HEAD', signal });
      await answer.body.dump();
      return answer.headers;
    });
    const time = Date.parse(String(headers.date)) / 1000 + (Number(headers.age ?? 0) || 0);
    return Number.isFinite(time) ? { name: `the key server ${origin}`, time } : undefined;
  } catch {
    return undefined; // whoever needs it says so
  }
}

/** By its last answer. */
async function clockOfTarget(target: Target): Promise<OtherClock | undefined> {
  if (!target.time) return undefined;
  try {
    await target.head(TIMESTAMP_PATH);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
  const time = target.time();
  return time === undefined ? undefined : { name: target.name, time };
}

function describe({ name, time }: OtherClock): string {
  return `${name} says ${isoTime(Math.trunc(time))}`;
}
