/** Demanding applications in a published site: what each shows to readers is what it shows as plain files. Writes the table of docs/compatibility.md with `--update`. */
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../../support/chromium.ts';
import { CleanUp, temporaryFolder } from '../../support/reader-rig.ts';
import { APPLICATIONS, titleOf } from './applications.ts';
import { makeSite } from './site.ts';
import { PAGE, pageWith, type Seen } from './table.ts';
import { openWays, WAYS } from './ways.ts';

const PATIENCE = 90_000;

const cleanUp = new CleanUp();
const contexts = new Map<string, { origin: string; context: BrowserContext }>();
const seen: Seen[] = [];
let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium('--use-angle=swiftshader', '--enable-unsafe-swiftshader');
  cleanUp.use(browser);
  const source = await temporaryFolder(cleanUp);
  await makeSite(source);
  for (const [way, { origin, enter }] of Object.entries(await openWays(source, cleanUp))) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await enter(context);
    contexts.set(way, { origin, context });
  }
});
afterAll(() => cleanUp.run());

/** @returns what the page left for its reader, by way */
function showInAll(name: string): Promise<unknown[]> {
  return Promise.all(
    WAYS.map(async (way) => {
      const { origin, context } = contexts.get(way) ?? expect.unreachable();
      const page = await context.newPage();
      await page.goto(`${origin}/${name}.html`);
      await page
        .waitForFunction('window.result !== undefined', undefined, { timeout: PATIENCE })
        .catch(() => undefined);
      const result = await page.evaluate('window.result ?? "failed: it took too long"');
      await page.close();
      return result;
    }),
  );
}

it.each(APPLICATIONS)('shows $name in every way as plain files do', async (application) => {
  const [plain, ...others] = await showInAll(application.page);
  expect(String(plain)).not.toMatch(/^failed/);
  const cells = others.map((result) => (JSON.stringify(result) === JSON.stringify(plain) ? 'yes' : 'no'));
  seen.push({ kind: application.kind, name: titleOf(application), cells });
  expect(others).toEqual(others.map(() => plain));
});

it('has shown what docs/compatibility.md says', async () => {
  await expect(pageWith(seen, WAYS.slice(1))).toMatchFileSnapshot(PAGE);
});
