/**
 * Keys on the disk before anything is encrypted under them: new set keys go into the key store first, then into the bundle for the key server.
 * If the bundle cannot be written, the next run writes it.
 */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { randomBytes } from '#primitives';
import { KEY_LENGTH } from '../../core/crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { PLACEHOLDER_FORMS, PLACEHOLDERS } from '../../core/publication/set-titles.ts';
import { PublishError } from '../errors.ts';
import { replaceFile } from '../keys/file-update.ts';
import { type HandedOver, makeBundle, makeDescriptor } from '../keys/hand-over.ts';
import type { NamedSet } from '../keys/key-store.ts';
import { makeEnvelopes, namePeriods, periodKeysFor } from '../keys/periods.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { Inspected } from './phases.ts';
import { nameSets, type RunKeys } from './run-keys.ts';

export interface SecuredKeys {
  readonly descriptor: Uint8Array;
  readonly made: ReadonlySet<string>;
  readonly bundleIsNew: boolean;
}

/**
 * Makes the keys that are missing, and hands them over.
 *
 * @param needed - names of the sets that documents are in
 * @param settings - of the site, as they are signed
 * @param isAsked - whether new keys were asked for, perhaps because the key server has a bundle that is unknown here
 * @throws PublishError `output-failed`
 */
export async function secureKeys(
  { location, index, keys, sections, recipient, rekey, isBehind }: Inspected,
  needed: Iterable<string>,
  settings: Uint8Array,
  isAsked: boolean,
): Promise<SecuredKeys> {
  const { workspace, configuration, now } = location;
  const known = keys.contents.sets;
  // Sets whose keys may have been replaced may get documents again.
  const wanted = [...needed, ...(isBehind ? known.keys() : [])];
  const made = new Set(wanted.filter((name) => rekey.has(name) || !known.has(name)));
  const fresh = Array.from(made, (name): [string, Uint8Array] => [name, randomBytes(KEY_LENGTH)]);
  const sets = new Map([...keys.contents.sets, ...fresh]);
  const replaced = [...made].filter((name) => keys.contents.sets.has(name));
  const periods = periodKeysFor(configuration, keys.contents.periods, replaced, now);
  const descriptor = currentDescriptor(configuration, index, keys, now);
  const kept = await keysToKeep(keys, made, sections.setsHeldBack(index));
  const about = {
    ...{ descriptor, sets: [...(await nameSets(sets)), ...kept] },
    ...{ periods: await namePeriods(periods), settings },
  };
  const timestamp = configuration.timestampBy === 'keyserver' ? keys.store.signers.timestamp.keyid : '';
  const handedOver = recipient && digestOfHandOver(about, recipient, timestamp);
  const isOther = isBehind || index.fact('bundle') !== handedOver || !existsSync(workspace.bundle);
  const bundleIsNew = handedOver !== undefined && isOther;
  const hasOther = kept.length !== keys.contents.kept.length || !isDeepStrictEqual(periods, keys.contents.periods);
  if (made.size + sections.made.size > 0 || bundleIsNew || hasOther) {
    const rings = new Map([...keys.contents.sections, ...sections.made]);
    // An older key store does not know which serials were used: the time is above all of them (docs/spec/keys.md, section 9).
    const next = keys.contents.serial + (bundleIsNew ? 1 : 0);
    const serial = isBehind || (isAsked && bundleIsNew) ? Math.max(next, now) : next;
    const contents = { ...keys.contents, kept, periods, sections: rings, sets, serial };
    await keys.change(contents);
    if (bundleIsNew && recipient !== undefined) {
      const bytes = await makeBundle(about, configuration, contents, keys.store.publisher, recipient, now);
      await replaceFile(workspace.bundle, bytes);
    }
  }
  index.transaction(() => {
    index.setFact('descriptor', toBase64url(descriptor));
    if (handedOver) index.setFact('bundle', handedOver);
    for (const { id, name } of keys.sets()) index.setKeySince(id, keys.contents.setsSince.get(name) ?? now);
  });
  return { descriptor, made, bundleIsNew };
}

/** Makes the envelopes to publish. Those that hold the same keys as before keep their bytes. */
export async function currentEnvelopes(
  index: PublisherIndex,
  keys: RunKeys,
  now: number,
): Promise<[target: string, bytes: Uint8Array][]> {
  const { periods, setsSince } = keys.contents;
  const since = ({ name }: NamedSet) => setsSince.get(name) ?? now;
  const newestFirst = keys.sets().sort((a, b) => since(b) - since(a) || (a.name < b.name ? 1 : -1));
  const known = JSON.parse(index.fact('envelopes') ?? '{}');
  const { targets, made } = await makeEnvelopes(await namePeriods(periods), newestFirst, known);
  index.setFact('envelopes', JSON.stringify(made));
  return targets;
}

