/**
 * What is known of content hosts: which were late, which were not there, which gave bytes that nobody signed. Such a host is asked after the
 * others for a while, never not at all: whatever comes is verified, so the order decides about time alone.
 */
import { CodedError } from '../../core/errors.ts';
import { LIMITS } from '../limits.ts';

/** `slow`: another one was quicker than it. `dead`: it did not answer, or broke off. `wrong`: it gave other bytes than were signed. */
export type HostFault = 'slow' | 'dead' | 'wrong';

export interface HostReport {
  /** Of the content host. */
  readonly origin: string;
  readonly fault: HostFault;
  /** Code of what went wrong. */
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

interface Known extends HostReport {
  readonly until: number;
}

const FAULTS: Readonly<Record<string, HostFault>> = {
  'content-host-unreachable': 'dead',
  'content-host-answer': 'dead',
  'object-missing': 'dead',
  'object-truncated': 'dead',
  'head-unexpected': 'wrong',
  'object-trailing': 'wrong',
  'block-digest': 'wrong',
  'carrier-malformed': 'wrong',
};

const LASTS: Readonly<Record<HostFault, number>> = {
  slow: LIMITS.slowFor,
  dead: LIMITS.deadFor,
  wrong: LIMITS.wrongFor,
};

const ORDER: readonly (HostFault | undefined)[] = [undefined, 'slow', 'dead', 'wrong'];

/** What a failure says of the host that it came from; `undefined`: nothing, another host would not help. */
export function faultOf(error: unknown): HostFault | undefined {
  return error instanceof CodedError ? FAULTS[error.code] : undefined;
}

/** What comes by way of a parent proxy may be a word of the host's that only looks like the proxy's. */
const PARENTS = new Set(['parent-proxy-answer', 'parent-proxy-auth']);

/** Whether another host may do better, where this was met with one; also where nothing is to be noted of that one. */
export function mayAnotherHelp(error: unknown): boolean {
  return faultOf(error) !== undefined || (error instanceof CodedError && PARENTS.has(error.code));
}

export class HostHealth {
  readonly #known = new Map<string, Known>();
  readonly #tell: (report: HostReport) => void;

  /** @param tell - told of every fault, when it is new */
  constructor(tell: (report: HostReport) => void = () => undefined) {
    this.#tell = tell;
  }

  /** The hosts as they are best asked: in the publisher's order, those with a fault behind the others. @param but - a fault that is none here */
  inOrder(origins: readonly string[], but?: HostFault): readonly string[] {
    if (this.#known.size === 0 || origins.length < 2) return origins;
    const faultOf = (origin: string) => {
      const fault = this.#faultOf(origin);
      return fault === but ? undefined : fault;
    };
    return ORDER.flatMap((fault) => origins.filter((origin) => faultOf(origin) === fault));
  }

  /** Something went wrong with a host. One that lacks a single file is not remembered for it. */
  note(origin: string, fault: HostFault, code: string): void {
    if (code === 'object-missing') return;
    const before = this.#find(origin);
    if (before?.fault === 'wrong' && fault !== 'wrong') return;
    if (this.#known.size >= LIMITS.rememberedHosts) this.#known.clear();
    const now = Date.now();
    const known = {
      origin,
      fault,
      code,
      since: before?.fault === fault ? before.since : now,
      until: now + LASTS[fault],
    };
    this.#known.set(origin, known);
    if (before?.fault !== fault) this.#tell({ origin, fault, code, since: now });
  }

  /** The same with what was thrown; nothing, where that is none of the host's. */
  noteFailure(origin: string, error: unknown): void {
    const fault = faultOf(error);
    if (fault !== undefined) this.note(origin, fault, (error as CodedError).code);
  }

  /** What is known at the moment. */
  reports(): HostReport[] {
    return Array.from(this.#known.keys(), (origin) => this.#find(origin))
      .filter((known) => known !== undefined)
      .map(({ origin, fault, code, since }) => ({ origin, fault, code, since }));
  }

  #faultOf(origin: string): HostFault | undefined {
    return this.#find(origin)?.fault;
  }

  #find(origin: string): Known | undefined {
    const known = this.#known.get(origin);
    if (known === undefined || known.until > Date.now()) return known;
    this.#known.delete(origin);
    return undefined;
  }
}
