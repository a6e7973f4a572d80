/** Debian's WebKitGTK in its MiniBrowser, by WebDriver, on a display of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Builder, By, Capabilities, type WebDriver } from 'selenium-webdriver';
import { vi } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import type { BrowserSettings, BrowserUnderTest } from './driver.ts';

const [DISPLAY, DRIVER, BROWSER] = ['Xvfb', 'WebKitWebDriver', '/usr/lib/*/webkit2gtk-4.1/MiniBrowser'];

/** Features with which a page that is left, or shown by another process, answers no script of the driver's any more. */
const NOT_DRIVEN = ['UsesBackForwardCache', 'ProcessSwapOnCrossSiteNavigation'];
const PATIENCE = 10_000;
const SCRIPT_PATIENCE = 5_000;

/** A MiniBrowser as WebDriver starts it: its storage is in memory, and goes with it. */
export async function startWebkit({ proxy, downloads, withoutWorkers }: BrowserSettings): Promise<BrowserUnderTest> {
  const display = spawn(DISPLAY, ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [number] = (await once(display.stdout, 'data')) as [Buffer];
  const port = await freePort();
  const env = { ...process.env, DISPLAY: `:${number.toString().trim()}`, HOME: downloads };
  const service = spawn(DRIVER, [`--port=${port}`], { stdio: 'ignore', env });
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(() => fetch(`${url}/status`), PATIENCE);
  const off = [...NOT_DRIVEN, ...(withoutWorkers ? ['ServiceWorkers'] : [])];
  const args = [`--proxy=http://127.0.0.1:${proxy}`, `--features=${off.map((name) => `-${name}`).join()}`];
  const driver = await new Builder().usingServer(url).withCapabilities(capabilities(args)).build();
  const version = (await driver.getCapabilities()).getBrowserVersion() ?? '';
  return { name: 'webkit', version, ...actionsOf(driver), close: () => end(driver, service, display) };
}

function capabilities(args: readonly string[]): Capabilities {
  return new Capabilities({
    browserName: 'MiniBrowser',
    // WebDriver's waiting for pages does not end where one is left before it is there, as on the way to the vault and back.
    pageLoadStrategy: 'none',
    // A script that is sent while a page is left may never be answered: what polls has to ask again.
    timeouts: { script: SCRIPT_PATIENCE },
    acceptInsecureCerts: true,
    'webkitgtk:browserOptions': { binary: globSync(BROWSER)[0], args: ['--automation', ...args] },
  });
}

function actionsOf(driver: WebDriver) {
  /** Acts, and waits until the page is left. */
  const leaving = async (action: () => Promise<void>) => {
    await driver.executeScript('window.isLeft = true');
    await action();
    await vi.waitFor(async () => {
      if (await driver.executeScript('return window.isLeft === true')) throw new Error('the page stays');
    }, PATIENCE);
  };
  const find = (selector: string) => driver.findElement(By.css(selector));
  return {
    open: (url: string) => leaving(() => driver.get(url)),
    evaluate: <Value>(expression: string) => driver.executeScript<Value>(`return (${expression});`),
    click: async (selector: string) => find(selector).click(),
    type: async (selector: string, text: string) => find(selector).sendKeys(text),
    back: () => driver.navigate().back(),
    forward: () => driver.navigate().forward(),
    reload: () => leaving(() => driver.navigate().refresh()),
    picture: async (file: string) => writeFile(file, await driver.takeScreenshot(), 'base64'),
  };
}

async function end(driver: WebDriver, ...programs: ChildProcess[]): Promise<void> {
  await driver.quit().catch(() => undefined);
  for (const program of programs) program.kill();
}
