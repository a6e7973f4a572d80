/** Kounavis et al., "Encrypting the Internet" (SIGCOMM 2010): numbers of its abstract and section 2 beside the same here. Its measurements (section 7) were not at hand. */
import { type Table, table } from '../results.ts';
import type { Primitives } from './primitives.ts';
import { ECDSA, RSA, type Serving, TRANSACTION } from './tls.ts';

/** @param gigahertz - cycles in a nanosecond */
export function besidePaper({ bytes, signatures }: Primitives, served: readonly Serving[], gigahertz: number): Table {
  const gcm = bytes.get('AES-128-GCM')?.all ?? Number.NaN;
  const byte = (name: string, may: 'all' | 'without AES' = 'without AES') => bytes.get(name)?.[may] ?? Number.NaN;
  const apart = (may: 'all' | 'without AES') => byte('AES-128-CBC', may) + byte('HMAC-SHA1', may);
  const sign = (name: string) => signatures.get(name)?.sign ?? Number.NaN;
  const cycles = (nanoseconds: number) => (nanoseconds * gigahertz) / 1e6;
  const withTls = (name: string) => served.find((serving) => serving.name === name);
  const [ecdsa, rsa] = [withTls(ECDSA), withTls(RSA)];
  return table(
    ['of the paper', 'here'],
    [
      ['AES instructions, CBC', 12, byte('AES-128-CBC') / byte('AES-128-CBC', 'all')],
      ['AES instructions, GCM', 12, byte('AES-128-GCM') / gcm],
      ['GCM, beside CBC and HMAC-SHA1', null, apart('all') / gcm],
      ['beside both in one pass', null, byte('AES-128-CBC with HMAC-SHA1', 'all') / gcm],
      ['beside both without instructions', 6, apart('without AES') / gcm],
      ['AES without instructions, Mcycles', '2.3–4.8', cycles(byte('AES-128-CBC') * TRANSACTION)],
      ['RSA-1024, Mcycles', '0.9–1.4', cycles(sign('RSA-1024'))],
      ['these and HMAC-SHA1, Mcycles', 7.3, cycles(apart('without AES') * TRANSACTION + sign('RSA-1024'))],
      ['RSA-2048, Mcycles', null, cycles(sign('RSA-2048'))],
      ['ECDSA P-256, Mcycles', null, cycles(sign('ECDSA P-256'))],
      ['Ed25519, Mcycles', null, cycles(sign('Ed25519'))],
      ['transactions/s, RSA-2048', 1200, 1e9 / (rsa?.transaction ?? Number.NaN)],
      ['transactions/s, ECDSA', null, 1e9 / (ecdsa?.transaction ?? Number.NaN)],
      ['cores, 10 Gbit/s', 8, ecdsa?.cores],
    ],
  );
}
