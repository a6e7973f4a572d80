/** A workspace, two targets that it may publish to, and perhaps a key server: for what is withdrawn at more than one place. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import type { Onlooker } from '../../cli/confirm-steps.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { type Workspace, workspaceOf } from '../../publisher/workspace.ts';
import { lastOf } from './last-published.ts';
import { TargetPlaces } from './target-places.ts';
import { NO_POWER, saidAt, withoutPower } from './target-timestamp.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from './workspace.ts';

/** Anew for each test. */
export class TwoPlaces {
  A = '';
  B = '';
  /** For {@link keyServer}: without it, nobody is told. */
  token: string | undefined;
  /** Its origin. */
  keyServer = '';
  doubts: string[] = [];
  made!: TestWorkspace;
  workspace!: Workspace;
  readonly places = new TargetPlaces();

  constructor() {
    beforeEach(async () => {
      [{ place: this.A }, { place: this.B }] = [await this.places.next(), await this.places.next()];
      [this.token, this.doubts] = [undefined, []];
    });
    afterEach(() => this.made.remove());
  }

  readonly open = async (settings: Parameters<typeof createWorkspace>[1]) => {
    this.made = await createWorkspace({ 'a.html': '<p>1' }, settings);
    this.workspace = workspaceOf(this.made.configurationFile);
  };

  /** Without a token, or a key server that was ever told anything. */
  readonly alone = async () => {
    await this.open({ timestampBy: 'publisher' });
    await this.made.protect();
  };

  readonly setToken = async (token: string) => {
    this.token = token;
    await writeFile(join(this.made.directory, 'token'), `${token}\n`, { mode: 0o600 });
  };

  readonly protectNext = async (text: string) => {
    await this.made.write('a.html', text);
    await this.made.protect();
  };

  /** @param cut - see {@link withoutPower}; at the output itself, nothing is put */
  readonly publish = async (where: string | null, cut?: 'taken' | 'lost') => {
    const { workspace, token, keyServer: origin } = this;
    const { out } = this.made;
    const honest = where === null ? undefined : await openTarget(where);
    const target = honest && cut ? withoutPower(honest, cut) : honest;
    const publishing = publishSite({
      ...{ workspace, out, keysAreThere: true, onDoubt: (doubt) => void this.doubts.push(doubt) },
      renewTimestamp: renewerOf(workspace, out, PASSPHRASE, nowInSeconds()),
      ...(target && { target }),
      ...(token !== undefined && cut === undefined && { keyServer: { origin, token } }),
    });
    return cut ? expect(publishing).rejects.toThrow(NO_POWER) : publishing;
  };

  readonly confirm = (withdraw?: number, gone?: readonly string[], onlooker: Onlooker = {}) =>
    confirmFromWorkspace(
      { passphrase: PASSPHRASE, withdraw },
      {
        config: this.made.configurationFile,
        ...(this.token !== undefined && { tokenFile: join(this.made.directory, 'token') }),
        ...(gone && { gone }),
      },
      { onDoubt: (doubt) => void this.doubts.push(doubt), ...onlooker },
    );

  readonly last = () => lastOf(this.workspace);

  /** The publication, and what is withdrawn. */
  readonly shown = async (where: string) => {
    const { publication, withdrawn } = await saidAt(where);
    return [publication, withdrawn];
  };

  /** What is there now; @returns puts it back. */
  readonly copyOut = async (withKeys: boolean) => {
    const { out, directory } = this.made;
    const copy = join(directory, 'before');
    await cp(out, copy, { recursive: true });
    const files = [this.workspace.database, ...(withKeys ? [this.workspace.keyStore] : [])];
    const bytes = await Promise.all(files.map((file) => readFile(file)));
    return async () => {
      await rm(out, { recursive: true });
      await cp(copy, out, { recursive: true });
      await Promise.all(files.map((file, index) => writeFile(file, bytes[index] ?? '')));
    };
  };
}
