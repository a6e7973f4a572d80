/**
 * Scripts of the worker's own pages, which come from this origin's server and have to be there without a network. They are kept where published
 * scripts can write: so each page that loads one names its digest.
 */
import { type OwnScripts, scope } from './scope.ts';

const CACHE = 'wispr-own';

/** The tag that loads a script; empty where the origin has none. */
export function scriptTag(name: keyof OwnScripts, how: 'async' | 'defer' | ''): string {
  const script = scope.wisprSite.scripts?.[name];
  return script ? `<script src="${script.src}" integrity="${script.integrity}" ${how}></script>` : '';
}

/** A script: the copy that is kept, if it is the one that pages name, or the server's. */
export async function answerScript(request: Request): Promise<Response> {
  const kept = await (await caches.open(CACHE)).match(request.url);
  const script = Object.values(scope.wisprSite.scripts ?? {}).find(({ src }) => request.url.endsWith(src));
  if (kept === undefined || script === undefined) return fetch(request);
  const bytes = await kept.arrayBuffer();
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  const integrity = `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
  return integrity === script.integrity ? new Response(bytes, kept) : fetch(request);
}

/** Keeps the scripts of this version, and no other, so that the pages open without a network. */
export async function keepScripts(): Promise<void> {
  const cache = await caches.open(CACHE);
  const wanted = Object.values(scope.wisprSite.scripts ?? {}).map(({ src }) => scope.location.origin + src);
  const kept = (await cache.keys()).map(({ url }) => url);
  for (const url of wanted) if (!kept.includes(url)) await cache.add(url);
  for (const url of kept) if (!wanted.includes(url)) await cache.delete(url);
}
