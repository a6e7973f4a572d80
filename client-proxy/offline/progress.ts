import type { SyncProgress } from './types.ts';

/** Tells of progress, but not of every document: there may be thousands a second. */
export class SyncProgressReport {
  readonly #tell: ((progress: SyncProgress) => void) | undefined;
  #state: SyncProgress = { step: 'listing', documents: 0, ofDocuments: 0, bytes: 0, ofBytes: 0 };
  #told = Number.NEGATIVE_INFINITY;

  constructor(tell: ((progress: SyncProgress) => void) | undefined) {
    this.#tell = tell;
  }

  step(step: SyncProgress['step'], state: Partial<Omit<SyncProgress, 'step'>> = {}): void {
    this.#state = { documents: 0, ofDocuments: 0, bytes: 0, ofBytes: 0, ...state, step };
    this.#now();
  }

  /** One more document is here. The first and the last are always told. */
  add(bytes = 0): void {
    const { documents, ofDocuments, bytes: before } = this.#state;
    this.#state = { ...this.#state, documents: documents + 1, bytes: before + bytes };
    if (documents === 0 || documents + 1 === ofDocuments || performance.now() - this.#told > INTERVAL) this.#now();
  }

  #now(): void {
    this.#told = performance.now();
    this.#tell?.(this.#state);
  }
}

const INTERVAL = 100;
