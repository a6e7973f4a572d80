/** Things that a whole run has once: Vitest's own process makes it when the first test asks for it. */
import { createServer } from 'node:http';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { listenOnLoopback } from './content-host.ts';

/** Addresses at which each is asked for. */
interface Offers {
  chromium: string;
  postgres: string;
  webReader: string;
}

declare module 'vitest' {
  interface ProvidedContext extends Offers {}
}

/**
 * Offers a thing, as a global set-up of Vitest.
 *
 * @param make - is called once, or not at all
 * @param answer - what each who asks is told
 * @param end - is called after all tests, if it was made
 * @returns the end of it
 */
export async function offer<Thing>(
  { provide }: TestProject,
  name: keyof Offers,
  make: () => Promise<Thing>,
  answer: (thing: Thing) => string | Promise<string>,
  end: (thing: Thing) => unknown = () => undefined,
): Promise<() => Promise<void>> {
  let made: Promise<Thing> | undefined;
  const server = createServer(async (_, response) => {
    made ??= make();
    await made.then(answer).then(
      (text) => response.end(text),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  provide(name, `http://127.0.0.1:${await listenOnLoopback(server)}`);
  return async () => {
    server.close();
    const thing = await made?.catch(() => undefined);
    if (thing !== undefined) await end(thing);
  };
}

/** Asks for it, in a test. @throws Error where it cannot be made */
export async function askFor(name: keyof Offers): Promise<string> {
  const answer = await fetch(inject(name));
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}
