/** Access that a real browser gives pages to connected sites, to each other, and to the Reader's own pages. */
import type { Browser, Page, Request } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { inRelease, runs } from '../../support/tier.ts';
import { startTwoSites } from '../../support/two-sites.ts';

const SECRET = 'for subscribers only';

const sites = forFile(startTwoSites);
const browser = forFile(launchChromium);
let own: string;
beforeAll(async () => {
  own = `http://localhost:${sites.rig.proxy.port}`;
  await sites.publish('/page.html', `<h1>${SECRET}</h1>`);
  await sites.publish('/data.js', `window.taken = "${SECRET}";`, 'text/javascript; charset=utf-8');
  await sites.publish('/p.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="37" height="11"/>', 'image/svg+xml');
  await sites.publish('/favicon.ico', 'an icon', 'image/x-icon'); // browsers ask each site for it
});

async function open(url: string, at: Browser = browser): Promise<Page> {
  const page = await at.newPage();
  await page.goto(url);
  return page;
}

it('attack 77: cookies of one gateway site reach no other, and not the Reader', async () => {
  const page = await open(`${sites.news}/page.html`);
  const host = new URL(sites.news).hostname;
  await page.evaluate((label) => {
    for (const domain of ['localhost', '.localhost', label, 'news.example', 'example']) {
      // biome-ignore lint/suspicious/noDocumentCookie: it is what a page would try
      document.cookie = `to-${domain.replaceAll('.', '')}=1; Domain=${domain}`;
    }
    // biome-ignore lint/suspicious/noDocumentCookie: it is what a page would try
    document.cookie = 'mine=1';
  }, host);
  expect(await page.evaluate('document.cookie')).toContain('mine=1');
  expect(await page.evaluate('document.cookie')).not.toContain('to-localhost');
  for (const url of [`${sites.other}/page.html`, `${own}/`, `http://127.0.0.1:${sites.rig.proxy.port}/`]) {
    const asked = page.waitForRequest((request: Request) => request.url() === url);
    await page.goto(url);
    expect(await (await asked).allHeaders()).not.toHaveProperty('cookie');
    expect(await page.evaluate('document.cookie')).toBe('');
  }
  const names = (await page.context().cookies()).map(({ name }) => name);
  expect(names).not.toContain('host'); // the content host sets one with every answer
  await page.close();
});

