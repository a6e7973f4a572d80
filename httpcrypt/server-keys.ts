/** The X25519 keys of an HTTPCrypt endpoint, and the tickets that hang on them, in memory only: docs/spec/httpcrypt.md, "Server keys" and "Answers". */
import { LRUCache } from 'lru-cache';
import { type X25519KeyPair, x25519KeyPair } from '#channel';
import { type KeyPair, randomBytes } from '#primitives';
import { type Exchange, SHOWN_LENGTH, type Ticket, ticketOf } from '../core/httpcrypt/exchange.ts';
import { type ServerKey, serverKey, signRecord } from '../core/httpcrypt/record.ts';

/** Tickets of one server key; some 20 MB at the most. */
const MAXIMUM_TICKETS = 50_000;

export interface ServerKeysOptions {
  readonly url: string;
  /** The channel key. */
  readonly signer: KeyPair;
  /** Seconds for which a server key is announced; it is taken for twice that time. */
  readonly timeToLive: number;
  readonly now: () => number;
  /** Hears of each record. */
  readonly announce: (record: Uint8Array) => void;
  readonly maximumTickets?: number;
}

/** Means to open a request, and to seal its answer. */
export interface Opening {
  readonly exchange: Exchange;
  /** True where it came with a ticket, and so for the first time. */
  readonly fresh: boolean;
  /** A ticket for a later one. @param random - fresh bytes, of which the first are used */
  readonly issue: (random: Uint8Array) => Ticket;
}

interface LiveKey extends ServerKey {
  readonly exchange: X25519KeyPair;
  readonly tickets: LRUCache<string, Uint8Array>;
}

export class ServerKeys {
  readonly #options: ServerKeysOptions;
  /** Keys by id, in the order in which they were made. */
  readonly #keys = new Map<string, LiveKey>();
  #record: Uint8Array = new Uint8Array(0);
  #renewAt = 0;
  #renewing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: ServerKeysOptions) {
    this.#options = options;
  }

  static async start(options: ServerKeysOptions): Promise<ServerKeys> {
    const keys = new ServerKeys(options);
    await keys.#renew();
    return keys;
  }

  async record(): Promise<Uint8Array> {
    if (this.#options.now() >= this.#renewAt) await this.#renew();
    return this.#record;
  }

  /** Finds what a request that shows this is opened with; `undefined` if it cannot be. A ticket that is shown is used up. */
  open(keyId: Uint8Array, shown: Uint8Array): Opening | undefined {
    const name = nameOf(keyId);
    if (this.#options.now() > (this.#keys.get(name)?.notAfter ?? 0)) this.#keys.delete(name);
    const key = this.#keys.get(name);
    if (!key) return undefined;
    const ticket = nameOf(shown);
    const known = key.tickets.get(ticket);
    key.tickets.delete(ticket);
    const secret = known ?? key.exchange.agree(shown);
    if (!secret) return undefined;
    const exchange = { publicKey: key.publicKey, shown, secret };
    return { exchange, fresh: known !== undefined, issue: (random) => issue(key, random) };
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#keys.clear();
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#makeKey().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #makeKey(): Promise<void> {
    const { url, signer, timeToLive, now, announce, maximumTickets = MAXIMUM_TICKETS } = this.#options;
    const time = now();
    for (const [id, { notAfter }] of this.#keys) if (time > notAfter) this.#keys.delete(id);
    const exchange = x25519KeyPair(randomBytes(SHOWN_LENGTH));
    const key = await serverKey(exchange.publicKey, time + 2 * timeToLive);
    const name = nameOf(key.id);
    setTimeout(() => this.#keys.delete(name), 2 * timeToLive * 1000).unref();
    const tickets = new LRUCache<string, Uint8Array>({ maxSize: maximumTickets, sizeCalculation: () => 1 });
    this.#keys.set(name, { ...key, exchange, tickets });
    this.#record = signRecord(key, url, signer.secretKey);
    this.#renewAt = time + timeToLive;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#renew(), timeToLive * 1000).unref();
    announce(this.#record);
  }
}

function issue({ tickets }: LiveKey, random: Uint8Array): Ticket {
  const ticket = ticketOf(random);
  tickets.set(nameOf(ticket.shown), ticket.secret);
  return ticket;
}

function nameOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
