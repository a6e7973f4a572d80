/**
 * Whose connection it is. Anybody on a machine can connect to its loopback addresses; but the kernel's table of sockets tells which user has the other
 * end. https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html
 */
import { access, readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { ReaderError } from '../errors.ts';

/** Where the kernel lists the sockets of this machine; there also for a service that sees of `/proc` itself only. */
const TABLES = '/proc/self/net';
/** How often the table is read for one connection: while it is read sockets come and go, and one may be passed over. */
const ATTEMPTS = 3;

/** One connection, as the program sees it that was connected to. */
export interface Connection {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

export class ConnectionOwners {
  readonly #tables: { readonly tcp: SharedFile; readonly tcp6: SharedFile };

  private constructor(directory: string) {
    this.#tables = { tcp: new SharedFile(join(directory, 'tcp')), tcp6: new SharedFile(join(directory, 'tcp6')) };
  }

  /** @throws ReaderError `owner-unknown` where the system has no such table */
  static async open(directory = TABLES): Promise<ConnectionOwners> {
    try {
      await access(join(directory, 'tcp'));
    } catch (cause) {
      throw new ReaderError('owner-unknown', 'this system does not tell which of its users made a connection', {
        cause,
        hint: 'if nobody else uses this machine, or everybody may read what you read: --other-users',
      });
    }
    return new ConnectionOwners(directory);
  }

  /**
   * The number of the user who has the other end; `undefined` where nobody on this machine has it, or not any more: a socket that its program has
   * closed belongs to nobody, and is listed as root's.
   */
  async find(connection: Connection): Promise<number | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      for (const { file, ends } of this.#placesOf(connection)) {
        const owner = ownerIn(await file.read(), ends);
        if (owner !== undefined) return owner;
      }
    }
    return undefined;
  }

  /** A program may use a socket of IPv6 for an address of IPv4. */
  #placesOf({ remoteAddress, remotePort, localAddress, localPort }: Connection): { file: SharedFile; ends: string }[] {
    if (!remoteAddress || !localAddress || !remotePort || !localPort) return [];
    const { tcp, tcp6 } = this.#tables;
    const ends = (inIPv6: boolean) =>
      `${listed(remoteAddress, remotePort, inIPv6)} ${listed(localAddress, localPort, inIPv6)}`;
    const mapped = { file: tcp6, ends: ends(true) };
    return isInIPv4(remoteAddress) ? [{ file: tcp, ends: ends(false) }, mapped] : [mapped];
  }
}

/** Of the line with these ends: `local remote state queues timer retransmits uid timeout inode`. */
function ownerIn(table: string, ends: string): number | undefined {
  for (let at = table.indexOf(` ${ends} `); at >= 0; at = table.indexOf(` ${ends} `, at + 1)) {
    const fields = table.slice(at, table.indexOf('\n', at)).trim().split(/ +/);
    const [uid, inode] = [Number(fields[6]), Number(fields[8])];
    if (Number.isInteger(uid) && inode > 0) return uid;
  }
  return undefined;
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

/** A file that many want to know at the same time: nobody gets what was read before they asked, and it is read once for all who wait. */
class SharedFile {
  readonly #path: string;
  #current: Promise<unknown> = Promise.resolve();
  #next: Promise<string> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** The empty text where there is no such file: a machine may be without IPv6. */
  read(): Promise<string> {
    this.#next ??= this.#current.then(() => {
      const reading = readFile(this.#path, 'latin1').catch(() => '');
      this.#next = undefined;
      this.#current = reading;
      return reading;
    });
    return this.#next;
  }
}
