/** The browser's own ML-KEM-768, or that of a further script. */
import { type CreateMlKemRecipient, nativeMlKem } from '../../core/primitives/ml-kem.ts';
import { loadScript } from '../load-script.ts';
import type { VaultData } from './page.ts';

/** @throws TypeError where the script cannot be loaded */
export async function mlKemFor({ mlKem }: VaultData): Promise<CreateMlKemRecipient> {
  const native = nativeMlKem();
  if (native) return native;
  await loadScript(mlKem);
  return (globalThis as unknown as { readonly wisprMlKem: CreateMlKemRecipient }).wisprMlKem;
}
