/** When each role of a publication has to be signed again; of the bins, the first. */
import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { delegatedRoles, type NamedRoles } from './roles.ts';
import type { SnapshotPublication } from './snapshot.ts';

/** A role as it stands in a publication. */
export interface RoleState extends RoleExpiry {
  readonly version: number;
}

/** Seconds before the end of a role's validity from which on people are warned. */
export const EXPIRY_WARNING = 30 * 86_400;

export async function expiriesOf({
  state,
  place,
}: NamedRoles & Pick<SnapshotPublication, 'state'>): Promise<RoleState[]> {
  const { root, targets, snapshot } = state;
  const named: RoleState[] = [];
  let bins: RoleState | undefined;
  for await (const { name, role } of delegatedRoles({ state, place })) {
    if (role === undefined) continue;
    const { version, expires } = role;
    if (!name.startsWith(`${DOCUMENTS_ROLE}-`)) named.push({ role: name, version, expires });
    else if (bins === undefined || expires < bins.expires) bins = { role: 'bins', version, expires };
  }
  return [
    { role: 'root', version: root.version, expires: root.expires },
    { role: 'targets', version: targets.version, expires: targets.expires },
    ...named,
    ...(bins ? [bins] : []),
    { role: 'snapshot', version: snapshot.version, expires: snapshot.expires },
  ];
}
