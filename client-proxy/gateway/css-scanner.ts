/** Absolute links in CSS: `url()`, `src()`, `@import`, `image-set()`. An undecided rest waits for more, up to a bound. */
import { type CSSToken, TokenType, tokenizer } from '@csstools/css-tokenizer';
import { applyEdits, type Edit, type GatewayLinks } from './links.ts';
import { editOfSpelling, readCssEscapes, withoutLineEnds } from './spelling.ts';

/** Longest token; content after a longer one is passed on unchanged. */
export const LONGEST_TOKEN = 1_048_576;

/** Characters that the tokenizer looks ahead: a token that ends before these last ones is decided. */
const LOOK_AHEAD = 4;

const LINKING = new Set(['url', 'src', 'image-set', '-webkit-image-set', 'image', '-webkit-cross-fade', 'cross-fade']);

/** Functions within functions that are kept apart. */
const DEEPEST = 1_000;

export type DecodeBytes = (bytes: string) => string;

/** Finds the edits of one style sheet; text goes in piece by piece, one character for each byte, and comes out changed. */
export class CssScanner {
  readonly #links: GatewayLinks;
  readonly #decode: DecodeBytes;
  readonly #context = new LinkContext();
  #pending = '';
  /** Length before which nothing is looked at: an endless token would else be read again with every piece. */
  #enough = 0;
  #isAborted = false;

  constructor(links: GatewayLinks, decode: DecodeBytes) {
    this.#links = links;
    this.#decode = decode;
  }

  write(text: string): string {
    if (this.#isAborted) return text;
    this.#pending += text;
    return this.#pending.length < this.#enough ? '' : this.#scan(this.#pending.length - LOOK_AHEAD);
  }

  end(): string {
    return this.#isAborted ? '' : this.#scan(this.#pending.length);
  }

  /** @param decided - up to where tokens are sure to end as they seem to */
  #scan(decided: number): string {
    const text = this.#pending;
    const edits: Edit[] = [];
    let done = 0;
    for (const token of tokensOf(text)) {
      const [, , start, last] = token;
      if (last >= decided) break;
      if (last - start >= LONGEST_TOKEN) return this.#abort(edits);
      const edit = this.#context.editAt(token, text, this.#links, this.#decode);
      if (edit) edits.push(edit);
      done = last + 1;
    }
    if (text.length - done > LONGEST_TOKEN + LOOK_AHEAD) return this.#abort(edits);
    this.#pending = text.slice(done);
    this.#enough = 2 * this.#pending.length;
    return applyEdits(text.slice(0, done), edits);
  }

  #abort(edits: readonly Edit[]): string {
    this.#isAborted = true;
    const changed = applyEdits(this.#pending, edits);
    this.#pending = '';
    return changed;
  }
}

/** The edits of a whole style at once, as it stands in an attribute. */
export function editsOfStyle(text: string, links: GatewayLinks, decode: DecodeBytes): Edit[] {
  const context = new LinkContext();
  return Array.from(tokensOf(text)).flatMap((token) => context.editAt(token, text, links, decode) ?? []);
}

/** Bytes above ASCII are parts of names in every charset that is rewritten; alone, some would be read as punctuation. */
function* tokensOf(text: string): Generator<CSSToken> {
  const tokens = tokenizer({ css: text.replace(/[\x80-\xff]/g, '\u0100') });
  while (!tokens.endOfFile()) {
    const token = nextOf(tokens);
    if (token[0] !== TokenType.EOF) yield token;
  }
}

/** The tokenizer makes an Error of every mistake: with stacks, a megabyte of them takes six times as long. */
function nextOf(tokens: ReturnType<typeof tokenizer>): CSSToken {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return tokens.nextToken();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Length of the closing mark of a token; 0 where the style sheet ends first. */
function closing(written: string, mark: string): number {
  return written.length > 1 && written.endsWith(mark) ? 1 : 0;
}

/** Finds the end of the inside of an unquoted `url()`. Goes backwards: an expression for it would take the square of its length. */
function endOfUrl(written: string): number {
  let end = written.length - closing(written, ')');
  if (end < written.length) while (end > 0 && ' \t\r\n\f'.includes(written[end - 1] ?? '?')) end--;
  return end;
}

/** Context that decides whether a string is a link: the function or the at-rule that it stands in. */
class LinkContext {
  /** Functions and parentheses that are open; beyond a bound they are only counted. */
  readonly #open: string[] = [];
  #uncounted = 0;
  /** The at-rule whose prelude this is, and whether nothing but space has come of it. */
  #rule = '';
  #first = false;

  editAt(token: CSSToken, text: string, links: GatewayLinks, decode: DecodeBytes): Edit | undefined {
    const { start, end } = this.#consume(token) ?? { start: 0, end: 0 };
    if (start === end) return undefined;
    const meant = withoutLineEnds(readCssEscapes(text.slice(start, end)));
    const edit = links.edit(meant.text, decode);
    return edit && editOfSpelling(meant, edit, start);
  }

  #consume(token: CSSToken): { start: number; end: number } | undefined {
    const [type, written, start, last] = token;
    switch (type) {
      case TokenType.Whitespace:
      case TokenType.Comment:
        return undefined;
      case TokenType.AtKeyword:
        this.#rule = token[4].value.toLowerCase();
        this.#first = true;
        return undefined;
      case TokenType.String:
        return this.#isLink() ? { start: start + 1, end: last + 1 - closing(written, written[0] ?? '') } : undefined;
      case TokenType.URL: {
        const inside = /^[^(]*\([ \t\r\n\f]*/.exec(written)?.[0].length ?? 0;
        this.#first = false;
        const end = start + endOfUrl(written);
        return this.#rule === 'namespace' ? undefined : { start: start + inside, end: Math.max(start + inside, end) };
      }
    }
    this.#first = false;
    this.#nest(token);
    return undefined;
  }

  #isLink(): boolean {
    const isImport = this.#first && this.#rule === 'import';
    this.#first = false;
    return isImport || (this.#rule !== 'namespace' && LINKING.has(this.#open.at(-1) ?? ''));
  }

  #nest(token: CSSToken): void {
    switch (token[0]) {
      case TokenType.Function:
        this.#push(token[4].value.toLowerCase());
        break;
      case TokenType.OpenParen:
        this.#push('');
        break;
      case TokenType.CloseParen:
        if (this.#uncounted > 0) this.#uncounted -= 1;
        else this.#open.pop();
        break;
      case TokenType.Semicolon:
      case TokenType.OpenCurly:
      case TokenType.CloseCurly:
        this.#rule = '';
    }
  }

  #push(name: string): void {
    if (this.#open.length < DEEPEST) this.#open.push(name);
    else this.#uncounted += 1;
  }
}
