/** A process that answers requests, where a key server has several. The primary process tells it what to do, and ends it: signals are not for it. */
import cluster from 'node:cluster';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { logOutput } from './operations/log-output.ts';
import { primary, type WorkerAnswers } from './processes/primary.ts';
import { type RunningKeyServer, startKeyServer } from './server.ts';

/** Resolves when it has ended. */
export async function runWorker(): Promise<void> {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
  const stopping = new AbortController();
  const ended = Promise.withResolvers<void>();
  let starting: Promise<RunningKeyServer> | undefined;
  const answers: WorkerAnswers = {
    start: async (number, config) => {
      const log = pino({ base: { process: number } }, logOutput());
      starting = startKeyServer(config, { log, signal: stopping.signal });
      starting.catch(() => ended.resolve());
      await starting;
    },
    stop: () => {
      stopping.abort();
      ended.resolve();
    },
    reload: async () => (await starting)?.reload(),
    metrics: async () => (await starting)?.metrics.values() ?? [],
  };
  primary?.answerBy(answers);
  primary?.tell('ready');
  await ended.promise;
  await (await starting?.catch(() => undefined))?.close();
  await turn(); // sends what was said last
  cluster.worker?.disconnect();
}
