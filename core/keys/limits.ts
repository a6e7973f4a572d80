/** The greatest length of every message about keys, in bytes: docs/spec/keys.md. Enforced before a message is parsed, and while it arrives. */
export const MESSAGE_LIMITS = {
  bindingRequest: 8192,
  bindingAnswer: 8192,
  browserBinding: 16_384,
  keyRequest: 16_384,
  keyAnswer: 262_144,
  descriptor: 65_536,
  /** A host's proof: a file, or one TXT record. */
  hostProof: 4096,
  bundle: 64 * 1024 * 1024,
  bundleHeader: 8192,
  roaming: 4 * 1024 * 1024,
  keyFile: 1024 * 1024,
  envelope: 262_144,
} as const;
