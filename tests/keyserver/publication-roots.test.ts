/** A key server and its publisher's roots: those it has followed stay what they were, and those it has not been given hold it back. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { encodeHandOver } from '../../core/publication/hand-over-1.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { rootMetadata, signMetadata } from '../../core/publication/writer.ts';
import { overview } from '../../keyserver/overview.ts';
import { acceptHandOver } from '../../keyserver/timestamp/accept.ts';
import { signAgain } from '../../keyserver/timestamp/sign.ts';
import { ifGood, newestRoot, readPublication } from '../../keyserver/timestamp/state.ts';
import { encodeRoot, encodeTimestamp } from '../support/first-root.ts';
import { HOUR, PublicationRig, putTimestamp, timestampAt } from '../support/publication-rig.ts';
import { saidBy } from '../support/target-timestamp.ts';

let the: PublicationRig;
let A: string;
let B: string;
beforeEach(async () => {
  ({ the, A, B } = await PublicationRig.startWithTwoHosts());
});
afterEach(() => the.close());
const newKey = () => roleSigner(ed25519KeyPair(randomBytes(32)));
const said = (bytes: Uint8Array) => Object.values(saidBy(bytes));
const run = () => the.rig.server.keeper.attempt();
const putRoot = (host: string, version: number, bytes: Uint8Array) =>
  writeFileSync(join(host, `/.well-known/wispr/${version}.root.json`), bytes);

it('a root key that was replaced signs no other root in the place of what was followed', async () => {
  const { root } = the.rig.publisher;
  const [newRoot, thief] = [await newKey(), await newKey()];
  const second = await encodeRoot({ ...root.signers, root: newRoot }, 2, [root.signers.root, newRoot]);
  expect((await the.handOver(the.timestamp({ publication: 8, withdrawn: [7] }), [second])).status).toBe(200);
  const theirs = { ...root.signers, root: thief, timestamp: thief, snapshot: thief };
  const fork = await encodeRoot(theirs, 2, [root.signers.root, thief]);
  const further = await encodeRoot(theirs, 3, [thief]);
  for (const roots of [[fork], [fork, further]]) {
    const answer = await the.handOver(encodeTimestamp(thief, { publication: 9, signed: the.now() }), roots);
    expect([answer.status, answer.body]).toEqual([409, { error: 'metadata-rollback' }]);
  }
  expect([said(await the.served()), said(timestampAt(A))]).toEqual([
    [8, [7]],
    [8, [7]],
  ]);
});

describe('where a root lies that was not handed over', () => {
  const bringRoot = async (timestamp: RoleSigner) => {
    const { root } = the.rig.publisher;
    await the.bring(8);
    const second = await encodeRoot({ ...root.signers, timestamp }, 2, [root.signers.root]);
    for (const host of [A, B]) putRoot(host, 2, second);
    return second;
  };

  it('what readers take by it is not overwritten, and the log says why', async () => {
    const timestamp = await newKey();
    const second = await bringRoot(timestamp);
    const newer = encodeTimestamp(timestamp, { publication: 8, signed: the.now() });
    for (const host of [A, B]) putTimestamp(host, newer);
    for (let hours = 0; hours < 2; hours++) {
      expect(await run()).toBe('signed');
      the.rig.passTime(HOUR);
    }
    expect([timestampAt(A), timestampAt(B)]).toEqual([newer, newer]);
    expect(the.rig.log()).toMatch(/"level":50,.*"target":1,"reason":"root-behind: root 2 lies there/);
    const { pushes = [] } = overview(the.rig.server.state).publication ?? {};
    for (const { failed, succeeded } of pushes) expect(failed).toBeGreaterThan(succeeded ?? 0);
    const after = encodeTimestamp(timestamp, { publication: 8, signed: the.now() });
    expect((await the.handOver(after, [second])).status).toBe(200);
    expect([timestampAt(A), timestampAt(B)]).toEqual([after, after]);
  });

  it('those after it count as well', async () => {
    const { root } = the.rig.publisher;
    await bringRoot(the.signer);
    const third = await encodeRoot({ ...root.signers, timestamp: await newKey() }, 3, [root.signers.root]);
    putRoot(A, 3, third);
    const before = timestampAt(A);
    expect(await run()).toBe('signed');
    expect(timestampAt(A)).toEqual(before);
    expect(timestampAt(B)).toEqual(await the.served());
    expect(the.rig.log()).toContain('root-behind: root 3 lies there');
  });

  it('what is good by that as well is brought', async () => {
    await bringRoot(the.signer);
    expect(await run()).toBe('signed');
    expect(timestampAt(A)).toEqual(await the.served());
  });

  it.each([
    ['no root', randomBytes(500)],
    ['more than a root may be', new Uint8Array(PUBLICATION_LIMITS.rootLength + 1)],
  ])('%s keeps nothing from it', async (_, bytes) => {
    for (const host of [A, B]) putRoot(host, 2, bytes);
    expect(await run()).toBe('signed');
    expect(timestampAt(B)).toEqual(await the.served());
  });

  it('nor one by keys that no root names', async () => {
    const thief = await newKey();
    const { root } = the.rig.publisher;
    const made = await encodeRoot({ ...root.signers, root: thief, timestamp: thief }, 2, [thief]);
    for (const host of [A, B]) putRoot(host, 2, made);
    expect(await run()).toBe('signed');
    expect(timestampAt(B)).toEqual(await the.served());
  });
});

it('a new timestamp key begins anew, also where one by the old key was to be signed far in the future', async () => {
  const { root } = the.rig.publisher;
  const { state } = the.rig.server;
  const timestamp = await newKey();
  the.rig.passTime(86_400); // its clock is fast
  await the.publish({ publication: 7, withdrawn: [7] });
  await the.showAt(A, -200, { publication: 7 });
  expect(await run()).toBe('withdrawn');
  the.rig.passTime(-86_400);
  const second = await encodeRoot({ ...root.signers, timestamp }, 2, [root.signers.root]);
  const signed = the.now();
  const after = encodeTimestamp(timestamp, { publication: 8, signed });
  expect((await the.handOver(after, [second])).status).toBe(200);
  expect(readPublication(state.database)).toMatchObject({ version: signed, least: signed, withdrawn: [] });
});

it('nothing is stored that was signed while a further root took the key away', async () => {
  const { state } = the.rig.server;
  const { signers } = the.rig.publisher.root;
  const own = await newKey();
  const role = (...all: RoleSigner[]) => ({ publicKeys: all.map(({ publicKey }) => publicKey), threshold: 1 });
  const make = async (version: number, ...timestamps: RoleSigner[]) => {
    const { root, targets, snapshot } = signers;
    const roles = {
      root: role(root),
      targets: role(targets),
      snapshot: role(snapshot),
      timestamp: role(...timestamps),
    };
    return signMetadata(await rootMetadata({ version, expires: the.now() + 1000 * HOUR }, roles), [root]);
  };
  const [second, third] = [await make(2, signers.timestamp, own), await make(3, own)];
  const timestamp = encodeTimestamp(own, { publication: 7, signed: the.now() });
  const handOver = (...roots: Uint8Array[]) =>
    acceptHandOver(state, encodeHandOver({ timestamp, roots, expiries: [] }));
  handOver(second);
  the.rig.passTime(10);
  const signing = signAgain(state, 48 * HOUR);
  handOver(second, third);
  expect(await signing).toBe('overtaken');
  const root = newestRoot(state.database);
  expect(root && ifGood(await the.served(), root)).toBeDefined();
});
