/** Debian's Chromium, set up so that nothing but what a test does makes it ask for anything. One serves the whole run. */
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { askFor, offer } from './once-a-run.ts';

const PROGRAM = '/usr/bin/chromium';
const WITHOUT = ['background-networking', 'component-update', 'gpu', 'quic', 'sync'];
const ARGUMENTS = ['--no-sandbox', '--no-first-run', ...WITHOUT.map((name) => `--disable-${name}`)];
/** Signals are left to the process that launches: several test files share it, and send it signals themselves. */
const PROGRAM_ALONE = { executablePath: PROGRAM, handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };

/**
 * The run's Chromium: what is opened by one test file is closed with the browser that it got here, and pages share nothing unless they share a context.
 *
 * @param settings - further arguments: with any, a Chromium of its own
 */
export async function launchChromium(...settings: string[]): Promise<Browser> {
  if (settings.length > 0) return chromium.launch({ ...PROGRAM_ALONE, args: [...ARGUMENTS, ...settings] });
  return chromium.connect(await askFor('chromium'));
}

/** A Chromium of its own with a profile, as people have it: no private window. @param folder - of the profile */
export function launchWithProfile(folder: string, ...settings: string[]): Promise<BrowserContext> {
  const args = [...ARGUMENTS, ...settings];
  return chromium.launchPersistentContext(folder, { ...PROGRAM_ALONE, args, ignoreHTTPSErrors: true });
}

/** Vitest's global set-up. @returns the end of it */
export default function offerChromium(project: TestProject): Promise<() => Promise<void>> {
  const launch = () => chromium.launchServer({ executablePath: PROGRAM, args: ARGUMENTS, host: '127.0.0.1' });
  return offer(
    project,
    'chromium',
    launch,
    (browser) => browser.wsEndpoint(),
    (browser) => browser.close(),
  );
}
