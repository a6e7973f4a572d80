import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../keyserver/config/config.ts';
import { configTemplate } from '../../keyserver/config/template.ts';
import { forEachTest } from '../support/for-file.ts';
import { rigForTest } from '../support/keyserver-rig.ts';
import { HOUR, PublicationRig } from '../support/publication-rig.ts';

const the = forEachTest(() => PublicationRig.start({ metrics: { listen: { host: '127.0.0.1', port: 0 } } }));

/** Reads metrics by name and labels, as the text has them. */
async function metrics(): Promise<Map<string, number>> {
  const response = await fetch(the.rig.server.metricsUrl ?? '');
  expect(response.headers.get('content-type')).toContain('text/plain');
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

it('say when every role expires, how old the timestamp is, and what became of the pushes', async () => {
  const before = await metrics();
  expect([...before.keys()].filter((name) => /role|timestamp_age|publication/.test(name))).toEqual([]);
  expect(before.get('wispr_push_succeeded_timestamp_seconds{target="1"}')).toBe(0);
  await the.publish(7);
  the.rig.passTime(100);
  const after = await metrics();
  expect(after.get('wispr_publication_version')).toBe(7);
  expect(after.get('wispr_publication_withdrawn')).toBe(0);
  const seconds = { snapshot: 900, targets: 1900, timestamp: 48 * HOUR - 100, root: 730 * 24 * HOUR - 100 };
  for (const [role, left] of Object.entries(seconds)) {
    const value = after.get(`wispr_role_expiry_seconds{role="${role}"}`) ?? 0;
    expect(Math.abs(value - left)).toBeLessThan(30);
  }
  const age = after.get('wispr_timestamp_age_seconds') ?? 0;
  expect(age >= 100 && age < 130).toBe(true);
  expect(after.get('wispr_push_succeeded_timestamp_seconds{target="1"}')).toBeGreaterThan(the.now() - 200);
});

it('attack 80: fall below zero when the timestamp has expired, and say when it is withdrawn', async () => {
  await the.publish(7, { closed: true });
  the.rig.passTime(49 * HOUR);
  const values = await metrics();
  expect(values.get('wispr_publication_withdrawn')).toBe(1);
  expect(values.get('wispr_role_expiry_seconds{role="timestamp"}')).toBeLessThan(0);
});

it('attack 93: count answers by route and status, without a name, a path or a query', async () => {
  const { server } = the.rig;
  await the.rig.invite({ name: 'Ada Lovelace' });
  await the.publish(7);
  await fetch(`${server.url}/.well-known/wispr/timestamp.json?secret=1`);
  await fetch(`${server.url}/no/such/page-of-mine`);
  await fetch(`${server.documentsUrl}/private/letter.html?secret=1`);
  await fetch(`${server.url}/v1/bundle`, { method: 'PUT', headers: { authorization: 'Bearer guess' } });
  const text = await (await fetch(server.metricsUrl ?? '')).text();
  for (const line of [
    'wispr_http_requests_total{listener="api",route="/v1/publication",status="200"} 1',
    'wispr_http_requests_total{listener="api",route="/.well-known/wispr/:file",status="200"} 1',
    'wispr_http_requests_total{listener="api",route="none",status="404"} 1',
    'wispr_http_requests_total{listener="api",route="/v1/bundle",status="401"} 1',
  ])
    expect(text).toContain(line);
  const { id } = the.rig.publisher.root;
  for (const secret of ['Ada', 'page-of-mine', 'letter', 'secret', the.token, 'guess', the.site, id])
    expect(text).not.toContain(secret);
});

it('are at a listener of their own, which is off unless configured, and on loopback', async () => {
  const { metricsUrl = '', url, readingUrl } = the.rig.server;
  expect((await fetch(`${url}/metrics`)).status).toBe(404);
  expect(await (await fetch(`${readingUrl}/metrics`)).text()).not.toContain('wispr_');
  expect((await fetch(metricsUrl.replace('/metrics', '/'))).status).toBe(404);
  expect((await fetch(metricsUrl, { method: 'POST' })).status).toBe(404);
  expect((await rigForTest()).server.metricsUrl).toBeUndefined();
});

it('attack 61: DNS rebinding does not reach them', async () => {
  const { port } = new URL(the.rig.server.metricsUrl ?? '');
  const status = await new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/metrics', headers: { host: `evil.example:${port}` } });
    asked.once('response', (response) => resolve(response.resume().statusCode)).once('error', reject);
    asked.end();
  });
  expect(status).toBe(421);
});

it('attack 49: a role in a message cannot write metrics of its own', async () => {
  const text = readFileSync(join(the.rig.folder, 'keyserver.db')).toString('latin1');
  expect(text).not.toContain('forged');
  const message = `{"expiries":[{"expires":1,"role":"x\\"} 1\\nforged 1"}],"roots":[],"signature":"","snapshot":""}`;
  expect((await the.put('/v1/publication', Buffer.from(message))).status).toBe(400);
  expect(await (await fetch(the.rig.server.metricsUrl ?? '')).text()).not.toContain('forged');
});

