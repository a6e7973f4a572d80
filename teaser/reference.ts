/** References, and other parts of texts. */

export type Use =
  /** Followed by a click. */
  | 'link'
  /** Loaded with the page. */
  | 'load'
  /** Loaded by programs that show previews. */
  | 'preview'
  /** Followed by programs, which take it with the site's own host as well. */
  | 'related'
  /** Read by scripts, whatever they do with it. */
  | 'data';

export interface Reference {
  readonly url: string;
  readonly use: Use;
  readonly offset: number;
}

/** A part of a text, such as a script in a page. */
export interface Match {
  readonly text: string;
  readonly offset: number;
}
