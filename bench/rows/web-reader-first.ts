/** The first second: what a reader does, and when the text is there, over a long and narrow line; beside the same pages in clear from the same nginx. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchChromium } from '../chromium.ts';
import { Line, type LineKind } from '../delay.ts';
import { compare, mediansOf, type Row } from '../measure.ts';
import { CDN, type Newspaper, PAGES, PLAIN, READ, startNewspaper } from '../newspaper.ts';

/** Round trips of 150 ms, and 1.6 Mbit/s. */
const LINE: LineKind = { roundTrip: 150, rate: 200 };
/** Tells how many round trips follow one another. */
const LONGER: LineKind = { ...LINE, roundTrip: 450 };
const [RUNS, LONGER_RUNS] = [5, 2];
/** Milliseconds for which a person looks at a page before going on. */
const LOOKING = 3000;

/** Words that nobody sees without the page itself, or its keys. */
const FRONT = { path: '/', words: 'paused before the last line for effect' };
const ARTICLE = { path: '/2026/11/17/the%20great%20tide.html', words: 'They brought lanterns, children and opinions' };
const NEXT = { path: '/2026/11/16/fog-signed-for.html', words: 'The horn was oiled' };
const BUTTON = 'Read in this browser';

/** Setting of the documents' origin: it opens no page for a browser. */
const STRICT = { firstPage: 'browser' } as const;

/** Milliseconds until the text is there, and the step in clear. */
const GOALS: readonly { readonly step: string; readonly goal: number; readonly inClear?: string }[] = [
  { step: 'link to article, signed in', goal: 1500, inClear: 'article' },
  { step: 'teaser to article, signed in', goal: 1500, inClear: 'article' },
  { step: 'invitation', goal: 700 },
  { step: 'tap to front page', goal: 900, inClear: 'front' },
  { step: 'public front page, stranger', goal: 1500, inClear: 'front' },
  { step: 'next article', goal: 450, inClear: 'next' },
  { step: 'link to article, strict way', goal: 2000, inClear: 'article' },
];

interface Step {
  readonly milliseconds: number;
  /** Requests and connections that began before the text was there. */
  readonly requests: number;
  readonly connections: number;
}

interface Figures extends Step {
  readonly roundTrips: number;
}

const NOT_MEASURED: Figures = { milliseconds: Number.NaN, roundTrips: Number.NaN, requests: 0, connections: 0 };

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>;
type Steps = Readonly<Record<string, Step>>;

interface Setting {
  readonly newspaper: Newspaper;
  readonly line: Line;
  readonly browser: Browser;
}

/** Milliseconds until the text is there, with TCP and TLS of each connection. */
export async function webReaderFirst(): Promise<Row[]> {
  const figures = new Map([...(await measure({}, visitAll)), ...(await measure(STRICT, visitStrictly))]);
  return GOALS.flatMap(({ step: name, goal, inClear }) => {
    const { milliseconds, roundTrips, requests, connections } = figures.get(name) ?? NOT_MEASURED;
    const bound = `${roundTrips.toFixed(1)} round trips one after the other; ${requests} requests, ${connections} connections`;
    const about = { row: `web-reader-first: ${name}`, unit: 'ms', runs: RUNS, bound };
    const clear = figures.get(inClear ?? '');
    return [
      ...compare(about, ['', 'goal'], [milliseconds, goal]),
      ...(clear ? compare(about, ['', 'the same in clear'], [milliseconds, clear.milliseconds]) : []),
    ];
  });
}

/** @param documents - settings of the documents' origin */
async function measure(documents: object, visit: (setting: Setting) => Promise<Steps>): Promise<[string, Figures][]> {
  await using endings = new AsyncDisposableStack();
  const newspaper = await startNewspaper(documents, endings);
  const steps = await visitOver(LINE, RUNS, newspaper, visit);
  const longer = await visitOver(LONGER, LONGER_RUNS, newspaper, visit);
  return steps.map(([name, step], index) => {
    const more = (longer[index]?.[1].milliseconds ?? Number.NaN) - step.milliseconds;
    return [name, { ...step, roundTrips: more / (LONGER.roundTrip - LINE.roundTrip) }];
  });
}

