import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  createFile,
  isTemporaryName,
  removeTemporaryFiles,
  replaceFile,
  temporaryBeside,
  writeFileAtomicSync,
} from '../../node-support/files/write-file.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let directory: string;
let file: string;

beforeEach(() => {
  directory = temporaryFolder();
  file = join(directory, 'file');
});

describe('writeFileAtomicSync', () => {
  it('creates and replaces, with the permissions asked for', () => {
    writeFileAtomicSync(file, 'one');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileAtomicSync(file, 'two', { mode: 0o644, durable: false });
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(readFileSync(file, 'utf8')).toBe('two');
    expect(readdirSync(directory)).toEqual(['file']);
  });

  it('throws the error of the system and leaves nothing behind', () => {
    const missing = join(directory, 'missing', 'file');
    expect(() => writeFileAtomicSync(directory, 'one')).toThrow(expect.objectContaining({ syscall: 'rename' }));
    expect(() => writeFileAtomicSync(missing, 'one')).toThrow(expect.objectContaining({ code: 'ENOENT' }));
    expect(readdirSync(directory)).toEqual([]);
  });
});

it('replaceFile keeps the previous file if the writing fails', async () => {
  writeFileSync(file, 'one');
  const writing = replaceFile(file, async (temporary) => {
    writeFileSync(temporary, 'half');
    throw new Error('stopped');
  });
  await expect(writing).rejects.toThrow('stopped');
  expect(readFileSync(file, 'utf8')).toBe('one');
  expect(readdirSync(directory)).toEqual(['file']);
});

it('createFile never overwrites', () => {
  expect(createFile(file, 'one')).toBe(true);
  expect(createFile(file, 'two')).toBe(false);
  expect(readFileSync(file, 'utf8')).toBe('one');
  expect(readdirSync(directory)).toEqual(['file']);
});

it('temporary files are known by their names, and removed', () => {
  const temporary = temporaryBeside(file);
  expect(isTemporaryName(temporary.slice(directory.length + 1))).toBe(true);
  writeFileSync(temporary, 'half');
  writeFileSync(file, 'whole');
  removeTemporaryFiles(directory);
  expect(readdirSync(directory)).toEqual(['file']);
});

it('sets the modes of what another user reads, whatever the umask', () => {
  const program = join(import.meta.dirname, '../support/under-umask.ts');
  const umasks = ['000', '022', '077'];
  const lines = execFileSync(process.execPath, [program, ...umasks], { encoding: 'utf8' })
    .trim()
    .split('\n');
  const shared = lines.filter((line) => / (?:conf|protected|srv|keyserver|wispr\.)/.test(line));
  for (const last of ['timestamp.json', 'film.bin.protected', 'index.html', 'nginx.conf', 'keyserver.pub'])
    expect(new Set(shared.filter((line) => line.endsWith(last)).map((line) => line.slice(0, 3)))).toEqual(
      new Set(umasks),
    );
  // Groups add to a directory only where the umask says so.
  expect(shared.filter((line) => !/^... (?:d755|-644) |^000 d775 /.test(line))).toEqual([]);
  expect(lines.filter((line) => /\.(?:keys|db)$/.test(line) && !line.includes(' -600 '))).toEqual([]);
});
