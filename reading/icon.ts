/** A publisher's icon, for tabs and home screens, where it has none of its own at hand: the first letter of its name, on its colour. */
import type { Accent } from '../core/site/accent.ts';

/** @returns a `data:` URL, without a character that HTML escapes */
export function initialIcon(name: string, { light }: Accent): string {
  const initial = /[\p{L}\p{N}]/u.exec(name)?.[0] ?? '';
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9H0z" fill="${light}"/><text x="4.5" y="6.6" font-size="6" text-anchor="middle" fill="#fff">${initial}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(drawing)}`;
}
