/** A key server, and withdrawals that it was not handed over, or others do not know of: nothing that was signed brings back what is withdrawn. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { randomBytes } from '#primitives';
import { encodeHandOver } from '../../core/publication/hand-over-1.ts';
import { overview } from '../../keyserver/overview.ts';
import { acceptHandOver } from '../../keyserver/timestamp/accept.ts';
import { adoptTimestamp } from '../../keyserver/timestamp/adopt.ts';
import { PushTarget } from '../../keyserver/timestamp/push-target.ts';
import { signAgain } from '../../keyserver/timestamp/sign.ts';
import type { TimestampWish } from '../support/first-root.ts';
import { HOUR, PublicationRig, putTimestamp, TIMESTAMP_PATH, timestampAt } from '../support/publication-rig.ts';
import { saidBy } from '../support/target-timestamp.ts';

let the: PublicationRig;
let A: string;
let B: string;
beforeEach(async () => {
  ({ the, A, B } = await PublicationRig.startWithTwoHosts());
});
afterEach(async () => {
  vi.restoreAllMocks();
  await the.close();
});

const show = (host: string, ago: number, wish: TimestampWish) => the.showAt(host, ago, wish);
/** As it was signed: readers pass over what is still to come. */
const said = (bytes: Uint8Array) => {
  the.read(bytes);
  const { publication, withdrawn } = saidBy(bytes);
  return [publication, withdrawn];
};
const at = (host: string) => said(timestampAt(host));
const everywhere = async () => [at(A), at(B), said(await the.served())];
const inAll = (what: unknown) => [what, what, what];
const nextRun = async () => {
  the.rig.passTime(HOUR);
  return the.rig.server.keeper.attempt();
};
const ENDED = [7, [7]];

it('a hand-over that leaves it out is refused', async () => {
  await the.publish({ publication: 7, withdrawn: [7] });
  the.rig.passTime(10);
  const { status, body } = await the.handOver(the.timestamp({ publication: 7, withdrawn: [3] }));
  expect([status, body]).toEqual([409, { error: 'metadata-rollback' }]);
  await the.publish({ publication: 7, withdrawn: [3, 7] });
  expect(await everywhere()).toEqual(inAll([7, [3, 7]]));
});

it('a newer one at a host that leaves it out is outrun, once', async () => {
  await the.publish({ publication: 7, withdrawn: [7] });
  the.rig.passTime(HOUR);
  await show(A, -100, { publication: 7 }); // by a clock that is ahead, as far as that may be
  const { version } = the.read(timestampAt(A));
  expect(await the.rig.server.keeper.attempt()).toBe('withdrawn');
  expect(await everywhere()).toEqual(inAll(ENDED));
  const served = await the.served();
  expect(the.read(served).version).toBeGreaterThan(version);
  expect(await nextRun()).toBe('withdrawn');
  expect(await the.served()).toEqual(served);
});

it('one at a host that is older than what was signed since counts, and is signed anew', async () => {
  await show(A, 5, { publication: 7, withdrawn: [7] });
  const withdrawn = timestampAt(A);
  await show(A, HOUR, { publication: 7 });
  expect(await the.rig.server.keeper.attempt()).toBe('signed');
  const { version } = the.read(await the.served());
  putTimestamp(A, withdrawn);
  expect(await the.rig.server.keeper.attempt()).toBe('withdrawn');
  expect(the.read(await the.served()).version).toBeGreaterThan(version);
  expect(await everywhere()).toEqual(inAll(ENDED));
  expect(overview(the.rig.server.state).publication).toMatchObject({ version: 7, withdrawn: true });
});

it('one that comes to a host between the look and the push is not overwritten', async () => {
  const { read } = PushTarget.prototype;
  let looks = 0;
  vi.spyOn(PushTarget.prototype, 'read').mockImplementation(async function (this: PushTarget) {
    const found = await read.call(this);
    if (++looks === 2) await show(A, 0, { publication: 7, withdrawn: [7] });
    return found;
  });
  expect(await the.rig.server.keeper.attempt()).toBe('signed');
  expect([at(A), said(await the.served())]).toEqual([ENDED, ENDED]);
  expect(await nextRun()).toBe('withdrawn');
  expect(await everywhere()).toEqual(inAll(ENDED));
});

it('a hand-over by somebody who does not know of it does not overwrite it at the hosts', async () => {
  for (const host of [A, B]) await show(host, 10, { publication: 8, withdrawn: [8] });
  await the.publish({ publication: 8 });
  expect(await everywhere()).toEqual(inAll([8, [8]]));
});

