/** The list of `npm run test:release -- mutations` follows the code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/programs.ts';
import { MUTATIONS } from './checks.ts';

it.each(MUTATIONS)('$file has "$find" once', ({ file, find, replace }) => {
  expect(readFileSync(join(ROOT, file), 'utf8').split(find)).toHaveLength(2);
  expect(replace).not.toBe(find);
});
