import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { startRig } from '../../support/keyserver-rig.ts';
import { expectStory, publishStories } from '../../support/pages/stories.ts';

const PASSWORD = 'correct horse battery';

const rig = forFile(startRig);
const browser = forFile(launchChromium);
beforeAll(() => publishStories(rig));

/** A page of a browser that has never been here; whatever its console or its policies complain about is collected. */
async function openPage(): Promise<{ page: Page; complaints: string[] }> {
  const page = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // A refused page is a 401 or a 403, which the console reports by itself.
    if (message.type() === 'error' && !message.text().includes('status of 40')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
}

async function joinBy(page: Page, name: string): Promise<void> {
  await page.goto(`${rig.server.readingUrl}/-/join`);
  await page.fill('#code', (await rig.invite({ name })).code);
  await page.fill('#password', PASSWORD);
  await page.click('form#join button');
  await page.waitForURL('**/-/account');
}

describe('in Chromium', () => {
  it('a second invitation link in the same tab takes the place of the first', async () => {
    const { page } = await openPage();
    await page.goto(`${rig.server.readingUrl}/-/join#0000-0000-0000-0000`);
    await page.waitForSelector('#refused:not([hidden])');
    await page.goto(`${rig.server.readingUrl}/-/join#${(await rig.invite({ name: 'second try' })).code}`);
    await page.waitForSelector('#as:not([hidden])');
    expect(await page.textContent('#name')).toBe('second try');
    await page.context().close();
  });

  it('a code that is typed takes a password, which can be looked at', async () => {
    const { page, complaints } = await openPage();
    await page.goto(`${rig.server.readingUrl}/-/join`);
    await page.fill('#code', (await rig.invite({ name: 'agnes' })).code);
    await page.fill('#password', PASSWORD);
    await page.check('#show');
    expect(await page.getAttribute('#password', 'type')).toBe('text');
    await page.click('form#join button');
    await page.waitForURL('**/-/account');
    expect(await page.textContent('.lead')).toContain('agnes');
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('attack 50: a page elsewhere can neither sign the reader out nor load a document into itself', async () => {
    const { page } = await openPage();
    await joinBy(page, 'carla');
    const { readingUrl: reading, documentsUrl: documents } = rig.server;
    rig.host.handlers.set('/evil.html', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<form method="post" action="${reading}/-/sign-out"><button>Win</button></form>
        <img id="stolen" src="${documents}/20/boat.png"><iframe src="${documents}/20/story.html"></iframe>`);
    });
    const evil = rig.host.origin.replace('127.0.0.1', 'localhost');
    await page.goto(`${evil}/evil.html`, { waitUntil: 'load' });
    expect(await page.evaluate('document.querySelector("#stolen").naturalWidth')).toBe(0);
    for (const frame of page.frames().slice(1)) expect(await frame.content()).not.toContain('The quay');
    await page.click('button');
    await page.waitForSelector('text=cross-site', { state: 'attached' }); // the text is folded away
    await page.goto(`${reading}/20/story.html`);
    await expectStory(page);
    await page.context().close();
  });

  it('needs no script: the code is typed, and forms work', async () => {
    const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await page.goto(`${rig.server.readingUrl}/-/join`);
    await page.fill('#code', (await rig.invite({ name: 'dora' })).code.toLowerCase());
    await page.fill('#password', PASSWORD);
    await page.click('form#join button');
    await page.waitForURL('**/-/account');
    await page.goto(`${rig.server.readingUrl}/20/story.html`);
    await page.click('text=Go on');
    expect(await page.textContent('h2')).toBe('The quay');
    await page.context().close();
  });
});
