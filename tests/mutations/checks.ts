/** The checks that the attack tests are about. `npm run test:mutations` takes out one at a time; the tests of its rows have to fail then. */

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
    attacks: [34, 108],
    file: 'core/publication/keys.ts',
    find: 'if (verify(key, signature, message)) signed.add(key.public);',
    replace: 'if (verify(key, signature, message)) signed.add(keyid);',
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
    file: 'keyserver/readers/document-sessions.ts',
    find: ' || !Buffer.from(taken.challenge).equals(challenge)',
    replace: '',
  },
  {
    attacks: [96],
    file: 'keyserver/reading-site/app.ts',
    find: 'redirect(303, pages.documents + target)',
    replace: 'redirect(303, pages.account + target)',
  },
  {
    attacks: [97],
    file: 'keyserver/reading-site/documents.ts',
    find: "response.append('Content-Security-Policy', \"sandbox; script-src 'none'\")",
    replace: '{}',
  },
  {
    attacks: [98],
    file: 'keyserver/reading-site/deliveries.ts',
    find: 'if (response.writableLength > 0) cutConnection(request.socket);',
    replace: 'if (response.writableLength > 0) return;',
  },
  {
    attacks: [98],
    file: 'keyserver/reading-site/deliveries.ts',
    find: 'if (line.open < limits.openDocumentsPerAddress)',
    replace: 'if (line.open < Number.POSITIVE_INFINITY)',
  },
  {
    attacks: [98],
    file: 'keyserver/reading-site/content-host.ts',
    find: 'fetchFile(metadata, target, wanted)',
    replace: 'fetchFile(documents, target, wanted)',
  },
];
