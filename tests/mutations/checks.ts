/** The checks that the attack tests are about. `npm run test:release -- mutations` takes out one at a time; the tests of its rows have to fail then. */

/** A check, and the code without it. */
export interface Mutation {
  /** Rows of docs/threat-model.md. */
  readonly attacks: readonly number[];
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** Reason why no test can fail: another check refuses the same. Then the tests have to pass. */
  readonly redundant?: string;
}

/** Checks by file. */
const CHECKS: Readonly<
  Record<string, readonly (readonly [attacks: readonly number[], find: string, replace: string, redundant?: string])[]>
> = {
  'keyserver/reading-site/till-pages.ts': [
    [[149], '(present ? present.id === found.buyer : found.isNew)', 'true'],
    [[149], '!isTheirs || !(await useReturn(state, found))', '!isTheirs'],
    [[149], "createSession(state, found.buyer, 'purchase')", 'createSession(state, found.buyer)'],
  ],
  'keyserver/subscriptions/checkouts.ts': [
    [[149], '(row.session_hash && !equalSecrets(row.session_hash, sessionHash(session)))', 'false'],
  ],
  'core/publication/keys.ts': [
    [[27], 'if (await verify(key, signature, message)) signed.add(key.public);', 'signed.add(key.public);'],
    [
      [34, 108],
      'if (await verify(key, signature, message)) signed.add(key.public);',
      'if (await verify(key, signature, message)) signed.add(keyid);',
    ],
  ],
  'core/publication/verify-roles.ts': [
    [[28, 108], 'if (timestamp.snapshot.version < seen)', 'if (timestamp.snapshot.version < 0)'],
    [[28], 'if (previous && timestamp.version < previous.version)', 'if (previous && timestamp.version < 0)'],
    [[28], 'if (now.version < version)', 'if (now.version < 0)'],
    [[37], 'if (now === undefined) throw rollback(', 'if (now === undefined) return void rollback('],
  ],
  'keyserver/reading-site/entrance.ts': [
    [[50], "method === 'POST' && headers.origin === account ?", "method === 'POST' ?"],
  ],
  'keyserver/reading-site/account-session.ts': [
    [[96], 'const action = pages.documents + to;', 'const action = pages.account + to;'],
  ],
  'reading/document-headers.ts': [[[97], '...xmlPolicy(headers),', '']],
  'keyserver/reading-site/in-browser.ts': [[[76], 'isWorker && path !== WORKER', 'false']],
  'keyserver/reading-site/documents-app.ts': [
    [[78], "=== 'image' && headers.referer ===", "=== 'image' || headers.referer ==="],
    [[78], 'isOwn(request) ? await readerOf(entrance, request) : undefined', 'await readerOf(entrance, request)'],
  ],
  'keyserver/reading-site/teaser-page.ts': [
    [[152], 'mayTry === undefined ? undefined : { signUp: mayTry }', '{ signUp: true }'],
  ],
  'keyserver/reading-site/deliveries.ts': [
    [[98], ' cutConnection(socket);', ' return;'],
    [
      [98],
      'if (line.open < limits.openDocumentsPerAddress * Math.min(4, clientsOf(request)))',
      'if (line.open < Number.POSITIVE_INFINITY)',
    ],
  ],
  'keyserver/reading-site/content-host.ts': [
    [[98], 'fetchFile(metadata, target, wanted)', 'fetchFile(documents, target, wanted)'],
  ],
  'core/object/read-head.ts': [
    [
      [5, 6],
      'if (!(await ed25519Verify(signature, concat(SIGNATURE_LABEL, headerBytes), publicKey))) {',
      'if (signature.length === 0) {',
    ],
    [
      [7],
      'if (toBase64url(await sha256(digests)) !== part.header.digestListDigest) {',
      'if (toBase64url(await sha256(digests)) === part.header.site) {',
    ],
    [[15], 'if (length < 2 || length > LIMITS.headerLength) {', 'if (length < 2) {'],
    [[18], 'if (header.path !== expected.path)', 'if (header.path === header.site)'],
    [[19], 'if (header.site !== expected.site)', 'if (header.site === header.path)'],
  ],
  'keyserver/subscriptions/subscribers.ts': [
    [[47], 'await noteLostAccess(database, id, now());', 'await noteLostAccess(database, 0, now());'],
  ],
  'core/keys/wrapped-key.ts': [
    [
      [42],
      'if (wrapped.under !== outer.id)',
      'if (wrapped.under === wrapped.id)',
      'both ids are in the associated data, so step W3 refuses the same',
    ],
    [
      [43],
      'if ((await keyIdOf(wrapped.kind, key)) !== wrapped.id) {',
      'if ((await keyIdOf(wrapped.kind, key)) === wrapped.under) {',
    ],
    [[22], 'if (now < wrapped.notBefore || now > wrapped.notAfter) {', 'if (now < 0) {'],
  ],
  'client-proxy/pages/guard.ts': [
    [
      [62],
      "if (headers.origin !== ownOrigin || (site !== undefined && site !== 'same-origin'))",
      "if (ownOrigin === '')",
    ],
    [
      [62],
      "if (!equalSecrets(utf8(fields.get('token') ?? ''), utf8(this.token)))",
      "if (fields.get('token') === 'other')",
    ],
  ],
  'client-proxy/connect/prove.ts': [[[99], 'descriptor.publisherKey === publisherKey &&', 'true &&']],
  'client-proxy/connect/host-proof.ts': [
    [[100], 'if (status === 404 || status === 410) return', 'if (status !== 0) return'],
  ],
  'publisher/site/names.ts': [
    [[101], '  if (LIKE_IMMUTABLE.test(nameOf(withoutUnseen(path))))', '  if (path === READING_SITE_PAGES)'],
    [
      [101],
      "return OWN_PLACES.test(seen) ? 'wispr itself puts a file there' : problemOfDirectory(path);",
      'return problemOfDirectory(path);',
    ],
  ],
  'keyserver/http/limits.ts': [
    [[102], 'status >= 400 && status < 500 && status !== 429)', 'status >= 400 && status !== 429)'],
  ],
  'keyserver/reading-site/sign-in-limits.ts': [
    [[102], 'if (known) countAsKnownBrowser(response, known);', 'if (!known) return next();'],
  ],
  'keyserver/sign-in/known-browsers.ts': [
    [
      [102],
      'return known && readU32(head) >= state.now() ? toBase64url(head) : undefined;',
      'return known || readU32(head) > 0 ? toBase64url(head) : undefined;',
    ],
  ],
  'node-support/minute-counts.ts': [[[107], 'maxSize: max,', 'maxSize: 10_000_000,']],
  'keyserver/reading-site/vault.ts': [
    [
      [95],
      "headers.origin === origin && (site === undefined || site === 'same-origin')",
      "headers.origin === origin || site === 'same-origin'",
    ],
  ],
  'keyserver/readers/key-requests.ts': [
    [[42], "kind === 'browser' && subscriber === session.subscriber.id", "kind === 'browser' && subscriber !== 0"],
  ],
  'core/keys/document-keys.ts': [[[43], "(await keyIdOf('set', key)) !== id", 'id.length === 0']],
  'core/keys/key-file.ts': [
    [
      [72],
      "return contextOf('wispr/1 key file', context);",
      "return contextOf('wispr/1 key file', { ...context, root: '', site: '' });",
    ],
  ],
  'keyserver/readers/devices.ts': [[[47], "await database.run('DELETE FROM sessions WHERE device = ?', device);", '']],
  'httpcrypt/listener.ts': [
    [[109], 'if (!fresh && !isSafe && !mayRepeat(request)) return { status: 425, fields: [], body: NOTHING };', ''],
  ],
  'httpcrypt/client/channel.ts': [
    [[109], 'if (isSent && !mayRepeat) throw notRepeated(error);', ''],
    [[150], 'headers: { ...this.#looks(fields), ', 'headers: { '],
    [[150], 'sendRequest(url + randomName(), {', "sendRequest(url + 'x9Kd-2_f', {"],
  ],
  'client-proxy/network/upstream.ts': [
    [[115], 'if (channel) channel.dispatch(', 'if (channel === null) channel.dispatch('],
  ],
  'client-proxy/server/router.ts': [[[115], 'if (channel) return', 'if (channel === null) return']],
  'httpcrypt/server-keys.ts': [[[109, 114], 'key.tickets.delete(ticket);', '']],
  'core/httpcrypt/exchange.ts': [
    [[150], '((random[SHOWN_LENGTH] ?? 0) & 0x80)', '0'],
    [[110], 'concat(ANSWER_LABEL, publicKey, shown, salt)', 'concat(ANSWER_LABEL, publicKey, shown)'],
    [
      [111],
      'concat(REQUEST_LABEL, publicKey, shown)',
      'concat(REQUEST_LABEL, publicKey, publicKey.subarray(shown.length))',
    ],
  ],
  'core/httpcrypt/binary-http.ts': [[[112], 'length === (said ?? length)', 'true']],
  'core/httpcrypt/sealed-body.ts': [
    [[112], 'end > plain.length || !isZeros(plain.subarray(end))', 'end > plain.length'],
    [[150], 'padded + this.#padding', 'padded'],
  ],
  'core/primitives/channel.ts': [[[112], '* 256 + (isLast ? 1 : 0)', '* 256']],
  'core/httpcrypt/record.ts': [
    [
      [111],
      'if (!(await ed25519Verify(signature, signedBytes(endpoint.url, announced), endpoint.key)))',
      'if (signature.length !== 64)',
    ],
    [[113], "if (BigInt(Math.ceil(now)) > notAfter) throw refused('its time is over');", ''],
  ],
};

export const MUTATIONS: readonly Mutation[] = Object.entries(CHECKS).flatMap(([file, checks]) =>
  checks.map(([attacks, find, replace, redundant]) => ({
    ...{ attacks, file, find, replace },
    ...(redundant !== undefined && { redundant }),
  })),
);
