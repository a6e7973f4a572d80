/** `wispr admin invite`: links and mails for everybody who never came. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { createMailer } from '../../keyserver/mail/mailer.ts';
import { mailInvitations, planMailing } from '../../keyserver/mail/mailing.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { forFile } from '../support/for-file.ts';
import { rigForFile } from '../support/keyserver-rig.ts';
import { codeInMail, mailSettings, startMailServer } from '../support/mail-server.ts';
import { startProgram } from '../support/programs.ts';
import { createVisitor } from '../support/reading-site-visitor.ts';
import { runWispr } from '../support/wispr.ts';

let postponed = 0;
const mailServer = forFile(() =>
  startMailServer({
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, done) => {
      const [kind = ''] = address.split(/[\d@]/);
      if (kind === 'later') postponed++;
      const refusals: Record<string, [string, number]> = { gone: ['5.1.1 no', 550], later: ['4.2.1 no', 450] };
      const [text, responseCode] = refusals[kind] ?? [];
      done(text === undefined ? undefined : Object.assign(new Error(text), { responseCode }));
    },
  }),
);
const smtp = () => mailSettings(`smtp://127.0.0.1:${mailServer.port}`);
const rig = rigForFile(() => ({ config: { mail: smtp() }, startAt: nowInSeconds() }));
let configFile: string;
beforeAll(async () => {
  const { state } = rig.server;
  for (const name of ['one', 'two', 'three', 'four', 'five', 'six', 'seven'])
    await definePlan(state, { name, sets: ['day-*'] });
  configFile = rig.writeConfig();
});

const wispr = (...args: string[]) => runWispr(['admin', 'invite', ...args, '-c', configFile], { cwd: rig.folder });
const addresses = () => mailServer.mails.splice(0).map(({ to }) => to);
async function subscribers(plan: string, names: readonly string[]): Promise<void> {
  for (const name of names) await rig.invite({ name, plan });
  await rig.server.state.database.run('DELETE FROM invitations');
}

it('mails everybody who never came, once a day, and says whom it left out', async () => {
  await subscribers('one', ['ada@example.org', 'bert@example.org', 'gone@example.org', 'Library', 'came@example.org']);
  await createVisitor(rig.server.readingUrl).join(await rig.codeFor('came@example.org'));
  const dry = await wispr('--state', 'new', '--plan', 'one', '--mail', '--dry-run');
  expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining('3 people would get an invitation')]);
  expect(addresses()).toEqual([]);
  const first = await wispr('--state', 'new', '--plan', 'one', '--mail', '--rate', '100');
  expect(first.stderr).toMatch(/1 person left out: no mail.*mailed 2 invitations, 1 address refused.*; 0 people left/s);
  expect(first.code).toBe(0);
  const [mail = ''] = mailServer.mails.map(({ text }) => text);
  expect(mail).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click');
  expect(addresses().toSorted()).toEqual(['ada@example.org', 'bert@example.org']);
  const [, code = ''] = /#([A-Z0-9-]{19})/.exec(mail) ?? [];
  expect((await createVisitor(rig.server.readingUrl).join(code)).status).toBe(200);
  const again = await wispr('--state', 'invited', '--plan', 'one', '--mail', '--json');
  const none = { sent: 0, refused: 0, left: 0, due: 0, unsubscribed: 0 };
  expect(JSON.parse(again.stdout)).toEqual({ ...none, unaddressed: 1, bounced: 1, recent: 1 });
  expect(addresses()).toEqual([]);
  const rows = "SELECT details FROM audit WHERE action = 'invite-many' ORDER BY number LIMIT 1";
  expect(await rig.server.state.database.all(rows)).toEqual([{ details: expect.stringContaining('"mailed":3') }]);
});

it.each([
  ['two', 'SIGINT', 3],
  ['three', 'SIGKILL', null],
] as const)('goes on where a run was stopped: plan %s, %s', async (plan, signal, code) => {
  const names = ['a', 'b', 'c'].map((each) => `${each}.${plan}@example.org`);
  await subscribers(plan, names);
  const args = ['admin', 'invite', '--state', 'new', '--plan', plan, '--mail', '-c', configFile];
  const program = startProgram('bin/wispr.js', [...args, '--rate', '1']);
  await vi.waitUntil(() => mailServer.mails.length > 0, { timeout: 10_000 });
  expect((await program.stop(signal)).code).toBe(code);
  const rest = await wispr('--state', 'new', '--plan', plan, '--mail', '--rate', '100');
  expect([rest.code, addresses().toSorted()]).toEqual([0, names]);
});

async function mailDue(plan: string) {
  const { state, url, readingUrl } = rig.server;
  const wish = { state: 'new', plan } as const;
  const { due } = await planMailing(state, wish, true);
  const mailer = createMailer(smtp());
  const pace = { rate: 100, connections: 1, signal: new AbortController().signal, onProgress: () => undefined };
  const sender = { state, mailer, origins: { keyServer: url, reading: readingUrl } };
  const mailed = await mailInvitations(sender, wish, due, state.now() + 86_400, pace);
  await mailer.close();
  return { ...mailed, due: (await planMailing(state, wish, true)).due.length };
}

it('mails each person once, where two do it at the same time', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'].map((each) => `${each}.seven@example.org`);
  await subscribers('seven', names);
  const runs = await Promise.all([mailDue('seven'), mailDue('seven')]);
  expect(addresses().toSorted()).toEqual(names);
  expect(runs.map(({ left }) => left)).toEqual([0, 0]);
});

it('ends where the mail server takes nothing, and voids what it did not take', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `later${index}@example.org`);
  await subscribers('four', names);
  const failed = { sent: 0, refused: 0, left: 12, due: 12, failure: { code: 'mail-failed' } };
  expect(await mailDue('four')).toMatchObject(failed);
  expect([postponed, await rig.server.state.database.all('SELECT 1 FROM invitations')]).toEqual([10, []]);
});

it('writes links into a new file of the owner, once for those who are new, and again for the invited', async () => {
  await subscribers('five', ['Smith, John', 'eva@example.org']);
  const file = join(rig.folder, 'links.csv');
  expect((await wispr('--state', 'new', '--plan', 'five', '--links', file)).code).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const [header, line = ''] = readFileSync(file, 'utf8').split('\n');
  expect(header).toBe('name,link,expires,plan,seats');
  expect(line).toMatch(/^"Smith, John",https?:\/\/[^,]+#[A-Z0-9-]{19}[^,]*,\d{4}-\d\d-\d\d,five,$/);
  const [, code = ''] = /#([A-Z0-9-]{19})/.exec(line) ?? [];
  expect((await createVisitor(rig.server.readingUrl).join(code)).status).toBe(200);
  expect(await wispr('--state', 'new', '--plan', 'five', '--links', file)).toMatchObject({ code: 2 });
  const said = async (state: string) =>
    (await wispr('--state', state, '--plan', 'five', '--links', `${file}.${state}`)).stderr;
  expect(await said('new')).toContain('0 links');
  expect(await said('invited')).toContain('1 link written');
});

it('ends mail to many by a link without a sign-in, from anywhere, and leaves codes for signing in', async () => {
  await subscribers('six', ['ulla@example.org']);
  await wispr('--state', 'new', '--plan', 'six', '--mail');
  const mail = await mailServer.take('ulla@example.org');
  const [, link = ''] = /^List-Unsubscribe: <([^>]+)>\r$/m.exec(mail) ?? [];
  expect(mail.split(link).length).toBeGreaterThan(2); // the text has it too
  const { pathname, search } = new URL(link);
  const visitor = createVisitor(rig.server.readingUrl);
  const post = (path: string) =>
    visitor.post(path, { 'List-Unsubscribe': 'One-Click' }, { origin: 'https://m.example' });
  expect((await visitor.get(pathname + search)).text).toContain('<button>No more invitations</button>');
  const other = search.replace(/(\d+)\./, (_, id) => `${Number(id) + 1}.`);
  for (const wrong of ['', '?token=1', other]) expect((await post(pathname + wrong)).status).toBe(404);
  expect((await post(pathname + search)).status).toBe(200);
  await rig.server.state.database.run('UPDATE mailings SET tried = NULL, mailed = NULL');
  const later = await wispr('--state', 'invited', '--plan', 'six', '--mail', '--json');
  expect(JSON.parse(later.stdout)).toMatchObject({ due: 0, unsubscribed: 1 });
  await visitor.post('/-/mail', { name: 'ulla@example.org', to: '/' });
  expect(codeInMail(await mailServer.take('ulla@example.org'))).toHaveLength(6);
});
