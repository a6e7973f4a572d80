/** The pages of mail in Chromium. */
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { startRig } from '../../support/keyserver-rig.ts';
import { codeInMail, mailSettings, startMailServer } from '../../support/mail-server.ts';

const browser = forFile(launchChromium);
const smtp = forFile(() => startMailServer({ disabledCommands: ['STARTTLS'] }));
const rig = forFile(() => {
  const mail = mailSettings(`smtp://127.0.0.1:${smtp.port}`);
  return startRig({ config: { mail } });
});
beforeAll(async () => {
  await rig.invite({ name: 'ada@example.org' });
});

it('a code, and the link of its mail in another browser, sign in; opening the link alone uses nothing up', async () => {
  const page = await (await browser.newContext()).newPage();
  const shoot = async (name: string) => {
    const folder = process.env.WISPR_SCREENSHOTS;
    if (folder === undefined) return;
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.screenshot({ path: join(folder, `mail-${name}-${width}.png`), fullPage: true });
    }
  };
  await page.goto(`${rig.server.readingUrl}/-/sign-in`);
  await shoot('sign-in');
  await page.fill('#mail-name', 'ada@example.org');
  await page.click('#by-mail button');
  await page.waitForSelector('#mail-code');
  await shoot('code');
  const mail = await smtp.take('ada@example.org');
  const link = /http:\S+#\S+/.exec(mail)?.[0] ?? '';
  const other = await (await browser.newContext()).newPage();
  for (const _ of [1, 2]) {
    await other.goto('about:blank');
    await other.goto(link);
    await other.waitForSelector('text=Read as ada@example.org');
    expect(other.url()).not.toContain('#');
  }
  const code = codeInMail(mail);
  await page.fill('#code', code === '000000' ? '000001' : '000000');
  await page.waitForSelector('#problem');
  expect((await page.reload())?.request().method()).toBe('GET'); // a form is not sent once more
  await page.waitForSelector('#problem');
  await page.fill('#code', code);
  await page.waitForURL(`${rig.server.documentsUrl}/**`);
  await page.goto(`${rig.server.readingUrl}/-/account`);
  await shoot('account');
  await page.click('#reader-link button');
  await page.waitForSelector('#reader[open]');
  await shoot('reader');
  await page.goto(`${rig.server.readingUrl}/-/delete`);
  await shoot('delete');
});
