/** Debian's Chromium, set up so that nothing but what a test does makes it ask for anything. */
import { type Browser, chromium } from 'playwright-core';

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

/** @param settings - further arguments */
export function launchChromium(...settings: string[]): Promise<Browser> {
  return chromium.launch({ executablePath: PROGRAM, args: [...ARGUMENTS, ...settings] });
}
