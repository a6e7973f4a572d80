/** Listener of a relay, and the clients it takes. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type AddressRange, isInRange, parseRange } from '../../node-support/addresses.ts';
import { eachMinute } from '../../node-support/each-minute.ts';
import { describeListening } from '../../node-support/system-error.ts';
import { LinkError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { CertificateStore } from '../store/store.ts';
import { Arrivals } from './arrivals.ts';
import { type Destination, formatDestination, parseDestination } from './opening.ts';

/** Name of a relay's command. */
export type Side = 'near' | 'far';

/** Connections at once. */
const MOST = { near: LIMITS.connections, far: LIMITS.nearConnections } as const;
const LOOPBACK = ['127.0.0.0/8', '::1'].flatMap((text) => parseRange(text) ?? []);

export interface RunningRelay {
  /** ADDRESS:PORT. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface RelayOptions {
  /** ADDRESS:PORT. */
  readonly listen: string;
  /** ADDRESS or ADDRESS/BITS of clients, or near relays, besides this machine. */
  readonly from?: readonly string[];
  /** File of the store. */
  readonly store: string;
  /** Hears what went wrong, and what was filled in: a sentence without a full stop. */
  readonly report?: (what: string) => void;
}

export interface RelayMeans extends Required<Pick<RelayOptions, 'report'>> {
  readonly store: CertificateStore;
  /** Open connections. */
  readonly sockets: Set<Socket>;
}

/** Opens the store, and listens. @throws LinkError */
export async function startRelay(
  options: RelayOptions,
  side: Side,
  serverOf: (means: RelayMeans) => Server,
): Promise<RunningRelay> {
  const { report = () => undefined } = options;
  const at = destinationOf(options.listen, side, 0);
  const from = (options.from ?? []).map((text) => rangeOf(text, side));
  const sockets = new Set<Socket>();
  const failed = (reason: string) => report(`nothing is remembered from now on: ${reason}`);
  const store = new CertificateStore(options.store, { failed });
  try {
    const relay = await listen(serverOf({ store, sockets, report }), at, from, { sockets, report }, MOST[side]);
    const { stop } = eachMinute(async () => store.purge());
    return { ...relay, close: () => relay.close().finally(() => stop().finally(() => store.close())) };
  } catch (error) {
    store.close();
    throw error;
  }
}

/** @throws LinkError `link-argument` */
export function destinationOf(text: string, side: Side, lowestPort?: 0): Destination {
  const found = parseDestination(text, lowestPort);
  if (found === undefined) throw notOfTheForm('HOST:PORT', text, side);
  return found;
}

function rangeOf(text: string, side: Side): AddressRange {
  const range = parseRange(text);
  if (range === undefined) throw notOfTheForm('ADDRESS or ADDRESS/BITS', text, side);
  return range;
}

/** @param side - whose command has it */
export function notOfTheForm(form: string, text: string, side: Side): LinkError {
  return new LinkError('link-argument', `not of the form ${form}: ${text}`, { typed: true, fields: { side } });
}

/**
 * Listens for this machine and `from`; closes others unread, and reports one of them a minute.
 *
 * @param most - at once
 * @throws LinkError `link-listen`
 */
export async function listen(
  server: Server,
  { host, port }: Destination,
  from: readonly AddressRange[],
  { sockets, report }: Pick<RelayMeans, 'sockets' | 'report'>,
  most: number,
  now = () => performance.now(),
): Promise<RunningRelay> {
  const arrivals = new Arrivals(most, now);
  let isReported = false;
  const { stop } = eachMinute(async () => {
    arrivals.look();
    isReported = false;
  });
  const allowed = [...LOOPBACK, ...from];
  server.prependListener('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket) && arrivals.leave(socket));
    const { remoteAddress = '' } = socket;
    const isAllowed = allowed.some((range) => isInRange(remoteAddress, range));
    if (!isAllowed && !isReported && remoteAddress !== '') {
      isReported = true;
      report(notAllowed(remoteAddress));
    }
    if (!isAllowed || !arrivals.admit(socket)) socket.destroy();
  });
  try {
    await once(server.listen(port, host), 'listening');
  } catch (cause) {
    void stop();
    throw new LinkError('link-listen', describeListening({ host, port }, cause), { cause });
  }
  const address = server.address() as AddressInfo;
  return {
    address: formatDestination({ host: address.address, port: address.port }),
    port: address.port,
    close: () => {
      void stop();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      return closed;
    },
  };
}

function notAllowed(remoteAddress: string): string {
  const address = ipaddr.process(remoteAddress).toString().replace(/%.*/, '');
  return `a connection of ${address} was closed; --from ${address} would let it in`;
}
