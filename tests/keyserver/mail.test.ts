/** Mail of the reading site, at a real mail server on loopback. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { isMailAddress } from '../../keyserver/mail/address.ts';
import { createMailer } from '../../keyserver/mail/mailer.ts';
import { listSubscribers } from '../../keyserver/subscriptions/directory.ts';
import { nameKey, parseSubscriberName, renameSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { forFile } from '../support/for-file.ts';
import { rigForFile, rigForTest, temporaryFolder } from '../support/keyserver-rig.ts';
import { codeInMail as codeIn, mailSettings, startMailServer } from '../support/mail-server.ts';
import { offerPlans } from '../support/offers.ts';
import { createVisitor, type Visitor } from '../support/reading-site-visitor.ts';
import { runWispr } from '../support/wispr.ts';

const REFUSALS: Readonly<Record<string, string>> = {
  gone: '5.1.1 <gone@example.org>: no such mailbox',
  barred: '5.7.1 <barred@example.org>: relay access denied',
};
/** Name by which the mail server was greeted last, and the end of its wait. */
let greeting: string | undefined;
let release: (() => void) | undefined;
const mailServer = forFile(() =>
  startMailServer({
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, done) =>
      password === 'right' ? done(null, { user: username }) : done(new Error('no')),
    onRcptTo: ({ address }, session, done) => {
      greeting = session.hostNameAppearsAs;
      const [kind = ''] = address.split('@', 1);
      if (kind === 'slow') release = done;
      else done(kind in REFUSALS ? Object.assign(new Error(REFUSALS[kind]), { responseCode: 550 }) : undefined);
    },
  }),
);
let url: string;
const rig = rigForFile(() => {
  url = `smtp://127.0.0.1:${mailServer.port}`;
  return { config: { mail: mailSettings(url) } };
});
beforeAll(async () => {
  await offerPlans(rig, [{ name: 'daily', title: 'Daily', trial: 7 }]);
  await rig.invite({ name: 'ada@example.org' });
});

const browser = () => createVisitor(rig.server.readingUrl);
const mailTo = (address: string) => mailServer.take(address);
const linkCode = (text: string) => /#([A-Z0-9-]+)/.exec(text)?.[1] ?? '';
async function ask(visitor: Visitor, name: string, to = '/'): Promise<string> {
  const way = new URLSearchParams({ wish: 'sign-in', to });
  expect((await visitor.post('/-/mail', { name, to })).headers.location).toBe(`/-/mail?${way}`);
  return mailTo(name);
}

/** Insists that a code is refused, and says so at an address of its own: a page that a form was sent to could not be loaded again. */
async function expectRefused(visitor: Visitor, code: string, problem: 'over' | 'wrong', to = '/20/harbour.html') {
  const { status, headers } = await visitor.post('/-/mail-code', { code, wish: 'sign-in', to });
  expect([status, headers.location]).toEqual([303, `/-/mail?${new URLSearchParams({ wish: 'sign-in', to, problem })}`]);
  const { status: shown, text } = await visitor.get(String(headers.location));
  const says = { wrong: 'That code doesn’t match', over: 'This code no longer works' }[problem];
  expect([shown, text.includes(says)]).toEqual([200, true]);
}

it('signs in by the code of a mail, once, and leads to the headline that was wanted', async () => {
  const visitor = browser();
  const code = codeIn(await ask(visitor, 'ada@example.org', '/20/harbour.html'));
  const copy = new Map(visitor.cookies);
  const taken = await visitor.post('/-/mail-code', { code });
  expect([taken.status, taken.headers.location]).toEqual([303, '/20/harbour.html']);
  expect((await visitor.get('/-/account')).text).toContain('ada@example.org');
  const back = await visitor.get('/-/mail?wish=sign-in&to=/20/harbour.html');
  expect([back.status, back.headers.location]).toEqual([303, '/20/harbour.html']);
  const again = browser();
  for (const [name, value] of copy) again.cookies.set(name, value);
  await expectRefused(again, code, 'over');
});

