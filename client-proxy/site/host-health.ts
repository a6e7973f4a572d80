/** Faults of content hosts: slow, unreachable, unsigned bytes. One with a fault is asked after the others for a while. */
import { LRUCache } from 'lru-cache';
import { CodedError } from '../../core/errors.ts';
import { type FailureFault, faultOf } from '../../reading/host-faults.ts';
import { LIMITS } from '../limits.ts';

/** `slow`: another host answered first. */
export type HostFault = FailureFault | 'slow';

export interface HostReport {
  readonly origin: string;
  readonly fault: HostFault;
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** Milliseconds until a fault is forgotten. */
const LASTS: Record<HostFault, number> = { slow: LIMITS.slowFor, dead: LIMITS.deadFor, wrong: LIMITS.wrongFor };

const ORDER: readonly (HostFault | undefined)[] = [undefined, 'slow', 'dead', 'wrong'];

/** Tells whether another host may succeed after this failure of one: behind a parent proxy, what looks like its failure may be the host's. */
export function mayAnotherHelp(error: unknown): boolean {
  return faultOf(error) !== undefined || (error instanceof CodedError && error.code === 'parent-proxy-unreachable');
}

export class HostHealth {
  readonly #reports = new LRUCache<string, HostReport>({
    maxSize: LIMITS.rememberedHosts,
    sizeCalculation: () => 1,
    ttl: LIMITS.wrongFor,
  });
  readonly #report: (report: HostReport) => void;

  /** @param report - called for every new fault */
  constructor(report: (found: HostReport) => void = () => undefined) {
    this.#report = report;
  }

  /** The hosts in the order to ask them: the publisher's, with faulty ones last. @param but - a fault that does not count here */
  inOrder(origins: readonly string[], but?: HostFault): readonly string[] {
    if (this.#reports.size === 0 || origins.length < 2) return origins;
    const faults = new Map(origins.map((origin) => [origin, this.#reports.peek(origin)?.fault]));
    const counts = (fault: HostFault | undefined) => (fault === but ? undefined : fault);
    return ORDER.flatMap((fault) => origins.filter((origin) => counts(faults.get(origin)) === fault));
  }

  /** Records a fault. A host that lacks a single file is not remembered for it. */
  record(origin: string, fault: HostFault, code: string): void {
    if (code === 'object-missing') return;
    const before = this.#reports.peek(origin);
    if (before?.fault === 'wrong' && fault !== 'wrong') return;
    const isNew = before?.fault !== fault;
    const report = { origin, fault, code, since: isNew ? Date.now() : before.since };
    this.#reports.set(origin, report, { ttl: LASTS[fault] });
    if (isNew) this.#report(report);
  }

  recordFailure(origin: string, error: unknown): void {
    const fault = faultOf(error);
    if (fault !== undefined) this.record(origin, fault, (error as CodedError).code);
  }

  reports(): HostReport[] {
    return [...this.#reports.values()];
  }
}
