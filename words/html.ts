/** A text as it stands in HTML: in an element, or in an attribute with quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A sentence with markup of its own, for HTML: its values are escaped. */
export function html(sentence: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw(sentence, ...values.map(escapeHtml));
}
