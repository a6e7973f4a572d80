/** Bounds of the relays. Lengths in bytes, times in milliseconds. */
export const LIMITS = {
  /** Length of a record's content before encryption (RFC 5246 section 6.2.1). */
  record: 16_384,
  /** Length of a record's content after encryption (section 6.2.3). */
  encryptedRecord: 18_432,
  /** Length of the records that are held until Certificate is whole. */
  group: 65_536,
  groupRecords: 64,
  chain: 16,
  certificate: 16_384,
  /** Client certificates in a list: `held` has a bit for each. */
  clientCertificates: 8,
  /** Connections of clients at once; beyond, one that is idle makes room. */
  connections: 1_024,
  /** The same of near relays, whose connections end a little later than those of their clients. */
  nearConnections: 2_048,
  /** Idle time after which a connection makes room for one of an address that has as many. */
  idleWhenFull: 60_000,
  /** A connection without a byte for so long ends. */
  idle: 1_800_000,
  /** Time for the request of a client, and for what a near relay sends first. */
  opening: 60_000,
  /** Time for a connection to the far relay or to a server. */
  connecting: 60_000,
  /** Bytes of the system's connection table that are read: some 80,000 connections. */
  connectionTable: 16_777_216,
  /** Bytes of a file with a chain that the store is filled with. */
  filledFile: 1_048_576,
  /** Time for which a destination stays plain after a failure. */
  plain: 3_600_000,
  plainDestinations: 1_024,
  storedNames: 4_096,
  storedCertificates: 16_384,
  /** Days after which the stores forget what was not used. */
  storedDays: 90,
} as const;
