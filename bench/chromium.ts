import { type Browser, chromium } from 'playwright-core';

const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

/** Debian's Chromium. @param rules - where names lead, as `MAP NAME ADDRESS` @param pin - of a public key that is trusted: SHA-256, base64 */
export function launchChromium(rules: readonly string[], pin?: string): Promise<Browser> {
  const args = [
    ...ARGUMENTS,
    ...(rules.length > 0 ? [`--host-resolver-rules=${rules.join(', ')}`] : []),
    ...(pin === undefined ? [] : [`--ignore-certificate-errors-spki-list=${pin}`]),
  ];
  return chromium.launch({ executablePath: '/usr/bin/chromium', args });
}
