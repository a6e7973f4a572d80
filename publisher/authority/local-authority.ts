/** The publisher's own machine as the authority: it signs timestamps with the key in `publisher.keys`, or with an exported one. */
import type { RoleSigner } from '../../core/publication/keys.ts';
import { isGreater } from '../../core/publication/pair.ts';
import { signMetadata, timestampMetadata, timestampVersion } from '../../core/publication/writer.ts';
import { checkSignedInPast, isOfFuture } from '../publication/clock.ts';
import type { SignedSnapshot } from '../publication/snapshot.ts';
import {
  type CurrentTimestamp,
  checkOrder,
  isSameSnapshot,
  readTimestamp,
  type TimestampAuthority,
} from './authority.ts';
import type { TimestampState } from './state.ts';

export interface LocalAuthorityOptions {
  readonly state: TimestampState;
  /** A key of the role `timestamp`. */
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

  async current(): Promise<CurrentTimestamp | undefined> {
    return this.#last();
  }

  async confirm({ file }: Pick<SignedSnapshot, 'file'>): Promise<Uint8Array> {
    const { state, signer, freshFor, now } = this.#options;
    const last = await this.#last();
    if (last) checkOrder(last.timestamp.snapshot, file, 'this workspace');
    // With a new key versions begin anew (TUF, 5.3.11): that is how a publisher whose clock was ahead gets back.
    const before = last?.signers.includes(signer.keyid) ? last.timestamp : undefined;
    if (before) checkSignedInPast(before, now(), 'the last timestamp');
    const about = { version: timestampVersion(now(), before?.version), expires: now() + freshFor };
    const bytes = signMetadata(timestampMetadata(about, file), [signer]);
    await state.write(bytes);
    return bytes;
  }

  async learn(found: CurrentTimestamp): Promise<void> {
    if (isOfFuture(found.timestamp, this.#options.now())) return;
    const last = await this.#last();
    const isNew = last === undefined || isGreater(found.timestamp, last.timestamp);
    if (isNew && !(last && isSameNumberOnly(found, last))) await this.#options.state.write(found.bytes);
  }

  async #last(): Promise<ReturnType<typeof readTimestamp> | undefined> {
    const bytes = await this.#options.state.read();
    return bytes && readTimestamp(bytes);
  }
}

/** Another publication of the number that is current here is a fork, and never taken over. */
function isSameNumberOnly(a: CurrentTimestamp, b: CurrentTimestamp): boolean {
  const [one, other] = [a.timestamp.snapshot, b.timestamp.snapshot];
  return one.version === other.version && !isSameSnapshot(one, other);
}
