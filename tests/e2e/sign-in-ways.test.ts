/** Ways of signing in from a protected article lead back to it, with query and place. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import { forFile } from '../support/for-file.ts';
import { startRig } from '../support/keyserver-rig.ts';
import { codeInMail, startMailServer } from '../support/mail-server.ts';
import { offerPlans } from '../support/offers.ts';
import { takePictures } from '../support/pages/browser.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { createVisitor } from '../support/reading-site-visitor.ts';
import { inRelease } from '../support/tier.ts';

const PASSWORD = 'correct horse battery';
const ARTICLE = '<title>Tide</title><h1>Tide</h1><p style="height:3000px">It came.</p><h2 id="end">End</h2>';

const browser = forFile(launchChromium);
const smtp = forFile(() => startMailServer());
const rig = forFile(() => startRig({ config: { mail: smtp.settings } }));
beforeAll(async () => {
  await offerPlans(rig, [{ name: 'daily', title: 'Daily', trial: 7 }]);
  const article = { path: '/20/tide.html', content: ARTICLE, mediaType: 'text/html; charset=utf-8', set: 'day-1' };
  await publish(rig.publisher, rig.host, article);
  await createVisitor(rig.server.readingUrl).join(await rig.codeFor('ada@example.org'), PASSWORD);
});

async function newPage(): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 390, height: 800 } });
  onTestFinished(() => context.close());
  return context.newPage();
}

/** Comes from the article, in a browser that has never been here. */
async function wanting(): Promise<Page> {
  const page = await newPage();
  await page.goto(`${rig.server.readingUrl}/-/sign-in?to=${encodeURIComponent('/20/tide.html?from=mail')}#end`);
  await page.waitForSelector('#by-mail');
  return page;
}

async function askForCode(page: Page, name = 'ada@example.org'): Promise<string> {
  await page.fill('#mail-name', name);
  await page.click('#by-mail button');
  await page.waitForSelector('#code');
  return smtp.take(name);
}

async function expectArticle(page: Page): Promise<void> {
  await page.waitForSelector('h1:text-is("Tide")');
  expect(page.url()).toBe(`${rig.server.documentsUrl}/20/tide.html?from=mail#end`);
}

/** Types a code, and taps the button while the page sends it already. */
async function tapTwice(page: Page, code: string): Promise<void> {
  await page.evaluate((typed) => {
    const field = document.querySelector('#code') as HTMLInputElement;
    field.value = typed;
    field.dispatchEvent(new Event('input'));
    setTimeout(() => field.form?.requestSubmit(), 4);
  }, code);
}

it('a code that is typed sends itself, once, and leads to the article', async () => {
  const page = await wanting();
  expect(await page.isVisible('#passkey')).toBe(false); // passkeys need a host name
  await tapTwice(page, codeInMail(await askForCode(page)));
  await expectArticle(page);
});

inRelease(() => {
  it('signing up leads to the article, also after “start again” and a code that is over', async () => {
    const page = await wanting();
    const signUp = async () => {
      await page.fill('#name', 'new@example.org');
      await page.click('#sign-up button');
      return codeInMail(await smtp.take('new@example.org'));
    };
    await page.click('#begin');
    const first = await signUp();
    expect(await page.textContent('.lead')).toMatch(/^A code is on its way/);
    expect(await page.isDisabled('#send-again button')).toBe(true);
    await page.click('text=start again');
    await signUp();
    rig.passTime(601);
    await page.fill('#code', first);
    await page.click('text=Get a new code');
    await page.fill('#code', await signUp());
    await expectArticle(page);
  });

  it('the link of the mail leads another browser to the article, and stays good when its page is loaded again', async () => {
    const link = /http:\S+#\S+/.exec(await askForCode(await wanting()))?.[0] ?? '';
    const page = await newPage();
    await page.goto(link);
    await page.waitForSelector('#as:not([hidden])');
    await page.reload();
    await page.click('text=Read as ada@example.org');
    await expectArticle(page);
  });

  it('a password leads to the article, also after a wrong one and the way over the sign-up', async () => {
    const page = await wanting();
    await page.click('#begin');
    await page.click('text=Sign in');
    await page.click('summary');
    await page.fill('#name', 'ada@example.org');
    for (const password of ['not this one', PASSWORD]) {
      await page.fill('#password', password);
      await page.click('#sign-in button');
    }
    await expectArticle(page);
  });

  it('a code, and the link of its mail in another browser, sign in; opening the link alone uses nothing up', async () => {
    const page = await newPage();
    await page.goto(`${rig.server.readingUrl}/-/sign-in`);
    await takePictures(page, 'mail-sign-in');
    const mail = await askForCode(page);
    await takePictures(page, 'mail-code');
    const link = /http:\S+#\S+/.exec(mail)?.[0] ?? '';
    const other = await newPage();
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
    await takePictures(page, 'mail-account');
    await page.click('#reader-link button');
    await page.waitForSelector('#reader[open]');
    await takePictures(page, 'mail-reader');
    await page.goto(`${rig.server.readingUrl}/-/delete`);
    await takePictures(page, 'mail-delete');
  });
});
