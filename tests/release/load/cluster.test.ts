/**
 * Three key servers behind the HAProxy of docs/cluster.md, on a PostgreSQL of their own, while readers ask for keys, connect devices and sign in without
 * a pause. The first key server is the dispatcher of password hashing. What fails is tried once more: a second later, or when the site is back.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { normaliseCode } from '../../../core/keys/binding.ts';
import { KEY_REQUEST_PATH, openKeyAnswer } from '../../../core/keys/key-request.ts';
import { joinWithPassword } from '../../../keyserver/sign-in/accounts.ts';
import { newClient, ORIGINS, startCluster } from '../../support/cluster.ts';
import { forFile } from '../../support/for-file.ts';
import { startCluster as startPostgres } from '../../support/postgres-cluster.ts';
import { postBy, ReadersUnderLoad } from '../../support/readers-under-load.ts';

const ADA = { name: 'ada', password: 'correct horse battery' };
/** Milliseconds, for what takes seconds on a quiet machine. */
const PATIENCE = 60_000;
/** Number of answered requests of which one is sent once more. */
const REPLAYED = 6;

const postgres = forFile(() => startPostgres({ durable: false }));
const the = forFile(async () =>
  startCluster({ documents: [], database: await postgres.createDatabase('load'), third: true }),
);
let readers: ReadersUnderLoad;
beforeAll(async () => {
  const code = normaliseCode((await the.invite(ADA.name)).code) ?? '';
  await joinWithPassword(the.state, code, { password: ADA.password, address: '127.0.0.1' });
  await vi.waitFor(
    () => expect(the.nodes[0].log().match(/a key server came to the dispatcher/g)).toHaveLength(2),
    PATIENCE,
  );
  readers = new ReadersUnderLoad(the, ADA);
  await readers.goOn();
});
afterAll(() => readers?.end());

it('a key server killed, started again, and another one restarted: no error after one retry', async () => {
  const [, killed, restarted] = the.nodes;
  await killed.stop('SIGKILL');
  await readers.goOn();
  await killed.start();
  await vi.waitFor(() => expect(killed.answered()).toBeGreaterThan(0), PATIENCE);
  await restarted?.stop();
  await restarted?.start();
  await readers.goOn();
});

it('the database restarted: no error after one retry, when the balancer has a key server again', async () => {
  const before = readers.again.length;
  await readers.without(async () => {
    await postgres.stop();
    await postgres.start();
    const client = newClient(the.balancer);
    await vi.waitFor(async () => {
      const answer = await client.dispatcher.request({ origin: ORIGINS.keyServer, path: '/healthz', method: 'GET' });
      await answer.body.dump();
      expect(answer.statusCode).toBe(200);
    }, PATIENCE);
  });
  await readers.goOn();
  expect(readers.again.length).toBeGreaterThan(before);
});

it('the dispatcher killed and started again: no error after one retry, and passwords are hashed by the others', async () => {
  const [dispatcher, ...others] = the.nodes;
  await dispatcher.stop('SIGKILL');
  await readers.goOn();
  for (const other of others) expect(other.log()).toContain('the dispatcher is lost');
  await dispatcher.start();
  await vi.waitFor(() => expect(dispatcher.answered()).toBeGreaterThan(0), PATIENCE); // requests below are tried once
});

it('afterwards: each code has connected one device, no device is lost, a request that comes again gets its keys', async () => {
  await readers.end();
  const { races, answered, signedIn } = readers;
  for (const { statuses } of races) expect(statuses.toSorted()).toEqual([200, 403]);
  const devices = races.flatMap(({ connected }) => connected);
  const row = await the.state.database.first<{ count: number }>('SELECT count(*) AS count FROM devices');
  expect([devices.length, Number(row?.count)]).toEqual([races.length, races.length]);
  const client = newClient(the.balancer, '127.0.2.3');
  for (const device of devices) await readers.askForKey(client, device);
  for (const { request, device } of answered.filter((_, index) => index % REPLAYED === 0)) {
    const { status, body } = await postBy(client, KEY_REQUEST_PATH, request);
    const { keys, refused } = await openKeyAnswer(body, request, device.deviceKey.key);
    expect([status, keys.length, refused]).toEqual([200, 1, []]);
  }
  for (const visitor of [signedIn[0], signedIn.at(-1)])
    expect((await visitor?.get('/-/account'))?.text).toContain(ADA.name);
});
