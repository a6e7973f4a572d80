/** The search for a target through the delegations: TUF specification section 5.6.7. */
import { binFor, delegates, pathHashOf } from './bins.ts';
import type { ClientOptions, TrustedState } from './client.ts';
import { PublicationError } from './errors.ts';
import type { RoleKeys, TufKey } from './keys.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import type { MetaFile, TargetInfo, TargetsMetadata } from './metadata.ts';
import { metadataFile } from './names.ts';
import { checkExpiry, tooLarge, verifyTargets } from './verify-roles.ts';

/** A role that is to be asked. */
interface Step {
  readonly name: string;
  readonly roleKeys: RoleKeys;
  readonly keys: ReadonlyMap<string, TufKey>;
  readonly terminating: boolean;
}

interface Kept {
  readonly file: MetaFile;
  readonly role: TargetsMetadata;
  readonly length: number;
}

type Options = Pick<ClientOptions, 'source' | 'store' | 'strict' | 'verify'>;

export class DelegatedRoles {
  readonly #options: Options;
  /** The least recently used first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  readonly #loading = new Map<string, Promise<TargetsMetadata>>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** After a change of keys. */
  forget(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }

  /** Depth first, in the order of the delegations; a role is asked once. */
  async find(path: string, state: TrustedState, now: number): Promise<TargetInfo | undefined> {
    const direct = state.targets.target(path);
    if (direct) return direct;
    const pathHash = await pathHashOf(path);
    const asked = new Set(['targets']);
    let steps = stepsFrom(state.targets, path, pathHash);
    for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
      if (asked.has(step.name)) continue; // 5.6.7.1
      if (asked.size > PUBLICATION_LIMITS.delegations) return undefined;
      asked.add(step.name);
      const role = await this.#role(step, state);
      checkExpiry(step.name, role, now); // 5.6.5
      const found = role.target(path);
      if (found) return found;
      const below = stepsFrom(role, path, pathHash);
      steps = step.terminating ? below : [...below, ...steps]; // 5.6.7.2.1
    }
    return undefined;
  }

  async #role(step: Step, state: TrustedState): Promise<TargetsMetadata> {
    const expected = state.snapshot.roles.get(step.name);
    if (expected === undefined)
      throw new PublicationError('metadata-missing', `the snapshot does not name ${step.name}`);
    const kept = this.#kept.get(step.name);
    if (kept && kept.file.version === expected.version && kept.file.sha256 === expected.sha256) {
      this.#kept.delete(step.name);
      this.#kept.set(step.name, kept);
      return kept.role;
    }
    const name = `${expected.version} ${step.name}`;
    const loading =
      this.#loading.get(name) ?? this.#load(step, expected, state).finally(() => this.#loading.delete(name));
    this.#loading.set(name, loading);
    return loading;
  }

  async #load(step: Step, expected: MetaFile, { root }: TrustedState): Promise<TargetsMetadata> {
    const { source, store } = this.#options;
    const own = await store.read(step.name);
    const ownRole = own && (await this.#verify(own, step, expected).catch(ignoreRefusal));
    if (own && ownRole) return this.#keep(step.name, expected, ownRole, own.length);
    const file = root.consistentSnapshot ? metadataFile(step.name, expected.version) : `${step.name}.json`;
    const maximum = expected.length ?? PUBLICATION_LIMITS.targetsLength;
    const bytes = await source.metadata(file, maximum);
    if (bytes === undefined) throw new PublicationError('metadata-missing', `the content hosts have no ${file}`);
    if (bytes.length > maximum) throw tooLarge(file, maximum);
    const role = await this.#verify(bytes, step, expected);
    await store.write(step.name, bytes);
    return this.#keep(step.name, expected, role, bytes.length);
  }

  #verify(bytes: Uint8Array, { name, roleKeys, keys }: Step, expected: MetaFile): Promise<TargetsMetadata> {
    return verifyTargets(bytes, name, { roleKeys, keys }, expected, this.#options);
  }

  #keep(name: string, file: MetaFile, role: TargetsMetadata, length: number): TargetsMetadata {
    this.#drop(name);
    this.#kept.set(name, { file, role, length });
    this.#bytes += length;
    while (this.#bytes > PUBLICATION_LIMITS.rolesKept) this.#drop(this.#kept.keys().next().value as string);
    return role;
  }

  #drop(name: string): void {
    this.#bytes -= this.#kept.get(name)?.length ?? 0;
    this.#kept.delete(name);
  }
}

/** The delegations of a role that are for this path. */
function stepsFrom({ bins, delegations, keys }: TargetsMetadata, path: string, pathHash: Uint8Array): Step[] {
  if (bins) return [{ name: binFor(pathHash, bins), roleKeys: bins, keys, terminating: true }];
  return delegations
    .filter((delegation) => delegates(delegation, path, pathHash))
    .map((delegation) => ({ name: delegation.name, roleKeys: delegation, keys, terminating: delegation.terminating }));
}

function ignoreRefusal(error: unknown): undefined {
  if (error instanceof PublicationError) return undefined;
  throw error;
}
