/** Encodings of pages. */
import { isUtf8 } from 'node:buffer';

/** Decodes a page: by its byte order mark, as UTF-8 where it is, else by what its first kilobyte says, else windows-1252. */
export function decodePage(bytes: Uint8Array): string {
  try {
    return new TextDecoder(encodingOf(bytes) ?? GUESSED).decode(bytes);
  } catch {
    return new TextDecoder(GUESSED).decode(bytes);
  }
}

/** Encoding that browsers take a page for that neither says nor shows its encoding. */
const GUESSED = 'windows-1252';

/** The encoding of a page, as far as its bytes say it. */
export function encodingOf(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (isUtf8(bytes)) return 'utf-8';
  const start = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  return /<meta[^>]+charset\s*=\s*["']?([A-Za-z0-9_:.-]+)/i.exec(start)?.[1];
}
