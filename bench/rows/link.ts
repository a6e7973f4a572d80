/** Bytes of a TLS handshake on a narrow link. */
import { measureHandshakes } from '../handshakes.ts';
import { compare, type Row } from '../measure.ts';

const KINDS = { rsa: 'RSA-2048', ecdsa: 'ECDSA P-256' } as const;

/** What a later visit costs beside the first one and TLS 1.3, in each direction. */
export async function linkRows(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of ['rsa', 'ecdsa'] as const) {
    const { first, substituted, tls13, tls13Resumed, tls13Compressed } = await measureHandshakes(kind);
    const all = [substituted, first, tls13, tls13Compressed, tls13Resumed];
    const names = ['', 'TLS 1.2', 'TLS 1.3', 'TLS 1.3, RFC 8879 (computed)', 'TLS 1.3, resumed'];
    for (const direction of ['down', 'up'] as const) {
      const about = { row: `link-bytes ${KINDS[kind]} ${direction}`, unit: 'bytes', runs: 1, bound: 'key exchange' };
      rows.push(
        ...compare(
          about,
          names,
          all.map((counted) => counted[direction]),
        ),
      );
    }
  }
  return rows;
}
