import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { AnsweringThread } from '../../node-support/answering-thread.ts';

const ECHOING = new URL('../support/echoing-thread.mjs', import.meta.url);
const DYING = new URL('../support/dying-thread.mjs', import.meta.url);

/** Returns the worker of Node.js too. */
async function start(program: URL): Promise<{ thread: AnsweringThread<unknown, unknown>; worker: Worker }> {
  const started = once(process, 'worker');
  const thread = new AnsweringThread<unknown, unknown>(program);
  const [worker] = await started;
  return { thread, worker };
}

it('a thread that has ended rejects what it is asked from then on, and says once that it ended', async () => {
  const { thread, worker } = await start(DYING);
  const deaths: unknown[] = [];
  thread.whenDead((reason) => deaths.push(reason));
  thread.send({ out: 'throw' });
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  await expect(thread.ask('anything')).rejects.toMatchObject({ cause: { message: 'out of luck' } });
  await ended;
  await expect(thread.ask('more')).rejects.toMatchObject({ cause: { message: 'out of luck' } });
  expect([thread.isDead, thread.load, deaths.length]).toEqual([true, 0, 1]);
});

it('a thread whose answer cannot be understood counts as ended, and is closed', async () => {
  const { thread, worker } = await start(ECHOING);
  expect(await thread.ask('well')).toBe('well');
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  worker.emit('messageerror', new Error('not understood'));
  await expect(thread.ask('more')).rejects.toMatchObject({ cause: { message: 'not understood' } });
  expect(await ended).toBe(0);
});

it.each([
  ['no job', ''],
  ['its job done', 'await thread.ask(1);'],
])('a program does not wait for a thread that has %s', (_, work) => {
  const source = new URL('../../node-support/answering-thread.ts', import.meta.url).href;
  const script = `import { AnsweringThread } from ${JSON.stringify(source)};
    const thread = new AnsweringThread(new URL(${JSON.stringify(ECHOING.href)}));
    ${work}`;
  const options = { timeout: 10_000, encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync(process.execPath, ['--eval', script], options);
  expect([status, stderr]).toEqual([0, '']);
});