it('takes the codes that two windows of a browser asked for, in any order, and counts none as wrong', async () => {
  for (const name of ['zoe@example.org', 'zita@example.org']) await rig.invite({ name });
  const visitor = browser();
  const first = codeIn(await ask(visitor, 'zoe@example.org', '/one.html'));
  const second = codeIn(await ask(visitor, 'zita@example.org', '/two.html'));
  const leadsTo = async (code: string) => (await visitor.post('/-/mail-code', { code })).headers.location;
  expect([await leadsTo(first), await leadsTo(second)]).toEqual(['/one.html', '/two.html']);
  const sql = 'SELECT tries FROM mail_codes WHERE tries < 5 UNION ALL SELECT count FROM wrong_mail_codes';
  expect(await rig.server.state.database.all(sql)).toEqual([]);
});

it('attack 46: a code is refused in another browser, after five wrong ones, and after ten minutes', async () => {
  await rig.invite({ name: 'bert@example.org' });
  const visitor = browser();
  const code = codeIn(await ask(visitor, 'bert@example.org'));
  await expectRefused(browser(), code, 'over');
  const wrong = code === '000000' ? '000001' : '000000';
  for (let each = 0; each < 4; each++) await expectRefused(visitor, wrong, 'wrong');
  for (const last of [wrong, code]) await expectRefused(visitor, last, 'over');
  const late = browser();
  const second = codeIn(await ask(late, 'bert@example.org'));
  rig.passTime(601);
  await expectRefused(late, second, 'over');
});

it('attack 46: an address that has typed too many wrong codes is refused before its next one is looked at', async () => {
  const narrow = await rigForTest({ limits: { joinsPerAddress: 2 }, config: { mail: mailSettings(url) } });
  const guesser = createVisitor(narrow.server.readingUrl);
  const guess = async () => (await guesser.post('/-/mail-code', { code: '000000' })).status;
  expect([await guess(), await guess(), await guess()]).toEqual([303, 303, 429]);
});

it('attack 94: after ten wrong codes of a name, its mails have the link alone, which signs in from any browser', async () => {
  await rig.invite({ name: 'carla@example.org' });
  for (const _ of [1, 2]) {
    const visitor = browser();
    const code = codeIn(await ask(visitor, 'carla@example.org'));
    const wrong = code === '000000' ? '000001' : '000000';
    for (let each = 0; each < 5; each++) await visitor.post('/-/mail-code', { code: wrong });
  }
  const mail = await ask(browser(), 'carla@example.org');
  expect(codeIn(mail)).toBe('');
  const other = browser();
  const code = linkCode(mail);
  expect(JSON.parse((await other.post('/-/invitation', { code })).text)).toEqual({ name: 'carla@example.org' });
  expect((await other.post('/-/join', { code, to: '' })).status).toBe(200);
  expect((await browser().post('/-/join', { code, to: '' })).status).toBe(403);
});

it('attack 94: no spelling of a name gets a code whose wrong tries count for another name', async () => {
  const name = `${'z'.repeat(200)}@example.org`;
  await rig.invite({ name });
  const wide = String.fromCodePoint(0x1d433).repeat(150) + name.slice(150); // two UTF-16 units each
  await browser().post('/-/mail', { name: wide, to: '/' });
  const sql = "SELECT subscriber FROM mail_codes WHERE name = ''"; // a name too long to keep
  expect(await rig.server.state.database.all(sql)).toEqual([{ subscriber: null }]);
});

it('attack 103: no padding of a name gets it more mails than the limit', async () => {
  const limits = { mailsPerNameAndAddress: 3 };
  const narrow = await rigForTest({ limits, config: { mail: mailSettings(url) } });
  await narrow.invite({ name: 'olga@example.org' });
  const { state, readingUrl } = narrow.server;
  const asked = async (name: string) => (await createVisitor(readingUrl).post('/-/mail', { name, to: '/' })).status;
  const olga = 'olga@example.org';
  for (const name of [olga, ` ${olga}`, `${olga.toUpperCase()}${' '.repeat(60)}`]) expect(await asked(name)).toBe(303);
  for (const name of [olga, `${' '.repeat(70)}${olga}`]) expect(await asked(name)).toBe(429);
  for (let each = 0; each < 2; each++) await asked(`${olga}${' '.repeat(60)}${each}`);
  await asked(`${olga}${'z'.repeat(60)}`);
  const codes = await state.database.all<{ subscriber: number }>('SELECT subscriber FROM mail_codes');
  expect(codes.filter(({ subscriber }) => subscriber !== null)).toHaveLength(3);
  for (const _ of [1, 2, 3]) await mailTo(olga);
});

