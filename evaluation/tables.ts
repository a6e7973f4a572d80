/** Tables and plots of docs/evaluation.md: which values of evaluation/results they show. */

/** Values of one result, chosen and named for the page. */
export interface DocTable {
  readonly file: string;
  /** Files in place of `file`, for rows of these groups. */
  readonly files?: Readonly<Record<string, string>>;
  readonly head: string;
  /** `table`: the rest of its name after the row's `group`, where both are given. */
  readonly columns: readonly (readonly [head: string, column: string, table?: string, otherFile?: string])[];
  /** Default: those of the first column's table, by their own names. */
  readonly rows?: readonly (readonly [head: string, row: string, group?: string | undefined, remark?: string])[];
  readonly remarks?: string;
}

export interface DocPlot {
  readonly file: string;
  readonly table: string;
  readonly title: string;
  readonly unit: string;
  readonly columns: readonly string[];
  /** Left out, where the bars could not be seen. */
  readonly without?: readonly string[];
  readonly logarithmic?: boolean;
}

const READING_WAYS = ['HTTPS', 'gateway, cold', 'gateway, second', 'browser, cold', 'browser, second'];
const LINKS = ['cell modem', 'Inmarsat', 'Milstar', 'Iridium'];
const SITE_WAYS = ['HTTP', 'gzip in the path', 'HTTPS'];
const SITES = [
  ['Debian handbook', 'debian-handbook.info'],
  ['Python documentation', 'docs.python.org'],
  ['SQLite', 'www.sqlite.org'],
] as const;
const HANDSHAKES = [
  ['TLS 1.2', 'TLS 1.2, plain'],
  ['relays, first visit', 'TLS 1.2, relays, first visit'],
  ['relays, second', 'TLS 1.2, relays, second visit'],
  ['TLS 1.3', 'TLS 1.3, full'],
  ['resumed', 'TLS 1.3, resumed'],
] as const;
/** Columns that the table of the relays has, of more runs. */
const MEASURED_LONGER: readonly string[] = ['TLS 1.2', 'relays, first visit', 'relays, second'];
/** Seconds of McVeety (2009), appendix A.4. */
const PAPER_RELAYS = [
  ['TCDL', '0.01, 0.46'],
  ['cell modem', '0.62, 1.08'],
  ['Inmarsat', '2.93, 3.18'],
  ['Milstar', '5.83, 6.11'],
  ['Iridium', '9.51, 6.69'],
] as const;
const CHAIN_LENGTHS = ['500', '926', '2000', '4000', '2 × 926', '3 × 926', '4 × 926'];
const KEY_REQUESTS = ['HTTPS, full', 'HTTPS, resumed', 'HTTPCrypt, first', 'HTTPCrypt, ticket'];
const PAPER = ['of the paper', 'here'].map((name) => [name, name, 'paper'] as const);
const CLUSTERS = ['broken, alone', 'broken, redistributed', 'random, alone', 'random, redistributed'];

