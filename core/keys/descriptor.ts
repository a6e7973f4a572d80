/** The provider descriptor: who publishes which sites, and where their keys are: docs/spec/keys.md, "Provider descriptor". */
import { isKeyId, KEY_LENGTH, type KeyId } from '../crypto/key-id.ts';
import { fromBase64url } from '../encoding/base64url.ts';
import { canonicalJson, hasMembers, isJsonObject, type Json, type JsonObject } from '../encoding/canonical-json.ts';
import { type HttpcryptEndpoint, isHttpcryptEndpoint } from '../httpcrypt/endpoint.ts';
import { isOrigin, isSite } from '../site/site.ts';
import { KeyError } from './errors.ts';
import { MESSAGE_LIMITS } from './limits.ts';
import { isSignedBy, parseMessage, signMessage } from './sealed-message.ts';

export interface SiteDescription {
  /** Origins of the content hosts, tried in this order. */
  readonly content: readonly string[];
  /** Origin of the HTTPS reading site. */
  readonly reading: string;
  readonly site: string;
}

export interface ProviderDescriptor {
  /** Seconds since 1970: not to be believed later. */
  readonly expires: number;
  /** HTTPCrypt endpoint of the key server, if it has one: docs/spec/httpcrypt.md. */
  readonly httpcrypt?: HttpcryptEndpoint;
  /** Seconds since 1970: of two descriptors, the one issued later counts. */
  readonly issued: number;
  readonly keyServer: string;
  /** Name that the publisher calls itself; shown to readers, proves nothing. */
  readonly name: string;
  /** base64url of the Ed25519 public key under which objects and this descriptor are signed; it may change. */
  readonly publisherKey: string;
  /** The root id: base64url of SHA-256 of the publication's first root. The publisher's identity, which never changes. */
  readonly root: KeyId;
  readonly sites: readonly SiteDescription[];
}

/** A descriptor whose signature was checked under the key that it names. */
export interface VerifiedDescriptor extends ProviderDescriptor {
  /** The publisher's identity, {@link ProviderDescriptor.root}: what a host proof must name. */
  readonly publisher: KeyId;
  readonly publisherKeyBytes: Uint8Array;
}

const LABEL = 'wispr/1 provider descriptor';
const MEMBERS = ['expires', 'issued', 'keyServer', 'name', 'publisherKey', 'root', 'signature', 'sites'];
const MAXIMUM_SITES = 16;
const MAXIMUM_CONTENT_HOSTS = 8;

/**
 * @throws KeyError `descriptor-malformed` if it is not of the form that readers accept: a key server or reading site that is not
 * HTTPS (or, for development, on loopback), an invalid site, too many of anything
 */
export function encodeDescriptor(descriptor: ProviderDescriptor, publisherSecretKey: Uint8Array): Uint8Array {
  const signed = signMessage(LABEL, descriptor, publisherSecretKey);
  checkForm(signed as unknown as JsonObject);
  return canonicalJson(signed as unknown as JsonObject);
}

/**
 * Verifies a descriptor under the key that it names itself: steps D1 to D3. Whether that publisher may speak for a site, and whether the
 * descriptor is that publisher's, are steps D4 to D6, the reader's own.
 *
 * @param now - seconds since 1970
 * @throws KeyError `descriptor-malformed`, `descriptor-expired`
 */
export async function verifyDescriptor(bytes: Uint8Array, now: number): Promise<VerifiedDescriptor> {
  // D1
  const message = parseMessage(bytes, MESSAGE_LIMITS.descriptor);
  if (message === undefined) throw new KeyError('descriptor-malformed', 'the descriptor is not canonical JSON');
  const key = checkForm(message);
  // D2
  if (!(await isSignedBy(LABEL, message, key)))
    throw new KeyError('descriptor-malformed', "the descriptor's signature is not valid");
  const { signature: _, ...descriptor } = message as unknown as ProviderDescriptor & { signature: string };
  // D3
  if (now > descriptor.expires) {
    const expired = new Date(descriptor.expires * 1000).toISOString();
    throw new KeyError(
      'descriptor-expired',
      `the descriptor expired on ${expired}; this machine's clock says ${new Date(now * 1000).toISOString()}`,
    );
  }
  return { ...descriptor, publisher: descriptor.root, publisherKeyBytes: key };
}

/** Checks the form; returns the publisher's public key. */
function checkForm(message: JsonObject): Uint8Array {
  const { expires, httpcrypt, issued, keyServer, name, publisherKey, root, sites } = message;
  if (!hasMembers(message, MEMBERS, ['httpcrypt'])) throw malformed('members missing or unknown');
  if (typeof expires !== 'number' || typeof issued !== 'number') throw malformed('issued or expires');
  if (!isOrigin(keyServer, { allowLoopback: true })) throw malformed('keyServer is not an HTTPS origin');
  if (httpcrypt !== undefined && !isHttpcryptEndpoint(httpcrypt)) throw malformed('httpcrypt');
  if (typeof name !== 'string' || name.length < 1 || name.length > 100) throw malformed('name');
  if (!Array.isArray(sites) || sites.length < 1 || sites.length > MAXIMUM_SITES) throw malformed('sites');
  for (const site of sites) checkSiteForm(site);
  if (new Set(sites.map((site) => (site as { site: string }).site)).size !== sites.length)
    throw malformed('a site stands twice');
  const key = fromBase64url(publisherKey, KEY_LENGTH);
  if (key === undefined) throw malformed('publisherKey');
  if (!isKeyId(root)) throw malformed('root is not the id of a root');
  return key;
}

function checkSiteForm(value: Json): void {
  if (!isJsonObject(value) || !hasMembers(value, ['content', 'reading', 'site']))
    throw malformed('a site has members missing or unknown');
  const { content, reading, site } = value;
  if (!isSite(site)) throw malformed('a site is not a host name');
  if (!isOrigin(reading, { allowLoopback: true }))
    throw malformed(`the reading site of ${site} is not an HTTPS origin`);
  if (!Array.isArray(content) || content.length < 1 || content.length > MAXIMUM_CONTENT_HOSTS)
    throw malformed('content');
  if (!content.every((origin) => isOrigin(origin, { allowHttp: true })))
    throw malformed(`a content host of ${site} is not an origin`);
}

/** Tells whether a site has no key server: it is read in browsers only, where it lies. Other sites have a reading site at another origin. */
export function isServerless({ content, reading }: Pick<SiteDescription, 'content' | 'reading'>): boolean {
  return content[0] === reading;
}

/** The line by which a host names the publisher it belongs to, at `/.well-known/wispr-site` or in a TXT record. */
export function hostProofLine(publisher: KeyId): string {
  return `wispr/1 root=${publisher}`;
}

/** Tells whether a host's proof, a file or one TXT record, names `publisher`. Only whole lines count. */
export function isHostProof(text: string, publisher: KeyId): boolean {
  return text.split(/\r?\n/).includes(hostProofLine(publisher));
}

/** The publisher that a host's proof names; the first one, where it names several. */
export function hostProofIn(text: string): KeyId | undefined {
  const ids = text.split(/\r?\n/).map((line) => /^wispr\/1 root=(.*)$/.exec(line)?.[1]);
  return ids.find(isKeyId);
}

function malformed(what: string): KeyError {
  return new KeyError('descriptor-malformed', `the provider descriptor is malformed: ${what}`);
}
