/** Attack 93 for commands and for the log: each command says what it is for, and no other secret; the log of the key server says none. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addAdminCommand } from '../../cli/commands/admin.ts';
import { addKeyServerCommand } from '../../cli/commands/keyserver.ts';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { readConfig } from '../../keyserver/config/config.ts';
import { readMasterKeys } from '../../keyserver/storage/master-key.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { signatureOf } from '../../serve/stripe/objects.ts';
import { askForKeys, bind } from '../support/device.ts';
import { forFile } from '../support/for-file.ts';
import { listen, temporaryFolder, writeServerConfig } from '../support/keyserver-rig.ts';
import { codeInMail, startMailServer } from '../support/mail-server.ts';
import { CLIENT, type OpenIdProviderRig, startOpenIdProvider } from '../support/openid-provider.ts';
import { startPaywall } from '../support/paywall.ts';
import type { Ended } from '../support/programs.ts';
import { createPublisher, sealBundle, setOf } from '../support/publisher-with-sets.ts';
import { createReader, createVisitor, type Visitor } from '../support/reading-site-visitor.ts';
import { openSealedRows } from '../support/sealed-rows.ts';
import { type RunningWispr, runWispr, startWispr } from '../support/wispr.ts';

const PASSWORD = 'correct horse battery staple';
const MAIL_PASSWORD = 'password of the mail server';
const STRIPE = 'whsec_stripe-signs-with-this-secret';
const PAYWALL = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const folder = temporaryFolder();
let server: RunningWispr<{ keyserver: string; reading: string; documents: string }>;
const publisher = await createPublisher();
let provider: OpenIdProviderRig;
const paywall = forFile(() => startPaywall(PAYWALL));
const smtp = forFile(() => startMailServer({ disabledCommands: ['STARTTLS'], authOptional: false }));
let deviceId: string;

/** Secrets that no output may have, by what they are; a secret that a command prints on purpose comes in here then. */
const secrets = new Map<string, string>();
/** Everything that was said, by the command that said it. */
const said: [command: string, text: string][] = [];
const commands = new Set<string>();

beforeAll(async () => {
  provider = await startOpenIdProvider(() => `${server.ready.reading}/-/openid/back`);
  const secretFile = (name: string, secret: string) => {
    writeFileSync(join(folder, name), `${secret}\n`, { mode: 0o600 });
    return name;
  };
  writeServerConfig(folder, {
    reading: { listen, documents: { listen, inBrowser: false } },
    admin: { listen },
    mail: {
      ...{ smtp: `smtp://reader@127.0.0.1:${smtp.port}`, from: 'News <news@example.org>' },
      passwordFile: secretFile('mail.secret', MAIL_PASSWORD),
    },
    stripe: { secretFile: secretFile('stripe.secret', STRIPE), plans: { price_daily: 'daily' } },
    entitlement: { url: paywall.url, secretFile: secretFile('paywall.secret', PAYWALL) },
    openid: {
      ...{ issuer: provider.issuer, clientId: CLIENT.id, title: 'School', plan: 'daily' },
      clientSecretFile: secretFile('openid.secret', CLIENT.secret),
    },
  });
  server = await startWispr(['keyserver', '--dev'], { cwd: folder });
  commands.add('keyserver');
  for (const [name, secret] of Object.entries({ PASSWORD, MAIL_PASSWORD, STRIPE, PAYWALL, client: CLIENT.secret }))
    secrets.set(name, secret);
});
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

/** Runs a command, and notes what it said. A secret that it is for is given to `take`, and is one from then on. */
async function run(args: string, take?: (ended: Ended) => string): Promise<Ended> {
  const words = args.split(' ');
  const ended = await runWispr(words, { cwd: folder });
  expect([args, ended.code]).toEqual([args, args === 'admin restore copy.db' ? 1 : 0]);
  commands.add(words.slice(0, words[0] === 'invite' ? 1 : 2).join(' '));
  said.push([`${args}: stderr`, ended.stderr]);
  if (take === undefined) said.push([`${args}: stdout`, ended.stdout]);
  else {
    const secret = take(ended);
    expect(secret).not.toBe('');
    secrets.set(`of ${args}`, secret);
    said.push([`${args}: the rest of stdout`, ended.stdout.replaceAll(secret, '')]);
  }
  return ended;
}

const codeIn = (text: string) => /#([\w-]+)/.exec(text)?.[1] ?? '';
const invite = (args: string) => run(`invite ${args}`, ({ stdout }) => codeIn(stdout));
const of = (name: string) => secrets.get(`of ${name}`) ?? '';
async function keepSealed(when: string): Promise<void> {
  const rows = await withState(readConfig(join(folder, 'keyserver.json')), openSealedRows);
  for (const [row, hex] of rows) secrets.set(`${row} ${when}`, hex);
}
const keep = (name: string, { cookies }: Visitor) => {
  for (const [cookie, value] of cookies) secrets.set(`${name} ${cookie}`, value);
};

