import { expect } from 'vitest';
import type { Ended } from './programs.ts';
import { PASSPHRASE } from './workspace.ts';

/** Every line for people has the prefix and no full stop; nothing looks like a crash, and the passphrase of tests is nowhere. */
export function expectOneVoice({ stdout, stderr }: Ended): void {
  for (const line of stderr.trimEnd().split('\n').filter(Boolean)) {
    expect(line).toMatch(/^wispr: +\S/);
    expect(line).not.toMatch(/\.$|internal error|^\s+at /);
  }
  expect(stdout + stderr).not.toContain(PASSPHRASE);
}

/** That a command fails so: nothing on standard output, and these words on standard error. */
export async function expectError(result: Promise<Ended>, code: number, ...parts: string[]): Promise<void> {
  const ended = await result;
  expect([ended.code, ended.stdout]).toEqual([code, '']);
  for (const part of parts) expect(ended.stderr).toContain(part);
  expectOneVoice(ended);
}
