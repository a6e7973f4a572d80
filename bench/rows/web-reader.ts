/** Cost of reading in the browser, beside the same files in clear from the same nginx, in the same Chromium. */
import type { Page } from 'playwright-core';
import { readWebReader } from '../../node-support/web-reader-files.ts';
import { type Browsing, DOWNLOAD, FILM_PAGE, loadedPage, newPage, pageWithWorker, whileBrowsing } from '../browsing.ts';
import { compare, type Row, sideBySide } from '../measure.ts';

const PLAIN = 'the same in clear';
const RUNS = 7;
const LOADED = ['worker', 'start', 'vault', 'sheet'];

/** Bytes by gzip of the scripts that readers of documents load; the others are in `bound`. */
export async function webReaderSize(): Promise<Row[]> {
  const lengths = Object.entries(readWebReader() ?? {}).map(([name, { gzip }]) => [name, gzip.length] as const);
  const [loaded, others] = [true, false].map((is) => lengths.filter(([name]) => LOADED.includes(name) === is));
  const total = loaded?.reduce((sum, [, length]) => sum + length, 0) ?? Number.NaN;
  const bound = [loaded, others].map((list) => list?.map((each) => each.join(' ')).join(', ')).join('; others: ');
  const about = { row: 'web-reader-size', unit: 'bytes gzip', runs: 1, bound };
  return compare(about, ['', 'goal'], [total, 44 * 1024]);
}

/** Milliseconds to the front page, and to the first frame of a film of 50 MB. */
export function webReaderPage(): Promise<Row[]> {
  return whileBrowsing(async (browsing) => [
    ...(await coldAndWarm('front page', browsing, '/', loadedPage, [2, 1.2])),
    ...(await coldAndWarm('first frame of 50 MB', browsing, FILM_PAGE, firstFrame, [2, 1.2])),
  ]);
}

async function coldAndWarm(
  name: string,
  { browser, documents, plain }: Browsing,
  path: string,
  shown: (page: Page) => Promise<unknown>,
  [coldGoal, warmGoal]: readonly [number, number],
): Promise<Row[]> {
  const cold = (origin: string) => async () => {
    const page = await newPage(browser);
    const took = await timeOf(page, origin + path, shown);
    await page.context().close();
    return took;
  };
  const warm = async (page: Page, origin: string) => {
    for (let turn = 0; turn < 3; turn++) await timeOf(page, origin + path, shown);
    return () => timeOf(page, origin + path, shown);
  };
  const bound = 'one core: starting a worker, and Chromium handing bytes between its processes';
  const about = (how: string) => ({ row: `web-reader-page: ${name}, ${how}`, unit: 'ms', runs: RUNS, bound });
  const coldRows = await sideBySide(about('cold'), [
    { name: 'in the browser', run: cold(documents) },
    { name: PLAIN, run: cold(plain) },
  ]);
  const warmRows = await sideBySide(about('warm'), [
    { name: 'in the browser', run: await warm(await pageWithWorker(browser, documents), documents) },
    { name: PLAIN, run: await warm(await newPage(browser), plain) },
  ]);
  return [...withGoal(coldRows, coldGoal), ...withGoal(warmRows, warmGoal)];
}

/** @param goal - of the ratio */
function withGoal(rows: readonly Row[], goal: number): Row[] {
  return rows.flatMap((row) => [row, ...compare({ ...row, unit: `× ${row.peer}` }, ['', 'goal'], [row.ratio, goal])]);
}

/** MB/s of a download of 200 MB. */
export function webReaderRate(): Promise<Row[]> {
  return whileBrowsing(async ({ browser, documents, plain }) => {
    const [read, inClear] = [await pageWithWorker(browser, documents), await newPage(browser)];
    await inClear.goto(plain);
    const contestants = [
      { name: 'in the browser', run: () => read.evaluate(rateOf, DOWNLOAD) },
      { name: PLAIN, run: () => inClear.evaluate(rateOf, DOWNLOAD) },
    ];
    const bound = 'SHA-256 and AES-256-GCM of every block, and a stream between worker and page';
    return withGoal(await sideBySide({ row: 'web-reader-rate', unit: 'MB/s', runs: 5, bound }, contestants), 0.5);
  });
}

async function timeOf(page: Page, url: string, shown: (page: Page) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await page.goto(url, { waitUntil: 'commit' });
  await shown(page);
  return performance.now() - start;
}

const firstFrame = (page: Page) =>
  page.waitForFunction(() => (document.querySelector('video')?.readyState ?? 0) >= HTMLMediaElement.HAVE_CURRENT_DATA);

async function rateOf(path: string): Promise<number> {
  const start = performance.now();
  const reader = (await fetch(path, { cache: 'no-store' })).body?.getReader();
  let length = 0;
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read())
    length += piece.value.length;
  return length / 1000 / (performance.now() - start);
}
