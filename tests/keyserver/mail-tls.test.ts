/** Mail over TLS, at a real mail server: a password and a code reach the server that the configuration names, over TLS, or none at all. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { SMTPServerOptions } from 'smtp-server';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createMailer } from '../../keyserver/mail/mailer.ts';
import { makeCertificate, type TestCertificate } from '../support/certificates.ts';
import { rigForFile, temporaryFolder } from '../support/keyserver-rig.ts';
import { type MailServer, mailSettings, startMailServer } from '../support/mail-server.ts';
import { runWispr } from '../support/wispr.ts';

/** Address of this machine that is not taken for this machine: the demands on all others hold for it. */
const ELSEWHERE = '[::ffff:127.0.0.1]';
const FROM = 'The Saltmere Packet <reader@news.example>';
const PASSWORD = 'mail-server-password';

const rig = rigForFile();
let passwordFile: string;
let good: TestCertificate;
let other: TestCertificate;
beforeAll(async () => {
  passwordFile = join(rig.folder, 'smtp.password');
  writeFileSync(passwordFile, `${PASSWORD}\n`, { mode: 0o600 });
  good = await makeCertificate(rig.folder, ['IP:127.0.0.1', 'IP:::ffff:7f00:1']);
  other = await makeCertificate(temporaryFolder(), ['DNS:mail.another.example']);
});

async function start({ key, cert }: TestCertificate, options: SMTPServerOptions = {}): Promise<MailServer> {
  const server = await startMailServer({ key, cert, ...options });
  onTestFinished(server.close);
  return server;
}

/** Trusts it as an operator does by NODE_EXTRA_CA_CERTS. */
function trust({ ca }: TestCertificate): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, ca]);
  onTestFinished(() => setDefaultCACertificates(before));
}

async function send(smtp: string): Promise<void> {
  const mailer = createMailer(mailSettings(smtp, { passwordFile }));
  try {
    await mailer.send('ada@example.org', 'moved', { publisher: 'x', site: 'y' });
  } finally {
    await mailer.close();
  }
}

const FORMS = [
  ['smtps', { secure: true }],
  ['smtp', {}],
] as const;

describe.each(FORMS)('%s', (scheme, options) => {
  const at = ({ port }: MailServer) => `${scheme}://reader@${ELSEWHERE}:${port}`;

  it('signs in and sends over TLS', async () => {
    trust(good);
    const server = await start(good, options);
    await send(at(server));
    expect(server.signIns).toEqual([{ password: PASSWORD, overTls: true }]);
    expect(server.mails).toHaveLength(1);
  });

  it.each([
    ['no authority that is trusted', () => good, () => undefined],
    ['another name', () => other, () => trust(other)],
  ])('sends nothing to a server whose certificate is of %s', async (_, certificate, prepare) => {
    prepare();
    const server = await start(certificate(), options);
    await expect(send(at(server))).rejects.toMatchObject({ code: 'mail-failed' });
    expect([server.signIns, server.mails]).toEqual([[], []]);
  });
});

it.each(['reader@', ''])(
  'attack: STARTTLS is taken out of what the server offers: smtp://%s… sends nothing to another machine',
  async (user) => {
    const server = await start(good, { disabledCommands: ['STARTTLS'] });
    const smtp = `smtp://${user}${ELSEWHERE}:${server.port}`;
    const mailer = createMailer(mailSettings(smtp, user ? { passwordFile } : {}));
    const sent = mailer.send('ada@example.org', 'moved', { publisher: 'x', site: 'y' });
    await expect(sent).rejects.toMatchObject({ code: 'mail-failed' });
    await mailer.close();
    expect([server.signIns, server.mails]).toEqual([[], []]);
  },
);

describe('wispr invite --mail', () => {
  function inviteBy(smtp: string, ...flags: string[]): string[] {
    const { listen, reading, data, database, masterKey, publicKey } = rig.config;
    const origins = { origin: rig.server.url, listen, reading: { ...reading, origin: rig.server.readingUrl } };
    const config = { ...origins, data, database, masterKey, publicKey, mail: { smtp, from: FROM, passwordFile } };
    writeFileSync(join(rig.folder, 'mail.json'), JSON.stringify(config));
    return ['invite', 'ada@example.org', '--mail', '-c', 'mail.json', ...flags];
  }
  const openInvitations = () => rig.server.state.database.all('SELECT code_hash FROM invitations');

  it('mails the link, prints it on demand only, and the link is good', async () => {
    const server = await start(good, { secure: true });
    const smtp = `smtps://reader@127.0.0.1:${server.port}`;
    trust(good);
    const run = (...flags: string[]) => runWispr(inviteBy(smtp, ...flags), { cwd: rig.folder });
    const quiet = await run();
    expect(quiet).toMatchObject({ code: 0, stdout: '' });
    expect(quiet.stderr).toContain('the invitation was mailed');
    const [, code = ''] = /#([A-Z0-9-]{19})\./.exec(server.mails[0]?.text ?? '') ?? [];
    expect(code).not.toBe('');
    expect(quiet.stderr).not.toContain(code);
    const shown = await run('--link', '--json');
    const { code: printed } = JSON.parse(shown.stdout) as { code: string };
    expect(server.mails[1]?.text).toContain(`#${printed}.`);
    expect(server.signIns).toEqual(Array(2).fill({ password: PASSWORD, overTls: true }));
    expect(quiet.stderr + shown.stdout + shown.stderr).not.toContain(PASSWORD);
  });

  it('makes no invitation where the server is not the right one', async () => {
    const before = await openInvitations();
    const server = await start(good, { secure: true });
    const args = inviteBy(`smtps://reader@127.0.0.1:${server.port}`);
    const { code, stdout, stderr } = await runWispr(args, { cwd: rig.folder });
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('[mail-failed]')]);
    expect(await openInvitations()).toEqual(before);
    expect([server.signIns, server.mails]).toEqual([[], []]);
  });
});
