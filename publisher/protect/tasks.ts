/** Carries out the plan: objects and contents first, then what lies at the documents' own names. */
import { contentTargetOf, headTargetOf } from '../../core/publication/names.ts';
import { forEachInFlight } from '../../node-support/in-flight.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { Change, Form, IndexedDocument, Task } from '../workspace/index/schema.ts';
import type { Appearance } from './appearance.ts';
import { immutableFilesOf } from './files.ts';
import { isPlaced, isThere } from './output.ts';
import type { Inspected } from './phases.ts';
import type { ChangeReasons } from './summary.ts';
import type { Placement, WriteTask, WrittenDocument } from './writers/jobs.ts';
import { CALLS_IN_FLIGHT, type DocumentWriters } from './writers/writers.ts';

type Writing = Pick<Inspected, 'appearance' | 'index' | 'keys' | 'output' | 'sections'>;

export interface TasksDone {
  readonly unchanged: number;
  /** Numbers of documents that differ, by reasons other than their source. */
  readonly reasons: ChangeReasons;
}

/** Writes every document of the plan, and notes each once its files are there. */
export async function writeDocuments(
  writing: Writing,
  writers: DocumentWriters,
  onDone: (documents: number) => void,
): Promise<TasksDone> {
  const { index } = writing;
  const reasons = { remade: 0, restored: 0 };
  let [written, unchanged] = [0, 0];
  await gathering(index, index.tasks(), async (task) => {
    const document = await writers.write(writeTaskFor(writing, task));
    if (document.reused) unchanged++;
    else if (isReason(task.change)) reasons[task.change]++;
    index.gather(() => storeDocument(writing, task, document));
    onDone(++written);
  });
  index.transaction(() => {
    for (const path of index.gone()) index.remove(path, immutableFilesOf);
  });
  return { unchanged, reasons };
}

/** Does `work` for each item, many at a time; what it gathered in the index stays also after a failure: what is there need not be made again. */
async function gathering<Item>(
  index: PublisherIndex,
  items: Iterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  try {
    await forEachInFlight(items, CALLS_IN_FLIGHT, work);
  } finally {
    index.settle();
  }
}

function isReason(change: Change): change is keyof ChangeReasons {
  return change === 'remade' || change === 'restored';
}

function writeTaskFor({ appearance, index, keys, output }: Writing, task: Task): WriteTask {
  const { path, file, size, lastModified, identity, mediaType, setName, form } = task;
  const headers = appearance.headers.headersOf(path);
  const row = task.change === 'added' ? undefined : index.find(path);
  const previous = row && isThere(row, output) ? row.head : undefined; // an object that is gone cannot be kept
  return {
    path,
    source: { path, file, size, lastModified, identity },
    mediaType,
    compress: setName !== undefined && !appearance.uncompressed.fits(path.slice(1)),
    set: setName === undefined ? undefined : keys.keyOf(setName),
    padding: appearance.padding,
    headers,
    carrier: form === 'carrier' ? 'html' : 'beside',
    fallbackPage: form === 'carrier' ? appearance.fallbackPage(path, task.teaser) : undefined,
    previous,
  };
}

function storeDocument(writing: Writing, task: Task, document: WrittenDocument): void {
  const { index, sections, keys } = writing;
  const { head, headLength, content, contentLength, bytesOut } = document;
  const written = {
    setId: task.setName === undefined ? undefined : keys.keyOf(task.setName),
    head,
    headLength,
    content,
    contentLength,
    bytesOut,
    placed: placedBefore(writing, task, document),
    headBin: sections.numberOf(headTargetOf(task.path)),
    contentBin: content === undefined ? undefined : sections.numberOf(contentTargetOf(task.path)),
  };
  index.store(task, written, immutableFilesOf);
}

/** Returns the mark of the file at the document's own name, if it can stay there. */
function placedBefore(
  { index, output, appearance: { pageFacts } }: Writing,
  task: Task,
  document: WrittenDocument,
): string | undefined {
  if (task.form === 'carrier') return document.staged ? undefined : placedMark('carrier', pageFacts);
  const row = task.change === 'added' ? undefined : index.find(task.path);
  if (row === undefined || row.form !== task.form || !isPlaced(row, output)) return undefined;
  const same = task.form === 'copy' ? row.content === document.content : row.teaser === task.teaser;
  return same ? row.placed : undefined;
}

/** Returns the mark of a file at a document's own name, so that it is replaced only if something about it changed. */
function placedMark(form: Form, pageFacts: string): string {
  return form === 'page' ? pageFacts : form;
}

/** Puts fallback pages, plain copies and pages that carry objects into their places. */
export async function placeDocuments(
  index: PublisherIndex,
  appearance: Appearance,
  writers: DocumentWriters,
): Promise<void> {
  const { pageFacts } = appearance;
  await gathering(index, index.unplaced(placedMark('page', pageFacts)), async (row) => {
    const bytes = await writers.place(placementFor(row, appearance));
    index.gather(() => index.setPlaced(row.id, placedMark(row.form, pageFacts), bytes));
  });
}

function placementFor(row: IndexedDocument, { fallbackPage }: Appearance): Placement {
  const { path, form, head, content } = row;
  if (form === 'carrier') return { kind: 'carrier', path, head };
  if (form === 'copy') return { kind: 'copy', path, content: content ?? '' };
  return { kind: 'page', path, page: fallbackPage(path, row.teaser) };
}
