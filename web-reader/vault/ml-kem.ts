/** The browser's own ML-KEM-768, or that of a further script. */
import { type CreateMlKemRecipient, nativeMlKem } from '../../core/primitives/ml-kem.ts';
import type { VaultPage } from './page.ts';

/** @throws Error where the script cannot be loaded */
export async function mlKemFor({ mlKem: { src, integrity } }: VaultPage): Promise<CreateMlKemRecipient> {
  const native = nativeMlKem();
  if (native) return native;
  const script = document.createElement('script');
  await new Promise((resolve, reject) => {
    Object.assign(script, { src, integrity, onload: resolve, onerror: reject });
    document.head.append(script);
  });
  return (globalThis as unknown as { readonly wisprMlKem: CreateMlKemRecipient }).wisprMlKem;
}