export const TABLES: Readonly<Record<string, DocTable>> = {
  page: {
    file: 'page',
    files: { handbook: 'handbook' },
    head: 'page, link',
    columns: [
      ['ping, ms', 'ping', 's'],
      ...READING_WAYS.map((way) => [way, way, 's'] as const),
      ['KiB, HTTPS', 'HTTPS', 'KiB'],
      ['KiB, gateway', 'gateway, second', 'KiB'],
    ],
    rows: [
      ['newspaper, loopback', 'loopback', 'front'],
      ['DSL', 'DSL', 'front'],
      ['3G', '3G', 'front'],
      ['EDGE', 'EDGE', 'front'],
      ['Inmarsat', 'Inmarsat', 'front'],
      ['handbook, loopback', 'loopback', 'handbook'],
      ['Inmarsat', 'Inmarsat', 'handbook'],
    ],
  },
  handshakes: {
    file: 'certificates',
    head: 'link',
    columns: [
      ['ping, ms', 'ping', 's'],
      ...HANDSHAKES.filter(([head]) => !MEASURED_LONGER.includes(head)).map(([head, column]) => {
        return [head, column, 's'] as const;
      }),
      ...HANDSHAKES.map(([head, column]) => [`bytes, ${head.replace('relays, ', '')}`, column, 'bytes'] as const),
    ],
    rows: LINKS.map((link) => [link, link, 'rsa']),
  },
  relays: {
    file: 'relays',
    head: 'link',
    remarks: 'of the paper: plain, relays',
    columns: [
      ['plain', 'plain', 's'],
      ['relays', 'relays', 's'],
      ['first visit', 'first visit', 's', 'relays-sizes'],
      ['a miss', 'miss', 's', 'relays-sizes'],
      ['client certificate, plain', 'plain', 's', 'relays-client'],
      ['relays', 'relays', 's', 'relays-client'],
    ],
    rows: PAPER_RELAYS.map(([link, seconds]) => [link, link, undefined, seconds]),
  },
  'relays-sizes': {
    file: 'relays-sizes',
    head: 'bytes',
    columns: CHAIN_LENGTHS.map((lengths) => [lengths.replaceAll(' ', ''), lengths, 'bytes']),
  },
  'key-requests': {
    file: 'certificates',
    head: 'link',
    columns: [
      ...KEY_REQUESTS.map((way) => [`${way}, s`, way, 's'] as const),
      ...KEY_REQUESTS.map((way) => [`${way}, bytes`, way, 'bytes'] as const),
    ],
    rows: LINKS.map((link) => [link, link, 'key request']),
  },
  clusters: {
    file: 'scream',
    head: 'key servers',
    columns: [...CLUSTERS, 'random, least gain', 'random, most gain'].map((name) => [name, name, 'sign-ins']),
  },
  operations: {
    file: 'scream',
    head: 'operation',
    columns: [['ms', 'ms', 'operations']],
  },
  sites: {
    file: 'sites',
    head: 'site',
    columns: [
      ['HTTP', 'HTTP', 's'],
      ['gzip in the path', 'gzip in the path', 's'],
      ['Squid, warm', 'Squid, warm', 's'],
      ['HTTPS', 'HTTPS', 's'],
      ...SITE_WAYS.map((way) => [`KiB, ${way}`, way, 'KiB'] as const),
    ],
    rows: SITES.map(([head, address]) => [head, 'EDGE', address]),
  },
  'sites-3g': {
    file: 'sites',
    head: 'site',
    columns: [
      ['saved by a warm cache', 'saved by a warm cache'],
      ['by compression', 'saved by compression'],
      ['HTTPS, more', 'HTTPS, more'],
      ['both compressed', 'both compressed, HTTPS more'],
    ],
    rows: SITES.map(([head, address]) => [head, address, '3G, % of HTTP']),
  },
  https: {
    file: 'https',
    head: 'what',
    remarks: 'of the paper',
    columns: ['HTTP', 'TLS 1.2', 'TLS 1.3'].map((way) => [way, way]),
    rows: [
      ['3G, time, times HTTP, 75 %', '75 %', '3G, times HTTP', '1.5'],
      ['seconds more', '75 %', '3G, s more', '1.2'],
      ['DSL, time, times HTTP, 60 %', '60 %', 'DSL, times HTTP', '1.3 (fibre)'],
      ['connections, 50 %', '50 %', 'DSL, connections', 'fewer for 40 %'],
      ['seconds of handshakes, 50 %', '50 %', 'DSL, handshakes, s', 'more for half'],
      ['% of the time', 'handshakes, % of time', 'DSL, together'],
      ['TLS, % of bytes, 50 %', '50 %', 'DSL, TLS, % of a connection', '42'],
      ['together', 'TLS, % of bytes', 'DSL, together', '5'],
      ['processor, s, all pages', 'processor, s', '3G, together', '1.03 of energy'],
      ['link busy, s, all pages', 'link busy, s', '3G, together'],
    ],
  },
  recorded: {
    file: 'https',
    head: 'recorded, %',
    remarks: 'of the paper',
    columns: ['2015 and 2016', '2017 to 2022', 'together'].map((years) => [years, years]),
    rows: [
      ['bytes in clear', 'in clear, % of bytes', 'recorded'],
      ['requests for a cache, in clear', 'shared, in clear, % of requests', 'recorded', '14.9'],
      ['bytes for a cache', 'shared, % of bytes', 'recorded'],
      ['in clear', 'shared, in clear, % of bytes', 'recorded', '15.6'],
      ['bytes of text as it is', 'text as it is, % of bytes', 'recorded', '28.5 saved'],
    ],
  },
  scale: {
    file: 'scale',
    head: 'what',
    remarks: 'bound by',
    columns: [
      ['1,000', '1000'],
      ['100,000', '100000'],
      ['1,000,000', '1000000'],
      ['last exponent', 'last exponent'],
    ],
    rows: [
      ['`wispr protect`, all documents new, s of a core', 'first run, s of a core', 'publish', 'a signature for each'],
      ['one document changed, s of a core', 'one changed, s of a core', 'publish', 'a look at every file'],
      ['what that writes, KB', 'one changed, KB written', 'publish', 'one bin, the snapshot'],
      ['metadata, MB', 'metadata, MB', 'publish', 'an entry for each'],
      ["a reader's cold start, KB", 'cold start, KB', 'read', 'the snapshot'],
      ['one look-up, KB', 'one look-up, KB', 'read', 'one bin'],
      ['database, with a device for each, MB', 'database with devices, MB', 'serve', 'two rows for each'],
      ["a new day's key for all of them, ms", 'a new day, ms', 'serve', 'one wrap'],
      ['a key request, ms of a core', 'a key request, ms of a core', 'serve', 'HTTP'],
    ],
  },
  readers: {
    file: 'readers',
    head: 'site, readers',
    columns: [
      ['HTTP', 'HTTP, MB'],
      ['HTTPS', 'HTTPS, MB'],
      ['protected', 'protected, MB'],
      ['key server', 'key server, MB'],
      ['saved, HTTP, %', 'HTTP, % saved'],
      ['saved, protected, %', 'protected, % saved'],
    ],
    rows: [
      ['newspaper (14 pages), 10', '10', 'newspaper'],
      ['100', '100', 'newspaper'],
      ['1,000', '1000', 'newspaper'],
      ["Python's documentation (530 pages), 10", '10', 'python'],
      ['100', '100', 'python'],
      ['1,000', '1000', 'python'],
    ],
  },
  cost: {
    file: 'cost',
    head: 'part',
    columns: ['µs a document', 'ns a byte', 'cycles a byte'].map((name) => [name, name, 'parts']),
    rows: [
      ['publisher', 'publisher'],
      ['publisher, text compressed', 'publisher, text compressed'],
      ['nginx, from what it holds', 'nginx'],
      ['Varnish', 'varnish'],
      ['Squid', 'squid-reverse'],
      ['Reader, from its cache', 'proxy, from its cache'],
      ['Reader, without cache', 'proxy, without cache'],
      ['Reader, first read', 'proxy, first read'],
      ['in-browser reader', 'in-browser reader'],
      ['Chromium in clear', 'browser, in clear'],
      ['key server, a key request', 'key server, a key request'],
    ],
  },
  'cost-paper': { file: 'cost', head: 'what', columns: PAPER },
  'httpcrypt-paper': { file: 'httpcrypt', head: 'what', columns: PAPER },
  httpcrypt: {
    file: 'httpcrypt',
    head: 'server',
    columns: ['requests/s', 'latency, ms'].flatMap((table) =>
      ['1 KiB', '10 KiB', '100 KiB'].map((size) => [`${size}, ${table.slice(-2)}`, size, table] as const),
    ),
  },
};

