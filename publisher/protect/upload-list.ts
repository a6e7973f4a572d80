/**
 * What of an output goes to a web host, in the order of docs/spec/publication.md, section 8: whoever uploads each kind only after everything of
 * the kinds before has arrived leaves a host readable at any moment.
 */
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/keys/descriptor.ts';
import {
  DESCRIPTOR_TARGET,
  METADATA_PATH,
  metadataFile,
  SETTINGS_TARGET,
  TIMESTAMP_FILE,
  targetFile,
} from '../../core/publication/names.ts';
import { openIndex } from '../index/open.ts';
import type { PublisherIndex } from '../index/publisher-index.ts';
import type { Workspace } from '../workspace.ts';
import { immutableFilesOf } from './files.ts';

/**
 * `object`: objects, contents, descriptor, settings. `page`: what lies at documents' own names, and other files for programs that verify
 * nothing. `metadata`: signed metadata but for the timestamp. `timestamp`: the one file that makes all of it visible.
 */
export type UploadKind = 'object' | 'page' | 'metadata' | 'timestamp';

export interface UploadFile {
  readonly kind: UploadKind;
  /** Its path in the output, with a leading slash: a document's path, not a URL. */
  readonly file: string;
  /** Whether a file of this name never changes: what a host has under it need not be uploaded again. */
  readonly immutable: boolean;
}

/** The current publication of a workspace, as files. */
export class UploadList implements Disposable {
  readonly #index: PublisherIndex;

  /**
   * Opens the index of a workspace, which `wispr protect` has brought up to date.
   *
   * @throws PublishError as `openIndex`
   */
  constructor({ index }: Workspace) {
    this.#index = openIndex(index, { readOnly: true }).index;
  }

  [Symbol.dispose](): void {
    this.#index.close();
  }

  /** The version of the publication; `undefined` if there is none. */
  get version(): number | undefined {
    const version = this.#index.fact('version');
    return version === undefined ? undefined : Number(version);
  }

  /** Every file, in the order in which the kinds have to arrive. Documents come one after the other, however many there are. */
  *files(): Generator<UploadFile> {
    for (const row of this.#index.each()) {
      for (const file of immutableFilesOf(row)) yield { kind: 'object', file, immutable: true };
    }
    const hashes = this.#index.fact('targets')?.split(' ') ?? [];
    for (const [number, target] of [DESCRIPTOR_TARGET, SETTINGS_TARGET].entries()) {
      yield { kind: 'object', file: targetFile(target, hashes[number] ?? ''), immutable: true };
    }
    for (const { path, form } of this.#index.each()) {
      if (form !== 'none') yield { kind: 'page', file: path, immutable: false };
    }
    for (const file of [HOST_PROOF_PATH, DESCRIPTOR_PATH]) yield { kind: 'page', file, immutable: false };
    for (const name of this.#metadata()) yield { kind: 'metadata', file: METADATA_PATH + name, immutable: true };
    yield { kind: 'timestamp', file: METADATA_PATH + TIMESTAMP_FILE, immutable: false };
  }

  /**
   * Files that the current publication does without, and that are kept for readers of those before: they may go from a host once the output has
   * let them go too (`pruneOutput`), or, by the host's own count, that long after this publication arrived there.
   */
  *retired(): Generator<string> {
    yield* this.#index.retiredFiles();
  }

  *#metadata(): Generator<string> {
    const roots = Number(this.#index.fact('roots') ?? 1);
    for (let number = 1; number <= roots; number++) yield metadataFile('root', number);
    for (const { name, version } of this.#index.roles().values()) yield metadataFile(name, version);
  }
}