it('the secrets of readers, systems and operators come into use', async () => {
  const { keyserver, reading } = server.ready;
  const recipient = fromBase64url(readFileSync(join(folder, 'keyserver.pub'), 'utf8').trim()) ?? new Uint8Array();
  const about = { keyServer: keyserver, reading, content: 'https://cdn.example' };
  const bundle = await sealBundle(publisher, recipient, about);
  writeFileSync(join(folder, 'keys.bundle'), bundle);
  await run('admin import keys.bundle');
  await run('admin plan daily --sets day-*');
  await run('admin plan');
  await invite('ada@example.org --plan daily');
  await run('invite ada@example.org --plan daily --json', ({ stdout }) => JSON.parse(stdout).code);
  await run('invite bert@example.org --plan daily --mail');
  secrets.set('a mailed invitation', codeIn(await smtp.take('bert@example.org')));
  await run('admin token', ({ stdout }) => stdout.trim());
  await run('admin token --name shop --for subscriptions --json', ({ stdout }) => JSON.parse(stdout).token);
  await run('admin operator odile', ({ stdout }) => codeIn(stdout));
  writeFileSync(join(folder, 'list.csv'), 'name,plan,from,until\ncleo@example.org,daily,,\n');
  await run('admin import list.csv --links links.csv');
  secrets.set('a link of the list', codeIn(readFileSync(join(folder, 'links.csv'), 'utf8')));
});

it('readers sign in by every way, and devices ask', async () => {
  const { keyserver, reading, documents } = server.ready;
  const reader = createReader({ readingUrl: reading, documentsUrl: documents });
  await reader.post('/-/join', { code: of('invite ada@example.org --plan daily'), password: PASSWORD, to: '/' });
  keep('ada', reader);
  keep('documents of ada', reader.documents);
  expect(reader.documents.cookies.size).toBeGreaterThan(0);
  await reader.get('/harbour.html?secret-query=1');
  await fetch(`${keyserver}/somewhere?code=secret-query`);
  expect((await reader.get('/-/account')).status).toBe(200);
  const refused = { name: 'ada@example.org', password: `${PASSWORD} wrong`, to: '/' };
  expect((await createVisitor(reading).post('/-/sign-in', refused)).status).toBe(403);
  const issuer = { keyServer: keyserver, publisher: publisher.root.id };
  const device = await bind(issuer, secrets.get('a mailed invitation') ?? '');
  expect((await askForKeys(device, [setOf(publisher, 'day-1').id])).keys).toHaveLength(1);
  deviceId = device.deviceKey.id;
  await expect(bind(device.provider, 'ABCD-EFGH-JKMN-PQRS')).rejects.toThrow('code-refused');
  const mailed = createVisitor(reading);
  await mailed.post('/-/mail', { name: 'ada@example.org', to: '/' });
  const mail = await smtp.take('ada@example.org');
  secrets.set('link of a mail', codeIn(mail));
  const code = codeInMail(mail);
  expect((await mailed.post('/-/mail-code', { code })).status).toBe(303);
  secrets.set('code of a mail', code);
  keep('mailed', mailed);
  const { headers } = await reader.post('/-/connect-reader', {});
  secrets.set('code for a Reader', codeIn(String(headers.location)));
  provider.person = { sub: 'dora', email: 'dora@example.org', email_verified: true };
  const guest = createVisitor(reading);
  const navigation = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const way = createVisitor(provider.issuer);
  let url = new URL(String((await guest.get('/-/openid', navigation)).headers.location));
  while (url.origin === provider.issuer) {
    const step = await way.get(url.pathname + url.search);
    url = new URL(String(step.headers.location), url);
  }
  for (const name of ['code', 'state']) secrets.set(`openid ${name}`, url.searchParams.get(name) ?? '');
  await guest.get(url.pathname + url.search, { ...navigation, 'sec-fetch-site': 'cross-site' });
  expect((await guest.get('/-/account')).text).toContain('dora@example.org');
  keep('openid', guest);
});

