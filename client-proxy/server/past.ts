/** Content that is kept here of a publication that cannot be shown any more: docs/spec/publication.md section 6, "After the grace period". */
import type { IncomingMessage } from 'node:http';
import { PublicationError } from '../../core/publication/errors.ts';
import type { PastPublication } from '../../core/publication/site-publication.ts';
import { senderOf } from '../../reading/navigation.ts';
import type { PublicationKeeper } from '../../reading/publication-keeper.ts';

export interface Past extends PastPublication {
  readonly reason: unknown;
}

/** The publication as it was, where it permits that what is kept is still shown. @throws `reason`, where it does not */
export async function pastOf({ publication }: PublicationKeeper, now: number, reason: unknown): Promise<Past> {
  const past = isOver(reason) ? await publication.asOf(now) : undefined;
  if (past === undefined) throw reason;
  return { ...past, reason };
}

function isOver(reason: unknown): boolean {
  return reason instanceof PublicationError && ['publication-expired', 'metadata-expired'].includes(reason.code);
}

/** Tells whether a page of the same site leads there, or loads it: the notice in front of it, above all. */
export function isFromHere({ headers }: IncomingMessage): boolean {
  const { referer = '', host } = headers;
  const sender = senderOf(headers);
  if (sender !== undefined) return sender === 'here';
  return URL.canParse(referer) && new URL(referer).host === host; // browsers say no more over plain http
}
