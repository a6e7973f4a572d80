/** Directories that answer when a test lets them: hosts that are slow, or hang, while others are well. */
import { afterEach, beforeEach } from 'vitest';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';

type Operation = 'get' | 'head' | 'put';

/** What has to come to its end before a directory does something. */
type Before = (operation: Operation, path: string) => Promise<unknown> | undefined;

/** The lists of documents are signed metadata of their own: whoever signs a publication anew reads them. */
export const readsList = (operation: Operation, path: string): boolean =>
  operation === 'get' && path.includes('documents');

/** By their names; in the tests of one file, each for itself. */
export class SlowPlaces {
  readonly #before = new Map<string, Before>();
  readonly #releases: (() => void)[] = [];

  constructor() {
    const { prototype } = DirectoryTarget;
    const { get, head, put } = prototype;
    const before = ({ name }: DirectoryTarget, operation: Operation, path: string) =>
      this.#before.get(name)?.(operation, path);
    beforeEach(() => {
      prototype.get = async function (this: DirectoryTarget, ...args) {
        await before(this, 'get', args[0]);
        return get.apply(this, args);
      };
      prototype.head = async function (this: DirectoryTarget, ...args) {
        await before(this, 'head', args[0]);
        return head.apply(this, args);
      };
      prototype.put = async function (this: DirectoryTarget, ...args) {
        await before(this, 'put', args[0]);
        return put.apply(this, args);
      };
    });
    afterEach(() => {
      Object.assign(prototype, { get, head, put });
      this.#before.clear();
      for (const release of this.#releases.splice(0)) release();
    });
  }

  /** Does this before anything that a directory is asked for; to get a file, it looks at its head as well. */
  before(place: string, work: Before): void {
    this.#before.set(place, work);
  }

  /** From now on it does all at once. */
  letGo(place: string): void {
    this.#before.delete(place);
  }

  /** A directory says nothing from now on, or nothing to `what`. @returns lets it go on, with all that it was asked for */
  hold(place: string, what: (operation: Operation, path: string) => boolean = () => true): () => void {
    const held = Promise.withResolvers<void>();
    this.#releases.push(held.resolve);
    this.before(place, (operation, path) => (what(operation, path) ? held.promise : undefined));
    return () => {
      this.letGo(place);
      held.resolve();
    };
  }

  /** As {@link hold}, from when it is asked for the first time, for so many milliseconds. */
  holdFor(place: string, milliseconds: number): void {
    let over: Promise<void> | undefined;
    this.before(place, () => {
      over ??= new Promise((resolve) => setTimeout(resolve, milliseconds));
      return over;
    });
  }
}