it('attack 142: mails to one address are bounded a day, whoever asks, and codes of a session in number', async () => {
  const config = { mail: mailSettings(url), trustedProxies: ['127.0.0.1'] };
  const narrow = await rigForTest({ limits: { mailsPerNameAndDay: 4 }, config });
  const name = 'otto@example.org';
  await narrow.invite({ name });
  const { state, readingUrl } = narrow.server;
  const ask = (address: string) =>
    createVisitor(readingUrl).post('/-/mail', { name, to: '/' }, { origin: readingUrl, 'x-forwarded-for': address });
  for (const quarter of [1, 2, 3, 4, 5, 6]) {
    const { status } = await ask(`192.0.2.${quarter}`);
    expect([quarter, status]).toEqual([quarter, quarter > 4 ? 429 : 303]);
    narrow.passTime(3600);
  }
  narrow.passTime(86_400);
  expect((await ask('192.0.2.9')).status).toBe(303);
  const reader = await narrow.join(name);
  for (let each = 0; each < 8; each++) await reader.post('/-/connect-reader', {});
  const open = 'SELECT 1 FROM invitations WHERE own = 1 AND used_by IS NULL';
  expect(await state.database.all(open)).toHaveLength(5);
  for (let mail = 0; mail < 5 + 4; mail++) await mailTo(name);
  expect(mailServer.mails).toEqual([]);
});

it('never tells whether a name is known', async () => {
  const answers = [];
  for (const name of ['ada@example.org', 'eve@example.org']) {
    const visitor = browser();
    const { status, headers } = await visitor.post('/-/mail', { name, to: '/' });
    const { text, headers: kept } = await visitor.get('/-/mail?to=/x', { 'accept-encoding': 'br' });
    expect(kept['content-encoding']).toBeUndefined(); // a length that tells of the address beside "to"
    answers.push([status, headers.location, text.replaceAll(name, '')]);
  }
  expect(answers[1]).toEqual(answers[0]);
  await mailTo('ada@example.org');
  expect(mailServer.mails).toEqual([]);
});

it('attack 50: no form of another site asks for mail, takes a code, or deletes data', async () => {
  const send = (path: string) => browser().post(path, { name: 'ada@example.org' }, { origin: 'https://evil.example' });
  for (const path of ['mail', 'mail-code', 'move', 'sign-up', 'delete', 'my-data', 'password', 'connect-reader'])
    expect((await send(`/-/${path}`)).status).toBe(403);
});

it('attack 49: names, subjects and own templates put no header into a mail', async () => {
  const templates = temporaryFolder();
  writeFileSync(join(templates, 'moved.eta'), 'Hello <%= it.site %>\n\n<b><%= it.site %></b>');
  const mailer = createMailer(mailSettings(url, { templates }));
  await mailer.send('dora@example.org', 'moved', { publisher: 'x', site: 'a\rBcc: eve@example.org' });
  await mailer.close();
  const mail = await mailTo('dora@example.org');
  expect(mail.split('\r\n\r\n')[0]).not.toMatch(/^Bcc:/m);
  expect(mail).toContain('text/plain');
  expect(mail).toContain('&lt;b&gt;a'); // the HTML part has it
});

it('attack 49: sends to plain addresses alone, and to all that can be the name of a subscriber', () => {
  for (const name of [
    ...['ada@example.org', "o'neill@example.org", 'r&d@example.org', 'a+b_c-d.e@a.b-c.example', 'a@bücher.example'],
    ...['müller@c.de', 'अजय@डाटा.भारत', "_!#$%&'*+/=?^_{|}~-@example.org", `${'a'.repeat(64)}@${'b.'.repeat(93)}cde`],
    'a..b@c.de', // Japan's oldest mobile network gave such out; quoted in the mail
  ])
    expect([isMailAddress(name), parseSubscriberName(name)]).toEqual([true, name]);
  for (const name of [
    ...['a@b.example, eve@example.org', 'Ada <a@b.example>', 'a@b.example\r\nBcc: x@y.example', 'a@b.example\n'],
    ...['a@c.de;x', 'a<b>@c.de', '"a b"@c.de', 'a@b', 'a@[192.0.2.1]', 'a@192.0.2.1', 'ｖictim@c.de', 'a(b)@c.de'],
    ...['a@xn--ü.example', 'müller@c.de;x', 'mü ller@c.de', '+a@c.de', `${'a'.repeat(65)}@c.de`],
    `${'a'.repeat(64)}@${'b.'.repeat(93)}cdef`,
  ])
    expect(isMailAddress(name), name).toBe(false);
});

