/** Bounds of the Reader's programs, in one place; those of messages about keys are in `MESSAGE_LIMITS` of `core/keys`. Lengths in bytes, times in milliseconds. */
import { READING_TIMES } from '../reading/times.ts';

/** Bounds that a caller of this package may set otherwise (`limits` of its options): times that are waited, and how much is done at a time. */
export const DEFAULT_LIMITS = Object.freeze({
  ...READING_TIMES,
  /** Connections of clients; beyond, the one that has been idle longest is closed. */
  clientConnections: 2_048,
  /** Requests that wait on one connection for those before them: what two reads of a socket may hold, after which it waits. */
  pipelined: 4_096,
  /** Documents that are decoded or changed at a time, 16 MiB each for Brotli; further ones wait. As many as browsers have connections to one proxy. */
  changedDeliveries: 32,
  /** Time without a read after which a client's document is ended for others: steady ones can seem to stop for seconds. And time that others wait. */
  changedStalled: 10_000,
  changedWait: 60_000,
  /** Time until a TCP connection is there; and then for its TLS handshake, some kilobytes both ways. */
  connectTimeout: 10_000,
  handshakeTimeout: 30_000,
  /** A line counts as slow for a while after two TCP connections took so long; what times are multiplied with there. */
  slowConnect: 1_000,
  slowLineFor: 600_000,
  slowTimes: 8,
  /** Time until the head of a request has arrived; and between two requests on a connection. */
  requestHead: 60_000,
  clientIdle: 65_000,
  /** Time without a byte in either direction, during a request or an answer of a client. */
  clientSilence: 600_000,
  /** The same for a host that is passed through: long enough for long polling. */
  passingSilence: 300_000,
  /** Connections to one content host, key server or parent proxy; further requests for content wait. Browsers have six. */
  contentConnections: 64,
  /** Time for which idle connections to hosts are kept, whatever a host says. */
  keptIdle: 4_000,
  /** Time until the head of an answer has arrived. */
  headersTimeout: 30_000,
  /** Time between two pieces of a body. */
  bodyTimeout: 30_000,
  /** Time until a document's first block is verified, all requests for it together. */
  openTimeout: 60_000,
  /** Time between two pieces of a body, where there are other content hosts. */
  bodyTimeoutAmongSeveral: 10_000,
  /** Time until a running Reader greets a command, and has its request. */
  controlTimeout: 10_000,
  /** Time for one question to the system keyring, where only it has the key: a person may have to unlock it. */
  keyringTimeout: 60_000,
  /** The same where there is another way, for a database that is just being made. */
  keyringProbeTimeout: 10_000,
  /** Time that a command waits for another that has the database. */
  databaseWait: 5_000,
});

export type Limits = Readonly<Record<keyof typeof DEFAULT_LIMITS, number>>;

/** Limits of a caller's options, kept by reference: a rig of tests changes its own while its Reader runs. */
export function limitsOf({ limits = DEFAULT_LIMITS }: { readonly limits?: Limits | undefined }): Limits {
  return limits;
}

