/** What a key server learns of withdrawals: from whom, for how long it counts, and what it says meanwhile. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { adoptTimestamp } from '../../keyserver/timestamp/adopt.ts';
import { PushTarget } from '../../keyserver/timestamp/push-target.ts';
import { readPublication } from '../../keyserver/timestamp/state.ts';
import { HOUR, PublicationRig, putTimestamp, TIMESTAMP_PATH, timestampAt } from '../support/publication-rig.ts';
import { saidBy } from '../support/target-timestamp.ts';

let the: PublicationRig;
let A: string;
let B: string;
beforeEach(async () => {
  ({ the, A, B } = await PublicationRig.startWithTwoHosts(720));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await the.close();
});
const { read } = PushTarget.prototype;
const ENDED = [7, [7]];
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

describe('what was signed here as withdrawn', () => {
  it('is not taken from the publisher as good', async () => {
    await the.showAt(A, 10, { publication: 8 });
    expect(await run()).toBe('signed');
    the.rig.passTime(10);
    await the.showAt(B, 100 * HOUR, { publication: 12, withdrawn: [8], expires: the.now() - 10 });
    expect(await run()).toBe('withdrawn');
    expect([await served(), said(timestampAt(A))]).toEqual([
      [8, [8]],
      [8, [8]],
    ]);
    for (const host of [A, B]) rmSync(join(host, TIMESTAMP_PATH));
    the.rig.passTime(10);
    expect((await the.handOver(the.timestamp({ publication: 8 }))).status).toBe(409);
    expect(await served()).toEqual([8, [8]]);
  });

  it('is signed again, however early somebody shows timestamps that leave it out', async () => {
    await the.publish({ publication: 7, withdrawn: [7] });
    the.rig.passTime(400 * HOUR);
    for (let turn = 0; turn < 3; turn++) {
      await the.showAt(A, -300, { publication: 7 });
      expect(await run()).toBe('withdrawn');
      the.rig.passTime(300);
    }
    expect(version(await the.served())).toBeGreaterThan(the.now() - 600);
  });
});

describe('publications that are withdrawn by their hash', () => {
  const isRefused = async (publication: number) =>
    (await the.handOver(the.timestamp({ publication }))).body.error === 'metadata-rollback';

  it('are so after another was handed over, below them', async () => {
    await the.showAt(A, 10, { publication: 9, withdrawn: [9] });
    expect(await run()).toBe('signed');
    for (const host of [A, B]) rmSync(join(host, TIMESTAMP_PATH));
    the.rig.passTime(10);
    await the.publish({ publication: 8 });
    the.rig.passTime(10);
    expect(await isRefused(9)).toBe(true);
  });

  it('are no more than 256, the last that were shown, and none that was handed over', async () => {
    const { state } = the.rig.server;
    const show = (publication: number) => {
      const timestamp = the.timestamp({ publication, signed: the.now() - 5, withdrawn: [publication] });
      return () => adoptTimestamp(state, timestamp);
    };
    for (let number = 1000; number < 1300; number++) expect(show(number)).toThrow('which is withdrawn');
    expect(show(7)()).toBe(true);
    const ended = readPublication(state.database)?.ended.map(({ version }) => version);
    expect(ended).toEqual(Array.from({ length: 256 }, (_, index) => 1044 + index));
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

  it('nor does it answer readers with it, where it has no key', async () => {
    await the.importTimestampKey(undefined);
    await the.handOver(the.timestamp({ publication: 7, signed: the.now() + 86_400, withdrawn: [7] }));
    expect((await fetch(the.rig.server.url + TIMESTAMP_PATH)).status).toBe(404);
  });

  it('has it at all targets at once', async () => {
    expect(await run()).toBe('signed');
    await the.handOver(the.timestamp({ publication: 7, signed: the.now() + 86_400, withdrawn: [7] }));
    expect([said(timestampAt(A)), said(timestampAt(B)), await served()]).toEqual([ENDED, ENDED, ENDED]);
  });

  it('nor, once it is right, needs it to be newer than what it signed while it was fast', async () => {
    the.rig.passTime(86_400);
    expect(await run()).toBe('signed');
    const withdrawal = the.timestamp({ publication: 7, signed: the.now() - 86_400, withdrawn: [7] });
    expect((await the.handOver(withdrawal)).body).toEqual({ error: 'metadata-rollback' });
    expect(await served()).toEqual(ENDED);
  });

  it('goes on at once when it is right again, whatever came from the future', async () => {
    putTimestamp(A, the.timestamp({ publication: 7, signed: the.now() + 86_400 }));
    await the.publish({ publication: 7, withdrawn: [7] });
    the.rig.passTime(HOUR);
    await the.showAt(B, 0, { publication: 7 }); // has to be outrun
    expect(await run()).toBe('withdrawn');
    expect(await served()).toEqual(ENDED);
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

it('what says that it is withdrawn is fresh for longer than anything that was signed before', async () => {
  await the.publish({ publication: 7, expires: the.now() + 700 * HOUR });
  const good = the.read(await the.served());
  the.rig.passTime(10);
  await the.publish({ publication: 7, expires: the.now() + 48 * HOUR, withdrawn: [7] });
  for (let hours = 0; hours < 60; hours++) expect(await nextRun()).toBe('withdrawn');
  expect(good.expires).toBeGreaterThan(the.now());
  expect(the.read(await the.served()).expires).toBeGreaterThan(the.now());
});
