/** Names of document sets. They are shown to people, typed on command lines, and decide entitlement at the key server. */

/** The word that says that a document is signed and not encrypted; no set can be called so. */
export const PUBLIC = 'public';

/** What a set name looks like, for error messages. */
export const SET_NAME_FORM =
  'must be 1 to 64 letters, digits, dots, hyphens, underscores and inner spaces, beginning with a letter or digit, and not "public"';

const SET_NAME = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N} ._-]*[\p{L}\p{M}\p{N}._-])?$/u;

/** Whether `name` can be the name of a document set. One spelling for each: only Unicode's composed form (NFC). */
export function isSetName(name: string): boolean {
  return name.length <= 64 && SET_NAME.test(name) && name.normalize('NFC') === name && name.toLowerCase() !== PUBLIC;
}
