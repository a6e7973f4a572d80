/** The records from the first one to the one in which Certificate, or what stands for it, ends: docs/spec/link.md section 3. */
import { LIMITS } from '../limits.ts';
import { MESSAGE, MESSAGE_HEADER, versionOf } from '../tls/messages.ts';
import { CONTENT, TLS12, type TlsRecord } from '../tls/records.ts';
import type { Flow } from './passage.ts';

export interface Group {
  /** Lengths of the records' contents. */
  readonly lengths: readonly number[];
  /** The messages before it, as they came. */
  readonly front: Buffer;
  readonly isCompressed: boolean;
  /** Bytes of Certificate or CompressedCertificate, without its header. */
  readonly body: Buffer;
  /** Bytes that followed in its last record. */
  readonly behind: Buffer;
}

type GroupResult = Group | 'TLS 1.3' | undefined;

interface GroupReading {
  readonly found: GroupResult;
  /** The last record that was looked at. */
  readonly last: TlsRecord;
}

/** Reads on from `first` until there is a group, or none can come. @param from - whose messages these are */
export function* readGroup(first: TlsRecord, from: 'server' | 'client'): Flow<GroupReading> {
  const contents: Buffer[] = [];
  let length = 0;
  for (let last = first; ; last = yield 'hold') {
    contents.push(last.content);
    length += last.content.length;
    const isLooked = last.type === CONTENT.handshake && last.version === TLS12 && last.content.length <= LIMITS.record;
    if (!isLooked || length > LIMITS.group || contents.length > LIMITS.groupRecords) return { found: undefined, last };
    const found = find(contents, from);
    if (found !== 'more') return { found, last };
  }
}

function find(contents: readonly Buffer[], from: 'server' | 'client'): GroupResult | 'more' {
  const all = Buffer.concat(contents);
  let hasHello = from === 'client';
  for (let at = 0; ; ) {
    if (all.length < at + MESSAGE_HEADER) return 'more';
    const [type, length] = [all.readUInt8(at), all.readUIntBE(at + 1, 3)];
    const start = at + MESSAGE_HEADER;
    const end = start + length;
    const isSought = type === MESSAGE.certificate || type === MESSAGE.compressedCertificate;
    const isHello = type === MESSAGE.serverHello && !hasHello;
    if (!isHello && !(hasHello && (isSought || type === MESSAGE.supplementalData))) return undefined;
    if (end > LIMITS.group) return undefined;
    if (all.length < end) return 'more';
    const body = all.subarray(start, end);
    if (isSought) {
      const lengths = contents.map((content) => content.length);
      const isCompressed = type === MESSAGE.compressedCertificate;
      return { lengths, front: all.subarray(0, at), isCompressed, body, behind: all.subarray(end) };
    }
    const version = isHello ? versionOf(body) : 'TLS 1.2';
    if (version !== 'TLS 1.2') return version;
    hasHello = true;
    at = end;
  }
}
