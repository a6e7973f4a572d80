/** Two key servers at one database. */
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { encodeBindingRequest, normaliseCode } from '../../core/keys/binding.ts';
import { encodeKeyRequest, openKeyAnswer } from '../../core/keys/key-request.ts';
import { encodeHandOver } from '../../core/publication/hand-over.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { acceptHandOver, confirmAgain } from '../../keyserver/publication/authority.ts';
import { importBundle, setRow } from '../../keyserver/publication/import-bundle.ts';
import { ProviderReader } from '../../keyserver/publication/provider.ts';
import { readMetadata } from '../../keyserver/publication/stored.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { bindDevice } from '../../keyserver/readers/bindings.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { answerKeyRequest } from '../../keyserver/readers/key-requests.ts';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { endSession, findSession, joinWithCode } from '../../keyserver/sign-in/accounts.ts';
import { createEntryCode, enterWithCode, findDocumentSession } from '../../keyserver/sign-in/document-sessions.ts';
import type { Value } from '../../keyserver/storage/database.ts';
import type { KeyServerState } from '../../keyserver/storage/state.ts';
import { findSubscriber, revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { bind, createDeviceKeys } from '../support/device.ts';
import { forFile } from '../support/for-file.ts';
import { HOUR, PublicationRig } from '../support/publication-rig.ts';
import { sealBundle, setOf } from '../support/publisher-with-sets.ts';
import { runs } from '../support/tier.ts';

const ROUNDS = runs(4, 16);
const the = forFile(() => PublicationRig.start());
let other: RunningKeyServer;
let states: readonly [KeyServerState, KeyServerState];
beforeAll(async () => {
  const { config, folder } = the.rig;
  const here = { ...config, publicKey: join(folder, 'other.pub') };
  other = await startKeyServer(here, { log: pino({ enabled: false }), now: () => the.now() });
  await other.keeper.idle();
  states = [the.rig.server.state, other.state];
});
afterAll(() => other.close());

/** Does the same at both at once. @returns what became of those that were not refused */
async function atBoth<Result>(work: (state: KeyServerState, index: number) => Promise<Result>): Promise<Result[]> {
  const outcomes = await Promise.allSettled(states.map(work));
  return outcomes.filter((outcome) => outcome.status === 'fulfilled').map(({ value }) => value);
}

/** A fresh code, as it is used. */
const newCode = async (name: string) => normaliseCode(await the.rig.codeFor(name)) ?? '';

it('use a code up for each other: for an account, for a device, for the documents', async () => {
  const { provider } = the.rig;
  for (let round = 0; round < ROUNDS; round++) {
    const code = await newCode('ada');
    const sessions = await atBoth((state) => joinWithCode(state, code));
    expect(sessions).toHaveLength(1);
    const token = sessions[0]?.token ?? '';
    const entry = await createEntryCode(states[0], token);
    const entered = await atBoth((state) => enterWithCode(state, entry ?? ''));
    expect(entered.filter((found) => found !== undefined)).toHaveLength(1);
    const deviceCode = await newCode('ada');
    const devices = await Promise.all(states.map(() => createDeviceKeys(provider)));
    const bound = await atBoth(async (state, index) => {
      const [device] = devices.slice(index);
      if (!device) throw new Error('no device');
      const request = encodeBindingRequest(device, provider.publisher, deviceCode, the.now());
      const as = { provider: new ProviderReader(state.database), origin: provider.keyServer, limits: { devices: 20 } };
      return bindDevice({ state, ...as }, request);
    });
    expect(bound).toHaveLength(1);
  }
});

it('know each other’s sessions, and their ends', async () => {
  const [one, two] = states;
  const { token } = await joinWithCode(one, await newCode('ben'));
  const entry = await createEntryCode(two, token);
  const entered = (await enterWithCode(one, entry ?? '')) ?? '';
  expect(await findDocumentSession(two, entered)).toMatchObject({ name: 'ben' });
  await endSession(two, token);
  expect([await findSession(one, token), await findDocumentSession(one, entered)]).toEqual([undefined, undefined]);
});

it('answer by what the other has changed from the next request on', async () => {
  const { provider, publisher } = the.rig;
  const [here, there] = states;
  const day1 = setOf(publisher, 'day-1');
  const { deviceKey } = await bind(provider, await the.rig.codeFor('cleo'));
  const outcome = async () => {
    const request = await encodeKeyRequest(deviceKey, provider.keyServer, [day1.id], the.now());
    const answer = answerKeyRequest(here, provider.keyServer, request);
    const { keys, refused } = await openKeyAnswer(await answer, request, deviceKey.key);
    return keys.length === 1 ? 'given' : refused[0]?.reason;
  };
  const { database, vault } = there;
  const { id = 0 } = (await findSubscriber(database, 'cleo')) ?? {};
  const own = `WHERE subscriber = ${id}`;
  const set = (sql: string, ...values: Value[]) => database.run(sql, ...values);
  const misnamed = await vault.seal(setRow(day1.id), randomBytes(32));
  const { sealed } =
    (await database.first<{ sealed: Uint8Array }>('SELECT sealed FROM sets WHERE id = ?', day1.id)) ?? {};
  const changes: [what: unknown, change: () => Promise<unknown>][] = [
    ['not-entitled', () => set(`UPDATE grants SET pattern = 'other' ${own}`)],
    ['given', () => inviteSubscriber(there, { name: 'cleo', sets: ['day-1'] })],
    ['lapsed', () => set(`UPDATE grants SET granted_from = 1, granted_until = 2 ${own}`)],
    ['given', () => set(`UPDATE grants SET granted_until = NULL ${own}`)],
    ['store-unusable', () => set('UPDATE sets SET sealed = ? WHERE id = ?', misnamed, day1.id)],
    ['given', () => set('UPDATE sets SET sealed = ? WHERE id = ?', sealed ?? null, day1.id)],
    ['revoked', () => set(`UPDATE devices SET revoked = 1 ${own}`)],
    ['given', () => set(`UPDATE devices SET revoked = NULL ${own}`)],
    ['revoked', () => revokeSubscriber(there, 'cleo')],
    ['request-refused', () => set('DELETE FROM subscribers WHERE id = ?', id)],
  ];
  expect(await outcome()).toBe('given');
  for (const [what, change] of changes) {
    await change();
    expect(await outcome().catch(({ code }) => code)).toBe(what);
  }
});

it('invite one person of a new name, and make one token of a name', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const invited = await atBoth((state) => inviteSubscriber(state, { name: `New ${round}` }));
    expect(invited.map(({ created }) => created).sort()).toEqual([false, true]);
    expect(await atBoth((state) => createToken(state, `token-${round}`, 1))).toHaveLength(1);
  }
});

