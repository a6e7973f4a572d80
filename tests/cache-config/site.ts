import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, vi } from 'vitest';
import type { CacheServer, LogLine } from '../../cache-config/servers.ts';
import { type Sent, send } from '../support/http-client.ts';

/** Header fields with which the in-browser reader may see an answer. */
export const LETS_PAGES_READ = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Content-Length, Content-Range, ETag',
};

export const READING_ORIGIN = 'https://read.news.example';
export const IMMUTABLE = `${'0123456789abcdef'.repeat(4)}.day.html.protected`;

/** Files of a protected tree; the bytes of the objects do not matter here. */
export const FILES: Record<string, Buffer> = {
  '.well-known/wispr-site': Buffer.from('x'.repeat(43)),
  'index.html': Buffer.from('<!doctype html><title>Front page</title>'),
  'index.html.protected': randomBytes(3_000),
  'day/index.html': Buffer.from('<!doctype html><title>A day</title>'),
  'day/index.html.protected': randomBytes(200_000),
  'day/photo.jpg.protected': randomBytes(50_000),
  'day/Grüße aus Köln.png.protected': randomBytes(1_000),
  'day/two words.html': Buffer.from('<!doctype html><title>Two words</title>'),
  'day/two words.html.protected': randomBytes(1_000),
  'day/100%.html.protected': randomBytes(100),
  'day/empty.html.protected': Buffer.alloc(0),
  'style.css': Buffer.from('body { margin: 0 } /* long enough to be worth compressing */'.repeat(100)),
  'style.css.protected': randomBytes(300),
  [IMMUTABLE]: randomBytes(10),
  '.well-known/wispr/timestamp.json': Buffer.from('{"signatures":[],"signed":{}}'),
  '.well-known/wispr/7.snapshot.json': Buffer.from('{"signatures":[],"signed":{}}'),
  '.well-known/wispr/12.documents-a4.json': Buffer.from('{"signatures":[],"signed":{}}'),
  NOTES: Buffer.from('no suffix'),
};

/** Files, of which there is one for each kind of name, type, length and lifetime: caches see no other difference. */
export const ONE_OF_EACH_KIND = [
  ...['.well-known/wispr-site', '.well-known/wispr/timestamp.json', 'index.html', 'style.css', IMMUTABLE],
  ...['day/index.html.protected', 'day/empty.html.protected', 'day/two words.html', 'day/100%.html.protected'],
  'day/Grüße aus Köln.png.protected',
].map((name): [string, Buffer] => [name, FILES[name] as Buffer]);

export interface Site {
  readonly root: string;
  remove(): void;
}

/** Writes the files to a new directory. */
export function makeSite(): Site {
  const root = mkdtempSync(join(tmpdir(), 'wispr-site-'));
  chmodSync(root, 0o755); // servers are other users
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(join(root, dirname(name)), { recursive: true });
    writeFileSync(join(root, name), content);
    // Apache calls the ETag of what has only just changed weak.
    utimesSync(join(root, name), 1_700_000_000, 1_700_000_000);
  }
  return { root, remove: () => rmSync(root, { recursive: true }) };
}

export type { Received as Answer } from '../support/http-client.ts';

/** Sends one request as it stands: follows no redirect, decodes nothing, and leaves the path as given. @param sent - `through` a forward proxy */
export function get(base: string, path: string, sent: Sent & { readonly through?: CacheServer } = {}) {
  const { through, ...rest } = sent;
  return through ? send(through.port, `${base}${path}`, rest) : send(Number(new URL(base).port), path, rest);
}

/** A server logs a request shortly after it answered: waits until it has logged so many. */
export async function logged(server: CacheServer, count: number): Promise<LogLine[]> {
  await vi.waitFor(async () => expect((await server.requests()).length).toBeGreaterThanOrEqual(count), {
    timeout: 10_000,
    interval: 20,
  });
  return server.requests();
}

/** Counts the requests for a path, once the origin has logged any. */
export async function timesAsked(origin: CacheServer, path: string): Promise<number> {
  const lines = () => origin.requests().then((all) => all.filter(({ url }) => url === path));
  await vi.waitFor(async () => expect((await lines()).length).toBeGreaterThan(0), { timeout: 10_000, interval: 20 });
  return (await lines()).length;
}
