import { canNameSet, isPage, isXmlPage, mediaTypeOf } from '../site/media-type.ts';
import { readPage, type Teaser } from '../site/page.ts';
import { problemOfPageSet } from '../site/sets.ts';
import type { SourceFile } from '../site/walk.ts';
import type { Task } from '../workspace/index/schema.ts';
import { SourceReader } from './source-reader.ts';

/** Bytes of a page that are looked at for its set and teaser. */
const PAGE_LENGTH = 8 * 1024 * 1024;

export interface PageFacts extends Pick<Task, 'pageSet' | 'teaser'> {
  /** Why it cannot be assigned to a set. */
  readonly problem?: string | undefined;
}

/**
 * What a page says about itself; nothing, where it is none.
 *
 * @throws PublishError `source-refused`
 */
export function readPageFacts(source: SourceFile): PageFacts {
  const mediaType = mediaTypeOf(source.path);
  if (!canNameSet(mediaType)) return { pageSet: undefined, teaser: undefined };
  const page = readPage(readStart(source), { xml: isXmlPage(mediaType), cut: source.size > PAGE_LENGTH });
  const problem = page.problem ?? problemOfPageSet(page.set);
  return { problem, pageSet: page.set, teaser: isPage(mediaType) ? encodeTeaser(page.teaser) : undefined };
}

function readStart(source: SourceFile): Uint8Array {
  using reader = new SourceReader(source);
  const start = reader.readAt(0, Buffer.allocUnsafe(Math.min(source.size, PAGE_LENGTH)));
  reader.checkUnchanged();
  return start;
}

export function encodeTeaser({ openGraph, ...rest }: Teaser): string {
  return JSON.stringify({ ...rest, openGraph: [...openGraph] });
}

export function decodeTeaser(text: string): Teaser {
  const { openGraph, ...rest } = JSON.parse(text) as Omit<Teaser, 'openGraph'> & { openGraph: [string, string][] };
  return { ...rest, openGraph: new Map(openGraph) };
}
