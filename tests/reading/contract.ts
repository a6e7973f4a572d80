/** Answers of every reader, the same for all: one suite over real HTTP. {@link DIFFERENCES} says where one differs, and why. */
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { documentCases } from './document-cases.ts';
import type { Holds, ReadingRig } from './rig.ts';
import { changeCases, failureCases, siteCases } from './site-cases.ts';

export type ReaderName = 'the forward proxy' | 'the gateway' | 'the in-browser reader' | 'the reading site';

/** Reasons for which a case does not hold for a reader, by its name. */
const DIFFERENCES: Readonly<Record<string, Partial<Record<ReaderName, string>>>> = {
  'passes a content coding to readers that accept it, and undoes it for others': {
    'the in-browser reader': 'a page cannot say which codings it accepts: the worker always undoes them',
  },
  'says only once that the publication is stale': {
    'the reading site': 'it remembers nothing of its visitors, and says it whenever somebody enters the site',
  },
  'attack 30: shows what is kept here of an expired publication after a word, and nothing else': {
    'the reading site': 'it keeps nothing of what was read',
  },
  'attack 23: follows no redirect of a host': {
    'the in-browser reader': 'the browser does not tell a redirect from a host out of reach, and neither can the code',
  },
};

/**
 * @param start - a reader of a site with the documents of `site.ts`
 * @param later - registers the cases with more than one publication, which cost some readers seconds
 */
export function describeReading(
  name: ReaderName,
  start: () => Promise<ReadingRig>,
  later: (register: () => void) => void = (register) => register(),
): void {
  const reader = {} as ReadingRig;
  const holds: Holds = (title, work) => {
    if (DIFFERENCES[title]?.[name] === undefined) it(title, work);
  };
  describe(`reading by ${name}`, () => {
    beforeAll(async () => void Object.assign(reader, await start()));
    afterEach(() => reader.site.repair());
    afterAll(() => reader.close?.());
    documentCases(holds, reader);
    siteCases(holds, reader);
    failureCases(holds, reader);
    later(() => changeCases(holds, reader));
  });
}
