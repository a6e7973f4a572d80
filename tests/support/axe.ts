/** axe-core, the usual judge of whether a page can be used with a screen reader and a keyboard, run inside a page. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Lists the problems that axe finds, one line each, in light and in dark colours. Everything it knows is looked at, best practices too. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe.source);
    const results = await page.evaluate(async () => {
      const judge = (window as unknown as { axe: typeof axe }).axe;
      const { violations, passes } = await judge.run();
      return {
        passes: passes.length,
        violations: violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)),
      };
    });
    if (results.passes < 10) found.push(`${colorScheme}: axe looked at ${results.passes} rules only`);
    found.push(...results.violations.map((line) => `${colorScheme}: ${line}`));
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}
