/** Texts of a page's head, as far as everybody may see them: generators copy the text of the page there. */
import { firstSentence, shorten } from './shorten.ts';

/** The properties, of Open Graph and of structured data, that can be sentences. All others but addresses are names. */
const DESCRIPTION_OF = /^(?:description|(?:og|twitter):(?:description|image:alt))$/;
const ADDRESS = /:(?:url|image)$/;

/** Characters of a name that is shown as it is: it may have dots in it, and stand in the text. */
const NAME = 80;

/** Characters of a description; of a longer one, the first sentence is left. */
const DESCRIPTION = 200;

export class RepeatedText {
  readonly #title: string;
  readonly #body: string;

  /** @param body - text of the page, as far as it is compared */
  constructor(title: string, body: string) {
    this.#title = collapse(title);
    this.#body = withoutSpace(body);
  }

  /** Leaves of the page's own text at most a name, the title, or a sentence. @param name - of the property that has it */
  shown(given: string, name: string): string {
    const text = collapse(given);
    if (DESCRIPTION_OF.test(name)) return this.#opening(text);
    const isName = ADDRESS.test(name) || text.length <= NAME || this.#title.includes(text);
    return isName || (text.length <= DESCRIPTION && !this.#says(text)) ? text : shorten(text, NAME);
  }

  allShown(texts: ReadonlyMap<string, string>): Map<string, string> {
    return new Map(Array.from(texts, ([name, text]) => [name, this.shown(text, name)]));
  }

  /** Leaves the first sentence of a description that is long, or the page's own text. */
  #opening(description: string): string {
    const first = firstSentence(description);
    const isLong = description.length > DESCRIPTION;
    if (!isLong && (first === description || !this.#says(description))) return description;
    return shorten(first, DESCRIPTION);
  }

  /** Tells whether the body has this text, however it is spaced and divided; an ellipsis may end it. */
  #says(text: string): boolean {
    return this.#body.includes(withoutSpace(text.replace(/\s*(?:\[?(?:…|\.{3})\]?)$/, '')));
  }
}

export function collapse(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '');
}
