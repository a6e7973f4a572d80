/** Structured data (JSON-LD) of a page, as far as everybody may see it: what describes the page, and never its text. */
import { shorten } from './shorten.ts';

export type StructuredData = Readonly<Record<string, unknown>>;

/** The value of a block of JSON-LD; `undefined` if it is none. */
export function parseStructured(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Types of what can be read on a page. */
const TYPE =
  /^(?:\w{0,30}(?:Article|Posting|Page)|Book|Chapter|Course|CreativeWork|HowTo|LearningResource|Recipe|Report|Review)$/;

/** The properties that are repeated; `articleBody`, `text`, `review`, `step` and all others stay in the page. */
const DESCRIBING =
  '@type headline alternativeHeadline name description datePublished dateModified dateCreated author contributor editor inLanguage keywords genre articleSection about isPartOf position wordCount timeRequired educationalLevel learningResourceType courseCode isbn issn issueNumber volumeNumber pageStart pageEnd copyrightHolder copyrightYear license'.split(
    ' ',
  );
/** Properties of a person, an organization, or a thing that is written about. */
const OF_NAMED = ['@type', 'name', 'url'];

const LENGTH = 200;
const MAXIMUM_LIST = 16;

/** Gives what everybody may see of a text, by the property that it is the value of. */
export type Shown = (text: string, property: string) => string;

/**
 * Picks what JSON-LD says that describes its page; empty where nothing does. What it returns stays the same when it is looked at again.
 *
 * @param parsed - a block of JSON-LD
 */
export function describingData(parsed: unknown, shown: Shown = (text) => text): StructuredData {
  const nodes = [parsed].flat().flatMap((node) => (isObject(node) ? [node, ...[node['@graph'] ?? []].flat()] : []));
  const pages = nodes.filter((node) => isObject(node) && typeOf(node) !== undefined) as Record<string, unknown>[];
  const page = pages.find((node) => 'headline' in node) ?? pages[0];
  if (page === undefined) return {};
  const description = typeof page.description === 'string' ? page.description : undefined;
  return pick({ ...page, description, '@type': typeOf(page) }, DESCRIBING, shown, true);
}

function typeOf(node: Record<string, unknown>): string | undefined {
  return [node['@type']].flat().find((type): type is string => typeof type === 'string' && TYPE.test(type));
}

function pick(
  node: Record<string, unknown>,
  names: readonly string[],
  shown: Shown,
  isPage: boolean,
): Record<string, unknown> {
  const entries = names.flatMap((name) => {
    const value = Object.hasOwn(node, name) ? describingValue(node[name], name, shown, isPage) : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}

/** A text or number, something with a name, or a short list of such; `undefined` if it is anything else. */
function describingValue(value: unknown, name: string, shown: Shown, mayNest: boolean): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'string')
    return name === 'url' ? webAddress(value) : shorten(shown(value, name).trim(), LENGTH) || undefined;
  if (!mayNest) return undefined;
  if (Array.isArray(value)) {
    let room = LENGTH; // a text in pieces would be shown whole
    const list = value.slice(0, MAXIMUM_LIST).flatMap((each) => {
      const item = Array.isArray(each) ? undefined : describingValue(each, name, shown, true);
      room -= typeof item === 'string' ? item.length : 0;
      return room < 0 ? [] : (item ?? []);
    });
    return list.length > 0 ? list : undefined;
  }
  const named = isObject(value) ? pick(value, OF_NAMED, shown, false) : {};
  return named.name === undefined ? undefined : named;
}

function webAddress(text: string): string | undefined {
  return /^https?:\/\//.test(text) && text.length <= LENGTH ? text : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