it('are all that the alerts and the dashboard name, and no other', async () => {
  await the.publish(7);
  const text = await (await fetch(the.rig.server.metricsUrl ?? '')).text();
  const file = (name: string) => readFileSync(new URL(`../../keyserver/operations/${name}`, import.meta.url), 'utf8');
  const { groups } = parse(file('alerts.yml'));
  const rules = groups[0].rules as { alert: string; expr: string; labels: object; annotations: object }[];
  const panels = JSON.parse(file('dashboard.json')).panels as { targets: { expr: string }[] }[];
  expect([groups.length, panels.length]).toEqual([1, 8]);
  const [, runbook = ''] = readFileSync('docs/operations.md', 'utf8').split('\n## Alerts\n');
  const rows = Array.from(runbook.matchAll(/^\| (`Wispr.*?) \|/gm), ([, names = '']) => names);
  const told = rows.join(', ').replaceAll('`', '').split(', ');
  expect(told.sort()).toEqual(rules.map(({ alert }) => alert).sort());
  for (const { labels, annotations } of rules) {
    expect(labels).toEqual({ severity: expect.stringMatching(/^(?:page|ticket)$/) });
    expect(annotations).toEqual({ summary: expect.stringMatching(/\.$/) });
  }
  for (const { expr } of [...rules, ...panels.flatMap(({ targets }) => targets)]) {
    for (const [name] of expr.matchAll(/wispr_\w+/g)) expect(text).toContain(`\n# TYPE ${name} `);
    for (const [, label = ''] of expr.matchAll(/[{,]\s*(\w+)\s*[=!]/g))
      expect(['event', 'job', 'listener', 'outcome', 'role', 'route', 'status']).toContain(label);
    expect(expr.split('(').length).toBe(expr.split(')').length);
  }
});

it('a publication that will be stale, a clock that was ahead, and a target that fails make it not ready, and it stays in the load balancer', async () => {
  const { database } = the.rig.server.state;
  const ask = async (path: string) => {
    const response = await fetch(the.rig.server.url + path);
    const { problems } = (await response.json()) as { problems: string[] };
    return [response.status, ...problems];
  };
  const both = async () => [await ask('/healthz'), await ask('/readyz')];
  await the.publish(7);
  expect(await both()).toEqual([[200], [200]]);
  the.rig.passTime(23 * HOUR);
  expect(await ask('/readyz')).toEqual([200]);
  the.rig.passTime(2 * HOUR);
  expect(await both()).toEqual([[200], [503, 'publication']]);
  the.rig.passTime(-27 * HOUR);
  expect(await ask('/readyz')).toEqual([503, 'clock']);
  the.rig.passTime(2 * HOUR);
  const failed =
    'INSERT INTO pushes (target, failed) VALUES (?, ?) ON CONFLICT (target) DO UPDATE SET failed = excluded.failed';
  await database.run(failed, the.site, the.now());
  expect(await ask('/readyz')).toEqual([200]);
  await database.run('UPDATE pushes SET succeeded = succeeded - 11000');
  expect(await ask('/readyz')).toEqual([503, 'push']);
  await database.run('ALTER TABLE probe RENAME TO gone');
  await expect.poll(() => ask('/healthz')).toEqual([503, 'database']);
  expect(await (await fetch(the.rig.server.metricsUrl ?? '')).text()).toMatch(/^wispr_database_up 0$/m);
  expect(await both()).toEqual(Array(2).fill([503, 'database']));
  await database.run('ALTER TABLE gone RENAME TO probe');
});

it('are configured on loopback or not at all', () => {
  const file = join(the.rig.folder, 'keyserver.json');
  const write = (members: string) =>
    writeFileSync(file, configTemplate({ dev: true }).replace(/^\{/m, `{ ${members},`));
  write('"metrics": { "listen": { "host": "127.0.0.1", "port": 9464 } }');
  expect(readConfig(file).metrics?.listen.port).toBe(9464);
  for (const host of ['0.0.0.0', '10.0.0.1', 'metrics.example']) {
    write(`"metrics": { "listen": { "host": "${host}", "port": 9464 } }`);
    expect(() => readConfig(file)).toThrow(/must be loopback/);
  }
  write('"publication": { "resignMinutes": 120, "freshHours": 2 }');
  expect(() => readConfig(file)).toThrow(/must be less than the time/);
  write('"publication": { "push": ["s3://bucket/x"] }');
  expect(readConfig(file).publication).toEqual({ resignMinutes: 60, freshHours: 48, push: ['s3://bucket/x'] });
});