/** Of two hosts that are looked at beside one another, in each run. */
const answerLast = (host: string) => {
  const { read } = PushTarget.prototype;
  let first = Promise.withResolvers<void>();
  vi.spyOn(PushTarget.prototype, 'read').mockImplementation(async function (this: PushTarget) {
    if (this.name === host) await first.promise;
    const found = await read.call(this);
    if (this.name === host) first = Promise.withResolvers();
    else setImmediate(() => first.resolve());
    return found;
  });
};

it('that of a higher publication at one host leaves the good one here, and what another host shows as good', async () => {
  answerLast(B);
  await show(A, 10, { publication: 9, withdrawn: [9] });
  await show(B, 30, { publication: 9 });
  for (let run = 0; run < 3; run++) {
    expect(await nextRun()).toBe('signed');
    expect(await everywhere()).toEqual([
      [9, [9]],
      [9, []],
      [7, []],
    ]);
  }
  expect(the.rig.log()).toContain('publication-withdrawn: a higher publication lies there, which is withdrawn');
  expect(the.rig.log()).not.toContain('metadata-rollback');
  the.rig.passTime(10);
  await the.publish({ publication: 10, withdrawn: [9] });
  expect(await everywhere()).toEqual(inAll([10, [9]]));
});

it('where the other host was quicker, all are told', async () => {
  answerLast(A);
  await show(A, 10, { publication: 9, withdrawn: [9] });
  await show(B, 30, { publication: 9 });
  for (let run = 0; run < 3; run++) {
    expect(await nextRun()).toBe('withdrawn');
    expect(await everywhere()).toEqual(inAll([9, [9]]));
  }
});

it('a higher publication that withdraws itself and the one here is taken', async () => {
  await show(A, 10, { publication: 9, withdrawn: [9] });
  expect(await nextRun()).toBe('signed');
  await show(A, 10, { publication: 9, withdrawn: [7, 9] });
  expect(await nextRun()).toBe('withdrawn');
  expect(said(await the.served())).toEqual([9, [7, 9]]);
});

it('one that was learned of at a host is not undone at another', async () => {
  await show(A, 10, { publication: 8 });
  expect(await nextRun()).toBe('signed');
  await show(A, 10, { publication: 8, withdrawn: [8] });
  expect(await nextRun()).toBe('withdrawn');
  await show(B, 10, { publication: 8 });
  expect(await nextRun()).toBe('withdrawn');
  expect(await everywhere()).toEqual(inAll([8, [8]]));
});

it('what somebody with the key withdraws that is still to come counts for nothing once that is handed over', async () => {
  await show(A, 10, { publication: 9, withdrawn: [9, 10, 11], isMadeUp: true });
  expect(await nextRun()).toBe('signed');
  expect(said(await the.served())).toEqual([7, []]);
  the.rig.passTime(10);
  await the.publish({ publication: 9, withdrawn: [3] });
  expect(await nextRun()).toBe('signed');
  expect(await everywhere()).toEqual(inAll([9, [3]]));
});

it('without the key, what a host says of it is passed on as it is', async () => {
  await the.importTimestampKey(undefined);
  the.rig.passTime(10);
  await show(A, 5, { publication: 7, withdrawn: [7] });
  const withdrawn = timestampAt(A);
  await the.publish({ publication: 7 });
  expect(await the.served()).toEqual(withdrawn);
  await show(B, -10, { publication: 7 });
  expect(await nextRun()).toBe('withdrawn');
  expect(await everywhere()).toEqual(inAll(ENDED));
});

describe('somebody with the key', () => {
  it('pushes nothing that is withdrawn out of mind, by numbers that are made up', async () => {
    await the.publish({ publication: 7, withdrawn: [7] });
    for (let turn = 0; turn < 17; turn++) {
      const first = 100_000 + 64 * turn;
      const withdrawn = Array.from({ length: 64 }, (_, index) => first + index);
      await show(A, 100 * HOUR, { publication: first + 64, withdrawn, isMadeUp: true });
      expect(await nextRun()).toBe('withdrawn');
    }
    expect((await the.handOver(the.timestamp({ publication: 7 }))).status).toBe(409);
  });

  it('ends no publication by another of its number, said before or after', async () => {
    await show(A, -250, { publication: 8, withdrawn: [8], isMadeUp: true });
    await the.rig.server.keeper.attempt();
    the.rig.passTime(10);
    await the.publish({ publication: 8 });
    await show(B, -260, { publication: 8, withdrawn: [8], isMadeUp: true });
    expect(await nextRun()).toBe('signed');
    expect(await everywhere()).toEqual(inAll([8, []]));
  });
});

