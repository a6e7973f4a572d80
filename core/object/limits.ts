/** Bounds of the protected object, in one place: docs/spec/protected-object.md, "Byte layout" and "Verification". */
export const LIMITS = {
  /** Bytes of the header. */
  headerLength: 65_536,
  blockChunks: 1024,
  blocks: 65_536,
  /** Bytes of the metadata, so that it stands in chunk 0. */
  metadataLength: 16_000,
  mediaTypeLength: 255,
  headerValueLength: 4096,
} as const;