/** Bounds that are the same for every caller. */
export const LIMITS = Object.freeze({
  /** Number of times that a message may pass a program like this one before it counts as a loop. */
  passages: 8,
  /** Header fields of a request or an answer together. */
  headerFields: 32_768,
  /** Interim answers (1xx) before the final one. */
  interimAnswers: 128,
  /** Bytes that are read and dropped of an unwanted answer, to keep its connection. */
  drained: 65_536,
  /** Bytes that are buffered of an answer's body before its sender has to wait. */
  bodyQueue: 262_144,
  /** The same in pieces, however small. */
  bodyPieces: 1_024,
  /** Bytes within which the end of a range is searched for in a document of unknown length, before the head is passed on. */
  rangeLookAhead: 1_048_576,
  /** Verified heads kept for one site: their size together, and for how long. */
  rememberedBytes: 16_777_216,
  rememberedFor: 300_000,
  /** Refused key ids remembered, and for how long. */
  refusedKeys: 10_000,
  refusedKeysFor: 20_000,
  /** TLS sessions of key servers: their size together, how many for each, and how long they are kept. */
  sessionBytes: 262_144,
  sessionsPerPlace: 4,
  sessionLife: 86_400_000,
  /** Length from which blocks are opened on a thread; about how much at a time; and how many such runs one request may have pending. */
  openedOnThread: 262_144,
  run: 524_800,
  runsAhead: 2,
  /** The longest block opened on a thread, and the memory for all requests together. */
  blockOnThread: 1_049_600,
  runMemory: 33_554_432,
  /** Threads that open blocks, on however many cores. */
  openingThreads: 4,
  /** Time until an idle connection is probed. */
  tcpKeepAlive: 60_000,
  /** Idle connections per host, of requests that pass through. */
  keptPerHost: 64,
  /** Time for which a content host is asked after the others: a slow, an unreachable and a wrong one. And number of those remembered. */
  slowFor: 60_000,
  deadFor: 30_000,
  wrongFor: 600_000,
  rememberedHosts: 1_000,
  /** Time for one exchange with a key server, or one proof of a host, however steadily its bytes come: on 2,400 bit/s some take half a minute. */
  exchangeTimeout: 120_000,
  /** Time until an unreachable or refusing key server is asked again for the same descriptor. */
  descriptorRetry: 30_000,
  /** Time for which the validators of a content host are used. */
  validatorsFor: 3_600_000,
  /** Kept of one site's publication on disk, besides what every check needs. */
  publicationBytes: 67_108_864,
  /** Time between two warnings that a site has not been confirmed for long. */
  noticeInterval: 43_200_000,
  /** A form of the Reader's own pages: its bytes, its fields, and the time it may take to arrive. */
  formLength: 16_384,
  formFields: 64,
  formTimeout: 10_000,
  /** Proposed connections, and how long they can be accepted. */
  proposals: 16,
  proposalTime: 1_800_000,
  /** Documents in the first page's list of what was read recently. */
  activity: 200,
  /** Hosts and browsers that the Reader noticed; characters of each. */
  observed: 16,
  observedName: 300,
  /** Fetching a roaming file, and the redirects that are followed for it: stores of files on the web like them. */
  roamingTimeout: 30_000,
  roamingRedirects: 5,
  /** Commands at a time. */
  controlConnections: 16,
  /** Passphrases that wait to be tried; wrong ones in a row, and the time between any further. */
  unlocksWaiting: 4,
  wrongUnlocks: 5,
  unlockPause: 10_000,
  /** Time between two tries of a command to open a database that another has. */
  databasePoll: 50,
  /** Bounds of what is kept of what was read, unless the reader sets others: bytes on the disk, and objects. */
  cacheBytes: 2_147_483_648,
  cacheObjects: 200_000,
  /** Divisor of those bytes: for what one object takes at most, and what others may have added before the folder is looked through again. */
  cacheShare: 8,
  /** Part of the cache that is full when something is dropped, and afterwards. */
  cacheSweepAt: 0.95,
  cacheFilledTo: 0.9,
  /** Objects up to here are in one database, and read at once; others are files, read in such pieces. */
  cacheSmall: 131_072,
  cachePiece: 262_144,
  /** Milliseconds for which small ones wait for others to be written with; a program for another that writes; and between two looks for the database. */
  cacheBatch: 10,
  cacheWait: 1_000,
  cacheLook: 1_000,
  /** Part of that database that may be free. */
  cacheFree: 0.25,
  /** Bounds of the small ones that stay in memory for the next time: bytes all together, and milliseconds. */
  cacheInMemory: 2_097_152,
  cacheInMemoryFor: 60_000,
  /** Bytes that are collected before they are written; and bytes that may wait before a copy is given up. */
  cacheWriteAtOnce: 262_144,
  cacheUnwritten: 8_388_608,
  /** Precision with which it is known when an object was last used. */
  cacheUseGrain: 3_600_000,
  /** Documents that a sync fetches at the same time. */
  syncAtOnce: 6,
  /** Time for which nothing is kept after the disk refused. */
  cachePause: 30_000,
  /** Time that pending requests may take when the proxy stops. */
  stopTimeout: 1_000,
});
