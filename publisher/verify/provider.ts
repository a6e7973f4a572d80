/** The two files by which a site says whose it is. */
import {
  DESCRIPTOR_PATH,
  HOST_PROOF_PATH,
  isHostProof,
  type VerifiedDescriptor,
  verifyDescriptor,
} from '../../core/keys/descriptor.ts';
import { KeyError } from '../../core/keys/errors.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import type { ReportBuilder } from './report.ts';

/** What is known of the site before its objects are looked at. */
export interface KnownSite {
  readonly site: string;
  /** Origin of the reading site. */
  readonly reading: string;
  readonly publisherKey: Uint8Array;
}

export interface ProviderOptions {
  /** The publisher that is expected; any, if left out. */
  readonly publisher?: KeyId;
  /** The site that is expected, where the descriptor names several. */
  readonly site?: string;
  /** Seconds since 1970. */
  readonly now: number;
}

/**
 * Checks descriptor and host proof (keys.md section 5, D1 to D4), and reports what is wrong with them.
 *
 * @param proof - `undefined` if there is none
 * @returns what objects are to be checked against; `undefined` if nothing can be
 */
export async function checkProvider(
  descriptor: Uint8Array | undefined,
  proof: string | undefined,
  options: ProviderOptions,
  report: ReportBuilder,
): Promise<KnownSite | undefined> {
  if (descriptor === undefined) {
    report.find(
      DESCRIPTOR_PATH,
      'file-missing',
      'there is no provider descriptor: nothing says whose key signs this site',
    );
    return undefined;
  }
  const verified = await verifyOrReport(descriptor, options.now, report);
  const described = verified?.sites.find(({ site }) => options.site === undefined || site === options.site);
  if (verified === undefined || described === undefined) {
    if (verified)
      report.find(DESCRIPTOR_PATH, 'site-mismatch', `the descriptor does not name the site ${options.site}`);
    return undefined;
  }
  const { publisher, expires, publisherKeyBytes } = verified;
  report.provider({ site: described.site, publisher, expires });
  checkProof(proof, publisher, report);
  if (options.publisher !== undefined && options.publisher !== publisher) {
    report.find(
      DESCRIPTOR_PATH,
      'publisher-unexpected',
      `the site is signed by ${publisher}, not by ${options.publisher}`,
    );
  }
  return { site: described.site, reading: described.reading, publisherKey: publisherKeyBytes };
}

/** An expired descriptor is reported, and still says which key to check with. */
async function verifyOrReport(
  bytes: Uint8Array,
  now: number,
  report: ReportBuilder,
): Promise<VerifiedDescriptor | undefined> {
  try {
    return await verifyDescriptor(bytes, now);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    report.find(DESCRIPTOR_PATH, error.code, error.message);
    return error.code === 'descriptor-expired' ? verifyDescriptor(bytes, 0) : undefined;
  }
}

function checkProof(proof: string | undefined, publisher: KeyId, report: ReportBuilder): void {
  if (proof === undefined)
    report.find(HOST_PROOF_PATH, 'host-proof', 'there is no host proof: readers need it, here or in DNS');
  else if (!isHostProof(proof, publisher)) {
    report.find(
      HOST_PROOF_PATH,
      'host-proof',
      `the host proof does not name the publisher of the descriptor, ${publisher}`,
    );
  }
}
