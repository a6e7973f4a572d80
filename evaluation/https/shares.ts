/** Shares of the recorded loads that caches and compression in the path could have spared, by the heads of the answers. */
import { type Table, table } from '../results.ts';
import { bytesOf, type Recordings, type Resource } from './recordings.ts';

const TEXT = /^text\/|javascript|json|svg|xml/;

/** Shares of all requests and of all bytes, in per cent. *In clear*: by HTTP; *shared*: good for a shared cache. */
export function sharesOf({ types, pages }: Recordings): Table {
  const isText = ([, , type]: Resource) => TEXT.test(types[type] ?? '');
  const kinds: Readonly<Record<string, (resource: Resource) => boolean>> = {
    'in clear': ({ 6: flags }) => !(flags & 1),
    shared: ({ 6: flags }) => (flags & 2) > 0,
    'shared, in clear': ({ 6: flags }) => (flags & 3) === 2,
    text: isText,
    'text as it is': (resource) => isText(resource) && !(resource[6] & 4),
  };
  const years = {
    '2015 and 2016': pages.filter(({ on }) => on < '2017'),
    '2017 to 2022': pages.filter(({ on }) => on >= '2017'),
    together: pages,
  };
  const loads = Object.values(years).map((some) => some.flatMap(({ resources }) => resources));
  const share = (is: (resource: Resource) => boolean, of: (some: readonly Resource[]) => number) =>
    loads.map((all) => (100 * of(all.filter(is))) / of(all));
  const shares = Object.entries(kinds).flatMap(([kind, is]) => [
    [`${kind}, % of requests`, ...share(is, ({ length }) => length)] as const,
    [`${kind}, % of bytes`, ...share(is, bytesOf)] as const,
  ]);
  const pagesOf = Object.values(years).map(({ length }) => length);
  return table(Object.keys(years), [['pages', ...pagesOf], ['bytes', ...loads.map(bytesOf)], ...shares]);
}
