/** The checks that the attack tests are about. `npm run test:release -- mutations` takes out one at a time; the tests of its rows have to fail then. */

/** One check, and the code without it. */
export interface Mutation {
  /** Rows of docs/threat-model.md. */
  readonly attacks: readonly number[];
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** Why no test can fail: another check refuses the same. Then the tests have to pass. */
  readonly redundant?: string;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    attacks: [149],
    file: 'keyserver/reading-site/till-pages.ts',
    find: '(present ? present.id === found.buyer : found.isNew)',
    replace: 'true',
  },
  {
    attacks: [149],
    file: 'keyserver/subscriptions/checkouts.ts',
    find: '(row.session_hash && !equalSecrets(row.session_hash, sessionHash(session)))',
    replace: 'false',
  },
  {
    attacks: [149],
    file: 'keyserver/reading-site/till-pages.ts',
    find: '!isTheirs || !(await useReturn(state, found))',
    replace: '!isTheirs',
  },
  {
    attacks: [149],
    file: 'keyserver/reading-site/till-pages.ts',
    find: "createSession(state, found.buyer, 'purchase')",
    replace: 'createSession(state, found.buyer)',
  },
  {
    attacks: [27],
    file: 'core/publication/keys.ts',
    find: 'if (await verify(key, signature, message)) signed.add(key.public);',
    replace: 'signed.add(key.public);',
  },
  {
    attacks: [34, 108],
    file: 'core/publication/keys.ts',
    find: 'if (await verify(key, signature, message)) signed.add(key.public);',
    replace: 'if (await verify(key, signature, message)) signed.add(keyid);',
  },
  {
    attacks: [28, 108],
    file: 'core/publication/verify-roles.ts',
    find: 'if (timestamp.snapshot.version < seen)',
    replace: 'if (timestamp.snapshot.version < 0)',
  },
  {
    attacks: [28],
    file: 'core/publication/verify-roles.ts',
    find: 'if (previous && timestamp.version < previous.version)',
    replace: 'if (previous && timestamp.version < 0)',
  },
  {
    attacks: [28],
    file: 'core/publication/verify-roles.ts',
    find: 'if (now.version < version)',
    replace: 'if (now.version < 0)',
  },
  {
    attacks: [37],
    file: 'core/publication/verify-roles.ts',
    find: 'if (now === undefined) throw rollback(',
    replace: 'if (now === undefined) return void rollback(',
  },
  {
    attacks: [50],
    file: 'keyserver/reading-site/entrance.ts',
    find: "method === 'POST' && headers.origin === account ?",
    replace: "method === 'POST' ?",
  },
  {
    attacks: [96],
    file: 'keyserver/reading-site/account-session.ts',
    find: 'const action = pages.documents + to;',
    replace: 'const action = pages.account + to;',
  },
  {
    attacks: [97],
    file: 'reading/document-headers.ts',
    find: '...xmlPolicy(headers),',
    replace: '',
  },
  {
    attacks: [76],
    file: 'keyserver/reading-site/in-browser.ts',
    find: 'isWorker && path !== WORKER',
    replace: 'false',
  },
  {
    attacks: [78],
    file: 'keyserver/reading-site/documents-app.ts',
    find: "=== 'image' && headers.referer ===",
    replace: "=== 'image' || headers.referer ===",
  },
  {
    attacks: [78],
    file: 'keyserver/reading-site/documents-app.ts',
    find: 'isOwn(request) ? await readerOf(entrance, request) : undefined',
    replace: 'await readerOf(entrance, request)',
  },
  {
    attacks: [152],
    file: 'keyserver/reading-site/teaser-page.ts',
    find: 'mayTry === undefined ? undefined : { signUp: mayTry }',
    replace: '{ signUp: true }',
  },
  { attacks: [98], file: 'keyserver/reading-site/deliveries.ts', find: ' cutConnection(socket);', replace: ' return;' },
  {
    attacks: [98],
    file: 'keyserver/reading-site/deliveries.ts',
    find: 'if (line.open < limits.openDocumentsPerAddress * Math.min(4, clientsOf(request)))',
    replace: 'if (line.open < Number.POSITIVE_INFINITY)',
  },
  {
    attacks: [98],
    file: 'keyserver/reading-site/content-host.ts',
    find: 'fetchFile(metadata, target, wanted)',
    replace: 'fetchFile(documents, target, wanted)',
  },
  {
    attacks: [5, 6],
    file: 'core/object/read-head.ts',
    find: 'if (!(await ed25519Verify(signature, concat(SIGNATURE_LABEL, headerBytes), publicKey))) {',
    replace: 'if (signature.length === 0) {',
  },
  {
    attacks: [7],
    file: 'core/object/read-head.ts',
    find: 'if (toBase64url(await sha256(digests)) !== part.header.digestListDigest) {',
    replace: 'if (toBase64url(await sha256(digests)) === part.header.site) {',
  },
  {
    attacks: [15],
    file: 'core/object/read-head.ts',
    find: 'if (length < 2 || length > LIMITS.headerLength) {',
    replace: 'if (length < 2) {',
  },
  {
    attacks: [18],
    file: 'core/object/read-head.ts',
    find: 'if (header.path !== expected.path)',
    replace: 'if (header.path === header.site)',
  },
  {
    attacks: [19],
    file: 'core/object/read-head.ts',
    find: 'if (header.site !== expected.site)',
    replace: 'if (header.site === header.path)',
  },
  {
    attacks: [42],
    file: 'core/keys/wrapped-key.ts',
    find: 'if (wrapped.under !== outer.id)',
    replace: 'if (wrapped.under === wrapped.id)',
    redundant: 'both ids are in the associated data, so step W3 refuses the same',
  },
  {
    attacks: [43],
    file: 'core/keys/wrapped-key.ts',
    find: 'if ((await keyIdOf(wrapped.kind, key)) !== wrapped.id) {',
    replace: 'if ((await keyIdOf(wrapped.kind, key)) === wrapped.under) {',
  },
  {
    attacks: [22],
    file: 'core/keys/wrapped-key.ts',
    find: 'if (now < wrapped.notBefore || now > wrapped.notAfter) {',
    replace: 'if (now < 0) {',
  },
  {
    attacks: [62],
    file: 'client-proxy/pages/guard.ts',
    find: "if (headers.origin !== ownOrigin || (site !== undefined && site !== 'same-origin'))",
    replace: "if (ownOrigin === '')",
  },
  {
    attacks: [62],
    file: 'client-proxy/pages/guard.ts',
    find: "if (!equalSecrets(utf8(fields.get('token') ?? ''), utf8(this.token)))",
    replace: "if (fields.get('token') === 'other')",
  },
  {
    attacks: [99],
    file: 'client-proxy/connect/prove.ts',
    find: 'descriptor.publisherKey === publisherKey &&',
    replace: 'true &&',
  },
  {
    attacks: [100],
    file: 'client-proxy/connect/host-proof.ts',
    find: 'if (status === 404 || status === 410) return',
    replace: 'if (status !== 0) return',
  },
  {
    attacks: [101],
    file: 'publisher/site/names.ts',
    find: '  if (LIKE_IMMUTABLE.test(nameOf(withoutUnseen(path))))',
    replace: '  if (path === READING_SITE_PAGES)',
  },
  {
    attacks: [101],
    file: 'publisher/site/names.ts',
    find: "return OWN_PLACES.test(seen) ? 'wispr itself puts a file there' : problemOfDirectory(path);",
    replace: 'return problemOfDirectory(path);',
  },
  {
    attacks: [102],
    file: 'keyserver/http/limits.ts',
    find: 'status >= 400 && status < 500 && status !== 429;',
    replace: 'status >= 400 && status !== 429;',
  },
  {
    attacks: [102],
    file: 'keyserver/reading-site/sign-in-limits.ts',
    find: 'if (known) countAsKnownBrowser(response, known);',
    replace: 'if (!known) return next();',
  },
  {
    attacks: [102],
    file: 'keyserver/sign-in/known-browsers.ts',
    find: 'return known && readU32(head) >= state.now() ? toBase64url(head) : undefined;',
    replace: 'return known || readU32(head) > 0 ? toBase64url(head) : undefined;',
  },
  { attacks: [107], file: 'keyserver/http/count-store.ts', find: 'maxSize: max,', replace: 'maxSize: 10_000_000,' },
  {
    attacks: [95],
    file: 'keyserver/reading-site/vault.ts',
    find: "headers.origin === origin && (site === undefined || site === 'same-origin')",
    replace: "headers.origin === origin || site === 'same-origin'",
  },
  {
    attacks: [42],
    file: 'keyserver/readers/key-requests.ts',
    find: "kind === 'browser' && subscriber === session.subscriber.id",
    replace: "kind === 'browser' && subscriber !== 0",
  },
  {
    attacks: [43],
    file: 'core/keys/document-keys.ts',
    find: "(await keyIdOf('set', key)) !== id",
    replace: 'id.length === 0',
  },
  {
    attacks: [72],
    file: 'core/keys/key-file.ts',
    find: "return contextOf('wispr/1 key file', context);",
    replace: "return contextOf('wispr/1 key file', { ...context, root: '', site: '' });",
  },
  {
    attacks: [47],
    file: 'keyserver/readers/devices.ts',
    find: "await database.run('DELETE FROM sessions WHERE device = ?', device);",
    replace: '',
  },
  {
    attacks: [109],
    file: 'keyserver/httpcrypt/messages.ts',
    find: "if (!fresh) return refuse(425, 'too-early');",
    replace: '',
  },
  { attacks: [109, 114], file: 'keyserver/httpcrypt/server-keys.ts', find: 'key.tickets.delete(ticket);', replace: '' },
  {
    attacks: [110],
    file: 'core/httpcrypt/message.ts',
    find: 'await sha256(request));',
    replace: 'await sha256(ANSWER_LABEL));',
  },
  {
    attacks: [111],
    file: 'core/httpcrypt/message.ts',
    find: 'concat(REQUEST_LABEL, publicKey, shown)',
    replace: 'concat(REQUEST_LABEL, publicKey, publicKey.subarray(shown.length))',
  },
  {
    attacks: [111],
    file: 'core/httpcrypt/record.ts',
    find: 'if (!(await ed25519Verify(signature, signedBytes(endpoint.url, announced), endpoint.key)))',
    replace: 'if (signature.length !== 64)',
  },
  {
    attacks: [113],
    file: 'core/httpcrypt/record.ts',
    find: "if (BigInt(Math.ceil(now)) > notAfter) throw refused('its time is over');",
    replace: '',
  },
];
