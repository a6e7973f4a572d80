/** Pages of the Reader for documents without a key lead to the same address at the reading site; where a check failed, nowhere. */
import { describe, expect, it } from 'vitest';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { launchChromium } from '../support/chromium.ts';
import { forEachTest, forFile } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const HOUR = 3600;
const SUBSCRIBE = 'https://shop.example/';
const TARGET = '/paid.html?a=%C3%A9&b';
const THERE = `https://read.news.example${TARGET}`;
const WINDOW = { accept: 'text/html,*/*' };

describe('a document without a key', () => {
  const rig = forEachTest(startHostileReaderRig);

  /** @returns status, code, where the answer leads at once, and the page's links in their order */
  async function open(headers: Record<string, string> = WINDOW, target = TARGET) {
    const answer = await send(rig.proxy.port, rig.url(target), { headers });
    const links = Array.from(answer.text.matchAll(/href="([^"]*)"/g), ([, link = '']) => link.replace('&#38;', '&'));
    return [answer.status, refusalCode(answer), answer.headers.location, links];
  }

  async function publish(redirect?: SiteSettings['redirect']): Promise<void> {
    const settings = { ...TEST_SETTINGS, subscribe: SUBSCRIBE, keptAfterGrace: true, ...(redirect && { redirect }) };
    rig.publisher.publication.setSettings(settings as SiteSettings);
    await rig.publisher.publish(rig.host.files, '/paid.html', { content: 'paid', set: await createSetKey() });
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' });
  }

  it.each([
    ['readers', undefined, [403, 'not-entitled', undefined, [THERE, SUBSCRIBE]]],
    ['never', 'never', [403, 'not-entitled', undefined, [SUBSCRIBE, THERE]]],
    ['always', 'always', [302, 'not-entitled', THERE, [THERE, SUBSCRIBE]]],
  ] as const)('leads a window on as the signed redirect says: %s', async (_, redirect, expected) => {
    await publish(redirect);
    expect(await open()).toEqual(expected);
  });

  it('leads on where the key server is out of reach, too, but no program, frame or picture', async () => {
    await publish('always');
    await rig.keyServer.close();
    expect((await open()).slice(0, 3)).toEqual([302, 'key-server-unreachable', THERE]);
    for (const headers of [
      {},
      { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image', 'sec-fetch-site': 'same-origin' },
    ])
      expect((await open(headers)).slice(0, 3)).toEqual([502, 'key-server-unreachable', undefined]);
  });

  it('leads nowhere where a signature, a key or the freshness was refused', async () => {
    await publish('always');
    const refused = async (target: string, code: string, headers = {}) => {
      const [status, found, location, links] = await open({ ...WINDOW, ...headers }, target);
      expect([status, found, location]).toEqual([expect.any(Number), code, undefined]);
      expect(String(links)).not.toMatch(/read\.news\.example\/(?!-\/account)/);
    };
    const file = rig.publisher.fileOf('/a.html');
    const object = Buffer.from(rig.host.files.get(file) ?? []);
    rig.host.files.set(file, object.fill(0, 30, 40));
    await refused('/a.html', 'head-unexpected');
    rig.keyServer.tamper = (answer) => ({
      ...answer,
      time: 0,
      refused: answer.refused.map((one) => ({ ...one, reason: 'stale-request' })),
    });
    await refused(TARGET, 'clock-off');
    await rig.publisher.sign(rig.host.files, { version: nowInSeconds(), expires: nowInSeconds() + HOUR });
    await open();
    rig.passTime(400 * 24 * HOUR);
    expect((await send(rig.proxy.port, rig.url(TARGET), { headers: WINDOW })).headers['wispr-notice']).toBe('past');
    await refused(TARGET, 'content-host-unreachable', { referer: rig.url('/a.html') });
  });
});

describe('a window of Chromium', () => {
  const rig = forFile(startHostileReaderRig);

  it('comes to the reading site with path, query and fragment, and tells it no more', async () => {
    const settings = { ...TEST_SETTINGS, redirect: 'always' } as const;
    rig.publisher.publication.setSettings(settings);
    const sites = [{ site: 'news.example', content: ['http://news.example'], reading: rig.host.origin }];
    rig.publisher.setDescriptor(rig.publisher.descriptor(rig.keyServer.origin, { sites, issued: nowInSeconds() }));
    rig.keyServer.refusals.set(rig.publisher.set.id, 'lapsed');
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' });
    rig.host.handlers.set('/a.html', (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Teaser</h1>'),
    );
    const browser = await launchChromium();
    const page = await browser.newPage();
    await page.goto(`${await rig.proxy.gatewayUrl('news.example')}a.html?q=1#part`);
    expect([page.url(), await page.textContent('h1')]).toEqual([`${rig.host.origin}/a.html?q=1#part`, 'Teaser']);
    expect(rig.host.requests.find(({ url }) => url === '/a.html?q=1')?.headers).not.toHaveProperty('referer');
    await page.close();
    await browser.close();
  });
});
