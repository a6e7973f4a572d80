/** What reading in the browser costs: beside the same files in clear from the same nginx, in the same Chromium. */
import type { Page } from 'playwright-core';
import { readWebReader } from '../../node-support/web-reader-files.ts';
import { ARTICLE, type Browsing, DOWNLOAD, FILM_PAGE, NEXT_ARTICLE, newPage, whileBrowsing } from '../browsing.ts';
import { compare, measureAlternately, mediansOf, type Row, sideBySide } from '../measure.ts';

const PLAIN = 'the same in clear';
const LATENCY = 150;
const RUNS = 7;

/** Bytes of all scripts by gzip, without the one for browsers that lack ML-KEM. */
export async function webReaderSize(): Promise<Row[]> {
  const { worker, start, vault, 'ml-kem': mlKem } = readWebReader() ?? {};
  const lengths = [worker, start, vault].map((file) => file?.gzip.length ?? Number.NaN);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const about = { row: 'web-reader-size: worker, start, vault', unit: 'bytes gzip', runs: 1 };
  const bound = `${lengths.join(' + ')}; ML-KEM in JavaScript, where the browser has none, is ${mlKem?.gzip.length} more`;
  return compare({ ...about, bound }, ['', 'goal'], [total, 40 * 1024]);
}

/** Milliseconds to the front page, and to the first frame of a film of 50 MB. */
export function webReaderPage(): Promise<Row[]> {
  return whileBrowsing(0, async (browsing) => [
    ...(await coldAndWarm('front page', browsing, '/', loadedPage)),
    ...(await coldAndWarm('first frame of 50 MB', browsing, FILM_PAGE, firstFrame)),
  ]);
}

async function coldAndWarm(
  name: string,
  { browser, documents, plain }: Browsing,
  path: string,
  shown: (page: Page) => Promise<unknown>,
): Promise<Row[]> {
  const cold = (origin: string) => async () => {
    const { context, page } = await newPage(browser);
    const took = await timeOf(page, origin + path, shown);
    await context.close();
    return took;
  };
  const warm = async (origin: string) => {
    const { page } = await newPage(browser);
    for (let turn = 0; turn < 3; turn++) await timeOf(page, origin + path, shown);
    return () => timeOf(page, origin + path, shown);
  };
  const bound = 'one core: starting a worker, and Chromium handing bytes between its processes';
  const about = (how: string) => ({ row: `web-reader-page: ${name}, ${how}`, unit: 'ms', runs: RUNS, bound });
  return [
    ...(await sideBySide(about('cold'), [
      { name: 'in the browser', run: cold(documents) },
      { name: PLAIN, run: cold(plain) },
    ])),
    ...(await sideBySide(about('warm'), [
      { name: 'in the browser', run: await warm(documents) },
      { name: PLAIN, run: await warm(plain) },
    ])),
  ];
}

/** MB/s of a download of 200 MB. */
export function webReaderRate(): Promise<Row[]> {
  return whileBrowsing(0, async ({ browser, documents, plain }) => {
    const rateAt = async (origin: string) => {
      const { page } = await newPage(browser);
      await timeOf(page, `${origin}/`, loadedPage);
      return () => page.evaluate(rateOf, DOWNLOAD);
    };
    const contestants = [
      { name: 'in the browser', run: await rateAt(documents) },
      { name: PLAIN, run: await rateAt(plain) },
    ];
    const bound = 'SHA-256 and AES-256-GCM of every block, and a stream between worker and page';
    return sideBySide({ row: 'web-reader-rate', unit: 'MB/s', runs: 5, bound }, contestants);
  });
}

/** Milliseconds to the first page, to the first article with keys, and to the next, where every answer takes 150 ms. */
export function webReaderFirst(): Promise<Row[]> {
  return whileBrowsing(LATENCY, async (browsing) => {
    const { documents, plain } = browsing;
    const figures = [];
    for (const origin of [documents, plain])
      figures.push(await measureAlternately([{ name: '', run: () => firstPage(browsing, origin) }], RUNS));
    const articles: { first: number; next: number }[] = [];
    for (let run = 0; run < RUNS; run++) articles.push(await articlesOf(browsing));
    const [page = [], clear = []] = figures;
    const { first, next } = mediansOf(articles);
    const about = (what: string) => ({
      row: `web-reader-first: ${what}`,
      unit: 'ms',
      runs: RUNS,
      bound: `round trips of ${LATENCY} ms`,
    });
    const goals = ['', 'goal'];
    return [
      ...compare(about('first page'), ['', PLAIN], [...page, ...clear]),
      ...compare(about('first page'), goals, [...page, 1500]),
      ...compare(about('first article, signed in, with keys fetched'), goals, [first, 1500]),
      ...compare(about('next article'), goals, [next, 500]),
    ];
  });
}

async function firstPage({ browser }: Browsing, origin: string): Promise<number> {
  const { context, page } = await newPage(browser);
  const took = await timeOf(page, `${origin}/about.html`, headline);
  await context.close();
  return took;
}

/** Of a reader who is signed in, and whose browser has nothing else yet. */
async function articlesOf({ browser, account, documents, person }: Browsing): Promise<{ first: number; next: number }> {
  const { context, page } = await newPage(browser);
  await page.goto(`${account}/-/account`);
  await page.fill('#name', person.name);
  await page.fill('#password', person.password);
  await page.click('#sign-in button');
  await page.waitForSelector('h1:text("Your account")');
  const first = await timeOf(page, documents + ARTICLE, headline);
  const next = await timeOf(page, documents + NEXT_ARTICLE, headline);
  await context.close();
  return { first, next };
}

async function timeOf(page: Page, url: string, shown: (page: Page) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await page.goto(url, { waitUntil: 'commit' });
  await shown(page);
  return performance.now() - start;
}

/** The article is painted; pages on the way have no such headline. */
const headline = (page: Page) =>
  page.waitForFunction(
    () => document.querySelector('#headline') && performance.getEntriesByName('first-contentful-paint').length > 0,
  );

const loadedPage = (page: Page) =>
  page.waitForFunction(
    () =>
      document.readyState === 'complete' &&
      document.images.length > 0 &&
      [...document.images].every(({ complete }) => complete),
  );

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
