/** The Reader's own pages, in Chromium without scripts, and what a reader does with them. */
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { accessibilityProblems } from '../axe.ts';
import { launchChromium } from '../chromium.ts';
import { type InvitedReader, startInvitedReader } from '../invited-reader.ts';
import { takePictures } from './browser.ts';

export class ReaderPages {
  readonly reader: InvitedReader;
  readonly browser: Browser;
  readonly page: Page;

  private constructor(reader: InvitedReader, browser: Browser, page: Page) {
    this.reader = reader;
    this.browser = browser;
    this.page = page;
  }

  /** A Reader without connections, and a site with a front page and an article. */
  static async start(): Promise<ReaderPages> {
    const reader = await startInvitedReader();
    const { publisher, host } = reader;
    await publisher.publish(host.files, '/index.html', { content: '<title>Paper</title><h1>Front page</h1>' });
    await publisher.publish(host.files, '/fog.html', { content: '<title>Fog</title><h1>Fog</h1>' });
    await publisher.publish(host.files, '/style.css', { content: 'h1 { color: red }' });
    const browser = await launchChromium();
    return new ReaderPages(reader, browser, await browser.newPage({ viewport: { width: 1280, height: 900 } }));
  }

  readonly open = (path = '/', on = this.page) => on.goto(this.reader.proxy.page + path.slice(1));
  readonly heading = () => this.page.textContent('h1');
  readonly status = () => this.page.textContent('[role=status]');
  readonly alert = () => this.page.textContent('[role=alert]');
  readonly press = (name: string) => this.page.getByRole('button', { name, exact: true }).click();
  readonly gateway = async () => (await this.reader.proxy.gatewayUrl('news.example')) ?? '';

  /** Pastes the link of an invitation. */
  readonly invite = async (link: string) => {
    await this.open('/connect');
    await this.page.getByLabel('Link or code of your invitation').fill(link);
    await this.press('Continue');
  };

  readonly connect = async () => {
    await this.invite(await this.reader.keyServer.invite());
    await this.press('Connect');
    expect(await this.status()).toContain('Connected');
  };

  /** Checks what every page owes its reader. */
  readonly look = async (name: string) => {
    await takePictures(this.page, `reader-${name}`);
    expect(await accessibilityProblems(this.page)).toEqual([]);
    expect(await this.page.locator('h1').count()).toBe(1);
    expect(await this.page.locator('script').count()).toBe(0);
  };

  async close(): Promise<void> {
    await this.browser.close();
    await this.reader.close();
  }
}
