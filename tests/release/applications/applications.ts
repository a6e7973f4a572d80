/** The applications, in the order of the table, and what is known not to work. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/programs.ts';

export interface Application {
  /** Its page in the site; also where a browser begins. */
  readonly page: string;
  /** The row of the table. */
  readonly kind: string;
  /** Its name, and the package whose version stands beside it. */
  readonly name: string;
  readonly package?: string;
}

const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'tests/applications/package.json'), 'utf8'));

export const titleOf = ({ name, package: of = name }: Application): string =>
  of in dependencies ? `${name} ${dependencies[of]}` : name;

const of = (kind: string, ...applications: (readonly [page: string, name: string, pack?: string])[]): Application[] =>
  applications.map(([page, name, pack]) => ({ kind, page, name, ...(pack !== undefined && { package: pack }) }));

export const APPLICATIONS: readonly Application[] = [
  ...of(
    'film and sound',
    ['hls', 'hls.js'],
    ['dash', 'dash.js', 'dashjs'],
    ['shaka', 'shaka-player'],
    ['media', '`<video>` with `<track>`, WAV'],
    ['ffmpeg', 'ffmpeg.wasm', '@ffmpeg/ffmpeg'],
  ),
  ...of(
    'pictures and maps',
    ['openseadragon', 'OpenSeadragon', 'openseadragon'],
    ['leaflet', 'Leaflet', 'leaflet'],
    ['maplibre', 'MapLibre with PMTiles', 'maplibre-gl'],
    ['geotiff', 'geotiff.js', 'geotiff'],
    ['three', 'three.js with glTF and an import map', 'three'],
  ),
  ...of(
    'data',
    ['httpvfs', 'sql.js-httpvfs'],
    ['sqlite', 'sqlite-wasm', '@sqlite.org/sqlite-wasm'],
    ['duckdb', 'duckdb-wasm', '@duckdb/duckdb-wasm'],
    ['zarr', 'zarrita, Zarr 2 and 3', 'zarrita'],
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
  ...of('search', ['lunr', 'lunr']),
  ...of('frameworks', ['react', 'React, which hydrates the whole page', 'react']),
];
