/** The figures of docs/evaluation.md, in the order in which all are measured. Each loads its programs when it runs. */
import type { Measurement } from './results.ts';

interface Figure {
  readonly what: string;
  /** File that it must be able to write, besides being root. */
  readonly needs?: string;
  /** Time on two cores, roughly. */
  readonly minutes: number;
  /** @param report - says how far it is */
  readonly run: (report: (text: string) => void) => Promise<Measurement>;
}

const TUN = '/dev/net/tun';

export const FIGURES: Readonly<Record<string, Figure>> = {
  readers: {
    what: 'bytes from origin and key server when 1 to 1,000 read by a shared cache',
    minutes: 2,
    run: async (report) => (await import('./readers/figure.ts')).readersFigure(report),
  },
  cost: {
    what: 'a byte and a document at each part, beside ciphers, signatures and TLS',
    minutes: 9,
    run: async (report) => (await import('./cost/figure.ts')).costFigure(report),
  },
  httpcrypt: {
    what: 'HTTPCrypt beside HTTPS of nginx and Node.js, by size and processor instructions',
    minutes: 12,
    run: async (report) => (await import('./httpcrypt/figure.ts')).httpcryptFigure(report),
  },
  scream: {
    what: 'sign-ins at one to eight key servers, with and without the dispatcher; batch RSA',
    needs: '/sys/fs/cgroup/cpu/cpu.cfs_quota_us',
    minutes: 15,
    run: async (report) => (await import('./scream/figure.ts')).screamFigure(report),
  },
  sites: {
    what: 'public sites with and without caches and compression in the path, over three links',
    needs: TUN,
    minutes: 11,
    run: async (report) => (await import('./sites/figure.ts')).sitesFigure(report),
  },
  https: {
    what: 'recorded pages by HTTP and HTTPS: time, bytes, connections, handshakes',
    needs: TUN,
    minutes: 21,
    run: async (report) => (await import('./https/figure.ts')).httpsFigure(report),
  },
  page: {
    what: 'loads of the newspaper in Chromium, and bytes on the link, over six links',
    needs: TUN,
    minutes: 10,
    run: async (report) => (await import('./page/figure.ts')).pageFigure('front', report),
  },
  handbook: {
    what: 'the same with a chapter of the Debian handbook',
    needs: TUN,
    minutes: 9,
    run: async (report) => (await import('./page/figure.ts')).pageFigure('handbook', report),
  },
  certificates: {
    what: 'handshakes and key requests over six links: relays, TLS 1.3, HTTPCrypt',
    needs: TUN,
    minutes: 20,
    run: async (report) => (await import('./certificates/figure.ts')).certificatesFigure(report),
  },
  relays: {
    what: 'handshakes with and without the relays, 20 of each, over five links',
    needs: TUN,
    minutes: 23,
    run: async (report) => (await import('./certificates/relays.ts')).relaysFigure('TLS 1.2', 20)(report),
  },
  'relays-client': {
    what: 'the same with client certificates, 8 of each',
    needs: TUN,
    minutes: 13,
    run: async (report) => (await import('./certificates/relays.ts')).relaysFigure('client certificate', 8)(report),
  },
  'relays-sizes': {
    what: 'bytes of handshakes by lengths of certificates and chains; seconds of a miss between the relays',
    needs: TUN,
    minutes: 6,
    run: async (report) => (await import('./certificates/relays.ts')).relaysSizesFigure(report),
  },
  scale: {
    what: 'documents and subscribers from a hundred to a million',
    minutes: 8,
    run: async (report) => (await import('./scale/figure.ts')).scaleFigure(report),
  },
};
