/** Site that every reader of the contract reads: two content hosts, its key server, and what its publisher and its hosts do next. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { randomBytes } from '#primitives';
import type { SiteSettings } from '../../core/publication/settings.ts';
import type { ContentHost } from '../support/content-host.ts';
import { nameDescriptor, type Rig } from '../support/keyserver-rig.ts';
import { fileOf, publish, type TestDocument } from '../support/publisher-with-sets.ts';
import { signOnto } from '../support/signed-publication.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

export const DAY = 86_400;
/** Tue, 14 Nov 2023 22:13:20 GMT */
const lastModified = 1_700_000_000;
const headers = { 'content-language': 'en-GB' };

const FRONT = { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html; charset=utf-8' };
const PAID = { mediaType: 'text/plain', set: 'day-1' };
export const TEXT = { ...PAID, path: '/a.txt', content: 'Ships come in.', headers, lastModified };
export const FILM = { ...PAID, path: '/film.bin', content: randomBytes(300_000), mediaType: 'video/mp4', lastModified };
export const CODED = { ...PAID, path: '/coded.txt', content: 'Ships. '.repeat(9_000), gzip: true };
export const EMPTY = { ...PAID, path: '/pilot boat é.txt', content: '' };
export const PAGE = { path: '/page.html', content: '<h1>Page</h1>', mediaType: 'text/html; charset=utf-8' };
const FOLDER = { ...PAGE, path: '/folder/index.html' };
export const PUBLIC = { path: '/public.txt', content: 'For everybody.', mediaType: 'text/plain' };
export const LONG = randomBytes(2_000_000);
/** Documents that only the case they are for reads. */
const UNREAD: readonly TestDocument[] = [
  ...['/head.txt', '/block.txt', '/odd.txt', '/moved.txt', '/far.txt'].map((path) => ({ ...TEXT, path })),
  ...['/cut.bin', '/changed.bin', '/cut-off.bin', '/ranges.bin'].map((path) => ({ ...FILM, path })),
  ...['/left.bin', '/slow.bin'].map((path) => ({ ...FILM, path, content: LONG })),
];
/** Document of a set that the reader may not have. */
export const TOMORROW = { path: '/tomorrow.txt', content: 'Ships go out.', mediaType: 'text/plain', set: 'day-2' };

const REDIRECTS = [
  { from: '/old', status: 301, to: '/a.txt?x#y' },
  { from: '/own', status: 302, to: 'https://news.example/a.txt' },
  { from: '/away', status: 308, to: 'https://elsewhere.example/' },
] as const;

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export class ReadSite {
  readonly rig: Rig;
  /** Hosts in the publisher's order. */
  readonly hosts: readonly ContentHost[];

  private constructor(rig: Rig, hosts: readonly ContentHost[]) {
    this.rig = rig;
    this.hosts = hosts;
  }

  /** @param first - the content host that the publisher names before the rig's own */
  static async publish(rig: Rig, first: ContentHost): Promise<ReadSite> {
    const site = new ReadSite(rig, [first, rig.host]);
    await nameDescriptor(rig);
    rig.publisher.afterPublishing = async () => undefined; // readers look when a test has them look
    await site.set({});
    await site.publish(FRONT, PAGE, FOLDER, TEXT, EMPTY, FILM, CODED, PUBLIC, TOMORROW, ...UNREAD);
    return site;
  }

  /** Publishes documents, as one more publication, on both hosts. */
  async publish(...documents: readonly TestDocument[]): Promise<void> {
    await publish(this.rig.publisher, this.rig.host, ...documents);
    this.mirror();
  }

  /** Changes the settings besides the redirects, as one more publication. */
  async set(changes: Partial<SiteSettings>): Promise<void> {
    const { publication } = this.rig.publisher;
    publication.setSettings({ ...TEST_SETTINGS, redirects: REDIRECTS, ...changes });
    await signOnto(publication, this.rig.host.files);
    this.mirror();
  }

  /** Withdraws everything, until something is published again. */
  async withdraw(): Promise<void> {
    const { publication } = this.rig.publisher;
    const now = Math.floor(Date.now() / 1000);
    await publication.close(now - 3600, { version: publication.timestampVersion + 1, expires: now + DAY });
    this.mirror();
  }

  /** Puts all files that the publisher has on both hosts. */
  mirror(): void {
    for (const { files } of this.hosts) {
      for (const [path, bytes] of this.rig.host.files) files.set(path, bytes);
      for (const [path, bytes] of this.rig.publisher.publication.files) files.set(path, bytes);
    }
  }

  /** Makes both hosts answer so, for a document or for everything. */
  answer(path: string | '*', handler: Handler): void {
    this.answerFile(path === '*' ? path : this.fileOf(path), handler);
  }

  answerFile(file: string, handler: Handler): void {
    for (const { handlers } of this.hosts) handlers.set(file, handler);
  }

  /** Makes the host that is asked first for a document answer so, once. */
  answerOnce(path: string, handler: Handler): void {
    const name = this.fileOf(path);
    this.answer(path, (request, response) => {
      for (const { handlers } of this.hosts) handlers.delete(name);
      handler(request, response);
    });
  }

  /** Restores both hosts as they were, with all that is published. */
  repair(): void {
    for (const { handlers } of this.hosts) handlers.clear();
    this.mirror();
  }

  /** The protected object of a document, with one bit changed. @param at - counted from the end where it is negative */
  changed(path: string, at: number): Uint8Array {
    const object = this.object(path);
    const index = at < 0 ? object.length + at : at;
    return object.with(index, (object[index] ?? 0) ^ 1);
  }

  object(path: string): Uint8Array {
    return this.rig.publisher.publication.files.get(this.fileOf(path)) ?? new Uint8Array();
  }

  /** URL path of the file with a document's head, as the publication names it now. */
  fileOf(path: string): string {
    return fileOf(this.rig.publisher, path);
  }

  /** Counts the requests for files of documents that both hosts have got. */
  requests(): number {
    return this.hosts.flatMap(({ requests }) => requests.filter(({ url }) => url.includes('.protected'))).length;
  }
}

/** Serves bytes as content hosts do, with ranges, for pages too. */
export function serving(bytes: Uint8Array): Handler {
  return ({ headers }, response) => {
    const [, first = 0, last = bytes.length] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    const part = bytes.subarray(Number(first), Number(last) + 1);
    response.writeHead(headers.range ? 206 : 200, CORS).end(part);
  };
}

export const CORS = { 'access-control-allow-origin': '*' };

/** Sends the first bytes of the whole object, and ends the connection. */
export function cutting(bytes: Uint8Array, length: number): Handler {
  return (_request, response) => {
    response.writeHead(200, { ...CORS, 'content-length': bytes.length });
    response.write(bytes.subarray(0, length), () => response.destroy());
  };
}

/** Sends the whole object little by little. @param done - told at the end of the connection whether all of it was sent */
export function dripping(bytes: Uint8Array, done: (whole: boolean) => void): Handler {
  return (_request, response) => {
    response.writeHead(200, { ...CORS, 'content-length': bytes.length });
    let sent = 0;
    const drip = setInterval(() => {
      const piece = bytes.subarray(sent, sent + 16_384);
      sent += piece.length;
      if (piece.length === 0) response.end();
      else response.write(piece);
    }, 10);
    response.once('close', () => {
      clearInterval(drip);
      done(response.writableFinished);
    });
  };
}
