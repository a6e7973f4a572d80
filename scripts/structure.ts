/** Holds the folders to their layers: which may import which, which packages each may use, and no cycles of files or folders. Part of `npm run check`. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';

/** Imports that the files of a folder may have: other folders, packages (`*`: any), and `node:` (Node.js itself). */
interface Layer {
  readonly folders: readonly string[];
  readonly packages: readonly string[];
  /** Tells that others import it only where they name it, not by a folder that it lies in. */
  readonly isProgram?: true;
}

const PRIMITIVES = ['#channel', '#primitives', '#random', '#signing', '#symmetric'];
const PROGRAM: Layer = {
  folders: ['core', 'reading', 'teaser', 'words', 'node-support', 'httpcrypt'],
  isProgram: true,
  packages: ['*', 'node:'],
};
const ABOVE: Layer = {
  folders: [
    'core',
    'reading',
    'teaser',
    'words',
    'node-support',
    'httpcrypt',
    'httpcrypt/serve',
    'publisher',
    'keyserver',
    'client-proxy',
    'link',
    'cache-config',
    'cli',
    'serve',
  ],
  packages: ['*', 'node:'],
};

/** Packages that are imported where a layer names them, and nowhere else. */
const CRYPTOGRAPHY = ['libsodium-wrappers', '@noble'];

