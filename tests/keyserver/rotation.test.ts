import { readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeRenewalRequest, RENEWAL_PATH } from '../../core/keys/binding.ts';
import { rotateRecipient } from '../../keyserver/operations/rotate.ts';
import { removeOlderKeys, rotateMasterKey } from '../../keyserver/operations/rotate-master-key.ts';
import { SEALED_TABLES } from '../../keyserver/operations/sealed-rows.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { findKnownBrowser, markKnownBrowser } from '../../keyserver/sign-in/known-browsers.ts';
import { createMasterKey, readMasterKeys } from '../../keyserver/storage/master-key.ts';
import { readSecret } from '../../keyserver/storage/secrets.ts';
import { type KeyServerState, openState } from '../../keyserver/storage/state.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { askForKeys, type BoundDevice, bind, post } from '../support/device.ts';
import { rigForFile } from '../support/keyserver-rig.ts';
import { sealBundle, setOf } from '../support/publisher-with-sets.ts';

const rig = rigForFile();
let device: BoundDevice;
beforeAll(async () => {
  device = await bind(rig.provider, await rig.codeFor('Ada'));
});

const keysOf = async (bound: BoundDevice) => (await askForKeys(bound, [setOf(rig.publisher, 'day-1').id])).keys.length;

/** Works as a command does, in a process beside the server. */
const beside = <Result>(work: (state: KeyServerState) => Promise<Result>) => withState(rig.config, work);
const rotate = () => beside((state) => rotateMasterKey(state, rig.config));
const removeOlder = () => beside((state) => removeOlderKeys(state, rig.config));
const versions = async () => [...(await readMasterKeys(rig.config.masterKey)).keys()];

async function versionsInUse(): Promise<number[]> {
  const { database } = rig.server.state;
  const tables = ['canary', ...SEALED_TABLES.map(({ table }) => table)];
  const sealedIn = (table: string) =>
    database.all<{ sealed: Uint8Array }>(`SELECT sealed FROM ${table} WHERE length(sealed) > 0`);
  const rows = await Promise.all(tables.map(sealedIn));
  return [...new Set(rows.flat().map(({ sealed }) => sealed[3] ?? 0))].sort();
}

it('knows every sealed column of the schema', async () => {
  const { database } = rig.server.state;
  const sql =
    rig.config.data === undefined
      ? "SELECT table_name AS name FROM information_schema.columns WHERE column_name LIKE '%sealed%' AND table_schema = current_schema()"
      : "SELECT m.name AS name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name LIKE '%sealed%'";
  const found = (await database.all<{ name: string }>(sql)).map(({ name }) => name);
  expect(found.sort()).toEqual(['canary', ...SEALED_TABLES.map(({ table }) => table)].sort());
});

