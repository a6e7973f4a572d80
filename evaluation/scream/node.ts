/** A key server of the cluster, in a process of its own. It prints where it is as a line of JSON. Its argument is a {@link NodeSetting}. */
import { join } from 'node:path';
import { destination, pino } from 'pino';
import { configIn } from '../../bench/bundles.ts';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { startKeyServer } from '../../keyserver/server.ts';

export interface NodeSetting {
  readonly database: string;
  readonly folder: string;
  readonly number: number;
  readonly dispatcher: KeyServerConfig['dispatcher'];
}

export interface NodeOrigins {
  readonly api: string;
  readonly reading: string;
}

export function configOf({ database, folder, number, dispatcher }: NodeSetting): KeyServerConfig {
  const { data: _, ...config } = configIn(folder);
  const publicKey = join(folder, `node-${number}.pub`);
  return { ...config, database, publicKey, ...(dispatcher && { dispatcher }) };
}

if (import.meta.main) {
  const log = pino({ base: null, level: 'warn' }, destination(2));
  const config = configOf(JSON.parse(process.argv[2] ?? ''));
  const { url, readingUrl, state } = await startKeyServer(config, { log });
  while (config.dispatcher?.connect && state.hashing.connected() === 0)
    await new Promise((resolve) => setTimeout(resolve, 20));
  process.stdout.write(`${JSON.stringify({ api: url, reading: readingUrl } satisfies NodeOrigins)}\n`);
}
