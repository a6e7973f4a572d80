/** What `wispr protect` is going to do: every document with its set. Everything that can be refused is refused here. */
import { open } from 'node:fs/promises';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/keys/descriptor.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import type { Configuration } from '../configuration/schema.ts';
import { PublishError, systemReason } from '../errors.ts';
import { canNameSet, isPage, isXmlPage, mediaTypeOf } from '../site/media-type.ts';
import { readPage, type Teaser } from '../site/page.ts';
import { compilePattern } from '../site/patterns.ts';
import { problemOfPageSet, SetRules } from '../site/sets.ts';
import { refused, type SourceFile, type SourceTree, walkSource } from '../site/walk.ts';
import { count, printable, someOf } from '../text.ts';

/** One document, and what becomes of it. */
export interface PlannedDocument {
  readonly source: SourceFile;
  /** Without parameters. */
  readonly mediaType: string;
  /** The name of its set; `undefined` if it is public. */
  readonly set: string | undefined;
  /** Why it belongs there. */
  readonly reason: string;
  /** What its fallback page shows; pages in HTML only. */
  readonly teaser: Teaser | undefined;
}

export interface Plan {
  readonly documents: readonly PlannedDocument[];
  readonly directories: ReadonlySet<string>;
  /** Files that are left out. */
  readonly ignored: number;
  /** Patterns that fit no document. */
  readonly unusedPatterns: readonly string[];
}

/** Bytes of a page that are looked at for its set and teaser. */
const PAGE_LENGTH = 8 * 1024 * 1024;

/** Largest page that can be carried inside itself: this is done in memory. */
const HTML_CARRIER_LENGTH = 256 * 1024 * 1024;

/**
 * Looks at the whole source, and decides.
 *
 * @param source - the directory, absolute
 * @throws PublishError `source-unreadable`, `source-refused`, `page-refused`
 */
export async function makePlan(source: string, configuration: Configuration): Promise<Plan> {
  const ignore = configuration.ignore.map(compilePattern);
  const tree = walkSource(source, (path) => ignore.some((pattern) => pattern.match(path)));
  if (tree.files.length === 0) {
    throw new PublishError('source-refused', `${source} holds no documents`, {
      hint: 'put your site there, or change "source" in wispr.json',
    });
  }
  const rules = new SetRules(configuration);
  const documents: PlannedDocument[] = [];
  const problems: string[] = [];
  for (const file of tree.files) {
    const { document, problem } = await planDocument(file, rules);
    documents.push(document);
    if (problem) problems.push(`${printable(file.path)}: ${printable(problem)}`);
  }
  if (problems.length > 0) throw pagesRefused(problems);
  checkCollisions(tree, documents, configuration);
  return { documents, directories: tree.directories, ignored: tree.ignored, unusedPatterns: rules.unused() };
}

async function planDocument(
  source: SourceFile,
  rules: SetRules,
): Promise<{ document: PlannedDocument; problem: string | undefined }> {
  const mediaType = mediaTypeOf(source.path);
  const page = canNameSet(mediaType)
    ? readPage(await readStart(source), { xml: isXmlPage(mediaType), cut: source.size > PAGE_LENGTH })
    : undefined;
  const decision = rules.decide(source.path, page?.set);
  const document = { source, mediaType, ...decision, teaser: isPage(mediaType) ? page?.teaser : undefined };
  return { document, problem: page?.problem ?? problemOfPageSet(page?.set) };
}

async function readStart({ file, path, size }: SourceFile): Promise<Buffer> {
  try {
    await using handle = await open(file);
    const buffer = Buffer.allocUnsafe(Math.min(size, PAGE_LENGTH));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    throw new PublishError('source-unreadable', `cannot read ${printable(path)}: ${systemReason(error)}`, {
      cause: error,
    });
  }
}

/** Two things that would have to lie at one place in the output. */
function checkCollisions(
  { directories }: SourceTree,
  documents: readonly PlannedDocument[],
  { carrier }: Configuration,
): void {
  const problems = documents.flatMap(({ source, teaser, set }) => {
    const problem =
      problemOfPlace(source.path, directories) ??
      (carrier === 'html' && set !== undefined && teaser && source.size > HTML_CARRIER_LENGTH
        ? 'it is too large for "carrier": "html"'
        : undefined);
    return problem === undefined ? [] : [`${printable(source.path)}: ${problem}`];
  });
  if (problems.length > 0) throw refused(problems);
}

function problemOfPlace(path: string, directories: ReadonlySet<string>): string | undefined {
  if (path === HOST_PROOF_PATH || path === DESCRIPTOR_PATH) return 'wispr itself puts a file there';
  if (!directories.has(path + OBJECT_SUFFIX)) return undefined;
  return `its protected object and the directory ${printable(path + OBJECT_SUFFIX)} would collide`;
}

function pagesRefused(problems: readonly string[]): PublishError {
  const message = `${count(problems.length, 'page')} cannot be assigned to a set, and nothing was written: ${someOf(problems, '; ')}`;
  return new PublishError('page-refused', message, {
    hint: 'a page names its set once, in its head: <meta name="wispr-set" content="…">',
  });
}
