/** Makes what tests need in a hook, and closes it in another. The hooks are those of the place of the call: the file, or a `describe`. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

interface Closable {
  close(): unknown;
}

/** Makes a thing before all tests, and closes it after them. @returns the thing, which is there once hooks run */
export function forFile<Thing extends Closable>(make: () => Thing | Promise<Thing>): Thing {
  return between(beforeAll, afterAll, make);
}

/** Makes a thing before each test, and closes it after it. @returns the thing of the test that runs */
export function forEachTest<Thing extends Closable>(make: () => Thing | Promise<Thing>): Thing {
  return between(beforeEach, afterEach, make);
}

function between<Thing extends Closable>(
  before: (hook: () => Promise<void>) => void,
  after: (hook: () => unknown) => void,
  make: () => Thing | Promise<Thing>,
): Thing {
  let thing: Thing | undefined;
  before(async () => {
    thing = await make();
  });
  after(async () => {
    await thing?.close();
    thing = undefined;
  });
  return new Proxy({} as Thing, {
    get(_, name) {
      const value = Reflect.get(thing ?? {}, name);
      return typeof value === 'function' ? value.bind(thing) : value;
    },
    set: (_, name, value) => Reflect.set(thing ?? {}, name, value),
  });
}
