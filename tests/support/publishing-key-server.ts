/** A real key server for a workspace that publishes with a token. */
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import type { KeyServerState } from '../../keyserver/storage/state.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { TIMESTAMP_PATH } from '../../publisher/publication/files.ts';
import type { ConfigurationInput } from '../../publisher/workspace/configuration/schema.ts';
import { configIn, temporaryFolder } from './keyserver-rig.ts';
import { pairIn } from './publishing.ts';
import type { TestWorkspace } from './workspace.ts';

export interface PublishingKeyServer {
  readonly origin: string;
  readonly token: string;
  readonly state: KeyServerState;
  /** Workspace's settings. */
  readonly settings: Partial<ConfigurationInput>;
  /** Puts the public key where the workspace looks for it. */
  giveKeyTo(made: TestWorkspace): Promise<void>;
  /** Returns versions of the snapshot and timestamp that it serves. */
  pair(): Promise<readonly [snapshot: number, timestamp: number]>;
  timestamp(): Promise<Buffer>;
  /** Signs again, as it does each hour. @param ahead - seconds by which its clock is, for this moment alone */
  signAgain(ahead: number): Promise<void>;
  close(): Promise<void>;
}

export async function startPublishingKeyServer(): Promise<PublishingKeyServer> {
  const folder = temporaryFolder();
  const config = configIn(folder);
  let ahead = 0;
  const server = await startKeyServer(config, {
    now: () => nowInSeconds() + ahead,
    log: pino({ level: 'silent' }),
    limits: { requestsPerAddress: 100_000, metadataPerAddress: 100_000, publishingPerAddress: 100_000 },
  });
  const { token } = await createToken(server.state, 'publisher', 1);
  let isClosed = false;
  return {
    origin: server.url,
    token,
    state: server.state,
    settings: { keyServer: server.url, reading: server.readingUrl, timestampBy: 'keyserver' },
    giveKeyTo: ({ directory }) => copyFile(config.publicKey, join(directory, 'keyserver.pub')),
    timestamp: async () => Buffer.from(await (await fetch(server.url + TIMESTAMP_PATH)).arrayBuffer()),
    pair: async () => {
      const response = await fetch(server.url + TIMESTAMP_PATH);
      return response.ok ? pairIn(new Uint8Array(await response.arrayBuffer())) : [0, 0];
    },
    signAgain: async (seconds) => {
      ahead = seconds;
      await server.keeper.attempt();
      ahead = 0;
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