describe('attack 78: a page of another site', () => {
  /** Returns what a page gets of a document of a gateway. */
  const taken = (page: Page, from: string) =>
    page.evaluate(async (origin) => {
      const load = (tag: 'script' | 'img' | 'iframe', path: string) =>
        new Promise<HTMLElement>((resolve) => {
          const element = document.createElement(tag);
          element.onload = () => resolve(element);
          element.onerror = () => resolve(element);
          element.src = origin + path;
          document.body.append(element);
        });
      await load('script', '/data.js');
      const image = (await load('img', '/p.svg')) as HTMLImageElement;
      const frame = (await load('iframe', '/page.html')) as HTMLIFrameElement;
      const fetched = await fetch(`${origin}/page.html`).then(
        (answer) => answer.text(),
        () => 'failed',
      );
      const opaque = await fetch(`${origin}/page.html`, { mode: 'no-cors' }).then(
        ({ type }) => type,
        () => 'failed',
      );
      let framed = '';
      try {
        framed = frame.contentDocument?.body.textContent ?? '';
      } catch {}
      return { script: (window as { taken?: string }).taken, width: image.naturalWidth, framed, fetched, opaque };
    }, from);

  const FROM: [string, () => string][] = [
    ['another gateway site', () => `${sites.other}/page.html`],
    ['the web', () => `http://127.0.0.1:${sites.rig.host.port}/foreign.html`],
  ];
  it.each(FROM.slice(0, runs(1, 2)))(
    'on %s gets no script, picture, frame or answer of a gateway; a link works',
    async (_, from) => {
      sites.rig.host.handlers.set('/foreign.html', (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end('<body></body>'),
      );
      sites.rig.refusals.length = 0;
      const page = await open(from());
      const got = await taken(page, sites.news);
      expect(got).toMatchObject({ script: undefined, width: 0, fetched: 'failed' });
      expect(got.framed).not.toContain(SECRET);
      const frame = await page.frames()[1]?.content();
      expect(frame ?? '').not.toContain(SECRET);
      expect(sites.rig.refusals.length).toBeGreaterThanOrEqual(4);
      expect(new Set(sites.rig.refusals.map(({ code }) => code))).toEqual(new Set(['cross-site']));
      await page.evaluate((url) => {
        const link = document.body.appendChild(document.createElement('a'));
        link.href = url;
        link.click();
      }, `${sites.news}/page.html`);
      await page.waitForURL(`${sites.news}/page.html`);
      expect(await page.textContent('h1')).toBe(SECRET);
      await page.close();
    },
  );

  it('that opens one has no hold of its window; pages of the site itself get everything', async () => {
    const page = await open(`${sites.other}/page.html`);
    const opening = page.context().waitForEvent('page');
    await page.evaluate((url) => {
      (window as { opened?: Window | null }).opened = window.open(url);
    }, `${sites.news}/page.html`);
    const opened = await opening;
    await opened.waitForLoadState();
    expect(await opened.textContent('h1')).toBe(SECRET);
    expect(await opened.evaluate('window.opener')).toBeNull();
    expect(await page.evaluate('window.opened.closed')).toBe(true); // cut off
    const inside = await taken(opened, sites.news);
    expect(inside).toMatchObject({ script: SECRET, width: 37, framed: SECRET });
    await opened.close();
    await page.close();
  });
});

describe('attack 106: a page of another site that wants to know which sites are connected', () => {
  const FILES = [
    ['/report.pdf', 'application/pdf', undefined],
    ['/data.zip', 'application/zip', undefined],
    ['/page-to-keep.html', 'text/html; charset=utf-8', 'attachment; filename="page.html"'],
  ] as const;
  let unknown: string;
  let foreign: string;
  beforeAll(async () => {
    const { publisher, host, proxy } = sites.rig;
    for (const [path, mediaType, disposition] of FILES) {
      const headers = disposition === undefined ? {} : { 'content-disposition': disposition };
      await publisher.publish(host.files, path, { content: SECRET, metadata: { mediaType, headers } });
    }
    await proxy.check();
    unknown = sites.news.replace(/[a-z2-7]{10}(?=\.localhost)/, 'a'.repeat(10));
    foreign = `http://127.0.0.1:${host.port}/foreign.html`;
    host.handlers.set('/foreign.html', (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<body></body>'),
    );
  });

  /** Tells what an opener sees of a window: cut off, foreign, or still its own empty page. */
  async function seenOf(url: string): Promise<string> {
    const page = await open(foreign);
    const seen = await page.evaluate(async (target) => {
      const opened = window.open(target);
      const look = () => {
        if (opened === null || opened.closed) return 'cut off';
        try {
          return `own: ${opened.location.href}`;
        } catch {
          return 'foreign';
        }
      };
      for (let turn = 0; turn < 40 && look() !== 'cut off'; turn++) await new Promise((done) => setTimeout(done, 50));
      return look();
    }, url);
    for (const one of page.context().pages()) await one.close();
    return seen;
  }

  inRelease(() => {
    it('sees the same of a window with a page, with a download, and with a site that is not connected', async () => {
      for (const path of ['/page.html', '/none.html', ...FILES.map(([path]) => path)])
        for (const site of [sites.news, unknown]) expect([path, await seenOf(site + path)]).toEqual([path, 'cut off']);
    });
  });

  it('sees the same of pictures', async () => {
    const page = await open(foreign);
    const outcomes = await page.evaluate(
      (urls) =>
        Promise.all(
          urls.map(
            (url) =>
              new Promise((done) => {
                const image = new Image();
                image.onload = () => done('load');
                image.onerror = () => done('error');
                image.src = url;
              }),
          ),
        ),
      [sites.news, unknown].flatMap((origin) => [`${origin}/p.svg`, `${origin}/none.png`]),
    );
    expect(outcomes).toEqual(Array(4).fill('error'));
    await page.close();
  });

  inRelease(() => {
    it('links to a download, which begins with one click more; within the site it begins at once', async () => {
      const page = await open(foreign);
      const [path] = FILES[2];
      const click = (url: string) =>
        page.evaluate((target) => {
          const link = document.body.appendChild(document.createElement('a'));
          link.href = target;
          link.click();
        }, url);
      await click(sites.news + path);
      await page.waitForURL(sites.news + path);
      expect(await page.locator('a').count()).toBe(1);
      expect(await page.content()).not.toContain(SECRET);
      const begun = page.waitForEvent('download');
      await page.click('a');
      expect((await begun).suggestedFilename()).toBe('page.html');
      await page.goto(`${sites.news}/page.html`);
      const within = page.waitForEvent('download');
      await click(sites.news + path);
      expect((await within).suggestedFilename()).toBe('page.html');
      await page.close();
    });
  });
});

describe("attack 95: a page of a site tries the Reader's own pages", () => {
  const tries = (page: Page, target: string) =>
    page.evaluate(async (origin) => {
      const outcome = (source: EventTarget) =>
        new Promise<string>((resolve) => {
          for (const event of ['open', 'message', 'error']) source.addEventListener(event, () => resolve(event));
        });
      const attempt = async (start: () => EventTarget) => {
        try {
          return await outcome(start());
        } catch {
          return 'error';
        }
      };
      const frame = document.createElement('iframe');
      frame.src = `${origin}/`;
      const framed = new Promise((resolve) => {
        frame.onload = resolve;
      });
      document.body.append(frame);
      await framed;
      let content = 'nothing';
      try {
        content = frame.contentDocument?.body.textContent ?? 'nothing';
      } catch {}
      return {
        socket: await attempt(() => new WebSocket(origin.replace('http', 'ws'))),
        worker: await attempt(() => new Worker(`${origin}/`)),
        shared: await attempt(() => new SharedWorker(`${origin}/`) as unknown as EventTarget),
        events: await attempt(() => new EventSource(`${origin}/`)),
        fetched: await fetch(`${origin}/`).then(
          (answer) => answer.text(),
          () => 'error',
        ),
        posted: await fetch(`${origin}/`, { method: 'POST', body: 'a=b', mode: 'no-cors' }).then(
          ({ type }) => type,
          () => 'error',
        ),
        content,
      };
    }, target);

  const DOORS: [string, number, () => string[]][] = [
    ['in the gateway', 5, () => [`${sites.news}/page.html`]],
    // A browser with the proxy sends few of the requests.
    ['through the proxy', 0, () => ['http://news.example/page.html', `--proxy-server=${sites.rig.proxy.url}`]],
  ];
  it.each(DOORS.slice(0, runs(1, 2)))(
    '%s: sockets, workers, frames, event sources and requests are refused',
    async (_, least, where) => {
      const [url = '', ...settings] = where();
      const at = settings.length > 0 ? await launchChromium(...settings) : browser;
      try {
        for (const target of [own, `http://127.0.0.1:${sites.rig.proxy.port}`]) {
          const page = await open(url, at);
          sites.rig.refusals.length = 0;
          const result = await tries(page, target);
          expect(result).toMatchObject({ socket: 'error', worker: 'error', events: 'error', fetched: 'error' });
          expect(result.shared).toBe('error');
          expect(['error', 'opaque']).toContain(result.posted);
          expect(result.content).toMatch(/^(?:nothing)?$/);
          for (const frame of page.frames().slice(1)) expect(await frame.content()).not.toContain('news.example');
          // Requests of the browser on its own account are not meant.
          const refused = sites.rig.refusals.filter(({ address }) => address.startsWith(new URL(target).hostname));
          const codes = refused.map(({ code }) => code);
          expect(codes.length).toBeGreaterThanOrEqual(least); // socket, frame, events, and both requests came, and were refused
          expect(codes.filter((code) => code !== 'cross-site')).toEqual([]);
          await page.close();
        }
      } finally {
        if (at !== browser) await at.close();
      }
    },
  );

  inRelease(() => {
    it('with a form: the answer is a refusal', async () => {
      for (const target of [own, `http://127.0.0.1:${sites.rig.proxy.port}`]) {
        const page = await open(`${sites.news}/page.html`);
        const answer = page.waitForResponse((response) => response.request().method() === 'POST');
        await page.evaluate((action) => {
          const form = document.body.appendChild(document.createElement('form'));
          Object.assign(form, { method: 'post', action });
          form.submit();
        }, `${target}/`);
        const { status, headers } = await answer.then(async (it) => ({ status: it.status(), headers: it.headers() }));
        expect([403, 405]).toContain(status);
        expect(['cross-site', 'cross-site', 'method-refused']).toContain(headers['wispr-refusal']);
        await page.close();
      }
    });
  });
});
