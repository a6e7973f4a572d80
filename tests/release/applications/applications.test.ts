/** Demanding applications in a published site: what each shows to readers is what it shows as plain files. Writes the table of docs/compatibility.md with `--update`. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../../support/chromium.ts';
import { CleanUp, temporaryFolder } from '../../support/reader-rig.ts';
import { APPLICATIONS, type Application, titleOf } from './applications.ts';
import { PATIENCE, resultOn } from './drives.ts';
import { makeSite } from './site.ts';
import { PAGE, pageWith, type Seen } from './table.ts';
import { openWays, WAYS } from './ways.ts';

const cleanUp = new CleanUp();
const seen: Seen[] = [];
let browser: Browser;
let ways: Awaited<ReturnType<typeof openWays>>;
/** Pages, one for each way, for all applications that leave it as it was. */
let shared: BrowserContext[];
beforeAll(async () => {
  browser = await launchChromium('--use-angle=swiftshader', '--enable-unsafe-swiftshader');
  cleanUp.use(browser);
  const source = await temporaryFolder(cleanUp);
  await makeSite(source);
  ways = await openWays(source, cleanUp);
  shared = await Promise.all(WAYS.map(openContext));
}, 300_000);
afterAll(() => cleanUp.run());

/** A browser that may read the site in one of the ways. */
async function openContext(way: (typeof WAYS)[number]): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(PATIENCE);
  await ways[way].enter(context);
  return context;
}

/** @returns what the application shows to its reader, or why it does not, by way */
function showInAll({ page: driven, apart }: Application): Promise<unknown[]> {
  return Promise.all(
    WAYS.map(async (way, index) => {
      const context = apart ? await openContext(way) : shared[index];
      const page = (await context?.newPage()) ?? expect.unreachable();
      const shown =
        typeof driven === 'string'
          ? resultOf(page, `${ways[way].origin}/${driven}.html`)
          : driven(page, ways[way].origin);
      const result = await shown.catch((error: Error) => `failed: ${error.message.split('\n')[0]}`);
      await (apart ? context : page)?.close();
      return result;
    }),
  );
}

async function resultOf(page: Page, address: string): Promise<unknown> {
  await page.goto(address);
  return resultOn(page);
}

it.each(APPLICATIONS)(
  'shows $name in every way as plain files do',
  async (application) => {
    const [plain, ...others] = await showInAll(application);
    expect(String(plain)).not.toMatch(/^failed/);
    const cells = others.map((result) => (JSON.stringify(result) === JSON.stringify(plain) ? 'yes' : 'no'));
    seen.push({ kind: application.kind, name: titleOf(application), cells });
    expect(others).toEqual(others.map(() => plain));
  },
  2 * PATIENCE,
);

it('has shown what docs/compatibility.md says', () => expect(pageWith(seen, WAYS.slice(1))).toMatchFileSnapshot(PAGE));
