/** Contents of a release, as CycloneDX: npm's own list, without what only development needs, and with every Node.js that is packed. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { lockedNode, type NodePlatform, TARGETS } from './pinned-node.ts';

const ROOT = join(import.meta.dirname, '..');

interface Bill {
  serialNumber: string;
  metadata: { timestamp: string; component: { 'bom-ref': string; name: string } };
  components: { 'bom-ref': string; properties?: unknown[] }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** Yields the same for the same packages, sums and time. @param sums - of the files of the release @param time - seconds */
export function billOfMaterials(sums: string, time: number): string {
  const command = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application'];
  const bill: Bill = JSON.parse(
    execFileSync('npm', command, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] }).toString(),
  );
  const { component } = bill.metadata;
  const root = component['bom-ref'];
  component.name = packageJson.name; // npm takes the name of the folder
  bill.metadata.timestamp = new Date(time * 1000).toISOString();
  bill.serialNumber = `urn:uuid:${uuidOf(sums)}`;
  const packed = packedFrom(root, bill.dependencies);
  const components = bill.components.filter((each) => packed.has(each['bom-ref']));
  for (const each of components) delete each.properties; // says nothing but which ones development needs, too
  bill.components = [...components, ...TARGETS.map(nodeComponent)];
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => packed.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => packed.has(each)) }));
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** Finds what is reached from the dependencies, the optional ones, and what is bundled for browsers. */
function packedFrom(root: string, dependencies: Bill['dependencies']): Set<string> {
  const below = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const direct = { ...packageJson.dependencies, ...packageJson.peerDependencies };
  const isPacked = (ref: string) => ref.startsWith('@noble/') || Object.hasOwn(direct, ref.replace(/@[^@]*$/, ''));
  const packed = new Set([root, ...(below.get(root) ?? []).filter(isPacked)]);
  for (const ref of packed) if (ref !== root) for (const each of below.get(ref) ?? []) packed.add(each);
  return packed;
}

function nodeComponent(target: NodePlatform) {
  const { name, version, integrity } = lockedNode(target);
  const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
  const ref = `${name}@${version}`;
  return {
    'bom-ref': ref,
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${ref}`,
    hashes: [{ alg: 'SHA-512', content }],
  };
}

/** Makes a UUID of version 8, which says that its bits mean what its maker wants. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
