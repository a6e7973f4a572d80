/**
 * The sections of a run: which targets belong to each, and who signs for it here: docs/spec/publication.md, section 4. A section whose keys are
 * not here keeps what is published of it; its changes are pending until it can be signed.
 */
import { hash } from 'node:crypto';
import { ed25519KeyPair } from '#primitives';
import { type TufObject, tufCanonical } from '../../core/publication/canonical.ts';
import { type RoleSigner, roleSigner, tufKeyId } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { contentTargetOf, headTargetOf, metadataFile } from '../../core/publication/names.ts';
import type { SectionKeys } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { freshRing, type SectionKeyRing } from '../keys/key-store.ts';
import { shortId } from '../keys/roots.ts';
import { Sections, targetPatterns } from '../site/sections.ts';
import { someOf } from '../text.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { PublicationRoles } from './roles.ts';

export interface RunSection {
  readonly name: string;
  /** Number by which the index finds its targets: above those of all bins. */
  readonly number: number;
  readonly paths: readonly string[];
  readonly keys: SectionKeys;
  readonly keyids: readonly string[];
  /** Signers for its keys that are here. */
  readonly signers: readonly RoleSigner[];
  /** Tells whether too few of its keys are here to sign it. */
  readonly held: boolean;
}

/** Facts that the index has of a section, whose number is its own for ever. */
interface Remembered {
  readonly name: string;
  readonly number: number;
  readonly paths: readonly string[];
  /** Key ids that signed its last metadata. */
  readonly signedBy: readonly string[];
  /** The publisher key under which its documents were signed then. */
  readonly publisher?: string | undefined;
}

type Signed = Pick<Remembered, 'signedBy' | 'publisher'>;

/** Numbers below are the first 16 bits of the hash of a target path. */
const FIRST_NUMBER = 65_536;

export class RunSections {
  readonly list: readonly RunSection[];
  /** Key rings that the key store does not have yet. */
  readonly made: ReadonlyMap<string, SectionKeyRing>;
  readonly #rules: Sections;
  readonly #byName: ReadonlyMap<string, RunSection>;
  readonly #remembered: readonly Remembered[];

  private constructor(list: readonly RunSection[], made: Map<string, SectionKeyRing>, remembered: Remembered[]) {
    this.list = list;
    this.made = made;
    this.#rules = new Sections(list);
    this.#byName = new Map(list.map((section) => [section.name, section]));
    this.#remembered = remembered;
  }

  /**
   * @param rings - of the key store; without it, as if all keys were here
   * @param others - keys that are here apart from the key store
   */
  static async of(
    { sections }: Pick<Configuration, 'sections'>,
    index: PublisherIndex,
    rings?: ReadonlyMap<string, SectionKeyRing>,
    others: readonly RoleSigner[] = [],
  ): Promise<RunSections> {
    const remembered = JSON.parse(index.fact('sections') ?? '[]') as Remembered[];
    const made = new Map<string, SectionKeyRing>();
    let next = remembered.reduce((most, { number }) => Math.max(most, number), FIRST_NUMBER - 1) + 1;
    const list: RunSection[] = [];
    for (const { name, paths } of sections) {
      const number = remembered.find((known) => known.name === name)?.number ?? next++;
      const ring = rings?.get(name) ?? freshRing();
      if (rings && !rings.has(name)) made.set(name, ring);
      list.push(await openSection({ name, number, paths }, ring, others));
    }
    return new RunSections(list, made, remembered);
  }

  /** Returns the number by which the index finds a target: that of its section, or the first 16 bits of the hash of its path. */
  numberOf(targetPath: string): number {
    const section = this.#sectionOf(targetPath);
    return section?.number ?? hash('sha256', targetPath, 'buffer').readUInt16BE(0);
  }

  nameOf(path: string): string | undefined {
    return this.#sectionOf(headTargetOf(path))?.name;
  }