it('mails to an address with every character of RFC 5322, and to an international domain in ASCII', async () => {
  const mailer = createMailer(mailSettings(url));
  for (const [name, address] of [
    ["_!#$%&'*+/=?^_{|}~-@example.org", "_!#$%&'*+/=?^_{|}~-@example.org"],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['müller@bücher.example', 'müller@bücher.example'],
  ] as const) {
    await mailer.send(name, 'moved', { publisher: 'x', site: 'y' });
    expect(await mailTo(name)).toContain(`To: ${address}`); // the mail server shows domains as they are written
  }
  await mailer.close();
  const plain = await startMailServer({ hideSMTPUTF8: true, disabledCommands: ['AUTH', 'STARTTLS'] });
  const bounces: unknown[] = [];
  const other = createMailer(mailSettings(`smtp://127.0.0.1:${plain.port}`), {
    note: async (...noted) => void bounces.push(noted),
  });
  const sent = other.send('müller@c.de', 'moved', { publisher: 'x', site: 'y' });
  await expect(sent).rejects.toMatchObject({ code: 'mail-refused', message: expect.stringContaining('SMTPUTF8') });
  expect([bounces.length, plain.mails]).toEqual([1, []]);
  await Promise.all([other.close(), plain.close()]);
  expect(nameKey('ADA@Bücher.example')).toBe(nameKey('ada@xn--bcher-kva.example'));
});

it('attack 49: a field with a NUL is refused, and stored nowhere', async () => {
  for (const [path, fields] of [
    ['/-/mail', 'name=a%00b&to=/'],
    ['/-/sign-up', 'name=a%00b@example.org&to=/'],
    ['/-/mail', 'name=ada@example.org&to=%00/'],
    ['/-/sign-in', 'name=a%00b&password=x&to=/'],
    ['/-/sign-in', 'name=ada@example.org&name=%00&password=x'],
  ] as const) {
    const { status, text } = await browser().post(path, fields);
    expect([path, status]).toEqual([path, 400]);
    expect(text).toContain('bad-request');
  }
  expect((await browser().get('/-/enter?challenge=%00&to=%00')).status).toBe(401);
  const stored = await rig.server.state.database.all<{ name: string }>('SELECT name FROM mail_codes');
  expect(stored.filter(({ name }) => name.startsWith('a') && name !== 'ada@example.org')).toEqual([]);
});

it('a mail that is not taken, a wrong password and a server without TLS fail closed', async () => {
  const folder = temporaryFolder();
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, 'wrong\n', { mode: 0o600 });
  const withUser = url.replace('//', '//user@');
  for (const [config, to, code, answer] of [
    [mailSettings(url), 'gone@example.org', 'mail-refused', '550 5.1.1 … no such mailbox'],
    [mailSettings(url), 'barred@example.org', 'mail-failed', '550 5.7.1 … relay access denied'],
    [mailSettings(withUser, { passwordFile }), 'fritz@example.org', 'mail-failed', '535 no'],
    [mailSettings(url.replace('smtp', 'smtps')), 'fritz@example.org', 'mail-failed', 'ESOCKET'],
  ] as const) {
    const counted: string[] = [];
    const count = (what: string) => void counted.push(what);
    const mailer = createMailer(config, { readingSite: 'https://read.news.example', count });
    const said = expect.stringContaining(answer);
    const refusal = { code, message: said, fields: { answer: said } };
    await expect(mailer.send(to, 'moved', { publisher: 'x', site: 'y' })).rejects.toMatchObject(refusal);
    expect(counted).toEqual([code.replace('-', ' ')]);
    await mailer.close();
  }
  expect(greeting).toBe('read.news.example');
  const counted: string[] = [];
  const mailer = createMailer(mailSettings(url, { queue: 1 }), { count: (what) => void counted.push(what) });
  for (const to of ['fred@example.org', 'greta@example.org', 'hugo@example.org'])
    mailer.sendLater(to, 'moved', { publisher: 'x', site: 'y' });
  await mailer.close();
  expect(counted).toEqual(['mail dropped', 'mail sent', 'mail sent']);
  for (const to of ['fred@example.org', 'greta@example.org']) await mailTo(to);
});

