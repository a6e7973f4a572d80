/** Debian's Chromium, set up so that nothing but what a test does makes it ask for anything. One serves the whole run. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, type BrowserContext, type BrowserServer, chromium } from 'playwright-core';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the WebSocket address of the run's Chromium can be asked for: the first request starts it. */
    chromium: string;
  }
}

const PROGRAM = '/usr/bin/chromium';
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** Signals are left to the process that launches: several test files share it, and send it signals themselves. */
const PROGRAM_ALONE = { executablePath: PROGRAM, handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };

/**
 * The run's Chromium: what is opened by one test file is closed with the browser that it got here, and pages share nothing unless they share a context.
 *
 * @param settings - further arguments: with any, a Chromium of its own
 */
export async function launchChromium(...settings: string[]): Promise<Browser> {
  if (settings.length > 0) return chromium.launch({ ...PROGRAM_ALONE, args: [...ARGUMENTS, ...settings] });
  const answer = await fetch(inject('chromium'));
  return chromium.connect(await answer.text());
}

/** A Chromium of its own with a profile, as people have it: no private window. @param folder - of the profile */
export function launchWithProfile(folder: string, ...settings: string[]): Promise<BrowserContext> {
  const args = [...ARGUMENTS, ...settings];
  return chromium.launchPersistentContext(folder, { ...PROGRAM_ALONE, args, ignoreHTTPSErrors: true });
}

/** Vitest's global set-up: runs once, in Vitest's own process. @returns the end of it */
export default async function offerChromium({ provide }: TestProject): Promise<() => Promise<void>> {
  let browser: Promise<BrowserServer> | undefined;
  const server = createServer(async (_, response) => {
    browser ??= chromium.launchServer({ executablePath: PROGRAM, args: ARGUMENTS, host: '127.0.0.1' });
    const address = await browser.then(
      (started) => started.wsEndpoint(),
      (error: Error) => error.message,
    );
    response.end(address);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  provide('chromium', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.close();
    await (await browser)?.close();
  };
}
