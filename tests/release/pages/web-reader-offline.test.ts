/** The in-browser reader where nothing answers any more, the key server neither. */
import { expect, it, onTestFinished } from 'vitest';
import { readerWith, startStories } from '../../support/pages/stories.ts';

it('opens what was read, and nothing else, when nothing answers at all', async () => {
  const rig = await startStories();
  onTestFinished(() => rig.close());
  const page = await readerWith(rig, 'day-1');
  const open = (path: string) => page.goto(rig.documents + path);
  const isShown = () => page.waitForFunction('document.querySelector("img").naturalWidth === 1');
  await open('/20/story.html');
  await isShown();
  await Promise.all([rig.server.close(), rig.host.close()]);
  await open('/20/story.html');
  await isShown();
  await open('/');
  expect(await page.textContent('h1')).toBe('Front');
  expect((await open('/20/film.html'))?.status()).toBe(502);
});
