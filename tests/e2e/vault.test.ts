/** The vault in Chromium: from an invitation to the first article, and the keys that it hands to nobody else. docs/spec/web-reader.md */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { x25519KeyPair, x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { forFile } from '../support/for-file.ts';
import { takePictures } from '../support/pages/browser.ts';
import { CONTENT, clearKeys, contentKeys, heading, keptKeys, read, startVault, VAULT } from '../support/pages/vault.ts';
import { setOf } from '../support/publisher-with-sets.ts';
import { inRelease, runs } from '../support/tier.ts';

const vault = forFile(() => startVault());

inRelease(() => {
  it('an invitation leads from its link to the first article in two taps, with nothing typed', async () => {
    const page = await vault.newPage();
    await page.goto(await vault.invite('anna'));
    expect(page.url()).toBe(`${VAULT}/-/join`);
    await page.waitForSelector('#as:not([hidden])');
    expect(await page.textContent('#name')).toBe('anna');
    expect(await page.isVisible('#password')).toBe(false);
    expect(await page.inputValue('#link')).toMatch(
      new RegExp(`^${VAULT}/-/join#[\\w-]{19}\\.${vault.rig.publisher.root.id}$`),
    );
    await page.click('text=Read in this browser');
    await heading(page, 'Front');
    await page.click('text=Letter');
    await heading(page, 'Letter');
    expect(page.url()).toBe(`${CONTENT}/letter.html`);
    expect(await keptKeys(page)).toEqual({
      ids: expect.arrayContaining([setOf(vault.rig.publisher, 'day-1').id, setOf(vault.rig.publisher, 'day-2').id]),
      extractable: false,
    });
    expect(await vault.devicesOf('anna')).toHaveLength(1);
  });

  it('attack 136: no page at the documents’ origin may ask for passkeys, or make them; the account’s may', async () => {
    const page = await vault.newPage();
    await vault.joinAs(page, 'petra');
    const allowed = () =>
      page.evaluate<boolean[]>(
        `['get', 'create'].map((use) => document.featurePolicy.allowsFeature('publickey-credentials-' + use))`,
      );
    await read(page, '/letter.html', 'Letter');
    for (const path of ['/letter.html', '/-/library', '/-/style.css', '/-/site.json']) {
      if (path.startsWith('/-/')) await page.goto(`${CONTENT}${path}`);
      expect([path, await allowed()]).toEqual([path, [false, false]]);
    }
    await page.goto(`${VAULT}/-/account`);
    expect(await allowed()).toEqual([true, true]);
  });

  describe('a device', () => {
    it('attack 47: gets no keys once the operator has ended the subscription', async () => {
      const page = await vault.newPage();
      await vault.joinAs(page, 'ida');
      await page.goto(`${VAULT}/-/account`);
      const session = await page.context().cookies(VAULT);
      await revokeSubscriber(vault.rig.server.state, 'ida');
      await page.goto(`${CONTENT}/letter.html`);
      await page.waitForSelector('text=Sign in to read');
      expect(session.map(({ name }) => name)).toContain('__Host-wispr');
      expect((await contentKeys(page.context())).ids).toEqual([]);
    });

    it('attack 47: of a subscriber who can still sign in gets none either, and the page says why', async () => {
      const page = await vault.newPage();
      await page.goto(`${VAULT}/-/join#${(await vault.rig.invite({ name: 'jens' })).code}`);
      await page.click('text=Read in this browser');
      await heading(page, 'Front');
      await page.goto(`${VAULT}/-/account`);
      await page.click('#signing-in summary');
      await page.fill('#password', 'correct horse battery');
      await page.click('form#set-password button');
      await page.waitForSelector('#signing-in:not([open])');
      await read(page, '/letter.html', 'Letter');
      await revokeSubscriber(vault.rig.server.state, 'jens');
      await clearKeys(page);
      await page.goto(`${CONTENT}/letter.html`);
      await page.waitForSelector('text=Sign in to read');
      await page.fill('#name', 'jens');
      await page.fill('#password', 'correct horse battery');
      await page.click('form#sign-in button');
      await page.waitForSelector('#problem:not([hidden])');
      expect(await page.textContent('h1')).toBe('The publisher has ended your access');
      expect(await page.textContent('#problem')).toContain('new invitation');
      await takePictures(page, 'vault-withdrawn');
      expect((await contentKeys(page.context())).ids).toEqual([]);
      expect((await vault.devicesOf('jens')).filter(({ revoked }) => revoked === null)).toEqual([]);
    });

    it('that is forgotten leaves nothing: no device, no session, no keys at either origin', async () => {
      const page = await vault.newPage();
      await vault.joinAs(page, 'lena');
      await read(page, '/letter.html', 'Letter');
      await page.goto(`${VAULT}/-/account`);
      await page.click('#leave summary');
      await page.click('#forget button');
      await page.waitForURL(`${VAULT}/-/sign-in?left=forgotten`);
      expect(await page.textContent('.done')).toContain('This browser is forgotten');
      expect(await page.evaluate('indexedDB.databases()')).toEqual([]);
      expect((await page.context().cookies()).filter(({ name }) => name === '__Host-wispr')).toEqual([]);
      expect((await vault.devicesOf('lena')).map(({ revoked }) => revoked === null)).toEqual([false]);
      await page.goto(`${VAULT}/-/style.css`);
      await page.goto(`${CONTENT}/-/style.css`);
      expect(await page.evaluate('indexedDB.databases()')).toEqual([]);
      expect(await page.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)')).toBe(0);
    });
  });
});

describe('keys are had by', () => {
  const keysPages = (page: Page) => {
    const found: string[] = [];
    page.on('framenavigated', (frame) => {
      const { origin, pathname, search } = new URL(frame.url());
      if (origin === VAULT) found.push(pathname + search);
    });
    return found;
  };
  const shown = (page: Page) =>
    page.evaluate<[string, boolean]>('[document.title, document.images[0].naturalWidth > 0]');

  it('the first page of a browser that is signed in, behind the page that starts the reader', async () => {
    const page = await vault.newPage();
    await vault.joinAs(page, 'paula');
    const other = await vault.newPage();
    await other.context().addCookies(await page.context().cookies(VAULT));
    const asked = keysPages(other);
    await read(other, '/letter.html', 'Letter');
    expect(asked).toEqual(['/-/keys?silent=yes']);
  });

  inRelease(() => {
    it('an application that stays where it is, with what its reader has typed', async () => {
      const page = await vault.newPage();
      await vault.joinAs(page, 'wanda');
      const asked = keysPages(page);
      await read(page, '/app.html#here', 'App');
      await expect.poll(() => shown(page).catch(String)).toEqual(['App started', true]);
      expect([page.url(), asked]).toEqual([`${CONTENT}/app.html#here`, ['/-/keys?silent=yes']]);
      await clearKeys(page);
      await page.evaluate(`history.pushState(null, '', '/app.html?route#part')`);
      await page.type('input', 'typed');
      expect(await page.evaluate(`fetch('/second.html').then(({ status }) => status)`)).toBe(200);
      expect([page.url(), await page.inputValue('input')]).toEqual([`${CONTENT}/app.html?route#part`, 'typed']);
    });

    it('each of several windows that ask at the same time, as one device', async () => {
      const page = await vault.newPage();
      await vault.joinAs(page, 'tabea');
      const tabs = await Promise.all([1, 2, 3, 4].map(() => page.context().newPage()));
      const wanted = ['letter', 'second', 'letter', 'second'];
      await Promise.all(tabs.map((tab, index) => read(tab, `/${wanted[index]}.html`, titleOf(wanted[index]))));
      expect(await vault.devicesOf('tabea')).toHaveLength(1);
      await clearKeys(page);
      await Promise.all(tabs.map((tab) => tab.reload().catch(() => undefined))); // browsers restore windows like this
      for (const [index, tab] of tabs.entries()) await heading(tab, titleOf(wanted[index]));
    });

    it('a page after one that was left before its keys came', async () => {
      const page = await vault.newPage();
      await vault.joinAs(page, 'ruth');
      let asked = 0;
      await page.route(`${VAULT}/-/keys?silent=yes`, (route) => (asked++ === 0 ? undefined : route.continue()));
      await page.goto(`${CONTENT}/app.html`, { waitUntil: 'commit' });
      await expect.poll(() => asked).toBe(1);
      await page.goto(`${CONTENT}/app.html?again`);
      expect([await shown(page), asked]).toEqual([['App started', true], 2]);
    });

    it('nobody whom the vault refuses in silence: the page stays', async () => {
      const page = await vault.newPage();
      await vault.joinAs(page, 'otto');
      let asked = 0;
      await page.route(`${VAULT}/-/keys?silent=yes`, (route) => {
        asked++;
        return route.fulfill({ status: 303, headers: { location: `${CONTENT}/-/keys` } });
      });
      await page.goto(`${CONTENT}/app.html`);
      await expect.poll(() => asked).toBe(1);
      await page.waitForFunction('document.readyState === "complete"');
      expect(await shown(page)).toEqual(['App', false]);
      await page.goto(`${CONTENT}/app.html?again`);
      expect([await shown(page), asked]).toEqual([['App', false], 1]);
    });

    it('nobody who is not signed in, or may not read: the page stays, and the vault is asked once', async () => {
      const [visitor, reader] = [await vault.newPage(), await vault.newPage()];
      await visitor.goto(`${CONTENT}/index.html`);
      await heading(visitor, 'Front');
      await vault.joinAs(reader, 'rolf', ['day-2']);
      for (const page of [visitor, reader]) {
        const asked = keysPages(page);
        const refused: (string | undefined)[] = [];
        page.on('response', async (response) => {
          if (response.status() === 403) refused.push(response.headers()['wispr-refusal']);
        });
        await page.goto(`${CONTENT}/app.html`);
        await expect.poll(() => asked).toEqual(['/-/keys?silent=yes']);
        await heading(page, 'App');
        await page.goto(`${CONTENT}/app.html?again`);
        expect(await shown(page)).toEqual(['App', false]);
        expect(asked).toEqual(['/-/keys?silent=yes']);
        // Visitors who want to read an article are asked to sign in, all the same.
        if (page === visitor)
          await visitor.goto(`${CONTENT}/letter.html`).then(() => visitor.waitForSelector('#sign-in'));
        expect(new Set(refused.slice(-2))).toEqual(new Set([page === reader ? 'not-entitled' : 'key-missing']));
      }
    });
  });
});

const titleOf = (name = '') => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

describe('the vault hands keys', () => {
  /** A key pair of an attacker, and its public key as it stands in an address. */
  async function attackersKey(): Promise<string> {
    return toBase64url(await x25519PublicKey(await x25519KeyPair(true)));
  }

  it('attack 96: to the origin of its own configuration only, whatever a page of another site asks for', async () => {
    const page = await vault.newPage();
    await vault.joinAs(page, 'mara');
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(new URL(request.url()).origin));
    const wishes = ['javascript:alert(1)', `//${new URL(vault.foreign).host}/`, `${vault.foreign}/`, '/\\evil.example'];
    for (const to of [...wishes, '/-/leave'].slice(0, runs(2, 5))) {
      await page.goto(vault.foreign);
      asked.length = 0;
      const fragment = new URLSearchParams({ key: await attackersKey(), to });
      await page.evaluate(`location.href = ${JSON.stringify(`${VAULT}/-/keys#${fragment}`)}`);
      // Sealed to a key that the content origin does not hold: nothing arrives.
      await page.waitForSelector('h1:text-is("Front"), h1:text-is("Your keys could not be fetched")');
      expect(
        asked.filter((origin) => ![CONTENT, VAULT, vault.rig.first.origin, vault.rig.host.origin].includes(origin)),
      ).toEqual([]);
    }
    expect((await contentKeys(page.context())).ids).toEqual([]);
  });

  it('attacks 95 and 96: to no script of a published page, though it is of the same site', async () => {
    const page = await vault.newPage();
    await vault.joinAs(page, 'olga');
    await read(page, '/letter.html', 'Letter');
    const before = JSON.stringify(await overview(vault.rig.server.state));
    await read(page, '/evil.html', 'Evil');
    const logged = vault.rig.log().length;
    const got = await page.evaluate(`(async () => {
      const attempts = [['GET', '/-/keys'], ['POST', '/-/device'], ['POST', '/-/key-requests'], ['POST', '/-/invitation'],
        ['POST', '/-/forget'], ['POST', '/-/remove-device'], ['POST', '/-/password']];
      const through = [];
      for (const [method, path] of attempts)
        for (const mode of ['cors', 'no-cors']) {
          const answer = await fetch(${JSON.stringify(VAULT)} + path, { method, mode, credentials: 'include' }).catch(() => undefined);
          if (answer?.ok || (await answer?.text().catch(() => ''))) through.push(method + ' ' + path);
        }
      return through;
    })()`);
    expect(got).toEqual([]);
    // Requests did arrive.
    const lines = vault.rig.log().slice(logged);
    for (const route of ['/-/keys', '/-/device', '/-/key-requests', '/-/forget'])
      expect(lines).toMatch(new RegExp(`"route":"${route}","status":403`));
    expect(JSON.stringify(await overview(vault.rig.server.state))).toBe(before);
    // Frames, and windows that the script holds, are no way either.
    const address = `${VAULT}/-/keys#${new URLSearchParams({ key: await attackersKey(), to: '/' })}`;
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.body.appendChild(document.createElement('iframe'));
      frame.onload = resolve;
      frame.src = ${JSON.stringify(address)};
    })`);
    for (const frame of page.frames().slice(1)) expect(await frame.content()).not.toContain('id="vault"');
    const [opened] = await Promise.all([
      page.context().waitForEvent('page'),
      page.evaluate(`void (window.held = window.open(${JSON.stringify(address)}))`),
    ]);
    await heading(opened, 'Front');
    // A page back at the holder's own origin is out of reach all the same.
    expect(await page.evaluate('window.held.closed')).toBe(true);
    expect(await opened.evaluate('window.opener')).toBe(null);
    await page.goto(`${VAULT}/-/account`);
    expect(await page.textContent('.lead')).toContain('olga');
  });

  inRelease(() => {
    it('attack 43: as keys that nothing at the content origin can take out, and not twice', async () => {
      const page = await vault.newPage();
      await vault.joinAs(page, 'paula');
      const arrivals: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST' && request.url() === `${CONTENT}/-/keys`)
          arrivals.push(request.postData() ?? '');
      });
      await read(page, '/letter.html', 'Letter');
      // The history of the window keeps neither the way there nor the way back.
      expect(await page.evaluate('navigation.entries().filter(({ url }) => /sealed|key=/.test(url)).length')).toBe(0);
      expect(arrivals).toEqual([expect.stringMatching(/^sealed=[\w-]{100,}&key=[\w-]{43}&to=/)]);
      await clearKeys(page);
      await page.context().clearCookies();
      await page.goto('about:blank');
      const fields = Object.fromEntries(new URLSearchParams(arrivals[0]));
      const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
      const body = `<form method="post" action="${CONTENT}/-/keys">${inputs}</form><script>document.forms[0].submit()</script>`;
      const headers = { 'referrer-policy': 'strict-origin' };
      const other = await page.context().newPage();
      for (const [from, shown] of [
        [vault.foreign, 'text=Sign in to read'], // keys are passed over, and the document is opened all the same
        [VAULT, 'h1:text-is("Your keys could not be fetched")'],
      ] as const) {
        await other.route(`${from}/-/again`, (route) => route.fulfill({ contentType: 'text/html', headers, body }));
        await other.goto(`${from}/-/again`);
        await other.waitForSelector(shown);
      }
      expect((await contentKeys(page.context())).ids).toEqual([]);
    });
  });
});