/** Returns previous keys that readers still need: of documents that cannot be signed again here, and stay encrypted under them. */
async function keysToKeep(
  { contents: { kept, sets } }: RunKeys,
  made: ReadonlySet<string>,
  heldBack: ReadonlySet<string>,
): Promise<NamedSet[]> {
  const before = [
    ...kept.map(({ name, key }) => [name, key] as const),
    ...[...sets].filter(([name]) => made.has(name)),
  ];
  return (await nameSets(before)).filter(({ id }) => heldBack.has(id));
}

/** A descriptor that is good for less than this is made anew. */
const DESCRIPTOR_RENEWAL = 90 * 86_400;

/** Returns the descriptor of earlier runs, as long as it says the same, so that nothing has to be signed for it. */
function currentDescriptor(
  configuration: Configuration,
  index: PublisherIndex,
  keys: RunKeys,
  now: number,
): Uint8Array {
  const fresh = makeDescriptor(configuration, keys.store, now);
  const known = fromBase64url(index.fact('descriptor'));
  const [old, current] = [known && parse(known), parse(fresh)];
  const same = old && JSON.stringify({ ...old, ...TIMES }) === JSON.stringify({ ...current, ...TIMES });
  const isGood = known && same && Number(old.expires) > now + DESCRIPTOR_RENEWAL && Number(old.issued) <= now;
  return isGood ? known : fresh;
}

const TIMES = { expires: 0, issued: 0, signature: '' };

function parse(descriptor: Uint8Array): Record<string, unknown> | undefined {
  return JSON.parse(fromUtf8(descriptor) ?? 'null') ?? undefined;
}

/** Digests the facts that make a bundle: names and ids of keys, and all that is public. */
function digestOfHandOver(about: HandedOver, recipient: Uint8Array, timestamp: string): string {
  const ids = about.sets.map(({ name, id }) => [name, id]);
  const periods = about.periods.map(({ id }) => id);
  const parts = [ids, ...[about.descriptor, recipient, about.settings].map(toBase64url), timestamp, periods];
  return hash('sha256', JSON.stringify(parts));
}

/**
 * Finds the sets that get a new key: those that were named, and those whose keys are older than the configuration lets them become.
 *
 * @param since - when each set got its key, by name
 */
export function setsDueForRekey(
  { sets: rules }: Configuration,
  since: ReadonlyMap<string, number>,
  now: number,
  named: readonly string[] = [],
): Set<string> {
  const ruleOf = ruleFinder(rules);
  const due = [...since].filter(([name, made]) => {
    const days = ruleOf(name)?.rekeyDays;
    return days !== undefined && now - made >= days * 86_400;
  });
  return new Set([...named, ...due.map(([name]) => name)]);
}

/** Picks the sets that get a new key once somebody has lost access to them. */
export function setsToRekeyOnRevoke({ sets: rules }: Pick<Configuration, 'sets'>, names: readonly string[]): string[] {
  const ruleOf = ruleFinder(rules);
  return names.filter((name) => ruleOf(name)?.rekeyOnRevoke);
}

/** Finds the rule that sets of a name come from. */
function ruleFinder(rules: Configuration['sets']): (name: string) => Configuration['sets'][number] | undefined {
  const compiled = rules.map((rule) => ({ rule, pattern: namePattern(rule.name) }));
  return (name) => compiled.find(({ pattern }) => pattern.test(name))?.rule;
}

function namePattern(name: string): RegExp {
  const parts = name.split(/(\{(?:yyyy|mm|dd)\})/).map((part) => {
    const placeholder = PLACEHOLDERS.find((each) => part === `{${each}}`);
    return placeholder ? PLACEHOLDER_FORMS[placeholder] : part.replace(/[^\p{L}\p{N} _]/gu, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}

/** @throws PublishError `argument-invalid` */
export function checkRekey(rekey: Iterable<string>, sets: { has(name: string): boolean }): void {
  for (const name of rekey) {
    if (sets.has(name)) continue;
    throw new PublishError('argument-invalid', `no document is in the set ${JSON.stringify(name)}`, { typed: true });
  }
}
