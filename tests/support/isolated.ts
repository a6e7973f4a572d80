/** A page that is isolated from other origins, its worker, a frame, and a frame in which something is refused. */
import type { Page } from 'playwright-core';
import type { TestDocument } from './publisher-with-sets.ts';

const headers = { 'cross-origin-embedder-policy': 'require-corp' };
const mediaType = 'text/html; charset=utf-8';

export const ISOLATED = [
  { path: '/isolated.html', content: '<!doctype html><h1>Isolated</h1>', mediaType, headers },
  { path: '/isolated-frame.html', content: '<title>Frame</title>', mediaType, headers },
  { path: '/isolated.js', content: 'postMessage(crossOriginIsolated)', mediaType: 'text/javascript', headers },
] satisfies TestDocument[];

/** Tells what isolation there is, and whether frames show documents and refusals. */
export function isolationOf(page: Page) {
  return page.evaluate(async () => {
    const titleOf = (src: string) =>
      new Promise<string | undefined>((resolve) => {
        const frame = Object.assign(document.createElement('iframe'), { src });
        frame.onload = () => resolve(frame.contentDocument?.title);
        document.body.append(frame);
      });
    const worker = new Worker('/isolated.js');
    const inWorker = await new Promise((resolve) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = () => resolve('refused');
    });
    const frames = [await titleOf('/isolated-frame.html'), await titleOf('/gone.html')];
    return { page: crossOriginIsolated, memory: typeof SharedArrayBuffer, worker: inWorker, frames };
  });
}
