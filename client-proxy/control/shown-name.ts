/** What publishers call themselves, made fit to stand inside our own sentences: no control characters, nothing that turns the direction of text. */
import { CONFIRM_TEXT } from '../pages/texts-control.ts';

export function shownName(name: string): string {
  const plain = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  return plain === '' ? CONFIRM_TEXT.noName : plain;
}
