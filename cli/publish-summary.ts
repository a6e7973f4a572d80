/** What `wispr publish` did, for people. */
import { size } from '../node-support/size.ts';
import type { Configuration } from '../publisher/configuration/schema.ts';
import type { PublishSummary } from '../publisher/publish/publish.ts';
import { currentPlace, type LastPublished } from '../publisher/published-places.ts';
import { count } from '../publisher/text.ts';
import { describeFreshness, describeSignatures, warnAboutSignatures } from './expiry-words.ts';
import { warnAboutWithdrawal } from './protection-summary.ts';
import type { PublicationPlaces } from './publication-places.ts';

/** The summary that is printed. */
export function describePublishing(summary: PublishSummary): string {
  const { target, publication, sent, unchanged, removed, waiting, milliseconds, freshUntil, expires } = summary;
  const rest = unchanged > 0 ? `; ${count(unchanged, 'file')} there already` : '';
  const tidied = removed > 0 ? [`  ${count(removed, 'old file')} removed`] : [];
  const told = summary.keyServerTold ? ['  the key server was told'] : [];
  const kept = waiting > 0 ? [`  ${count(waiting, 'file')} of earlier publications kept for readers on their way`] : [];
  return [
    `Published: ${target} has publication ${publication}${summary.withdrawn ? ', WITHDRAWN' : ''} (${(milliseconds / 1000).toFixed(1)} s)`,
    `  sent ${count(sent.files, 'file')}, ${size(sent.bytes)}${rest}`,
    ...tidied,
    ...kept,
    ...told,
    `  ${describeFreshness(freshUntil)}`,
    `  ${describeSignatures(expires)}`,
  ].join('\n');
}

/** What the publisher has to know even if nothing else is said. */
export function warningsAfterPublishing(summary: PublishSummary, now = Date.now() / 1000): string[] {
  const { withdrawn, publication, expires, keyServerFailure } = summary;
  return [
    ...(keyServerFailure === undefined ? [] : warnAboutKeyServer(summary, keyServerFailure)),
    ...(withdrawn ? warnAboutWithdrawal(publication, 'publish') : []),
    ...warnAboutSignatures(expires, 'wispr publish', now),
  ];
}

/** Its keys are with it, so the site could be published; what it confirms meanwhile may be this very publication. */
function warnAboutKeyServer({ withdrawn, publication }: PublishSummary, failure: string): string[] {
  const goesOn = withdrawn
    ? `and may confirm publication ${publication}, though it is withdrawn`
    : 'and knows nothing newer';
  return [
    `published, but ${failure}`,
    `hint: run "wispr publish" again when it answers: until then it goes on with what it was told last, ${goesOn}`,
  ];
}

/** What comes later goes to where it was published last, whatever "publish" of wispr.json says: a slip has consequences. */
export function describeMove(
  last: LastPublished,
  {
    configuration,
    configured,
    target,
    out,
  }: Pick<PublicationPlaces, 'configuration' | 'configured' | 'target' | 'out'>,
): string[] {
  const before = currentPlace(last)?.target ?? null;
  const now = target === undefined ? `no target, because ${out} counts as served itself` : target.name;
  const goesTo = `from now on, "wispr timestamp" takes what it signs to ${now}`;
  if (configured !== undefined)
    return [
      `${goesTo}, and not to ${configured}, which wispr.json names`,
      `hint: if that was a slip, publish to ${configured}; docs/publishing.md says how to keep two targets`,
    ];
  if (configuration.publish !== undefined || before === null || before === target?.name) return [];
  return [
    `${goesTo}; until now it took that to ${before}`,
    `hint: if that was a slip, publish to ${before} again; "publish" in wispr.json says it once for all`,
  ];
}

/** What the publisher may want to do something about. */
export function hintsAfterPublishing(
  { keyServerTold, keyServerFailure }: PublishSummary,
  { timestampBy }: Pick<Configuration, 'timestampBy'>,
): string[] {
  if (keyServerTold || keyServerFailure !== undefined || timestampBy === 'publisher') return [];
  return [
    'the key server was not told: it goes on confirming the publication before, if it confirms any',
    'hint: make a token there ("wispr admin token"), and name its file in "keyServerTokenFile" of wispr.json',
  ];
}