/** Value that a result should have: `column` may be a ratio. */
export interface Goal {
  readonly name: string;
  readonly file: string;
  readonly table: string;
  readonly row: string;
  readonly column: string;
  readonly least?: number;
  readonly most?: number;
}

const goalsOfPage = (row: string, column: string, bound: Pick<Goal, 'least' | 'most'>): Goal[] => [
  { name: `newspaper on ${row}`, file: 'page', table: 'front, s', row, column, ...bound },
  { name: `handbook on ${row}`, file: 'handbook', table: 'handbook, s', row, column, ...bound },
];

/** Goals by the name of a figure: filled in where a page has `NAME, goals`. */
export const GOALS: Readonly<Record<string, readonly Goal[]>> = {
  page: [
    ...['EDGE', 'Inmarsat'].flatMap((link) => goalsOfPage(link, 'HTTPS ÷ gateway, second', { least: 3 })),
    ...goalsOfPage('loopback', 'gateway, second ÷ HTTPS', { most: 1.1 }),
  ],
  readers: ['newspaper', 'python'].map((table) => ({
    ...{ name: table, file: 'readers', table, row: '1000', column: 'protected, % saved', least: 95 },
  })),
  httpcrypt: [
    ['beside HTTPS, Node.js', 3.3] as const,
    ['with tickets', 4] as const,
    ['with keep-alive', 0.4] as const,
  ].map(([row, least]) => ({ name: row, file: 'httpcrypt', table: 'paper', row, column: 'here', least })),
};

export const PLOTS: Readonly<Record<string, DocPlot>> = {
  'page-front': {
    ...{ file: 'page', table: 'front, s', title: 'Seconds to the front page of the newspaper', unit: 's' },
    columns: ['HTTP', 'HTTPS', 'HTTP/2', ...READING_WAYS.slice(1)],
    logarithmic: true,
  },
  'key-request': {
    ...{ file: 'certificates', table: 'key request, s', title: 'Seconds of a key request', unit: 's' },
    columns: KEY_REQUESTS,
    without: ['loopback', 'TCDL'],
  },
  'https-3g': {
    ...{ file: 'https', table: '3G, times HTTP', title: 'Load time on 3G beside HTTP, at most, by share of pages' },
    ...{ unit: '×', columns: ['TLS 1.2', 'TLS 1.3'] },
  },
  'readers-python': {
    ...{ file: 'readers', table: 'python', unit: 'MB' },
    title: "MB from the origin, by readers: Python's documentation",
    columns: ['HTTP, MB', 'HTTPS, MB', 'protected, MB'],
    logarithmic: true,
  },
};
