/**
 * Serves only the user who runs the Reader: not other users of the machine, nor root, whose programs pass on requests of others. Every user can connect to its loopback addresses; the kernel's table of sockets lists which user has the other
 * end. https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html
 */
import { access, open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import type { CodedError } from '../../core/errors.ts';
import { STATUS_CODES } from '../../node-support/http.ts';
import { ReaderError } from '../errors.ts';
import { refusalPage } from '../pages/refusal.ts';
import { PAGE_HEADERS, renderPage } from '../pages/template.ts';
import type { Admit } from './loopback-server.ts';

/** Where the kernel lists the sockets of this machine; there also for a service that sees of `/proc` itself only. */
const TABLES = '/proc/self/net';
/** The kernel gives no more than a page of a table at a time. */
const PAGE = 4_096;
/** How often the table is read for one connection: while it is read sockets come and go, and one may be passed over. */
const ATTEMPTS = 3;

/** One connection, as the program sees it that was connected to. */
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
      throw new ReaderError('other-user', 'this system does not show which of its users made a connection', {
        cause,
      });
    }
    return new ConnectionOwners(directory);
  }

  /**
   * The user at the other end; `undefined` where it is not on this machine. A socket that its program has closed is listed as root's.
   */
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
  #placesOf({
    remoteAddress,
    remotePort,
    localAddress,
    localPort,
  }: Connection): { table: SocketTable; ends: string }[] {
    if (!remoteAddress || !localAddress || !remotePort || !localPort) return [];
    const { tcp, tcp6 } = this.#tables;
    const ends = (inIPv6: boolean) =>
      `${listed(remoteAddress, remotePort, inIPv6)} ${listed(localAddress, localPort, inIPv6)}`;
    const mapped = { table: tcp6, ends: ends(true) };
    return isInIPv4(remoteAddress) ? [{ table: tcp, ends: ends(false) }, mapped] : [mapped];
  }
}

function isInIPv4(address: string): boolean {
  return ipaddr.process(address).kind() === 'ipv4';
}

/** An end of a connection as the table has it: the address in words of the machine, hexadecimal. */
function listed(address: string, port: number, inIPv6: boolean): string {
  const read = ipaddr.process(address);
  const bytes = Buffer.from((inIPv6 && read instanceof ipaddr.IPv4 ? read.toIPv4MappedAddress() : read).toByteArray());
  if (endianness() === 'LE') bytes.swap32();
  return `${bytes.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

interface Answer extends PromiseWithResolvers<Owner | undefined> {
  /** Such a line was there; one of a program may come yet. */
  isClosed?: true;
}

/**
 * A table with many concurrent queries: a read that began before a query does not answer it, and one read answers all that wait. With ten thousand
 * sockets it is some megabytes long, so it is looked at page by page and never held.
 */
class SocketTable {
  readonly #path: string;
  readonly #page = Buffer.allocUnsafeSlow(PAGE);
  /** By the two ends, as the table has them. */
  #wanted = new Map<string, Answer>();
  #isReading = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** `undefined` also where there is no such file: a machine may be without IPv6. */
  ownerOf(ends: string): Promise<Owner | undefined> {
    const answer: Answer = this.#wanted.get(ends) ?? Promise.withResolvers();
    this.#wanted.set(ends, answer);
    if (!this.#isReading) void this.#answerAll();
    return answer.promise;
  }

  async #answerAll(): Promise<void> {
    this.#isReading = true;
    while (this.#wanted.size > 0) {
      const wanted = this.#wanted;
      this.#wanted = new Map();
      await this.#readFor(wanted).catch(() => undefined);
      for (const { resolve, isClosed } of wanted.values()) resolve(isClosed && 'closed');
    }
    this.#isReading = false;
  }

  /** Answers the queries whose sockets are in the table, and removes them from `wanted`. */
  async #readFor(wanted: Map<string, Answer>): Promise<void> {
    const file = await open(this.#path);
    try {
      let text = '';
      while (wanted.size > 0) {
        const { bytesRead } = await file.read(this.#page, 0, PAGE, null);
        if (bytesRead === 0) return;
        text = answerFrom(text + this.#page.toString('latin1', 0, bytesRead), wanted);
      }
    } finally {
      await file.close();
    }
  }
}

/** Looks at whole lines: `number: local remote state queues timer retransmits uid timeout inode`. @returns the line that has begun */
function answerFrom(text: string, wanted: Map<string, Answer>): string {
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
    const from = text.indexOf(': ', start) + 2;
    const ends = text.slice(from, text.indexOf(' ', text.indexOf(' ', from) + 1));
    const answer = wanted.get(ends);
    if (answer) {
      const fields = text.slice(from, end).split(/ +/);
      const [uid, inode] = [Number(fields[6]), Number(fields[8])];
      if (inode === 0) answer.isClosed = true;
      if (Number.isInteger(uid) && inode > 0) {
        answer.resolve(uid);
        wanted.delete(ends);
      }
    }
    start = end + 1;
  }
  return text.slice(start);
}

export interface OwnConnectionsOptions {
  /** Every user of this machine is served. */
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
