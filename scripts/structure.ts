/** Holds the folders to their layers: which may import which, which packages each may use, and no cycles between them. Part of `npm run check`. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';

/** What the files of a folder at the top may import: other such folders, packages (`*`: any), and `node:` (Node.js itself). */
interface Layer {
  readonly folders: readonly string[];
  readonly packages: readonly string[];
}

const PRIMITIVES = ['#channel', '#primitives', '#random', '#signing', '#symmetric'];
const PROGRAM: Layer = { folders: ['core', 'node-support'], packages: ['*', 'node:'] };
const ABOVE: Layer = {
  folders: [
    'core',
    'node-support',
    'publisher',
    'keyserver',
    'client-proxy',
    'link',
    'cache-config',
    'cli',
    'demo',
    'bench',
  ],
  packages: ['*', 'node:'],
};

/** Imported where a layer names them, and nowhere else. */
const CRYPTOGRAPHY = ['libsodium-wrappers', '@noble'];

/** The longest name that begins a file's path counts. */
const LAYERS: Readonly<Record<string, Layer>> = {
  'core/primitives': { folders: ['core'], packages: ['libsodium-wrappers', '@noble', 'node:', ...PRIMITIVES] },
  core: { folders: ['core'], packages: PRIMITIVES },
  'node-support/storage': {
    folders: ['core', 'node-support'],
    packages: ['node:', '@aws-sdk/client-s3', '@aws-sdk/lib-storage', '#primitives'],
  },
  'node-support': {
    folders: ['core', 'node-support'],
    packages: ['node:', 'ipaddr.js', 'jsonc-parser', 'zod', '#primitives'],
  },
  publisher: PROGRAM,
  keyserver: PROGRAM,
  'client-proxy': PROGRAM,
  link: PROGRAM,
  'web-reader': { folders: ['core'], packages: PRIMITIVES },
  'cache-config': { folders: ['core', 'node-support'], packages: ['node:', 'zod'] },
  cli: ABOVE,
  demo: ABOVE,
  bench: ABOVE,
};

/** The folders in these are layers too. */
const WITHOUT_CYCLES = ['publisher', 'keyserver', 'client-proxy', 'link', 'web-reader', 'cli'];

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?\s*['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"\n]+)['"]/g;

export interface SourceFile {
  readonly path: string;
  /** As written. */
  readonly imports: readonly string[];
}

/** Everything that breaks the structure, as lines. */
export function violations(files: readonly SourceFile[], programs: readonly string[] = WITHOUT_CYCLES): string[] {
  return [...files.flatMap(refusedImports), ...programs.flatMap((program) => folderCycles(program, files))];
}

function refusedImports({ path, imports }: SourceFile): string[] {
  const name = Object.keys(LAYERS)
    .filter((each) => path.startsWith(each))
    .sort((a, b) => b.length - a.length)[0];
  const layer = LAYERS[name ?? ''];
  if (layer === undefined) return [];
  return imports
    .filter((from) => !isAllowed(layer, path, from))
    .map(
      (from) => `${path} must not import ${from}: ${name} may use ${[...layer.folders, ...layer.packages].join(', ')}`,
    );
}

function isAllowed({ folders, packages }: Layer, path: string, from: string): boolean {
  if (from.startsWith('.')) {
    const target = join(dirname(path), from);
    const [top = ''] = target.split('/');
    return top === path.split('/')[0] || folders.includes(top) || !target.includes('/'); // package.json
  }
  const library = CRYPTOGRAPHY.find((name) => from === name || from.startsWith(`${name}/`));
  if (library !== undefined) return packages.includes(library);
  if (from.startsWith('#')) return packages.includes(from) || packages.includes('*');
  return packages.some(
    (each) => each === '*' || each === from || from.startsWith(each.endsWith(':') ? each : `${each}/`),
  );
}

/** Folders of a program that import one another, directly or by way of others. Loose files stand for themselves. */
function folderCycles(program: string, files: readonly SourceFile[]): string[] {
  const edges = new Map<string, Map<string, string>>();
  for (const { path, imports } of files) {
    const from = layerIn(program, path);
    if (from === undefined) continue;
    const targets = edges.get(from) ?? new Map<string, string>();
    edges.set(from, targets);
    for (const each of imports) {
      const to = each.startsWith('.') ? layerIn(program, join(dirname(path), each)) : undefined;
      if (to !== undefined && to !== from && !targets.has(to)) targets.set(to, `${path} imports ${each}`);
    }
  }
  const found = new Map<string, string>();
  for (const start of edges.keys()) {
    const cycle = shortestCycle(start, edges);
    if (cycle === undefined) continue;
    const why = cycle.map((one, index) => edges.get(one)?.get(cycle[(index + 1) % cycle.length] ?? '') ?? '');
    found.set([...cycle].sort().join(' '), `folders import one another: ${why.join('; ')}`);
  }
  return [...found.values()];
}

function shortestCycle(start: string, edges: ReadonlyMap<string, ReadonlyMap<string, string>>): string[] | undefined {
  const waiting = [[start]];
  const seen = new Set<string>();
  for (let way = waiting.shift(); way !== undefined; way = waiting.shift()) {
    for (const next of edges.get(way.at(-1) ?? '')?.keys() ?? []) {
      if (next === start) return way;
      if (seen.has(next)) continue;
      seen.add(next);
      waiting.push([...way, next]);
    }
  }
  return undefined;
}

function layerIn(program: string, path: string): string | undefined {
  const [top, ...rest] = path.split('/');
  return top === program && rest.length > 0 ? `${top}/${rest[0]}` : undefined;
}

/** The sources of the project with what they import. */
export function readSources(): SourceFile[] {
  return globSync(
    '{core,node-support,publisher,keyserver,client-proxy,link,web-reader,cache-config,cli,demo,bench}/**/*.ts',
  ).map((path) => {
    const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
    return { path, imports: Array.from(text.matchAll(IMPORT), ([, one, other]) => one ?? other ?? '') };
  });
}

if (import.meta.main) {
  const named = process.argv.slice(2);
  const found = violations(readSources(), named.length > 0 ? named : WITHOUT_CYCLES);
  for (const line of found) process.stderr.write(`structure: ${line}\n`);
  process.exitCode = found.length > 0 ? 1 : 0;
}
