/** Answers a page with a document, as reading/serve-document.ts decides. */
import type { DocumentReader, ReadingContext } from '../../core/object/document-reader.ts';
import type { ContentCoding } from '../../core/object/metadata.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { CONFIRMED_HEADER } from '../../reading/confirmation.ts';
import { documentHeaders } from '../../reading/document-headers.ts';
import { type ContentStream, serveDocument } from '../../reading/serve-document.ts';
import { WebReaderError } from '../errors.ts';
import { WorkerSupply } from './documents.ts';
import type { ReadSite } from './site.ts';

/** Opened documents that are remembered, for ranges and conditions. */
const REMEMBERED = 100;

export interface DocumentWish {
  readonly request: Request;
  readonly site: ReadSite;
  readonly publisherKey: Uint8Array;
  readonly path: string;
  /** Entry of it in the publication. */
  readonly entry: DocumentEntry;
  /** Status; 404: it stands for one that does not exist, and is sent whole. */
  readonly status: 200 | 404;
  /** Time at which the publication was last confirmed, as {@link CONFIRMED_HEADER} says it. */
  readonly confirmed: string;
  readonly context: ReadingContext;
}

/** Readers by the hash of the head. */
const remembered = new Map<string, DocumentReader>();

/**
 * Gives a document as the answer to a request.
 *
 * @throws what kept it from being shown; nothing was released then. What fails later ends the body with an error
 */
export async function answerDocument(wish: DocumentWish): Promise<Response> {
  const { request, site, publisherKey, path, entry, status, context, confirmed } = wish;
  const supply = new WorkerSupply(path, entry, site.content);
  try {
    const { headers, part, chosen, begin, ...answer } = await serveDocument({
      supply,
      wanted: { site: site.site, path, publisherKey, entry },
      context,
      request: { method: request.method, headers: Object.fromEntries(request.headers) },
      status,
      memory: {
        known: () => remembered.get(entry.head),
        remember: (reader) => remember(entry, reader),
        forget: () => void remembered.delete(entry.head),
      },
      adapt: (carried) => ({ ...carried, headers: documentHeaders(carried.headers) }),
    });
    const undo = part === 'whole' ? decoderFor(chosen.undo) : undefined;
    const body = part === 'nothing' ? null : streamOf(await begin(), supply);
    const fields = new Headers({ [CONFIRMED_HEADER]: confirmed });
    for (const [name, value] of Object.entries(headers)) for (const each of [value].flat()) fields.append(name, each);
    return new Response(body && undo ? body.pipeThrough(undo) : body, { status: answer.status, headers: fields });
  } catch (error) {
    supply.end();
    throw error;
  }
}

function remember({ head }: DocumentEntry, reader: DocumentReader): void {
  remembered.delete(head);
  remembered.set(head, reader);
  for (const oldest of remembered.keys()) {
    if (remembered.size <= REMEMBERED) return;
    remembered.delete(oldest);
  }
}

/** @throws WebReaderError `coding-unsupported` */
function decoderFor(coding: ContentCoding | undefined): TransformStream | undefined {
  if (coding === undefined) return undefined;
  try {
    return new DecompressionStream((coding === 'br' ? 'brotli' : coding) as CompressionFormat);
  } catch (cause) {
    throw new WebReaderError('coding-unsupported', `this browser cannot undo "${coding}"`, { cause });
  }
}

/** Blocks that are verified before the page asks for them: a page that waited for each would get half as many. */
const AHEAD = 4;

/** Content as a page takes it. A block that fails its check ends it with an error: what came before is not the whole. */
function streamOf(content: ContentStream, supply: WorkerSupply): ReadableStream<Uint8Array> {
  const end = () => {
    content.stop();
    supply.end();
  };
  const source: UnderlyingDefaultSource<Uint8Array> = {
    pull: async (controller) => {
      try {
        const piece = await content.pieces.next();
        if (!piece.done) return controller.enqueue(piece.value);
        end();
        controller.close();
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    cancel: async () => {
      end();
      await content.pieces.return(undefined).catch(() => undefined);
    },
  };
  return new ReadableStream(source, { highWaterMark: AHEAD });
}
