/** A key server that starts before its PostgreSQL, as after a power cut. */
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../../cache-config/child.ts';
import { startKeyServer } from '../../../keyserver/server.ts';
import { configIn, logged, temporaryFolder } from '../../support/keyserver-rig.ts';
import { startCluster } from '../../support/postgres-cluster.ts';

it('waits for PostgreSQL to start, and refuses a database that it then does not have', async () => {
  const cluster = await startCluster({ durable: false });
  onTestFinished(() => cluster.close());
  const database = await cluster.createDatabase('news');
  const config = { ...configIn(temporaryFolder()), data: undefined, database };
  await (await startKeyServer(config, { log: logged().log })).close();
  await cluster.stop();
  const { log, text } = logged();
  const port = await freePort();
  const starting = startKeyServer({ ...config, listen: { host: '127.0.0.1', port } }, { log });
  const elsewhere = startKeyServer({ ...config, database: database.replace('news', 'none') }, { log: logged().log });
  const refused = expect(elsewhere).rejects.toMatchObject({ code: 'store-unusable' });
  const health = async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.status;
  await expect.poll(health).toBe(503);
  await cluster.start();
  const server = await starting;
  expect(await health()).toBe(200);
  await server.close();
  await refused;
  expect(text().match(/database-away/g)).toHaveLength(1);
});