  /** Returns the section for which a document has to wait, because its keys are not here. */
  holderOf(path: string): string | undefined {
    if (this.list.length === 0) return undefined;
    const section = [headTargetOf(path), contentTargetOf(path)].map((target) => this.#sectionOf(target));
    return section.find((each) => each?.held)?.name;
  }

  /** Returns key ids of the sets that documents of held sections are in, as they are published. */
  setsHeldBack(index: PublisherIndex): Set<string> {
    return new Set(this.list.flatMap(({ held, number }) => (held ? index.setIdsIn(number) : [])));
  }

  /** Tells whether a document lies deeper below a section than any pattern reaches. */
  isTooDeep(path: string): boolean {
    return this.#rules.reachesNot(path);
  }

  /**
   * Updates the index to the current sections.
   *
   * @param metadata - names of the metadata files that are as they were signed
   * @param publisher - the current publisher key: readers refuse what another signed
   * @throws PublishError `signatures-missing`, if a section has to be signed whose keys are not here; the index is as it was then
   */
  reconcile(index: PublisherIndex, metadata: ReadonlySet<string>, publisher: string): void {
    index.transaction(() => {
      if (this.#isNew()) {
        index.renumber((path, isPublic) => ({
          headBin: this.numberOf(headTargetOf(path)),
          contentBin: isPublic ? this.numberOf(contentTargetOf(path)) : undefined,
        }));
        index.setFact(
          'sections',
          this.#encode((name) => this.#knownOf(name)),
        );
      }
      const isOfAnother = ({ name }: RunSection) =>
        (this.#knownOf(name).publisher ?? index.fact('publisher')) !== publisher;
      const late = this.list.filter((section) => {
        return section.held && (isOfAnother(section) || this.mustSign(section, index, metadata));
      });
      if (late.length > 0) throw keysMissing(late);
    });
  }

  /** Tells whether a section has to be signed anew, apart from its age, which readers check. */
  mustSign(section: RunSection, index: PublisherIndex, metadata: ReadonlySet<string>): boolean {
    const { name, number, keyids, keys } = section;
    const row = index.roles().get(name);
    const isThere = row !== undefined && row.expires > 0 && metadata.has(metadataFile(name, row.version));
    const signed = this.#knownOf(name).signedBy.filter((keyid) => keyids.includes(keyid)).length;
    return !isThere || signed < keys.threshold || index.changedBins().includes(number);
  }

  /** Returns the facts of the sections in `targets`, in one line. */
  facts(): string {
    return this.list.length === 0
      ? ''
      : JSON.stringify(this.list.map(({ name, paths, keyids, keys }) => [name, paths, keyids, keys.threshold]));
  }

  /** Returns the facts for the index to remember once a publication has these signatures. */
  factAfter(signed: ReadonlySet<string>, publisher: string): string {
    return this.#encode((name) => {
      if (!signed.has(name)) return this.#knownOf(name);
      return { signedBy: (this.#byName.get(name)?.signers ?? []).map(({ keyid }) => keyid), publisher };
    });
  }

  #sectionOf(targetPath: string): RunSection | undefined {
    const name = this.list.length === 0 ? undefined : this.#rules.find(targetPath);
    return name === undefined ? undefined : this.#byName.get(name);
  }

  #knownOf(name: string): Signed {
    const { signedBy, publisher } = this.#remembered.find((known) => known.name === name) ?? { signedBy: [] };
    return { signedBy, publisher };
  }

  /** Tells whether names, patterns or their order differ from before. */
  #isNew(): boolean {
    const bare = (list: readonly { name: string; paths: readonly string[] }[]) =>
      JSON.stringify(list.map(({ name, paths }) => [name, paths]));
    return bare(this.list) !== bare(this.#remembered.filter(({ paths }) => paths.length > 0));
  }

  /** Sections that are gone keep their numbers, and are signed anew if they come back. */
  #encode(signed: (name: string) => Signed): string {
    const here = this.list.map(({ name, number, paths }) => ({ name, number, paths, ...signed(name) }));
    const gone = this.#remembered.filter(({ name }) => !this.#byName.has(name));
    return JSON.stringify([...here, ...gone.map(({ name, number }) => ({ name, number, paths: [], signedBy: [] }))]);
  }
}

async function openSection(
  about: Pick<RunSection, 'name' | 'number' | 'paths'>,
  { publicKeys, threshold, seed }: SectionKeyRing,
  others: readonly RoleSigner[],
): Promise<RunSection> {
  const keyids = await Promise.all(publicKeys.map(tufKeyId));
  const here = [...(seed ? [await roleSigner(ed25519KeyPair(seed))] : []), ...others];
  const signers = here.filter(({ keyid }, index) => {
    return keyids.includes(keyid) && here.findIndex((other) => other.keyid === keyid) === index;
  });
  const { name } = about;
  const keys = { name, paths: targetPatterns(about), publicKeys, threshold };
  return { ...about, keys, keyids, signers, held: signers.length < threshold };
}

/** Refuses a key that signs nothing here. @throws PublishError `signatures-missing` */
export function checkUseful(
  others: readonly RoleSigner[],
  { targets }: PublicationRoles,
  { list }: Pick<RunSections, 'list'>,
): void {
  const useful = new Set([...targets.map(({ keyid }) => keyid), ...list.flatMap(({ keyids }) => keyids)]);
  const stranger = others.find(({ keyid }) => !useful.has(keyid));
  if (stranger === undefined) return;
  const message = `the key ${shortId(stranger.keyid)} may sign neither for targets nor for a section of this site`;
  throw new PublishError('signatures-missing', message, { typed: true });
}

/** Readers give up a list that is longer (P1). @throws PublishError `configuration-invalid` */
export function checkSectionFits({ name }: RunSection, content: TufObject): void {
  const { length } = tufCanonical(content);
  const most = PUBLICATION_LIMITS.targetsLength - 64 * 1024; // signatures take the rest
  if (length <= most) return;
  const message = `the list of the section ${name} would have ${length.toLocaleString('en')} bytes, and readers take ${most.toLocaleString('en')}`;
  throw new PublishError('configuration-invalid', message);
}

function keysMissing(sections: readonly RunSection[]): PublishError {
  const names = someOf(sections.map(({ name }) => name));
  const message = `${names} ${sections.length === 1 ? 'has' : 'have'} to be signed, and too few of the keys for it are here`;
  return new PublishError('signatures-missing', message);
}
