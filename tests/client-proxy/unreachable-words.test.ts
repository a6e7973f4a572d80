/** What is said of a machine that cannot be reached can be read by the page that asked: it tells no addresses of the reader's network. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { Agent, errors } from 'undici';
import { expect, it } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { connectionReason } from '../../client-proxy/network/failures.ts';
import { exchange } from '../../client-proxy/site/exchange.ts';
import { refusalCode, send, sendRaw } from '../support/http-client.ts';
import { startRawHost } from '../support/raw-http.ts';
import { startReaderRig } from '../support/reader-rig.ts';

it('attack 63: a page cannot read addresses out of what is said of hosts that are not there', async () => {
  const closed = await startRawHost((_head, socket) => socket.destroy());
  await closed.close();
  const rig = await startReaderRig();
  try {
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'text' });
    await rig.restart({ connectTo: [parseConnectTo(`::127.0.0.1:${closed.port}`)] });
    const answer = await send(rig.proxy.port, rig.url('/a.html'));
    expect([answer.status, refusalCode(answer)]).toEqual([502, 'content-host-unreachable']);
    const tunnel = await sendRaw(
      rig.proxy.port,
      'CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n',
    );
    expect(tunnel.toLowerCase()).toContain('wispr-refusal: host-unreachable');
    for (const text of [answer.text, tunnel]) expect(text).not.toMatch(new RegExp(`ECONN|:${closed.port}\\b`));
    const agent = new Agent();
    const asking = exchange(agent, `http://localhost:${closed.port}`, '/', { maximumLength: 1 });
    await expect(asking).rejects.toMatchObject({
      code: 'key-server-unreachable',
      message: expect.not.stringMatching(/ECONN|127\.0/),
    });
    await agent.close();
  } finally {
    await rig.close();
  }
});

it('nor out of what is said of those that do not answer', () => {
  const late = new errors.ConnectTimeoutError(
    'Connect Timeout Error (attempted address: 10.1.2.3:80, timeout: 10000ms)',
  );
  expect(connectionReason(late)).not.toContain('10.1.2.3');
});

it('nor out of what the system says that is in no list', async () => {
  const socket = connect({ host: '127.0.0.1', port: 9, localAddress: '192.0.2.1' }); // of documentation: no machine has it
  const [error] = await once(socket, 'error').catch((error: unknown) => [error]);
  expect(error).toMatchObject({ code: 'EADDRNOTAVAIL', message: expect.stringContaining('192.0.2.1') });
  const several = new AggregateError([new Error('another'), error]);
  for (const one of [error, several]) expect(connectionReason(one)).not.toMatch(/192\.0|EADDR/);
});
