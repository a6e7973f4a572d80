/** Bounds of a publication, in one place: docs/spec/publication.md, "Reading". Lengths in bytes, times in seconds. */
export const PUBLICATION_LIMITS = {
  rootLength: 65_536,
  timestampLength: 16_384,
  /** Length of a snapshot, where the timestamp does not say less. */
  snapshotLength: 16_777_216,
  /** Length of `targets`, a section, or a bin, where the snapshot does not say less. */
  targetsLength: 4_194_304,
  settingsLength: 1_048_576,
  /** Length of a file that is not in the form in which it was signed, and has to be put into it before its signatures can be checked. */
  otherFormLength: 1_048_576,
  signatures: 64,
  keys: 64,
  /** Roots that are followed in one refresh (5.3.3). */
  rootRotations: 256,
  /** Roles that are asked for one target (5.6.7.1). */
  delegations: 32,
  /** Bits of the number of bins. */
  binBits: 16,
  redirects: 10_000,
  grace: 7_776_000,
  /** Time by which a timestamp may lie in the future of the reader's clock. */
  clockTolerance: 300,
  /** Bytes of delegated metadata that a client keeps parsed. */
  rolesKept: 16_777_216,
} as const;
