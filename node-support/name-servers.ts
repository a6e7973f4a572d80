/**
 * Names and name servers. Addresses are asked for by c-ares, for some seconds: the system's own look-up takes threads that all names and files
 * share, and waits there as long as a name server is silent.
 */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { readFile, stat } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import { systemCode } from './system-error.ts';
import { withinTime } from './within-time.ts';

/** Milliseconds: one question to name servers, its repetitions included; and how long a failure is believed. */
const QUESTION = 15_000;
const FAILED_FOR = 5_000;
const FAILURES = 1_000;

/** @returns the addresses of a name, or the address that it is. @throws Error with the codes `ENOTFOUND`, `EAI_AGAIN` */
export type ResolveName = (host: string) => Promise<readonly LookupAddress[]>;

/** RFC 6761 section 6.3: names of this computer, whatever a name server says. */
const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * Asks name servers, for a bounded time.
 *
 * @param servers - their addresses; none: those of the system
 * @throws what `ask` throws; `ECANCELLED` where time was up
 */
export async function askNameServers<Found>(
  servers: readonly string[] = [],
  ask: (resolver: Resolver) => Promise<Found>,
): Promise<Found> {
  const resolver = new Resolver({ timeout: 3000, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), QUESTION);
  try {
    return await ask(resolver);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Resolves names as the system does: the hosts file decides, then name servers, then whatever else the system knows. Each name is asked for once
 * at a time.
 *
 * @param servers - addresses of name servers; none: those of the system
 */
export function nameResolver(servers?: readonly string[]): ResolveName {
  const underWay = new Map<string, Promise<LookupAddress[]>>();
  const failures = new LRUCache<string, Error>({ max: FAILURES, ttl: FAILED_FOR });
  const find = async (name: string) => {
    try {
      return (await listedNames()).get(name) ?? (await askForAddresses(name, servers));
    } catch (error) {
      failures.set(name, error as Error);
      throw error;
    } finally {
      underWay.delete(name);
    }
  };
  return async (host) => {
    const family = isIP(host);
    if (family !== 0) return [{ address: host, family }];
    const name = host.toLowerCase().replace(/\.$/, '');
    if (/(?:^|\.)localhost$/.test(name)) return LOOPBACK;
    const failure = failures.get(name);
    if (failure) throw failure;
    const asked = underWay.get(name) ?? find(name);
    underWay.set(name, asked);
    return asked;
  };
}

/** Makes the `lookup` of sockets. */
export function lookupBy(resolve: ResolveName): LookupFunction {
  return (host, { all }, callback) => {
    const found = ([first = { address: '', family: 0 }, ...others]: readonly LookupAddress[]) =>
      all ? callback(null, [first, ...others]) : callback(null, first.address, first.family);
    resolve(host).then(found, (error) => callback(error, ''));
  };
}

/** Answers that leave it to the system: there is none of that name, or no name server. One that is silent is not among them. */
const SYSTEM_MAY_KNOW = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ECONNREFUSED', 'EREFUSED']);

async function askForAddresses(name: string, servers?: readonly string[]): Promise<LookupAddress[]> {
  // Names of the own network are no name server's on the Internet.
  if (!name.includes('.') || name.endsWith('.local')) return askSystem(name);
  try {
    return await askNameServers(servers, async (resolver) => {
      const [six, four] = await Promise.allSettled([resolver.resolve6(name), resolver.resolve4(name)]);
      const found = [...addresses(six, 6), ...addresses(four, 4)];
      if (found.length === 0 && four.status === 'rejected') throw four.reason;
      return found;
    });
  } catch (cause) {
    if (SYSTEM_MAY_KNOW.has(systemCode(cause) ?? '')) return askSystem(name);
    throw noAnswer(cause);
  }
}

function addresses(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}

let systemTurn: Promise<unknown> = Promise.resolve();

/** Names that name servers do not have, such as those of the own network: one at a time, on one thread. */
function askSystem(name: string): Promise<LookupAddress[]> {
  return withinTime(QUESTION, (signal) => {
    const found = systemTurn.then(() => (signal.aborted ? [] : lookup(name, { all: true })));
    systemTurn = found.catch(() => undefined);
    return found;
  }).catch((error: unknown) => {
    throw systemCode(error) === undefined ? noAnswer(error) : error;
  });
}

function noAnswer(cause: unknown): Error {
  return Object.assign(new Error('no name server answers', { cause }), { code: 'EAI_AGAIN' });
}

type Names = ReadonlyMap<string, LookupAddress[]>;

const HOSTS_FILE =
  process.platform === 'win32' ? String.raw`${process.env.SystemRoot}\System32\drivers\etc\hosts` : '/etc/hosts';
let listed: { readonly version: string; readonly names: Names } | undefined;

/** The hosts file, read again when it has changed; one that cannot be read lists nothing. */
async function listedNames(): Promise<Names> {
  try {
    const { mtimeMs, size } = await stat(HOSTS_FILE);
    const version = `${mtimeMs} ${size}`;
    if (listed?.version !== version) listed = { version, names: parseHosts(await readFile(HOSTS_FILE, 'utf8')) };
    return listed.names;
  } catch {
    return new Map();
  }
}

/** Lines of an address and its names; `#` begins a comment. */
export function parseHosts(text: string): Names {
  const names = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...all] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of all) {
      const lower = name.toLowerCase();
      names.set(lower, [...(names.get(lower) ?? []), { address, family }]);
    }
  }
  return names;
}
