/** The vault's other ways in Chromium: codes that are typed, other browsers, more people and devices. */
import { beforeAll, describe, expect, it } from 'vitest';
import { accessibilityProblems } from '../../support/axe.ts';
import { forFile } from '../../support/for-file.ts';
import { takePictures } from '../../support/pages/browser.ts';
import { CONTENT, clearKeys, heading, keptKeys, startVault, VAULT, type Vault } from '../../support/pages/vault.ts';
import { setOf } from '../../support/publisher-with-sets.ts';

const vault = forFile(startVault);
let rig: Vault['rig'];
beforeAll(async () => {
  ({ rig } = vault);
});

describe('an invitation', () => {
  it('keeps what was wanted, with query and place, through the code that is typed', async () => {
    const { context, page } = await vault.newPage();
    await page.goto(`${VAULT}/letter.html?page=2#end`);
    await page.waitForSelector('text=Sign in to read');
    await page.click('text=type its code');
    await page.fill('#code', (await rig.invite({ name: 'bert' })).code.toLowerCase());
    await page.fill('#password', 'correct horse battery');
    await page.click('form#join button');
    await heading(page, 'Letter');
    expect(page.url()).toBe(`${CONTENT}/letter.html?page=2#end`);
    expect(await page.evaluate('scrollY')).toBeGreaterThan(1000);
    await context.close();
  });

  it('is read where the browser cannot give back an X25519 key that it stored, as WebKit', async () => {
    const { context, page } = await vault.newPage();
    await page.addInitScript(`structuredClone = () => { throw new DOMException('', 'DataCloneError'); }`);
    await vault.joinAs(page, 'gesa');
    await page.click('text=Letter');
    await heading(page, 'Letter');
    expect(await keptKeys(page)).toMatchObject({ extractable: false });
    await context.close();
  });

  it('is passed by who goes back from the article', async () => {
    const { context, page } = await vault.newPage();
    await vault.joinAs(page, 'hugo');
    await page.goto(`${CONTENT}/index.html`);
    await heading(page, 'Front');
    await clearKeys(page);
    const visited: string[] = [];
    page.on('framenavigated', (frame) => void visited.push(new URL(frame.url()).origin));
    await page.evaluate(`location.href = '/letter.html'`);
    await heading(page, 'Letter');
    expect(visited).toContain(VAULT);
    await page.goBack();
    await heading(page, 'Front');
    await context.close();
  });

  it('keeps it through signing in', async () => {
    const { context, page } = await vault.newPage();
    await page.goto(`${CONTENT}/letter.html?page=2#end`);
    await page.waitForSelector('text=Sign in to read');
    await page.fill('#name', 'bert');
    await page.fill('#password', 'correct horse battery');
    await page.click('form#sign-in button');
    await heading(page, 'Letter');
    expect(page.url()).toBe(`${CONTENT}/letter.html?page=2#end`);
    await context.close();
  });

  it('that was used says so, and offers no way on', async () => {
    const { context, page } = await vault.newPage();
    const link = await vault.invite('carla');
    await page.goto(link);
    await page.click('text=Read in this browser');
    await heading(page, 'Front');
    await page.goto('about:blank');
    await page.goto(link);
    await page.waitForSelector('#refused:not([hidden])');
    expect(await page.isVisible('text=Read in this browser')).toBe(false);
    await context.close();
  });

  it('has pages on which axe finds nothing', async () => {
    const { context, page } = await vault.newPage();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(await vault.invite('dora'));
    await page.waitForSelector('#as:not([hidden])');
    await page.click('summary');
    expect(await accessibilityProblems(page)).toEqual([]);
    await takePictures(page, 'vault-invitation');
    await page.click('text=Read in this browser');
    await heading(page, 'Front');
    await page.goto(`${CONTENT}/letter.html`);
    await heading(page, 'Letter');
    await page.goto(`${VAULT}/-/account`);
    expect(await page.textContent('#devices')).toContain('This browser');
    expect(await accessibilityProblems(page)).toEqual([]);
    await takePictures(page, 'vault-account');
    await context.close();
  });
});

describe('two readers in two profiles', () => {
  it('get the keys of what each may read', async () => {
    const [one, other] = [await vault.newPage(), await vault.newPage()];
    await vault.joinAs(one.page, 'emil', ['day-1']);
    await vault.joinAs(other.page, 'frieda', ['day-2']);
    for (const [{ page }, path, title] of [
      [one, '/letter.html', 'Letter'],
      [other, '/second.html', 'Second'],
    ] as const) {
      await page.goto(CONTENT + path);
      await heading(page, title);
    }
    expect((await keptKeys(one.page)).ids).toEqual([setOf(rig.publisher, 'day-1').id]);
    expect((await keptKeys(other.page)).ids).toEqual([setOf(rig.publisher, 'day-2').id]);
    await one.page.goto(`${CONTENT}/second.html`);
    await one.page.waitForSelector('text=not-entitled', { state: 'attached' });
    expect(await one.page.getAttribute('a.b', 'href')).toBe(`${VAULT}/-/account`);
    for (const { context } of [one, other]) await context.close();
  });

  it('in one browser, one after the other, have a device each', async () => {
    const { context, page } = await vault.newPage();
    await vault.joinAs(page, 'gerda');
    await page.goto(`${CONTENT}/letter.html`);
    await heading(page, 'Letter');
    await page.goto(`${VAULT}/-/account`);
    await page.click('text=Sign out');
    await page.waitForSelector('text=Sign in to read');
    await vault.joinAs(page, 'hans');
    await page.goto(`${CONTENT}/letter.html`);
    await heading(page, 'Letter');
    expect([(await vault.devicesOf('gerda')).length, (await vault.devicesOf('hans')).length]).toEqual([1, 1]);
    await context.close();
  });
});

it('a device that is removed in the account is signed out, and a new sign-in makes another one', async () => {
  const [one, other] = [await vault.newPage(), await vault.newPage()];
  await vault.joinAs(one.page, 'kora');
  await one.page.goto(`${CONTENT}/letter.html`);
  await heading(one.page, 'Letter');
  await vault.joinAs(other.page, 'kora');
  await other.page.goto(`${VAULT}/-/account`);
  await other.page.click('text=Remove');
  await other.page.waitForSelector('#devices', { state: 'detached' });
  await clearKeys(one.page);
  await one.page.goto(`${CONTENT}/letter.html`);
  await one.page.waitForSelector('text=Sign in to read');
  await vault.joinAs(one.page, 'kora');
  await one.page.goto(`${CONTENT}/letter.html`);
  await heading(one.page, 'Letter');
  expect((await vault.devicesOf('kora')).filter(({ revoked }) => revoked === null).length).toBe(1);
  expect((await vault.devicesOf('kora')).length).toBe(2);
  for (const { context } of [one, other]) await context.close();
});
