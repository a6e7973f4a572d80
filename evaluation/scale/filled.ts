/** Imports subscribers, then new days' keys, and prints what that took as JSON: `node filled.ts FOLDER SUBSCRIBERS`. */
import { configIn, fresh, importer, sizeOf } from '../../bench/bundles.ts';
import { median, milliseconds } from '../../bench/measure.ts';
import { makeEnvelope } from '../../core/keys/envelope.ts';
import { importSubscribers } from '../../keyserver/readers/import-subscribers.ts';
import { type KeyServerState, openState } from '../../keyserver/storage/state.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';

const DAYS = 30;
const RUNS = 5;
/** Length of a device's sealed key, which the vault makes of 32 bytes. */
const SEALED = 64;

/** Seconds, bytes, milliseconds. */
export interface Filled {
  readonly list: number;
  /** The database with the subscribers, and a device for each. */
  readonly withDevices: number;
  /** Import of bundles with thirty sets. */
  readonly newDay: number;
}

const [folder = '', subscribers = ''] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await fill(folder, Number(subscribers))));

async function fill(folder: string, subscribers: number): Promise<Filled> {
  const list = await inState(folder, async (state) => {
    await definePlan(state, { name: 'daily', sets: ['day-*'], zone: 'UTC' });
    const list = listOf(subscribers);
    return (await milliseconds(() => importSubscribers(state, list))) / 1000;
  });
  await inState(folder, addDevices);
  return { list, withDevices: await sizeOf(folder), newDay: await inState(folder, newDay) };
}

/** Closes it in between: else what follows a long transaction waits until SQLite has moved that one from its log into the database. */
async function inState<Result>(folder: string, work: (state: KeyServerState) => Promise<Result>): Promise<Result> {
  const state = await openState(configIn(folder));
  try {
    return await work(state);
  } finally {
    await state.database.close();
  }
}

function listOf(subscribers: number): Buffer {
  const lines = Array.from({ length: subscribers }, (_, index) => `reader-${index}@example.org,daily`);
  return Buffer.from(['name,plan', ...lines, ''].join('\n'));
}

/** Rows of the length that they have: making a device key for each would take minutes, and is its reader's work. */
async function addDevices({ database, now }: KeyServerState): Promise<void> {
  const id = 'substr(hex(randomblob(22)), 1, 43)';
  await database.run(
    `INSERT INTO devices (kind, subscriber, keys_digest, key_id, sealed, created, last_seen)
     SELECT 'reader', id, ${id}, ${id}, randomblob(?), ?, ? FROM subscribers`,
    ...[SEALED, now(), now()],
  );
}

/** Measures the publisher's part, and the key server's. @returns milliseconds for a further day */
async function newDay(state: KeyServerState): Promise<number> {
  const { importOf } = await importer(state);
  const period = await fresh('period');
  const days = await Promise.all(Array.from({ length: DAYS }, () => fresh('set')));
  await importOf(days, [period]);
  let envelope = await makeEnvelope(period, days, 2 ** 32);
  const newDays: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    days.unshift(await fresh('set'));
    newDays.push(
      await milliseconds(async () => {
        envelope = await makeEnvelope(period, days, 2 ** 32, envelope);
        await importOf(days, [period]);
      }),
    );
  }
  return median(newDays);
}
