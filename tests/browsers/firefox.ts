/** Debian's Firefox ESR, by WebDriver BiDi. */
import { writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { type Browser, launch } from 'puppeteer-core';
import { type BrowserSettings, type BrowserUnderTest, quietly } from './driver.ts';

const PATIENCE = 5_000;
const PROGRAM = '/usr/bin/firefox-esr';

/** A Firefox with a profile of its own, which is removed with it. */
export async function startFirefox(settings: BrowserSettings): Promise<BrowserUnderTest> {
  const browser: Browser = await launch({
    browser: 'firefox',
    executablePath: PROGRAM,
    acceptInsecureCerts: true,
    extraPrefsFirefox: {
      'network.proxy.type': 1,
      'network.proxy.ssl': '127.0.0.1',
      'network.proxy.ssl_port': settings.proxy,
      'network.proxy.http': '127.0.0.1',
      'network.proxy.http_port': settings.proxy,
      'browser.download.folderList': 2,
      'browser.download.dir': settings.downloads,
      'browser.privatebrowsing.autostart': settings.isPrivate ?? false,
      'dom.serviceWorkers.enabled': !settings.withoutWorkers,
    },
  });
  const page = (await browser.pages())[0] ?? (await browser.newPage());
  return {
    name: 'firefox',
    version: await browser.version(),
    // The library waits, after a download, for a navigation that has ended.
    open: (url) => quietly(page.goto(url, { waitUntil: 'domcontentloaded', timeout: PATIENCE })),
    // A page that is left meanwhile leaves some of these without an answer.
    evaluate: <Value>(expression: string) =>
      Promise.race([
        page.evaluate(expression) as Promise<Value>,
        setTimeout(PATIENCE, undefined, { ref: false }).then(() => Promise.reject(new Error('no answer'))),
      ]),
    click: (selector) => page.click(selector),
    type: (selector, text) => page.type(selector, text),
    // The library waits for a load, which a page that was kept does not have.
    back: () => quietly(page.evaluate('void setTimeout(() => history.back())')),
    forward: () => quietly(page.evaluate('void setTimeout(() => history.forward())')),
    reload: () => quietly(page.reload({ waitUntil: 'domcontentloaded', timeout: PATIENCE })),
    picture: async (file) => writeFile(file, await page.screenshot()),
    close: () => browser.close(),
  };
}
