/** Load from `wrk`, and what it cost the server: requests a second, processor time for each, and latency. */

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { runCommand } from './measure.ts';
import { processorTime, sumOf, treeOf } from './proc.ts';
import type { StartedProxy } from './proxies.ts';
import type { Workspace } from './workspace.ts';

const CONNECTIONS = 10;

export interface Load {
  /** URL that is asked for over and over, in absolute form. */
  readonly url: string;
  readonly seconds: number;
}

export interface Figures {
  readonly requestsPerSecond: number;
  /** Microseconds of the server's process for each request, user and system. */
  readonly processorTime: number;
}

/** Measures requests that are answered whole: wrk counts every other status as an error. */
export async function measureLoad(proxy: StartedProxy, load: Load, { directory }: Workspace): Promise<Figures> {
  const script = join(directory, 'absolute-form.lua');
  await writeFile(script, `wrk.path = "${load.url}"\nwrk.headers["Host"] = "${new URL(load.url).host}"\n`);
  const before = await processorTime(proxy.pid);
  const { count, requestsPerSecond } = await runWrk(load.seconds, ['-s', script, proxy.url]);
  const spent = (await processorTime(proxy.pid)) - before;
  return { requestsPerSecond, processorTime: (spent * 1e6) / count };
}

interface WrkReport {
  readonly count: number;
  readonly requestsPerSecond: number;
  readonly latency: number;
}

export type TreeFigures = Figures & Pick<WrkReport, 'latency'>;

/** @param args - further ones; the URL is the last. @throws Error where an answer was not 2xx, or not whole */
async function runWrk(seconds: number, args: readonly string[]): Promise<WrkReport> {
  const settings = ['-t1', `-c${CONNECTIONS}`, '--timeout', '30s', `-d${seconds}s`, '--latency'];
  const output = await runCommand('wrk', [...settings, ...args]);
  const count = Number(/(\d+) requests in/.exec(output)?.[1]);
  const requestsPerSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]);
  const [, value, unit = ''] = /50%\s+([\d.]+)(us|ms|s)/.exec(output) ?? [];
  const latency = Number(value) * ({ us: 1e-3, ms: 1, s: 1e3 }[unit] ?? Number.NaN);
  if (/Non-2xx|Socket errors/.test(output) || !(count > 0) || !Number.isFinite(requestsPerSecond + latency))
    throw new Error(`${args.at(-1)} was not answered as it should: ${output}`);
  return { count, requestsPerSecond, latency };
}

/** The same with each of many documents asked for once, by a client of Node.js's. @param url - what stands before the number of each */
export async function measureEachOnce(proxy: StartedProxy, url: string, count: number): Promise<Figures> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let next = 1;
  const askOn = async () => {
    while (next <= count) {
      const { hostname, port } = new URL(proxy.url);
      const path = `${url}${next++}.bin`;
      const asked = request({ hostname, port, path, headers: { host: new URL(url).host }, agent }).end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      if (answer.statusCode !== 200) throw new Error(`${proxy.url} answered ${answer.statusCode}`);
      await finished(answer.resume());
    }
  };
  const before = { cpu: await processorTime(proxy.pid), clock: performance.now() };
  await Promise.all(Array.from({ length: CONNECTIONS }, askOn));
  const seconds = (performance.now() - before.clock) / 1000;
  const spent = (await processorTime(proxy.pid)) - before.cpu;
  agent.destroy();
  return { requestsPerSecond: count / seconds, processorTime: (spent * 1e6) / count };
}

/** The same of a server with all its processes, asked for one URL in the usual form. @param args - further ones for wrk */
export async function measureTree(
  pid: number,
  url: string,
  seconds: number,
  args: readonly string[] = [],
): Promise<TreeFigures> {
  const spentSoFar = async () => sumOf(await treeOf(pid), processorTime);
  const before = await spentSoFar();
  const { count, requestsPerSecond, latency } = await runWrk(seconds, [...args, url]);
  return { requestsPerSecond, processorTime: (((await spentSoFar()) - before) * 1e6) / count, latency };
}
