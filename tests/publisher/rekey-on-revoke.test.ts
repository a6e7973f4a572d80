/** A new set key once somebody has lost access, by `rekeyOnRevoke` and a real key server. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { collect } from '../../core/encoding/byte-reader.ts';
import { unwrapKey } from '../../core/keys/wrapped-key.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { startContentHost } from '../support/content-host.ts';
import { askForKeys, type BoundDevice, bind } from '../support/device.ts';
import { readPublished } from '../support/published.ts';
import { Publishing } from '../support/publishing.ts';
import { type PublishingKeyServer, startPublishingKeyServer } from '../support/publishing-key-server.ts';
import { createWorkspace, SITE, type TestWorkspace } from '../support/workspace.ts';

let keyServer: PublishingKeyServer;
let made: TestWorkspace;
let the: Publishing;
beforeEach(async () => {
  keyServer = await startPublishingKeyServer();
  const files = { 'letters/1.txt': 'First.', 'letters/2.txt': 'Second.', 'photos/1.txt': 'A photo.' };
  const sets = [
    { name: 'letters', path: 'letters/**', rekeyOnRevoke: true },
    { name: 'photos', path: 'photos/**' },
  ];
  made = await createWorkspace(files, { ...keyServer.settings, sets });
  await keyServer.giveKeyTo(made);
  the = new Publishing(made);
  the.changes = { token: keyServer.token };
  await the.publish();
});
afterEach(async () => {
  await keyServer.close();
  await made.remove();
});

async function connect(name: string): Promise<BoundDevice> {
  const { code } = await inviteSubscriber(keyServer.state, { name, sets: ['letters', 'photos'] });
  return bind({ keyServer: keyServer.origin, publisher: (await made.keyStore()).rootId }, code);
}

/** Key ids of the sets as they are now. */
async function idsOf(...paths: string[]): Promise<KeyId[]> {
  const published = await made.published();
  return Promise.all(
    paths.map(async (path) => {
      const { reader } = await published.open(path);
      return 'set' in reader.head.header ? reader.head.header.set : '';
    }),
  );
}

/** Gets keys as a device does. */
async function keysFor(device: BoundDevice, ids: readonly KeyId[]): Promise<Map<KeyId, Uint8Array>> {
  const { keys } = await askForKeys(device, ids);
  const now = nowInSeconds();
  return new Map(
    await Promise.all(keys.map(async (key) => [key.id, await unwrapKey(device.deviceKey, key, now)] as const)),
  );
}

async function readWith(keys: ReadonlyMap<KeyId, Uint8Array>, path: string): Promise<string> {
  const published = await readPublished(made.out, { site: SITE, keys, now: nowInSeconds() });
  return Buffer.from(await collect((await published.open(path)).content)).toString();
}

const rekeyed = async () => {
  const { protection } = await the.publish();
  return protection?.sets.filter(({ isRekeyed }) => isRekeyed).map(({ name }) => name);
};

it('attack 47: what is published after a revocation does not open with the key that was given before', async () => {
  const [ada, bea] = [await connect('ada'), await connect('bea')];
  const [letters = '', photos = ''] = await idsOf('/letters/1.txt', '/photos/1.txt');
  const old = await keysFor(ada, [letters, photos]);
  expect(await readWith(old, '/letters/1.txt')).toBe('First.');
  expect(await rekeyed()).toEqual([]);
  await revokeSubscriber(keyServer.state, 'ada');
  await setTimeout(1100); // keys made in the second of the revocation would count as lost too
  await made.write('letters/1.txt', 'Changed.');
  expect(await rekeyed()).toEqual(['letters']);
  const [next = '', same] = await idsOf('/letters/1.txt', '/photos/1.txt');
  expect([next === letters, same]).toEqual([false, photos]);
  for (const path of ['/letters/1.txt', '/letters/2.txt']) {
    await expect(readWith(old, path)).rejects.toMatchObject({ code: 'key-missing' });
    const claimed = new Map([[next, old.get(letters) ?? new Uint8Array()]]);
    await expect(readWith(claimed, path)).rejects.toMatchObject({ code: 'key-id-mismatch' });
  }
  expect(await askForKeys(ada, [next])).toMatchObject({ keys: [], refused: [{ reason: 'revoked' }] });
  expect(await readWith(await keysFor(bea, [next]), '/letters/1.txt')).toBe('Changed.');
  expect(await rekeyed()).toEqual([]);
});

it('makes one new key for a set that somebody has lost, and no second one where a run ended before the key server had it', async () => {
  await connect('ada');
  await revokeSubscriber(keyServer.state, 'ada');
  const key = async () => (await made.keyStore()).contents.sets.get('letters');
  const formerReaders = new Set(await idsOf('/letters/1.txt'));
  const { changes } = await made.protect({ formerReaders, timestamp: 'later' });
  expect(changes.rekeyed).toBe(2);
  const next = await key();
  expect(await rekeyed()).toEqual([]);
  expect(await key()).toEqual(next);
  expect(await idsOf('/letters/1.txt')).not.toEqual([...formerReaders]);
});

it('does not publish while nobody says who has lost access, and publishes a few documents alone all the same', async () => {
  await made.write('letters/1.txt', 'Changed.');
  await keyServer.close();
  await expect(the.publish()).rejects.toMatchObject({ code: 'key-server-unreachable' });
  const { protection } = await the.publish({ protect: { only: ['/letters/1.txt'] } });
  expect(protection?.changes).toMatchObject({ changed: 1, rekeyed: 0 });
});

it('refuses to publish where the key server is of a version that cannot say who has lost access', async () => {
  const host = await startContentHost();
  try {
    host.handlers.set('/v1/publishing', (request, response) => {
      request.resume();
      response.writeHead(204).end();
    });
    the.changes = { ...the.changes, keyServer: host.origin };
    await expect(the.publish()).rejects.toMatchObject({ code: 'key-server-refused', fields: { said: '404' } });
  } finally {
    await host.close();
  }
});

it('publishes without asking who has lost access where there is no token', async () => {
  await connect('ada');
  await revokeSubscriber(keyServer.state, 'ada');
  the.changes = {};
  await made.configure({ timestampBy: 'publisher' });
  expect(await rekeyed()).toEqual([]);
});
