import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { encodeHandOver } from '../../core/publication/hand-over-1.ts';
import { roleSigner } from '../../core/publication/keys.ts';
import { overview } from '../../keyserver/overview.ts';
import { acceptHandOver } from '../../keyserver/timestamp/accept.ts';
import { signAgain } from '../../keyserver/timestamp/sign.ts';
import { readPublication } from '../../keyserver/timestamp/state.ts';
import { encodeRoot, encodeTimestamp } from '../support/first-root.ts';
import { HOUR, PublicationRig, TIMESTAMP_PATH } from '../support/publication-rig.ts';

let the: PublicationRig;
beforeEach(async () => {
  the = await PublicationRig.start();
});
afterEach(() => the.close());

describe('the key server signs the timestamp again', () => {
  it('for the same publication, an hour later, and brings it to the web host', async () => {
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    const timestamp = the.read(await the.served());
    expect(timestamp).toMatchObject({ snapshot: { version: 7, length: 1007 }, withdrawn: [] });
    expect(Math.abs((timestamp?.version ?? 0) - the.now())).toBeLessThan(10);
    expect((timestamp?.expires ?? 0) - (timestamp?.version ?? 0)).toBe(48 * HOUR);
    expect(the.pushed()).toEqual(await the.served());
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    expect(the.read(await the.served())?.version).toBeGreaterThan(timestamp?.version ?? 0);
  });

  it('only what its publisher has handed over', async () => {
    await the.showAtHost();
    expect(await the.rig.server.keeper.attempt()).toBe('nothing');
    expect((await fetch(the.rig.server.url + TIMESTAMP_PATH)).status).toBe(404);
  });

  it('after a newer one that lies at the web host, and never in place of it', async () => {
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    await the.showAtHost({ publication: 8, signed: the.now() - 10 });
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    expect(the.read(await the.served())?.snapshot.version).toBe(8);
    expect(the.pushed()).toEqual(await the.served());
  });

  it('attack 30: not after one that lies at the web host and has expired, however new it calls itself', async () => {
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    await the.showAtHost({ publication: 8, signed: the.now() - 10, expires: the.now() - 5 });
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    expect(the.read(await the.served())?.snapshot.version).toBe(7);
    expect(the.read(the.pushed())?.snapshot.version).toBe(7);
  });

  it('and gives way to a publication that comes while it signs', async () => {
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    const { state } = the.rig.server;
    const signing = signAgain(state, 48 * HOUR);
    const timestamp = the.timestamp({ publication: 8 });
    acceptHandOver(state, encodeHandOver({ timestamp, roots: [], expiries: [] }));
    expect(await signing).toBe('overtaken');
    expect(await the.served()).toEqual(timestamp);
  });

  it('not for a publication that somebody wrote into the database', async () => {
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    const stranger = await roleSigner(ed25519KeyPair(randomBytes(32)));
    const forged = encodeTimestamp(stranger, { publication: 9, signed: the.now() });
    the.rig.server.state.database.prepare('UPDATE publication SET timestamp = ?').run(forged);
    rmSync(the.pushedFile);
    expect(await the.rig.server.keeper.attempt()).toBe('failed');
    expect(the.rig.log()).toContain('metadata-signature');
    expect(existsSync(the.pushedFile)).toBe(false);
  });

  it('over whatever else lies there', async () => {
    await the.publish({ publication: 7 });
    const stranger = await roleSigner(ed25519KeyPair(randomBytes(32)));
    const others = [
      the.timestamp({ publication: 6, signed: the.now() + 5 }),
      encodeTimestamp(stranger, { publication: 9, signed: the.now() + 5 }),
      Buffer.from('<h1>Not found</h1>'),
      new Uint8Array(100_000),
    ];
    for (const other of others) {
      writeFileSync(the.pushedFile, other);
      the.rig.passTime(HOUR);
      expect(await the.rig.server.keeper.attempt()).toBe('signed');
      expect(the.read(the.pushed())?.snapshot.version).toBe(7);
    }
  });

  it('not without the key, which its publisher may keep; then it passes on what the publisher signs', async () => {
    const first = await the.publish({ publication: 7 });
    await the.importTimestampKey(undefined);
    the.rig.passTime(HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('not-ours');
    expect(await the.served()).toEqual(first);
    const byCron = the.timestamp({ publication: 7, signed: the.now() });
    writeFileSync(the.pushedFile, byCron);
    expect(await the.rig.server.keeper.attempt()).toBe('not-ours');
    expect(await the.served()).toEqual(byCron);
  });

  it('never with a key that the root does not name', async () => {
    const bytes = await the.publish({ publication: 7 });
    await the.importTimestampKey(randomBytes(32));
    the.rig.passTime(HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('failed');
    expect(the.rig.log()).toContain('timestamp-key-foreign');
    expect([await the.served(), the.pushed()]).toEqual([bytes, bytes]);
  });

  it('not once its publication is withdrawn, loudly, until there is a higher one', async () => {
    await the.publish({ publication: 7 });
    const withdrawal = await the.publish({ publication: 7, withdrawn: [7], signed: the.now() + 1 });
    expect(the.pushed()).toEqual(withdrawal);
    for (let times = 1; times <= 3; times++) {
      the.rig.passTime(HOUR);
      expect(await the.rig.server.keeper.attempt()).toBe('withdrawn');
      expect(the.rig.log().match(/"level":50.*is withdrawn/g)).toHaveLength(times);
    }
    expect(await the.served()).toEqual(withdrawal);
    expect(overview(the.rig.server.state).publication).toMatchObject({ version: 7, withdrawn: true });
    await the.publish({ publication: 8 });
    the.rig.passTime(HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    expect(the.read(await the.served())).toMatchObject({ snapshot: { version: 8 }, withdrawn: [7] });
  });

  it('also where the withdrawal came by the web host', async () => {
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    await the.showAtHost({ publication: 7, signed: the.now(), withdrawn: [7] });
    expect(await the.rig.server.keeper.attempt()).toBe('withdrawn');
    expect(the.read(await the.served())?.withdrawn).toEqual([7]);
  });

  it('after much was withdrawn by somebody with the key, again once there are new ones', async () => {
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    const all = Array.from({ length: 64 }, (_, index) => index + 4);
    await the.showAtHost({ publication: 1_000_000, signed: the.now() - 10, withdrawn: all });
    await the.rig.server.keeper.attempt();
    const seed = randomBytes(32);
    const { root } = the.rig.publisher;
    const fresh = async () => roleSigner(ed25519KeyPair(randomBytes(32)));
    const signers = {
      ...root.signers,
      timestamp: await roleSigner(ed25519KeyPair(seed)),
      snapshot: await fresh(),
    };
    const roots = [await encodeRoot(signers, 2, [root.signers.root])];
    the.rig.passTime(HOUR);
    const handOver = (publication: number, withdrawn: readonly number[]) =>
      the.handOver(
        encodeTimestamp(signers.timestamp, { publication, signed: the.now() + publication, withdrawn }),
        roots,
      );
    expect(await handOver(7, [2])).toMatchObject({ status: 200 });
    await the.importTimestampKey(seed);
    the.rig.passTime(HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    expect(readPublication(the.rig.server.state.database)?.withdrawn).toEqual([2]);
    expect(await handOver(8, [])).toMatchObject({ status: 200 }); // under the same keys, what was withdrawn stays so
    expect(readPublication(the.rig.server.state.database)?.withdrawn).toEqual([2]);
  });

  it('attack 69: not with a clock that was set back, and again when it is right', async () => {
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    const last = await the.served();
    the.rig.passTime(-HOUR + 100);
    expect(await the.rig.server.keeper.attempt()).toBe('failed');
    expect(the.rig.log()).toMatch(/clock-back: this machine's clock says .*Z, and the last timestamp was signed at/);
    expect([await the.served(), the.pushed()]).toEqual([last, last]);
    the.rig.passTime(HOUR - 200); // within the tolerance: the version still grows
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    expect(the.read(await the.served())?.version).toBe((the.read(last)?.version ?? 0) + 1);
  });

  it('attack 69: and with a slow clock it does not replace what a better clock has signed', async () => {
    await the.publish({ publication: 7 });
    const ahead = the.timestamp({ publication: 8, signed: the.now() + HOUR });
    writeFileSync(the.pushedFile, ahead);
    await the.rig.server.keeper.attempt();
    expect(the.pushed()).toEqual(ahead);
    expect(the.rig.log()).toContain('clock-behind');
  });

  it('and never in place of a higher publication, even if that has the older timestamp', async () => {
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    const higher = the.timestamp({ publication: 8, signed: the.now() - 10 });
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    writeFileSync(the.pushedFile, higher);
    the.rig.passTime(HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    expect(the.pushed()).toEqual(new Uint8Array(higher));
    expect(the.rig.log()).toContain('a higher publication lies there');
    await the.publish({ publication: 8, signed: the.now() + 1 });
    expect(the.pushed()).toEqual(await the.served());
  });

  it('attack 80: past the expiry it serves what it has as it is, and says that it is old', async () => {
    const bytes = await the.publish({ publication: 7 });
    await the.importTimestampKey(randomBytes(32));
    the.rig.passTime(49 * HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('failed');
    expect(await the.served()).toEqual(bytes);
    expect(the.read(await the.served())?.expires).toBeLessThan(the.now());
  });

  it('attack 67: where a target is missing, readers are answered all the same, and the next run brings it there', async () => {
    rmSync(the.site, { recursive: true });
    await the.publish({ publication: 7 });
    expect(existsSync(the.site)).toBe(false);
    expect(the.rig.log()).toContain('the timestamp could not be pushed');
    expect(overview(the.rig.server.state).publication?.pushes).toMatchObject([
      { succeeded: null, failed: expect.any(Number) },
    ]);
    mkdirSync(the.site);
    await the.bring(7);
    the.rig.passTime(HOUR);
    expect(await the.rig.server.keeper.attempt()).toBe('signed');
    expect(the.pushed()).toEqual(await the.served());
    expect(readdirSync(join(the.site, '.well-known', 'wispr'))).toEqual(['7.snapshot.json', 'timestamp.json']);
  });

  it('attack 66: a half that a killed run left at a target is no harm', async () => {
    mkdirSync(join(the.site, '.well-known', 'wispr'), { recursive: true });
    writeFileSync(join(the.site, '.well-known', 'wispr', '.wispr-new-0123456789ab'), 'half');
    const bytes = await the.publish({ publication: 7 });
    expect(the.pushed()).toEqual(bytes);
  });
});
