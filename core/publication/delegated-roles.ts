/** The search for a target through the delegations: TUF specification section 5.6.7. */
import { binFor, delegates, pathHashOf } from './bins.ts';
import { checkBin } from './delegations.ts';
import { PublicationError } from './errors.ts';
import type { RoleKeys, TufKey } from './keys.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import {
  type MetaFile,
  type RootMetadata,
  type SuccinctDelegation,
  sameFile,
  type TargetInfo,
  type TargetsMetadata,
} from './metadata.ts';
import { fetchNamed, type MetadataSource, type MetadataStore } from './sources.ts';
import { readStored, type TrustedState } from './trusted-state.ts';
import { checkExpiry, type RoleChecks, verifyTargets } from './verify-roles.ts';

const FOUND_KEPT = 1000;

export interface Step {
  readonly name: string;
  readonly roleKeys: RoleKeys;
  readonly keys: ReadonlyMap<string, TufKey>;
  readonly terminating: boolean;
  /** The bins of which it is one. */
  readonly bins?: SuccinctDelegation;
}

/**
 * A role that was verified, or is about to be. Its delegation is part of it: a file that one role's keys have signed does not count as signed by
 * another role's keys, or by the same role's later keys.
 */
interface RoleEntry {
  readonly file: MetaFile;
  readonly roleKeys: RoleKeys;
  readonly keys: ReadonlyMap<string, TufKey>;
  readonly role: Promise<TargetsMetadata>;
  /** Bytes of the file, or the most that it can have. */
  readonly length: number;
}

type Options = RoleChecks & { readonly source: MetadataSource; readonly store: MetadataStore };

export class DelegatedRoles {
  readonly #options: Options;
  /** Roles by name, the least recently used first. */
  readonly #stored = new Map<string, RoleEntry>();
  #bytes = 0;
  /** Targets found in the state that is in use, until a role that they depend on expires: pages are asked for again and again. */
  readonly #found = new Map<string, { readonly target: TargetInfo; readonly until: number }>();
  #foundIn: TrustedState | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Searches depth first, in the order of the delegations; asks a role once. */
  async find(path: string, state: TrustedState, now: number): Promise<TargetInfo | undefined> {
    const direct = state.targets.target(path);
    if (direct) return direct;
    if (this.#foundIn !== state || this.#found.size >= FOUND_KEPT) this.#found.clear();
    this.#foundIn = state;
    const known = this.#found.get(path);
    if (known && now < known.until) return known.target;
    const until = { expires: Number.POSITIVE_INFINITY };
    const target = await this.#search(path, state, now, until);
    if (target && this.#foundIn === state) this.#found.set(path, { target, until: until.expires });
    return target;
  }

  /** @param until - gets to know when the first of the roles expires that were asked */
  async #search(
    path: string,
    state: TrustedState,
    now: number,
    until: { expires: number },
  ): Promise<TargetInfo | undefined> {
    const pathHash = await pathHashOf(path);
    const asked = new Set(['targets']);
    let steps = stepsFrom(state.targets, path, pathHash);
    for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
      if (asked.has(step.name)) continue; // 5.6.7.1
      if (asked.size > PUBLICATION_LIMITS.delegations) return undefined;
      asked.add(step.name);
      const role = await this.role(step, state);
      checkExpiry(step.name, role, now); // 5.6.5
      until.expires = Math.min(until.expires, role.expires);
      const found = role.target(path);
      if (found) return step.bins ? { ...found, inBin: true } : found;
      const below = stepsFrom(role, path, pathHash);
      steps = step.terminating ? below : [...below, ...steps]; // 5.6.7.2.1
    }
    return undefined;
  }

  /** The metadata of a role, as its delegator wants them. @throws PublicationError */
  role(step: Step, { root, snapshot }: TrustedState): Promise<TargetsMetadata> {
    const { name, roleKeys, keys } = step;
    const file = snapshot.roles.get(name);
    if (file === undefined) throw new PublicationError('metadata-missing', `the snapshot does not name ${name}`);
    const known = this.#stored.get(name);
    if (known && known.roleKeys === roleKeys && known.keys === keys && sameFile(known.file, file)) {
      this.#stored.delete(name);
      this.#stored.set(name, known);
      return known.role;
    }
    const { length = PUBLICATION_LIMITS.targetsLength } = file;
    const made = { file, roleKeys, keys, length, role: this.#load(step, file, root) };
    this.#store(name, made);
    made.role.catch(() => this.#stored.get(name) === made && this.#drop(name));
    return made.role;
  }

  async #load({ name, roleKeys, keys, bins }: Step, file: MetaFile, root: RootMetadata): Promise<TargetsMetadata> {
    const { source, store, strict } = this.#options;
    const verify = async (bytes: Uint8Array) => {
      const role = await verifyTargets(bytes, name, { roleKeys, keys }, file, this.#options);
      if (strict && bins) await checkBin(name, role, bins);
      return role;
    };
    const own = await readStored(store, name, verify);
    if (own) return own.role;
    const bytes = await fetchNamed(source, root, name, file, PUBLICATION_LIMITS.targetsLength);
    const role = await verify(bytes);
    await store.write(name, bytes);
    return role;
  }

  #store(name: string, kept: RoleEntry): void {
    this.#drop(name);
    this.#stored.set(name, kept);
    this.#bytes += kept.length;
    while (this.#bytes > PUBLICATION_LIMITS.rolesKept) this.#drop(this.#stored.keys().next().value as string);
  }

  #drop(name: string): void {
    this.#bytes -= this.#stored.get(name)?.length ?? 0;
    this.#stored.delete(name);
  }
}

function stepsFrom({ bins, delegations, keys }: TargetsMetadata, path: string, pathHash: Uint8Array): Step[] {
  if (bins) return [{ name: binFor(pathHash, bins), roleKeys: bins, keys, terminating: true, bins }];
  return delegations
    .filter((delegation) => delegates(delegation, path, pathHash))
    .map((delegation) => ({ name: delegation.name, roleKeys: delegation, keys, terminating: delegation.terminating }));
}
