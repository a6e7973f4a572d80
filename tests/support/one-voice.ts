import { expect } from 'vitest';
import type { Ended } from './programs.ts';
import { PASSPHRASE } from './workspace.ts';

/** Expects each line for people to have the prefix and no full stop, nothing to look like a crash, and the passphrase of tests to be nowhere. */
export function expectOneVoice({ stdout, stderr }: Ended): void {
  for (const line of stderr.trimEnd().split('\n').filter(Boolean)) {
    expect(line).toMatch(/^wispr: +\S/);
    expect(line).not.toMatch(/\.$|internal error|^\s+at /);
  }
  expect(stdout + stderr).not.toContain(PASSPHRASE);
}
