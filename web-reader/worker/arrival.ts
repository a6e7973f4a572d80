/** Takes keys that arrive from the vault: docs/spec/web-reader.md, "The bounce", step 4. No page sees the message. */
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { openDocumentKeys } from '../../core/keys/document-keys.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { documentTarget } from '../../reading/local-target.ts';
import { restorePair } from '../pair.ts';
import { handleOf, type OriginStore, STATE } from '../store.ts';
import { scope } from './scope.ts';

/** Milliseconds for which keys that did not open are passed over: another window may have brought those that are wanted. */
const REFUSED_COUNTS_FOR = 60_000;

/**
 * Takes the form that the vault sends.
 *
 * @returns where its window goes on; of a frame, nothing is shown
 * @throws KeyError `hand-over-refused` where it did not open, and another a moment before did not either
 */
export async function takeArrival(store: OriginStore, request: Request): Promise<Response> {
  const { location } = scope;
  const members = new URLSearchParams(await request.text());
  try {
    if (!isFromVault(request)) throw refused('another page sent it');
    await acceptKeys(store, members, location.origin);
  } catch (error) {
    const since = Date.now() - Number((await store.state.get(STATE.refused)) ?? 0);
    if (!(error instanceof KeyError) || (since >= 0 && since < REFUSED_COUNTS_FOR)) throw error;
    await store.state.put(STATE.refused, Date.now());
  }
  if (request.destination === 'document')
    return new Response(null, {
      status: 303,
      headers: { location: documentTarget(members.get('to') ?? '', location.origin) },
    });
  return endFrame();
}

/** Answers the frame, in which nothing is shown: this worker answers from now on for the page that has it, too. */
export async function endFrame(): Promise<Response> {
  await scope.clients.claim();
  return new Response(null, { status: 204 });
}

/** Tells whether a page of the vault's origin sent a form. */
export function isFromVault({ referrer }: Request): boolean {
  return referrer === `${scope.wisprSite.reading}/`;
}

/** Opens the keys, and stores them. @throws KeyError `hand-over-refused`; no key was stored */
async function acceptKeys(store: OriginStore, members: URLSearchParams, contentOrigin: string): Promise<void> {
  // V1
  const bounce = await store.pending.consume(members.get('key') ?? '');
  if (!bounce) throw refused('no keys were asked for');
  const recipient = await restorePair(bounce.pair);
  const sealed = fromBase64url(members.get('sealed')) ?? new Uint8Array();
  const { keys, pair: newest, refused: denied } = await openDocumentKeys(recipient, contentOrigin, sealed);
  await store.keys.put(await Promise.all(keys.map(handleOf)));
  const { isSilent, sets } = bounce;
  const answer = { at: Date.now(), isAnswered: true, isSilent };
  for (const set of sets)
    await store.asked.put(set, { ...answer, reason: denied.find(({ id }) => id === set)?.reason });
  await store.state.put(STATE.nobody, keys.length + denied.length === 0 ? answer.at : 0);
  if (newest) await store.state.put(STATE.pair, newest);
}

function refused(why: string): KeyError {
  return new KeyError('hand-over-refused', why);
}
