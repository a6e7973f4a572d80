/** `wispr link far`: takes connections of near relays, and connects to servers for them. */
import { connect, createServer, type Socket } from 'node:net';
import { reasonOf } from '../../core/errors.ts';
import { type AllowLocal, isAllowed, isLocalAddress, readAllowLocal } from '../../node-support/addresses.ts';
import { lookupBy, nameResolver, type ResolveName } from '../../node-support/name-servers.ts';
import { LIMITS } from '../limits.ts';
import { FarSide } from '../substitution/far.ts';
import { ProtocolViolation } from '../substitution/passage.ts';
import { beginningOf } from './beginning.ts';
import { join, reached, supervise, through } from './join.ts';
import { notOfTheForm, type RelayMeans, type RelayOptions, type RunningRelay, startRelay } from './listening.ts';
import { type Destination, formatDestination, readOpening, STATUS } from './opening.ts';

export interface FarOptions extends RelayOptions {
  /** HOST[:PORT] or ADDRESS/BITS[:PORT] of this computer or its network that may be connected to. */
  readonly allowLocal?: readonly string[];
  /** Finds addresses of servers; as the system does if left out. */
  readonly resolve?: ResolveName;
}

interface FarMeans extends RelayMeans {
  readonly rules: readonly AllowLocal[];
  readonly resolve: ResolveName;
}

/** Port of mail between servers: an open way to it is used for unwanted mail. */
const MAIL = 25;

/** @throws LinkError */
export async function startFar(options: FarOptions): Promise<RunningRelay> {
  const { allowLocal = [], resolve = nameResolver() } = options;
  const rules = allowLocal.map(ruleOf);
  return startRelay(options, 'far', (means) =>
    createServer({ allowHalfOpen: true }, (near) => void pass({ ...means, rules, resolve }, near)),
  );
}

function ruleOf(text: string): AllowLocal {
  const rule = readAllowLocal(text);
  if (rule !== undefined) return rule;
  throw notOfTheForm('HOST[:PORT] or ADDRESS/BITS[:PORT]', text, 'far');
}

class Refused extends Error {}

async function pass(means: FarMeans, near: Socket): Promise<void> {
  supervise(near);
  const opening = await beginningOf(near, readOpening);
  if (opening === undefined) {
    near.destroy();
    return;
  }
  const server = await reach(means, opening, near);
  if (server === undefined) return;
  near.write(Buffer.of(STATUS.connected));
  const side = opening.isPlain ? undefined : new FarSide(means.store);
  try {
    await join(near, server, through(side?.fromNear), through(side?.fromServer));
  } catch (error) {
    if (error instanceof ProtocolViolation) means.report(`${formatDestination(opening)}: ${error.message}`);
  }
}

/** @returns `undefined` if that is not possible, which the near relay is told */
async function reach(means: FarMeans, destination: Destination, near: Socket): Promise<Socket | undefined> {
  try {
    return await connectTo(means, destination, near);
  } catch (error) {
    means.report(`${formatDestination(destination)} was not connected to: ${reasonOf(error)}`);
    near.resume().end(Buffer.of(error instanceof Refused ? STATUS.refused : STATUS.unreached));
    near.setTimeout(LIMITS.opening);
    return undefined;
  }
}

/** The addresses that are checked are those connected to: nothing is resolved twice. */
async function connectTo(
  { rules, resolve, sockets }: FarMeans,
  { host, port }: Destination,
  near: Socket,
): Promise<Socket> {
  if (port === MAIL) throw new Refused('port 25 is for mail between servers');
  const all = await resolve(host);
  const addresses = all.filter(({ address }) => !isLocalAddress(address) || isAllowed(rules, { host, port }, address));
  if (addresses.length === 0)
    throw new Refused('it is on this computer or its network, which --allow-local can permit');
  const lookup = lookupBy(async () => addresses);
  return reached(connect({ host, port, lookup, allowHalfOpen: true, autoSelectFamily: true }), near, sockets);
}
