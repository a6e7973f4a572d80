/** The reader in the browser: the real worker in Chromium, asked by scripts of a page and by windows. */
import { gzipSync } from 'node:zlib';
import type { Page, Response } from 'playwright-core';
import { putState, readerWith } from '../support/pages/stories.ts';
import { setOf } from '../support/publisher-with-sets.ts';
import { startWebReaderRig, visit, type WebReaderRig } from '../support/web-reader-rig.ts';
import type { Answer, Asked, ReadingRig } from './rig.ts';
import { ReadSite } from './site.ts';

/** A profile of the browser that has read the front page: scripts of one page ask, another one is opened. */
interface Profile {
  readonly page: Page;
  readonly window: Page;
}

export async function startBrowserReader(): Promise<ReadingRig> {
  const rig = await startWebReaderRig();
  rig.first.handlers.clear();
  const site = await ReadSite.publish(rig, rig.first);
  let profile = await profileOf(rig);
  const look = async () => {
    await profile.page.waitForTimeout(1_100); // a look a second
    await profile.page.evaluate("fetch('/', { cache: 'no-cache' })");
  };
  return {
    site,
    look,
    get: (path, asked = {}) => fetchIn(profile.page, path, asked),
    open: (path) => {
      const { href } = new URL(path, rig.documents);
      return opened(profile.window, href, () => profile.window.goto(href));
    },
    goOn: async () => {
      const button = profile.window.locator('a.b');
      const url = new URL((await button.getAttribute('href')) ?? '', rig.documents).href;
      return opened(profile.window, url, () => button.click());
    },
    leave: (path) =>
      profile.page.evaluate(async (address) => {
        const reader = (await fetch(address)).body?.getReader();
        await reader?.read();
        await reader?.cancel();
      }, path),
    readSlowly: async (path) => (await fetchIn(profile.page, path, {}, 2)).body,
    aged: async (seconds, work, kept) => {
      const before = profile;
      const { publication } = rig.publisher;
      const [now, newest] = [Math.floor(Date.now() / 1000), publication.timestampVersion];
      const { bundleOf } = rig.server.publications;
      rig.server.publications.bundleOf = async () => gzipSync('{}'); // the reading site would remember what the hosts take back here
      const confirm = async (version: number, expires: number) => {
        await publication.publishTimestamp(now, { version, expires });
        site.mirror();
      };
      try {
        if (kept === undefined) {
          await confirm(now - seconds, now - seconds + 172_800);
          profile = await profileOf(rig, '');
        } else {
          profile = await profileOf(rig, kept);
          const soon = Math.floor(Date.now() / 1000) + 8; // time for a look, under load too
          await confirm(newest + 1, soon);
          await look();
          await profile.page.waitForTimeout(soon * 1000 + 1_000 - Date.now());
        }
        await work();
      } finally {
        await profile.page.context().close();
        profile = before;
        rig.server.publications.bundleOf = bundleOf;
        await confirm(newest + 2, now + 172_800);
      }
    },
    close: rig.close,
  };
}

/** @param kept - what is read, and kept; empty: nothing can be read */
async function profileOf(rig: WebReaderRig, kept = '/'): Promise<Profile> {
  if (kept === '') {
    const page = await rig.newPage();
    await visit(page, `${rig.documents}/`, 'a:text("Read on"), a:text("Try again")');
    await putState(page, 'noticed', 0);
    return { page, window: page };
  }
  const page = await readerWith(rig, 'day-1');
  const answered = { at: Date.now(), isAnswered: true };
  await putState(page, 'nobody', answered.at); // pages that ask are not led away
  await putState(page, `asked ${setOf(rig.publisher, 'day-2').id}`, { ...answered, reason: 'not-entitled' });
  await fetchIn(page, kept, {});
  return { page, window: await page.context().newPage() };
}

/** Returns what a window gets at an address, at the end of a redirect too. */
async function opened(window: Page, url: string, act: () => Promise<unknown>): Promise<Answer> {
  const first = window.waitForResponse((response) => response.url() === url);
  await act().catch(() => undefined); // the step may lead to where nothing is
  const response = await first;
  await window.waitForLoadState('load').catch(() => undefined);
  const body = await shownIn(window, response);
  return { status: response.status(), headers: response.headers(), body, isWhole: true };
}

async function shownIn(window: Page, response: Response): Promise<Buffer> {
  if (response.status() >= 300 && response.status() < 400) return Buffer.alloc(0);
  return Buffer.from(await window.evaluate<string>('document.body.innerText'));
}

/** @param pause - milliseconds between two pieces that are taken */
async function fetchIn(page: Page, path: string, asked: Asked, pause = 0): Promise<Answer> {
  const { body, ...answer } = await page.evaluate(
    async ([address, { method = 'GET', headers = {} }, milliseconds]) => {
      const response = await fetch(address, { method, headers });
      const parts: Uint8Array[] = [];
      let isWhole = true;
      const reader = response.body?.getReader();
      try {
        for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
          parts.push(part.value);
          if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
        }
      } catch {
        isWhole = false;
      }
      const bytes = new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
      const base64 = (bytes as Uint8Array & { toBase64(): string }).toBase64();
      return { status: response.status, headers: Object.fromEntries(response.headers), body: base64, isWhole };
    },
    [path, asked, pause] as const,
  );
  return { ...answer, body: Buffer.from(body, 'base64') };
}
