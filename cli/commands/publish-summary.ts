/** Summaries of `wispr publish`, `timestamp`, `withdraw` and `rollback`, for people. */
import { size } from '../../node-support/size.ts';
import type { Confirmation } from '../../publisher/publish/confirm.ts';
import type { Delivery } from '../../publisher/publish/deliver.ts';
import type { PublishedTarget, PublishSummary } from '../../publisher/publish/publish.ts';
import type { PublishTargets } from '../../publisher/publish/targets.ts';
import { count } from '../../publisher/text.ts';
import { setExitCode } from '../io/context.ts';
import { EXIT, hintLine, say, sayHint } from '../io/voice.ts';
import { describeFreshness, describeSignatures, warnAboutSignatures } from './expiry-words.ts';

/** The summary that is printed. @param hasKeyServer - whether the site has one */
export function describePublishing(summary: PublishSummary, hasKeyServer: boolean): string {
  const { publication, targets, milliseconds, freshUntil, expires, keyServer } = summary;
  const where = targets.map(({ target }) => target).join(', ');
  return [
    `Published: publication ${publication}${where === '' ? '' : ` at ${where}`} (${(milliseconds / 1000).toFixed(1)} s)`,
    ...targets.map((target) => describeTarget(target, targets.length > 1)),
    ...(keyServer === 'confirms' ? ['  the key server confirms it'] : []),
    `  ${describeFreshness(freshUntil, hasKeyServer)}`,
    `  ${describeSignatures(expires)}`,
  ].join('\n');
}

function describeTarget(
  { target, files, bytes, unchanged, repaired, removed, waiting }: PublishedTarget,
  named: boolean,
): string {
  const parts = [
    `sent ${count(files, 'file')}, ${size(bytes)}`,
    ...(repaired > 0 ? [`${count(repaired, 'file')} of them had been changed or removed there`] : []),
    ...(unchanged > 0 ? [`${count(unchanged, 'file')} compared, and there already`] : []),
    ...(removed > 0 ? [`${count(removed, 'old file')} removed`] : []),
    ...(waiting > 0 ? [`${count(waiting, 'file')} of earlier publications kept for a while`] : []),
  ];
  return `  ${named ? `${target}: ` : ''}${parts.join('; ')}`;
}

/** Warns of what the publisher has to know even with `--quiet`. Sets the exit code where something is left to do. */
export function warnAfterPublishing(summary: PublishSummary, now = Date.now() / 1000): void {
  warnAboutRest(summary, 'the same command');
  for (const line of warnAboutSignatures(summary.expires, 'wispr publish', now)) say(line);
}

/**
 * Names what is not done yet: targets left behind, a key server that did not answer.
 *
 * @param again - what finishes it
 */
export function warnAboutRest(
  { behind, keyServer, publication }: Pick<Delivery, 'behind' | 'keyServer' | 'publication'>,
  again: string,
): void {
  for (const { target, message, code } of behind)
    say(`left behind: ${message.includes(target) ? '' : `${target}: `}${message} [${code}]`);
  if (keyServer === 'does not answer')
    say(`the key server did not answer: it does not know of publication ${publication} yet`);
  if (behind.length === 0 && keyServer !== 'does not answer') return;
  sayHint(`run ${again} again when it is reachable: it finishes what is left`);
  setExitCode(EXIT.failed);
}

/** Names targets of earlier runs, which readers may still find: then not all is done. @param again - what reaches them once they are named */
export function warnAboutAbsent({ absent }: Pick<Delivery, 'absent'>, again: string): void {
  if (absent.length === 0) return;
  say(`not reached, because wispr.json does not name them any more: ${absent.join(', ')}`);
  sayHint(`if readers still find one of them, name it under "publish" in wispr.json, and run ${again} again`);
  setExitCode(EXIT.failed);
}

export function hintsAfterPublishing({ keyServer }: PublishSummary, places: PublishTargets): string[] {
  const { isUnlisted, targets, configuration } = places;
  const isAlone = keyServer === undefined && configuration.timestampBy === 'keyserver';
  return [
    ...(isUnlisted ? [`${targets[0]?.name} is not in wispr.json: nothing keeps it current from now on`] : []),
    ...(isAlone
      ? [
          'the key server was not told (no token): its readers see this publication when it next reads a target',
          hintLine('make a token there ("wispr admin token"), and name its file in "keyServerTokenFile" of wispr.json'),
        ]
      : []),
  ];
}

export function describePlaces(
  { targets, keyServer }: Pick<Confirmation, 'targets' | 'keyServer'>,
  out: string,
): string {
  const places = [...(targets.length > 0 ? targets : [out]), ...(keyServer === 'confirms' ? ['the key server'] : [])];
  return places.join(', ');
}
