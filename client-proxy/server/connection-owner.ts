/**
 * Serves only the user who runs the Reader: not other users of the machine, nor root, whose programs pass on requests of others. Every user can
 * connect to its loopback addresses; the kernel's table of sockets lists which user has the other end. https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html
 */
import { access, readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import type { CodedError } from '../../core/errors.ts';
import { STATUS_CODES } from '../../node-support/http.ts';
import { ReaderError } from '../errors.ts';
import { refusalOnly } from '../pages/refusal.ts';
import type { Admit } from './loopback-server.ts';

/** Path at which the kernel lists the sockets of this machine; it is there also for a service that sees of `/proc` itself only. */
const TABLES = '/proc/self/net';
/** Number of times that the table is read for one connection: while it is read sockets come and go, and one may be passed over. */
const ATTEMPTS = 3;

/** A connection, as the program sees it that was connected to. */
export interface Connection {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/** The number of a user; `closed` where the program at the other end has closed it. */
export type Owner = number | 'closed';

export class ConnectionOwners {
  readonly #tables: { readonly tcp: SocketTable; readonly tcp6: SocketTable };

  private constructor(directory: string) {
    this.#tables = { tcp: new SocketTable(join(directory, 'tcp')), tcp6: new SocketTable(join(directory, 'tcp6')) };
  }

  /** @throws ReaderError `other-user` where the system has no such table */
  static async open(directory = TABLES): Promise<ConnectionOwners> {
    try {
      await access(join(directory, 'tcp'));
    } catch (cause) {
      throw new ReaderError('other-user', 'this system does not show which of its users made a connection', { cause });
    }
    return new ConnectionOwners(directory);
  }

  /** The user at the other end, if on this machine. A socket that its program has closed is listed as root's. */
  async find(connection: Connection): Promise<Owner | undefined> {
    let closed: 'closed' | undefined;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      for (const { table, ends } of this.#placesOf(connection)) {
        const owner = await table.ownerOf(ends);
        if (typeof owner === 'number') return owner;
        closed ??= owner;
      }
    }
    return closed;
  }

  /** A program may use a socket of IPv6 for an address of IPv4. */
  #placesOf(connection: Connection): { table: SocketTable; ends: string }[] {
    const { remoteAddress, remotePort, localAddress, localPort } = connection;
    if (!remoteAddress || !localAddress || !remotePort || !localPort) return [];
    const { tcp, tcp6 } = this.#tables;
    const ends = (inIPv6: boolean) =>
      `${listed(remoteAddress, remotePort, inIPv6)} ${listed(localAddress, localPort, inIPv6)}`;
    const mapped = { table: tcp6, ends: ends(true) };
    const isInIPv4 = ipaddr.process(remoteAddress).kind() === 'ipv4';
    return isInIPv4 ? [{ table: tcp, ends: ends(false) }, mapped] : [mapped];
  }
}

/** An end of a connection as the table has it: the address in words of the machine, hexadecimal. */
function listed(address: string, port: number, inIPv6: boolean): string {
  const read = ipaddr.process(address);
  const bytes = Buffer.from((inIPv6 && read instanceof ipaddr.IPv4 ? read.toIPv4MappedAddress() : read).toByteArray());
  if (endianness() === 'LE') bytes.swap32();
  return `${bytes.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

/** A table with many concurrent queries, of which one read answers all that wait. */
class SocketTable {
  readonly #path: string;
  #reading: Promise<unknown> = Promise.resolve();
  /** The read that has not begun yet: one that began before a query does not answer it. */
  #next: Promise<string> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Looks at lines `number: local remote state queues timer retransmits uid timeout inode`.
   *
   * @param ends - as the table has them
   * @returns `undefined` also where there is no such file: a machine may be without IPv6
   */
  async ownerOf(ends: string): Promise<Owner | undefined> {
    this.#next ??= this.#read();
    const text = await this.#next;
    const wanted = `: ${ends} `;
    let closed: 'closed' | undefined;
    for (let start = text.indexOf(wanted); start >= 0; start = text.indexOf(wanted, start + 1)) {
      const fields = text.slice(start + 2, text.indexOf('\n', start)).split(/ +/);
      const [uid, inode] = [Number(fields[6]), Number(fields[8])];
      if (Number.isInteger(uid) && inode > 0) return uid;
      if (inode === 0) closed = 'closed';
    }
    return closed;
  }

  async #read(): Promise<string> {
    await this.#reading;
    this.#next = undefined;
    const text = readFile(this.#path, 'latin1').catch(() => '');
    this.#reading = text;
    return text;
  }
}

export interface OwnConnectionsOptions {
  readonly otherUsers: boolean;
  readonly refused: (error: CodedError, address: string) => void;
}

/** @throws ReaderError `other-user` where the system does not show whose connections they are */
export async function ownConnections({ otherUsers, refused }: OwnConnectionsOptions): Promise<Admit> {
  if (otherUsers) return async () => true;
  const owners = await ConnectionOwners.open();
  const own = process.geteuid?.();
  return async (socket) => {
    const owner = await owners.find(socket);
    if (owner !== undefined && owner === own) return true;
    if (owner === 'closed' || socket.destroyed) return false; // closed by itself, or to make room: nothing was refused
    const whose =
      owner === undefined ? 'no user of this machine has' : `another user of this machine, number ${owner}, has`;
    const error = new ReaderError('other-user', `${whose} the other end of the connection`);
    refused(error, '');
    writePage(socket, error);
    return false;
  };
}

/** Answers any request, unread, with the refusal. */
function writePage(socket: Socket, error: ReaderError): void {
  const { status, headers, html } = refusalOnly(error);
  const fields = {
    ...headers,
    'content-length': Buffer.byteLength(html),
    'wispr-refusal': error.code,
    connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${html}`);
}
