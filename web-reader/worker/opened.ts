/** Tells whether a page is opened in a window of its own. */
export function isOpened({ method, mode, destination }: Request): boolean {
  return method === 'GET' && mode === 'navigate' && destination === 'document';
}
