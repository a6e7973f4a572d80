/** The near side: Chromium, and a cache before it. Reads a command a line from standard input, and answers with one on standard output. */
import type { BrowserContext, Page } from 'playwright-core';
import { launchChromium } from '../../bench/chromium.ts';
import type { Child } from '../../cache-config/child.ts';
import { load } from '../link/load.ts';
import { FAR } from '../link/narrow-link.ts';
import { answerCommands } from '../link/near-process.ts';
import { startCache } from './cache.ts';
import { CACHE_PORT, HOSTS, type SiteCommand, type SiteSetting, WAYS } from './setting.ts';

const setting: SiteSetting = JSON.parse(process.argv[2] ?? '');
const browser = await startBrowser();
let cache: Child | undefined;
let context: BrowserContext | undefined;
let page: Page | undefined;
let origin = '';

await answerCommands(async (command: SiteCommand) => {
  if (command.do === 'load' && page !== undefined) return load(page, origin, command);
  if (command.do === 'prepare') await prepare(command.way);
  return undefined;
});
await cache?.stop();
process.exit();

function startBrowser() {
  const far = Object.values(HOSTS).filter((host) => host !== HOSTS.cached && host !== HOSTS.both);
  const rules = [
    ...far.map((host) => `MAP ${host} ${FAR}`),
    ...[HOSTS.cached, HOSTS.both].map((host) => `MAP ${host} 127.0.0.1:${CACHE_PORT}`),
  ];
  return launchChromium(rules, setting.pin);
}

/** Prepares everything that is not part of the load. A cache that is to be warm has loaded the page before. */
async function prepare(way: number): Promise<void> {
  const { origin: next = '', cache: state } = WAYS[way] ?? {};
  await context?.close();
  if (state === 'cold') {
    await cache?.stop();
    cache = await startCache(setting.directory);
  }
  context = await browser.newContext();
  page = await context.newPage();
  origin = next;
}
