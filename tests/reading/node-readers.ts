/** The readers that answer by HTTP themselves: the Reader by its two doors, and the reading site. */
import { get as httpGet, type IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { bindSite, startProxy } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { invitationLink } from '../../keyserver/readers/invitations.ts';
import { startContentHost } from '../support/content-host.ts';
import { send } from '../support/http-client.ts';
import { startRig } from '../support/keyserver-rig.ts';
import { SITE } from '../support/publisher-with-sets.ts';
import { storageIn } from '../support/reader-rig.ts';
import type { ReadingRig } from './rig.ts';
import { ReadSite } from './site.ts';

const TYPED = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' };
const BUTTON = /<a [^>]*href="([^"]*)"[^>]*>(?:Read on|Show it)</;

/** Result of a connection that ends without an answer. */
const NOTHING = { status: 0, headers: {}, body: Buffer.alloc(0), complete: false };

/** Way of asking a reader over HTTP. */
interface Door {
  readonly port: number;
  /** The request target of a path. */
  readonly target: (path: string) => string;
  readonly headers: Readonly<Record<string, string>>;
}

async function startSite(): Promise<{ site: ReadSite; close: () => Promise<void> }> {
  const first = await startContentHost();
  const rig = await startRig({ before: [first.origin], config: { fetchFrom: {} } });
  const close = async () => {
    await rig.close();
    await first.close();
  };
  return { site: await ReadSite.publish(rig, first), close };
}

/** @param by - its door */
export async function startReader(by: 'proxy' | 'gateway'): Promise<ReadingRig> {
  const { site, close } = await startSite();
  const { rig } = site;
  const limits = { ...DEFAULT_LIMITS, checkIntervalUrgent: 0, hedgeAfter: 60_000 };
  const storage = { ...storageIn(`${rig.folder}/reader`), limits };
  const link = invitationLink(
    await rig.invite({ name: 'ada', sets: ['day-1'] }),
    rig.server.readingUrl,
    rig.publisher.root.id,
  );
  await bindSite({ ...storage, link, trustSites: [SITE] });
  let shift = 0;
  const now = () => Math.floor(Date.now() / 1000) + shift;
  const proxy = await startProxy({ ...storage, port: 0, now });
  const { host } = new URL((await proxy.gatewayUrl(SITE)) ?? '');
  const door =
    by === 'proxy'
      ? { target: (path: string) => `http://${SITE}${path}`, headers: {} }
      : { target: (path: string) => path, headers: { host } };
  const reader = readerBy({ port: proxy.port, ...door });
  const isKept = async (path: string) => {
    const before = site.requests();
    await reader.get(path);
    return site.requests() === before;
  };
  return {
    ...reader,
    site,
    look: () => proxy.check().catch(() => undefined),
    aged: async (seconds, work, kept) => {
      if (kept !== undefined) await expect.poll(() => isKept(kept)).toBe(true);
      shift += seconds;
      await work().finally(() => {
        shift -= seconds;
      });
    },
    close: async () => {
      await proxy.close();
      await close();
    },
  };
}

export async function startReadingSite(): Promise<ReadingRig> {
  const { site, close } = await startSite();
  const { rig } = site;
  const reader = await rig.join('ada', { sets: ['day-1'] });
  const cookie = [...reader.documents.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const { port, host } = new URL(rig.server.documentsUrl);
  return {
    ...readerBy({ port: Number(port), target: (path) => path, headers: { cookie, host } }),
    site,
    look: () => rig.server.publications.check().catch(() => undefined),
    aged: async (seconds, work) => {
      rig.passTime(seconds);
      await work().finally(() => rig.passTime(-seconds));
    },
    close,
  };
}

function readerBy({ port, target, headers }: Door): Pick<ReadingRig, 'get' | 'goOn' | 'leave' | 'open' | 'readSlowly'> {
  const get: ReadingRig['get'] = async (path, asked = {}) => {
    const sent = { ...asked, headers: { ...headers, ...asked.headers } };
    const { complete, ...answer } = await send(port, target(path), sent).catch(() => NOTHING);
    return { ...answer, isWhole: complete };
  };
  const begin = (path: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const place = { host: '127.0.0.1', port, path: target(path), agent: false };
      httpGet({ ...place, headers: { host: new URL(target(path), 'http://x').host, ...headers } }, resolve).on(
        'error',
        reject,
      );
    });
  let shown = '';
  return {
    get,
    open: async (path) => {
      const answer = await get(path, { headers: TYPED });
      shown = answer.body.toString();
      return answer;
    },
    goOn: async () => {
      const [, href = ''] = BUTTON.exec(shown) ?? [];
      return get(href, { headers: { ...TYPED, 'sec-fetch-site': 'same-origin' } });
    },
    leave: async (path) => {
      const answer = await begin(path);
      await new Promise((resolve) => answer.once('data', resolve));
      answer.destroy();
    },
    readSlowly: async (path) => {
      const parts: Buffer[] = [];
      for await (const part of await begin(path)) {
        parts.push(part);
        await setTimeout(2);
      }
      return Buffer.concat(parts);
    },
  };
}
