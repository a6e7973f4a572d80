/** The browser's own ML-KEM-768 and SHA-3, or those of a further script. */
import { nativeXwingParts, type XwingParts } from '../../core/primitives/ml-kem.ts';
import { loadScript } from '../load-script.ts';
import type { VaultData } from './page.ts';

/** @throws TypeError where the script cannot be loaded */
export async function xwingPartsFor({ mlKem }: VaultData): Promise<XwingParts> {
  const native = nativeXwingParts();
  if (native) return native;
  await loadScript(mlKem);
  return (globalThis as unknown as { readonly wisprMlKem: XwingParts }).wisprMlKem;
}
