/** A key server with a million subscribers: a new day's key, a new period for all, sign-ups, its start and its memory. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { concat } from '../../core/encoding/bytes.ts';
import { makeEnvelope } from '../../core/keys/envelope.ts';
import { wrapKey } from '../../core/keys/wrapped-key.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { type KeyServerState, openState } from '../../keyserver/storage/state.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { configIn, fresh, importer, sizeOf } from '../bundles.ts';
import { startServer } from '../key-clients.ts';
import type { Row } from '../measure.ts';
import { memoryOf } from '../proc.ts';

const SUBSCRIBERS = 1_000_000;
const SIGN_UPS = 1000;
/** As many are wrapped; the figures are for ten times that. */
const WRAPS = 100_000;
const DAYS = 30;
const MIB = 1024 ** 2;

export async function rotate(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'wispr-bench-rotate-'));
  try {
    const config = configIn(folder);
    const state = await openState(config);
    await fill(state);
    const rows = [...(await newDay(state, folder)), ...(await wrapsForAll(folder)), await signUps(state)];
    await state.database.close();
    return [...rows, ...(await startUp(folder))];
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function fill(state: KeyServerState): Promise<void> {
  const { database } = state;
  await definePlan(state, { name: 'daily', sets: ['day-*'], zone: 'UTC' });
  await database.transaction(async () => {
    const numbers = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)';
    const subscribers = `${numbers} INSERT INTO subscribers (name, name_key, created) SELECT 'reader ' || i, 'reader ' || i, 1 FROM n`;
    await database.run(subscribers, SUBSCRIBERS);
    await database.run("INSERT INTO subscriptions (subscriber, plan, begins) SELECT id, 'daily', 1 FROM subscribers");
  });
}

/** A new day's key, and a new period: what the publisher makes, and what the key server does with it. */
async function newDay(state: KeyServerState, folder: string): Promise<Row[]> {
  const { importOf } = await importer(state);
  const [period, next] = [await fresh('period'), await fresh('period')];
  const days = await Promise.all(Array.from({ length: DAYS }, () => fresh('set')));
  const before = await makeEnvelope(period, days.slice(1), 2 ** 32);
  await importOf(days.slice(1), [period]);
  const begun = performance.now();
  const after = await makeEnvelope(period, days, 2 ** 32, before);
  await importOf(days, [period]);
  const day = performance.now() - begun;
  const size = await sizeOf(folder);
  const renewing = performance.now();
  await importOf(days, [next]);
  const renewed = performance.now() - renewing;
  const about = { bound: 'one wrap, one bundle: nothing is done for each subscriber' };
  return [
    row('rotate-1m: a new day', day, 'ms', 1000, about),
    row('rotate-1m: bytes of it a plan', after.length - before.length, 'bytes', 1024, about),
    row('rotate-1m: a new period, online', renewed, 'ms', 10_000, about),
    row('rotate-1m: bytes of it at the server', (await sizeOf(folder)) - size, 'bytes', 100 * MIB, about),
  ];
}

/** Where wraps are stored for everyone: one period key under each device key, nonce, ciphertext and tag with the device's id, in one file. */
async function wrapsForAll(folder: string): Promise<Row[]> {
  const period = { ...(await fresh('period')), kind: 'period' as const };
  const file = join(folder, 'wraps');
  const out = createWriteStream(file);
  const secret = randomBytes(32);
  const begun = performance.now();
  for (let index = 0; index < WRAPS; index += 1000) {
    const wraps = Array.from({ length: 1000 }, async (_, offset) => {
      secret.writeUInt32BE(index + offset);
      const device = { id: toBase64url(secret), key: Uint8Array.from(secret) };
      const { wrapped } = await wrapKey(device, period, { notBefore: 0, notAfter: 2 ** 32 });
      return concat(fromBase64url(device.id) ?? new Uint8Array(0), fromBase64url(wrapped) ?? new Uint8Array(0));
    });
    if (!out.write(Buffer.concat(await Promise.all(wraps)))) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
  const seconds = ((performance.now() - begun) / 1000) * (SUBSCRIBERS / WRAPS);
  const about = { bound: 'one core: HKDF and AES-256-GCM, each by itself' };
  const length = ((await stat(file)).size / 1e6) * (SUBSCRIBERS / WRAPS);
  return [
    row('rotate-1m: a new period, stored', seconds, 's', 10, about),
    row('rotate-1m: stored wraps', length, 'MB', 100, about),
  ];
}

async function signUps(state: KeyServerState): Promise<Row> {
  const begun = performance.now();
  for (let index = 0; index < SIGN_UPS; index++) await inviteSubscriber(state, { name: `new ${index}`, plan: 'daily' });
  const rate = (SIGN_UPS * 1000) / (performance.now() - begun);
  return row('rotate-1m: sign-ups', rate, 'a second', 200, { bound: 'one transaction each, on the disk' });
}

async function startUp(folder: string): Promise<Row[]> {
  const begun = performance.now();
  const { asked, stop } = await startServer(['sqlite', folder]);
  const seconds = (performance.now() - begun) / 1000;
  const { peak: memory } = await memoryOf(asked.pid);
  await stop();
  const about = { bound: 'the runtime; nothing is read for each subscriber' };
  return [row('rotate-1m: start', seconds, 's', 2, about), row('rotate-1m: memory', memory, 'MiB', 300, about)];
}

function row(name: string, value: number, unit: string, goal: number, about: Pick<Row, 'bound'>): Row {
  const short = Number(value.toPrecision(3));
  return {
    row: name,
    value: short,
    unit,
    peer: 'goal',
    peerValue: goal,
    ratio: Number((value / goal).toPrecision(2)),
    runs: 1,
    ...about,
  };
}