async function visitOver(
  kind: LineKind,
  runs: number,
  newspaper: Newspaper,
  visit: (setting: Setting) => Promise<Steps>,
): Promise<[string, Step][]> {
  await using endings = new AsyncDisposableStack();
  const line = new Line(kind);
  endings.defer(() => line.stop());
  const ways = new Map<number, number>();
  for (const port of new Set(Object.values(newspaper.ports))) ways.set(port, await line.lead(port));
  const rules = Object.entries(newspaper.ports).map(([name, port]) => `MAP ${name} 127.0.0.1:${ways.get(port)}`);
  const browser = await launchChromium(rules, newspaper.pin);
  endings.defer(() => browser.close());
  const visits: Steps[] = [];
  for (let run = 0; run < runs; run++) visits.push(await visit({ newspaper, line, browser }));
  const medianOf = (name: string) => mediansOf(visits.flatMap(({ [name]: step }) => step ?? []));
  return Object.keys(visits[0] ?? {}).map((name) => [name, medianOf(name)]);
}

/** Visits of browsers that have never been anywhere; those that read articles are signed in, and have nothing else. */
async function visitAll(setting: Setting): Promise<Steps> {
  const stranger = await inNewBrowser(setting, [], async (page) => ({
    'public front page, stranger': await see(setting, page, PAGES, FRONT),
  }));
  const { steps: invited, cookies } = await acceptInvitation(setting);
  const signedIn = await inNewBrowser(setting, cookies, async (page) => {
    const article = await see(setting, page, PAGES, ARTICLE);
    await pause(LOOKING);
    return { 'link to article, signed in': article, 'next article': await see(setting, page, PAGES, NEXT) };
  });
  const led = await inNewBrowser(setting, cookies, async (page) => {
    await page.goto(`https://${CDN}${ARTICLE.path}`);
    await pause(LOOKING);
    const tap = () => page.click('a#read', { noWaitAfter: true });
    return { 'teaser to article, signed in': await stepOf(setting, page, ARTICLE.words, tap) };
  });
  const front = await inNewBrowser(setting, [], (page) => see(setting, page, PLAIN, FRONT));
  const inClear = await inNewBrowser(setting, [], async (page) => {
    const article = await see(setting, page, PLAIN, ARTICLE);
    await pause(LOOKING);
    return { article, next: await see(setting, page, PLAIN, NEXT) };
  });
  return { ...stranger, ...invited, ...signedIn, ...led, front, ...inClear };
}

async function visitStrictly(setting: Setting): Promise<Steps> {
  const { cookies } = await acceptInvitation(setting);
  return inNewBrowser(setting, cookies, async (page) => ({
    'link to article, strict way': await see(setting, page, PAGES, ARTICLE),
  }));
}

/** @returns also what signs in at the account's origin, and nowhere else */
function acceptInvitation(setting: Setting): Promise<{ readonly steps: Steps; readonly cookies: Cookies }> {
  return inNewBrowser(setting, [], async (page, context) => {
    const link = await setting.newspaper.invite(crypto.randomUUID());
    const invitation = await stepOf(setting, page, BUTTON, () => page.goto(link, { waitUntil: 'commit' }));
    await pause(LOOKING);
    const tap = () => page.getByRole('button', { name: BUTTON }).click({ noWaitAfter: true });
    const front = await stepOf(setting, page, FRONT.words, tap);
    const cookies = (await context.cookies()).filter(({ domain }) => domain === READ);
    return { steps: { invitation, 'tap to front page': front }, cookies };
  });
}

async function inNewBrowser<Result>(
  { browser }: Setting,
  cookies: Cookies,
  work: (page: Page, context: BrowserContext) => Promise<Result>,
): Promise<Result> {
  const context = await browser.newContext({ storageState: { cookies, origins: [] } });
  try {
    return await work(await context.newPage(), context);
  } finally {
    await context.close();
  }
}

function see(setting: Setting, page: Page, host: string, { path, words }: typeof FRONT): Promise<Step> {
  return stepOf(setting, page, words, () => page.goto(`https://${host}${path}`, { waitUntil: 'commit' }));
}

async function stepOf(
  { newspaper, line }: Setting,
  page: Page,
  words: string,
  act: () => Promise<unknown>,
): Promise<Step> {
  const [requests, connections] = [await newspaper.requests(), line.connections];
  const start = performance.now();
  await act();
  await page.waitForFunction(isPainted, words);
  const milliseconds = performance.now() - start;
  return {
    milliseconds,
    requests: (await newspaper.requests()) - requests,
    connections: line.connections - connections,
  };
}

/** Tells whether a page has the words where they are seen; pages on the way have others. */
const isPainted = (words: string) =>
  document.body?.innerText.includes(words) && performance.getEntriesByName('first-contentful-paint').length > 0;
