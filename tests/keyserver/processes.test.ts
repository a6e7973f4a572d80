/** A key server whose requests several processes answer, as an operator starts it, behind TLS. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { encodeHandOver, PUBLICATION_PATH } from '../../core/publication/hand-over.ts';
import { readConfig } from '../../keyserver/config/config.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { checkAudit } from '../../keyserver/storage/audit-check.ts';
import { countsSince } from '../../keyserver/storage/counts.ts';
import { openState } from '../../keyserver/storage/state.ts';
import { makeCertificate } from '../support/certificates.ts';
import { newClient, ORIGINS } from '../support/cluster.ts';
import { startContentHost } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { startMailServer } from '../support/mail-server.ts';
import { processesIn } from '../support/programs.ts';
import { encodeSnapshot, putFile, TIMESTAMP_PATH, timestampAt } from '../support/publication-rig.ts';
import { createPublisher, sealBundle } from '../support/publisher-with-sets.ts';
import { createVisitor } from '../support/reading-site-visitor.ts';
import { storeIn } from '../support/store.ts';
import { inRelease } from '../support/tier.ts';
import { runWisprProgram, startWispr } from '../support/wispr.ts';

const PROCESSES = 3;
const LIMITS = {
  ...{ metadataPerAddress: 10, publishingRefusals: 4 },
  ...{ signInsPerNameAndAddress: 3, mailsPerNameAndAddress: 3 },
};
/** Milliseconds, for what takes one or two seconds on a quiet machine. */
const PATIENCE = 30_000;
const ADA = 'ada@example.org';

const the = forFile(async () => {
  const [folder, site] = [temporaryFolder(), temporaryFolder()];
  const smtp = { open: 0, most: 0 };
  const [certificate, host, publisher, mailServer, store, ...ports] = await Promise.all([
    makeCertificate(folder, ['DNS:keys.news.example', 'DNS:read.news.example', 'DNS:pages.news.example']),
    startContentHost(),
    createPublisher(),
    startMailServer({
      disabledCommands: ['STARTTLS'],
      onConnect: (_, done) => {
        smtp.most = Math.max(smtp.most, ++smtp.open);
        done();
      },
      onClose: () => void smtp.open--,
    }),
    storeIn(folder),
    ...Array.from({ length: 4 }, freePort),
  ]);
  const [keys, reading, documents, metrics] = ports.map((port) => ({ host: '127.0.0.1', port }));
  const tls = { certificate: 'leaf.pem', key: 'leaf.key' };
  const file = join(folder, 'keyserver.json');
  const config = {
    ...{ origin: ORIGINS.keyServer, listen: keys, tls },
    reading: {
      ...{ origin: ORIGINS.readingUrl, listen: reading, tls },
      documents: { origin: ORIGINS.documentsUrl, listen: documents, tls, inBrowser: false },
    },
    ...store,
    ...{ masterKey: 'master.key', publicKey: 'keyserver.pub', metrics: { listen: metrics }, limits: LIMITS },
    publication: { push: [site] },
    mail: { smtp: `smtp://127.0.0.1:${mailServer.port}`, from: 'News <news@example.org>', connections: 1 },
  };
  writeFileSync(file, JSON.stringify(config));
  const state = await openState(readConfig(file));
  const origins = { keyServer: ORIGINS.keyServer, reading: ORIGINS.readingUrl };
  const about = { ...origins, content: host.origin };
  await importBundle(state, await sealBundle(publisher, state.recipient.publicKey, about), origins);
  await inviteSubscriber(state, { name: ADA });
  const way = (port = 0) => newClient({ host: '127.0.0.1', port, ca: certificate.ca });
  const start = () => startWispr(['keyserver', '--processes', `${PROCESSES}`], { cwd: folder });
  return {
    ...{ folder, site, state, publisher, mailServer, smtp, start },
    program: await start(),
    token: (await createToken(state, 'publisher', 1)).token,
    keys: way(keys?.port),
    reading: way(reading?.port),
    metrics: async () => (await fetch(`http://127.0.0.1:${metrics?.port}/metrics`)).text(),
    close: async () => {
      await the.program.stop();
      await state.database.close();
      await Promise.all([mailServer.close(), host.close()]);
    },
  };
});

/** Does the same over as many new connections at once. @returns how often each status came */
async function atOnce(times: number, ask: () => Promise<number>): Promise<Record<number, number>> {
  const statuses = await Promise.all(Array.from({ length: times }, ask));
  return Object.fromEntries([...Map.groupBy(statuses, Number)].map(([status, all]) => [status, all.length]));
}

async function ask(path: string, method: 'GET' | 'PUT' = 'GET', token = '', body?: Uint8Array): Promise<number> {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
  const { dispatcher } = the.keys;
  const options = { origin: ORIGINS.keyServer, path, method, headers, ...(body && { body: Buffer.from(body) }) };
  const answer = await dispatcher.request(options);
  await answer.body.dump();
  return answer.statusCode;
}

const visitor = () => createVisitor(ORIGINS.readingUrl, the.reading.dispatcher);
const wrongToken = () => ask(PUBLICATION_PATH, 'PUT', 'wrong');
const signIn = async (name: string) => (await visitor().signIn(name, 'a wrong password')).status;
const health = () => ask('/healthz');
/** The workers: all of the folder but the program itself. */
const workers = () =>
  processesIn(the.folder)
    .map((line) => Number.parseInt(line, 10))
    .filter((id) => id !== the.program.pid);
