import { pino } from 'pino';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { BINDING_PATH } from '../../core/keys/binding.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { type Invitation, inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { openState } from '../../keyserver/storage/state.ts';
import { askForKeys, bind, bindingRequest, createDeviceKeys, post } from '../support/device.ts';
import { configIn, temporaryFolder, writeServerConfig } from '../support/keyserver-rig.ts';
import { createPublisher, sealBundle, setOf } from '../support/publisher-with-sets.ts';
import { danglingRows, storeIn } from '../support/store.ts';
import { startWispr } from '../support/wispr.ts';

const READERS = 24;
/** Requests at once, fewer than may fail from one address: until they are answered, they count. */
const AT_A_TIME = 10;
const folder = temporaryFolder();
let store: Awaited<ReturnType<typeof storeIn>>;
const publisher = await createPublisher();
beforeAll(async () => {
  store = await storeIn(folder);
  writeServerConfig(folder, store);
});

it('attack 66: kill -9 in the middle of many bindings loses and doubles nothing; the devices bind again', async () => {
  const server = await startWispr(['keyserver', '--dev'], { cwd: folder });
  const { keyserver = '', reading = '' } = server.ready;
  const invitations = await prepare(keyserver, reading);
  const provider = { keyServer: keyserver, publisher: publisher.root.id };
  const devices = await Promise.all(invitations.map(() => createDeviceKeys(provider)));
  let [next, answered, promised] = [0, 0, 0];
  const bindNext = async (): Promise<void> => {
    const index = next++;
    const device = devices[index];
    if (!device) return;
    const request = bindingRequest(device, provider, invitations[index]?.code ?? '');
    if ((await post(keyserver, BINDING_PATH, request)).status === 200) promised++;
    if (++answered === READERS / 4) void server.stop('SIGKILL');
    return bindNext();
  };
  await Promise.allSettled(Array.from({ length: AT_A_TIME }, bindNext)); // ends when the server does
  await server.stop('SIGKILL');
  expect(promised).toBeGreaterThanOrEqual(READERS / 4);

  const config = { ...configIn(folder), ...store };
  const ports = { listen: addressOf(keyserver), reading: { ...config.reading, listen: addressOf(reading) } };
  const again = await startKeyServer({ ...config, ...ports }, { log: pino({ enabled: false }) });
  onTestFinished(() => again.close());
  const { database } = again.state;
  expect(await danglingRows(database, store)).toEqual([]);
  const countDevices = async () => (await database.all('SELECT id FROM devices')).length;
  const before = await countDevices();
  expect(before).toBeGreaterThanOrEqual(promised); // answered bindings are kept
  const used = await database.all<{ n: number }>('SELECT count(*) AS n FROM invitations WHERE used_by IS NOT NULL');
  expect(used).toEqual([{ n: before }]); // a code is used up if, and only if, its device is there
  for (const [index, device] of devices.entries()) {
    const bound = await bind(provider, invitations[index]?.code ?? '', device);
    if (index % 10 === 0) expect((await askForKeys(bound, [setOf(publisher, 'day-1').id])).keys).toHaveLength(1);
  }
  expect(await countDevices()).toBe(READERS);
});

/** Imports a bundle and invites readers beside the running server. */
async function prepare(keyServer: string, reading: string): Promise<Invitation[]> {
  const state = await openState({ ...configIn(folder), ...store });
  const origins = { keyServer, reading };
  const bundle = await sealBundle(publisher, state.recipient.publicKey, { ...origins, content: 'https://cdn.example' });
  await importBundle(state, bundle, origins);
  const invitations = await Promise.all(
    Array.from({ length: READERS }, (_, index) => inviteSubscriber(state, { name: `reader ${index}` })),
  );
  await state.database.close();
  return invitations;
}

function addressOf(origin: string) {
  return { host: '127.0.0.1', port: Number(new URL(origin).port) };
}
