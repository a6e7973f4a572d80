/** What readers have after a run that did not come to its end. */
import type { RootMetadata } from '../../core/publication/metadata.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { PublishError } from '../errors.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { fileOfRole } from '../publication/roles.ts';
import { rootsOf } from '../publication/roots.ts';
import { reworded } from './bring-failures.ts';

const AGAIN = 'run "wispr publish" again, and it goes on from here';
const NOTHING =
  'readers may have no publication until this is finished: the one before was signed for other keys than those of the new root';

/** Knows whether a root has been sent that ends the trust in the publication before, and whether readers may have this one. */
export class OnTheWay {
  readonly #publication: OpenedPublication;
  #first: string | undefined;
  #mayBeThere = false;

  /** @param publication - that is being published */
  constructor(publication: OpenedPublication) {
    this.#publication = publication;
  }

  /** @param path - of a root that is about to be sent: the lowest comes first */
  rootIs(path: string): void {
    this.#first ??= path;
  }

  /** What answers no more may have taken it. */
  timestampIs(): void {
    this.#mayBeThere = true;
  }

  /** The failure that ended the run, with what it means for readers, and what to do. */
  async explain(error: unknown): Promise<unknown> {
    if (!(error instanceof StorageError || (error instanceof PublishError && error.code === 'stopped'))) return error;
    if (await this.#hasOtherKeys())
      return reworded(error, `${error.message.replace(/; readers find.*/, '')}; ${NOTHING}`, thenAgain(error.hint));
    if (error.hint === undefined) return reworded(error, error.message, `readers find ${this.#found}; ${AGAIN}`);
    if (!this.#mayBeThere || error.code === 'stopped') return error; // the latter says it itself
    return reworded(error, `${error.message}; readers may find this publication already`, error.hint);
  }

  get #found(): string {
    return this.#mayBeThere ? 'this publication, or the one before' : 'the publication before';
  }

  async #hasOtherKeys(): Promise<boolean> {
    const roots = await rootsOf(this.#publication);
    const before = roots.find(({ version }) => fileOfRole('root', version + 1) === this.#first);
    return before !== undefined && keysOf(before) !== keysOf(this.#publication.state.root);
  }
}

/** What has to be mended first stays said: without that, the same happens again. Another place would not be where readers look. */
function thenAgain(hint: string | undefined): string {
  const said = hint?.replace(/, or name another (?:directory|target)/, '');
  if (said === undefined) return AGAIN;
  return said.includes('run the same command again') ? said : `${said}; then ${AGAIN}`;
}

function keysOf({ roles: { targets, snapshot, timestamp } }: RootMetadata): string {
  return JSON.stringify([targets, snapshot, timestamp].map(({ keyids }) => [...keyids].sort()));
}
