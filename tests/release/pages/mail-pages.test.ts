/** The pages of mail in Chromium. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { type Rig, startRig } from '../../support/keyserver-rig.ts';
import { mailSettings } from '../../support/mail-server.ts';

let rig: Rig;
const browser = forFile(launchChromium);
let mail = '';
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData: (stream, _session, done) => {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    stream.on('end', () => {
      mail = text.replaceAll('=\r\n', '').replaceAll('=3D', '=');
      done();
    });
  },
});
beforeAll(async () => {
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const url = `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`;
  const signUp = { plan: 'daily', days: 7 };
  rig = await startRig({ config: { mail: mailSettings(url), signUp } });
  await rig.invite({ name: 'ada@example.org' });
});
afterAll(async () => {
  await rig?.close();
  await new Promise<void>((resolve) => smtp.close(() => resolve()));
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
  await expect.poll(() => mail).not.toBe('');
  const link = /http:\S+#\S+/.exec(mail)?.[0] ?? '';
  const other = await (await browser.newContext()).newPage();
  for (const _ of [1, 2]) {
    await other.goto('about:blank');
    await other.goto(link);
    await other.waitForSelector('text=Read as ada@example.org');
    expect(other.url()).not.toContain('#');
  }
  await page.fill('#code', /Subject: .*?(\d{6})/.exec(mail)?.[1] ?? '');
  await page.click('#mail-code button');
  await page.waitForURL(`${rig.server.documentsUrl}/**`);
  await page.goto(`${rig.server.readingUrl}/-/account`);
  await shoot('account');
  await page.click('#reader-link button');
  await page.waitForSelector('#reader[open]');
  await shoot('reader');
  await page.goto(`${rig.server.readingUrl}/-/delete`);
  await shoot('delete');
});
