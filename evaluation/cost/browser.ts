/** The in-browser reader in Chromium, all of its processes together, beside the same files in clear. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { DOWNLOAD, newPage, pageWithWorker, whileBrowsing } from '../../bench/browsing.ts';
import { processorTime, sumOf, treeOf } from '../../bench/proc.ts';
import { type Cost, medianOf } from './programs.ts';

const SMALL = '/favicon.svg';
const REQUESTS = 300;
const LARGE_LENGTH = 200_000_000;

export function browser(): Promise<Cost[]> {
  return whileBrowsing(async ({ browser: chromium, documents, plain }) => {
    const cost = async (name: string, origin: string): Promise<Cost> => {
      const page = await (origin === documents ? pageWithWorker(chromium, origin) : newPage(chromium));
      await page.goto(`${origin}/about.html`);
      await page.waitForSelector('#headline');
      const document = (await medianOf(() => spentOn(page, SMALL, REQUESTS))) / REQUESTS;
      const large = await medianOf(() => spentOn(page, DOWNLOAD, 1));
      await page.context().close();
      return { name, document: document * 1e9, byte: ((large - document) * 1e9) / LARGE_LENGTH };
    };
    return [await cost('in-browser reader', documents), await cost('browser, in clear', plain)];
  });
}

async function spentOn(page: Page, path: string, times: number): Promise<number> {
  const before = await chromiumTime();
  const bytes = await page.evaluate(fetchAgain, [path, times] as const);
  if (!(bytes > 0)) throw new Error(`${path} has not come`);
  return (await chromiumTime()) - before;
}

async function fetchAgain([path, times]: readonly [string, number]): Promise<number> {
  let length = 0;
  for (let time = 0; time < times; time++) {
    const answer = await fetch(path, { cache: 'no-store' });
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`);
    const reader = answer.body?.getReader();
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read())
      length += piece.value.length;
  }
  return length;
}

async function chromiumTime(): Promise<number> {
  return sumOf(await treeOf(process.pid), async (pid) => {
    const name = await readFile(`/proc/${pid}/comm`, 'latin1');
    return name.startsWith('chrom') ? processorTime(pid) : 0;
  });
}
