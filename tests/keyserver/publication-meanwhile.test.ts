/** What a key server learns while it looks, signs, is answering and pushes: whoever is to have it has it soon, and nothing older gets there after it. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { randomBytes } from '#primitives';
import { encodeHandOver, PUBLICATION_PATH } from '../../core/publication/hand-over-1.ts';
import { adoptTimestamp } from '../../keyserver/timestamp/adopt.ts';
import { TimestampKeeper } from '../../keyserver/timestamp/keeper.ts';
import { PushTarget } from '../../keyserver/timestamp/push-target.ts';
import { Vault } from '../../keyserver/vault.ts';
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
const { read, holds } = PushTarget.prototype;
const ENDED = [7, [7]];
const said = (bytes: Uint8Array) => Object.values(saidBy(bytes));
const served = async () => said(await the.served());
const version = (bytes: Uint8Array) => the.read(bytes).version;
const run = () => the.rig.server.keeper.attempt();
const nextRun = () => {
  the.rig.passTime(HOUR);
  return run();
};

describe('where the key that is here signs nothing that readers take', () => {
  beforeEach(async () => {
    expect(await run()).toBe('signed');
    await the.importTimestampKey(randomBytes(32));
  });

  it('what is refused changes nothing, so that its publisher can sign above what is answered', async () => {
    const withdrawal = () => the.timestamp({ publication: 7, signed: the.now() - 5, withdrawn: [7] });
    expect((await the.handOver(withdrawal())).status).toBe(409);
    expect(await served()).toEqual([7, []]);
    the.rig.passTime(10);
    expect((await the.handOver(withdrawal())).status).toBe(200);
    expect(await served()).toEqual(ENDED);
  });

  it('what a run finds at one host gets to the others, also to one that was being visited', async () => {
    the.rig.passTime(10);
    const [opened, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vi.spyOn(PushTarget.prototype, 'holds').mockImplementation(async function (this: PushTarget, publication) {
      const there = await holds.call(this, publication);
      if (this.name === A) reached.resolve();
      if (this.name === A) await opened.promise;
      return there;
    });
    const done = the.publish({ publication: 8 });
    await reached.promise;
    the.rig.passTime(60);
    await the.showAt(B, 0, { publication: 8 });
    const running = run();
    await expect.poll(() => the.rig.log()).toContain('timestamp-key-foreign');
    opened.resolve();
    expect(await running).toBe('failed');
    await done;
    expect(timestampAt(A)).toEqual(timestampAt(B));
    expect(said(timestampAt(A))).toEqual([8, []]);
  });
});

it('what is under way has ended when what one host shows is at the others', async () => {
  vi.spyOn(PushTarget.prototype, 'read').mockImplementation(async function (this: PushTarget) {
    if (this.name === A) await setTimeout(100);
    return read.call(this);
  });
  await the.bring(8);
  await the.showAt(A, -10, { publication: 8 });
  await the.publish({ publication: 7 });
  expect(said(timestampAt(B))).toEqual([8, []]);
});

it('a hand-over is answered once what it withdraws is signed, also where something else is learned meanwhile', async () => {
  const { state } = the.rig.server;
  expect(await run()).toBe('signed');
  const prior = the.timestamp({ publication: 7, signed: the.now() - 60, withdrawn: [5] });
  const { open } = Vault.prototype;
  let opened = 0;
  vi.spyOn(Vault.prototype, 'open').mockImplementation(async function (this: Vault, ...about) {
    if (++opened === 2) adoptTimestamp(state, prior); // while it signs
    return open.apply(this, about);
  });
  const timestamp = the.timestamp({ publication: 7, signed: the.now() - 5, withdrawn: [7] });
  const answer = await the.put(PUBLICATION_PATH, encodeHandOver({ timestamp, roots: [], expiries: [] }));
  expect([answer.status, await served()]).toEqual([409, [7, [5, 7]]]);
  await the.rig.server.keeper.idle();
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

  it('nothing good is pushed to a slow host once another has shown that it is withdrawn', async () => {
    const [gate, atGate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vi.spyOn(PushTarget.prototype, 'holds').mockImplementation(async function (this: PushTarget, publication) {
      const there = await holds.call(this, publication);
      if (this.name === A) atGate.resolve();
      if (this.name === A) await gate.promise;
      return there;
    });
    const written = vi.spyOn(PushTarget.prototype, 'write');
    vi.spyOn(PushTarget.prototype, 'read').mockImplementation(async function (this: PushTarget) {
      if (this.name === B) await atGate.promise;
      return read.call(this);
    });
    await the.showAt(B, -100, { publication: 7, withdrawn: [7] });
    rmSync(join(A, TIMESTAMP_PATH));
    const done = the.publish({ publication: 7 });
    await expect.poll(served).toEqual(ENDED);
    gate.resolve();
    await done;
    await expect.poll(() => existsSync(join(A, TIMESTAMP_PATH))).toBe(true);
    await the.rig.server.keeper.idle();
    expect(written.mock.calls.map(([bytes]) => said(bytes))).toEqual(written.mock.calls.map(() => ENDED));
    expect(said(timestampAt(A))).toEqual(ENDED);
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
