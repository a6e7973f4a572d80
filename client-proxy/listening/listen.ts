/**
 * Which port the Reader gets. The usual one may be taken by another program; then any free one is chosen once and remembered, so that bookmarks
 * and the settings of browsers stay good. A port that was asked for by name is never replaced.
 */
import { randomBytes, sha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { READER_PORT } from '../../core/site/open-in-reader.ts';
import { request } from '../../node-support/http.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { SettingsKeeper } from '../settings/settings.ts';
import type { Preferences } from '../store/preferences.ts';
import type { LoopbackServer } from './loopback-server.ts';

export const DEFAULT_PORT = READER_PORT;
export const HOST = '127.0.0.1';

/** Where a running Reader says which one it is. */
export const INSTANCE_PATH = '/instance';
const RUNNING = 'running';

/** This run of the Reader: a random name in the database, whose hash the running program shows. */
export class Instance {
  readonly #name = toBase64url(randomBytes(16));

  /** Public: it reveals nothing to programs that cannot read the database. */
  shown(): Promise<string> {
    return shownName(this.#name);
  }

  remember(preferences: Preferences): void {
    preferences.saveSettings(new Map([[RUNNING, this.#name]]));
  }
}

export interface ListenOptions {
  /** Asked for by name; 0: any free one. */
  readonly port: number | undefined;
  readonly settings: SettingsKeeper;
  readonly preferences: Preferences;
}

/**
 * @returns the port that another program has, where one was chosen in its place
 * @throws ReaderError `port-taken`, `port-unusable`, `already-running`
 */
export async function listen(
  server: LoopbackServer,
  { port, settings, preferences }: ListenOptions,
): Promise<number | undefined> {
  const wanted = port ?? settings.current.port ?? DEFAULT_PORT;
  const failure = await server.open(wanted);
  if (failure === undefined) return undefined;
  if (failure.code === 'EADDRINUSE' && (await isRunningAt(wanted, preferences))) throw alreadyRunning(wanted);
  if (port !== undefined || failure.code !== 'EADDRINUSE') throw cannotListen(failure, wanted);
  const second = await server.open(0);
  if (second !== undefined) throw cannotListen(second, 0);
  const address = server.address();
  if (address && typeof address === 'object') settings.save(new Map([['port', String(address.port)]]));
  return wanted;
}

/** Whether the program at a port is a Reader that has this very database. */
async function isRunningAt(port: number, preferences: Preferences): Promise<boolean> {
  const name = preferences.settings().get(RUNNING);
  return name !== undefined && (await ask(port)) === (await shownName(name));
}

function ask(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const asked = request(
      { host: HOST, port, path: INSTANCE_PATH, agent: false, timeout: LIMITS.instanceTimeout },
      (answer) => {
        let text = '';
        answer.setEncoding('latin1').on('data', (part: string) => {
          text += part;
          if (text.length > 100) asked.destroy();
        });
        answer.on('close', () => resolve(answer.statusCode === 200 ? text.trim() : undefined));
      },
    );
    asked.on('timeout', () => asked.destroy()).on('error', () => resolve(undefined));
    asked.on('close', () => resolve(undefined)).end();
  });
}

async function shownName(name: string): Promise<string> {
  return toBase64url(await sha256(utf8(`wispr/1 running reader\n${name}`)));
}

function alreadyRunning(port: number): ReaderError {
  return new ReaderError('already-running', `your Reader is running already, at http://localhost:${port}/`);
}

function cannotListen(cause: NodeJS.ErrnoException, port: number): ReaderError {
  if (cause.code === 'EADDRINUSE')
    return new ReaderError('port-taken', `port ${port} is in use by another program`, {
      cause,
    });
  return new ReaderError('port-unusable', `port ${port} cannot be listened on: ${systemReason(cause)}`, {
    cause,
  });
}
