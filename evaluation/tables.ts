/** Tables and plots of docs/evaluation.md: which values of evaluation/results they show. */

/** Values of one result, chosen and named for the page. */
export interface DocTable {
  readonly file: string;
  readonly head: string;
  /** `table`: the rest of its name after the row's `group`, where both are given. */
  readonly columns: readonly (readonly [head: string, column: string, table?: string])[];
  /** All of the first column's table, if left out. */
  readonly rows?: readonly (readonly [head: string, row: string, group?: string, remark?: string])[];
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
const SITE_WAYS = ['HTTP', 'gzip in the path', 'HTTPS', 'HTTPS, gzip'];
const HANDSHAKES = [
  ['TLS 1.2', 'TLS 1.2, plain'],
  ['relays, first visit', 'TLS 1.2, relays, first visit'],
  ['relays, second', 'TLS 1.2, relays, second visit'],
  ['TLS 1.3', 'TLS 1.3, full'],
  ['resumed', 'TLS 1.3, resumed'],
] as const;
const KEY_REQUESTS = ['HTTPS, full', 'HTTPS, resumed', 'HTTPCrypt, first', 'HTTPCrypt, ticket'];
const PAPER = ['of the paper', 'here'].map((name) => [name, name, 'paper'] as const);
const CLUSTERS = ['broken, alone', 'broken, redistributed', 'random, alone', 'random, redistributed'];

export const TABLES: Readonly<Record<string, DocTable>> = {
  page: {
    file: 'page',
    head: 'page, link',
    columns: [
      ['ping, ms', 'ping', 's'],
      ...READING_WAYS.map((way) => [way, way, 's'] as const),
      ['KiB, HTTPS', 'HTTPS', 'KiB'],
      ['KiB, gateway', 'gateway, second', 'KiB'],
      ['KiB, browser', 'browser, second', 'KiB'],
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
      ...HANDSHAKES.map(([head, column]) => [head, column, 's'] as const),
      ...HANDSHAKES.map(([head, column]) => [`bytes, ${head.replace('relays, ', '')}`, column, 'bytes'] as const),
    ],
    rows: LINKS.map((link) => [link, link, 'rsa']),
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
    columns: CLUSTERS.map((cluster) => [cluster, cluster, 'sign-ins']),
    rows: ['1', '2', '4', '8'].map((nodes) => [nodes, nodes]),
  },
  sites: {
    file: 'sites',
    head: 'site',
    columns: [
      ['HTTP', 'HTTP', 's'],
      ['gzip in the path', 'gzip in the path', 's'],
      ['Squid, warm', 'Squid, warm', 's'],
      ['HTTPS', 'HTTPS', 's'],
      ['HTTPS, gzip', 'HTTPS, gzip', 's'],
      ...SITE_WAYS.map((way) => [`KiB, ${way}`, way, 'KiB'] as const),
    ],
    rows: [
      ['Debian handbook', 'Inmarsat', 'debian-handbook.info'],
      ['Python documentation', 'Inmarsat', 'docs.python.org'],
      ['SQLite', 'Inmarsat', 'www.sqlite.org'],
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
      ['its memory, MiB', 'first run, MiB of memory', 'publish'],
      ['one document changed, s of a core', 'one changed, s of a core', 'publish', 'a look at every file'],
      ['what that writes, KB', 'one changed, KB written', 'publish', 'one bin, the snapshot'],
      [
        'one in a hundred added: what that writes, KB',
        'one in a hundred added, KB written',
        'publish',
        'every bin changes',
      ],
      ['metadata, MB', 'metadata, MB', 'publish', '216 bytes a document'],
      ["a reader's cold start, KB", 'cold start, KB', 'read', 'the snapshot'],
      ["a reader's cold start, ms from files", 'cold start, ms', 'read', 'parsing the snapshot, six signatures'],
      ['one look-up, KB', 'one look-up, KB', 'read', 'one bin'],
      ['import of a list of subscribers, s', 'import of the list, s', 'serve'],
      ['database, with a device for each, MB', 'database with devices, MB', 'serve', '528 bytes each'],
      ["a new day's key for all of them, ms", 'a new day, ms', 'serve', 'one wrap'],
      ['memory of the key server, MiB', 'memory, MiB', 'serve', 'the runtime'],
      ['a key request, ms of a core', 'a key request, ms of a core', 'serve', 'HTTP, one write to the database'],
    ],
  },
  readers: {
    file: 'readers',
    head: 'site, readers',
    columns: [
      ['HTTP', 'HTTP, MB'],
      ['HTTPS', 'HTTPS, MB'],
      ['protected', 'protected, MB'],
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
    rows: [
      'plain HTTP, nginx',
      'HTTPS, nginx',
      'HTTPS resumed, nginx',
      'plain HTTP, Node.js',
      'HTTPS, Node.js',
      'HTTPCrypt',
      'HTTPCrypt, tickets',
    ].map((server) => [server, server]),
  },
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
  'readers-python': {
    ...{ file: 'readers', table: 'python', unit: 'MB' },
    title: "MB from the origin, by readers: Python's documentation",
    columns: ['HTTP, MB', 'HTTPS, MB', 'protected, MB'],
    logarithmic: true,
  },
  'cost-cores': {
    ...{ file: 'cost', table: 'nginx', title: 'Cores to fill 10 Gbit/s', unit: 'cores' },
    columns: ['cores, 10 Gbit/s'],
  },
};
