/** Only the user who runs the Reader is served by it: not the others of the machine, root among them, whose programs pass on what others ask for. */
import type { Socket } from 'node:net';
import type { CodedError } from '../../core/errors.ts';
import { STATUS_CODES } from '../../node-support/http.ts';
import { ReaderError } from '../errors.ts';
import { refusalPage } from '../pages/refusal.ts';
import { PAGE_HEADERS, renderPage } from '../pages/template.ts';
import { ConnectionOwners } from './connection-owner.ts';
import type { Admit } from './loopback-server.ts';

export interface OwnConnectionsOptions {
  /** Everybody on this machine is served. */
  readonly otherUsers: boolean;
  readonly refused: (error: CodedError, address: string) => void;
}

/** @throws ReaderError `owner-unknown` where the system does not tell whose connections come */
export async function ownConnections({ otherUsers, refused }: OwnConnectionsOptions): Promise<Admit> {
  if (otherUsers) return async () => true;
  const owners = await ConnectionOwners.open();
  const own = process.geteuid?.();
  return async (socket) => {
    const owner = await owners.find(socket);
    if (owner !== undefined && owner === own) return true;
    if (owner === 'closed' || socket.destroyed) return false; // gone by itself, or it had to make room: nobody was refused anything
    const whose =
      owner === undefined ? 'nobody on this machine has' : `another user of this machine, number ${owner}, has`;
    const error = new ReaderError('other-user', `${whose} the other end of the connection`);
    refused(error, '');
    writePage(socket, error);
    return false;
  };
}

/** Nothing of the request was read; whatever it is, this is the answer. */
function writePage(socket: Socket, error: ReaderError): void {
  const { status, page } = refusalPage(error);
  const html = renderPage(page);
  const fields = {
    ...PAGE_HEADERS,
    'content-length': Buffer.byteLength(html),
    'wispr-refusal': error.code,
    connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${html}`);
}
