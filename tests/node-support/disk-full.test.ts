import { expect, it } from 'vitest';
import { isDiskFull } from '../../node-support/disk-full.ts';

it.each([
  [true, 'a file system', { code: 'ENOSPC', syscall: 'write' }],
  [true, 'a quota', { code: 'EDQUOT', syscall: 'write' }],
  [true, 'PostgreSQL', { code: '53100' }],
  [true, 'SQLite', { code: 'ERR_SQLITE_ERROR', errcode: 13 }],
  [false, 'the limit of watched files', { code: 'ENOSPC', syscall: 'watch' }],
  [false, 'a missing file', { code: 'ENOENT', syscall: 'open' }],
])('%s: a full disk is what the error of %s says, also as a cause', (isFull, _, fields) => {
  const error = Object.assign(new Error('as it was said'), fields);
  expect([isDiskFull(error), isDiskFull(new Error('in other words', { cause: error }))]).toEqual([isFull, isFull]);
});
