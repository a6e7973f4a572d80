/** HTTP/2 before the key server, as docs/deploy.md says: by Caddy and by nginx, with one certificate for both origins of the reading site. */
import { createHash, X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freePort, startChild } from '../../../cache-config/child.ts';
import { invitationLink } from '../../../keyserver/readers/invitations.ts';
import { makeCertificate } from '../../support/certificates.ts';
import { launchWithProfile } from '../../support/chromium.ts';
import { listen, startRig, temporaryFolder } from '../../support/keyserver-rig.ts';
import { publish } from '../../support/publisher-with-sets.ts';
import { buildWebReader } from '../../support/web-reader.ts';

const [KEYS, READ, PAGES] = ['keys.news.example', 'read.news.example', 'pages.news.example'];

interface Front {
  readonly folder: string;
  readonly port: number;
  /** Ports of the key server, by host. */
  readonly ports: Readonly<Record<string, number>>;
}

async function startCaddy({ folder, port, ports }: Front): Promise<void> {
  const sites = Object.entries(ports).map(
    ([host, at]) => `https://${host}:${port} {
	bind 127.0.0.1
	tls ${folder}/leaf.pem ${folder}/leaf.key
	reverse_proxy 127.0.0.1:${at}
}`,
  );
  await writeFile(
    join(folder, 'Caddyfile'),
    `{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system ${folder}/storage\n}\n${sites.join('\n')}\n`,
  );
  const child = startChild(['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], folder, {
    stopSignal: 'SIGTERM',
  });
  onTestFinished(() => child.stop());
}

async function startNginx({ folder, port, ports }: Front): Promise<void> {
  const sites = Object.entries(ports).map(
    ([host, at]) => `server {
  listen 127.0.0.1:${port} ssl http2;
  server_name ${host};
  location / { proxy_pass http://127.0.0.1:${at}; proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; }
}`,
  );
  const head = `${process.getuid?.() === 0 ? 'user root; ' : ''}daemon off; pid ${folder}/nginx.pid;`;
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `${head} events {} http { ${places.join(' ')} access_log off;
ssl_certificate ${folder}/leaf.pem; ssl_certificate_key ${folder}/leaf.key; ${sites.join('\n')} }`,
  );
  const child = startChild(['nginx', '-c', file, '-e', 'stderr'], folder, { stopSignal: 'SIGTERM' });
  onTestFinished(() => child.stop());
}

it.each([
  ['Caddy', startCaddy],
  ['nginx', startNginx],
] as const)('%s carries invitation and first page over one connection, compressed', async (_name, start) => {
  await buildWebReader();
  const folder = temporaryFolder();
  const { cert } = await makeCertificate(
    folder,
    [KEYS, READ, PAGES].map((host) => `DNS:${host}`),
  );
  const at = (host: string) => ({ origin: `https://${host}`, listen });
  const reading = { ...at(READ), documents: at(PAGES) };
  const rig = await startRig({ config: { dev: false, ...at(KEYS), reading, trustedProxies: ['127.0.0.1'] } });
  onTestFinished(rig.close);
  await publish(rig.publisher, rig.host, { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' });
  const { keyServer, reading: read, documents } = rig.server.ports;
  const port = await freePort();
  await start({ folder, port, ports: { [KEYS]: keyServer, [READ]: read, [PAGES]: documents } });
  const { publicKey } = new X509Certificate(cert);
  const spki = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64');
  const context = await launchWithProfile(
    temporaryFolder(),
    `--ignore-certificate-errors-spki-list=${spki}`,
    `--host-resolver-rules=MAP *.news.example 127.0.0.1:${port}`,
  );
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const client = await context.newCDPSession(page);
  await client.send('Network.enable');
  const connections = new Set<number>();
  const answers: string[] = [];
  client.on('Network.responseReceived', ({ response: { url, connectionId, protocol, headers } }) => {
    const { host, pathname } = new URL(url);
    if (![READ, PAGES].includes(host) || pathname === '/favicon.ico') return;
    connections.add(connectionId);
    answers.push(`${protocol} ${host}${pathname} ${headers['content-encoding'] ?? headers['Content-Encoding']}`);
  });
  const isUp = () =>
    page.goto(`https://${KEYS}/healthz`).then(
      (answer) => answer?.ok(),
      () => false,
    );
  await expect.poll(isUp).toBe(true);
  connections.clear();
  answers.length = 0;
  await page.goto(invitationLink(await rig.invite({ name: 'ada' }), `https://${READ}`, rig.publisher.root.id));
  await page.waitForSelector('#as:not([hidden])');
  await page.click('text=Read in this browser');
  await page.waitForSelector('h1:text-is("Front")');
  expect(answers.slice(0, 4)).toEqual([
    `h2 ${READ}/-/join br`,
    `h2 ${READ}/-/invitation undefined`,
    `h2 ${READ}/-/join br`,
    `h2 ${PAGES}/ br`,
  ]);
  expect(connections.size).toBe(1);
});