describe('the master key', () => {
  it('changes while the server runs: devices and new devices notice nothing, and the old version goes', async () => {
    const mark = await markKnownBrowser(rig.server.state, 1);
    const channel = await readSecret(rig.server.state, 'httpcrypt');
    if (rig.config.database !== undefined) {
      expect(await rotate()).toMatchObject({ outcome: 'added', version: 2, rows: 0 });
      expect(await versionsInUse()).toEqual([1]);
    }
    const done = await rotate();
    expect(done).toMatchObject({ outcome: 'sealed', version: 2, older: [1] });
    expect(done.rows).toBeGreaterThan(4);
    expect(await versionsInUse()).toEqual([2]);
    expect(await keysOf(device)).toBe(1);
    await bind(rig.provider, await rig.codeFor('Ben'));
    expect(await versionsInUse()).toEqual([2]); // the running server seals with it too
    expect(await rotate()).toMatchObject({ outcome: 'sealed', version: 2, rows: 0, older: [1] }); // changes nothing
    expect(await removeOlder()).toMatchObject({ outcome: 'removed', older: [1] });
    expect(await versions()).toEqual([2]);
    expect(await keysOf(device)).toBe(1);
    expect(await findKnownBrowser(rig.server.state, 'Ada', mark)).toBeDefined();
    const again = await openState(rig.config);
    expect(await readSecret(again, 'httpcrypt')).toEqual(channel);
    await again.database.close();
  });

  it('attack 91: is not changed over a row that was swapped with another, and the old version stays', async () => {
    const { database } = rig.server.state;
    const [one, two] = await database.all<{ id: string; sealed: Uint8Array }>('SELECT id, sealed FROM sets LIMIT 2');
    if (!one || !two) throw new Error('two sets are needed');
    await database.run('UPDATE sets SET sealed = ? WHERE id = ?', two.sealed, one.id);
    if (rig.config.database !== undefined) await rotate();
    await expect(rotate()).rejects.toMatchObject({ code: 'store-unusable' });
    await expect(removeOlder()).rejects.toMatchObject({ code: 'store-unusable' });
    expect(await versions()).toEqual([2, 3]);
    await database.run('UPDATE sets SET sealed = ? WHERE id = ?', one.sealed, one.id);
    expect(await rotate()).toMatchObject({ outcome: 'sealed', version: 3 });
    await removeOlder();
  });

  it('comes from a variable or a command; then a version is added and removed where it is kept', async () => {
    const text = readFileSync(String(rig.config.masterKey), 'utf8');
    const file = `${rig.folder}/other.key`;
    createMasterKey(file, new Map([[4, new Uint8Array(32).fill(7)]]));
    const more = text + (readFileSync(file, 'utf8').split('\n')[1] ?? '');
    const print = (shown: string) => `process.stdout.write(${JSON.stringify(shown)})`;
    const command = (shown: string) => ({ command: [process.execPath, '-e', print(shown)] });
    process.env.WISPR_TEST_KEY = text;
    for (const masterKey of [{ environment: 'WISPR_TEST_KEY' }, command(text)]) {
      const config = { ...rig.config, masterKey };
      await withState(config, async (state) => {
        await expect(rotateMasterKey(state, config)).rejects.toThrow(/add a line with version 4/);
      });
    }
    delete process.env.WISPR_TEST_KEY;
    const config = { ...rig.config, masterKey: command(more) };
    writeFileSync(String(rig.config.masterKey), more); // the server reads it
    await withState(config, async (state) => {
      expect(await rotateMasterKey(state, config)).toMatchObject({ outcome: 'sealed', version: 4, older: [3] });
      const words = 'no row is under version 3 any more: remove that line';
      await expect(removeOlderKeys(state, config)).rejects.toThrow(words);
    });
    expect(await keysOf(device)).toBe(1);
  });

  it.each([
    [{ environment: 'WISPR_NO_SUCH_KEY' }, /WISPR_NO_SUCH_KEY does not hold a master key file/],
    [{ command: ['false', 'secret-argument'] }, /the command false gives no master key: it ended with 1$/],
    [{ command: ['/no/such/program'] }, /gives no master key: it ended with ENOENT$/],
    [{ command: ['echo', 'nonsense'] }, /the command echo does not hold a master key file/],
  ])('attack 51: %j is refused', async (masterKey, message) => {
    const refusal = { code: 'storage-key-refused', message: expect.stringMatching(message) };
    await expect(openState({ ...rig.config, masterKey })).rejects.toMatchObject(refusal);
  });
});

it('the recipient key changes with an overlap, which ends when the publisher has sealed to the new one', async () => {
  const { state, origins } = rig.server;
  const old = state.recipient.publicKey;
  const seal = (to: Uint8Array, serial: number) =>
    sealBundle(rig.publisher, to, { ...origins, content: rig.host.origin, serial });
  await beside((other) => rotateRecipient(other, rig.config));
  const fresh = new Uint8Array(Buffer.from(readFileSync(rig.config.publicKey, 'utf8'), 'base64url'));
  expect(fresh).not.toEqual(old);
  expect(await importBundle(state, await seal(old, 50), origins)).toMatchObject({ outcome: 'updated' });
  expect(await importBundle(state, await seal(fresh, 51), origins)).toMatchObject({ outcome: 'updated' });
  await expect(importBundle(state, await seal(old, 52), origins)).rejects.toMatchObject({ code: 'bundle-recipient' });
});

describe('device keys', () => {
  it('are given to no device that is unknown or was removed, and not for a signature by another', async () => {
    const other = await bind(rig.provider, await rig.codeFor('Cleo'));
    const mixed = { ...other.keys, ed25519: { ...other.keys.ed25519, publicKey: device.keys.ed25519.publicKey } };
    expect(await statusOf(mixed)).toBe(400);
    expect(await statusOf({ ...other.keys, xwing: device.keys.xwing })).toBe(403);
    await rig.server.state.database.run('UPDATE subscribers SET revoked = 1 WHERE name = ?', 'Cleo');
    expect(await statusOf(other.keys)).toBe(403);
  });

  async function statusOf(keys: BoundDevice['keys']): Promise<number> {
    const request = encodeRenewalRequest(keys, rig.provider.publisher, nowInSeconds());
    return (await post(rig.provider.keyServer, RENEWAL_PATH, request)).status;
  }
});
