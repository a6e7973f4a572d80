/**
 * Chooses the port of the Reader. The usual one may be taken by another program; then any free one is chosen once and remembered, so that bookmarks
 * and the settings of browsers stay good. A port that was asked for by name is never replaced.
 */
import { describeListening } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { DEFAULT_PORT } from '../gateway/label.ts';
import type { SettingsKeeper } from '../store/settings.ts';
import type { LoopbackServer } from './loopback-server.ts';

/** @param port - 0: any free one @returns the port that another program has @throws ReaderError `listen-failed` */
export async function listen(
  server: LoopbackServer,
  port: number | undefined,
  settings: SettingsKeeper,
): Promise<number | undefined> {
  const wanted = port ?? settings.current.port ?? DEFAULT_PORT;
  const failure = await server.open(wanted);
  if (failure === undefined) return undefined;
  if (port !== undefined || failure.code !== 'EADDRINUSE') throw cannotListen(failure, wanted);
  const second = await server.open(0);
  if (second !== undefined) throw cannotListen(second, 0);
  const address = server.address();
  if (address && typeof address === 'object') settings.save(new Map([['port', String(address.port)]]));
  return wanted;
}

function cannotListen(cause: NodeJS.ErrnoException, port: number): ReaderError {
  return new ReaderError('listen-failed', describeListening({ port }, cause), { cause });
}
