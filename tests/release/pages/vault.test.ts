/** The vault's other ways in Chromium: codes that are typed, other browsers, more people and devices. */
import { describe, expect, it } from 'vitest';
import { accessibilityProblems } from '../../support/axe.ts';
import { forFile } from '../../support/for-file.ts';
import { takePictures } from '../../support/pages/browser.ts';
import { CONTENT, clearKeys, heading, keptKeys, read, startVault, VAULT } from '../../support/pages/vault.ts';

const vault = forFile(startVault);

describe('an invitation', () => {
  it('keeps what was wanted, with its query, through the code that is typed', async () => {
    const page = await vault.newPage();
    await page.goto(`${VAULT}/letter.html?page=2`);
    await page.click('aside >> text=Sign in');
    await page.waitForSelector('text=Sign in to read');
    await page.click('text=type its code');
    await page.fill('#code', (await vault.rig.invite({ name: 'bert' })).code.toLowerCase());
    await page.fill('#password', 'correct horse battery');
    await page.click('form#join button');
    await heading(page, 'Letter');
    expect(page.url()).toBe(`${CONTENT}/letter.html?page=2`);
  });

  it('is read where the browser cannot give back an X25519 key that it stored, as WebKit', async () => {
    const page = await vault.newPage();
    await page.addInitScript(`structuredClone = () => { throw new DOMException('', 'DataCloneError'); }`);
    await vault.joinAs(page, 'gesa');
    await page.click('text=Letter');
    await heading(page, 'Letter');
    expect(await keptKeys(page)).toMatchObject({ extractable: false });
  });

  it('that was used says so, and offers no way on', async () => {
    const page = await vault.newPage();
    const link = await vault.invite('carla');
    await page.goto(link);
    await page.click('text=Read in this browser');
    await heading(page, 'Front');
    await page.goto('about:blank');
    await page.goto(link);
    await page.waitForSelector('#refused:not([hidden])');
    expect(await page.isVisible('text=Read in this browser')).toBe(false);
  });

  it('has pages on which axe finds nothing', async () => {
    const page = await vault.newPage();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(await vault.invite('dora'));
    await page.waitForSelector('#as:not([hidden])');
    await page.click('summary');
    expect(await accessibilityProblems(page)).toEqual([]);
    await takePictures(page, 'vault-invitation');
    await page.click('text=Read in this browser');
    await heading(page, 'Front');
    await read(page, '/letter.html', 'Letter');
    await page.goto(`${VAULT}/-/account`);
    expect(await page.textContent('#devices')).toContain('This browser, now');
    expect(await accessibilityProblems(page)).toEqual([]);
    await takePictures(page, 'vault-account');
  });
});

describe('two readers in two profiles', () => {
  it('in one browser, one after the other, have a device each', async () => {
    const page = await vault.newPage();
    await vault.joinAs(page, 'gerda');
    await read(page, '/letter.html', 'Letter');
    await page.goto(`${VAULT}/-/account`);
    await page.click('text=Sign out');
    await page.waitForSelector('text=Sign in to read');
    await vault.joinAs(page, 'hans');
    await read(page, '/letter.html', 'Letter');
    expect([(await vault.devicesOf('gerda')).length, (await vault.devicesOf('hans')).length]).toEqual([1, 1]);
  });
});

it('a device that is removed in the account is signed out, and a new sign-in makes another one', async () => {
  const [one, other] = [await vault.newPage(), await vault.newPage()];
  await vault.joinAs(one, 'kora');
  await read(one, '/letter.html', 'Letter');
  await vault.joinAs(other, 'kora');
  await other.goto(`${VAULT}/-/account`);
  await other.click('text=Remove');
  await other.waitForSelector('#devices', { state: 'detached' });
  await clearKeys(one);
  await one.goto(`${CONTENT}/letter.html`);
  await one.waitForSelector('text=Sign in to read');
  await vault.joinAs(one, 'kora');
  await read(one, '/letter.html', 'Letter');
  expect((await vault.devicesOf('kora')).filter(({ revoked }) => revoked === null).length).toBe(1);
  expect((await vault.devicesOf('kora')).length).toBe(2);
});
