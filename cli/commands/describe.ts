/** Words of commands for grants, times, publications, and proofs of a site. */
import type { HostProof } from '../../client-proxy/index.ts';
import { dayOf } from '../../core/keys/set-time.ts';
import { isoTime } from '../../core/publication/metadata.ts';
import type { PublicationOverview } from '../../keyserver/operations/overview.ts';
import type { Right } from '../../keyserver/subscriptions/periods.ts';
import type { Grant } from '../../keyserver/subscriptions/subscribers.ts';
import type { HeldPlan } from '../../keyserver/subscriptions/subscriptions.ts';

/** A day in UTC, like 2026-11-20. */
export function isoDay(time: number): string {
  return new Date(time * 1000).toISOString().slice(0, 10);
}

export function describePublication(publication: PublicationOverview | null): string[] {
  if (!publication) return ['No publication yet: the publisher hands it over with "wispr publish"'];
  const { version, withdrawn, published, who, place, signed, expires, signsHere, expiries, pushes } = publication;
  const signer = signsHere ? 'signed again here' : 'signed again by the publisher';
  return [
    `Publication ${version}${withdrawn ? ', WITHDRAWN: no timestamp is signed until there is a higher version' : ''}`,
    `  published at ${isoTime(published)} by ${who}${place === '' ? '' : ` from ${place}`}`,
    `  timestamp of ${isoTime(signed)}, fresh until ${isoTime(expires)}, ${signer}`,
    ...expiries.map((role) => `  ${role.role} expires on ${isoDay(role.expires)}`),
    ...pushes.map(({ target, succeeded, failed }) => {
      const last = succeeded === null ? 'never' : isoTime(succeeded);
      const broken = failed !== null && failed >= (succeeded ?? 0) ? `, failed at ${isoTime(failed)}` : '';
      return `  pushed to ${target}: ${last}${broken}`;
    }),
  ];
}

export function describeRight({ plan, patterns, zone, from, until }: Right): string {
  if (plan === null) return describeGrant({ pattern: patterns.join(', '), from, until });
  return describeHeldPlan({ plan: plan.name, zone, from, until });
}

export function describeHeldPlan({ plan, zone, from, until }: Omit<HeldPlan, 'title'>): string {
  const day = (time: number) => dayOf(time, zone ?? 'UTC');
  return `plan ${plan} from ${day(from)}${until === null ? '' : ` to ${day(until)}`}`;
}

export function describeGrant({ pattern, until }: Grant): string {
  const sets = pattern === '*' ? 'all sets' : `sets ${pattern}`;
  return until === null ? sets : `${sets} until ${isoDay(until)}`;
}

/** Proofs that a site is its publisher's. */
export const PROOF: Readonly<Record<HostProof, string>> = {
  host: 'the site itself names this publisher',
  dns: 'DNS alone names this publisher',
  'trusted-by-hand': 'not proved: trusted by hand',
};
