/**
 * What is known of content hosts: which were slow, unreachable, or gave unsigned bytes. Such a host is asked after the others for a while, but never
 * excluded: everything is verified, so the order affects time only.
 */
import { CodedError } from '../../core/errors.ts';
import { type FailureFault, faultOf } from '../../reading/host-faults.ts';
import { LIMITS } from '../limits.ts';

/** `slow`: another one was quicker than it. */
export type HostFault = FailureFault | 'slow';

export interface HostReport {
  /** Of the content host. */
  readonly origin: string;
  readonly fault: HostFault;
  /** Code of what went wrong. */
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

interface HealthEntry extends HostReport {
  readonly until: number;
}

const LASTS: Readonly<Record<HostFault, number>> = {
  slow: LIMITS.slowFor,
  dead: LIMITS.deadFor,
  wrong: LIMITS.wrongFor,
};

const ORDER: readonly (HostFault | undefined)[] = [undefined, 'slow', 'dead', 'wrong'];

/** Whether another host may succeed after this failure of one: behind a parent proxy, what looks like its failure may be the host's. */
export function mayAnotherHelp(error: unknown): boolean {
  return faultOf(error) !== undefined || (error instanceof CodedError && error.code === 'parent-proxy-unreachable');
}

export class HostHealth {
  readonly #entries = new Map<string, HealthEntry>();
  readonly #report: (report: HostReport) => void;

  /** @param report - called for every new fault */
  constructor(report: (found: HostReport) => void = () => undefined) {
    this.#report = report;
  }

  /** The hosts in the order to ask them: the publisher's, with faulty ones last. @param but - a fault that does not count here */
  inOrder(origins: readonly string[], but?: HostFault): readonly string[] {
    if (this.#entries.size === 0 || origins.length < 2) return origins;
    const faults = new Map(origins.map((origin) => [origin, this.#find(origin)?.fault]));
    const counts = (fault: HostFault | undefined) => (fault === but ? undefined : fault);
    return ORDER.flatMap((fault) => origins.filter((origin) => counts(faults.get(origin)) === fault));
  }

  /** Records a fault. A host that lacks a single file is not remembered for it. */
  record(origin: string, fault: HostFault, code: string): void {
    if (code === 'object-missing') return;
    const before = this.#find(origin);
    if (before?.fault === 'wrong' && fault !== 'wrong') return;
    if (this.#entries.size >= LIMITS.rememberedHosts) this.#entries.clear();
    const now = Date.now();
    const since = before?.fault === fault ? before.since : now;
    this.#entries.set(origin, { origin, fault, code, since, until: now + LASTS[fault] });
    if (before?.fault !== fault) this.#report({ origin, fault, code, since: now });
  }

  /** Records what an error says about its host. */
  recordFailure(origin: string, error: unknown): void {
    const fault = faultOf(error);
    if (fault !== undefined) this.record(origin, fault, (error as CodedError).code);
  }

  /** The current faults. */
  reports(): HostReport[] {
    return Array.from(this.#entries.keys(), (origin) => this.#find(origin))
      .filter((known) => known !== undefined)
      .map(({ origin, fault, code, since }) => ({ origin, fault, code, since }));
  }

  #find(origin: string): HealthEntry | undefined {
    const known = this.#entries.get(origin);
    if (known === undefined || known.until > Date.now()) return known;
    this.#entries.delete(origin);
    return undefined;
  }
}