it('attack 90: import no bundle after a newer one, and one of a serial', async () => {
  const { publisher, server, host } = the.rig;
  const bundleOf = (serial: number) =>
    sealBundle(publisher, server.state.recipient.publicKey, { ...server.origins, content: host.origin, serial });
  for (let round = 1; round <= ROUNDS; round++) {
    const serial = 2 + 3 * round;
    const same = await Promise.all([bundleOf(serial), bundleOf(serial)]);
    const imported = await atBoth((state, index) => importBundle(state, same[index] ?? randomBytes(1), server.origins));
    expect(imported.map(({ outcome }) => outcome)).toEqual(['updated']);
    const ordered = await Promise.all([bundleOf(serial + 1), bundleOf(serial + 2)]);
    await atBoth((state, index) => importBundle(state, ordered[index] ?? randomBytes(1), server.origins));
    const current = await server.state.database.first('SELECT serial FROM provider');
    expect(current).toMatchObject({ serial: serial + 2 });
  }
});

/** Uploads a publication, and makes the message that hands it over. */
function message(version: number): Uint8Array {
  const snapshot = the.snapshot(version);
  the.upload(the.site, version, snapshot);
  return encodeHandOver({ snapshot, roots: [], expiries: [] }, the.rig.publisher.root.signers.snapshot.secretKey);
}

it('attack 66: go back neither in publications nor in timestamps, sign each hour, and push the same', async () => {
  await the.publish(7);
  let last = 0;
  const check = async (publication: number) => {
    const bytes = await readMetadata(states[0].database, TIMESTAMP_FILE);
    const current = await the.read(bytes ?? new Uint8Array(0));
    expect(current.snapshot.version).toBe(publication);
    expect(current.version).toBeGreaterThan(last);
    last = current.version;
    const served = await fetch(`${other.url}${METADATA_PATH}timestamp.json`);
    expect(new Uint8Array(await served.arrayBuffer())).toEqual(bytes);
    return bytes;
  };
  for (let round = 1; round <= ROUNDS; round++) {
    const publication = 7 + 2 * round;
    const [first, second] = [message(publication - 1), message(publication)];
    // Chance decides which comes first; the lower one is refused after the higher one.
    await Promise.all([
      acceptHandOver(states[0], first, 48 * HOUR),
      acceptHandOver(states[1], second, 48 * HOUR),
      confirmAgain(states[0], 48 * HOUR),
      confirmAgain(states[1], 48 * HOUR),
    ]);
    await check(publication);
    the.rig.passTime(HOUR);
    const keepers = [the.rig.server.keeper, other.keeper];
    expect(await Promise.all(keepers.map((keeper) => keeper.attempt()))).toEqual([true, true]);
    await Promise.all(keepers.map((keeper) => keeper.idle()));
    expect(the.pushed()).toEqual(await check(publication));
  }
});
