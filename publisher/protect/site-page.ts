import { readPage, type Teaser } from '../../teaser/page.ts';
import { canNameSet, isPage, isXmlPage, mediaTypeOf } from '../site/media-type.ts';
import { namedBy } from '../site/named.ts';
import { problemOfPageSet } from '../site/sets.ts';
import type { SourceFile } from '../site/walk.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import type { Task } from '../workspace/index/schema.ts';
import { readStart } from './source-reader.ts';

/** Bytes of a page that are looked at for its set and teaser. */
const PAGE_LENGTH = 8 * 1024 * 1024;

export interface PageFacts extends Pick<Task, 'pageSet' | 'teaser'> {
  /** Reason why it cannot be assigned to a set. */
  readonly problem?: string | undefined;
  /** Paths of the documents that it names for previews, or as feeds. */
  readonly named: readonly string[];
}

/** Reads what a page says about itself; nothing, where it is none. @throws PublishError `source-refused` */
export function readPageFacts(source: SourceFile, configuration: Configuration): PageFacts {
  const mediaType = mediaTypeOf(source.path);
  if (!canNameSet(mediaType)) return { pageSet: undefined, teaser: undefined, named: [] };
  const page = readPage(readStart(source, PAGE_LENGTH), { xml: isXmlPage(mediaType), cut: source.size > PAGE_LENGTH });
  const problem = page.problem ?? problemOfPageSet(page.set);
  if (!isPage(mediaType)) return { problem, pageSet: page.set, teaser: undefined, named: [] };
  const named = namedBy(source.path, page.teaser, configuration);
  return { problem, pageSet: page.set, teaser: encodeTeaser(page.teaser, named), named };
}

/**
 * A teaser as the index keeps it.
 *
 * @param named - what the page names, which a later run needs without reading the page
 */
export function encodeTeaser({ feeds: _, ...teaser }: Teaser, named: readonly string[]): string {
  const [openGraph, robots, meta] = [[...teaser.openGraph], [...teaser.robots], [...teaser.meta]];
  return JSON.stringify({ ...teaser, openGraph, robots, meta, ...(named.length > 0 && { named }) });
}

type Entries = readonly [string, string][];
type Encoded = Omit<Teaser, 'meta' | 'openGraph' | 'robots'> & Record<'meta' | 'openGraph' | 'robots', Entries>;

export function decodeTeaser(text: string): Teaser {
  const { openGraph, robots, meta, ...rest } = JSON.parse(text) as Encoded;
  return { ...rest, feeds: [], openGraph: new Map(openGraph), robots: new Map(robots), meta: new Map(meta) };
}
