/** Where an authority keeps its last timestamp: durable before anyone can see the timestamp. */
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { readIfThere, replaceFile } from '../keys/file-update.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';

export interface TimestampState {
  /** The bytes of the last timestamp; `undefined` if none is kept. */
  read(): Promise<Uint8Array | undefined>;
  /** Returns when the bytes are on the disk. @throws PublishError `output-failed` */
  write(timestamp: Uint8Array): Promise<void>;
}

/** Keeps it in a file of its own. */
export function stateInFile(file: string): TimestampState {
  return { read: () => readIfThere(file), write: (bytes) => replaceFile(file, bytes) };
}

/** The state of a machine that has only an exported timestamp key lies beside that key. */
export function stateFileOf(keyFile: string): string {
  return `${keyFile}.last`;
}

/** Keeps it in `publisher.db`. */
export function stateInIndex(index: PublisherIndex): TimestampState {
  return {
    read: async () => fromBase64url(index.fact('timestamp')),
    write: async (timestamp) => index.setFact('timestamp', toBase64url(timestamp)),
  };
}
