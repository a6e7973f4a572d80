/**
 * Whether what is signed here would come from the future: no reader takes it (P8), and what is signed after it has to be later still. So the clock
 * is compared with those of others before anything is signed, and what was signed before it is shown. A bucket that lies keeps nothing from being
 * published there that it could not refuse to take anyway. A key server that lies is not there: so what is urgent only warns, and what is not can
 * be done without its token.
 */

import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { isoTime } from '../../core/publication/verify-roles.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { request } from '../../node-support/undici.ts';
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
  /** Gives up what is waited for. */
  readonly signal?: AbortSignal | undefined;
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
    hint: `set the clock of this machine, and let it set itself from now on: what it signs now, readers would refuse; if it is right, theirs is wrong: tell whoever runs that server${withoutIt(other)}`,
  });
}

/** For what is not put off by a key server's word. @returns what is to be said, if its clock says that this one is far ahead */
export async function clockDoubt(
  now: number,
  { keyServer, signal }: Omit<Clocks, 'target'>,
): Promise<string | undefined> {
  const other = keyServer && (await clockOfServer(keyServer.origin, signal));
  if (other === undefined || !isFarBehind(other, now)) return undefined;
  return `this machine's clock says ${isoTime(now)}, and that of ${describe(other)}; what is urgent is signed all the same. If it is this clock that is ahead, readers refuse what it signs: set it, then "wispr keys rotate timestamp" and "wispr publish"`;
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
  throw new PublishError('clock-ahead', message, { hint: `${SIGNED_IN_FUTURE}${withoutIt(other)}` });
}

/** Where nobody can be asked: that what readers have has ended by this clock may as well be the clock's fault. */
export function doubtOf(now: number, there: TimestampMetadata, { name }: Target): string | undefined {
  if (now <= there.expires) return undefined;
  return `this machine's clock says ${isoTime(now)}, and by that readers have had no publication at ${name} since ${isoTime(there.expires)}; if they have had one, this clock is ahead, and what it signs they refuse: set it, then "wispr keys rotate timestamp" and "wispr publish"`;
}

/** What a key server cannot keep from being done elsewhere. */
function withoutIt({ isKeyServer }: OtherClock): string {
  if (!isKeyServer) return '';
  return '; until it is right, this is done without it: leave out its token ("keyServerTokenFile" in wispr.json, --token-file), and "wispr publish" takes --keys-handed-over where sets have new keys, which it has to be given by "wispr admin import" then';
}

interface OtherClock {
  /** How messages name it. */
  readonly name: string;
  readonly isKeyServer?: boolean;
  /** Seconds since 1970. */
  readonly time: number;
}

async function othersOf({ keyServer, target, signal }: Clocks): Promise<OtherClock[]> {
  const clocks = await Promise.all([
    keyServer && clockOfServer(keyServer.origin, signal),
    target && clockOfTarget(target),
  ]);
  return clocks.filter((clock) => clock !== undefined);
}

function isFarBehind(clock: OtherClock, time: number): boolean {
  return time > clock.time + PUBLICATION_LIMITS.clockTolerance;
}

/** An answer that a cache has kept is as much later as that. */
async function clockOfServer(origin: string, given?: AbortSignal): Promise<OtherClock | undefined> {
  const ask = async (signal: AbortSignal) => {
    const answer = await request(origin + TIMESTAMP_PATH, { method: 'HEAD', signal });
    await answer.body.dump();
    return answer.headers;
  };
  try {
    const headers = await withinTime(PATIENCE, ask, given);
    const time = Date.parse(String(headers.date)) / 1000 + (Number(headers.age ?? 0) || 0);
    return Number.isFinite(time) ? { name: `the key server ${origin}`, isKeyServer: true, time } : undefined;
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
