/** What is said after a change of roles. */
import { relative } from 'node:path';
import type { TopLevelRole } from '../../core/publication/metadata.ts';
import type { RootOutcome } from '../../publisher/keys/change-roots.ts';
import { describeMissing } from '../../publisher/keys/root-draft.ts';
import { describeChanges } from '../../publisher/keys/roots.ts';
import { readConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { print, say, sayHint } from '../io/voice.ts';

export function reportOutcome(outcome: RootOutcome): void {
  const { version, before, after, missing } = outcome;
  const file = outcome.file === undefined ? undefined : relative('.', outcome.file);
  const head = file === undefined ? `Root ${version} is signed:` : `Root ${version} is made, and lies in ${file}:`;
  print([head, ...describeChanges(before, after).map((line) => `  ${line}`)].join('\n'));
  if (file === undefined) sayWhenItCounts();
  else sayWhoSigns(file, describeMissing(missing));
}

function sayWhenItCounts(): void {
  say(
    'readers learn of it with the next "wispr publish", or "wispr protect" where you copy the output yourself, and follow by themselves',
  );
  sayHint('replace your backups of publisher.keys and root.keys');
}

function sayWhoSigns(file: string, missing: string): void {
  say(`it needs ${missing}; until then nothing changes`);
  sayHint(`each signer runs "wispr keys sign ${file} --key THEIR-KEY-FILE"; then run "wispr keys finish ${file}" here`);
}

/** What has to be done besides, by role. */
export async function sayAfterRotation(role: TopLevelRole, configurationFile: string): Promise<void> {
  if (role === 'root')
    sayHint('destroy the copies of the old root.keys that you keep elsewhere, once the new one is there');
  if (role !== 'timestamp') return;
  const { timestampBy, keyServerTokenFile } = await readConfiguration(configurationFile);
  sayHint(
    timestampBy === 'publisher'
      ? `after the next "wispr publish", export the new key for the machine that signs: "wispr keys export timestamp FILE"`
      : keyServerTokenFile !== undefined
        ? `the next "wispr publish" hands the new key to your key server, by "keyServerTokenFile"`
        : `the next keys.bundle carries the new key: let your key server import it within 48 hours of the next "wispr publish"`,
  );
}

export function outcomeAsJson({ outcome, rootId, version, after, file, missing }: RootOutcome): unknown {
  return { outcome, rootId, version, expires: after.expires, file, missing };
}
