/** The publisher's own machine as the authority: it signs timestamps with the key in `publisher.keys`, or with an exported one. */
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { isGreater } from '../../core/publication/pair.ts';
import { signMetadata, timestampMetadata, timestampVersion } from '../../core/publication/writer.ts';
import { readIfThere, replaceFile } from '../keys/file-update.ts';
import type { SignedSnapshot } from '../publication/signed.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import {
  type CurrentTimestamp,
  checkOrder,
  checkSignedInPast,
  isOfFuture,
  readTimestamp,
  type TimestampAuthority,
} from './authority.ts';

/** Storage of an authority's last timestamp, which is durable before anyone can see it. */
export interface TimestampState {
  /** The bytes of the last timestamp; `undefined` if none is kept. */
  read(): Promise<Uint8Array | undefined>;
  /** Returns when the bytes are on the disk. @throws PublishError `output-failed` */
  write(timestamp: Uint8Array): Promise<void>;
}

export function stateInIndex(index: PublisherIndex): TimestampState {
  return {
    read: async () => fromBase64url(index.fact('timestamp')),
    write: async (timestamp) => index.setFact('timestamp', toBase64url(timestamp)),
  };
}

/** Keeps it beside an exported timestamp key, which is all that some machines have. */
export function stateBeside(keyFile: string): TimestampState {
  const file = `${keyFile}.last`;
  return { read: () => readIfThere(file), write: (bytes) => replaceFile(file, bytes) };
}

export interface LocalAuthorityOptions {
  readonly state: TimestampState;
  readonly signer: RoleSigner;
  /** Seconds for which a timestamp is good. */
  readonly freshFor: number;
  /** Seconds since 1970. */
  readonly now: () => number;
}

export class LocalAuthority implements TimestampAuthority {
  readonly #options: LocalAuthorityOptions;

  constructor(options: LocalAuthorityOptions) {
    this.#options = options;
  }

  async current(): Promise<ReturnType<typeof readTimestamp> | undefined> {
    const bytes = await this.#options.state.read();
    return bytes && readTimestamp(bytes);
  }

  async confirm({ file }: Pick<SignedSnapshot, 'file'>): Promise<Uint8Array> {
    const { state, signer, freshFor, now } = this.#options;
    const last = await this.current();
    if (last) checkOrder(last.timestamp.snapshot, file, 'this workspace');
    // Versions begin anew with a new key (TUF, 5.3.11): so a publisher whose clock was ahead can go on.
    const before = last?.signers.includes(signer.keyid) ? last.timestamp : undefined;
    if (before) checkSignedInPast(before, now(), 'the last timestamp');
    const about = { version: timestampVersion(now(), before?.version), expires: now() + freshFor };
    const bytes = signMetadata(timestampMetadata(about, file), [signer]);
    await state.write(bytes);
    return bytes;
  }

  /** Ignores forks: other publications of the number that is current here. */
  async learn({ bytes, timestamp }: CurrentTimestamp): Promise<void> {
    if (isOfFuture(timestamp, this.#options.now())) return;
    const last = (await this.current())?.timestamp;
    const isFork =
      timestamp.snapshot.version === last?.snapshot.version && timestamp.snapshot.sha256 !== last.snapshot.sha256;
    if (!isFork && (last === undefined || isGreater(timestamp, last))) await this.#options.state.write(bytes);
  }
}
