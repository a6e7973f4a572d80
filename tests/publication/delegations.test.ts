/** P11 of docs/spec/publication.md, demand by demand: a list that is good but for one thing. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { TufObject } from '../../core/publication/canonical.ts';
import { checkDelegations, type Delegator, sameMembers } from '../../core/publication/delegations.ts';
import { encodeTufKey } from '../../core/publication/keys.ts';
import { parseTargets } from '../../core/publication/metadata.ts';
import { verifyFirstRoot } from '../../core/publication/verify-roles.ts';
import {
  binMetadata,
  documentsMetadata,
  rootMetadata,
  signMetadata,
  targetsMetadata,
} from '../../core/publication/writer.ts';
import { STRICT } from '../../keyserver/publication/stored.ts';
import { keyRing, type RoleKeyRing } from '../support/test-publication.ts';
import { DAY, NOW } from './reading.ts';

/** Delegations as they stand in metadata, to be changed. */
interface Delegations {
  readonly keys: Record<string, TufObject>;
  readonly roles: { name: string; keyids: string[]; threshold: number }[];
  readonly succinct_roles: { name_prefix: string; bit_length: number; keyids: string[]; threshold: number };
}
type List = TufObject & { delegations: Delegations; targets: TufObject };
type Change = (list: List) => void;

const ABOUT = { version: 1, expires: NOW + DAY };
const TARGET = { hashes: { sha256: 'ab'.repeat(32) }, length: 1 };

const own = await keyRing(2, 2);
const stranger = await keyRing();
let by: Delegator;
const made: Record<string, () => Promise<TufObject>> = {
  targets: async () => {
    const sections = [{ name: 'sports', paths: ['sports/*'], ...publicKeys(stranger) }];
    return targetsMetadata(ABOUT, [], publicKeys(own), sections);
  },
  documents: () => documentsMetadata(ABOUT, 4, publicKeys(own)),
  'documents-0': async () => binMetadata(ABOUT, [['a', TARGET]]),
  sports: async () => binMetadata(ABOUT, [['sports/a', TARGET]]),
};

const publicKeys = ({ signers, threshold }: RoleKeyRing) => ({
  publicKeys: signers.map(({ publicKey }) => publicKey),
  threshold,
});

beforeAll(async () => {
  const keys = own.signers.map(({ keyid, publicKey }) => [keyid, parseKey(encodeTufKey(publicKey))] as const);
  by = { roleKeys: { keyids: own.signers.map(({ keyid }) => keyid), threshold: 2 }, keys: new Map(keys) };
});

function parseKey({ keytype, scheme, keyval }: TufObject) {
  return { keytype: String(keytype), scheme: String(scheme), public: String((keyval as TufObject).public) };
}

async function check(role: string, change: Change): Promise<void> {
  const list = structuredClone(await made[role]?.()) as List;
  change(list);
  checkDelegations(role, parseTargets(list, role), by);
}

const documentsOf = ({ delegations }: List) => delegations.roles.at(-1) as Delegations['roles'][number];
const firstOf = ({ delegations }: List) => delegations.roles[0] as Delegations['roles'][number];
const ids = () => by.roleKeys.keyids as string[];
const otherKey = () => encodeTufKey(stranger.signers[0]?.publicKey ?? new Uint8Array(32));
const bins = () => ({ keyids: ids(), threshold: 2, bit_length: 4, name_prefix: 'documents' });
const section = (name: string) => ({ name, keyids: ids(), threshold: 2, paths: ['a/*'], terminating: true });

const changes =
  (to: object): Change =>
  ({ delegations }) =>
    Object.assign(delegations, to);
const binsAre =
  (to: object): Change =>
  ({ delegations }) =>
    Object.assign(delegations.succinct_roles, to);
const keyIs =
  (id: () => string): Change =>
  ({ delegations }) =>
    Object.assign(delegations.keys, { [id()]: otherKey() });
const moreSections =
  (count: number): Change =>
  ({ delegations }) => {
    for (let number = 1; number <= count; number++) delegations.roles.unshift(section(`s${number}`));
  };
/** Adds delegations to a list that has none. */
const delegating =
  (what: () => object): Change =>
  (list) =>
    Object.assign(list, { delegations: { keys: {}, ...what() } });
const binsOf = () => ({ succinct_roles: bins() });
const sectionOf = () => ({ roles: [section('x')] });

