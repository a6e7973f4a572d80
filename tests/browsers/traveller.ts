/** Person on the way to an article, whose taps and typed fields are counted. */
import { expect } from 'vitest';
import type { BrowserUnderTest } from './driver.ts';

export class Traveller {
  readonly cost = { taps: 0, fields: 0 };
  readonly browser: BrowserUnderTest;

  constructor(browser: BrowserUnderTest) {
    this.browser = browser;
  }

  /** Waits for an element on a page whose address begins with `where`. */
  async see(where: string, selector: string): Promise<void> {
    const [begin, wanted] = [JSON.stringify(where), JSON.stringify(selector)];
    const isSeen = `location.href.startsWith(${begin}) && document.readyState !== 'loading' && document.querySelector(${wanted})`;
    const seen = `(${isSeen} ? ${begin} : location.href + ': ' + document.body.innerText.slice(0, 300))`;
    await expect.poll(() => this.browser.evaluate(seen).catch(String), { message: selector }).toBe(where);
  }

  async tap(where: string, selector: string): Promise<void> {
    await this.see(where, selector);
    this.cost.taps++;
    await this.browser.click(selector);
  }

  async type(where: string, selector: string, text: string): Promise<void> {
    await this.see(where, selector);
    this.cost.fields++;
    await this.browser.type(selector, text);
  }
}
