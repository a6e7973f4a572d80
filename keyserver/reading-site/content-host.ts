/** Fetches from a site's content hosts. They are not trusted: no redirect is followed, no header looked at, everything is bounded. */
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { lookupBy, nameResolver, type ResolveName } from '../../node-support/name-servers.ts';
import { FailedHosts, HostsInTurn } from '../../reading/content-hosts.ts';
import { ReadingError } from '../../reading/errors.ts';
import type { FetchFile, HostedFile } from '../../reading/hosted-source.ts';
import type { HostAnswer } from '../../reading/open-at.ts';
import type { DocumentSupply, HostAttempt } from '../../reading/payload.ts';

/** Milliseconds. */
const CONNECT_TIMEOUT = 5000;
const HEADERS_TIMEOUT = 15_000;
/** Milliseconds between two pieces of a body. */
const BODY_TIMEOUT = 15_000;
/** Connections to one content host for documents: eight times as many as one address may hold. */
const DOCUMENT_CONNECTIONS = 256;
/** Connections for metadata, which documents must not keep waiting. */
const METADATA_CONNECTIONS = 8;
/** Bytes read of an unwanted body, to keep its connection. */
const UNWANTED = 16_384;

/** Origins by site, to connect to instead of the descriptor's content hosts. */
type FetchFrom = Readonly<Record<string, string>>;

/** An address to connect to, and the host to name there. */
export interface ContentTarget {
  readonly origin: string;
  readonly host: string;
}

export interface ContentHosts {
  /** Sources of one document; `signal` ends every transfer for it. */
  readonly supplyOf: (site: SiteDescription, path: string, entry: DocumentEntry, signal: AbortSignal) => DocumentSupply;
  /** Targets that carry a site, in the publisher's order. */
  readonly targetsOf: (site: SiteDescription) => ContentTarget[];
  readonly fetchFile: FetchFile<ContentTarget>;
  readonly close: () => Promise<void>;
}

/** @param onFailed - called where a host failed, and the next one is asked */
export function createContentHosts(fetchFrom: FetchFrom, onFailed: () => void = () => {}): ContentHosts {
  const resolve = nameResolver();
  const documents = agentWith(DOCUMENT_CONNECTIONS, resolve);
  const metadata = agentWith(METADATA_CONNECTIONS, resolve);
  const failedHosts = new FailedHosts(() => performance.now());
  return {
    supplyOf: (site, path, entry, signal) => {
      const supply = new SiteSupply(documents, onFailed, path, entry, targetsOf(site, fetchFrom), failedHosts);
      if (signal.aborted) supply.end();
      signal.addEventListener('abort', () => supply.end(), { once: true });
      return supply;
    },
    targetsOf: (site) => targetsOf(site, fetchFrom),
    fetchFile: (target, wanted) => fetchFile(metadata, target, wanted),
    close: async () => void (await Promise.all([documents.destroy(), metadata.destroy()])),
  };
}

/** Fetches one document from its content hosts. Nothing is kept here. */
class SiteSupply extends HostsInTurn<ContentTarget> {
  readonly #agent: Agent;
  readonly #onFailed: () => void;

  constructor(agent: Agent, onFailed: () => void, ...about: ConstructorParameters<typeof HostsInTurn<ContentTarget>>) {
    super(...about);
    this.#agent = agent;
    this.#onFailed = onFailed;
  }

  override failed(attempt: HostAttempt, error: unknown): boolean {
    const isFailed = super.failed(attempt, error);
    if (isFailed) this.#onFailed();
    return isFailed;
  }

  protected attempt(target: ContentTarget): HostAttempt {
    const ending = new AbortController();
    return {
      origin: target.origin,
      fetch: (path, range) => ask(this.#agent, target, path, ending.signal, range),
      end: () => ending.abort(),
    };
  }
}

function agentWith(connections: number, resolve: ResolveName): Agent {
  return new Agent({
    connections,
    connect: { timeout: CONNECT_TIMEOUT, lookup: lookupBy(resolve) },
    headersTimeout: HEADERS_TIMEOUT,
    bodyTimeout: BODY_TIMEOUT,
  });
}

/** Targets that carry a site, in the publisher's order. */
export function targetsOf({ site, content }: SiteDescription, fetchFrom: FetchFrom): ContentTarget[] {
  const instead = Object.hasOwn(fetchFrom, site) ? fetchFrom[site] : undefined;
  if (instead !== undefined) return [{ origin: instead, host: site }];
  return content.map((origin) => ({ origin, host: new URL(origin).host }));
}

async function ask(
  agent: Agent,
  { origin, host }: ContentTarget,
  path: string,
  signal: AbortSignal,
  range?: ByteRange,
): Promise<HostAnswer> {
  const part = range && { range: `bytes=${range.start}-${range.end - 1}` };
  const headers = { host, 'accept-encoding': 'identity', 'user-agent': 'wispr-reading-site', ...part };
  try {
    const { statusCode, body } = await request(new URL(path, origin), { dispatcher: agent, signal, headers });
    return { status: statusCode, body: contentOf(body) };
  } catch (error) {
    throw unreachable(error);
  }
}

async function fetchFile(
  agent: Agent,
  target: ContentTarget,
  { path, maximumLength, milliseconds, signal }: HostedFile,
): Promise<Uint8Array | undefined> {
  const timeout = AbortSignal.timeout(milliseconds);
  const { status, body } = await ask(agent, target, path, signal ? AbortSignal.any([signal, timeout]) : timeout);
  const input = new ByteReader(body);
  try {
    if (status === 200) return await input.readUpTo(maximumLength + 1);
    if (status === 404 || status === 410) return undefined;
    throw new ReadingError('content-host-answer', `${target.host} answered ${status} when asked for ${path}`);
  } finally {
    await input.cancel();
  }
}

/** A body whose errors are ours, and whose `return()` gives the connection back even before the first `next()`. */
function contentOf(body: Dispatcher.ResponseData['body']): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const pieces = (body as Readable)[Symbol.asyncIterator]();
      return {
        next: () =>
          pieces.next().catch((error) => {
            throw unreachable(error);
          }),
        return: async () => {
          await body.dump({ limit: UNWANTED }).catch(() => undefined);
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function unreachable(cause: unknown): ReadingError {
  return new ReadingError('content-host-unreachable', 'the content host did not answer, or not to the end', { cause });
}
