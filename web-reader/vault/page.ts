/** Data that the key server wrote into the vault's page, and requests of the page to it. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { PublicationPair } from '../../core/publication/pair.ts';
import { sendPatiently } from '../../reading/pause.ts';

export interface VaultData {
  /** Origin of the vault: this page's. */
  readonly vault: string;
  /** The one origin that keys are handed to. */
  readonly documents: string;
  /** Root id of the publisher. */
  readonly publisher: KeyId;
  /** True where nobody is signed in. */
  readonly isVisitor: boolean;
  /** True where this origin shows what everybody may see of a document, at its path. */
  readonly leads: boolean;
  /** Sets that the reader may read, newest first. */
  readonly sets: readonly KeyId[];
  /** Titles by id of those that have one. */
  readonly titles: Readonly<Record<string, string>>;
  /** Publication that the key server confirms; `undefined` where it has none. */
  readonly pair: PublicationPair | undefined;
  /** Script that makes up for the browser's lack of ML-KEM. */
  readonly mlKem: { readonly src: string; readonly integrity: string };
  /** Seconds since 1970, by the key server's clock: that of this computer may be wrong. */
  readonly now: () => number;
}

/** The key server refused. */
export class KeyServerRefusal extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`the key server answered: ${code}`);
    this.code = code;
  }
}

/** Reads the page that has this script. */
export function readPage(): VaultData {
  const {
    visitor,
    leads,
    documents = '',
    publisher = '',
    sets = '',
    titles = '{}',
    pair = '',
    time = '',
    mlKem = '',
    mlKemIntegrity = '',
  } = document.querySelector<HTMLElement>('#vault')?.dataset ?? {};
  const [start, loaded] = [Number(time), performance.now()];
  const [snapshot, timestamp] = pair.split(',').map(Number);
  return {
    vault: location.origin,
    documents,
    publisher,
    isVisitor: visitor !== undefined,
    leads: leads !== undefined,
    sets: sets.split(',').filter(Boolean),
    titles: JSON.parse(titles) as Record<string, string>,
    pair: snapshot && timestamp ? { snapshot, timestamp } : undefined,
    mlKem: { src: mlKem, integrity: mlKemIntegrity },
    now: () => start + Math.floor((performance.now() - loaded) / 1000),
  };
}

/** Posts a message to the vault's origin. @throws KeyServerRefusal; TypeError where the network fails */
export async function post(path: string, message: Uint8Array): Promise<Uint8Array> {
  const body = message as Uint8Array<ArrayBuffer>;
  const response = await sendPatiently(
    () => fetch(path, { method: 'POST', body, redirect: 'error' }),
    ({ status, headers }) => ({ status, retryAfter: headers.get('retry-after') }),
  );
  if (response.ok) return new Uint8Array(await response.arrayBuffer());
  const { error } = (await response.json().catch(() => ({}))) as { error?: unknown };
  throw new KeyServerRefusal(typeof error === 'string' ? error : 'unreachable');
}
