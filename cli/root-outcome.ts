/** What is said after a change of roles. */
import { relative } from 'node:path';
import type { TopLevelRole } from '../core/publication/metadata.ts';
import { highestVersions } from '../core/publication/withdrawals.ts';
import { readConfiguration } from '../publisher/configuration/read.ts';
import type { RootOutcome } from '../publisher/keys/change-roots.ts';
import { describeChanges } from '../publisher/keys/root-changes.ts';
import { describeMissing } from '../publisher/keys/sign-root.ts';
import { readLastPublished } from '../publisher/last-published.ts';
import { publishAgainCommand } from '../publisher/publish/publish-command.ts';
import { workspaceOf } from '../publisher/workspace.ts';
import { print, say } from './io/voice.ts';

/** @param whenContinued - what to do where an earlier run had done everything but the last step */
export function tellOutcome(
  outcome: RootOutcome,
  whenContinued = 'if you want another change, run the command again',
): void {
  const { version, before, after, missing } = outcome;
  if (outcome.outcome === 'continued') {
    print(`Root ${version} was made by an earlier run, and is complete now.`);
    say(`hint: ${whenContinued}`);
    return;
  }
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
  say('hint: replace your backups of publisher.keys and root.keys');
}

function sayWhoSigns(file: string, missing: string): void {
  say(`it needs ${missing}; until then nothing changes`);
  say(
    `hint: each signer runs "wispr keys sign ${file} --key THEIR-KEY-FILE"; then run "wispr keys finish ${file}" here`,
  );
}

/** Versions that are named. */
const SHOWN = 10;

/** What has to be done besides, by role. */
export async function sayAfterRotation(role: TopLevelRole, configurationFile: string): Promise<void> {
  if (role === 'root')
    say('hint: destroy the copies of the old root.keys that you keep elsewhere, once the new one is there');
  if (role !== 'timestamp') return;
  await sayWhatEnds(configurationFile);
  const { timestampBy, keyServerTokenFile } = await readConfiguration(configurationFile);
  const publishing = await publishAgainCommand(configurationFile);
  say(
    timestampBy === 'publisher'
      ? `hint: after the next "${publishing}", export the new key for the machine that signs: "wispr keys export timestamp FILE"`
      : keyServerTokenFile !== undefined && publishing.startsWith('wispr publish')
        ? `hint: the next "${publishing}" hands the new key to your key server, by "keyServerTokenFile"`
        : `hint: the next keys.bundle carries the new key: let your key server import it within 48 hours of the next "${publishing}"`,
  );
}

/** It may have been a thief, or a colleague. */
async function sayWhatEnds(configurationFile: string): Promise<void> {
  const { elsewhere, withdrawn } = await readLastPublished(workspaceOf(configurationFile));
  const ending = highestVersions(
    elsewhere.flatMap(({ versions }) => versions).filter((version) => !withdrawn.includes(version)),
    SHOWN,
  );
  if (ending.length === 0) return;
  say(`withdrawn with the key of before, not from here, and not any more with the new one: ${ending.join(', ')}`);
  const publishing = await publishAgainCommand(configurationFile);
  say(`hint: if that was meant, say it again after the next "${publishing}": wispr withdraw VERSION`);
}

export function outcomeAsJson({ outcome, rootId, version, after, file, missing }: RootOutcome): unknown {
  return { outcome, rootId, version, expires: after.expires, file, missing };
}
