/**
 * Returns where a signed redirect leads: to the same site by a path, at the host and port that were asked; an address of the site
 * itself over HTTPS would lead past the checks.
 *
 * @param destination - as the site settings have it
 */
export function localRedirect(destination: string, site: string): string {
  if (destination.startsWith('/')) return destination;
  const { hostname, port, pathname, search, hash } = new URL(destination);
  if (hostname.replace(/\.$/, '') !== site || port !== '') return destination; // a final dot means the same host
  return pathname.replace(/^\/+/, '/') + search + hash; // two slashes at the beginning would be another host
}
