/** The publication at the reading site: row 69 of the attack list for browsers without the Reader, and the look of its pages. */
import { beforeEach, expect, it } from 'vitest';
import { forEachTest } from '../support/for-file.ts';
import { startRig } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { createVisitor, type Page, type Visitor } from '../support/reading-site-visitor.ts';
import { signOnto } from '../support/signed-publication.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const DAY = 86_400;
const FRONT = { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' };

const rig = forEachTest(startRig);
let visitor: Visitor;
beforeEach(async () => {
  visitor = createVisitor(rig.server.documentsUrl);
  await publish(rig.publisher, rig.host, FRONT);
});

function expectRefused(page: Page, status: number, code: string): void {
  expect([page.status, page.headers['cache-control']]).toEqual([status, 'no-store']);
  expect(page.text).toContain(`<code>${code}</code>`);
}

it('attack 69: refuses where its clock is behind, showing both times', async () => {
  rig.passTime(-3 * DAY);
  const page = await visitor.get('/');
  expectRefused(page, 502, 'clock-off');
  expect(page.text.match(/\d{4}-\d\d-\d\dT/g)?.length).toBeGreaterThanOrEqual(2);
});

it('has the publisher’s colour and logo out of the signed settings on its own pages, and leads to the subscriptions', async () => {
  const look = { accent: '#a3301d', logo: '/front/logo.svg', subscribe: 'https://shop.example/' };
  const titles = [{ set: 'day-{dd}', title: 'Day {dd}' }];
  rig.publisher.publication.setSettings({ ...TEST_SETTINGS, ...look, titles });
  await signOnto(rig.publisher.publication, rig.host.files);
  await rig.server.publications.check();
  const refused = await visitor.get('/missing.html');
  expectRefused(refused, 404, 'no-such-document');
  expect(refused.text).toContain('<img src="/front/logo.svg" alt="The Harbour News">');
  expect(refused.text).toContain('<a class="b" href="/">Front page</a>');
  const style = (await visitor.get('/-/refusal.css')).text;
  expect(style).toContain('--accent:#a3301d');
  expect(style).toMatch(/@media\(prefers-color-scheme:dark\)\{img\{filter:/); // the logo has no box of another colour around it
  expect((await visitor.get('/-/style.css')).text).toMatch(
    /:root\{--accent:#a3301d\}\n@media[^\n]*--accent:#[0-9a-f]{6}/,
  );
  // The account's origin has no published byte, so no logo either.
  const account = createVisitor(rig.server.readingUrl);
  const signIn = await account.get('/-/sign-in');
  expect(signIn.text).not.toContain('<img');
  expect(signIn.text).toContain('No subscription yet? <a href="https://shop.example/">');
  expect((await account.get('/-/style.css')).text).toContain('--accent:#a3301d');
  const { code } = await rig.invite({ name: 'kora', sets: ['day-16', '*'] });
  await account.join(code, 'correct horse battery');
  const { text } = await account.get('/-/account');
  expect(text).toContain('Day 16');
  expect(text).toContain('Everything');
  expect(text).toContain('no end date');
  expect(text).not.toContain('<code>');
});
