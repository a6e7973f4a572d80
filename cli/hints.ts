/** What to do about errors that do not say it themselves: those of core/, and others whose remedy lies on the command line. */

/** By code; docs/errors.md says more about each. */
const HINTS: Readonly<Record<string, string>> = {
  'bundle-malformed': 'the publisher runs "wispr protect" again and hands over the new keys.bundle',
  'bundle-recipient': 'give the publisher the keyserver.pub of this key server, and let them protect again',
  'bundle-signature': 'do not import it; ask the publisher for keys.bundle again',
  'bundle-unreadable': 'the publisher runs "wispr protect" again and hands over the new keys.bundle',
  'clock-behind': 'set the clock of this machine, and let it set itself from now on',
  'content-host-unreachable': 'check the connection, and try again; "wispr sync" keeps a site for when there is none',
  'carrier-malformed': 'name a whole .protected file, or a page that "wispr protect" wrote',
  'head-length': 'name a whole .protected file, or a page that "wispr protect" wrote',
  'key-store-damaged': 'restore publisher.keys from your backup',
  'master-key-malformed': 'put back the copy of the master key that you keep',
  'not-confirmed': 'run "wispr bind" again, and answer y for the sites that you want to read',
  'object-truncated': 'the file was cut: copy it again',
  'object-unrecognised': 'name a .protected file, or a page that "wispr protect" wrote with "carrier": "html"',
  'object-version': 'a newer wispr made it: update this one',
  'output-failed': 'see that there is space, and that the user who runs wispr may write there (chown, chmod)',
  'parent-proxy-answer':
    'see that an HTTP proxy, not one of SOCKS or HTTPS, is at that address: --parent-proxy, --parent-proxy-file, or the settings of the Reader',
  'parent-proxy-auth':
    'write http://NAME:PASSWORD@HOST:PORT into a file that only you can read, and name that with --parent-proxy-file',
  'parent-proxy-unreachable':
    'start that proxy, or check its address: --parent-proxy, --parent-proxy-file, or the settings of the Reader',
  'passphrase-wrong': 'try again; nobody can find out a passphrase that is lost',
  'roaming-malformed':
    'fetch it again, whole: it may have been cut or changed on the way; or a newer wispr made it: update this one',
  'roaming-unreadable':
    'compare the words with what you wrote down, and fetch the newest file; older ones may have other words',
  'source-unreadable': 'check "source" in wispr.json, and the permissions of the files',
  'tree-unreadable': 'check the path or the URL, and the permissions',
  'unlock-too-often': 'wait ten seconds, and try again',
  validity: 'name a day in the future, like --until 2099-06-30',
};

/** What to do about an error with this code, if there is anything to say. */
export function hintFor(code: string): string | undefined {
  return Object.hasOwn(HINTS, code) ? HINTS[code] : undefined;
}
