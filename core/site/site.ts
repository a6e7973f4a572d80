const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
const MAXIMUM_LENGTH = 253;

/**
 * Tells whether `text` is a site: a host name in lower case, without port or final dot, and no IP address
 * (docs/spec/protected-object.md, "Conventions"). International names stand in their A-label form.
 */
export function isSite(text: unknown): text is string {
  if (typeof text !== 'string' || text.length === 0 || text.length > MAXIMUM_LENGTH) return false;
  const labels = text.split('.');
  // WHATWG URL reads a host whose last label is a number as an IPv4 address.
  return labels.every((label) => LABEL.test(label)) && !/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '');
}

/**
 * Tells whether `text` is an origin as this project writes them into configurations and signed descriptors: scheme, host and perhaps
 * a port, nothing behind it. `https:` is required unless the host is loopback and `allowLoopback` is set, or `allowHttp`.
 */
export function isOrigin(
  text: unknown,
  options: { allowLoopback?: boolean; allowHttp?: boolean } = {},
): text is string {
  if (typeof text !== 'string' || !URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.origin !== text) return false;
  if (url.protocol === 'https:') return true;
  return (
    url.protocol === 'http:' &&
    (options.allowHttp === true || (options.allowLoopback === true && isLoopback(url.hostname)))
  );
}

/** Tells whether a host name is this machine by its spelling alone: `localhost`, names below it, 127.0.0.0/8, and ::1. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname) ||
    hostname === '[::1]'
  );
}
