import { expect, it, onTestFinished } from 'vitest';
import { createMailer } from '../../keyserver/mail/mailer.ts';
import { startMailbox } from '../../serve/mailbox.ts';
import { mailSettings } from '../support/mail-server.ts';

it('the pretended mailbox shows what the key server mails, whatever letters are in it', async () => {
  const told: number[] = [];
  const mailbox = await startMailbox(() => told.push(mailbox.mails.length));
  const mailer = createMailer(mailSettings(mailbox.smtp));
  onTestFinished(async () => {
    await mailer.close();
    await mailbox.stop();
  });
  const link = `http://127.0.0.1:8000/-/join#${'A1B2-'.repeat(30)}`;
  const more = { link, name: 'ada', until: '30 November 2026' };
  const site = `Für-ölwürmer-${'ä'.repeat(60)}.example`;
  await mailer.send('adaß@example.org', 'invitation', { ...more, publisher: site, site });
  await mailer.send('ada@example.org', 'invitation', { ...more, publisher: 'News', site: 'News' });
  const text = expect.stringContaining(link);
  expect(mailbox.mails).toMatchObject([
    { to: 'adaß@example.org', subject: expect.stringContaining(site), text },
    { to: 'ada@example.org', subject: expect.stringContaining('News'), text },
  ]);
  expect(told).toEqual([1, 2]);
});
