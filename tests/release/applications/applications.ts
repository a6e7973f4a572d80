/** The applications, in the order of the table, and what is known not to work. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/programs.ts';
import {
  type Drive,
  download,
  history,
  jupyterBook,
  jupyterLite,
  material,
  progressive,
  sphinx,
  storybook,
} from './drives.ts';

export interface Application {
  /** Page, which leaves a result by itself; or what is done with it. */
  readonly page: string | Drive;
  /** The row of the table. */
  readonly kind: string;
  /** Name, and the package whose version stands beside it. */
  readonly name: string;
  readonly package?: string;
  /** Runs in a browser of its own, which it may leave unfit for others. */
  readonly apart?: boolean;
}

const pinned = (file: string) => readFileSync(join(ROOT, 'tests/applications', file), 'utf8');
const { dependencies } = JSON.parse(pinned('package.json'));
const requirements = pinned('requirements.txt').matchAll(/^([\w-]+)==([\w.]+)/gm);
const versions = new Map([
  ...Object.entries<string>(dependencies),
  ...[...requirements].map(([, name = '', version = '']) => [name, version] as const),
]);

/** Puts the version behind the first words, if one is pinned. */
export function titleOf({ name, package: of = name }: Application): string {
  const version = versions.get(of);
  return version === undefined ? name : name.replace(/(?= with | in | \(|$)/, ` ${version}`);
}

const of = (
  kind: string,
  ...applications: (readonly [page: string | Drive, name: string, pack?: string])[]
): Application[] =>
  applications.map(([page, name, pack]) => ({ kind, page, name, ...(pack !== undefined && { package: pack }) }));

export const APPLICATIONS: readonly Application[] = [
  ...of(
    'film and sound',
    ['hls', 'hls.js'],
    ['dash', 'dash.js', 'dashjs'],
    ['shaka', 'shaka-player'],
    ['media', '`<video>` with `<track>`, `<audio>`'],
    ['ffmpeg', 'ffmpeg.wasm', '@ffmpeg/ffmpeg'],
  ),
  ...of(
    'pictures and maps',
    ['openseadragon', 'OpenSeadragon', 'openseadragon'],
    ['leaflet', 'Leaflet', 'leaflet'],
    ['maplibre', 'MapLibre with PMTiles', 'maplibre-gl'],
    ['geotiff', 'geotiff.js', 'geotiff'],
    ['three', 'three.js with glTF', 'three'],
  ),
  ...of(
    'data',
    ['httpvfs', 'sql.js-httpvfs'],
    ['sqlite', 'sqlite-wasm', '@sqlite.org/sqlite-wasm'],
    ['duckdb', 'duckdb-wasm', '@duckdb/duckdb-wasm'],
    ['zarr', 'zarrita (Zarr 2, 3)', 'zarrita'],
  ),
  ...of('machines', ['pyodide', 'pyodide'], ['v86', 'v86'], ['js-dos', 'js-dos', 'emulators']),
  ...of(
    'with `SharedArrayBuffer`',
    ['opfs', 'sqlite-wasm in OPFS', '@sqlite.org/sqlite-wasm'],
    ['ffmpeg-threads', 'ffmpeg.wasm with threads', '@ffmpeg/core-mt'],
  ),
  ...of(
    'documents',
    ['pdf', 'pdf.js', 'pdfjs-dist'],
    ['mermaid', 'Mermaid', 'mermaid'],
    ['katex', 'KaTeX', 'katex'],
    ['mathjax', 'MathJax', 'mathjax'],
    ['swagger', 'Swagger UI', 'swagger-ui-dist'],
    ['redoc', 'Redoc', 'redoc'],
    ['reveal', 'reveal.js'],
  ),
  ...of(
    'sites of generators',
    [material, 'Material for MkDocs', 'mkdocs-material'],
    [sphinx, 'Sphinx', 'sphinx'],
    [jupyterBook, 'Jupyter Book', 'jupyter-book'],
    [storybook, 'Storybook', 'storybook'],
  ),
  ...of('search', ['lunr', 'lunr'], ['pagefind', 'Pagefind', 'pagefind']),
  ...of('frameworks', ['react', 'React (whole page)', 'react'], [history, 'Vite and Vue with paths of history', 'vue']),
  ...of('links', [download, '`<a download>`']),
  ...of('service workers', [jupyterLite, 'JupyterLite', 'jupyterlite-core'], [progressive, 'vite-plugin-pwa']).map(
    (application) => ({ ...application, apart: true }),
  ),
];
