/** Debian's Chromium, by the protocol that it shares with other tests, on the screen of a phone. */
import { launchChromium } from '../support/chromium.ts';
import { type BrowserSettings, type BrowserUnderTest, quietly } from './driver.ts';

/** Chromium in private windows, whose files go with them: {@link BrowserSettings.downloads} is not used. */
export async function startChromium({ proxy, withoutWorkers }: BrowserSettings): Promise<BrowserUnderTest> {
  const browser = await launchChromium(`--proxy-server=127.0.0.1:${proxy}`, '--ignore-certificate-errors');
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    serviceWorkers: withoutWorkers ? 'block' : 'allow',
    ...{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  });
  const page = await context.newPage();
  return {
    name: 'chromium',
    version: browser.version(),
    open: (url) => quietly(page.goto(url)),
    evaluate: <Value>(expression: string) => page.evaluate(expression) as Promise<Value>,
    click: (selector) => page.click(selector),
    type: (selector, text) => page.type(selector, text),
    back: () => quietly(page.goBack()),
    forward: () => quietly(page.goForward()),
    reload: () => quietly(page.reload()),
    picture: (file) => quietly(page.screenshot({ path: file })),
    close: () => browser.close(),
  };
}
