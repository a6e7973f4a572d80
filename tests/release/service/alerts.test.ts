/** Alerts, each fired in a real Prometheus by its cause. Only times are shorter: those of windows, and those that something has to last. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../../cache-config/child.ts';
import { startKeyServer } from '../../../keyserver/server.ts';
import { signatureOf } from '../../../serve/stripe/objects.ts';
import { makeSelfSigned } from '../../support/certificates.ts';
import { configIn, logged, type Rig, rigForTest, temporaryFolder, writeConfigAt } from '../../support/keyserver-rig.ts';
import { mailSettings } from '../../support/mail-server.ts';
import { startCommand } from '../../support/programs.ts';
import { HOUR, PublicationRig } from '../../support/publication-rig.ts';
import { publish } from '../../support/publisher-with-sets.ts';
import { createVisitor } from '../../support/reading-site-visitor.ts';

const DAY = 24 * HOUR;
const folder = temporaryFolder();
const text = readFileSync('keyserver/operations/alerts.yml', 'utf8');
const names = (parse(text).groups[0].rules as { alert: string }[]).map(({ alert }) => alert);
const metrics = { listen: { host: '127.0.0.1', port: 0 } };

/** A key server whose hosts of mail and of the paywall are away, and whose publication is from two days ago. */
async function neglected(): Promise<PublicationRig> {
  const secretFile = join(folder, 'secret');
  writeFileSync(secretFile, 'whsec_bm90aGluZyBhdCBhbGwsIDMyIGJ5dGVzIGxvbmcu', { mode: 0o600 });
  const the = await PublicationRig.start({
    metrics,
    mail: mailSettings('smtp://127.0.0.1:9'),
    entitlement: { url: 'http://127.0.0.1:9/', secretFile, cacheMinutes: 1, outageHours: 1 },
    stripe: { secretFile, plans: { price_daily: 'daily' } },
  });
  onTestFinished(() => the.close());
  const { rig } = the;
  rig.passTime(-2 * DAY - HOUR);
  const old = the.snapshot(6);
  await the.publish(7);
  rig.host.files.set('/.well-known/wispr/timestamp.json', Buffer.from(await the.timestamp(6, old)));
  rig.passTime(2 * DAY + 2 * HOUR);
  rmSync(join(the.site, '.well-known'), { recursive: true });
  await rig.server.keeper.idle();
  return the;
}

/** A request that every key server refuses. */
function askFromElsewhere({ server }: PublicationRig['rig']): Promise<Response> {
  return fetch(`${server.url}/v1/keys`, { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } });
}

/** Mail that cannot be sent, a paywall that does not answer, and a payment for an unknown plan. */
async function keepFailing(the: PublicationRig): Promise<void> {
  const { server, invite, idOf } = the.rig;
  for (let each = 0; each < 8; each++) {
    const name = `ada${Math.random()}@example.org`;
    await invite({ name });
    await createVisitor(server.readingUrl).post('/-/mail', { name, to: '/' });
    await server.state.renewRights?.(await idOf(name));
  }
  const object = { id: 'sub_1', status: 'active', items: { data: [{ price: { id: 'price_other' } }] } };
  const event = { id: 'evt_1', created: the.now(), type: 'customer.subscription.updated', data: { object } };
  const body = JSON.stringify(event);
  const secret = readFileSync(join(folder, 'secret'), 'utf8');
  const headers = { 'stripe-signature': signatureOf(body, secret, the.now()) };
  expect((await fetch(`${server.url}/v1/stripe`, { method: 'POST', body, headers })).status).toBe(202);
}

/** A site that was withdrawn by a key server whose clock was ahead, which is the dispatcher of nobody. */
async function withdrawn(): Promise<PublicationRig> {
  const dispatcher = { listen: { host: '127.0.0.1', port: await freePort() } };
  const the = await PublicationRig.start({ metrics, dispatcher });
  onTestFinished(() => the.close());
  the.rig.passTime(2 * DAY);
  await the.publish(7, { closed: true });
  the.rig.passTime(-2 * DAY);
  return the;
}

/** A reading site of which one content host does not answer. */
async function halfServed() {
  const rig = await rigForTest({ config: { metrics, fetchFrom: {} }, before: ['http://127.0.0.1:9'] });
  const page = { path: '/index.html', content: '<h1>Front page</h1>', mediaType: 'text/html' };
  await publish(rig.publisher, rig.host, page);
  return rig;
}

async function askForPage({ server }: Rig, status: number): Promise<void> {
  expect((await fetch(`${server.documentsUrl}/`)).status).toBe(status);
}