it('one of the very version of what was signed here is signed above that, and so is the other way round', async () => {
  expect(await the.rig.server.keeper.attempt()).toBe('signed');
  const { version } = the.read(await the.served());
  await show(A, 0, { publication: 7, signed: version, withdrawn: [7] });
  expect(await the.rig.server.keeper.attempt()).toBe('withdrawn');
  const { version: above } = the.read(await the.served());
  expect(above).toBeGreaterThan(version);
  await show(A, 0, { publication: 7, signed: above });
  expect(await the.rig.server.keeper.attempt()).toBe('withdrawn');
  const served = the.read(await the.served());
  expect([served.version > above, served.withdrawn]).toEqual([true, [7]]);
  expect(await the.rig.server.keeper.attempt()).toBe('withdrawn');
  expect(the.read(await the.served()).version).toBe(served.version);
});

it('what is learned of, or handed over, while a timestamp is being signed is not lost', async () => {
  const { state } = the.rig.server;
  const withdrawal = the.timestamp({ publication: 7, signed: the.now() - 5, withdrawn: [7] });
  expect(await signAgain(state, 48 * HOUR)).toBe('signed');
  the.rig.passTime(10);
  const signing = signAgain(state, 48 * HOUR);
  expect(adoptTimestamp(state, withdrawal)).toBe(true);
  expect(await signing).toBe('overtaken');
  expect(await signAgain(state, 48 * HOUR)).toBe('withdrawn');
  expect(said(await the.served())).toEqual(ENDED);
});

describe('one that a higher publication says, which is too old to be taken,', () => {
  const tooOld = () => the.timestamp({ publication: 9, signed: the.now() - 2 * HOUR, withdrawn: [7] });

  it('is signed here, also where it comes while the good one is signed', async () => {
    const { state } = the.rig.server;
    const signing = signAgain(state, 48 * HOUR);
    expect(() => adoptTimestamp(state, tooOld())).toThrow('a higher publication lies there');
    expect(await signing).toBe('overtaken');
    expect(await nextRun()).toBe('withdrawn');
    expect(await everywhere()).toEqual(inAll(ENDED));
  });

  it('keeps what does not say so from every host, where nobody can sign', async () => {
    await the.importTimestampKey(undefined);
    expect(() => adoptTimestamp(the.rig.server.state, tooOld())).toThrow('a higher publication lies there');
    rmSync(join(B, TIMESTAMP_PATH));
    expect(await nextRun()).toBe('withdrawn');
    expect(existsSync(join(B, TIMESTAMP_PATH))).toBe(false);
  });
});

it('a hand-over that changes nothing does not end what is to be signed above a stranger', async () => {
  const withdrawal = await the.publish({ publication: 7, withdrawn: [7] });
  await show(B, -200, { publication: 7 });
  const stranger = the.now() + 200;
  const { state } = the.rig.server;
  expect(adoptTimestamp(state, timestampAt(B))).toBe(false);
  putTimestamp(B, withdrawal); // nobody can see the stranger any more but who has
  acceptHandOver(state, encodeHandOver({ timestamp: withdrawal, roots: [], expiries: [] }));
  expect(await the.rig.server.keeper.attempt()).toBe('withdrawn');
  expect(await everywhere()).toEqual(inAll(ENDED));
  expect(the.read(await the.served()).version).toBeGreaterThan(stranger);
});

it('after a hand-over, an older one at a host is signed anew at once', async () => {
  await show(A, HOUR, { publication: 7, withdrawn: [7] });
  const good = await the.publish({ publication: 7 });
  expect(await everywhere()).toEqual(inAll(ENDED));
  expect(the.read(await the.served()).version).toBeGreaterThan(the.read(good).version);
});

it('where nothing can be signed, what a host says of it goes to the others as it is, and is said in the log', async () => {
  await the.importTimestampKey(randomBytes(32)); // one that the root does not name
  await show(A, 2 * HOUR, { publication: 7, withdrawn: [7] });
  expect(await nextRun()).toBe('failed');
  expect(await everywhere()).toEqual(inAll(ENDED));
  expect(the.rig.log()).toMatch(/"publication":7,.*is withdrawn/);
  expect(overview(the.rig.server.state).publication).toMatchObject({ signed: the.read(await the.served()).version });
});

it('one that has expired is signed anew', async () => {
  await show(A, 0, { publication: 7, expires: the.now() + 10, withdrawn: [7] });
  expect(await nextRun()).toBe('withdrawn');
  expect(the.read(await the.served()).expires).toBeGreaterThan(the.now());
});
