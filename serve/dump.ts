/** Bytes as people look at them. */

/** Bytes of each end of an object: what `xxd` shows on so many lines. */
const SHOWN = { begin: 96, end: 228 } as const;

export function describeObject(bytes: Buffer) {
  const start = Math.max(SHOWN.begin, bytes.length - SHOWN.end);
  return { length: bytes.length, begin: dump(bytes, 0, SHOWN.begin), end: dump(bytes, start, bytes.length) };
}

/** Lines of 12 bytes, as hexadecimal digits and as text. */
function dump(bytes: Buffer, start: number, end: number): string[] {
  const lines: string[] = [];
  for (let at = start; at < end; at += 12) {
    const line = bytes.subarray(at, Math.min(end, at + 12));
    const hex = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = Array.from(line, (byte) => (byte > 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join('');
    lines.push(`${hex.padEnd(36)} ${text}`);
  }
  return lines;
}
