/** Two places, as in `TwoPlaces`, and the real key server, whose token is there. */
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach } from 'vitest';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openOutput } from '../../publisher/publication/own.ts';
import { expiriesOf } from '../../publisher/publish/expiries.ts';
import { tellOfPublication } from '../../publisher/publish/key-server.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { configIn, temporaryFolder } from './keyserver-rig.ts';
import { saidBy, TIMESTAMP } from './target-timestamp.ts';
import { TwoPlaces } from './two-places.ts';
import { PASSPHRASE } from './workspace.ts';

/** Anew for each test, with publication 1 in the output. */
export class ToldPlaces extends TwoPlaces {
  #server: RunningKeyServer | undefined;

  constructor() {
    super();
    let folder: string;
    beforeEach(async () => {
      folder = temporaryFolder();
      await this.#start(folder);
      await this.made.protect();
    });
    afterEach(async () => {
      await this.closeKeyServer();
      await rm(folder, { recursive: true });
    });
  }

  async #start(folder: string): Promise<void> {
    const config = configIn(folder);
    // After a second refusal it is told nothing more.
    const limits = { publishingPerAddress: 60, publishingRefusals: 2 };
    const server = await startKeyServer(config, { log: pino({ enabled: false }), limits });
    this.#server = server;
    await this.open({ keyServer: server.url, reading: server.readingUrl, timestampBy: 'publisher' });
    await copyFile(config.publicKey, join(this.made.directory, 'keyserver.pub'));
    this.keyServer = server.url;
    await this.setToken(createToken(server.state, 'publisher', 30).token);
  }

  /** As programs that publish have it. */
  get access(): { readonly origin: string; readonly token: string } {
    return { origin: this.keyServer, token: this.token ?? '' };
  }

  /** It confirms what lies in the output, by a clock that is ahead; nothing here knows of it. */
  readonly confirmLater = async () => {
    const { out, configurationFile } = this.made;
    const files = [join(out, TIMESTAMP), this.workspace.lastPublished];
    const before = await Promise.all(files.map((file) => readFile(file)));
    const now = nowInSeconds() + 100;
    const { bytes } = await runTimestamp({ passphrase: PASSPHRASE, from: { configurationFile }, now });
    const expiries = await expiriesOf(await openOutput(out, { now }));
    await tellOfPublication(this.access, { timestamp: bytes, roots: [], expiries });
    await Promise.all(files.map((file, index) => writeFile(file, before[index] ?? '')));
  };

  /** It answers nobody any more. */
  readonly closeKeyServer = async () => {
    const server = this.#server;
    this.#server = undefined;
    await server?.close();
  };

  /** The publication that it confirms, and what is withdrawn. */
  readonly atKeyServer = async () => {
    const answer = await fetch(this.keyServer + TIMESTAMP);
    const { publication, withdrawn } = saidBy(new Uint8Array(await answer.arrayBuffer()));
    return [publication, withdrawn];
  };
}
