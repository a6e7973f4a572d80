/** The stream that changes links. Imported on demand: without the gateway, its parsers are never loaded. */
import { Transform, type TransformCallback } from 'node:stream';
import { CssScanner } from './css-scanner.ts';
import { HtmlScanner } from './html-scanner.ts';
import { keepsStyles } from './links.ts';
import type { Rewriting } from './rewriting.ts';

/**
 * The stream that changes the links. Bytes are read as characters of one byte each: whatever they mean, they come out as they went in.
 *
 * @param policy - the document's signed content security policy
 */
export function createRewriter({ kind, charset, links }: Rewriting, policy = ''): Transform {
  const decode = (bytes: string) => new TextDecoder(charset).decode(Buffer.from(bytes, 'latin1'));
  const scanner = kind === 'css' ? new CssScanner(links, decode) : new HtmlScanner(links, decode, keepsStyles(policy));
  return new RewritingStream(scanner);
}

/** Bytes that are looked at together. They begin and end at fixed places of the document, so that it does not matter in which pieces that comes. */
const PIECE = 16_384;

class RewritingStream extends Transform {
  readonly #scanner: CssScanner | HtmlScanner;
  #held: Buffer = Buffer.alloc(0);

  constructor(scanner: CssScanner | HtmlScanner) {
    super();
    this.#scanner = scanner;
  }

  override _transform(bytes: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const all = Buffer.concat([this.#held, bytes]);
    const whole = all.length - (all.length % PIECE);
    for (let start = 0; start < whole; start += PIECE) this.#write(all.subarray(start, start + PIECE));
    this.#held = all.subarray(whole);
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#write(this.#held);
    this.push(Buffer.from(this.#scanner.end(), 'latin1'));
    done();
  }

  #write(piece: Buffer): void {
    this.push(Buffer.from(this.#scanner.write(piece.toString('latin1')), 'latin1'));
  }
}
