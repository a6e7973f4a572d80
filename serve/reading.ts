/** Reads a site through a Reader, document by document, and holds every byte against the publisher's own files. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProxyAgent, request } from 'undici';
import { urlPathOf } from '../core/site/path.ts';

export interface Outcome {
  readonly path: string;
  readonly same: boolean;
  readonly status: number;
  readonly bytes: number;
}

export interface ReadingReport {
  readonly outcomes: readonly Outcome[];
  readonly milliseconds: number;
}

export interface ReadingTask {
  readonly proxy: string;
  readonly site: string;
  /** Folder of the publisher's own files. */
  readonly source: string;
  readonly paths: readonly string[];
}

const AT_ONCE = 8;

/** Sends plain HTTP to a proxy in absolute form, not through a tunnel, which the Reader could not look into. */
export function throughProxy(url: string): ProxyAgent {
  return new ProxyAgent({ uri: url, proxyTunnel: false });
}

export async function readSite(task: ReadingTask): Promise<ReadingReport> {
  const dispatcher = throughProxy(task.proxy);
  const start = performance.now();
  const waiting = task.paths.values();
  const outcomes: Outcome[] = [];
  const worker = async () => {
    for (const path of waiting) outcomes.push(await readOne(task, path, dispatcher));
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } finally {
    await dispatcher.close();
  }
  return { outcomes, milliseconds: performance.now() - start };
}

async function readOne({ site, source }: ReadingTask, path: string, dispatcher: ProxyAgent): Promise<Outcome> {
  const { statusCode, body } = await request(`http://${site}${urlPathOf(path)}`, { dispatcher });
  const received = Buffer.from(await body.arrayBuffer());
  const same = statusCode === 200 && received.equals(await readFile(join(source, path)));
  return { path, same, status: statusCode, bytes: received.length };
}
