/**
 * Destinations of connections that the system has diverted to this relay. Node.js has no `SO_ORIGINAL_DST`; the connection table of Linux lists both
 * ends of each connection as they were, and as they are for answers. https://www.kernel.org/doc/html/latest/networking/nf_conntrack-sysctl.html
 */
import { closeSync, createReadStream, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import ipaddr from 'ipaddr.js';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { LIMITS } from '../limits.ts';
import type { Destination } from './opening.ts';

type Arrived = Pick<Socket, 'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'>;

/** File of Linux that root alone may read. */
const TABLE = '/proc/net/nf_conntrack';
const ENDS = /src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+)/g;

export class ConnectionTable {
  readonly #file: string;
  #reading: Promise<unknown> = Promise.resolve();
  /** The read that has not begun yet: one that began before a connection came need not have it. */
  #next: Promise<string> | undefined;

  constructor(file = TABLE) {
    this.#file = file;
  }

  /** @returns why it cannot be read now; `undefined` if it can */
  whyUnreadable(): string | undefined {
    try {
      closeSync(openSync(this.#file, 'r'));
      return undefined;
    } catch (error) {
      return describeUnreadable(this.#file, error);
    }
  }

  /** @returns `undefined` where the connection is not among the first 16 MiB of the table, or that cannot be read */
  async find({ localAddress, localPort, remoteAddress, remotePort }: Arrived): Promise<Destination | undefined> {
    if (localAddress === undefined || remoteAddress === undefined) return undefined;
    this.#next ??= this.#read();
    const table = await this.#next;
    const answers = `src=${listed(localAddress)} dst=${listed(remoteAddress)} sport=${localPort} dport=${remotePort}`;
    for (let at = table.indexOf(`${answers} `); at >= 0; at = table.indexOf(`${answers} `, at + 1)) {
      const entry = table.slice(table.lastIndexOf('\n', at) + 1, at + answers.length);
      const [[, , host = '', , port] = [], [behind] = []] = [...entry.matchAll(ENDS)];
      if (behind === answers && / tcp /.test(entry)) return { host: ipaddr.parse(host).toString(), port: Number(port) };
    }
    return undefined;
  }

  async #read(): Promise<string> {
    await this.#reading;
    this.#next = undefined;
    const stream = createReadStream(this.#file, { encoding: 'latin1', end: LIMITS.connectionTable - 1 });
    const table = text(stream).catch(() => '');
    this.#reading = table;
    return table;
  }
}

/** An address as the table has it. */
function listed(address: string): string {
  const read = ipaddr.process(address);
  if (read instanceof ipaddr.IPv4) return read.toString();
  return read.parts.map((part) => part.toString(16).padStart(4, '0')).join(':');
}
