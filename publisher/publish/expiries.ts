/** When each role of a publication has to be signed again; of the bins, the first. */

import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { delegatedRoles } from '../publication/roles.ts';

export async function expiriesOf(publication: OpenedPublication): Promise<RoleExpiry[]> {
  const { root, targets, snapshot } = publication.state;
  const named: RoleExpiry[] = [];
  let bins = Number.POSITIVE_INFINITY;
  for await (const { name, role } of delegatedRoles(publication)) {
    if (role === undefined) continue;
    if (name.startsWith(`${DOCUMENTS_ROLE}-`)) bins = Math.min(bins, role.expires);
    else named.push({ role: name, expires: role.expires });
  }
  return [
    { role: 'root', expires: root.expires },
    { role: 'targets', expires: targets.expires },
    ...named,
    ...(Number.isFinite(bins) ? [{ role: 'bins', expires: bins }] : []),
    { role: 'snapshot', expires: snapshot.expires },
  ];
}