const REFUSED: readonly (readonly [role: string, what: string, change: Change])[] = [
  ['targets', 'bins', (list) => changes({ roles: undefined, ...binsOf() })(list)],
  ['targets', 'no documents', ({ delegations }) => delegations.roles.pop()],
  ['targets', 'no delegations', (list) => Object.assign(list, { delegations: undefined })],
  ['targets', 'documents with a lower threshold', (list) => Object.assign(documentsOf(list), { threshold: 1 })],
  ['targets', 'documents with fewer keys', (list) => documentsOf(list).keyids.pop()],
  ['targets', 'documents with another key', (list) => documentsOf(list).keyids.splice(0, 1, 'cd'.repeat(32))],
  ['targets', 'documents with another value of a key', keyIs(() => ids()[0] ?? '')],
  ['targets', 'a section of a name that is none', (list) => Object.assign(firstOf(list), { name: 'A' })],
  ['targets', '17 sections', moreSections(16)],
  ['targets', 'a key of an id that is none', keyIs(() => 'ab,cd')],
  ['targets', 'a section with a key id that is none', (list) => firstOf(list).keyids.push('AB'.repeat(32))],
  ['documents', 'no bins', changes({ succinct_roles: undefined })],
  ['documents', 'bins of another name', binsAre({ name_prefix: 'sports' })],
  ['documents', 'too many bins', binsAre({ bit_length: 17 })],
  ['documents', 'bins with a lower threshold', binsAre({ threshold: 1 })],
  ['documents', 'bins with a key twice, and so fewer', ({ delegations }) => delegations.succinct_roles.keyids.pop()],
  ['documents', 'bins with one key more', ({ delegations }) => delegations.succinct_roles.keyids.push('cd'.repeat(32))],
  ['documents', 'bins with another value of a key', keyIs(() => ids()[1] ?? '')],
  ['documents', 'bins with a key id that is none', ({ delegations }) => delegations.succinct_roles.keyids.push('x')],
  ['documents', 'a target', (list) => Object.assign(list.targets, { a: TARGET })],
  ['documents', 'a section', (list) => changes({ succinct_roles: undefined, ...sectionOf() })(list)],
  ['documents', 'bins and a section', (list) => changes(sectionOf())(list)],
  ['documents-0', 'bins', delegating(binsOf)],
  ['documents-0', 'a section', delegating(sectionOf)],
  ['sports', 'bins', delegating(binsOf)],
  ['sports', 'a section', delegating(sectionOf)],
];

describe('attack 36: what a list delegates', () => {
  it.each(Object.keys(made))('is taken as it is: %s', (role) => check(role, () => undefined));

  it('is taken with 16 sections', () => check('targets', moreSections(15)));

  it.each(REFUSED)('%s is refused with %s', async (role, _what, change) => {
    await expect(check(role, change)).rejects.toMatchObject({ code: 'metadata-malformed' });
  });

  it('a root whose keys have ids that are none is refused', async () => {
    const roles = {
      root: publicKeys(own),
      targets: publicKeys(own),
      snapshot: publicKeys(own),
      timestamp: publicKeys(own),
    };
    const root = await rootMetadata(ABOUT, roles);
    expect((await verifyFirstRoot(signMetadata(root, own.signers), STRICT)).version).toBe(1);
    const key = { 'ab,cd': otherKey() };
    const more = { ...root, keys: { ...(root.keys as TufObject), ...key } };
    await expect(verifyFirstRoot(signMetadata(more, own.signers), STRICT)).rejects.toThrow(
      expect.objectContaining({ code: 'metadata-malformed' }),
    );
    const timestamp = { keyids: ['ab,cd'], threshold: 1 };
    const other = { ...root, roles: { ...(root.roles as TufObject), timestamp } };
    await expect(verifyFirstRoot(signMetadata(other, own.signers), STRICT)).rejects.toThrow(
      expect.objectContaining({ code: 'metadata-malformed' }),
    );
  });
});

it('two lists have the same members in any order, and not because they read the same', () => {
  expect(sameMembers(['b', 'a'], ['a', 'b'])).toBe(true);
  expect(sameMembers([], [])).toBe(true);
  for (const other of [['a'], ['a', 'a'], ['a', 'b', 'b'], ['a,b'], ['a', 'c'], []])
    expect(sameMembers(['a', 'b'], other)).toBe(false);
  expect(sameMembers(['a,b', 'c,d'], ['a', 'b', 'c', 'd'])).toBe(false);
});