/** A key server whose certificate ends in five days. */
async function almostExpired() {
  const place = temporaryFolder();
  const tls = { certificate: join(place, 'cert.pem'), key: join(place, 'key.pem') };
  await makeSelfSigned(place, 'keys.news.example', {
    notBefore: new Date(Date.now() - DAY * 1000),
    notAfter: new Date(Date.now() + 5 * DAY * 1000),
  });
  const config = { ...configIn(place), dev: false, trustedProxies: ['127.0.0.1'], metrics };
  const at = (origin: string) => ({ origin, listen: metrics.listen });
  const reading = { ...at('https://read.news.example'), documents: at('https://pages.news.example') };
  const server = await startKeyServer({ ...config, origin: 'https://keys.news.example', tls, reading }, logged());
  onTestFinished(server.close);
  return server;
}

/** `wispr keyserver` on a disk of 4 MB. */
async function confined() {
  const place = temporaryFolder();
  const ports = await Promise.all(Array.from({ length: 4 }, freePort));
  const [, , , at = 0] = ports;
  const listen = { host: '127.0.0.1', port: at };
  writeConfigAt(place, ports, { data: 'disk/keyserver.db', metrics: { listen } });
  const script = 'mkdir disk && mount -t tmpfs -o size=4m tmpfs disk && exec "$0" "$1" keyserver --dev';
  const wispr = [process.execPath, join(process.cwd(), 'bin/wispr.js')];
  const program = startCommand(['unshare', '-m', 'sh', '-c', script, ...wispr], { cwd: place });
  onTestFinished(async () => void (await program.stop('SIGKILL')));
  const url = `http://127.0.0.1:${ports[0]}`;
  const health = async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.text();
  await expect.poll(health, { timeout: 60_000 }).toBe('{"problems":[]}');
  const disk = join(`/proc/${program.pid}/root`, place, 'disk');
  return { program, url, health, disk, metricsUrl: `http://127.0.0.1:${at}/metrics` };
}

async function startPrometheus(servers: readonly { readonly metricsUrl?: string | undefined }[]) {
  const shorter = text.replaceAll(/\[\d+[mh]\]/g, '[10s]').replaceAll(/for: \d+[mh]/g, 'for: 0s');
  writeFileSync(join(folder, 'alerts.yml'), shorter);
  const targets = servers.map(({ metricsUrl }) => new URL(metricsUrl ?? '').host);
  const configuration = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['alerts.yml'],
    scrape_configs: [{ job_name: 'wispr', static_configs: [{ targets }] }],
  };
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(configuration));
  const port = await freePort();
  const flags = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`];
  const program = startCommand(['/usr/bin/prometheus', ...flags], { cwd: folder });
  onTestFinished(async () => void (await program.stop('SIGKILL')));
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => undefined);
    return answer?.ok ? (await answer.json()).data : {};
  };
  const scrapes = async () =>
    Number((await ask('query?query=min(count_over_time(up[1h]))')).result?.[0]?.value[1] ?? 0);
  return {
    firing: async () => {
      const { alerts = [] } = (await ask('alerts')) as { alerts?: { labels: { alertname: string } }[] };
      return alerts.map(({ labels }) => labels.alertname);
    },
    /** Waits until all servers were asked: a counter that begins is not seen to grow. */
    scraped: async () => {
      const before = await scrapes();
      await expect.poll(scrapes, { timeout: 60_000 }).toBeGreaterThan(before + 1);
    },
  };
}

it('attack 145, attack 146: fires each alert by its real cause', async () => {
  const [old, closed, half] = [await neglected(), await withdrawn(), await halfServed()];
  const [expiring, small] = [await almostExpired(), await confined()];
  const servers = [old.rig.server, closed.rig.server, half.server, expiring, small];
  const { firing, scraped } = await startPrometheus(servers);
  const fired = new Set<string>();
  const look = async () => {
    for (const name of await firing()) fired.add(name);
    return names.filter((name) => !fired.has(name));
  };
  await askFromElsewhere(old.rig);
  await scraped();
  fired.clear(); // servers were all absent before the first scrape
  await keepFailing(old);
  for (let each = 0; each < 10; each++) expect((await askFromElsewhere(old.rig)).status).toBe(403);
  await askForPage(half, 200);
  await old.run(); // the target has lost the publication
  await expect.poll(look, { timeout: 90_000 }).toEqual(['WisprDown', 'WisprDatabaseDown', 'WisprErrors']);
  writeFileSync(join(small.disk, 'large'), Buffer.alloc(2 ** 20));
  while (existsSync(small.disk)) {
    try {
      writeFileSync(join(small.disk, 'large'), Buffer.alloc(65_536), { flag: 'a' });
    } catch {
      break;
    }
  }
  await expect.poll(small.health).toBe('{"problems":["disk-full"]}');
  half.host.files.clear();
  await askForPage(half, 502);
  await scraped();
  for (let each = 0; each < 20; each++) await askForPage(half, 502);
  await expect.poll(look, { timeout: 60_000 }).toEqual(['WisprDown']);
  rmSync(join(small.disk, 'large'));
  await expect.poll(small.health).toBe('{"problems":[]}');
  await small.program.stop('SIGKILL');
  await expect.poll(look, { timeout: 60_000 }).toEqual([]);
});
