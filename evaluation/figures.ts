/** The figures of docs/evaluation.md, in the order in which all are measured. */
import { certificatesFigure } from './certificates/figure.ts';
import { costFigure } from './cost/figure.ts';
import { httpcryptFigure } from './httpcrypt/figure.ts';
import { pageFigure } from './page/figure.ts';
import { readersFigure } from './readers/figure.ts';
import type { Measurement } from './results.ts';
import { scaleFigure } from './scale/figure.ts';
import { screamFigure } from './scream/figure.ts';
import { sitesFigure } from './sites/figure.ts';

interface Figure {
  readonly what: string;
  /** File that it must be able to write, besides being root. */
  readonly needs?: '/dev/net/tun' | '/sys/fs/cgroup/cpu/cpu.cfs_quota_us';
  /** About so long on two cores. */
  readonly minutes: number;
  /** @param report - says how far it is */
  readonly run: (report: (text: string) => void) => Promise<Measurement>;
}

const TUN = '/dev/net/tun';

export const FIGURES: Readonly<Record<string, Figure>> = {
  readers: {
    what: 'bytes from the origin when 1 to 1,000 read, with caches small to large',
    minutes: 10,
    run: readersFigure,
  },
  cost: {
    what: 'a byte and a document at each part, beside ciphers, signatures and TLS',
    minutes: 20,
    run: costFigure,
  },
  httpcrypt: {
    what: 'HTTPCrypt beside HTTPS of nginx and Node.js, by size and processor instructions',
    minutes: 22,
    run: httpcryptFigure,
  },
  scream: {
    what: 'sign-ins at one to eight key servers, with and without the dispatcher; batch RSA',
    needs: '/sys/fs/cgroup/cpu/cpu.cfs_quota_us',
    minutes: 15,
    run: screamFigure,
  },
  sites: {
    what: 'public sites with and without caches and compression in the path, over three links',
    needs: TUN,
    minutes: 15,
    run: sitesFigure,
  },
  page: {
    what: 'page loads in Chromium, and bytes on the link, over seven links',
    needs: TUN,
    minutes: 25,
    run: (report) => pageFigure('front', report),
  },
  handbook: {
    what: 'the same with a chapter of the Debian handbook',
    needs: TUN,
    minutes: 20,
    run: (report) => pageFigure('handbook', report),
  },
  certificates: {
    what: 'handshakes and key requests over six links: relays, TLS 1.3, HTTPCrypt',
    needs: TUN,
    minutes: 15,
    run: certificatesFigure,
  },
  scale: {
    what: 'documents and subscribers from a hundred to a million, and a model beyond',
    minutes: 25,
    run: scaleFigure,
  },
};
