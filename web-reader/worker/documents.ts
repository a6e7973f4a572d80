/** Opens documents: out of what is kept where that is good, else from the content hosts, one after the other. */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { CodedError } from '../../core/errors.ts';
import type { DocumentReader, OpenedDocument, ReadingContext } from '../../core/object/document-reader.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import { faultOf, moreTelling } from '../../core/reading/host-faults.ts';
import { describeAt, expectationOf, openAt, type WantedDocument } from '../../core/reading/open-at.ts';
import { HostAttempt } from './fetching.ts';
import { noteFailure } from './hosts.ts';
import { dropKept, findKept, type KeptObject } from './kept-objects.ts';
import { fetchPayload, Payload, type Supply } from './payload.ts';

/** Milliseconds until a host must have head and first block there: where there are others, and where it is the last. */
const OPEN_TIMEOUT = { withOthers: 10_000, last: 60_000 } as const;

export interface Opened extends OpenedDocument {
  readonly payload: Payload;
}

/** @throws as `openAt` */
export async function openWhole(supply: Supply, wanted: WantedDocument, context: ReadingContext): Promise<Opened> {
  const kept = await openKept(supply, wanted, context);
  if (kept) return kept;
  return askHosts(supply, (attempt) =>
    withPayload(supply, attempt, (follow) => openAt(attempt.fetch, wanted, { ...context, supply: follow })),
  );
}

/** Only what says what the document is. @throws as `openAt` */
export async function describe(
  supply: Supply,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<DocumentReader> {
  const kept = await openKept(supply, wanted, context);
  if (kept) return kept.reader;
  return askHosts(supply, async (attempt) => {
    const reader = await describeAt(attempt.fetch, wanted, context);
    attempt.end();
    return reader;
  });
}

/** A part of the payload of a document that was opened before, whole blocks from their beginning. @throws ReadingError */
export async function openPart(supply: Supply, reader: DocumentReader, range: ByteRange): Promise<Payload> {
  const kept = await findKept(supply.path, supply.entry);
  if (kept) {
    const bytes = new ByteReader(kept.from(reader.head.length + range.start, reader.head.length + range.end));
    return new Payload(supply, reader, bytes, kept, range.end);
  }
  return askHosts(supply, async (attempt) => {
    const bytes = await fetchPayload(supply, reader, range, attempt);
    return new Payload(supply, reader, bytes, attempt, range.end);
  });
}

/** `undefined` where there is no copy, or a damaged one, which is then dropped. */
async function openKept(supply: Supply, wanted: WantedDocument, context: ReadingContext): Promise<Opened | undefined> {
  const { path, entry } = supply;
  const kept = await findKept(path, entry);
  if (kept === undefined) return undefined;
  const object = entry.set === undefined ? kept.from(0, entry.headLength) : kept.from(0);
  try {
    return await withPayload(supply, kept, (follow) =>
      openDocument(object, expectationOf(wanted), { ...context, supply: follow }, async () =>
        kept.from(entry.headLength),
      ),
    );
  } catch (error) {
    if (error instanceof CodedError && faultOf(error) === undefined) throw error; // the key, and the like
    await dropKept(path, entry);
    return undefined;
  }
}

/** Does `work` with one host after another, until it succeeds. @throws the most telling failure; at once, where another host would not help */
async function askHosts<Result>({ hosts }: Supply, work: (attempt: HostAttempt) => Promise<Result>): Promise<Result> {
  let failure: unknown = new ReadingError('content-host-unreachable', 'the site has no content host');
  for (const [index, origin] of hosts.entries()) {
    const attempt = new HostAttempt(origin);
    const isLast = index === hosts.length - 1;
    const timer = setTimeout(() => attempt.end(), OPEN_TIMEOUT[isLast ? 'last' : 'withOthers']);
    try {
      return await work(attempt);
    } catch (error) {
      attempt.end();
      if (faultOf(error) === undefined) throw error;
      noteFailure(origin);
      failure = index === 0 ? error : moreTelling(failure, error);
    } finally {
      clearTimeout(timer);
    }
  }
  throw failure;
}

async function withPayload(
  supply: Supply,
  origin: HostAttempt | KeptObject,
  open: (follow: NonNullable<ReadingContext['supply']>) => Promise<OpenedDocument>,
): Promise<Opened> {
  let payload: Payload | undefined;
  const opened = await open((reader, bytes) => {
    payload = new Payload(supply, reader, bytes, origin);
    return payload;
  });
  return { ...opened, payload: payload as Payload };
}
