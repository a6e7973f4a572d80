/** Floods, crowds and races at a key server, larger and longer than in `npm test`. */
import { describe } from 'vitest';

describe.each(['limits', 'reading-silence', 'two-servers'])('%s', async (name) => {
  await import(/* @vite-ignore */ `../../keyserver/${name}.test.ts`);
});
