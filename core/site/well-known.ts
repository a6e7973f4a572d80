/** Path at which a key server serves its descriptor. */
export const DESCRIPTOR_PATH = '/.well-known/wispr-provider';

/** Path at which a host names its publisher. */
export const HOST_PROOF_PATH = '/.well-known/wispr-site';
