/** What a key server learns of withdrawals: from whom, for how long it counts, and what it says meanwhile. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeHandOver } from '../../core/publication/hand-over.ts';
import { TimestampKeeper } from '../../keyserver/timestamp/keeper.ts';
import { PushTarget } from '../../keyserver/timestamp/push-target.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { HOUR, PublicationRig, putTimestamp, TIMESTAMP_PATH, timestampAt } from '../support/publication-rig.ts';
import { saidBy } from '../support/target-timestamp.ts';

let the: PublicationRig;
let A: string;
let B: string;
beforeEach(async () => {
  [A, B] = [temporaryFolder(), temporaryFolder()];
  the = await PublicationRig.start({ publication: { resignMinutes: 60, freshHours: 720, push: [A, B] } });
  await the.publish({ publication: 7 });
  the.rig.passTime(HOUR);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await the.close();
  for (const folder of [A, B]) rmSync(folder, { recursive: true });
});
const { read } = PushTarget.prototype;
const said = (bytes: Uint8Array) => Object.values(saidBy(bytes));
const served = async () => said(await the.served());
const version = (bytes: Uint8Array) => the.read(bytes).version;
const run = () => the.rig.server.keeper.attempt();
const nextRun = () => {
  the.rig.passTime(HOUR);
  return run();
};

describe('above the publication that was handed over', () => {
  it('what one that was adopted withdraws is said again, and so is what was withdrawn before', async () => {
    await the.showAt(A, 20, { publication: 10, withdrawn: [8, 9] });
    expect(await run()).toBe('signed');
    expect([await served(), said(timestampAt(A))]).toEqual([
      [10, [8, 9]],
      [10, [8, 9]],
    ]);
    await the.showAt(A, -10, { publication: 11 });
    expect(await run()).toBe('signed');
    expect(await served()).toEqual([11, [8, 9]]);
  });

  it('the very one that was withdrawn is not adopted from another host, while the first one is silent', async () => {
    await the.showAt(A, 10, { publication: 9, withdrawn: [9] });
    expect(await run()).toBe('signed');
    the.rig.passTime(600);
    await the.showAt(B, 0, { publication: 9 });
    vi.spyOn(PushTarget.prototype, 'read').mockImplementation(async function (this: PushTarget) {
      if (this.name === A) throw new Error('down');
      return read.call(this);
    });
    expect(await run()).toBe('signed');
    expect(await served()).toEqual([7, []]);
  });

  it('the very one that was withdrawn is not taken from the publisher either, as good', async () => {
    await the.showAt(A, 10, { publication: 8 });
    expect(await nextRun()).toBe('signed');
    const good = timestampAt(A);
    await the.showAt(A, 10, { publication: 8, withdrawn: [8] });
    expect(await nextRun()).toBe('withdrawn');
    putTimestamp(A, good);
    rmSync(join(B, TIMESTAMP_PATH));
    the.rig.passTime(10);
    const { status, body } = await the.handOver(the.timestamp({ publication: 8 }));
    expect([status, body]).toEqual([409, { error: 'metadata-rollback' }]);
    await the.publish({ publication: 9 });
    expect(await nextRun()).toBe('signed');
    expect(await served()).toEqual([9, [8]]);
  });

  it('numbers that one withdraws keep no publication of theirs from being handed over', async () => {
    await the.showAt(A, 10, { publication: 8 });
    expect(await run()).toBe('signed');
    the.rig.passTime(10);
    await the.showAt(A, 0, { publication: 12, withdrawn: [8, 9, 10, 12], isMadeUp: true });
    expect(await run()).toBe('withdrawn'); // 8 was not handed over
    rmSync(join(A, TIMESTAMP_PATH));
    the.rig.passTime(10);
    await the.publish({ publication: 12 });
    expect(await nextRun()).toBe('signed');
    expect(await served()).toEqual([12, []]);
  });
});

describe('where nothing can be signed', () => {
  it('readers are sent to the hosts, where the timestamp here does not say what is known', async () => {
    await the.importTimestampKey(undefined);
    await the.showAt(A, 2 * HOUR, { publication: 9, withdrawn: [7] });
    expect(await nextRun()).toBe('withdrawn');
    expect((await fetch(the.rig.server.url + TIMESTAMP_PATH)).status).toBe(404);
    await the.publish({ publication: 10 });
    expect(await served()).toEqual([10, []]);
  });
});

describe('attack 69: a key server whose clock is slow', () => {
  it('takes no withdrawal, and confirms what was withdrawn no more', async () => {
    const withdrawal = the.timestamp({ publication: 7, signed: the.now() + 86_400, withdrawn: [7] });
    expect((await the.handOver(withdrawal)).body).toEqual({ error: 'clock-behind' });
    expect(await nextRun()).toBe('withdrawn');
    expect(await served()).toEqual([7, [7]]);
  });

  it('nor what a host says is', async () => {
    putTimestamp(A, the.timestamp({ publication: 7, signed: the.now() + 86_400, withdrawn: [7] }));
    expect(await run()).toBe('withdrawn');
    expect(await served()).toEqual([7, [7]]);
    expect(version(await the.served())).toBeLessThan(the.now() + 300);
  });

  it('and one whose clock was fast signs nothing that comes from the future', async () => {
    await the.publish({ publication: 7, withdrawn: [7] });
    const right = the.now();
    the.rig.passTime(86_400);
    await the.showAt(A, 0, { publication: 7 }); // it has to be outrun
    await the.importTimestampKey(undefined);
    expect(await run()).toBe('withdrawn');
    await the.importTimestampKey(the.rig.publisher.root.timestampSeed, 3);
    the.rig.passTime(right - the.now());
    expect(await run()).toBe('failed');
    expect(the.rig.log()).toContain('clock-back');
  });
});

describe('beside a run', () => {
  it('what says so at a host, and names a higher publication, is signed at once after a hand-over', async () => {
    await the.rig.server.keeper.stop();
    const keeper = new TimestampKeeper({
      ...{ state: the.rig.server.state, log: pino({ level: 'silent' }), resignMinutes: 60, freshHours: 48 },
      targets: [await PushTarget.open(A)],
    });
    await the.showAt(A, HOUR + 10, { publication: 9, withdrawn: [7] });
    await keeper.accept(encodeHandOver({ timestamp: the.timestamp({ publication: 7 }), roots: [], expiries: [] }));
    await keeper.idle();
    await keeper.stop();
    expect(await served()).toEqual([7, [7]]);
  });

  it('what is put at a host before our timestamp gets there is signed above both', async () => {
    const withdrawal = the.timestamp({ publication: 7, signed: the.now() - 5, withdrawn: [7] });
    expect(await run()).toBe('signed');
    const before = version(await the.served());
    let looks = 0;
    vi.spyOn(PushTarget.prototype, 'read').mockImplementation(async function (this: PushTarget) {
      const found = await read.call(this);
      if (++looks === 2) putTimestamp(A, withdrawal);
      return found;
    });
    await nextRun();
    expect(await served()).toEqual([7, [7]]);
    expect(version(await the.served())).toBeGreaterThan(before);
    expect(timestampAt(B)).toEqual(await the.served());
  });

  it('a good one is signed above a stranger that readers may have seen', async () => {
    await the.publish({ publication: 7, withdrawn: [7] });
    await the.showAt(A, -200, { publication: 7 });
    const stranger = version(timestampAt(A));
    await the.importTimestampKey(undefined);
    expect(await run()).toBe('withdrawn');
    await the.importTimestampKey(the.rig.publisher.root.timestampSeed, 3);
    the.rig.passTime(10);
    await the.publish({ publication: 8 });
    expect(await served()).toEqual([8, [7]]);
    expect(version(await the.served())).toBeGreaterThan(stranger);
  });
});

it('what says that it is withdrawn is fresh for longer than anything that was signed before', async () => {
  await the.publish({ publication: 7, expires: the.now() + 700 * HOUR });
  const good = the.read(await the.served());
  the.rig.passTime(10);
  await the.publish({ publication: 7, expires: the.now() + 48 * HOUR, withdrawn: [7] });
  for (let hours = 0; hours < 60; hours++) expect(await nextRun()).toBe('withdrawn');
  expect(good.expires).toBeGreaterThan(the.now());
  expect(the.read(await the.served()).expires).toBeGreaterThan(the.now());
});
