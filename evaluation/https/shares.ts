/** What caches and compression could have done in the path of the recorded loads, by the heads of their answers. */
import { type Table, table } from '../results.ts';
import { bytesOf, type Page, type Recordings, type Resource } from './recordings.ts';

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
  const row = (name: string, some: readonly Page[]): [string, ...number[]] => {
    const all = some.flatMap(({ resources }) => resources);
    const shares = Object.values(kinds).flatMap((is) => {
      const found = all.filter(is);
      return [(100 * found.length) / all.length, (100 * bytesOf(found)) / bytesOf(all)];
    });
    return [name, some.length, all.length, bytesOf(all) / 1024, ...shares];
  };
  const early = pages.filter(({ on }) => on < '2017');
  const late = pages.filter(({ on }) => on >= '2017');
  const columns = Object.keys(kinds).flatMap((kind) => [`${kind}, % of requests`, `${kind}, % of bytes`]);
  const rows = [row('2015 and 2016', early), row('2017 to 2022', late), row('together', pages)];
  return table(['pages', 'requests', 'KiB', ...columns], rows);
}
