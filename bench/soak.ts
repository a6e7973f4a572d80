/**
 * `npm run soak [REQUESTS]`: half a million requests of all kinds through a running Reader, and its memory on the way. What grows without end
 * shows in it: more than a quarter from the first tenth to the end is an error.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { ask } from './ask.ts';
import { memoryOf } from './proc.ts';
import { onStage, SITE, type StartedProxy } from './proxies.ts';

const REQUESTS = Number(process.argv[2] ?? 500_000);
const CONNECTIONS = 20;
const DOCUMENTS = 200;
const LENGTHS = [0, 300, 1024, 8000, 40_000, 200_000];
const GROWTH = 1.25;

interface Kind {
  readonly path: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly passing?: true;
}

process.exitCode = await onStage('soak', writeSite, async (stage) =>
  soak(await stage.startReader('--cache-size', '4M'), stage.plainUrl),
);

async function writeSite(source: string): Promise<void> {
  for (let number = 0; number < DOCUMENTS; number++)
    await writeFile(join(source, `${number}.bin`), randomBytes(LENGTHS[number % LENGTHS.length] ?? 0));
}

/** Of every kind some, in an order that is the same in every run. */
function kindOf(number: number): Kind {
  const document = (number * 37) % DOCUMENTS;
  const path = `/${document}.bin`;
  switch (number % 16) {
    case 0:
      return { path, status: 200, method: 'HEAD' };
    case 1:
      return { path, status: 304, headers: { 'if-none-match': '*' } };
    case 2:
    case 3: // 300 bytes at least
      return { path: `/${document - (document % 6) + 1}.bin`, status: 206, headers: { range: 'bytes=100-199' } };
    case 4:
      return { path: `/there-is-no-${number}`, status: 404 };
    case 5:
      return { path, status: 405, method: 'PUT' };
    case 6:
      return { path, status: 412, headers: { 'if-match': '"another"' } };
    case 7:
    case 8:
      return { path, status: 200, passing: true };
    case 9:
      return { path: `/${number}`, status: 302, passing: true }; // nginx's own answer to what it does not have
    default:
      return { path, status: 200 };
  }
}

async function soak({ url: proxy, pid }: StartedProxy, plainUrl: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let next = 0;
  const askOn = async (until: number) => {
    while (next < until) {
      const { path, status: expected, headers, method, passing } = kindOf(next++);
      const url = `${passing ? plainUrl : `http://${SITE}`}${path}`;
      const { status } = await ask({ proxy, url, agent, ...(headers && { headers }), ...(method && { method }) });
      if (status !== expected)
        throw new Error(`${method ?? 'GET'} ${url} was answered with ${status}, not ${expected}`);
    }
  };
  const memory = [(await memoryOf(pid)).now];
  for (let tenth = 1; tenth <= 10; tenth++) {
    await Promise.all(Array.from({ length: CONNECTIONS }, () => askOn((REQUESTS * tenth) / 10)));
    memory.push((await memoryOf(pid)).now);
    process.stdout.write(`${next} requests: ${memory.at(-1)?.toFixed(0)} MiB\n`);
  }
  agent.destroy();
  const [start = 0, first = 0] = memory;
  const end = memory.at(-1) ?? 0;
  process.stdout.write(
    `at rest ${start.toFixed(0)}, after a tenth ${first.toFixed(0)}, at the end ${end.toFixed(0)} MiB\n`,
  );
  return end > first * GROWTH ? 1 : 0;
}
