/** `wispr link far`: takes connections of near relays, and connects to servers for them. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { reasonOf } from '../../core/errors.ts';
import { type AllowLocal, isAllowed, isLocalAddress, readAllowLocal } from '../../node-support/addresses.ts';
import { lookupBy, nameResolver, type ResolveName } from '../../node-support/name-servers.ts';
import { LinkError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { CertificateStore } from '../store/store.ts';
import { FarSide } from '../substitution/far.ts';
import { ProtocolViolation } from '../substitution/passage.ts';
import { join, supervise, through } from './join.ts';
import { destinationOf, listen, type RunningRelay, rangesOf } from './listening.ts';
import { type Destination, formatDestination, readOpening, STATUS, type TunnelRequest } from './opening.ts';

export interface FarOptions {
  /** ADDRESS:PORT. */
  readonly listen: string;
  /** ADDRESS or ADDRESS/BITS of near relays besides this machine. */
  readonly from?: readonly string[];
  /** HOST[:PORT] or ADDRESS/BITS[:PORT] of this computer or its network that may be connected to. */
  readonly allowLocal?: readonly string[];
  /** File of the store. */
  readonly store: string;
  /** Finds addresses of servers; as the system does if left out. */
  readonly resolve?: ResolveName;
  /** Hears what went wrong: a sentence without a full stop. */
  readonly report?: (what: string) => void;
}

/** For mail between servers: an open way to it is used for unwanted mail. */
const MAIL = 25;

/** @throws LinkError */
export async function startFar(options: FarOptions): Promise<RunningRelay> {
  const { report = () => undefined, resolve = nameResolver() } = options;
  const [at, from] = [destinationOf(options.listen, 0), rangesOf(options.from ?? [])];
  const rules = (options.allowLocal ?? []).map(ruleOf);
  const sockets = new Set<Socket>();
  const failed = (reason: string) => report(`nothing is remembered from now on: ${reason}`);
  const store = new CertificateStore(options.store, { failed });
  const far = new Far(store, rules, resolve, sockets, report);
  const server = createServer({ allowHalfOpen: true }, (near) => void far.pass(near));
  try {
    const relay = await listen(server, at, from, sockets, LIMITS.nearConnections);
    return { ...relay, close: () => relay.close().finally(() => store.close()) };
  } catch (error) {
    store.close();
    throw error;
  }
}

function ruleOf(text: string): AllowLocal {
  const rule = readAllowLocal(text);
  if (rule !== undefined) return rule;
  throw new LinkError('link-argument', `not of the form HOST[:PORT] or ADDRESS/BITS[:PORT]: ${text}`, { typed: true });
}

class Refused extends Error {}

class Far {
  readonly #store: CertificateStore;
  readonly #rules: readonly AllowLocal[];
  readonly #resolve: ResolveName;
  readonly #sockets: Set<Socket>;
  readonly #report: (what: string) => void;

  constructor(
    store: CertificateStore,
    rules: readonly AllowLocal[],
    resolve: ResolveName,
    sockets: Set<Socket>,
    report: (what: string) => void,
  ) {
    this.#store = store;
    this.#rules = rules;
    this.#resolve = resolve;
    this.#sockets = sockets;
    this.#report = report;
  }

  async pass(near: Socket): Promise<void> {
    supervise(near);
    const opening = await received(near);
    if (opening === undefined) {
      near.destroy();
      return;
    }
    const server = await this.#reach(opening, near);
    if (server === undefined) return;
    near.write(Buffer.of(STATUS.connected));
    const side = opening.isPlain ? undefined : new FarSide(this.#store);
    try {
      await join(near, server, through(side?.fromNear), through(side?.fromServer));
    } catch (error) {
      if (error instanceof ProtocolViolation) this.#report(`${formatDestination(opening)}: ${error.message}`);
    }
  }

  /** @returns `undefined` if that is not possible, which the near relay is told */
  async #reach(destination: Destination, near: Socket): Promise<Socket | undefined> {
    try {
      return await this.#connect(destination, near);
    } catch (error) {
      this.#report(`${formatDestination(destination)} was not connected to: ${reasonOf(error)}`);
      near.resume().end(Buffer.of(error instanceof Refused ? STATUS.refused : STATUS.unreached));
      near.setTimeout(LIMITS.opening);
      return undefined;
    }
  }

  /** The addresses that are checked are those connected to: nothing is resolved twice. */
  async #connect({ host, port }: Destination, near: Socket): Promise<Socket> {
    if (port === MAIL) throw new Refused('port 25 is for mail between servers');
    const all = await this.#resolve(host);
    const addresses = all.filter(
      ({ address }) => !isLocalAddress(address) || isAllowed(this.#rules, { host, port }, address),
    );
    if (addresses.length === 0)
      throw new Refused('it is on this computer or its network, which --allow-local can permit');
    const server = connect({
      host,
      port,
      allowHalfOpen: true,
      autoSelectFamily: true,
      lookup: lookupBy(async () => addresses),
    });
    this.#sockets.add(server);
    server.once('close', () => this.#sockets.delete(server));
    supervise(server);
    const gone = () => server.destroy(new Error('the near relay has gone'));
    near.once('close', gone);
    try {
      await once(server, 'connect', { signal: AbortSignal.timeout(LIMITS.connecting) });
      near.off('close', gone);
      return server;
    } catch (error) {
      server.destroy();
      throw error;
    }
  }
}

/** @returns `undefined` for what is no opening, or not whole in time. What follows it stays in the socket */
function received(near: Socket): Promise<TunnelRequest | undefined> {
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    const timer = setTimeout(() => done(undefined), LIMITS.opening);
    const done = (opening: TunnelRequest | undefined) => {
      clearTimeout(timer);
      near.off('data', inspect).off('close', closed).off('end', closed).pause();
      resolve(opening);
    };
    const closed = () => done(undefined);
    const inspect = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      const read = readOpening(seen);
      if (read === 'more') return;
      done(read?.opening);
      if (read !== undefined && read.rest.length > 0) near.unshift(read.rest);
    };
    near.on('data', inspect).once('close', closed).once('end', closed);
  });
}