it('notes an address that the mail server refuses for good, until the subscriber has another name', async () => {
  const { database } = rig.server.state;
  await rig.invite({ name: 'gone@example.org' });
  await browser().post('/-/mail', { name: 'gone@example.org', to: '/' });
  const noted = () => listSubscribers(database, { state: 'bounced' }, rig.server.state.now());
  await vi.waitUntil(() => rig.log().includes('550 5.1.1 … no such mailbox'));
  expect((await noted()).entries).toHaveLength(1);
  const { stdout } = await runWispr(['admin', 'list', 'gone@example.org', '-c', rig.writeConfig()]);
  expect(stdout).toContain('mail is refused: 550 5.1.1');
  await renameSubscriber(rig.server.state, 'gone@example.org', 'here@example.org');
  expect((await noted()).entries).toEqual([]);
});

it('answers 503 while as many mails wait as may, to every name alike, and counts nothing (attack 140)', async () => {
  const narrow = await rigForTest({ config: { mail: mailSettings(url, { queue: 1 }) } });
  for (const name of ['slow@example.org', 'petra@example.org']) await narrow.invite({ name });
  const asked = async (name: string) => {
    const { status, headers, text } = await createVisitor(narrow.server.readingUrl).post('/-/mail', { name, to: '/' });
    return [status, headers['retry-after'], text];
  };
  expect((await asked('slow@example.org'))[0]).toBe(303);
  await vi.waitUntil(() => release);
  const full = [503, '60', expect.stringContaining('Try again in a minute')];
  for (let each = 0; each < 4; each++) expect(await asked('petra@example.org')).toEqual(full);
  expect(await asked('nobody@example.org')).toEqual(await asked('petra@example.org'));
  release?.();
  await mailTo('slow@example.org');
  await vi.waitUntil(async () => (await asked('petra@example.org'))[0] === 303);
  await mailTo('petra@example.org');
});

