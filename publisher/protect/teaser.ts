/** Teasers as text, for the index: a fallback page can be made again without its page being read again. What it shows is public anyway. */
import type { Teaser } from '../site/page.ts';

export function encodeTeaser({ openGraph, ...rest }: Teaser): string {
  return JSON.stringify({ ...rest, openGraph: [...openGraph] });
}

export function decodeTeaser(text: string): Teaser {
  const { openGraph, ...rest } = JSON.parse(text) as Omit<Teaser, 'openGraph'> & { openGraph: [string, string][] };
  return { ...rest, openGraph: new Map(openGraph) };
}
