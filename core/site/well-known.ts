/** Where a key server serves its descriptor. */
export const DESCRIPTOR_PATH = '/.well-known/wispr-provider';

/** Where a host names its publisher. */
export const HOST_PROOF_PATH = '/.well-known/wispr-site';