it('other systems tell, and are refused', async () => {
  const { keyserver } = server.ready;
  const shop = async (token: string) => {
    const body = JSON.stringify({ subscriber: 'ada@example.org' });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return (await fetch(`${keyserver}/v1/subscriptions/invite`, { method: 'POST', headers, body })).json();
  };
  const { link } = (await shop(of('admin token --name shop --for subscriptions --json'))) as { link: string };
  secrets.set('code of the API', codeIn(link));
  expect(await shop(of('admin token'))).toMatchObject({ error: 'token-refused' });
  const time = Math.floor(Date.now() / 1000);
  for (const key of [STRIPE, 'whsec_another']) {
    const event = JSON.stringify({ id: 'evt_1', object: 'event', created: time, type: 'x', data: { object: {} } });
    const headers = { 'stripe-signature': signatureOf(event, key, time) };
    await fetch(`${keyserver}/v1/stripe`, { method: 'POST', headers, body: event });
  }
  expect(paywall.asked).not.toEqual([]);
});

it('every command is run', async () => {
  await keepSealed('before');
  await run('admin list');
  await run('admin list --json');
  await run('admin list ada@example.org');
  await run('admin list ada@example.org --json');
  await run('admin why ada@example.org day-1');
  const devices = JSON.parse((await run('admin device bert@example.org --json')).stdout) as { id: string }[];
  await run('admin device bert@example.org');
  await run(`admin device bert@example.org --remove ${devices[0]?.id}`);
  await run('admin invite --state invited --mail');
  const toMany = await smtp.take('cleo@example.org');
  secrets.set('a link mailed to many', codeIn(toMany));
  const [, token = ''] = /unsubscribe\?token=([\w.-]+)/.exec(toMany) ?? [];
  secrets.set('a link that ends such mail', token);
  await fetch(`${server.ready.reading}/-/unsubscribe?token=${token}`, { method: 'POST' });
  await run('admin token --list');
  await run('admin operator --list');
  await run('admin audit');
  await run('admin audit --json');
  await run('admin audit --verify');
  await run('admin backup copy.db');
  await run('admin restore copy.db'); // finds one there
  await run('admin rename cleo@example.org clea@example.org');
  for (const key of ['master', 'recipient', 'devices', 'httpcrypt']) await run(`admin rotate ${key}`);
  for (const [version, key] of await readMasterKeys(join(folder, 'master.key')))
    secrets.set(`master key ${version}`, Buffer.from(key).toString('hex'));
  await keepSealed('after');
  await run('admin rotate master --remove-old');
  await run('admin revoke ada@example.org --dry-run');
  await run('admin revoke ada@example.org');
  await run('invite clea@example.org --remove');
  await run('admin operator --remove odile');
  await run('admin token --revoke shop');
  const config = JSON.parse(readFileSync(join(folder, 'keyserver.json'), 'utf8'));
  writeFileSync(join(folder, 'restored.json'), JSON.stringify({ ...config, data: 'restored.db' }));
  await run('admin backup late.db'); // the other one is under the older master key
  await run('admin restore late.db -c restored.json');
  expect([...commands].sort()).toEqual([...everyCommand(), 'invite'].sort());
});

it('attack 93: each command says what it is for alone, and the log no secret, name, path or query', async () => {
  const { stdout, stderr } = await server.stop();
  expect(stderr.split('\n').filter((line) => line.includes('"route"')).length).toBeGreaterThan(10);
  for (const route of ['document', '/-/join', '/v1/keys']) expect(stderr).toContain(`"route":"${route}"`);
  expect(stderr).not.toContain(deviceId);
  expect(stderr).not.toMatch(/example\.org|harbour|somewhere|secret-query/);
  said.push(['keyserver: the log', stderr], ['keyserver: stdout', stdout]);
  expect(secrets.size).toBeGreaterThan(40);
  expect([...secrets].filter(([, secret]) => secret.length < 6)).toEqual([]);
  const found = said.flatMap(([command, text]) =>
    [...secrets].filter(([, secret]) => isIn(text, secret)).map(([name]) => `${command}: ${name}`),
  );
  expect(found).toEqual([]);
});

/** Finds a secret in any of the ways in which secrets are written. */
function isIn(text: string, secret: string): boolean {
  if (/^\d{6}$/.test(secret)) return new RegExp(`(?<!\\d)${secret}(?!\\d)`).test(text);
  const bytes = Buffer.from(secret, /^[0-9a-f]{64,}$/.test(secret) ? 'hex' : 'utf8');
  const forms = [secret, secret.replaceAll('-', ''), encodeURIComponent(secret), secret.replace(/^whsec_/, '')];
  for (const encoding of ['base64', 'base64url', 'hex'] as const) forms.push(bytes.toString(encoding));
  return forms.some((form) => text.includes(form.replace(/=+$/, '')));
}

/** A new command has to come into this file. */
function everyCommand(): string[] {
  const program = new Command();
  addAdminCommand(program);
  addKeyServerCommand(program);
  return program.commands.flatMap((command) => [
    ...(command.name() === 'keyserver' ? ['keyserver'] : []),
    ...command.commands.map((each) => `${command.name()} ${each.name()}`),
  ]);
}
