import type { Server } from 'node:net';
import { describeListening } from '../../node-support/system-error.ts';
import { KeyServerError } from '../errors.ts';
import type { ListenAddress } from './schema.ts';

/** Has a server listen. @param member - what the configuration calls the address @throws KeyServerError `listen-failed` */
export function listenAt(server: Server, { host, port }: ListenAddress, member: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = describeListening({ host, port }, cause);
      reject(new KeyServerError('listen-failed', message, { cause, fields: { member } }));
    });
    server.listen({ host, port }, resolve);
  });
}