/** Layers by the beginnings of files' paths; the longest counts. */
const LAYERS: Readonly<Record<string, Layer>> = {
  'core/primitives': { folders: ['core'], packages: ['libsodium-wrappers', '@noble', 'node:', ...PRIMITIVES] },
  core: { folders: ['core'], packages: PRIMITIVES },
  words: { folders: ['words'], packages: [] },
  reading: { folders: ['core', 'reading', 'words'], packages: PRIMITIVES },
  teaser: {
    folders: ['core', 'teaser', 'words'],
    packages: ['@csstools/css-tokenizer', 'es-module-lexer', 'eta', 'htmlparser2', 'node:'],
  },
  'node-support/storage': {
    folders: ['core', 'node-support'],
    packages: ['node:', '@aws-sdk/client-s3', '@aws-sdk/lib-storage', '#primitives'],
  },
  'node-support': {
    folders: ['core', 'node-support'],
    packages: [
      'node:',
      'express-rate-limit',
      'ipaddr.js',
      'jsonc-parser',
      'lru-cache',
      'proxy-addr',
      'zod',
      '#primitives',
    ],
  },
  httpcrypt: {
    folders: ['core', 'node-support'],
    packages: ['node:', 'undici', 'lru-cache', '#channel', '#primitives'],
  },
  'httpcrypt/serve': PROGRAM,
  publisher: PROGRAM,
  keyserver: PROGRAM,
  'client-proxy': PROGRAM,
  link: PROGRAM,
  'web-reader': { folders: ['core', 'reading', 'words'], packages: PRIMITIVES },
  'cache-config': { folders: ['core', 'node-support'], packages: ['node:', 'zod'] },
  cli: { ...ABOVE, folders: [...ABOVE.folders, 'web-reader'] }, // needed for its error codes
  serve: ABOVE,
  // Certificates and servers that tests start too; tests import neither of these two.
  bench: { ...ABOVE, folders: [...ABOVE.folders, 'tests/support'] },
  evaluation: { ...ABOVE, folders: [...ABOVE.folders, 'bench', 'tests/support'] },
  tests: {
    folders: [...ABOVE.folders, 'web-reader', 'scripts', 'runtime'],
    packages: [...ABOVE.packages, 'libsodium-wrappers', '@noble'],
  },
};

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?\s*['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"\n]+)['"]/g;

export interface ModuleFile {
  readonly path: string;
  readonly imports: readonly string[];
}

/** Lists what breaks the structure, as lines; cycles outside tests. */
export function violations(files: readonly ModuleFile[]): string[] {
  const product = files.filter(({ path }) => !path.startsWith('tests/'));
  const edges = product.flatMap(({ path, imports }) =>
    imports.filter((each) => each.startsWith('.')).map((each) => [path, join(dirname(path), each)] as const),
  );
  return [
    ...files.flatMap(refusedImports),
    ...cycles('files', edges),
    ...cycles('folders', edges.flatMap(betweenFolders)),
  ];
}

function refusedImports({ path, imports }: ModuleFile): string[] {
  const name = layerOf(path);
  const layer = LAYERS[name];
  if (layer === undefined) return [];
  return imports
    .filter((from) => !isAllowed(layer, path, from))
    .map(
      (from) => `${path} must not import ${from}: ${name} may use ${[...layer.folders, ...layer.packages].join(', ')}`,
    );
}

function layerOf(path: string): string {
  const names = Object.keys(LAYERS).filter((each) => path.startsWith(`${each}/`));
  return names.sort((a, b) => b.length - a.length)[0] ?? '';
}

function isAllowed({ folders, packages }: Layer, path: string, from: string): boolean {
  if (from.startsWith('.')) {
    const target = join(dirname(path), from);
    const [top = ''] = target.split('/');
    if (top === path.split('/')[0] || !target.includes('/')) return true; // package.json
    const layer = layerOf(target);
    return folders.some((folder) => target.startsWith(`${folder}/`) && (layer === folder || !LAYERS[layer]?.isProgram));
  }
  const library = CRYPTOGRAPHY.find((name) => from === name || from.startsWith(`${name}/`));
  if (library !== undefined) return packages.includes(library);
  if (from.startsWith('#')) return packages.includes(from) || packages.includes('*');
  return packages.some(
    (each) => each === '*' || each === from || from.startsWith(each.endsWith(':') ? each : `${each}/`),
  );
}

type Edge = readonly [from: string, to: string];

/** The two neighbours in one folder, of whatever depth, between which an import leads: folders, or a folder and a loose file beside it. */
function betweenFolders([from, to]: Edge): Edge[] {
  const [one, other] = [from.split('/'), to.split('/')];
  const depth = one.findIndex((name, index) => name !== other[index]) + 1;
  if (one.length === depth && other.length === depth) return []; // files, both loose
  return [[one.slice(0, depth).join('/'), other.slice(0, depth).join('/')]];
}

/** Import cycles; type imports count, too. */
function cycles(what: string, edges: readonly Edge[]): string[] {
  const graph = new Map<string, Set<string>>();
  for (const [from, to] of edges) graph.set(from, (graph.get(from) ?? new Set()).add(to));
  const found = new Map<string, string>();
  for (const start of graph.keys()) {
    const cycle = shortestCycle(start, graph);
    if (cycle) found.set([...cycle].sort().join(' '), `${what} import one another: ${[...cycle, start].join(' → ')}`);
  }
  return [...found.values()];
}

function shortestCycle(start: string, graph: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const queue = [[start]];
  const seen = new Set<string>();
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    for (const next of graph.get(path.at(-1) ?? '') ?? []) {
      if (next === start) return path;
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push([...path, next]);
    }
  }
  return undefined;
}

/** Folders of what `wispr` runs: what the command line may import, and itself. */
export const PROGRAM_FOLDERS = topFolders([...ABOVE.folders, 'cli']);

function topFolders(folders: readonly string[]): string[] {
  return [...new Set(folders.map((folder) => folder.split('/')[0] ?? ''))];
}

/** The sources of the project with what they import. */
export function readSources(): ModuleFile[] {
  return globSync(`{${topFolders(Object.keys(LAYERS)).join(',')}}/**/*.ts`).map((path) => {
    const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
    return { path, imports: Array.from(text.matchAll(IMPORT), ([, one, other]) => one ?? other ?? '') };
  });
}

if (import.meta.main) {
  const found = violations(readSources());
  for (const line of found) process.stderr.write(`structure: ${line}\n`);
  process.exitCode = found.length > 0 ? 1 : 0;
}