const said = (text: string) => the.program.stderr().split(text).length - 1;

it('attack 153: several processes limit, hash and mail as one, and TLS sessions go on at all', async () => {
  for (let turn = 1; turn <= 2 * PROCESSES; turn++) expect(await health()).toBe(200);
  for (let number = 1; number <= PROCESSES; number++)
    expect(the.program.stderr()).toMatch(new RegExp(`"process":${number},.*"route":"/healthz","status":200`));
  expect(the.keys.seen).toEqual({ connections: 2 * PROCESSES, resumed: 2 * PROCESSES - 1 });
  expect(await atOnce(25, () => ask(TIMESTAMP_PATH))).toEqual({ 404: 10, 429: 15 });
  expect(await atOnce(12, wrongToken)).toEqual({ 401: 4, 429: 8 });
  expect(await atOnce(9, () => signIn(ADA))).toEqual({ 403: 3, 429: 6 });
  const askForMail = async () => (await visitor().post('/-/mail', { name: ADA, to: '/' })).status;
  expect(await atOnce(9, askForMail)).toEqual({ 303: 3, 429: 6 });
  for (let mail = 1; mail <= 3; mail++) await the.mailServer.take(ADA);
  expect(the.smtp.most).toBe(1);
  const metrics = await the.metrics();
  for (const line of [
    `wispr_http_requests_total{listener="api",route="/healthz",status="200"} ${2 * PROCESSES}`,
    'wispr_password_hashes_total{outcome="local"} 3',
    'wispr_events_total{event="sign-in-refused",outcome=""} 3',
    'wispr_events_total{event="mail",outcome="sent"} 3',
    'wispr_timestamp_interval_seconds 3600',
    'wispr_database_up 1',
  ])
    expect(metrics.split('\n')).toContain(line);
  expect(metrics).toMatch(/^wispr_certificate_expiry_seconds\{listener="reading"\} \d/m);
});

it('attack 153: what any of several processes takes from the publisher is pushed, once', async () => {
  const { publisher, site, state } = the;
  const snapshot = encodeSnapshot(publisher, 7, state.now());
  putFile(site, '1.root.json', publisher.root.bytes);
  putFile(site, '7.snapshot.json', snapshot);
  const message = encodeHandOver({ snapshot, roots: [], expiries: [] }, publisher.root.signers.snapshot.secretKey);
  expect(await atOnce(PROCESSES, () => ask(PUBLICATION_PATH, 'PUT', the.token, message))).toEqual({ 200: PROCESSES });
  const { timestamp } =
    (await state.database.first<{ timestamp: Uint8Array }>('SELECT timestamp FROM publication')) ?? {};
  await vi.waitFor(() => expect(timestampAt(site)).toEqual(timestamp), PATIENCE);
  expect([said('could not be pushed'), said('was not signed')]).toEqual([0, 0]);
});

inRelease(() => {
  it('attack 153: a process that dies is started again, its limits stay, and others answer meanwhile', async () => {
    const [killed = 0, ...others] = workers();
    expect(others).toHaveLength(PROCESSES - 1);
    process.kill(killed, 'SIGKILL');
    await vi.waitFor(() => expect(said('a process ended: it is started again')).toBe(1), PATIENCE);
    expect(await atOnce(2 * PROCESSES, health)).toEqual({ 200: 2 * PROCESSES });
    await vi.waitFor(() => expect(said('"msg":"started"')).toBe(PROCESSES + 2), PATIENCE);
    expect(workers()).toHaveLength(PROCESSES);
    expect(workers()).toEqual(expect.arrayContaining(others));
    expect(await atOnce(2 * PROCESSES, wrongToken)).toEqual({ 429: 2 * PROCESSES });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) for (const id of workers()) process.kill(id, signal);
    process.kill(the.program.pid, 'SIGHUP');
    await vi.waitFor(() => expect(said('certificates were read again')).toBe(1), PATIENCE);
    expect([await health(), workers().length]).toEqual([200, PROCESSES]);
  });

  it('says once that a port is taken, and that there cannot be so many processes', async () => {
    const run = (count: string) => runWisprProgram(['keyserver', '--processes', count], { cwd: the.folder });
    const taken = await run('2');
    expect([taken.code, taken.stderr.match(/the port is in use/g)]).toEqual([1, ['the port is in use']]);
    for (const wrong of ['0', '65', 'two'])
      expect(await run(wrong)).toMatchObject({ code: 2, stderr: expect.stringContaining('number from 1 to 64') });
  });

  it('attack 153: several processes end with the first one, however that ends, and have counted all', async () => {
    expect(await atOnce(3, () => signIn('ben'))).toEqual({ 403: 3 });
    const [, counted = ''] = /"sign-in-refused",outcome=""\} (\d+)/.exec(await the.metrics()) ?? [];
    expect(Number(counted)).toBeGreaterThanOrEqual(3);
    expect((await the.program.stop()).code).toBe(0);
    expect(processesIn(the.folder)).toEqual([]);
    const counts = await countsSince(the.state.database, 0);
    const refused = counts.filter(({ what }) => what === 'sign-in-refused').map(({ n }) => n);
    expect(refused.reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(Number(counted));
    expect((await checkAudit(the.state.database)).problem).toBeUndefined();
    the.program = await the.start();
    await the.program.stop('SIGKILL');
    await vi.waitFor(() => expect(processesIn(the.folder)).toEqual([]), PATIENCE);
  });
});
