import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'vitest';
import { invitationLink } from '../../keyserver/readers/invitations.ts';
import { makeCertificate } from '../support/certificates.ts';
import { launchChromium } from '../support/chromium.ts';
import { startRig, temporaryFolder } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';

const [KEYS, READ, PAGES] = ['keys.news.example', 'read.news.example', 'pages.news.example'];
it('counts', async () => {
  const folder = temporaryFolder();
  const { key, cert } = await makeCertificate(
    folder,
    [KEYS, READ, PAGES].map((host) => `DNS:${host}`),
  );
  const tls = { certificate: join(folder, 'chain.pem'), key: join(folder, 'leaf.key') };
  await writeFile(tls.certificate, cert);
  await writeFile(tls.key, key);
  const listen = { host: '127.0.0.1', port: 0 };
  const documents = { origin: `https://${PAGES}`, listen, tls, inBrowser: false };
  const rig = await startRig({
    config: {
      dev: false,
      origin: `https://${KEYS}`,
      tls,
      reading: { origin: `https://${READ}`, listen, tls, documents },
    },
  });
  const { keyServer, reading, documents: pages } = rig.server.ports;
  await publish(rig.publisher, rig.host, { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' });
  await publish(rig.publisher, rig.host, {
    path: '/letter.html',
    content: '<h1>Letter</h1>',
    mediaType: 'text/html',
    set: 'day-1',
  });
  const rules = `MAP ${KEYS} 127.0.0.1:${keyServer}, MAP ${READ} 127.0.0.1:${reading}, MAP ${PAGES} 127.0.0.1:${pages}`;
  const browser = await launchChromium('--ignore-certificate-errors', `--host-resolver-rules=${rules}`);
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  const seen: string[] = [];
  page.on('response', async (response) => {
    const { responseBodySize, responseHeadersSize } = await response
      .request()
      .sizes()
      .catch(() => ({ responseBodySize: -1, responseHeadersSize: -1 }));
    seen.push(
      `${response.status()} ${response.request().method()} ${response.url().replace(/=[^&]{12,}/g, '=…')} ${responseBodySize}+${responseHeadersSize} ${response.headers()['content-encoding'] ?? ''}`,
    );
  });
  const link =
    process.env.LINK === 'new'
      ? (invitationLink as any)(await rig.invite({ name: 'anna' }), `https://${READ}`, rig.publisher.root.id)
      : invitationLink(await rig.invite({ name: 'anna' }), `https://${KEYS}`, rig.publisher.root.id);
  console.log(link);
  await page.goto(link);
  await page.waitForSelector('#as:not([hidden])');
  await page.waitForTimeout(500);
  console.log('INVITATION\n' + seen.splice(0).join('\n'));
  await page.click('text=Read in this browser');
  await page.waitForSelector('text=Front');
  await page.waitForTimeout(500);
  console.log('TAP\n' + seen.splice(0).join('\n'));
  console.log(page.url(), await page.evaluate('performance.getEntriesByType("navigation")[0].type + history.length'));
  await context.clearCookies({ domain: PAGES });
  await page.goto(`https://${PAGES}/letter.html#x`);
  await page.waitForSelector('text=Letter');
  await page.waitForTimeout(500);
  console.log('LINK\n' + seen.splice(0).join('\n'), page.url());
  await page.reload();
  await page.waitForSelector('text=Letter');
  console.log('RELOAD\n' + seen.splice(0).join('\n'), page.url());
  await browser.close();
  await rig.close();
}, 60000);
