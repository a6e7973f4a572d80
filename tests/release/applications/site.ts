/** Site with every application: their pages, of `tests/applications`, beside the packages as their makers publish them, and samples to work on. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { ROOT } from '../../support/programs.ts';
import { writeSamples } from './samples.ts';

const SOURCES = join(ROOT, 'tests/applications');
const INSTALLED = join(ROOT, '.cache/applications');
const PACKAGES = join(INSTALLED, 'node_modules');

/** Files that pages load beside their scripts: a folder below `/vendor`, and files that go there. */
const VENDOR: Readonly<Record<string, readonly string[]>> = {
  duckdb: ['duckdb-browser-eh.worker.js', 'duckdb-eh.wasm'].map((name) => `@duckdb/duckdb-wasm/dist/${name}`),
  emulators: ['emulators.js', 'wdosbox.js', 'wdosbox.wasm', 'wlibzip.js', 'wlibzip.wasm'].map(
    (name) => `emulators/dist/${name}`,
  ),
  ffmpeg: ['@ffmpeg/ffmpeg/dist/esm'],
  'ffmpeg/core': ['@ffmpeg/core/dist/esm'],
  'ffmpeg/core-mt': ['@ffmpeg/core-mt/dist/esm'],
  katex: ['katex/dist'],
  mathjax: ['mathjax/tex-svg.js'],
  'mathjax/sre': ['mathjax/sre'],
  'mathjax-newcm-font/svg': ['@mathjax/mathjax-newcm-font/svg'],
  'maplibre-gl': ['maplibre-gl/dist/maplibre-gl-worker.mjs', 'maplibre-gl/dist/maplibre-gl-shared.mjs'],
  'pdfjs-dist': ['pdfjs-dist/build/pdf.worker.mjs'],
  pyodide: ['pyodide'],
  redoc: ['redoc/bundles/redoc.standalone.js'],
  seabios: ['bios.bin', 'vgabios-stdvga.bin'].map((name) => `/usr/share/seabios/${name}`),
  'sql.js-httpvfs': ['sql.js-httpvfs/dist'],
  'sqlite-wasm': ['@sqlite.org/sqlite-wasm/sqlite-wasm/jswasm'],
  'swagger-ui-dist': ['swagger-ui-dist/swagger-ui-bundle.js'],
  'three/build': ['three/build'],
  'three/examples/jsm/loaders': ['three/examples/jsm/loaders/GLTFLoader.js'],
  'three/examples/jsm/utils': ['three/examples/jsm/utils'],
  v86: ['v86/build/libv86.mjs', 'v86/build/v86.wasm'],
};

/** Calls what the script of a page exports, and leaves the answer, or the failure, for the test. */
const pageOf = (name: string) => `<!doctype html><meta charset="utf-8"><title>${name}</title><main></main>
<script type="module">
  try {
    window.result = await (await import('/${name}.js')).default(document.querySelector('main'));
  } catch (error) {
    window.result = 'failed: ' + error;
  }
</script>`;

/** Makes the site in an empty folder. */
export async function makeSite(folder: string): Promise<void> {
  await Promise.all([writePages(folder), copyVendor(folder), writeSamples(folder), generate(folder)]);
}

async function writePages(folder: string): Promise<void> {
  const pages = join(SOURCES, 'pages');
  const files = await readdir(pages);
  await build({
    entryPoints: files.filter((file) => file.endsWith('.js')).map((file) => join(pages, file)),
    outdir: folder,
    bundle: true,
    format: 'esm',
    splitting: true,
    minify: true,
    external: ['/vendor/*', '/pagefind/*'],
    define: { 'process.env.NODE_ENV': '"production"' },
    nodePaths: [PACKAGES],
    logLevel: 'error',
  });
  for (const file of files) {
    if (file.endsWith('.html')) await cp(join(pages, file), join(folder, file));
    else if (!files.includes(file.replace('.js', '.html')))
      await writeFile(join(folder, file.replace('.js', '.html')), pageOf(basename(file, '.js')));
  }
}

async function copyVendor(folder: string): Promise<void> {
  for (const [name, sources] of Object.entries(VENDOR)) {
    const place = join(folder, 'vendor', name);
    await mkdir(place, { recursive: true });
    for (const source of sources) {
      const isFile = /\.\w+$/.test(source) && !source.endsWith('.js-httpvfs');
      const to = isFile ? join(place, basename(source)) : place;
      const filter = (from: string) => !from.endsWith('.map') && !/\/node_modules$/.test(from);
      await cp(source.startsWith('/') ? source : join(PACKAGES, source), to, { recursive: true, filter });
    }
  }
}

/** Commands that write sites: to OUT, a folder in SITE. The last looks through what another wrote. */
const GENERATORS: Readonly<Record<string, string>> = {
  vue: 'vite build vue --base /vue/ --outDir OUT',
  pwa: 'vite build vue --mode pwa --base /pwa/ --outDir OUT',
  storybook: 'storybook build --config-dir storybook --output-dir OUT',
  mkdocs: 'mkdocs build --quiet --config-file mkdocs/mkdocs.yml --site-dir OUT',
  sphinx: 'sphinx-build -q sphinx OUT',
  'jupyter-book': 'jupyter-book build -q jupyter-book --path-output jupyter-book',
  jupyterlite: 'jupyter-lite build --no-sourcemaps --output-dir OUT',
  pagefind: 'pagefind --site SITE/mkdocs --output-path OUT',
};

/** Builds sites next to the installed packages, which they look for there. */
async function generate(folder: string): Promise<void> {
  const directory = await mkdtemp(join(INSTALLED, 'site-'));
  const PATH = [join(PACKAGES, '.bin'), join(INSTALLED, 'python/bin'), process.env.PATH].join(':');
  const env = { ...process.env, PATH, NODE_ENV: 'production', NO_COLOR: '1' };
  try {
    await cp(SOURCES, directory, { recursive: true });
    for (const [name, line] of Object.entries(GENERATORS)) {
      const [command = '', ...args] = line.replace('SITE', folder).replace('OUT', join(folder, name)).split(' ');
      await promisify(execFile)(command, args, { cwd: directory, env });
    }
    await cp(join(directory, 'jupyter-book/_build/html'), join(folder, 'jupyter-book'), { recursive: true });
    await cp(join(folder, 'vue/index.html'), join(folder, '404.html'));
  } finally {
    await rm(directory, { recursive: true });
  }
}
