/** Connecting on the Reader's page, where it takes more than one good link and one press of the button. */
import { describe, expect, it } from 'vitest';
import { parseConnectTo, ReaderError } from '../../client-proxy/index.ts';
import { alertOf } from '../../client-proxy/pages/connect.ts';
import { BINDING_PATH } from '../../core/keys/binding.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { forEachTest } from '../support/for-file.ts';
import { type Received, send } from '../support/http-client.ts';
import { startInvitedReader } from '../support/invited-reader.ts';

const reader = forEachTest(startInvitedReader);

const origin = () => reader.proxy.page.slice(0, -1);
const get = (path: string) => send(reader.proxy.port, path, { headers: { host: new URL(origin()).host } });

async function post(path: string, fields: Record<string, string>): Promise<Received> {
  const token = /name="token" value="([^"]+)"/.exec((await get('/connect')).text)?.[1] ?? '';
  const type = 'application/x-www-form-urlencoded';
  const headers = { host: new URL(origin()).host, origin: origin(), 'content-type': type };
  const body = new URLSearchParams({ token, ...fields }).toString();
  return send(reader.proxy.port, path, { method: 'POST', headers, body });
}

const codeOf = (link: string) => /#([^.]*)/.exec(link)?.[1] ?? '';
const whereTo = ({ status, headers }: Received) => [status, headers.location];
const siteNames = async () => (await reader.proxy.sites()).map(({ site }) => site);

describe('a code without its link', () => {
  it('is enough with the site that it is for: the site names its publisher, who names the key server', async () => {
    const code = codeOf(await reader.keyServer.invite());
    const alone = await post('/connect', { link: code });
    expect(alone.status).toBe(422);
    expect(alone.text).toContain('Site that it is for');
    const looked = await post('/connect', { link: code, site: 'news.example' });
    expect(whereTo(looked)).toEqual([303, expect.stringMatching(/^\/connect\/[\w-]{22}$/)]);
    expect(reader.keyServer.bodies).toEqual([]); // the code was not sent
    const shown = await get(looked.headers.location ?? '');
    expect(shown.text).toContain(reader.keyServer.origin);
    expect(shown.text).not.toContain(code);
    const accepted = await post(looked.headers.location ?? '', { site: 'news.example' });
    expect(whereTo(accepted)).toEqual([303, '/?done=connected']);
    expect(await siteNames()).toEqual(['news.example']);
  });

  it('does not do with a site that names no publisher, or one that does not speak for it', async () => {
    const link = codeOf(await reader.keyServer.invite());
    for (const proof of [undefined, `wispr/1 root=${reader.publisher.root.id}`]) {
      if (proof !== undefined) reader.proofs.set('second.example', proof);
      const answer = await post('/connect', { link, site: 'second.example' });
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('host-proof')]);
    }
    expect(reader.keyServer.bodies).toEqual([]);
    expect(await siteNames()).toEqual([]);
  });
});

it('a code that is refused is asked for anew, on a page that takes another', async () => {
  const link = await reader.keyServer.invite();
  const looked = await post('/connect', { link: link.replace(/#./, (start) => (start === '#A' ? '#B' : '#A')) });
  const refused = await post(looked.headers.location ?? '', { site: 'news.example' });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('<code>code-refused</code>')]);
  expect(refused.text).toContain('name="link"');
  const again = await post('/connect', { link });
  const connected = await post(again.headers.location ?? '', { site: 'news.example' });
  expect(whereTo(connected)).toEqual([303, '/?done=connected']);
});

it.each([
  ['too-many-devices', true],
  ['seats-taken', false],
])(
  'a device for which there is no room is told so (%s), and connects by the same page when there is',
  async (code, hasPage) => {
    const looked = await post('/connect', { link: await reader.keyServer.invite() });
    const connecting = () => post(looked.headers.location ?? '', { site: 'news.example' });
    reader.keyServer.instead = ({ url }, response) => {
      if (url === BINDING_PATH) response.writeHead(409).end(JSON.stringify({ error: code }));
      return url === BINDING_PATH;
    };
    const refused = await connecting();
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(`<code>${code}</code>`)]);
    const button = `class="button" href="${reader.publisher.reading}/-/account"`;
    expect(refused.text.includes(button)).toBe(hasPage);
    reader.keyServer.instead = () => false;
    expect(whereTo(await connecting())).toEqual([303, '/?done=connected']);
  },
);

it('a site that does not answer is not said to have named no publisher, and is not connected', async () => {
  await reader.restart({ connectTo: [':443:127.0.0.1:9'].map(parseConnectTo) });
  const answer = await post('/connect', { link: await reader.keyServer.invite() });
  expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('<code>host-unreachable</code>')]);
  const unreachable = alertOf(new ReaderError('host-unreachable', 'why'));
  expect(unreachable.text).not.toBe(alertOf(new KeyError('host-proof', 'why')).text);
  const byCode = await post('/connect', { link: codeOf(await reader.keyServer.invite()), site: 'news.example' });
  expect(byCode.text).toContain('<code>host-unreachable</code>');
  expect(await siteNames()).toEqual([]);
});

describe('the document that the reader was on the way to', () => {
  const connectBy = async (fields: Record<string, string>, site = 'news.example') => {
    const looked = await post('/connect', { link: await reader.keyServer.invite(), ...fields });
    return whereTo(await post(looked.headers.location ?? '', { site }));
  };

  it('is where the reader is led afterwards', async () => {
    const path = '/caf%C3%A9/a.html?q=1&r=2';
    const page = await get(`/connect?${new URLSearchParams({ site: 'news.example', path })}`);
    expect(page.text).toContain('name="path" value="/caf%C3%A9/a.html?q=1&amp;r=2"');
    const query = new URLSearchParams({ site: 'news.example', path, done: 'connected' });
    expect(await connectBy({ site: 'NEWS.example', path })).toEqual([303, `/connect?${query}`]);
    expect((await get(`/connect?${query}`)).text).toMatch(/localhost:\d+\/caf%C3%A9\/a\.html\?q=1&amp;r=2"/);
  });

  it.each([
    ['news.example', '//evil.example/a'],
    ['news.example', `/a.html?q=${'a'.repeat(5000)}`],
    ['no site', '/a.html'],
    ['second.example', '/a.html'], // a site that was not connected
  ])('is forgotten where the form says %j and %j', async (site, path) => {
    expect(await connectBy({ site, path })).toEqual([303, '/?done=connected']);
  });
});

describe('the button "Connect"', () => {
  it('pressed twice connects once', async () => {
    const looked = await post('/connect', { link: await reader.keyServer.invite() });
    const path = looked.headers.location ?? '';
    const both = await Promise.all([1, 2].map(() => post(path, { site: 'news.example' })));
    expect(both.map(whereTo)).toContainEqual([303, '/?done=connected']);
    expect(reader.keyServer.bodies).toHaveLength(1);
    expect(reader.keyServer.devices.size).toBe(1);
    expect(await siteNames()).toEqual(['news.example']);
    const late = await post(path, { site: 'news.example' });
    expect([late.status, late.text]).toEqual([422, expect.stringContaining('has been used')]);
  });
});