it('signs up once, moves, downloads and deletes', async () => {
  const visitor = browser();
  await visitor.post('/-/sign-up', { name: 'gerd@example.org', to: '/a.html' });
  const taken = await visitor.post('/-/mail-code', { code: codeIn(await mailTo('gerd@example.org')) });
  expect(taken.headers.location).toBe('/a.html');
  await visitor.post('/-/move', { name: 'gerda@example.org' });
  await visitor.post('/-/mail-code', { code: codeIn(await mailTo('gerda@example.org')) });
  await mailTo('gerd@example.org');
  const data = JSON.parse((await visitor.post('/-/my-data', {})).text);
  expect(data).toMatchObject({ name: 'gerda@example.org', hasPassword: false, subscriptions: [{ plan: 'daily' }] });
  const reader = await visitor.post('/-/connect-reader', {});
  expect(reader.headers.location).toMatch(/\/-\/join\?reader=1#[A-Z0-9-]{19}\./);
  expect((await visitor.post('/-/delete', {})).status).toBe(200);
  const again = browser();
  await again.post('/-/sign-up', { name: 'gerd@example.org', to: '/' });
  await again.post('/-/mail-code', { code: codeIn(await mailTo('gerd@example.org')) });
  expect(JSON.parse((await again.post('/-/my-data', {})).text).subscriptions).toEqual([]);
});

it('attack 47, attack 133: a copied session adds no credential, connects no Reader, deletes nothing, and ends with “Sign out everywhere”', async () => {
  const name = 'ida@example.org';
  await browser().join(await rig.codeFor(name), 'the owners password');
  const [copied, joined] = [browser(), browser()];
  await copied.signIn(name, 'the owners password');
  const ownCode = async () => {
    const { text } = await copied.post('/-/connect-reader', { as: 'json' });
    expect(await mailTo(name)).toContain('A link that connects a Reader was made');
    return JSON.parse(text).link.split('#')[1].split('.')[0];
  };
  const [first, second] = [await ownCode(), await ownCode()];
  expect((await browser().join(first, 'a thiefs password')).status).toBe(403);
  expect((await joined.join(first)).status).toBe(200); // reads, and proves nothing
  rig.passTime(1000);
  const password = 'a thiefs password';
  for (const thief of [copied, joined]) {
    const paths = ['password', 'move', 'connect-reader', 'my-data', 'delete', 'passkey/new', 'passkey/remove'];
    for (const path of paths) {
      const { status, text } = await thief.post(`/-/${path}`, { password, name: 'eve@example.org', as: 'json' });
      expect([path, status, text.includes('Confirm that it is you')]).toEqual([path, 403, true]);
    }
    expect((await thief.get('/-/delete')).status).toBe(403);
    expect((await thief.post('/-/sign-out-everywhere', { credentials: '1' })).status).toBe(403);
    expect((await thief.get('/-/account')).text).toMatch(/id="confirm"/);
  }
  const owner = browser();
  expect((await owner.signIn(name, 'the owners password')).status).toBe(303);
  await owner.post('/-/password', { password: 'another of the owner' });
  expect(await mailTo(name)).toContain('A password was set');
  expect((await owner.post('/-/sign-out-everywhere', { credentials: '1' })).status).toBe(200);
  for (const ended of [owner, copied, joined]) expect((await ended.get('/-/account')).status).toBe(401);
  expect((await browser().join(second)).status).toBe(403);
  expect((await browser().signIn(name, 'another of the owner')).status).toBe(403);
});

it('attack 140: asks the database the same for a name that is known and one that is not, until the answer is out', async () => {
  const { database } = rig.server.state;
  const asked = async (path: string, name: string) => {
    const statements: string[] = [];
    const spies = (['all', 'first', 'run'] as const).map((method) => {
      const original = database[method].bind(database) as (sql: string, ...values: never[]) => Promise<never>;
      return vi.spyOn(database, method).mockImplementation((sql: string, ...values) => {
        statements.push(sql);
        return original(sql, ...(values as never[]));
      });
    });
    await browser().post(path, { name, to: '/', password: 'not the one of anybody' });
    for (const spy of spies) spy.mockRestore();
    return statements.filter((sql) => /subscribers|mail_codes|invitations|accounts|sessions/.test(sql));
  };
  await rig.invite({ name: 'karl@example.org' });
  for (const path of ['/-/mail', '/-/sign-in']) {
    const [unknown, known] = [await asked(path, 'karx@example.org'), await asked(path, 'karl@example.org')];
    expect(unknown.length).toBeGreaterThan(0);
    expect(known.slice(0, unknown.length)).toEqual(unknown);
    if (path === '/-/mail') await mailTo('karl@example.org'); // the work after the answer is done
  }
});

it('changes and removes the password after signing in, and not otherwise', async () => {
  const visitor = browser();
  await visitor.join(await rig.codeFor('hans@example.org'), 'correct horse');
  rig.passTime(1000);
  await visitor.post('/-/password', { password: 'battery staple' });
  const signIn = (password: string) => browser().signIn('hans@example.org', password);
  expect((await signIn('battery staple')).status).toBe(403);
  const fresh = browser();
  await fresh.post('/-/mail-code', { code: codeIn(await ask(fresh, 'hans@example.org')) });
  await fresh.post('/-/password', { password: 'battery staple' });
  expect((await signIn('battery staple')).status).toBe(303);
  expect((await visitor.get('/-/account')).status).toBe(401);
  await fresh.post('/-/password', { remove: '1' });
  expect((await signIn('battery staple')).status).toBe(403);
  await fresh.post('/-/sign-out-everywhere', {});
  expect((await fresh.get('/-/account')).status).toBe(401);
});

it('attack 93: no code and no address is in the log', () => {
  expect(rig.log()).not.toMatch(/@example\.org|#[A-Z0-9]{4}-/);
});
